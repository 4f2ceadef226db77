// Limits that are left out where what loops carry keeps to them, seen on the text.
#include "compiler/kernel/bounds.h"

#include <gtest/gtest.h>

#include "compiler/kernel/builder.h"
#include "compiler/kernel/text.h"
#include "compiler/kernel/unused.h"
#include "compiler/kernel/verifier.h"

namespace tercel::kernel {
namespace {

using Values = Builder::Values;

struct Limits : testing::Test {
  Kernel kernel{.name = "k"};
  Builder b{kernel};
  BufferId table = b.addParam(Scalar::i32, true), out = b.addParam(Scalar::i32, false);

  V number(int64_t n) { return b.integer({Scalar::i32, 1}, n); }
  V limited(V x, int64_t most) {
    return b.binary(Opcode::smin, b.binary(Opcode::smax, x, number(0)), number(most));
  }
  V read(V place) { return b.load(table, b.cast(Opcode::zext, place, Scalar::i64), 1); }
  // A loop that carries one number, stored at the end.
  template <class Condition, class Body>
  void loop(V first, Condition&& condition, Body&& body) {
    Values last = b.whileLoop({&first, 1}, [&](auto v) { return condition(v[0]); },
                              [&](auto v) { return Values{body(v[0])}; });
    b.store(out, b.index(0), last[0]);
  }
  // How many instructions of the op are left.
  int left(Opcode op) {
    dropLimits(kernel);
    removeUnused(kernel);
    EXPECT_TRUE(verify(kernel).ok()) << verify(kernel).message() << print(kernel);
    int count = 0;
    for (const Block& block : kernel.blocks)
      for (InstId id : block.insts) count += kernel.insts[id].op == op;
    return count;
  }
  int limits() { return left(Opcode::smin) + left(Opcode::smax); }
  V below(V x, int64_t limit) {
    return b.compare(Opcode::icmp, Predicate::slt, x, number(limit));
  }
};

TEST_F(Limits, OfACounter) {
  loop(number(0), [&](V i) { return below(i, 50); },
       [&](V i) {
         b.store(out, b.index(1), read(limited(i, 49)));
         return b.iadd(i, number(1));
       });
  EXPECT_EQ(limits(), 0);
}

TEST_F(Limits, StayWhereACounterGoesFurther) {
  loop(number(0), [&](V i) { return below(i, 51); },
       [&](V i) {
         b.store(out, b.index(1), read(limited(i, 49)));
         return b.iadd(i, number(1));
       });
  EXPECT_EQ(left(Opcode::smin), 1);
  EXPECT_EQ(left(Opcode::smax), 0);
}

TEST_F(Limits, StayWhereACounterGoesDownOrWraps) {
  for (int64_t step : {-1, 1 << 30}) {
    loop(number(0), [&](V i) { return below(i, 1 << 30); },
         [&](V i) {
           b.store(out, b.index(1), read(limited(i, (1 << 30) - 1)));
           return b.iadd(i, number(step));
         });
  }
  EXPECT_EQ(left(Opcode::smax), 2);
}

TEST_F(Limits, OfAPlaceKeptByAMask) {
  auto place = [&](V p) { return b.binary(Opcode::and_, p, number(63)); };
  loop(place(read(number(0))),
       [&](V p) {
         V wrapped = b.select(below(p, 0), b.iadd(p, number(64)), p);
         return b.compare(Opcode::icmp, Predicate::ne, read(limited(wrapped, 63)), number(-1));
       },
       [&](V p) { return place(b.iadd(p, number(1))); });
  EXPECT_EQ(limits(), 0);
  EXPECT_EQ(left(Opcode::select), 0);
  EXPECT_EQ(left(Opcode::iadd), 1);
}

TEST_F(Limits, StayWhereTheFirstPlaceIsUnknown) {
  loop(read(number(0)),
       [&](V p) {
         return b.compare(Opcode::icmp, Predicate::ne, read(limited(p, 63)), number(-1));
       },
       [&](V p) { return b.binary(Opcode::and_, b.iadd(p, number(1)), number(63)); });
  EXPECT_EQ(limits(), 2);
}

TEST(Bounds, OfWhatMakesIntegers) {
  Kernel kernel{.name = "k"};
  Builder b{kernel};
  auto bytes = b.addParam(Scalar::i8, true), words = b.addParam(Scalar::i32, true);
  V byte = b.load(bytes, b.index(0), 1), word = b.load(words, b.index(0), 1);
  auto number = [&](int64_t n) { return b.integer({Scalar::i32, 1}, n); };
  auto expect = [&](V v, int64_t least, int64_t most) {
    const Bounds bounds = boundsOf(kernel, v);
    EXPECT_EQ(bounds.least, least);
    EXPECT_EQ(bounds.most, most);
  };
  expect(b.cast(Opcode::zext, byte, Scalar::i32), 0, 255);
  expect(b.cast(Opcode::sext, byte, Scalar::i32), -128, 127);
  expect(b.binary(Opcode::and_, word, number(255)), 0, 255);
  expect(b.binary(Opcode::and_, word, number(-2)), INT32_MIN, INT32_MAX);
  expect(b.binary(Opcode::urem, word, number(10)), 0, 9);
  expect(b.binary(Opcode::lshr, word, number(1)), 0, INT32_MAX);
  expect(b.binary(Opcode::lshr, word, number(28)), 0, 15);
  V small = b.binary(Opcode::and_, word, number(7));
  expect(b.iadd(small, number(-3)), -3, 4);
  expect(b.iadd(word, number(1)), INT32_MIN, INT32_MAX);
  expect(b.cast(Opcode::itrunc, small, Scalar::i8), 0, 7);
  expect(b.cast(Opcode::itrunc, word, Scalar::i8), -128, 127);
}

}  // namespace
}  // namespace tercel::kernel
