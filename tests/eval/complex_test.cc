// Facts of NumPy 2 (C99's branch cuts and signed zeros) and, for arithmetic, of XLA:CPU.
#include <gtest/gtest.h>

#include "program.h"

namespace tercel::eval {
namespace {

TEST(Complex, Parts) {
  expectOp("complex(%0, %1) : c64[2]", {"f32[2] (1, -0)", "f32[2] (2, nan)"},
           {"c64[2] ((1, 2), (-0, nan))"});
  expectOp("real(%0) : f64[1]", {"c128[1] ((3, -4))"}, {"f64[1] (3)"});
  expectOp("imag(%0) : f64[1]", {"c128[1] ((3, -4))"}, {"f64[1] (-4)"});
  expectOp("abs(%0) : f32[3]", {"c64[3] ((3, -4), (1e30, 1e30), (inf, 1))"},
           {"f32[3] (5, 1.4142135e30, inf)"});
}

TEST(Complex, MultiplicationDoesNotRecoverInfinities) {
  expectOp("multiply(%0, %1) : c128[3]",
           {"c128[3] ((1, 2), (inf, inf), (1, 0))", "c128[3] ((3, -1), (1, 0), (inf, 1))"},
           {"c128[3] ((5, 5), (nan, nan), (inf, nan))"});
}

TEST(Complex, DivisionDoes) {
  expectOp("divide(%0, %1) : c128[6]",
           {"c128[6] ((1, 2), (-1, -1), (0, 0), (1, 2), (inf, inf), (inf, 1))",
            "c128[6] ((0, 1), (0, 0), (0, 0), (inf, inf), (1, 0), (1, 0))"},
           {"c128[6] ((2, -1), (-inf, -inf), (nan, nan), (0, 0), (inf, inf), (inf, nan))"});
}

TEST(Complex, BranchCutsFollowTheSignOfZero) {
  std::string z = "c128[4] ((-1, 0), (-1, -0), (-4, 0), (-4, -0))";
  expectNear("sqrt(%0) : c128[4]", {z}, "c128[4] ((0, 1), (0, -1), (0, 2), (0, -2))", 1);
  expectNear("log(%0) : c128[4]", {z},
             "c128[4] ((0, 3.141592653589793), (0, -3.141592653589793), "
             "(1.3862943611198906, 3.141592653589793), (1.3862943611198906, -3.141592653589793))",
             1);
}

TEST(Complex, Functions) {
  std::string z = "c128[1] ((0.5, -1.25))";
  auto near = [&](std::string_view op, std::string_view want) {
    expectNear(cat(op, "(%0) : c128[1]"), {z}, cat("c128[1] (", want, ")"), 2);
  };
  near("exponential", "(0.5198786860084937, -1.5646111274988195)");
  near("exponential_minus_one", "(-0.4801213139915064, -1.5646111274988195)");
  near("log_plus_one", "(0.669142570966765, -0.6947382761967031)");
  near("sine", "(0.9053586344209573, -1.4058162504314684)");
  near("cosine", "(1.6572478640539148, 0.7680009178735728)");
  near("tan", "(0.1261085664842344, -0.9067248043194311)");
  near("tanh", "(1.5839635482844237, -0.8066346988510736)");
  near("rsqrt", "(0.7136677874451546, 0.4831766156089769)");
  near("sign", "(0.3713906763541037, -0.9284766908852593)");
}

// |1 + z| is 1 to 16 digits; the real part is (2 x + x^2 + y^2) / 2 of the doubles x and y.
TEST(Complex, LogPlusOneDoesNotCancel) {
  expectNear("log_plus_one(%0) : c128[1]", {"c128[1] ((-5e-9, 1e-4))"},
             "c128[1] ((1.2500000374604557e-17, 1.0000000016666667e-4))", 4);
}

// C99's exponential is (inf, nan) and (0, 0) there, its tanh (0, nan), its tan (nan, 0).
TEST(Complex, FunctionsDoNotRecoverFromNan) {
  expectOp("exponential(%0) : c64[4]", {"c64[4] ((inf, inf), (-inf, inf), (-inf, nan), (inf, 0))"},
           {"c64[4] ((nan, nan), (nan, nan), (nan, nan), (inf, 0))"});
  expectOp("tanh(%0) : c64[3]", {"c64[3] ((0, inf), (-0, nan), (inf, inf))"},
           {"c64[3] ((nan, nan), (nan, nan), (1, 0))"});
  expectOp("tan(%0) : c64[2]", {"c64[2] ((-inf, 0), (nan, -0))"},
           {"c64[2] ((nan, nan), (nan, nan))"});
}

TEST(Complex, Power) {
  expectNear("power(%0, %1) : c128[2]", {"c128[2] ((1, 2), (-1, -1))", "c128[2] ((0, 1), (0, 1))"},
             "c128[2] ((0.2291401859804338, 0.23817011512167555), "
             "(9.923400226678131, 3.58383962127501))",
             4);
  expectOp("power(%0, %1) : c128[8]",
           {"c128[8] ((0, 0), (0, 0), (0, 0), (1, 0), (inf, 1), (inf, 0), (0, 0), (inf, 0))",
            "c128[8] ((0, 0), (1, 0), (0, 1), (inf, nan), (0, 0), (2, 0), (2, 1), (-1, 0))"},
           {"c128[8] ((1, 0), (0, 0), (nan, nan), (1, 0), (1, 0), (inf, 0), (nan, nan), (0, 0))"});
}

}  // namespace
}  // namespace tercel::eval
