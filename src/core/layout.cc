#include "core/layout.h"

#include <algorithm>

#include "core/status.h"

namespace tercel {

bool isLayout(std::span<const int64_t> layout, size_t rank) {
  std::vector<bool> seen(rank);
  for (const int64_t dim : layout) {
    if (dim < 0 || dim >= static_cast<int64_t>(rank) || seen[static_cast<size_t>(dim)]) return false;
    seen[static_cast<size_t>(dim)] = true;
  }
  return layout.size() == rank;
}

bool isRowMajor(std::span<const int64_t> layout) {
  return std::ranges::is_sorted(layout, std::greater<>());
}

Dims rowMajorLayout(size_t rank) {
  Dims layout(rank);
  for (size_t i = 0; i < rank; ++i) layout[i] = static_cast<int64_t>(rank - 1 - i);
  return layout;
}

bool sameInMemory(std::span<const int64_t> dims, std::span<const int64_t> a,
                  std::span<const int64_t> b) {
  if (std::ranges::equal(a, b)) return true;
  auto longOnes = [&](std::span<const int64_t> layout) {
    Dims order = layout.empty() ? rowMajorLayout(dims.size()) : Dims(layout);
    Dims kept;
    for (const int64_t dim : order)
      if (dims[static_cast<size_t>(dim)] != 1) kept.push_back(dim);
    return kept;
  };
  return longOnes(a) == longOnes(b);
}

std::vector<int64_t> toMemory(std::span<const int64_t> layout) {
  return {layout.rbegin(), layout.rend()};
}

std::vector<int64_t> fromMemory(std::span<const int64_t> layout) {
  std::vector<int64_t> inverse(layout.size());
  for (size_t i = 0; i < layout.size(); ++i)
    inverse[static_cast<size_t>(layout[i])] = static_cast<int64_t>(layout.size() - 1 - i);
  return inverse;
}

Dims memoryOrder(const Dims& shown, std::span<const int64_t> layout) {
  if (layout.empty()) return shown;
  Dims dims;
  for (size_t i = layout.size(); i-- > 0;) dims.push_back(shown[static_cast<size_t>(layout[i])]);
  return dims;
}

Dims shownOrder(const Dims& in_memory, std::span<const int64_t> layout) {
  Dims dims = in_memory;
  for (size_t i = 0; i < layout.size(); ++i)
    dims[static_cast<size_t>(layout[i])] = in_memory[layout.size() - 1 - i];
  return dims;
}

std::string layoutText(std::span<const int64_t> layout, size_t rank) {
  std::string text = "{";
  for (const int64_t dim : layout.empty() ? rowMajorLayout(rank) : Dims(layout))
    text += cat(text.size() > 1 ? "," : "", dim);
  return text + "}";
}

std::string toString(const ArrayType& type) {
  std::string text = toString(type.shape);
  return isRowMajor(type.layout) ? text : text + layoutText(type.layout, type.shape.dims.size());
}

}  // namespace tercel
