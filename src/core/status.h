// Errors that input or environment can cause (Status, Result) and our own bugs (TERCEL_CHECK).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace tercel {

// The numbers are PJRT_Error_Code's.
enum class Code : uint8_t {
  ok = 0,
  cancelled = 1,
  unknown = 2,
  invalid_argument = 3,
  deadline_exceeded = 4,
  not_found = 5,
  already_exists = 6,
  permission_denied = 7,
  resource_exhausted = 8,
  failed_precondition = 9,
  aborted = 10,
  out_of_range = 11,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
  data_loss = 15,
  unauthenticated = 16,
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}
  bool ok() const { return code_ == Code::ok; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }
  // The same error with `context` in front of its message.
  Status within(std::string_view context) const;

 private:
  Code code_ = Code::ok;
  std::string message_;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}
  Result(Status status) : state_(std::move(status)) {}
  bool ok() const { return std::holds_alternative<T>(state_); }
  Status status() const { return ok() ? Status() : std::get<Status>(state_); }
  T& operator*() { return std::get<T>(state_); }
  const T& operator*() const { return std::get<T>(state_); }
  T* operator->() { return &std::get<T>(state_); }
  const T* operator->() const { return &std::get<T>(state_); }

 private:
  std::variant<T, Status> state_;
};

// Joins its arguments into one string: text, characters and numbers.
template <class... Args>
std::string cat(const Args&... args) {
  std::string text;
  [[maybe_unused]] auto append = [&text](const auto& arg) {
    using Arg = std::decay_t<decltype(arg)>;
    if constexpr (std::is_same_v<Arg, char>) {
      text += arg;
    } else if constexpr (std::is_arithmetic_v<Arg>) {
      text += std::to_string(arg);
    } else {
      text += std::string_view(arg);
    }
  };
  (append(args), ...);
  return text;
}

template <class... Args>
Status invalidArgument(const Args&... args) {
  return Status(Code::invalid_argument, cat(args...));
}
template <class... Args>
Status unimplemented(const Args&... args) {
  return Status(Code::unimplemented, cat(args...));
}
template <class... Args>
Status internalError(const Args&... args) {
  return Status(Code::internal, cat(args...));
}
template <class... Args>
Status resourceExhausted(const Args&... args) {
  return Status(Code::resource_exhausted, cat(args...));
}
template <class... Args>
Status failedPrecondition(const Args&... args) {
  return Status(Code::failed_precondition, cat(args...));
}

// A bug of ours, thrown to the nearest compile or execute boundary, which turns it into a Status
// and a reproducer. Never caused by input.
[[noreturn]] void checkFailed(const char* condition, const char* file, int line,
                              std::string message);

struct CheckFailure {
  std::string message;
};

}  // namespace tercel

#define TERCEL_CHECK(condition, ...)                                                       \
  do {                                                                                     \
    if (!(condition)) [[unlikely]]                                                         \
      ::tercel::checkFailed(#condition, __FILE__, __LINE__, ::tercel::cat(__VA_ARGS__));   \
  } while (0)

#define TERCEL_CONCAT2(a, b) a##b
#define TERCEL_CONCAT(a, b) TERCEL_CONCAT2(a, b)

// Returns the error of a Status expression to the caller.
#define TERCEL_TRY(expr)                                       \
  do {                                                         \
    if (::tercel::Status tercel_status = (expr); !tercel_status.ok()) return tercel_status; \
  } while (0)

// `lhs` = the value of a Result expression, or returns its error to the caller.
#define TERCEL_ASSIGN(lhs, expr) TERCEL_ASSIGN_IMPL(TERCEL_CONCAT(result_, __LINE__), lhs, expr)
#define TERCEL_ASSIGN_IMPL(result, lhs, expr) \
  auto result = (expr);                       \
  if (!result.ok()) return result.status();   \
  lhs = std::move(*result)
