// Joins the lanes of vectors by what a reduction does with two elements.
#pragma once
#include <functional>
#include <vector>

#include "compiler/kernel/elem.h"

namespace tercel::kernel {

// Reduces each of its first operands with its second one: the accumulators of a stage.
using Merge = std::function<std::vector<Elem>(std::span<const Elem>, std::span<const Elem>)>;

// Of each segment of `width` lanes of one or both of two vectors, the first or second half.
std::vector<int16_t> halves(int lanes, int width, bool second, bool both);

// The lanes of each vector to one: the halves of its `lanes`, again and again.
std::vector<Elem> foldLanes(Builder& b, std::vector<Elem> vectors, int lanes, const Merge& merge);

// Of two vectors, in which each `width` lanes belong together, these to half as many.
std::vector<Elem> foldPair(Builder& b, std::span<const Elem> left, std::span<const Elem> right,
                           int lanes, int width, const Merge& merge);

// The same of as many vectors as have lanes, one after another in each buffer, all at once: lane i
// of the result is vector i's.
std::vector<Elem> foldSquare(Builder& b, std::span<const BufferId> squares, int lanes,
                             const Merge& merge);

}  // namespace tercel::kernel
