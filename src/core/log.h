// Lines on stderr, by level: TERCEL_LOG(info, "loaded ", name) costs one load where it is off.
#pragma once
#include <atomic>
#include <string_view>

#include "core/status.h"

namespace tercel {

enum class LogLevel : int { error, warning, info, debug };

namespace log_detail {
inline std::atomic<int> level{static_cast<int>(LogLevel::warning)};
}

inline void setLogLevel(LogLevel level) { log_detail::level = static_cast<int>(level); }
inline bool logEnabled(LogLevel level) {
  return static_cast<int>(level) <= log_detail::level.load(std::memory_order_relaxed);
}
// One line, written at once whatever other threads write.
void logLine(LogLevel level, std::string_view message);

}  // namespace tercel

#define TERCEL_LOG(level, ...)                                        \
  do {                                                                \
    if (::tercel::logEnabled(::tercel::LogLevel::level)) [[unlikely]] \
      ::tercel::logLine(::tercel::LogLevel::level, ::tercel::cat(__VA_ARGS__)); \
  } while (0)
