#include "core/status.h"

namespace tercel {

Status::Status(Code code, std::string message) {
  if (code != Code::ok) error_ = new Error{code, std::move(message)};
}

Status::Error* Status::copyOf(const Error& error) { return new Error(error); }

void Status::destroy(Error* error) { delete error; }

const std::string& Status::message() const {
  static const std::string none;
  return error_ ? error_->message : none;
}

Status Status::within(std::string_view context) const {
  return ok() ? Status() : Status(code(), cat(context, ": ", message()));
}

void Piece::appendTo(std::string& text) const {
  switch (kind_) {
    case Kind::text:
      text.append(text_, size_);
      return;
    case Kind::character:
      text += static_cast<char>(signed_);
      return;
    case Kind::signed_number:
      text += std::to_string(signed_);
      return;
    case Kind::unsigned_number:
      text += std::to_string(unsigned_);
      return;
    case Kind::real_number:
      text += std::to_string(real_);
      return;
  }
}

std::string join(std::span<const Piece> pieces) {
  std::string text;
  for (const Piece& piece : pieces) piece.appendTo(text);
  return text;
}

Status failure(Code code, std::span<const Piece> pieces) { return Status(code, join(pieces)); }

void checkFailed(const char* condition, const char* file, int line, std::string message) {
  throw CheckFailure{cat("internal error at ", file, ":", line, ": ", condition, " is false",
                         message.empty() ? "" : ": ", message)};
}

}  // namespace tercel
