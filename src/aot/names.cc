#include <algorithm>
#include <array>
#include <string_view>

#include "aot/library.h"

namespace tercel::aot {
namespace {

constexpr auto kReserved = std::to_array<std::string_view>(
    {"alignas", "alignof", "and", "asm", "auto", "bool", "break", "case", "catch", "char", "class",
     "const", "constexpr", "continue", "default", "delete", "do", "double", "else", "enum", "errno",
     "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if", "inline",
     "instance", "int", "long", "mutable", "namespace", "new", "not", "nullptr", "operator", "or",
     "private", "protected", "public", "register", "restrict", "return", "short", "signed",
     "sizeof", "static", "struct", "switch", "template", "this", "throw", "true", "try", "typedef",
     "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "while", "xor"});

bool isWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

struct CType {
  DType dtype;
  const char* name;
};

// Of what C has no word for, the bytes.
constexpr CType kTypes[] = {
    {DType::pred, "uint8_t"},  {DType::s8, "int8_t"},       {DType::s16, "int16_t"},
    {DType::s32, "int32_t"},   {DType::s64, "int64_t"},     {DType::u8, "uint8_t"},
    {DType::u16, "uint16_t"},  {DType::u32, "uint32_t"},    {DType::u64, "uint64_t"},
    {DType::f16, "uint16_t"},  {DType::bf16, "uint16_t"},   {DType::f32, "float"},
    {DType::f64, "double"},    {DType::c64, "float"},       {DType::c128, "double"},
};

}  // namespace

const char* cType(DType dtype) {
  for (const CType& type : kTypes)
    if (type.dtype == dtype) return type.name;
  return "uint8_t";
}

std::string replaced(std::string_view text, const std::string& name) {
  std::string result;
  for (char c : text) {
    if (c == '@') {
      result += name;
    } else {
      result += c;
    }
  }
  return result;
}

std::string identifier(const std::string& path) {
  std::string name;
  for (char c : path) {
    if (isWordCharacter(c)) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  while (name.size() > 1 && name.back() == '_') name.pop_back();
  if (name.empty()) return "value";
  if (name[0] >= '0' && name[0] <= '9') name.insert(0, "_");
  if (std::ranges::find(kReserved, name) != kReserved.end()) name += '_';
  return name;
}

std::vector<std::string> parameterNames(const program::Procedure& procedure) {
  std::vector<std::string> names;
  auto add = [&](const program::NamedValue& value) {
    const std::string name = identifier(value.name);
    std::string unique = name;
    for (int n = 2; std::ranges::find(names, unique) != names.end(); ++n) unique = cat(name, n);
    names.push_back(std::move(unique));
  };
  for (const program::NamedValue& value : procedure.arguments) add(value);
  for (const program::NamedValue& value : procedure.results) add(value);
  return names;
}

}  // namespace tercel::aot
