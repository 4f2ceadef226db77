// What transposes do block by block: places within a side that is cut in blocks, and runs of what
// is in scratch memory stored by whole lines.
#pragma once
#include <algorithm>
#include <functional>

#include "compiler/kernel/builder.h"

namespace tercel::kernel {

// What a task does of one side: `first` to `last`. Its block is turned from `base` on, which is
// less where the last block would be partial.
struct Range {
  V base, first, last;
};

// A dimension of the turned plane, cut in blocks.
struct Side {
  int64_t extent = 1, block = 1, blocks = 1;
  int64_t size = 1;  // of what is turned at a time

  Side() = default;
  Side(int64_t extent, int64_t block)
      : extent(extent), block(block), blocks((extent + block - 1) / block),
        size(std::min(block, extent)) {}

  bool isWhole() const { return extent % block == 0; }

  Range range(Builder& b, V number) const {
    V first = b.imul(number, b.index(block));
    if (isWhole()) return {first, first, b.iadd(first, b.index(block))};
    V last = b.binary(Opcode::smin, b.iadd(first, b.index(block)), b.index(extent));
    return {b.binary(Opcode::smin, first, b.index(extent - size)), first, last};
  }

  // `body` at each place within the block that what is `step` long is turned at; the last one
  // overlaps its neighbour rather than be partial.
  void overSteps(Builder& b, const Range& range, int64_t step,
                 const std::function<void(V)>& body) const {
    V first = isWhole() ? b.index(0) : b.isub(range.first, range.base);
    b.forLoop(first, b.index(size), step, [&](V at) {
      const bool fits = isWhole() && size % step == 0;
      body(fits ? at : b.binary(Opcode::smin, at, b.index(size - step)));
    });
  }
};

// A run of elements from `begin` to `last`: `vector` at each place of whole vectors, and of partial
// ones with the number of their lanes. What goes around the caches does so by whole lines: where
// `place` says where in memory the run begins, it begins with a partial vector that ends where a
// line begins. `aligned`: only whole vectors.
inline void overRun(Builder& b, V begin, V last, int lanes, bool aligned,
                    const std::function<V()>& place, const std::function<void(V, V)>& vector) {
  auto partial = [&](V at, V count) {
    b.ifThen(b.compare(Opcode::icmp, Predicate::ne, count, b.index(0)),
             [&] { vector(at, count); });
  };
  if (aligned) return b.forLoop(begin, last, lanes, [&](V at) { vector(at, V{}); });
  if (place) {
    V head = b.binary(Opcode::and_, b.isub(b.index(0), place()), b.index(lanes - 1));
    head = b.binary(Opcode::smin, head, b.isub(last, begin));
    partial(begin, head);
    begin = b.iadd(begin, head);
  }
  V whole = b.iadd(begin, b.binary(Opcode::and_, b.isub(last, begin), b.index(-lanes)));
  b.forLoop(begin, whole, lanes, [&](V at) { vector(at, V{}); });
  partial(whole, b.isub(last, whole));
}

}  // namespace tercel::kernel
