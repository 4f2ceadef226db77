#include "compiler/kernel/emitter.h"
#include "core/status.h"

namespace tercel::kernel {

void Emitter::store(ir::Value v, const Indices& indices, const Elem& elem) {
  const Binding& binding = bindings_.at(v.index);
  const Shape& shape = m_.shape(v);
  Index index = binding.kind == Binding::Kind::placed
                    ? binding.place(indices)
                    : space_.add(space_.linear(indices, shape.dims), Index(binding.offset));
  storeAt(binding.buffer, shape.dtype, index, elem);
}

// Whether a vector holds both numbers of as many complex ones as there are lanes.
bool Emitter::pairsFit(BufferId buffer) const {
  return 2 * lanes_ * byteSize(b_.kernel().buffers[buffer].element) <= b_.machine.vector_bytes;
}

// The numbers of both in turn; by halves where a vector does not hold them, or a mask says which are
// stored.
void Emitter::storePairs(BufferId buffer, V at, int64_t offset, V re, V im, V mask) {
  auto pairs = [&](int first, int count, int second) {
    std::vector<int16_t> list;
    for (int i = first; i < first + count; ++i) {
      list.push_back(static_cast<int16_t>(i));
      list.push_back(static_cast<int16_t>(second + i));
    }
    return list;
  };
  if (!mask.valid() && pairsFit(buffer))
    return b_.store(buffer, at, b_.shuffle(re, im, pairs(0, lanes_, lanes_)), offset);
  const std::optional<int64_t> stored = mask.valid() ? b_.firstLanesOf(mask) : lanes_;
  const V flags = stored ? V{} : inBytes(b_, mask);
  const int half = lanes_ / 2;
  for (int first = 0; first < lanes_; first += half) {
    const V both = b_.shuffle(re, im, pairs(first, half, lanes_));
    const int64_t place = offset + 2 * first;
    if (stored && *stored <= first) break;
    if (stored && *stored >= first + half) {
      b_.store(buffer, at, both, place);
      continue;
    }
    const V here = stored
        ? firstLanes(b_, lanes_, b_.index(2 * (*stored - first))).lanes
        : b_.cast(Opcode::itrunc, b_.shuffle(flags, flags, pairs(first, half, 0)), Scalar::i1);
    b_.storeMasked(buffer, at, both, here, place);
  }
}

void Emitter::storeAt(BufferId buffer, DType dtype, const Index& index, const Elem& elem) {
  if (const auto imaginary = b_.imaginaryOf(buffer); imaginary && isComplex(dtype)) {
    storeAt(buffer, realPart(dtype), index, {elem.re, {}});
    return storeAt(*imaginary, realPart(dtype), index, {elem.im, {}});
  }
  dtype = movedAs(dtype);
  if (record) record->push_back({index, static_cast<int64_t>(byteSize(dtype)), true, false});
  const bool is_narrower = computedScalar(dtype) != storedScalar(dtype);
  const V re = is_narrower ? b_.cast(Opcode::fptrunc, elem.re, storedScalar(dtype)) : elem.re;
  const V im = isComplex(dtype) ? elem.im : V{};
  int64_t step;
  if (!space_.varies(index))
    storeOne(buffer, index, re, im);
  else if (space_.linearInLanes(index, &step) && step == 1)
    storeLine(buffer, index, re, im);
  else
    storeApart(buffer, index, re, im);
}

void Emitter::storeOne(BufferId buffer, const Index& index, V re, V im) {
  TERCEL_CHECK(!b_.type(re).isVector(), "storing a vector at one index");
  auto write = [&] {
    V at = space_.emitScalar(index, true);
    if (!im.valid()) return b_.store(buffer, at, re, index.constant);
    V twice = b_.imul(at, b_.index(2));
    b_.store(buffer, twice, re, 2 * index.constant);
    b_.store(buffer, twice, im, 2 * index.constant + 1);
  };
  guard_.scalar.valid() ? b_.ifThen(guard_.scalar, write) : write();
}

// Of lanes; invalid where all are to be touched.
V Emitter::maskOfGuard() {
  if (!guard_.scalar.valid()) return guard_.lanes;
  V all = b_.splat(guard_.scalar, lanes_);
  return guard_.lanes.valid() ? b_.binary(Opcode::and_, guard_.lanes, all) : all;
}

void Emitter::storeLine(BufferId buffer, const Index& index, V re, V im) {
  re = b_.widen(re, lanes_);
  const V mask = maskOfGuard();
  if (im.valid()) {
    const V at = b_.imul(space_.emitScalar(index, true), b_.index(2));
    return storePairs(buffer, at, 2 * index.constant, re, b_.widen(im, lanes_), mask);
  }
  const V at = space_.emitScalar(index, true);
  if (mask.valid()) return b_.storeMasked(buffer, at, re, mask, index.constant);
  if (streaming) return b_.storeStreaming(buffer, at, re, index.constant);
  b_.store(buffer, at, re, index.constant);
}

void Emitter::storeApart(BufferId buffer, const Index& index, V re, V im) {
  re = b_.widen(re, lanes_);
  V mask = maskOfGuard();
  if (!mask.valid()) mask = b_.constant({Scalar::i1, static_cast<uint16_t>(lanes_)}, 1);
  if (!im.valid()) return b_.scatter(buffer, space_.emitPlaces(index, lanes_), re, mask);
  const Places at = space_.emitPlaces(space_.scale(index, 2), lanes_);
  b_.scatter(buffer, at, re, mask);
  b_.scatter(buffer, at.next(), b_.widen(im, lanes_), mask);
}

}  // namespace tercel::kernel
