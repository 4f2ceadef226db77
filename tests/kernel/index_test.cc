// Index arithmetic against brute force over every value of the loop variables.
#include "compiler/kernel/index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tercel::kernel {
namespace {

constexpr int64_t kExtents[] = {6, 4, 5};

struct Space : testing::Test {
  Space() {
    for (int64_t extent : kExtents)
      loops.push_back(space.loop(b.opaque({Scalar::i64, 1}), extent));
  }

  // The value of an index where the loop variables are `at`.
  int64_t value(const Index& index, const std::vector<int64_t>& at) const {
    int64_t sum = index.constant;
    for (Term t : index.terms) sum += t.factor * atomValue(t.atom, at);
    return sum;
  }
  int64_t atomValue(uint32_t id, const std::vector<int64_t>& at) const {
    const Atom& atom = space.atom(id);
    if (atom.kind == Atom::Kind::scalar) return at[id];
    int64_t inner = value(atom.inner, at);
    EXPECT_GE(inner, 0);
    bool quotient = atom.kind == Atom::Kind::quotient;
    int64_t result = quotient ? inner / atom.divisor : inner % atom.divisor;
    EXPECT_LT(result, atom.extent);
    return result;
  }

  template <class F>
  void forAll(F&& f) const {
    for (int64_t i = 0; i < kExtents[0]; ++i)
      for (int64_t j = 0; j < kExtents[1]; ++j)
        for (int64_t k = 0; k < kExtents[2]; ++k) f(std::vector<int64_t>{i, j, k});
  }

  // A random combination of the loops that is never negative.
  Index random() {
    Index sum;
    for (const Index& loop : loops)
      sum = space.add(sum, space.scale(loop, static_cast<int64_t>(numbers() % 15) - 5));
    sum.constant += static_cast<int64_t>(numbers() % 9) - space.lowest(sum);
    return sum;
  }

  Kernel kernel{.name = "k"};
  Builder b{kernel};
  IndexSpace space{b};
  Indices loops;
  std::mt19937 numbers{3};
};

TEST_F(Space, PlacesHaveTheWordsThatHoldThem) {
  const Index lane = space.loop(b.taskBegin(), 16, true), row = space.loop(b.taskEnd(), 1 << 20);
  auto wordOf = [&](const Index& a) { return b.type(space.emitPlaces(a, 16).lanes).scalar; };
  const Index far_row = space.scale(row, int64_t{1} << 40);
  EXPECT_EQ(wordOf(space.add(space.scale(lane, 1000), far_row)), Scalar::i32);
  EXPECT_EQ(wordOf(space.scale(lane, int64_t{1} << 28)), Scalar::i64);
  EXPECT_EQ(wordOf(space.scale(space.quotient(lane, 3), int64_t{1} << 28)), Scalar::i64);
}

TEST_F(Space, RowsOfRowsAreCountedByTheirOwnNumbers) {
  const Index all = space.linear(loops, kExtents);
  const Index row = space.linear({loops.begin(), 2}, {kExtents, 2});
  EXPECT_EQ(space.quotient(all, 40), space.quotient(loops[0], 2));
  EXPECT_EQ(space.quotient(all, 10), space.quotient(row, 2));
  const Index within = space.scale(space.remainder(loops[0], 2), 20);
  EXPECT_EQ(space.remainder(all, 40), space.add(within, space.remainder(all, 20)));
}

TEST_F(Space, QuotientAndRemainderAreThoseOfTheValue) {
  for (int round = 0; round < 400; ++round) {
    Index a = random();
    int64_t divisor = 1 + static_cast<int64_t>(numbers() % 12);
    Index quotient = space.quotient(a, divisor), remainder = space.remainder(a, divisor);
    forAll([&](const std::vector<int64_t>& at) {
      ASSERT_EQ(value(quotient, at), value(a, at) / divisor) << divisor;
      ASSERT_EQ(value(remainder, at), value(a, at) % divisor) << divisor;
    });
  }
}

TEST_F(Space, QuotientAndRemainderJoinAgain) {
  for (int round = 0; round < 400; ++round) {
    Index a = random();
    int64_t divisor = 1 + static_cast<int64_t>(numbers() % 12);
    Index quotient = space.quotient(a, divisor), remainder = space.remainder(a, divisor);
    EXPECT_EQ(space.add(space.scale(quotient, divisor), remainder), a);
    EXPECT_EQ(space.add(remainder, space.scale(quotient, divisor)), a);
  }
}

TEST_F(Space, BoundsHoldEveryValue) {
  for (int round = 0; round < 200; ++round) {
    Index a = random();
    Index mixed = space.subtract(space.remainder(a, 7), space.quotient(a, 3));
    for (const Index& index : {a, mixed}) {
      int64_t low = space.lowest(index), high = space.highest(index);
      forAll([&](const std::vector<int64_t>& at) {
        ASSERT_LE(low, value(index, at));
        ASSERT_GE(high, value(index, at));
      });
    }
  }
}

TEST_F(Space, LinearAndBackIsTheSame) {
  Index linear = space.linear(loops, kExtents);
  EXPECT_EQ(space.delinear(linear, kExtents), loops);
  EXPECT_EQ(space.atoms().size(), loops.size());
}

TEST_F(Space, ReshapesThereAndBackCancel) {
  const int64_t other[] = {3, 10, 1, 4};
  Index linear = space.linear(loops, kExtents);
  Indices there = space.delinear(linear, other);
  forAll([&](const std::vector<int64_t>& at) {
    int64_t rest = value(linear, at);
    for (size_t d = std::size(other); d-- > 0; rest /= other[d])
      ASSERT_EQ(value(there[d], at), rest % other[d]) << d;
  });
  EXPECT_EQ(space.linear(there, other), linear);
}

TEST_F(Space, ADivisorOfALoopIsASplit) {
  space.quotient(loops[0], 3);
  space.remainder(loops[2], 3);
  ASSERT_EQ(space.wantedSplits().size(), 1u);
  EXPECT_EQ(space.wantedSplits()[0].divisor, 3);
  EXPECT_EQ(space.wantedSplits()[0].atom, loops[0].terms[0].atom);
}

TEST_F(Space, LanesAreLinearUnlessDivided) {
  Index lane = space.loop(b.opaque({Scalar::i64, 1}), 64, true);
  int64_t step = -1;
  EXPECT_FALSE(space.varies(loops[0]));
  EXPECT_TRUE(space.linearInLanes(loops[0], &step));
  EXPECT_EQ(step, 0);
  Index wide = space.add(space.scale(lane, 3), loops[1]);
  EXPECT_TRUE(space.varies(wide));
  EXPECT_TRUE(space.linearInLanes(wide, &step));
  EXPECT_EQ(step, 3);
  EXPECT_FALSE(space.linearInLanes(space.remainder(lane, 5), &step));
}

TEST_F(Space, PlacesThatAreKnownForEachLane) {
  Index lane = space.loop(b.index(0), 8, true), in_next = space.add(lane, Index(8));
  Index row = space.add(loops[0], space.quotient(in_next, 3));
  Index column = space.remainder(in_next, 3), base;
  EXPECT_EQ(space.knownLanes(row, 8, &base), (std::vector<int64_t>{0, 1, 1, 1, 2, 2, 2, 3}));
  EXPECT_EQ(base, space.add(loops[0], Index(2)));
  EXPECT_EQ(space.knownLanes(column, 8, &base), (std::vector<int64_t>{2, 0, 1, 2, 0, 1, 2, 0}));
  EXPECT_EQ(base, Index(0));
  int64_t step = 0;
  EXPECT_TRUE(space.linearInLanes(space.add(space.scale(row, 3), column), &step));
  EXPECT_EQ(step, 1);
  Index unknown = space.loop(b.opaque({Scalar::i64, 1}), 64, true);
  EXPECT_TRUE(space.knownLanes(space.remainder(unknown, 3), 8, &base).empty());
}

TEST_F(Space, NumbersOfEachLane) {
  const std::vector<int64_t> places = {7, 0, 100, 5, 5, 1, 8, 63};
  Index known = space.known(places, 101), base;
  EXPECT_EQ(space.known(places, 101), known);
  EXPECT_TRUE(space.varies(known));
  int64_t step;
  EXPECT_FALSE(space.linearInLanes(known, &step));
  EXPECT_EQ(space.highest(known), 100);
  Index place = space.add(space.scale(known, 2), space.add(loops[0], Index(3)));
  EXPECT_EQ(space.knownLanes(place, 8, &base),
            (std::vector<int64_t>{14, 0, 200, 10, 10, 2, 16, 126}));
  EXPECT_EQ(base, space.add(loops[0], Index(3)));
}

TEST_F(Space, WholeVectorsThatWereDividedJoinAgain) {
  constexpr int kLanes = 16;
  const Index vector = space.wholeVectors(b.opaque({Scalar::i64, 1}), 256, kLanes);
  for (const Index& a : {vector, space.add(space.scale(vector, 3), Index(2))})
    for (int64_t divisor : {2, 4, 16}) {
      const Index q = space.quotient(a, divisor), r = space.remainder(a, divisor);
      EXPECT_EQ(space.add(space.scale(q, divisor), r), a) << divisor;
      EXPECT_EQ(space.add(space.scale(q, 5 * divisor), space.scale(r, 5)), space.scale(a, 5));
      EXPECT_NE(space.add(space.scale(q, divisor + 1), r), a) << divisor;
    }
}

TEST_F(Space, LanesWithoutAPlaceStayWithout) {
  Index some = space.known({4, kNoPlace, 6, 9}, 10), base;
  Index twice = space.add(space.scale(some, 2), Index(1));
  EXPECT_EQ(space.knownLanes(twice, 4, &base), (std::vector<int64_t>{8, kNoPlace, 12, 18}));
  EXPECT_EQ(base, Index(1));
  EXPECT_EQ(space.knownLanes(space.quotient(some, 3), 4, &base),
            (std::vector<int64_t>{1, kNoPlace, 2, 3}));
}

// An index that a guard keeps inside is not divided by the size of the whole.
TEST_F(Space, TheFirstDimensionTakesWhatIsLeft) {
  Index outside = space.subtract(space.linear(loops, kExtents), Index(20));
  for (const std::vector<int64_t>& dims :
       {std::vector<int64_t>{120}, std::vector<int64_t>{1, 120}, std::vector<int64_t>{6, 20}}) {
    Index back = space.linear(space.delinear(outside, dims), dims);
    EXPECT_EQ(back, outside);
    EXPECT_EQ(back.terms.size(), 3u);
  }
}

TEST_F(Space, ALoopOfOneTripIsZero) {
  EXPECT_EQ(space.loop(b.opaque({Scalar::i64, 1}), 1), Index(0));
}

}  // namespace
}  // namespace tercel::kernel
