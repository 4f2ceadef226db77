// Types, attributes and literals of the text form.
#pragma once
#include "compiler/ir/module.h"
#include "compiler/ir/scanner.h"

namespace tercel::ir {

Result<Type> parseType(Scanner& in);
Result<Attr> parseAttr(Scanner& in, AttrKind kind);

// {key = value, ...}: calls onKey(key), which reads the value.
template <class OnKey>
Status parseDictionary(Scanner& in, OnKey&& on_key) {
  TERCEL_TRY(in.expect("{"));
  do {
    TERCEL_ASSIGN(std::string_view key, in.word());
    TERCEL_TRY(in.expect("="));
    TERCEL_TRY(on_key(key));
  } while (in.accept(","));
  return in.expect("}");
}

}  // namespace tercel::ir
