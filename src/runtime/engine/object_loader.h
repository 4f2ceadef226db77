// Puts relocatable objects into memory and links them: what the JIT and ahead-of-time programs
// have instead of a dynamic linker.
#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "core/status.h"

namespace tercel::engine {

using ObjectBytes = std::span<const std::byte>;

struct ExternalSymbol {
  std::string_view name;
  const void* address;
};

// The C library functions that a code generator may call by itself.
std::span<const ExternalSymbol> codeSupportSymbols();

// Linked code, unmapped on destruction. No page is ever writable and executable.
class LoadedCode {
 public:
  // Links all `objects` into one mapping: system calls cost more than linking.
  static Result<LoadedCode> load(std::span<const ObjectBytes> objects,
                                 std::span<const ExternalSymbol> externals = codeSupportSymbols());

  LoadedCode() = default;
  LoadedCode(LoadedCode&& other) noexcept;
  LoadedCode& operator=(LoadedCode&& other) noexcept;
  ~LoadedCode();

  void* find(std::string_view symbol) const;  // nullptr where it is not defined
  template <class Function>
  Function* function(std::string_view symbol) const {
    return reinterpret_cast<Function*>(find(symbol));
  }
  std::span<const std::byte> mapping() const { return {base_, size_}; }
  const std::map<std::string, void*, std::less<>>& symbols() const { return symbols_; }

 private:
  friend class Linker;
  std::byte* base_ = nullptr;
  size_t size_ = 0;
  std::map<std::string, void*, std::less<>> symbols_;
};

}  // namespace tercel::engine
