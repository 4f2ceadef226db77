// Errors that input or environment can cause (Status, Result) and our own bugs (TERCEL_CHECK).
#pragma once
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

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

// One pointer, null for success: what does not fail costs neither space nor time.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message);
  Status(const Status& other) : error_(other.error_ ? copyOf(*other.error_) : nullptr) {}
  Status(Status&& other) noexcept : error_(std::exchange(other.error_, nullptr)) {}
  Status& operator=(Status other) noexcept {
    std::swap(error_, other.error_);
    return *this;
  }
  ~Status() {
    if (error_) [[unlikely]] destroy(error_);
  }
  bool ok() const { return !error_; }
  Code code() const { return error_ ? error_->code : Code::ok; }
  const std::string& message() const;
  // The same error with `context` in front of its message.
  Status within(std::string_view context) const;

 private:
  struct Error {
    Code code;
    std::string message;
  };
  static Error* copyOf(const Error& error);
  static void destroy(Error* error);

  Error* error_ = nullptr;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(std::move(status)) {}
  bool ok() const { return value_.has_value(); }
  Status status() const& { return status_; }
  Status status() && { return std::move(status_); }
  T& operator*() { return checked(value_); }
  const T& operator*() const { return checked(value_); }
  T* operator->() { return &checked(value_); }
  const T* operator->() const { return &checked(value_); }

 private:
  template <class Value>
  static auto& checked(Value& value);

  std::optional<T> value_;
  Status status_;
};

// What a message is joined of.
class Piece {
 public:
  Piece(std::string_view text) : kind_(Kind::text), size_(text.size()), text_(text.data()) {}
  Piece(const char* text) : Piece(std::string_view(text)) {}
  Piece(const std::string& text) : Piece(std::string_view(text)) {}
  Piece(char character) : kind_(Kind::character), signed_(character) {}
  template <std::integral T>
  Piece(T number) : kind_(std::is_signed_v<T> ? Kind::signed_number : Kind::unsigned_number) {
    if constexpr (std::is_signed_v<T>) {
      signed_ = number;
    } else {
      unsigned_ = number;
    }
  }
  Piece(double number) : kind_(Kind::real_number), real_(number) {}

  void appendTo(std::string& text) const;

 private:
  enum class Kind : uint8_t { text, character, signed_number, unsigned_number, real_number };
  Kind kind_;
  size_t size_ = 0;
  union {
    const char* text_;
    int64_t signed_;
    uint64_t unsigned_;
    double real_;
  };
};

std::string join(std::span<const Piece> pieces);
Status failure(Code code, std::span<const Piece> pieces);

// Joins its arguments into one string: text, characters and numbers. Inline, since each use has
// types of its own and there would be a function for each.
template <class... Args>
[[gnu::always_inline]] inline std::string cat(const Args&... args) {
  if constexpr (sizeof...(args) == 0) {
    return {};
  } else {
    const Piece pieces[] = {Piece(args)...};
    return join(pieces);
  }
}

#define TERCEL_FAILURE(name, its_code)                               \
  template <class... Args>                                           \
  [[gnu::always_inline]] inline Status name(const Args&... args) {   \
    const Piece pieces[] = {Piece(args)...};                         \
    return failure(Code::its_code, pieces);                          \
  }
TERCEL_FAILURE(invalidArgument, invalid_argument)
TERCEL_FAILURE(unimplemented, unimplemented)
TERCEL_FAILURE(internalError, internal)
TERCEL_FAILURE(resourceExhausted, resource_exhausted)
TERCEL_FAILURE(failedPrecondition, failed_precondition)
#undef TERCEL_FAILURE

// A bug of ours, thrown to the nearest compile or execute boundary, which turns it into a Status
// and a reproducer. Never caused by input.
[[noreturn]] void checkFailed(const char* condition, const char* file, int line,
                              std::string message);

struct CheckFailure {
  std::string message;
};

template <class T>
template <class Value>
auto& Result<T>::checked(Value& value) {
  if (!value) [[unlikely]] checkFailed("ok()", __FILE__, __LINE__, "a Result without a value");
  return *value;
}

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
  if (!result.ok()) return std::move(result).status(); \
  lhs = std::move(*result)
