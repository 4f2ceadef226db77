#include "compiler/kernel/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "compiler/kernel/builder.h"
#include "compiler/kernel/verifier.h"

namespace tercel::kernel {
namespace {

constexpr std::string_view kEverything = R"(kernel @"odd name"(%0, %1) {params = 3, scratch = 1088, tasks = 64, cost = 12.5} {
  #0 = f32 param 0 read_only
  #1 = f32 param 1 read_only align 4
  #2 = f32 param 2 alias #0
  #3 = i1 scratch 1024
  function @"a sum"(%2 : f32x16, %3 : f32x16) {
    %4 = fadd %2, %3 : f32x16
    yield %4
  }
  %5 = constant -5 : i32
  %6 = constant 0x7fc00000 : f32x16
  %7 = constant 0.1 : f32x16
  %8 = constant 1e-310 : f64
  %9 = constant -0 : f16
  %10 = constant 65504 : f16
  %11 = constant 9.1835e-41 : bf16
  %12 = constant 1 : i1x16
  %13 = constant 0 : i64
  %14, %15 = for %16 = %0 to %1 step 16 (%17 = %13, %18 = %7) {
    %19 = load #0[%16] : f32x16
    %20 = load_masked #1[%16 - 16], %12 : f32x16
    %21 = fma %19, %20, %18 : f32x16
    %22 = fcmp fult %21, %6 : i1x16
    %23 = select %22, %21, %7 : f32x16
    store #2[%16 + 32], %23 : f32x16
    store_masked #2[%16], %23, %22 : f32x16
    store_streaming #2[%16], %23 : f32x16
    store #3[%13], %22 : i1x16
    prefetch #0[%16 + 1024]
    tiles_begin
    tile_zero [7]
    tile_load #2[%16 + 3] [0, 80] : f32x16
    tile_dot_bf16 [0, 4, 7]
    tile_store #2[%16] [0, 80] : f32x16
    tiles_end
    subnormals_forget
    %24 = lane_ids : i64x16
    %25 = gather #0[%0 + 1], %24, %22 : f32x16
    scatter #2[%0], %24, %25, %12 : f32x16
    %26 = extract %25, 3 : f32
    %27 = splat %26 : f32x8
    %28 = shuffle %19, %20 [0, -1, 31] : f32x3
    %29 = icmp sle %17, %16 : i1
    %30 = if %29 {
      yield %16
    } else {
      yield %17
    }
    yield %30, %25
  }
  if %29 {
    store #2[%13], %7 : f32x16
  }
  %31 = while (%32 = %14) {
    %33 = icmp ne %32, %13 : i1
    yield %33
  } do (%34) {
    %35 = iadd %34, %34 : i64
    yield %35
  }
  %36 = any %12 : i1
  %37 = rarely %36 @"a sum"(%7, %6) : f32x16
  %38 = scalb %37, %7 : f32x16
}
)";

TEST(Text, PrintsWhatItParsed) {
  auto kernel = parse(kEverything);
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  EXPECT_EQ(print(*kernel), kEverything);
  EXPECT_EQ(kernel->name, "odd name");
  EXPECT_EQ(kernel->tasks, 64);
  EXPECT_EQ(kernel->cost, 12.5);
  // %29 is used where it is not visible: parsing does not mind, verifying does.
  Status status = verify(*kernel);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("is not defined here"), std::string::npos) << status.message();
}

TEST(Text, NamesAreFreeAndCommentsAreSkipped) {
  auto kernel = parse("kernel @k(%begin, %end) { // nothing\n%sum = iadd %begin, %end : i64 }");
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  EXPECT_EQ(print(*kernel),
            "kernel @k(%0, %1) {params = 0, scratch = 0, tasks = 1, cost = 0} {\n"
            "  %2 = iadd %0, %1 : i64\n}\n");
  EXPECT_TRUE(verify(*kernel).ok());
}

TEST(Text, EveryConstantSurvives) {
  constexpr Scalar kScalars[] = {Scalar::i1,  Scalar::i8,   Scalar::i16, Scalar::i32, Scalar::i64,
                                 Scalar::f16, Scalar::bf16, Scalar::f32, Scalar::f64};
  for (Scalar s : kScalars) {
    Kernel kernel{.name = "constants"};
    Builder b(kernel);
    uint64_t bits = 1;
    for (int i = 0; i < 200; ++i) {
      b.constant({s, 1}, bits >> (i % 3 * 20));
      bits = bits * 6364136223846793005u + 1442695040888963407u;
    }
    for (double v : {0.0, -0.0, HUGE_VAL, -HUGE_VAL, double(NAN), 1e-320})
      if (isFloat(s)) b.number({s, 1}, v);
    auto again = parse(print(kernel));
    ASSERT_TRUE(again.ok()) << again.status().message();
    ASSERT_EQ(again->insts.size(), kernel.insts.size());
    for (size_t i = 0; i < kernel.insts.size(); ++i)
      EXPECT_EQ(again->insts[i].imm, kernel.insts[i].imm) << scalarName(s);
  }
}

TEST(Text, ErrorsNameThePlace) {
  auto error = [](std::string_view body) {
    auto kernel = parse(cat("kernel @k(%0, %1) {params = 1} {\n#0 = f32 param 0\n", body, "}"));
    return kernel.ok() ? "no error" : kernel.status().message();
  };
  EXPECT_EQ(error("%2 = frob %0 : i64"), "3:6: there is no instruction frob");
  EXPECT_EQ(error("%2 = iadd %0, %9 : i64"), "3:15: there is no value %9");
  EXPECT_EQ(error("%0 = iadd %0, %1 : i64"), "3:20: %0 is defined twice");
  EXPECT_EQ(error("%2 = iadd %0, %1 : i65"), "3:20: there is no type i65");
  EXPECT_EQ(error("%2 = iadd %0, %1 : i64x99999"), "3:20: there is no type i64x99999");
  EXPECT_EQ(error("%2 = load #7[%0] : f32"), "3:12: there is no buffer #7");
  EXPECT_EQ(error("%2 = rarely %0 @f(%1) : i64"), "3:17: there is no function @f");
  EXPECT_EQ(error("%2 = icmp almost %0, %1 : i1"), "3:11: there is no predicate almost");
  EXPECT_EQ(error("%2 = constant 1.5 : i32"), "3:21: '1.5' is no number");
  EXPECT_EQ(error("%2 = constant 0x100 : i8"), "3:23: '0x100' is no constant of its type");
  EXPECT_EQ(error("store #0[%0], %1"), "3:17: expected ':'");
  EXPECT_EQ(error("%2 = prefetch #0[%1]"), "3:20: prefetch has 0 results, not 1");
}

TEST(Text, NoPrefixCrashesTheParser) {
  for (size_t n = 0; n < kEverything.size() - 2; ++n) {
    auto kernel = parse(kEverything.substr(0, n));
    EXPECT_FALSE(kernel.ok()) << n;
  }
  std::string deep = "kernel @k(%0, %1) {";
  for (int i = 0; i < 100000; ++i) deep += "if %0 {";
  EXPECT_FALSE(parse(deep).ok());
}

// Changed texts are refused or are kernels; what is printed of one parses to the same.
TEST(Text, ChangedTextsDoNotCrash) {
  std::mt19937 random(3);
  int parsed = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string text(kEverything);
    size_t at = random() % text.size();
    if (round % 3 == 0) text.erase(at, 1 + random() % 8);
    else text[at] = kEverything[random() % kEverything.size()];
    auto kernel = parse(text);
    if (!kernel.ok()) continue;
    ++parsed;
    (void)verify(*kernel).ok();
    std::string printed = print(*kernel);
    auto again = parse(printed);
    ASSERT_TRUE(again.ok()) << again.status().message() << '\n' << printed;
    EXPECT_EQ(print(*again), printed);
  }
  EXPECT_GT(parsed, 100);
}

}  // namespace
}  // namespace tercel::kernel
