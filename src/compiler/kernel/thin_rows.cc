#include "compiler/kernel/thin_rows.h"

#include <algorithm>

namespace tercel::kernel {

ThinRows::ThinRows(Lowering& low, IndexSpace& space, int64_t length, int lanes)
    : low_(low), b_(low.builder), space_(space), length_(length), lanes_(lanes),
      whole_(joinedWords(length, lanes)) {}

Index ThinRows::lanesFrom(V place, int64_t beyond, int64_t elements) const {
  return space_.add(space_.loop(place, elements - beyond, true), Index(beyond));
}

Guard ThinRows::first(int64_t elements) const {
  return firstLanes(b_, static_cast<int>(lanes_), b_.index(elements));
}

// The last vector begins earlier, so that it ends with the rows.
std::vector<V> ThinRows::load(Emitter& e, ir::Value input, V place, int64_t rows) const {
  const Dims& dims = low_.module.shape(input).dims;
  const int64_t all = length_ * lanes_, last = all - lanes_, known = rows * length_;
  std::vector<V> vectors;
  for (int64_t begin = 0; begin < all; begin += whole_) {
    const int64_t from = std::min(begin, last);
    const Index at = lanesFrom(place, from, elementCount(dims));
    auto element = [&] { return e.at(input, space_.delinear(at, dims)).re; };
    if (from + lanes_ <= known)
      vectors.push_back(element());
    else if (from < known)
      vectors.push_back(e.guarded(first(known - from), element));
    else
      vectors.push_back(b_.constant(b_.type(vectors[0]), 0));
  }
  return partedLines(b_, vectors, length_, {1, static_cast<int>(lanes_)},
                     std::max<int64_t>(0, lanes_ - whole_));
}

// Flags as integers that fill vectors, which shuffles move at once.
std::vector<V> ThinRows::asWords(std::vector<V> flags) const {
  const int64_t bytes = low_.machine.vector_bytes / lanes_;
  const Scalar word = bytes >= 8 ? Scalar::i64 : bytes == 4 ? Scalar::i32
                      : bytes == 2 ? Scalar::i16 : Scalar::i8;
  for (V& flag : flags) flag = b_.cast(Opcode::zext, flag, word);
  return flags;
}

void ThinRows::store(Emitter& e, size_t output, V place, const std::vector<V>& columns,
                     int64_t rows) const {
  const int64_t elements = low_.module.shape(low_.cluster.outputs[output]).elements();
  const bool are_flags = b_.type(columns[0]).scalar == Scalar::i1;
  const std::vector<V> vectors =
      joinedLines(b_, are_flags ? asWords(columns) : columns, {1, static_cast<int>(lanes_)});
  const int64_t known = rows * length_;
  for (int64_t v = 0; v * whole_ < known; ++v) {
    const Index to = lanesFrom(place, v * whole_, elements);
    auto storeVector = [&] {
      const V x = vectors[static_cast<size_t>(v)];
      const V zero = b_.constant(b_.type(x), 0);
      low_.storeOutput(e, output, to,
                       {are_flags ? b_.compare(Opcode::icmp, Predicate::ne, x, zero) : x, {}});
    };
    const int64_t left = known - v * whole_;
    const bool others_follow = left > whole_ && left >= lanes_;
    if (others_follow || std::min(left, whole_) == lanes_)
      storeVector();
    else
      e.guarded(first(std::min(left, whole_)), storeVector);
  }
}

}  // namespace tercel::kernel
