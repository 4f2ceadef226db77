#include <gtest/gtest.h>

#include "compiler/ir/text.h"
#include "program.h"

namespace tercel::eval {
namespace {

Result<Literals> run(std::string_view functions, const Texts& args,
                     const EvalOptions& options = {}) {
  Result<ir::Module> module = ir::parse(cat("module @test {\n", functions, "\n}\n"));
  EXPECT_TRUE(module.ok()) << module.status().message();
  Literals literals;
  for (const std::string& arg : args) literals.push_back(literal(arg));
  return evaluate(*module, module->main(), literals, options);
}

TEST(Case, AnIndexOutsideMeansTheLastBranch) {
  std::string_view branches =
      "case(%0) branch() {\n%a = constant() {value = s32[] (10)} : s32[]\nreturn %a\n"
      "} branch() {\n%b = constant() {value = s32[] (11)} : s32[]\nreturn %b\n} : s32[]";
  for (auto [index, want] : {std::pair{-1, 11}, {0, 10}, {1, 11}, {2, 11}})
    expectOp(branches, {cat("s32[] (", index, ")")}, {cat("s32[] (", want, ")")});
}

constexpr std::string_view kIf =
    "if(%0) true() {\nreturn %1\n} false() {\n%a = negate(%1) : s32[2]\nreturn %a\n} : s32[2]";

TEST(If, RegionsSeeTheValuesAround) {
  expectOp(kIf, {"pred[] (true)", "s32[2] (1, 2)"}, {"s32[2] (1, 2)"});
  expectOp(kIf, {"pred[] (false)", "s32[2] (1, 2)"}, {"s32[2] (-1, -2)"});
}

TEST(Fork, GivesWhatAllBranchesGive) {
  std::string_view branches =
      "fork() branch() {\n%a = negate(%0) : s32[2]\nreturn %a, %0\n} branch() {\nreturn\n"
      "} branch() {\n%b = add(%0, %0) : s32[2]\nreturn %b\n} : s32[2], s32[2], s32[2]";
  expectOp(branches, {"s32[2] (1, 2)"}, {"s32[2] (-1, -2)", "s32[2] (1, 2)", "s32[2] (2, 4)"});
}

// Collatz: the steps from %0 to 1.
constexpr std::string_view kCollatz =
    "while(%0, %1) cond(%a: s64[], %b: s32[]) {\n"
    "%one = constant() {value = s64[] (1)} : s64[]\n"
    "%c = compare(%a, %one) {comparison_direction = NE} : pred[]\nreturn %c\n"
    "} body(%x: s64[], %n: s32[]) {\n%i = constant() {value = s64[] (1)} : s64[]\n"
    "%three = constant() {value = s64[] (3)} : s64[]\n"
    "%j = constant() {value = s32[] (1)} : s32[]\n%odd = and(%x, %i) : s64[]\n"
    "%is_odd = convert(%odd) : pred[]\n%tripled = multiply(%x, %three) : s64[]\n"
    "%up = add(%tripled, %i) : s64[]\n%down = shift_right_logical(%x, %i) : s64[]\n"
    "%next = select(%is_odd, %up, %down) : s64[]\n%m = add(%n, %j) : s32[]\n"
    "return %next, %m\n} : s64[], s32[]";

TEST(While, RunsUntilItsCondition) {
  expectOp(kCollatz, {"s64[] (27)", "s32[] (0)"}, {"s64[] (1)", "s32[] (111)"});
  expectOp(kCollatz, {"s64[] (1)", "s32[] (5)"}, {"s64[] (1)", "s32[] (5)"});
}

TEST(While, TheLimitOnWorkEndsIt) {
  EvalOptions options;
  options.work_limit = 500;
  Result<Literals> result = evaluateText(kCollatz, {"s64[] (27)", "s32[] (0)"}, options);
  EXPECT_EQ(result.status().code(), Code::resource_exhausted);
  options.work_limit = 5000;
  EXPECT_TRUE(evaluateText(kCollatz, {"s64[] (27)", "s32[] (0)"}, options).ok());
}

TEST(Limit, CountsTheWorkOfEachElement) {
  EvalOptions options;
  options.work_limit = 50000;
  auto dot =
      "dot_general(%0, %1) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions "
      "= [0]} : f32[100,100]";
  Texts args = {"f32[100,100] splat(1)", "f32[100,100] splat(1)"};
  EXPECT_EQ(evaluateText(dot, args, options).status().code(), Code::resource_exhausted);
  EXPECT_TRUE(evaluateText("add(%0, %1) : f32[100,100]", args, options).ok());
}

TEST(Call, EvaluatesTheCalleeAndCompositesTheirDecomposition) {
  std::string_view twice =
      "func private @twice(%x: s32[]) -> (s32[]) {\n%y = add(%x, %x) : s32[]\nreturn %y\n}";
  expectOp("call(%0) {callee = twice} : s32[]", {"s32[] (4)"}, {"s32[] (8)"}, twice);
  expectOp("composite(%0) {callee = twice, name = \"my.twice\"} : s32[]", {"s32[] (4)"},
           {"s32[] (8)"}, twice);
}

TEST(Call, RecursionIsRefused) {
  Result<Literals> result =
      run("func @main(%0: s32[]) -> (s32[]) {\n%1 = call(%0) {callee = f} : s32[]\nreturn %1\n}\n"
          "func private @f(%0: s32[]) -> (s32[]) {\n%1 = call(%0) {callee = f} : s32[]\n"
          "return %1\n}",
          {"s32[] (1)"});
  EXPECT_EQ(result.status().code(), Code::invalid_argument);
  EXPECT_NE(result.status().message().find("@f calls itself"), std::string::npos);
}

TEST(Call, DepthIsBounded) {
  EvalOptions options;
  options.max_depth = 2;
  std::string nested =
      "func @main(%0: s32[]) -> (s32[]) {\n%1 = call(%0) {callee = f} : s32[]\nreturn %1\n}\n"
      "func private @f(%0: s32[]) -> (s32[]) {\n%1 = call(%0) {callee = g} : s32[]\n"
      "return %1\n}\nfunc private @g(%0: s32[]) -> (s32[]) {\nreturn %0\n}";
  EXPECT_EQ(run(nested, {"s32[] (1)"}, options).status().code(), Code::resource_exhausted);
  EXPECT_TRUE(run(nested, {"s32[] (1)"}).ok());
}

TEST(CustomCall, AnnotationsChangeNothing) {
  for (std::string_view target : {"Sharding", "annotate_device_placement", "LayoutConstraint"})
    expectOp(cat("custom_call(%0) {call_target_name = ", target, "} : f32[2]"), {"f32[2] (1, 2)"},
             {"f32[2] (1, 2)"});
}

TEST(CustomCall, AnUnknownTargetIsNamedWithItsPlace) {
  Result<Literals> result =
      run("func @main(%0: f32[]) -> (f32[]) {\n"
          "%1 = custom_call(%0) {call_target_name = lapack_sgetrf} : f32[]  loc(\"lu.py:7\")\n"
          "return %1\n}",
          {"f32[] (1)"});
  EXPECT_EQ(result.status().code(), Code::unimplemented);
  EXPECT_NE(result.status().message().find("lapack_sgetrf"), std::string::npos);
  EXPECT_NE(result.status().message().find("lu.py:7"), std::string::npos);
}

TEST(CustomCall, TheCallersHandlerIsAsked) {
  EvalOptions options;
  options.custom_call = [](const ir::Op& op, Operands operands) -> Result<Literals> {
    EXPECT_EQ(op.symbol(ir::AttrKey::call_target_name), "mine");
    return Literals{operands[1]};
  };
  Result<Literals> result = evaluateText("custom_call(%0, %1) {call_target_name = mine} : f32[]",
                                         {"f32[] (1)", "f32[] (2)"}, options);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ((*result)[0].at<float>(0), 2);
}

TEST(Tokens, AreEmptyLiterals) {
  Result<Literals> result =
      run("func @main(%0: f32[]) -> (token, f32[]) {\n%1 = after_all() : token\n"
          "%2, %3 = optimization_barrier(%1, %0) : token, f32[]\nreturn %2, %3\n}",
          {"f32[] (3)"});
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ((*result)[0].shape(), (Shape{DType::pred, {0}}));
  EXPECT_EQ((*result)[1].at<float>(0), 3);
}

TEST(Arguments, AreChecked) {
  std::string_view f = "func @main(%0: f32[2]) -> (f32[2]) {\nreturn %0\n}";
  EXPECT_EQ(run(f, {}).status().code(), Code::invalid_argument);
  EXPECT_EQ(run(f, {"f32[3] (1, 2, 3)"}).status().code(), Code::invalid_argument);
  EXPECT_EQ(run(f, {"s32[2] (1, 2)"}).status().code(), Code::invalid_argument);
}

TEST(Results, TooLargeForMemoryIsAnError) {
  Result<Literals> result =
      evaluateText("iota() {iota_dimension = 0} : f64[536870912,536870912]", {});
  EXPECT_EQ(result.status().code(), Code::resource_exhausted);
}

TEST(Observer, SeesEachOpButNotReducers) {
  std::vector<std::string_view> seen;
  EvalOptions options;
  options.observer = [&](const ir::Op& op, Operands) { seen.push_back(ir::opName(op.kind)); };
  auto reduce = cat("reduce(%0, %1) {dimensions = [0]} ", combineWith("add", "s32"), " : s32[]");
  ASSERT_TRUE(evaluateText(reduce, {"s32[3] (1, 2, 3)", "s32[] (0)"}, options).ok());
  ASSERT_TRUE(evaluateText(kIf, {"pred[] (false)", "s32[2] (1, 2)"}, options).ok());
  EXPECT_EQ(seen, (std::vector<std::string_view>{"reduce", "negate", "if"}));
}

TEST(EvaluateOp, FoldsOneOp) {
  Result<ir::Module> module = ir::parse(
      "module @test {\nfunc @main(%0: s32[2]) -> (s32[2]) {\n%1 = add(%0, %0) : s32[2]\n"
      "return %1\n}\n}\n");
  ASSERT_TRUE(module.ok());
  const ir::Op& add = module->op(module->region(module->main().body).ops[0]);
  Literals operands = {literal("s32[2] (1, 2)"), literal("s32[2] (3, 4)")};
  Result<Literals> result = evaluateOp(*module, add, operands);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ((*result)[0], literal("s32[2] (4, 6)"));
}

}  // namespace
}  // namespace tercel::eval
