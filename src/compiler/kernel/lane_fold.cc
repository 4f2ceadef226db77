#include "compiler/kernel/lane_fold.h"

namespace tercel::kernel {

std::vector<int16_t> halves(int lanes, int width, bool second, bool both) {
  std::vector<int16_t> list;
  for (int source = 0; source < (both ? 2 : 1); ++source)
    for (int segment = 0; segment < lanes; segment += width)
      for (int i = 0; i < width / 2; ++i)
        list.push_back(
            static_cast<int16_t>(source * lanes + segment + (second ? width / 2 : 0) + i));
  return list;
}

std::vector<Elem> foldLanes(Builder& b, std::vector<Elem> vectors, int lanes, const Merge& merge) {
  for (; lanes > 1; lanes /= 2) {
    auto half = [&](V x, bool second) {
      if (!x.valid()) return x;
      return lanes == 2 ? b.extract(x, second) : b.shuffle(x, x, halves(lanes, lanes, second, false));
    };
    std::vector<Elem> lower, upper;
    for (const Elem& x : vectors) {
      lower.push_back({half(x.re, false), half(x.im, false)});
      upper.push_back({half(x.re, true), half(x.im, true)});
    }
    vectors = merge(lower, upper);
  }
  return vectors;
}

std::vector<Elem> foldPair(Builder& b, std::span<const Elem> left, std::span<const Elem> right,
                           int lanes, int width, const Merge& merge) {
  auto low = halves(lanes, width, false, true), high = halves(lanes, width, true, true);
  std::vector<Elem> lower, upper;
  for (size_t i = 0; i < left.size(); ++i) {
    lower.push_back({b.shuffle(left[i].re, right[i].re, low), {}});
    upper.push_back({b.shuffle(left[i].re, right[i].re, high), {}});
  }
  return merge(lower, upper);
}

std::vector<Elem> foldSquare(Builder& b, std::span<const BufferId> squares, int lanes,
                             const Merge& merge) {
  for (int width = lanes;; width /= 2) {
    auto joined = [&](V first) {
      std::vector<Elem> left, right;
      for (BufferId square : squares) {
        left.push_back({b.load(square, first, lanes), {}});
        right.push_back({b.load(square, first, lanes, lanes), {}});
      }
      return foldPair(b, left, right, lanes, width, merge);
    };
    if (width == 2) return joined(b.index(0));
    b.forLoop(b.index(0), b.index(width / 2), 1, [&](V pair) {
      std::vector<Elem> vectors = joined(b.imul(pair, b.index(2 * lanes)));
      for (size_t i = 0; i < squares.size(); ++i)
        b.store(squares[i], b.imul(pair, b.index(lanes)), vectors[i].re);
    });
  }
}

}  // namespace tercel::kernel
