// What is known of a kernel that multiplies two arrays of f32 by each other, in the text of its step.
#pragma once
#include <array>
#include <optional>
#include <string>

#include "core/status.h"
#include "program/program.h"

namespace tercel::program {

struct ProductSlots {
  // The step's slots of the two arrays, of which the kernel reads nothing but to multiply an element
  // of one by an element of the other.
  std::array<uint32_t, 2> operands;
  // That of the sums of those products, where the kernel does nothing else.
  std::optional<uint32_t> sums;
  friend bool operator==(const ProductSlots&, const ProductSlots&) = default;
};

bool writesAny(const Step& step, const ProductSlots& slots);
std::string textOf(const ProductSlots& slots);
// None where the text says nothing; INVALID_ARGUMENT where it is of another form, or its slots are
// not the step's or written.
Result<std::optional<ProductSlots>> productSlots(const Step& step);

}  // namespace tercel::program
