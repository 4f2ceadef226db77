#include "core/cpu_features.h"

#include "core/tile_registers.h"

namespace tercel {
namespace {

constexpr std::string_view kChecked[] = {
#define CPU_FEATURE(name) name,
#include "core/cpu_features.def"
};
constexpr std::string_view kInName[] = {
#define CPU_FEATURE(name)
#define CPU_FEATURE_IN_NAME(name) name,
#include "core/cpu_features.def"
};

template <size_t kCount>
bool contains(const std::string_view (&names)[kCount], std::string_view name) {
  for (std::string_view other : names)
    if (other == name) return true;
  return false;
}

}  // namespace

bool isCpuFeature(std::string_view name) {
  return contains(kChecked, name) || contains(kInName, name);
}

bool cpuHas([[maybe_unused]] std::string_view name) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (name == "amx-tile") return useTileRegisters();
#define CPU_FEATURE(feature) \
  if (name == feature) return __builtin_cpu_supports(feature) != 0;
#include "core/cpu_features.def"
  return contains(kInName, name);
#else
  return true;
#endif
}

}  // namespace tercel
