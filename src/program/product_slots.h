// What is known of a kernel that multiplies two arrays of f32 by each other, in the text of its step.
#pragma once
#include <array>
#include <optional>
#include <string>

#include "core/status.h"
#include "program/program.h"

namespace tercel::program {

// The step's slots of the two arrays, of which the kernel reads nothing but to multiply an element
// of one by an element of the other.
using ProductSlots = std::array<uint32_t, 2>;

bool writesAny(const Step& step, const ProductSlots& slots);
std::string textOf(const ProductSlots& slots);
// None where the text says nothing; INVALID_ARGUMENT where it is of another form, or its slots are
// not the step's or written.
Result<std::optional<ProductSlots>> productSlots(const Step& step);

}  // namespace tercel::program
