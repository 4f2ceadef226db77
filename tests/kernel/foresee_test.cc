// Limits of places that become branches, seen on the text.
#include "compiler/kernel/foresee.h"

#include <gtest/gtest.h>

#include "compiler/kernel/builder.h"
#include "compiler/kernel/text.h"
#include "compiler/kernel/unused.h"
#include "compiler/kernel/verifier.h"

namespace tercel::kernel {
namespace {

using Values = Builder::Values;

struct Foresee : testing::Test {
  Kernel kernel{.name = "k"};
  Builder b{kernel};
  BufferId table = b.addParam(Scalar::i32, true), out = b.addParam(Scalar::i32, false);

  V number(int64_t n) { return b.integer({Scalar::i32, 1}, n); }
  V wrapped(V x) {
    V below = b.compare(Opcode::icmp, Predicate::slt, x, number(0));
    return b.select(below, b.iadd(x, number(50)), x);
  }
  V clamped(V x) {
    return b.binary(Opcode::smin, b.binary(Opcode::smax, x, number(0)), number(49));
  }
  V read(V place) { return b.load(table, b.cast(Opcode::zext, place, Scalar::i64), 1); }
  // A loop that carries what `next` makes of it, while it is not 7.
  void loop(const std::function<V(V)>& next) {
    V first = b.load(table, b.index(0), 1);
    Values last = b.whileLoop({&first, 1}, [&](auto v) {
      return b.compare(Opcode::icmp, Predicate::ne, v[0], number(7));
    }, [&](auto v) { return Values{next(v[0])}; });
    b.store(out, b.index(0), last[0]);
  }
  std::string text() {
    foreseePlaces(kernel);
    removeUnused(kernel);
    EXPECT_TRUE(verify(kernel).ok()) << verify(kernel).message() << print(kernel);
    auto again = parse(print(kernel));
    EXPECT_TRUE(again.ok() && print(*again) == print(kernel)) << print(kernel);
    return print(kernel);
  }
  bool branches() { return text().find("if seldom") != std::string::npos; }
};

TEST_F(Foresee, OfAWrappedAndClampedPlace) {
  loop([&](V x) { return read(clamped(wrapped(x))); });
  const std::string printed = text();
  const size_t branch = printed.find("if seldom");
  ASSERT_NE(branch, std::string::npos) << printed;
  EXPECT_NE(printed.find("icmp ugt"), std::string::npos) << printed;
  for (const char* part : {"smin", "smax", "select"})  // once, and in the branch
    EXPECT_GT(printed.find(part), branch) << printed;
}

TEST_F(Foresee, OfAWrappedOne) {
  loop([&](V x) { return read(wrapped(x)); });
  const std::string printed = text();
  EXPECT_NE(printed.find("if seldom"), std::string::npos) << printed;
  EXPECT_EQ(printed.find("icmp ugt"), std::string::npos) << printed;
}

TEST_F(Foresee, OfAClampedOne) {
  loop([&](V x) { return read(clamped(x)); });
  EXPECT_TRUE(branches());
}

TEST_F(Foresee, OfOneBelowALimit) {
  loop([&](V x) {
    return b.iadd(read(b.binary(Opcode::umin, x, number(49))),
                  read(b.binary(Opcode::smin, x, number(48))));
  });
  const std::string printed = text();
  const size_t branch = printed.find("if seldom");
  EXPECT_NE(printed.find("if seldom", branch + 1), std::string::npos) << printed;
}

TEST_F(Foresee, NotOfWhatIsDataToo) {
  loop([&](V x) {
    V place = clamped(x);
    return b.iadd(read(place), place);
  });
  EXPECT_FALSE(branches());
}

TEST_F(Foresee, NotOutsideOfLoops) {
  b.store(out, b.index(1), read(clamped(b.load(table, b.index(3), 1))));
  loop([&](V x) { return b.iadd(x, number(1)); });
  EXPECT_FALSE(branches());
}

}  // namespace
}  // namespace tercel::kernel
