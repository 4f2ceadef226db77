#include "compiler/kernel/copy_array.h"

#include <algorithm>
#include <functional>

namespace tercel::kernel {
namespace {

// `body` for whole vectors from an index on, with as many lanes, and for what is left with its mask.
void forVectors(Builder& b, Scalar stored, int64_t elements,
                const std::function<void(V, int, V)>& body) {
  int lanes = b.machine.vector_bytes / static_cast<int>(std::max<int64_t>(4, byteSize(stored)));
  while (lanes > 1 && lanes / 2 >= elements) lanes /= 2;
  const int64_t whole = elements / lanes * lanes;
  b.forLoop(b.index(0), b.index(whole), lanes, [&](V i) { body(i, lanes, {}); });
  if (whole < elements)
    body(b.index(whole), lanes, firstLanes(b, lanes, b.index(elements - whole)).lanes);
}

void copyNumbers(Builder& b, BufferId from, BufferId to, Scalar stored, int64_t elements) {
  forVectors(b, stored, elements, [&](V i, int lanes, V mask) {
    if (mask.valid())
      b.storeMasked(to, i, b.loadMasked(from, i, mask), mask);
    else
      b.store(to, i, b.load(from, i, lanes));
  });
}

// Between pairs of numbers and parts that lie apart.
void copyComplex(Builder& b, const ir::Module& m, BufferId from, BufferId to, const Shape& shape) {
  IndexSpace space(b);
  forVectors(b, storedScalar(shape.dtype), shape.elements(), [&](V i, int lanes, V mask) {
    Emitter e(b, space, m, lanes);
    const Index at = space.loop(i, shape.elements(), lanes > 1);
    e.guarded({mask, {}}, [&] { e.storeAt(to, shape.dtype, at, e.loadAt(from, shape.dtype, at)); });
  });
}

}  // namespace

void copyArray(Builder& b, const ir::Module& m, BufferId from, BufferId to, const Shape& shape) {
  if (from == to) return;
  const Scalar stored = storedScalar(shape.dtype);
  const int64_t elements = shape.elements();
  if (!isComplex(shape.dtype)) return copyNumbers(b, from, to, stored, elements);
  const auto from_im = b.imaginaryOf(from), to_im = b.imaginaryOf(to);
  if (!from_im && !to_im) return copyNumbers(b, from, to, stored, 2 * elements);
  if (!from_im || !to_im) return copyComplex(b, m, from, to, shape);
  copyNumbers(b, from, to, stored, elements);
  copyNumbers(b, *from_im, *to_im, stored, elements);
}

}  // namespace tercel::kernel
