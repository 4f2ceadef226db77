#include "program/product_slots.h"

#include <algorithm>
#include <charconv>
#include <vector>

namespace tercel::program {
namespace {

constexpr std::string_view kPrefix = "product ";

}  // namespace

bool writesAny(const Step& step, const ProductSlots& slots) {
  return std::ranges::any_of(step.values, [&](int64_t written) {
    return written == slots.operands[0] || written == slots.operands[1];
  });
}

std::string textOf(const ProductSlots& slots) {
  std::string text = cat(kPrefix, slots.operands[0], ' ', slots.operands[1]);
  return slots.sums ? cat(text, ' ', *slots.sums) : text;
}

Result<std::optional<ProductSlots>> productSlots(const Step& step) {
  if (step.text.empty()) return std::optional<ProductSlots>();
  std::string_view text = step.text;
  std::vector<uint32_t> numbers;
  bool is_valid = text.starts_with(kPrefix);
  if (is_valid) text.remove_prefix(kPrefix.size() - 1);
  while (is_valid && text.starts_with(' ')) {
    uint32_t& slot = numbers.emplace_back();
    const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), slot);
    is_valid = error == std::errc() && slot < step.slots.size();
    text.remove_prefix(static_cast<size_t>(end - text.data()));
  }
  if (!is_valid || !text.empty() || numbers.size() < 2 || numbers.size() > 3)
    return invalidArgument("text of a kernel: ", step.text);
  ProductSlots slots{{numbers[0], numbers[1]}, {}};
  if (numbers.size() == 3) slots.sums = numbers[2];
  const bool writes_sums = !slots.sums || std::ranges::equal(step.values, std::array{*slots.sums});
  if (numbers[0] == numbers[1] || writesAny(step, slots) || !writes_sums)
    return invalidArgument("text of a kernel: ", step.text);
  return std::optional(slots);
}

}  // namespace tercel::program
