// What the plugin says of itself.
#pragma once
#include <string_view>

namespace tercel::pjrt {

// JAX keys its CPU lowering rules, donation, caches and callbacks on this name.
inline constexpr std::string_view kPlatformName = "cpu";
inline constexpr std::string_view kPlatformVersion = "Tercel " TERCEL_VERSION;

}  // namespace tercel::pjrt
