// Shape inference: the result types of an op from its operands and attributes.
#pragma once
#include "compiler/ir/module.h"
#include "core/status.h"

namespace tercel::ir {

// `regions_of` is needed by ops whose types come from a region (reduce, while, map ...); ops whose
// result shapes are free (constant, iota, reshape, broadcast_in_dim, rng_bit_generator,
// custom_call, convert, bitcast_convert, dynamic_slice's sizes are attributes) take `declared` and
// check it. Errors name the op, the operand and the types: INVALID_ARGUMENT.
Result<std::vector<Type>> inferTypes(const Module& module, OpKind kind,
                                     std::span<const Value> operands,
                                     std::span<const std::pair<AttrKey, Attr>> attrs,
                                     std::span<const RegionId> regions,
                                     std::span<const Type> declared);

}  // namespace tercel::ir
