#include "core/status.h"

namespace tercel {

Status Status::within(std::string_view context) const {
  return ok() ? Status() : Status(code_, cat(context, ": ", message_));
}

void checkFailed(const char* condition, const char* file, int line, std::string message) {
  throw CheckFailure{cat("internal error at ", file, ":", line, ": ", condition, " is false",
                         message.empty() ? "" : ": ", message)};
}

}  // namespace tercel
