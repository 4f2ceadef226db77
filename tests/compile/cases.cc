#include "compile/cases.h"

#include "core/status.h"

namespace tercel::compiler {
namespace {

constexpr std::string_view kAll =
    "f32 s32 pred s8 s16 s64 u8 u16 u32 u64 f16 bf16 f64 c64 c128 s4 u2 f8E4M3FN f4E2M1FN";
constexpr std::string_view kNumbers = "f32 s32 s8 s64 u8 u16 u32 f16 bf16 f64 c64 c128";
constexpr std::string_view kReals = "f32 s32 s8 u16 s64 f16 bf16 f64";
constexpr std::string_view kFloats = "f32 f16 bf16 f64";

struct WrittenCase {
  std::string_view name;
  std::string_view dtypes;
  std::string_view text;  // $T stands for the element type, $C for the complex type of such parts
};

constexpr WrittenCase kWritten[] = {
#define CASE(name, dtypes, text) {#name, dtypes, text},
#include "compile/cases.def"
};

std::string replaced(std::string_view text, std::string_view mark, std::string_view by) {
  std::string out;
  for (size_t at; (at = text.find(mark)) != text.npos; text.remove_prefix(at + mark.size()))
    out += std::string(text.substr(0, at)) + std::string(by);
  return out + std::string(text);
}

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> all;
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size());
    all.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return all;
}

Case caseOf(const WrittenCase& written, std::string_view dtype) {
  const std::string_view complex = dtype == "f64" ? "c128" : "c64";
  return {cat(written.name, "_", dtype), replaced(replaced(written.text, "$T", dtype), "$C", complex)};
}

}  // namespace

std::vector<Case> writtenCases() {
  std::vector<Case> cases;
  for (const WrittenCase& written : kWritten)
    for (std::string_view dtype : words(written.dtypes)) cases.push_back(caseOf(written, dtype));
  return cases;
}

std::vector<Case> oneOfEachWrittenCase() {
  std::vector<Case> cases;
  for (const WrittenCase& written : kWritten)
    cases.push_back(caseOf(written, words(written.dtypes)[0]));
  return cases;
}

}  // namespace tercel::compiler
