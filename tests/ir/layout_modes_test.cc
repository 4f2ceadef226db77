// Text to text: what layout modes make of main.
#include "compiler/ir/layout_modes.h"

#include <gtest/gtest.h>

#include "module_text.h"

namespace tercel::ir {
namespace {

std::string applied(std::string_view text) {
  auto module = parse(text);
  if (!module.ok()) return module.status().message();
  if (Status status = applyLayoutModes(*module); !status.ok()) return status.message();
  if (Status status = verify(*module); !status.ok()) return status.message();
  return print(*module);
}

TEST(LayoutModes, ArgumentsAndResultsGetTheTypesOfTheirMemory) {
  constexpr std::string_view kBefore = R"(module @m {
  func @main(%0: f32[2,3,4] {layout_mode = "{0,2,1}"}, %1: pred[], %2: f32[2,3,4] {layout_mode = "default"}) -> (f32[2,3,4] {layout_mode = "{1,0,2}"}, f32[2,3,4]) {
    %3 = if(%1) true() {
      return %0
    } false() {
      return %2
    } : f32[2,3,4]
    return %3, %0
  }
}
)";
  constexpr std::string_view kAfter = R"(module @m {
  func @main(%0: f32[3,4,2] {layout = [0, 2, 1]}, %1: pred[], %2: f32[2,3,4]) -> (f32[4,2,3] {layout = [1, 0, 2]}, f32[2,3,4]) {
    %3 = transpose(%0) {permutation = [2, 0, 1]} : f32[2,3,4]
    %4 = if(%1) true() {
      return %3
    } false() {
      return %2
    } : f32[2,3,4]
    %5 = transpose(%4) {permutation = [2, 0, 1]} : f32[4,2,3]
    return %5, %3
  }
}
)";
  EXPECT_EQ(applied(kBefore), kAfter);
  EXPECT_EQ(applied(kAfter), kAfter);
}

TEST(LayoutModes, ARowMajorOneChangesNothing) {
  EXPECT_EQ(applied(R"(module @m {
  func @main(%0: f32[2,3] {layout_mode = "{1,0}"}, %1: f32[] {layout_mode = "{}"}, %2: token {layout_mode = "default"}) -> (f32[2,3] {layout_mode = "auto"}) {
    return %0
  }
}
)"),
            R"(module @m {
  func @main(%0: f32[2,3], %1: f32[], %2: token) -> (f32[2,3]) {
    return %0
  }
}
)");
}

TEST(LayoutModes, AResultOfAutoIsGivenOutAsItLay) {
  EXPECT_EQ(applied(R"(module @m {
  func @main(%0: f32[2,3,4] {layout_mode = "auto"}) -> (f32[4,2,3] {layout_mode = "auto"}) {
    %1 = negate(%0) : f32[2,3,4]
    %2 = transpose(%1) {permutation = [2, 0, 1]} : f32[4,2,3]
    return %2
  }
}
)"),
            R"(module @m {
  func @main(%0: f32[2,3,4]) -> (f32[2,3,4] {layout = [0, 2, 1]}) {
    %1 = negate(%0) : f32[2,3,4]
    %2 = transpose(%1) {permutation = [2, 0, 1]} : f32[4,2,3]
    return %1
  }
}
)");
}

// Modes are applied before anything is verified.
TEST(LayoutModes, AWrongTransposeIsTheVerifiers) {
  for (std::string_view wrong : {"(%0) {permutation = [2, 9, 1]}", "(%0) {permutation = [0]}",
                                 "(%0) {permutation = [-1, 0, 1]}", "(%1) {permutation = [2, 0, 1]}",
                                 "() {permutation = [2, 0, 1]}", "(%0, %0) {permutation = [2, 0, 1]}",
                                 "(%0)"}) {
    const std::string text = applied(
        cat("module @m {\n  func @main(%0: f32[2,3,4], %1: f32[2]) -> (f32[4,2,3] {layout_mode = "
            "\"auto\"}) {\n    %2 = transpose", wrong, " : f32[4,2,3]\n    return %2\n  }\n}\n"));
    EXPECT_TRUE(mentions(text, "transpose")) << text;
    EXPECT_FALSE(mentions(text, "module @m")) << text;
  }
}

TEST(LayoutModes, AnElementMayHaveItsSizeInBits) {
  auto of = [](std::string_view mode) {
    return applied(cat("module @m {\n  func @main(%0: s4[2,3] {layout_mode = \"", mode,
                       "\"}) -> () {\n    return\n  }\n}\n"));
  };
  EXPECT_TRUE(mentions(of("{0,1:E(4)}"), "%0: s4[3,2] {layout = [0, 1]}"));
  EXPECT_TRUE(mentions(of("{0,1:E(2)}"), "neither tiles nor a memory space"));
}

// An alias stays where the memory of both has one shape, and is a donation elsewhere.
TEST(LayoutModes, Donations) {
  const std::string text = applied(R"(module @m {
  func @main(%0: f32[2,3] {aliasing_output = 0, layout_mode = "{0,1}"}, %1: f32[2,3] {aliasing_output = 1, layout_mode = "{0,1}"}) -> (f32[2,3] {layout_mode = "{0,1}"}, f32[2,3]) {
    return %0, %1
  }
}
)");
  EXPECT_TRUE(mentions(text, "%0: f32[3,2] {aliasing_output = 0, layout = [0, 1]}")) << text;
  EXPECT_TRUE(mentions(text, "%1: f32[3,2] {buffer_donor = true, layout = [0, 1]}")) << text;
}

TEST(LayoutModes, WhatCannotBeIsRefusedByName) {
  auto of = [](std::string_view mode) {
    return applied(cat("module @m {\n  func @main(%0: f32[2,3] {layout_mode = \"", mode,
                       "\"}) -> () {\n    return\n  }\n}\n"));
  };
  EXPECT_EQ(of("{0,1:T(8,128)}"),
            "argument 0: the layout {0,1:T(8,128)}: Tercel's have an order of the dimensions only, "
            "neither tiles nor a memory space");
  for (std::string_view bad : {"{0}", "{0,0}", "{0,2}", "{0,1,2}", "{-1,0}", "{0,1", "0,1}",
                               "{0,,1}",
                               "{0 1}", "{a}", "{", "}", "rows", "{1,0}}", "{,1,0}", "{1,0,}",
                               "{1-0}", "{10}"})
    EXPECT_EQ(of(bad), cat("argument 0: mhlo.layout_mode is ", bad, " for 2 dimensions"));
  EXPECT_TRUE(mentions(errorOf("module @m {\n  func @main(%0: f32[2,3] {layout = [0, 0]}) -> () {\n"
                               "    return\n  }\n}\n"),
                       "argument 0: the layout {0,0} of f32[2,3]"));
}

}  // namespace
}  // namespace tercel::ir
