// What rules ask of constants.
#pragma once
#include <cstring>
#include <optional>

#include "compiler/passes/rewriter.h"

namespace tercel::passes {

// The value of a constant; null for anything else.
const ir::Literal* constantOf(const Rewriter& rw, ir::Value v);
// The one element of a constant all of whose elements are equal, as a literal; null otherwise.
const ir::Literal* splatOf(const Rewriter& rw, ir::Value v);
// Of a real splat (not complex, not NaN) that a double holds exactly.
std::optional<double> splatNumber(const Rewriter& rw, ir::Value v);
// A splat of exactly this number; 0.0 is not -0.0.
bool isSplat(const Rewriter& rw, ir::Value v, double number);
// An integer or predicate splat with every bit 0, or every bit 1 (true, for a predicate).
bool isAllZeros(const Rewriter& rw, ir::Value v);
bool isAllOnes(const Rewriter& rw, ir::Value v);
// A splat of the zero that sums begin with: of all bits 0, or 0.0.
bool isZeros(const Rewriter& rw, ir::Value v);
// The value of a constant integer scalar.
std::optional<int64_t> scalarInteger(const Rewriter& rw, ir::Value v);
// Those of several, where all are constant.
std::optional<ir::Ints> scalarIntegers(const Rewriter& rw, std::span<const ir::Value> values);

// The element of a splat under another shape of the same element type.
ir::Literal withShape(const ir::Literal& splat, Dims dims);
// -x for every element of a real splat.
ir::Literal negated(const ir::Literal& splat);
// Every value of `from` is one of `to`'s, so converting there and back changes nothing.
bool convertsExactly(DType from, DType to);

}  // namespace tercel::passes
