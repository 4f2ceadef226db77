#include "compiler/kernel/thin_rows.h"

#include <algorithm>

namespace tercel::kernel {

ThinRows::ThinRows(Lowering& low, IndexSpace& space, int64_t length, int lanes)
    : low_(low), b_(low.builder), space_(space), length_(length), lanes_(lanes),
      whole_(joinedWords(length, lanes)) {}

Index ThinRows::lanesFrom(V place, int64_t beyond, int64_t elements) const {
  return space_.add(space_.loop(place, elements - beyond, true), Index(beyond));
}

// The last vector begins earlier, so that it ends with the rows.
std::vector<V> ThinRows::load(Emitter& e, ir::Value input, V place) const {
  const Dims& dims = low_.module.shape(input).dims;
  const int64_t all = length_ * lanes_, last = all - lanes_;
  std::vector<V> vectors;
  for (int64_t begin = 0; begin < all; begin += whole_) {
    const Index at = lanesFrom(place, std::min(begin, last), elementCount(dims));
    vectors.push_back(e.at(input, space_.delinear(at, dims)).re);
  }
  return partedLines(b_, vectors, length_, {1, static_cast<int>(lanes_)},
                     std::max<int64_t>(0, lanes_ - whole_));
}

void ThinRows::store(Emitter& e, size_t output, V place, const std::vector<V>& columns) const {
  const int64_t elements = low_.module.shape(low_.cluster.outputs[output]).elements();
  const std::vector<V> vectors = joinedLines(b_, columns, {1, static_cast<int>(lanes_)});
  for (size_t v = 0; v < vectors.size(); ++v) {
    const Index to = lanesFrom(place, static_cast<int64_t>(v) * whole_, elements);
    auto storeVector = [&] { low_.storeOutput(e, output, to, {vectors[v], {}}); };
    if (whole_ == lanes_ || v + 1 < vectors.size())
      storeVector();
    else
      e.guarded(firstLanes(b_, static_cast<int>(lanes_), b_.index(whole_)), storeVector);
  }
}

}  // namespace tercel::kernel
