#include "runtime/linalg/side_by_side.h"

namespace tercel::linalg {
namespace {

constexpr int64_t kFewest = 4;
constexpr int64_t kMostNumbers = 8192;  // in all lanes: what the second cache holds

}  // namespace

bool suitsLanes(Index batch, Index numbers) {
  return batch >= kFewest && numbers > 0 && numbers <= kMostNumbers;
}

bool isBatchOfSmall(const program::CallSignature& signature, int64_t largest_side) {
  if (signature.operands.empty()) return false;
  const Dims& dims = signature.operands[0].shape.dims;
  if (dims.size() < 3 || elementCount(std::span(dims).first(dims.size() - 2)) < kFewest)
    return false;
  return std::ranges::all_of(signature.operands, [&](const program::CallValue& value) {
    const Dims& sizes = value.shape.dims;
    return sizes.size() < dims.size() ||
           (sizes.back() <= largest_side && sizes[sizes.size() - 2] <= largest_side);
  });
}

}  // namespace tercel::linalg
