// Uses of ops that inference must refuse, each with a part of the message.
#pragma once
#include <string_view>

namespace tercel::ir {

struct BadUse {
  std::string_view args;
  std::string_view body;
  std::string_view error;
};

inline constexpr BadUse kBadUses[] = {
#define BAD(args, body, error) {args, body, error},
#include "bad_uses.def"
};

}  // namespace tercel::ir
