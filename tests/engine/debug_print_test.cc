#include "runtime/engine/debug_print.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <complex>
#include <numeric>
#include <vector>

namespace tercel::engine {
namespace {

struct Operand {
  Shape shape;
  const void* data;
};

std::string textOf(const std::string& format, const std::vector<Operand>& operands) {
  program::CallSignature signature;
  std::vector<void*> pointers;
  for (const Operand& operand : operands) {
    signature.operands.push_back({operand.shape, false});
    pointers.push_back(const_cast<void*>(operand.data));
  }
  const std::string configuration = "{format = \"" + format + "\"}";
  CustomCall call;
  call.target = kDebugPrint;
  call.configuration = configuration;
  call.signature = &signature;
  call.operands = pointers;
  Result<std::string> text = debugText(call);
  return text.ok() ? *text : text.status().message();
}

TEST(DebugPrint, Texts) {
  EXPECT_EQ(textOf("plain", {}), "plain");
  EXPECT_EQ(textOf("", {}), "");
  EXPECT_EQ(textOf("{{}} and }} {{", {}), "{} and } {");
  EXPECT_EQ(textOf("a \\\"quote\\\" \\\\ line\\x0abreak", {}), "a \"quote\" \\ line\nbreak");
}

TEST(DebugPrint, Scalars) {
  const float f = 0.1f;
  const double d = -1e300;
  const int32_t i = -7;
  const uint64_t u = ~uint64_t{0};
  const bool yes = true;
  const std::complex<float> z(1.5f, -2);
  const uint16_t half = floatToHalf(0.5f);
  const std::vector<Operand> all = {{{DType::f32, {}}, &f},  {{DType::f64, {}}, &d},
                                    {{DType::s32, {}}, &i},  {{DType::u64, {}}, &u},
                                    {{DType::pred, {}}, &yes}, {{DType::c64, {}}, &z},
                                    {{DType::f16, {}}, &half}};
  EXPECT_EQ(textOf("{0} {1} {2} {3} {4} {5} {6}", all),
            "0.1 -1e+300 -7 18446744073709551615 True 1.5-2j 0.5");
  const float others[] = {1.0f / 3, -0.0f, INFINITY, -NAN, 16777216, 1e-45f};
  EXPECT_EQ(textOf("{0}", {{{DType::f32, {6}}, others}}),
            "[0.33333334 -0. inf nan 16777216. 1e-45]");
  for (const auto& [value, text] : std::vector<std::pair<double, const char*>>{
           {20, "20.0"}, {0, "0.0"}, {-1.25, "-1.25"}, {1e15, "1000000000000000.0"},
           {1e16, "1e+16"}, {1e-4, "0.0001"}, {1.5e-5, "1.5e-05"}, {-INFINITY, "-inf"}}) {
    EXPECT_EQ(textOf("{0}", {{{DType::f64, {}}, &value}}), text);
  }
  EXPECT_EQ(textOf("{0:.3f}|{0:8.2e}|{2:4d}|{2:+d}|{0:weird}|{4:.1f}", all),
            "0.100|1.00e-01|  -7|-7|0.1|True");
}

TEST(DebugPrint, Arrays) {
  const std::array<int32_t, 6> values = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(textOf("{0}", {{{DType::s32, {6}}, values.data()}}), "[1 2 3 4 5 6]");
  EXPECT_EQ(textOf("x={0}.", {{{DType::s32, {2, 3}}, values.data()}}), "x=[[1 2 3]\n [4 5 6]].");
  EXPECT_EQ(textOf("{0}", {{{DType::s32, {1, 2, 1}}, values.data()}}), "[[[1]\n  [2]]]");
  EXPECT_EQ(textOf("{0}", {{{DType::s32, {0, 3}}, values.data()}}), "[]");
  EXPECT_EQ(textOf("{0}", {{{DType::f8e5m2, {2}}, values.data()}}), "[0x01 0x00]");
  std::vector<int32_t> many(1001);
  std::iota(many.begin(), many.end(), 0);
  EXPECT_EQ(textOf("{0}", {{{DType::s32, {1001}}, many.data()}}),
            "[0 1 2 ... 998 999 1000]");
}

TEST(DebugPrint, Malformed) {
  const float f = 0;
  const std::vector<Operand> one = {{{DType::f32, {}}, &f}};
  for (const char* format : {"{1}", "{0", "{x}", "{-1}", "{}", "{0:9999999999f}",
                             "{0:.99999999999e}", "\\xZZ", "\\x0g"}) {
    EXPECT_EQ(textOf(format, one), "malformed configuration of tercel_debug_print") << format;
  }
  CustomCall call;
  for (const char* configuration :
       {"", "{}", "{format = 3}", "{format = \"open", "{format = \"\\"}) {
    call.configuration = configuration;
    EXPECT_FALSE(debugText(call).ok()) << configuration;
  }
}

}  // namespace
}  // namespace tercel::engine
