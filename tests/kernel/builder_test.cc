// Sharing, hoisting and folding, seen on the text.
#include "compiler/kernel/builder.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "compiler/kernel/text.h"
#include "compiler/kernel/verifier.h"

namespace tercel::kernel {
namespace {

using Values = Builder::Values;

// The text of the body, each line's result numbers as printed.
std::string bodyOf(const Kernel& kernel) {
  EXPECT_TRUE(verify(kernel).ok()) << verify(kernel).message() << print(kernel);
  std::string text = print(kernel);
  size_t from = text.find('\n') + 1;
  for (size_t i = 0; i < kernel.buffers.size(); ++i) from = text.find('\n', from) + 1;
  return text.substr(from, text.size() - from - 2);
}

struct Fixture : testing::Test {
  Kernel kernel{.name = "k"};
  Builder b{kernel};
  V begin = b.taskBegin(), end = b.taskEnd();
};
using Share = Fixture;
using Hoist = Fixture;
using Fold = Fixture;
using Loop = Fixture;
using Slack = Fixture;
using Order = Fixture;
using Ahead = Fixture;

constexpr int64_t kFar = int64_t{1} << 28;  // elements of an array that no near cache holds

std::vector<std::pair<int64_t, int64_t>> fetches(const Kernel& kernel) {  // buffers and offsets
  std::vector<std::pair<int64_t, int64_t>> all;
  for (const Inst& inst : kernel.insts)
    if (inst.op == Opcode::prefetch) all.emplace_back(inst.imm, inst.offset);
  return all;
}

TEST_F(Ahead, IsFetchedOnceForEachVector) {
  const BufferId x = b.addParam(Scalar::f32, true, kFar), near = b.addParam(Scalar::f32, true, 99);
  b.fetchingAhead(512, [&] {
    for (int64_t offset : {0, 0, 16}) b.load(x, begin, 16, offset);
    b.load(x, begin, 4);
    b.load(near, begin, 16);
  });
  b.load(x, end, 16);
  EXPECT_EQ(fetches(kernel), (std::vector<std::pair<int64_t, int64_t>>{{x, 512}, {x, 528}}));
  EXPECT_TRUE(verify(kernel).ok());
}

TEST_F(Ahead, NothingIsFetchedOfManyArrays) {
  std::vector<BufferId> arrays;
  for (int i = 0; i < 3; ++i) arrays.push_back(b.addParam(Scalar::f32, true, kFar));
  b.fetchingAhead(512, [&] {
    for (BufferId x : arrays) b.load(x, begin, 16);
  });
  EXPECT_TRUE(fetches(kernel).empty());
}

TEST_F(Share, EqualInstructionsAreOne) {
  V sum = b.iadd(begin, end);
  EXPECT_EQ(b.iadd(end, begin), sum);
  EXPECT_NE(b.isub(end, begin), b.isub(begin, end));
  EXPECT_NE(b.compare(Opcode::icmp, Predicate::slt, begin, end),
            b.compare(Opcode::icmp, Predicate::sle, begin, end));
}

// A flag takes long to become a mask, but not one that a loop already has.
TEST_F(Share, SelectionsOfVectorsCompareInLanes) {
  const BufferId x = b.addScratch(Scalar::f32, 64);
  auto chosen = [&](V from) {
    V a = b.load(x, from, 4), c = b.load(x, from, 1);
    return b.select(b.compare(Opcode::fcmp, Predicate::olt, c, b.number(b.type(c), 1)), a,
                    b.number(b.type(a), 0));
  };
  b.forLoop(begin, end, 1, [&](V i) { b.store(x, i, chosen(i)); });
  const std::string body = bodyOf(kernel);
  EXPECT_NE(body.find("  %9 = splat %7 : f32x4\n    %10 = fcmp olt %9, %4 : i1x4\n"
                      "    %11 = select %10, %6, %2 : f32x4\n"), std::string::npos) << body;
}

// Ahead of the loop in which the scratch memory is asked for.
TEST_F(Slack, IsClearedAtFirst) {
  b.forLoop(begin, end, 1, [&](V) {
    b.clearSlack(b.addScratch(Scalar::f32, 30));
    for (Scalar whole : {Scalar::f32, Scalar::f64}) b.clearSlack(b.addScratch(whole, 32));
    b.clearSlack(b.addScratch(Scalar::i32, 30));
    b.clearSlack(*b.imaginaryOf(b.addComplexScratch(Scalar::f32, 40)));
  });
  EXPECT_EQ(bodyOf(kernel), "  %2 = constant 0 : f32x16\n  %3 = constant 16 : i64\n"
                            "  store #0[%3], %2 : f32x16\n  %4 = constant 32 : i64\n"
                            "  store #5[%4], %2 : f32x16\n  for %5 = %0 to %1 step 1 {\n  }\n");
}

TEST_F(Slack, StaysWhereSubnormalsAreNotSlow) {
  b.machine.slow_subnormals = false;
  b.clearSlack(b.addScratch(Scalar::f32, 30));
  EXPECT_EQ(bodyOf(kernel), "");
}

TEST_F(Order, StoresAreTakenOutAndAppended) {
  const BufferId x = b.addScratch(Scalar::f32, 32);
  const auto stores = b.withoutStores([&] { b.store(x, begin, b.load(x, end, 4)); });
  b.store(x, end, b.load(x, begin, 1));
  b.append(stores);
  EXPECT_EQ(bodyOf(kernel), "  %2 = load #0[%1] : f32x4\n  %3 = load #0[%0] : f32\n"
                            "  store #0[%1], %3 : f32\n  store #0[%0], %2 : f32x4\n");
}

// Lanes that are left out are 0 all the same.
TEST_F(Order, FarRowsAreReadInParts) {
  auto readFirst = [&](int64_t elements, int64_t count) {
    const BufferId x = b.addParam(Scalar::f32, true, elements);
    const Type type{Scalar::i32, 16};
    b.loadMasked(x, begin, b.compare(Opcode::icmp, Predicate::slt, b.laneIds(type),
                                     b.integer(type, count)));
    return x;
  };
  readFirst(1000, 10);
  EXPECT_NE(bodyOf(kernel).find("load_masked #0"), std::string::npos);
  for (int64_t count : {5, 8, 10, 11}) readFirst(1 << 20, count);
  const std::string body = bodyOf(kernel);
  for (const char* part : {"load #1[%0] : f32x4", "load #1[%0 + 4] : f32", "load #2[%0] : f32x8",
                           "load #3[%0 + 8] : f32x2", "load #4[%0 + 3] : f32x8", "select"})
    EXPECT_NE(body.find(part), std::string::npos) << part << body;
  EXPECT_EQ(body.find("load_masked #1"), std::string::npos) << body;
}

TEST_F(Fold, OneChoiceIsMadeOnce) {
  V flag = b.compare(Opcode::icmp, Predicate::slt, begin, end);
  V once = b.select(flag, begin, end);
  EXPECT_EQ(b.select(flag, once, end), once);
  EXPECT_NE(b.select(flag, once, begin), once);
}

TEST_F(Share, InnerBlocksUseOuterValues) {
  V outer = b.imul(begin, end);
  b.forLoop(begin, end, 1, [&](V) { EXPECT_EQ(b.imul(begin, end), outer); });
}

// Of one name a kernel has one; what is inside stays inside, constants too.
TEST_F(Share, FunctionsAreMadeOnce) {
  Type type{Scalar::f32, 4};
  int made = 0;
  auto body = [&](std::span<const V> v) {
    ++made;
    return b.fadd(v[0], b.number(type, 2));
  };
  auto x = b.addParam(Scalar::f32, true), out = b.addParam(Scalar::f32, false);
  b.forLoop(begin, end, 4, [&](V i) {
    V v = b.load(x, i, 4);
    V large = b.any(b.compare(Opcode::fcmp, Predicate::ogt, v, b.number(type, 2)));
    V once = b.rarely(large, b.function("f", {&type, 1}, body), {&v, 1});
    EXPECT_EQ(b.rarely(large, b.function("f", {&type, 1}, body), {&v, 1}), once);
    b.store(out, i, once);
  });
  EXPECT_EQ(made, 1);
  EXPECT_EQ(bodyOf(kernel),
            "  function @f(%2 : f32x4) {\n"
            "    %3 = constant 2 : f32x4\n"
            "    %4 = fadd %2, %3 : f32x4\n"
            "    yield %4\n"
            "  }\n"
            "  %5 = constant 2 : f32x4\n"
            "  for %6 = %0 to %1 step 4 {\n"
            "    %7 = load #0[%6] : f32x4\n"
            "    %8 = fcmp ogt %7, %5 : i1x4\n"
            "    %9 = any %8 : i1\n"
            "    %10 = rarely %9 @f(%7) : f32x4\n"
            "    store #1[%6], %10 : f32x4\n"
            "  }\n");
}

// What the lanes beyond the end of a row hold neither calls a function nor reaches into its body.
TEST_F(Share, OnlyLanesThatAreAliveCount) {
  Type type{Scalar::f32, 4}, ids{Scalar::i32, 4};
  auto x = b.addParam(Scalar::f32, true), out = b.addParam(Scalar::f32, false);
  V alive = b.compare(Opcode::icmp, Predicate::slt, b.laneIds(ids), b.integer(ids, 3));
  V v = b.loadMasked(x, b.index(0), alive);
  auto isZero = [&](V of) {
    return b.any(b.compare(Opcode::fcmp, Predicate::oeq, of, b.number(type, 0)));
  };
  auto body = [&](std::span<const V> of) {
    return b.select(isZero(of[0]), b.number(type, 1), of[0]);
  };
  b.whereAlive(alive, [&] {
    V result = b.rarely(isZero(v), b.function("f", {&type, 1}, body), {&v, 1});
    b.storeMasked(out, b.index(0), result, alive);
  });
  b.any(b.compare(Opcode::fcmp, Predicate::oeq, v, b.number(type, 0)));
  EXPECT_EQ(bodyOf(kernel),
            "  function @f(%2 : f32x4) {\n"
            "    %3 = constant 1 : f32x4\n"
            "    %4 = constant 0 : f32x4\n"
            "    %5 = fcmp oeq %2, %4 : i1x4\n"
            "    %6 = any %5 : i1\n"
            "    %7 = select %6, %3, %2 : f32x4\n"
            "    yield %7\n"
            "  }\n"
            "  %8 = constant 3 : i32x4\n"
            "  %9 = lane_ids : i32x4\n"
            "  %10 = icmp slt %9, %8 : i1x4\n"
            "  %11 = constant 0 : i64\n"
            "  %12 = load_masked #0[%11], %10 : f32x4\n"
            "  %13 = constant 0 : f32x4\n"
            "  %14 = fcmp oeq %12, %13 : i1x4\n"
            "  %15 = and %10, %14 : i1x4\n"
            "  %16 = any %15 : i1\n"
            "  %17 = rarely %16 @f(%12) : f32x4\n"
            "  store_masked #1[%11], %17, %10 : f32x4\n"
            "  %18 = any %14 : i1\n");
}

TEST_F(Share, SiblingsDoNotUseEachOther) {
  auto x = b.addParam(Scalar::i64, true), out = b.addParam(Scalar::i64, false);
  for (int n = 0; n < 2; ++n)
    b.forLoop(begin, end, 1, [&](V i) { b.store(out, i, b.iadd(b.load(x, i, 1), i)); });
  EXPECT_EQ(bodyOf(kernel),
            "  for %2 = %0 to %1 step 1 {\n"
            "    %3 = load #0[%2] : i64\n"
            "    %4 = iadd %2, %3 : i64\n"
            "    store #1[%2], %4 : i64\n"
            "  }\n"
            "  for %5 = %0 to %1 step 1 {\n"
            "    %6 = load #0[%5] : i64\n"
            "    %7 = iadd %5, %6 : i64\n"
            "    store #1[%5], %7 : i64\n"
            "  }\n");
}

TEST_F(Share, LoadsOfWrittenBuffersAreNotShared) {
  auto x = b.addParam(Scalar::i64, false);
  EXPECT_NE(b.load(x, begin, 1), b.load(x, begin, 1));
}

TEST_F(Share, LoadsOfReadOnlyBuffersAreSharedAlsoWithOuterBlocks) {
  auto x = b.addParam(Scalar::i64, true);
  V outer = b.load(x, begin, 1);
  EXPECT_EQ(b.load(x, begin, 1), outer);
  EXPECT_NE(b.load(x, begin, 1, 1), outer);
  EXPECT_NE(b.load(x, begin, 2), outer);
  V condition = b.compare(Opcode::icmp, Predicate::slt, begin, end);
  b.ifThen(condition, [&] { EXPECT_EQ(b.load(x, begin, 1), outer); });
}

TEST_F(Hoist, InvariantsLeaveLoops) {
  auto x = b.addParam(Scalar::i64, true), out = b.addParam(Scalar::i64, false);
  V zero = b.index(0), eight = b.index(8);
  b.forLoop(zero, eight, 1, [&](V i) {
    b.forLoop(zero, b.index(4), 1, [&](V j) {
      V row = b.imul(i, b.index(4));
      V scale = b.load(x, end, 1);
      V product = b.imul(scale, b.load(x, row, 1));
      b.store(out, b.iadd(row, j), product);
    });
  });
  EXPECT_EQ(bodyOf(kernel),
            "  %2 = constant 0 : i64\n"
            "  %3 = constant 8 : i64\n"
            "  %4 = constant 4 : i64\n"
            "  %5 = load #0[%1] : i64\n"
            "  for %6 = %2 to %3 step 1 {\n"
            "    %7 = imul %6, %4 : i64\n"
            "    %8 = load #0[%7] : i64\n"
            "    %9 = imul %5, %8 : i64\n"
            "    for %10 = %2 to %4 step 1 {\n"
            "      %11 = iadd %10, %7 : i64\n"
            "      store #1[%11], %9 : i64\n"
            "    }\n"
            "  }\n");
}

TEST_F(Hoist, LoadsStayUnderTheirGuard) {
  auto x = b.addParam(Scalar::i64, true), out = b.addParam(Scalar::i64, false);
  V condition = b.compare(Opcode::icmp, Predicate::slt, begin, end);
  b.ifThen(condition, [&] {
    V zero = b.index(0);
    b.forLoop(zero, b.index(8), 1, [&](V i) { b.store(out, i, b.load(x, begin, 1)); });
  });
  EXPECT_EQ(bodyOf(kernel),
            "  %2 = icmp slt %0, %1 : i1\n"
            "  %3 = constant 0 : i64\n"
            "  %4 = constant 8 : i64\n"
            "  if %2 {\n"
            "    %5 = load #0[%0] : i64\n"
            "    for %6 = %3 to %4 step 1 {\n"
            "      store #1[%6], %5 : i64\n"
            "    }\n"
            "  }\n");
}

// A loop that may run no trip guards its body like an `if`.
TEST_F(Hoist, LoadsStayInLoopsThatMayNotRun) {
  auto x = b.addParam(Scalar::i64, true), out = b.addParam(Scalar::i64, false);
  V bound = b.load(x, begin, 1);
  b.forLoop(b.index(0), bound, 1, [&](V i) { b.store(out, i, b.load(x, end, 1)); });
  EXPECT_EQ(bodyOf(kernel),
            "  %2 = load #0[%0] : i64\n"
            "  %3 = constant 0 : i64\n"
            "  for %4 = %3 to %2 step 1 {\n"
            "    %5 = load #0[%1] : i64\n"
            "    store #1[%4], %5 : i64\n"
            "  }\n");
}

TEST_F(Fold, IntegerConstants) {
  Type i8{Scalar::i8, 4};
  auto expect = [&](V v, int64_t value) { EXPECT_EQ(v, b.integer(b.type(v), value)); };
  expect(b.iadd(b.integer(i8, 100), b.integer(i8, 100)), -56);
  expect(b.imul(b.integer(i8, 16), b.integer(i8, 17)), 16);
  expect(b.binary(Opcode::smin, b.integer(i8, -1), b.integer(i8, 1)), -1);
  expect(b.binary(Opcode::smax, b.integer(i8, -1), b.integer(i8, 1)), 1);
  expect(b.binary(Opcode::udiv, b.integer(i8, -1), b.integer(i8, 2)), 127);
  expect(b.cast(Opcode::sext, b.integer(i8, -3), Scalar::i64), -3);
  expect(b.cast(Opcode::zext, b.integer(i8, -3), Scalar::i64), 253);
  EXPECT_EQ(b.iadd(begin, b.index(0)), begin);
  EXPECT_EQ(b.imul(b.index(1), begin), begin);
  EXPECT_EQ(b.imul(begin, b.index(0)), b.index(0));
  EXPECT_EQ(b.binary(Opcode::and_, begin, b.index(-1)), begin);
  EXPECT_EQ(b.isub(begin, b.index(0)), begin);
  EXPECT_NE(b.isub(b.index(0), begin), begin);
}

TEST_F(Fold, ComparisonsOfIntegers) {
  const Type i8{Scalar::i8, 4};
  auto holds = [&](Predicate p, int64_t x, int64_t y) {
    const V v = b.compare(Opcode::icmp, p, b.integer(i8, x), b.integer(i8, y));
    const bool yes = v == b.constant({Scalar::i1, 4}, 1);
    EXPECT_TRUE(yes || v == b.constant({Scalar::i1, 4}, 0));
    return yes;
  };
  EXPECT_TRUE(holds(Predicate::eq, 3, 3) && !holds(Predicate::ne, 3, 3));
  EXPECT_TRUE(holds(Predicate::slt, -1, 1) && !holds(Predicate::ult, -1, 1));
  EXPECT_TRUE(holds(Predicate::sle, -1, -1) && holds(Predicate::ule, -1, -1));
  EXPECT_TRUE(holds(Predicate::ugt, -1, 1) && !holds(Predicate::sgt, -1, 1));
  EXPECT_TRUE(holds(Predicate::uge, -1, 1) && !holds(Predicate::sge, -1, 1));
}

TEST_F(Fold, FloatsAreLeftAlone) {
  auto x = b.addParam(Scalar::f32, true);
  V v = b.load(x, begin, 1);
  EXPECT_NE(b.fadd(v, b.number({Scalar::f32, 1}, 0.0)), v);  // -0 + 0 is 0
  EXPECT_NE(b.fmul(v, b.number({Scalar::f32, 1}, 0.0)), b.number({Scalar::f32, 1}, 0.0));
}

TEST_F(Fold, SelectsOfAKnownCondition) {
  V yes = b.constant({Scalar::i1, 1}, 1), no = b.constant({Scalar::i1, 1}, 0);
  EXPECT_EQ(b.select(yes, begin, end), begin);
  EXPECT_EQ(b.select(no, begin, end), end);
  EXPECT_EQ(b.select(b.compare(Opcode::icmp, Predicate::eq, begin, end), end, end), end);
}

TEST_F(Loop, ShortLoopsAreInline) {
  V init[] = {begin};
  auto twice = [&](V i, std::span<const V> v) { return Values{b.iadd(v[0], i)}; };
  EXPECT_EQ(b.forLoop(b.index(4), b.index(4), 1, init, twice)[0], begin);
  EXPECT_EQ(b.forLoop(b.index(4), b.index(7), 4, init, twice)[0], b.iadd(begin, b.index(4)));
}

TEST_F(Loop, FewTripsAreInline) {
  auto out = b.addParam(Scalar::i64, false);
  auto twice = [&](V outer) {
    b.forLoop(b.index(0), b.index(2), 1, [&](V i) { b.store(out, b.iadd(outer, i), i); });
  };
  b.setInlineTrips(4);
  b.forLoop(b.index(0), b.index(10), 5, twice);
  EXPECT_EQ(bodyOf(kernel).find("for"), std::string::npos) << bodyOf(kernel);
  EXPECT_NE(bodyOf(kernel).find("store #0"), std::string::npos);
  b.forLoop(b.index(0), b.index(4), 1, twice);  // four trips leave none for what is in them
  EXPECT_NE(bodyOf(kernel).find("step 1"), std::string::npos) << bodyOf(kernel);
  b.setInlineTrips(1);
}

TEST_F(Loop, InlineTripsCarryValues) {
  b.setInlineTrips(3);
  V start = b.index(1);
  Values last = b.forLoop(b.index(0), b.index(6), 2, {&start, 1}, [&](V i, std::span<const V> now) {
    return Values{b.iadd(b.imul(now[0], b.index(10)), i)};
  });
  EXPECT_EQ(last[0], b.index(1024));
  b.setInlineTrips(1);
}


TEST_F(Slack, MasksAtTheEndOfScratchAreDropped) {
  auto seven = b.addScratch(Scalar::f32, 7), out = b.addParam(Scalar::f32, false);
  Type ids{Scalar::i32, 8};
  auto first = [&](int64_t n) {
    return b.compare(Opcode::icmp, Predicate::slt, b.laneIds(ids), b.integer(ids, n));
  };
  V x = b.loadMasked(seven, b.index(0), first(7));
  b.storeMasked(seven, b.index(0), x, first(7));
  EXPECT_EQ(bodyOf(kernel).find("masked"), std::string::npos) << bodyOf(kernel);
  b.storeMasked(seven, b.index(0), x, first(6));  // would overwrite the last element
  EXPECT_NE(bodyOf(kernel).find("store_masked #0[%"), std::string::npos) << bodyOf(kernel);
  b.storeMasked(seven, b.index(0), x, first(-3));  // no lane at all
  EXPECT_EQ(kernel.insts.back().op, Opcode::store_masked);
  b.storeMasked(out, b.index(0), x, first(7));  // params end where they end
  EXPECT_NE(bodyOf(kernel).find("store_masked #1[%"), std::string::npos) << bodyOf(kernel);
}

TEST_F(Slack, FarLanesStayMasked) {
  auto seven = b.addScratch(Scalar::f32, 7);
  Type ids{Scalar::i32, 16};
  V mask = b.compare(Opcode::icmp, Predicate::slt, b.laneIds(ids), b.integer(ids, 1));
  b.loadMasked(seven, b.index(6), mask);  // 6 + 16 elements are within 7 and 64 bytes
  EXPECT_EQ(bodyOf(kernel).find("masked"), std::string::npos);
  b.loadMasked(seven, b.index(8), mask);
  b.loadMasked(seven, begin, mask);
  EXPECT_NE(bodyOf(kernel).find("load_masked #0[%0]"), std::string::npos) << bodyOf(kernel);
}

}  // namespace
// Numbers that bf16 has are not rounded again: what was, its signs and choices, but no sum of it.
TEST(Builder, KnowsWhatIsOfAPrecision) {
  Kernel kernel;
  Builder b(kernel);
  const Type narrow{Scalar::bf16, 16}, wide{Scalar::f32, 16};
  V x = b.cast(Opcode::fpext, b.opaque(narrow), Scalar::f32), any = b.opaque(wide);
  V most = b.binary(Opcode::fmax, b.unary(Opcode::fneg, x), b.number(wide, 1.5));
  EXPECT_TRUE(b.isOfPrecision(x, Scalar::bf16));
  EXPECT_FALSE(b.isOfPrecision(x, Scalar::f16));
  EXPECT_TRUE(b.isOfPrecision(most, Scalar::bf16));
  EXPECT_TRUE(b.isOfPrecision(b.select(b.opaque({Scalar::i1, 16}), most, x), Scalar::bf16));
  EXPECT_FALSE(b.isOfPrecision(b.binary(Opcode::fmax, x, b.number(wide, 1.001)), Scalar::bf16));
  EXPECT_FALSE(b.isOfPrecision(b.binary(Opcode::fadd, x, x), Scalar::bf16));
  EXPECT_FALSE(b.isOfPrecision(b.binary(Opcode::fmin, x, any), Scalar::bf16));
}

TEST(Builder, ComputesNumbers) {
  Kernel kernel;
  Builder b(kernel);
  const Type f32{Scalar::f32, 4}, flag{Scalar::i1, 4};
  uint64_t bits;
  auto is = [&](V v, double expected) {
    if (!b.isConstant(v, &bits)) return false;
    return kernel.type(v).scalar == Scalar::f64
               ? std::bit_cast<double>(bits) == expected
               : std::bit_cast<float>(static_cast<uint32_t>(bits)) == static_cast<float>(expected);
  };
  V x = b.number(f32, 1.3), y = b.opaque(f32), wide = b.cast(Opcode::fpext, x, Scalar::f64);
  V nan = b.number(f32, std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(is(wide, static_cast<double>(1.3f)));
  EXPECT_TRUE(is(b.unary(Opcode::trunc_int, wide), 1));
  EXPECT_TRUE(is(b.binary(Opcode::fmul, x, x), 1.3f * 1.3f));
  EXPECT_TRUE(is(b.binary(Opcode::fmin, b.number(f32, 2), x), 1.3f));
  EXPECT_FALSE(b.isConstant(b.binary(Opcode::fadd, x, nan)));
  for (auto [p, less, with_nan] : {std::tuple{Predicate::olt, 1u, 0u}, {Predicate::fugt, 0u, 1u},
                                   {Predicate::une, 1u, 1u}, {Predicate::ord, 1u, 0u}}) {
    ASSERT_TRUE(b.isConstant(b.compare(Opcode::fcmp, p, x, b.number(f32, 2)), &bits));
    EXPECT_EQ(bits, less);
    ASSERT_TRUE(b.isConstant(b.compare(Opcode::fcmp, p, x, nan), &bits));
    EXPECT_EQ(bits, with_nan);
  }
  V less = b.compare(Opcode::fcmp, Predicate::olt, y, x);
  EXPECT_EQ(b.binary(Opcode::fmul, y, b.number(f32, 1)), y);
  EXPECT_EQ(b.binary(Opcode::and_, b.compare(Opcode::fcmp, Predicate::une, y, x), less), less);
  EXPECT_TRUE(b.isConstant(b.binary(Opcode::or_, less, b.constant(flag, 1)), &bits) && bits == 1);
}

}  // namespace tercel::kernel
