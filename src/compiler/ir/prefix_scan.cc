#include "compiler/ir/prefix_scan.h"

#include <algorithm>

namespace tercel::ir {

std::optional<PrefixScan> prefixScan(const Module& module, const Op& op) {
  if (op.kind != OpKind::reduce_window_) return {};
  for (AttrKey key : {AttrKey::window_strides, AttrKey::base_dilations, AttrKey::window_dilations})
    if (std::ranges::any_of(op.ints(key), [](int64_t n) { return n != 1; })) return {};
  const Dims& dims = module.shape(op.operand(0)).dims;
  const Ints &window = op.ints(AttrKey::window_dimensions), &padding = op.ints(AttrKey::padding);
  std::optional<PrefixScan> scan;
  for (size_t d = 0; d < dims.size(); ++d) {
    int64_t low = padding.empty() ? 0 : padding[2 * d];
    int64_t high = padding.empty() ? 0 : padding[2 * d + 1];
    if (window[d] == 1 && low == 0 && high == 0) continue;
    bool reverse = low == 0;
    bool whole = window[d] >= dims[d] && low + high == window[d] - 1 && (low == 0 || high == 0);
    if (scan || !whole) return {};
    scan = PrefixScan{d, reverse};
  }
  return scan;
}

}  // namespace tercel::ir
