#include "program/product_slots.h"

#include <algorithm>
#include <charconv>

namespace tercel::program {
namespace {

constexpr std::string_view kPrefix = "product ";

}  // namespace

bool writesAny(const Step& step, const ProductSlots& slots) {
  return std::ranges::any_of(step.values, [&](int64_t written) {
    return written == slots[0] || written == slots[1];
  });
}

std::string textOf(const ProductSlots& slots) { return cat(kPrefix, slots[0], ' ', slots[1]); }

Result<std::optional<ProductSlots>> productSlots(const Step& step) {
  if (step.text.empty()) return std::optional<ProductSlots>();
  std::string_view text = step.text;
  ProductSlots slots{};
  bool is_valid = text.starts_with(kPrefix);
  if (is_valid) text.remove_prefix(kPrefix.size() - 1);
  for (uint32_t& slot : slots) {
    if (!is_valid || !text.starts_with(' ')) return invalidArgument("text of a kernel: ", step.text);
    const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), slot);
    is_valid = error == std::errc() && slot < step.slots.size();
    text.remove_prefix(static_cast<size_t>(end - text.data()));
  }
  if (!is_valid || !text.empty() || slots[0] == slots[1] || writesAny(step, slots))
    return invalidArgument("text of a kernel: ", step.text);
  return std::optional(slots);
}

}  // namespace tercel::program
