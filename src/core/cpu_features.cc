#include "core/cpu_features.h"

#include "core/tile_registers.h"

namespace tercel {
namespace {

// As texts of names that end in a comma: small in saved libraries.
constexpr std::string_view kChecked =
#define CPU_FEATURE(name) name ","
#include "core/cpu_features.def"
    ;
constexpr std::string_view kInName =
#define CPU_FEATURE(name)
#define CPU_FEATURE_IN_NAME(name) name ","
#include "core/cpu_features.def"
    ;

// The place of a name in such a text; negative where it is not there.
int placeIn(std::string_view names, std::string_view name) {
  for (int place = 0; !names.empty(); ++place) {
    const size_t end = names.find(',');
    if (names.substr(0, end) == name) return place;
    names.remove_prefix(end + 1);
  }
  return -1;
}

}  // namespace

bool isCpuFeature(std::string_view name) {
  return placeIn(kChecked, name) >= 0 || placeIn(kInName, name) >= 0;
}

bool cpuHas([[maybe_unused]] std::string_view name) {
#if defined(__x86_64__)
  if (name == "amx-tile") return useTileRegisters();
  const int place = placeIn(kChecked, name);
  if (place < 0) return placeIn(kInName, name) >= 0;
  __builtin_cpu_init();
  const bool has[] = {
#define CPU_FEATURE(feature) __builtin_cpu_supports(feature) != 0,
#include "core/cpu_features.def"
  };
  return has[place];
#else
  return true;
#endif
}

}  // namespace tercel
