#include <gtest/gtest.h>

#include <random>

#include "compiler/ir/text.h"
#include "compiler/ir/verifier.h"
#include "module_text.h"
#include "op_examples.h"

namespace tercel::ir {
namespace {

struct BadText {
  std::string_view text;
  std::string_view error;
};

constexpr BadText kBadTexts[] = {
    {"", "1:1: expected 'module'"},
    {"modules @m {}", "1:1: expected 'module'"},
    {"module m {}", "1:8: expected '@'"},
    {"module @m {} x", "1:14: expected the end"},
    {"module @m {", "1:12: expected a word"},
    {"module @m {num_devices = 2} {}", "1:12: unknown module attribute"},
    {"module @m {\n  func main", "2:8: expected '@'"},
    {"module @m { func @f() -> () { return } func @f() -> () { return } }", "a second function @f"},
    {"module @m { func @f() -> (f32[]) { return } }", "@f returns 0 values, not 1"},
    {"module @m { func @f(%a: s32[]) -> (f32[]) { return %a } }", "another type as result 0"},
    {"module @m { func @f(%a: q32[]) -> () { return } }", "1:25: unknown type 'q32'"},
    {"module @m { func @f(%a: f32[-1]) -> () { return } }", "negative dimension"},
    {"module @m { func @f(%a: f32[99999999999999999999]) -> () { return } }", "64-bit integer"},
    {"module @m { func @f(%a: f32[4611686018427387904]) -> () { return } }", "too large"},
    {"module @m { func @f(%a: f32[], %a: f32[]) -> () { return } }", "1:32: %a is defined twice"},
    {"module @m { func @f(%a: f32[] {donor = true}) -> () { return } }", "unknown attribute"},
    {"module @m { func @f(%a: f32[] {aliasing_output = -1}) -> () { return } }", "negative"},
    {"module @m { func @f(%: f32[]) -> () { return } }", "expected a name after '%'"},
    {"module @m { func @f() -> () {\n %1 = frobnicate() : f32[] return } }",
     "2:7: unknown op 'frobnicate'"},
    {"module @m { func @f() -> () {\n %1 = negate(%0) : f32[] return } }", "2:14: %0 is not"},
    {"module @m { func @f(%0: f32[]) -> () { %1 = negate(%0) return } }", "1 results and 0 types"},
    {"module @m { func @f(%0: f32[]) -> () { %0 = negate(%0) : f32[] return } }", "defined twice"},
    {"module @m { func @f() -> () { call() {calle = f} return } }", "unknown attribute 'calle'"},
    {"module @m { func @f() -> () { call() {callee = f, callee = f} return } }", "a second callee"},
    {"module @m { func @f() -> () { call() {callee = \"f} return } }", "does not end"},
    {"module @m { func @f() -> () { call() {callee = \"\\x\"} return } }", "unknown escape"},
    {"module @m { func @f() -> () { call() {callee = f return } }", "1:50: expected '}'"},
    {"module @m { func @f() -> () { return }", "1:39: expected 'func'"},
};

TEST(Parser, ErrorsHaveLineAndColumn) {
  for (const BadText& bad : kBadTexts) {
    auto module = parse(bad.text);
    ASSERT_FALSE(module.ok()) << bad.text;
    EXPECT_EQ(module.status().code(), Code::invalid_argument);
    EXPECT_TRUE(mentions(module.status().message(), bad.error))
        << bad.text << "\n  gave: " << module.status().message();
  }
}

TEST(Parser, NamesAreVisibleInTheirRegionOnly) {
  constexpr std::string_view kIf =
      "%1 = if(%0) true() { %2 = not(%0) : pred[] return %2 } false() { return %0 } : pred[]\n";
  EXPECT_EQ(errorOf(mainOf("%0: pred[]", kIf)), "");
  EXPECT_TRUE(mentions(errorOf(mainOf("%0: pred[]", cat(kIf, "%3 = not(%2) : pred[]"))),
                       "%2 is not defined"));
}

struct Elements {
  std::string_view literal;
  std::string_view error;  // empty: prints as `literal` again
};

constexpr Elements kElements[] = {
    {"f32[] (0.1)", ""},
    {"f32[3] (inf, -inf, nan:0xffc00000)", ""},
    {"f32[2] (1e-45, 3.4028235e+38)", ""},
    {"f64[2] (5e-324, 1.7976931348623157e+308)", ""},
    {"f64[] (nan:0x7ff8000000000001)", ""},
    {"f16[5] (0.1, 65504, 6e-08, nan:0x7e01, -0)", ""},
    {"bf16[4] (0.1, 9e-41, -256, 3.39e+38)", ""},
    {"s8[2] (-128, 127)", ""},
    {"u64[] (18446744073709551615)", ""},
    {"s64[] (-9223372036854775808)", ""},
    {"pred[2] (true, false)", ""},
    {"c128[2] ((1, 2), (-0, nan:0x7ff8000000000000))", ""},
    {"c64[2] splat((1, 2))", ""},
    {"f32[0] ()", ""},
    {"f32[4611686018427387904,0] ()", "too large"},
    {"f32[1099511627776] splat(1)", ""},
    {"s8[] (128)", "'128' is not a s8"},
    {"u8[] (-1)", "'-1' is not a u8"},
    {"s32[] (1.5)", "'1.5' is not a s32"},
    {"f16[] (65520)", "is not a f16"},
    {"f32[] (1e39)", "is not a f32"},
    {"f32[] (nan)", "'nan' is not a f32"},
    {"f32[] (nan:0x7f800000)", "is not a f32"},
    {"f32[] (nan:0x7fc0)", "is not a f32"},
    {"f32[] (infinity)", "is not a f32"},
    {"f32[] (--1)", "is not a f32"},
    {"pred[] (1)", "'1' is not a pred"},
    {"c64[] (1)", "expected '('"},
    {"f32[2] (1)", "found 1 of 2 elements"},
    {"f32[1] (1, 2)", "more than 1 elements"},
    {"f32[2] (1, 1)", "prints as a splat"},
    {"f32[1] hex(\"0000803\")", "found 3 of 4 bytes"},
    {"f32[1] hex(\"0000803g\")", "expected hexadecimal digits"},
    {"pred[1] hex(\"02\")", "a pred byte"},
    {"token (1)", "a token has no elements"},
};

TEST(Parser, LiteralElements) {
  for (const Elements& e : kElements) {
    std::string_view type = e.literal.substr(0, e.literal.find(' '));
    auto module = parse(mainOf("", cat("%0 = constant() {value = ", e.literal, "} : ", type)));
    if (e.error == "prints as a splat") {
      ASSERT_TRUE(module.ok());
      EXPECT_TRUE(mentions(print(*module), "f32[2] splat(1)"));
    } else if (e.error.empty()) {
      ASSERT_TRUE(module.ok()) << module.status().message();
      EXPECT_TRUE(mentions(print(*module), cat("= ", e.literal, "}"))) << print(*module);
    } else {
      EXPECT_TRUE(mentions(module.status().message(), e.error))
          << e.literal << "\n  gave: " << module.status().message();
    }
  }
}

std::string nested(int depth) {
  std::string text;
  for (int i = 0; i < depth; ++i) text += "while() cond() {\n";
  text += "return";
  for (int i = 0; i < depth; ++i) text += "}\nreturn";
  return text + "}}";
}

TEST(Parser, NestingIsBounded) {
  auto refused = parse("module @m { func @main() -> () {" + nested(100000));
  EXPECT_TRUE(mentions(refused.status().message(), "nest deeper")) << refused.status().message();
  EXPECT_TRUE(parse("module @m { func @main() -> () {" + nested(150)).ok());
}

// Cut, changed and doubled texts give a module or an error with a place; modules that come out
// print to a fixed point and can be verified.
TEST(Parser, MutatedTextsNeverCrash) {
  std::mt19937 random(7);
  constexpr std::string_view kBytes = "%@{}()[],:=\"\\ \n0-ae.x_/\xff";
  for (const OpExample& example : kOpExamples) {
    const std::string original = moduleOf(example);
    for (int round = 0; round < 60; ++round) {
      std::string text = original;
      for (uint32_t edits = random() % 3 + 1; edits > 0; --edits) {
        size_t at = random() % text.size(), length = random() % 12;
        switch (random() % 4) {
          case 0:
            text[at] = kBytes[random() % kBytes.size()];
            break;
          case 1:
            text.erase(at, length);
            break;
          case 2:
            text.insert(at, text.substr(random() % text.size(), length));
            break;
          default:
            text.resize(at);
            break;
        }
        if (text.empty()) text.push_back(' ');
      }
      auto module = parse(text);
      if (!module.ok()) {
        EXPECT_TRUE(isdigit(module.status().message()[0])) << module.status().message();
        continue;
      }
      (void)verify(*module).ok();
      std::string printed = print(*module);
      auto again = parse(printed);
      ASSERT_TRUE(again.ok()) << again.status().message() << "\n" << printed;
      EXPECT_EQ(print(*again), printed);
    }
  }
}

}  // namespace
}  // namespace tercel::ir
