#include "core/log.h"

#include <unistd.h>

namespace tercel {

void logLine(LogLevel level, std::string_view message) {
  static constexpr std::string_view kNames[] = {"error", "warning", "info", "debug"};
  std::string line = cat("tercel ", kNames[static_cast<int>(level)], ": ", message, "\n");
  // One write, so that lines of several threads do not mix; a short one is not worth an error.
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace tercel
