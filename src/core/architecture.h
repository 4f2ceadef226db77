// The instruction sets that programs are compiled for.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tercel {

enum class Architecture : uint8_t {
#define ARCHITECTURE(name, text) name,
#include "core/architectures.def"
};

inline constexpr size_t kArchitectureCount = 0
#define ARCHITECTURE(name, text) +1
#include "core/architectures.def"
    ;

// That this code was compiled for.
#if defined(__aarch64__)
inline constexpr Architecture kHostArchitecture = Architecture::aarch64;
#else
inline constexpr Architecture kHostArchitecture = Architecture::x86_64;
#endif

constexpr const char* toString(Architecture architecture) {
  constexpr const char* kNames[] = {
#define ARCHITECTURE(name, text) text,
#include "core/architectures.def"
  };
  return kNames[static_cast<size_t>(architecture)];
}

}  // namespace tercel
