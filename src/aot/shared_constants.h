// The large constants of an artifact's programs, each once: its procedures' and its CPU levels'
// programs mostly have the same ones, as a network's weights.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "program/program.h"

namespace tercel::aot {

class SharedConstants {
 public:
  SharedConstants() = default;
  explicit SharedConstants(std::span<const std::byte> bytes) : bytes_(bytes.begin(), bytes.end()) {}
  // Moves them out of the program, whose slots then lie in Place::shared.
  void take(program::Program& program);
  const program::AlignedBytes& bytes() const { return bytes_; }
  void clear() { *this = {}; }

 private:
  size_t place(std::span<const std::byte> constant);

  program::AlignedBytes bytes_;
  std::multimap<uint64_t, std::pair<size_t, size_t>> known_;  // by hash: where it begins, and ends
};

}  // namespace tercel::aot
