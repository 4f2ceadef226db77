// Programs in the text form: cases.def and, for what is easier made than written, case_makers.cc.
#pragma once
#include <string>
#include <vector>

namespace tercel::compiler {

struct Case {
  std::string name;
  std::string text;  // functions
};

// Each case of cases.def for each of its element types.
std::vector<Case> writtenCases();
// The first of its element types only.
std::vector<Case> oneOfEachWrittenCase();

// reduce of every monoid over each subset of dimensions.
std::vector<Case> reductionCases();
// dot_general in all layouts of up to one batch dimension.
std::vector<Case> dotCases();

// "body(%a: f32[], %b: f32[]) { %c = add(%a, %b) : f32[] return %c }", with names of its own.
std::string reducerText(std::string_view op, std::string_view dtype);

}  // namespace tercel::compiler
