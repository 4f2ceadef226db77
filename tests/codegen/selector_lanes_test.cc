// Lanes that change places, that are known and that are divided, as the selector writes them.
#include <functional>
#include <limits>
#include <random>

#include "machine_code.h"

namespace tercel::codegen {
namespace {

using kernel::Builder;
using kernel::Kernel;
using kernel::Opcode;
using kernel::Scalar;
using kernel::Type;
using kernel::V;

// The vector that `made` makes of x; nothing where the machine has not the instructions.
template <class T, class In = T>
std::vector<T> resultsOf(Scalar from, Scalar to, std::vector<In> x, size_t count,
                         const std::function<V(Builder&, kernel::BufferId)>& made) {
  Kernel kernel{.name = "lanes"};
  Builder b(kernel);
  auto in = b.addParam(from, true), out = b.addParam(to, false);
  b.store(out, b.index(0), made(b, in));
  const Target target = *Target::named("x86-64-v4");
  EXPECT_FALSE(usesLlvm(kernel, target));
  if (!runsHere(target)) return {};
  std::vector<T> results(count);
  compile(kernel, target)({x.data(), results.data()});
  return results;
}

template <class T>
std::vector<T> numbered(size_t count) {
  std::vector<T> numbers;
  for (size_t i = 0; i < count; ++i) numbers.push_back(static_cast<T>(i * 7 + 1));
  return numbers;
}

template <class T>
void checkShuffles(Scalar scalar, int lanes, size_t wanted) {
  std::mt19937 random(lanes);
  const auto x = numbered<T>(static_cast<size_t>(2 * lanes));
  for (int turn = 0; turn < 40; ++turn) {
    const bool of_both = turn % 2, with_zero = turn % 4 == 3;
    std::vector<int16_t> list;
    for (size_t i = 0; i < wanted; ++i)
      list.push_back(static_cast<int16_t>(random() % static_cast<unsigned>(of_both ? 2 * lanes
                                                                                   : lanes)));
    auto out = resultsOf<T>(scalar, scalar, x, wanted, [&](Builder& b, kernel::BufferId in) {
      V first = b.load(in, b.index(0), lanes), second = b.load(in, b.index(lanes), lanes);
      return b.shuffle(first, with_zero ? b.constant(b.type(first), 0) : second, list);
    });
    for (size_t i = 0; i < out.size(); ++i) {
      const auto from = static_cast<size_t>(list[i]);
      const bool is_zero = with_zero && from >= static_cast<size_t>(lanes);
      ASSERT_EQ(out[i], is_zero ? T(0) : x[from]) << lanes << " lanes, lane " << i;
    }
  }
}

TEST(SelectorLanes, ShufflesOfShortVectors) {
  for (int lanes : {4, 8, 16}) checkShuffles<uint8_t>(Scalar::i8, lanes, 16);
  for (size_t wanted : {4, 8}) checkShuffles<uint8_t>(Scalar::i8, 16, wanted);
  for (int lanes : {2, 4, 8}) checkShuffles<uint16_t>(Scalar::i16, lanes, 8);
  for (size_t wanted : {2, 4, 8, 16}) {
    for (int lanes : {2, 4}) {
      checkShuffles<float>(Scalar::f32, lanes, wanted);
      checkShuffles<uint32_t>(Scalar::i32, lanes, wanted);
    }
  }
}

// Lanes that one instruction moves: within blocks, of one vector or half of each, in their places.
template <class T>
void checkPlaces(Scalar scalar, int lanes, const std::function<int(std::mt19937&, int)>& place) {
  std::mt19937 random(lanes);
  const auto x = numbered<T>(static_cast<size_t>(2 * lanes));
  for (int turn = 0; turn < 12; ++turn) {
    std::vector<int16_t> list;
    for (int i = 0; i < lanes; ++i)
      list.push_back(static_cast<int16_t>(random() % 9 ? place(random, i) : -1));
    auto out = resultsOf<T>(scalar, scalar, x, list.size(), [&](Builder& b, kernel::BufferId in) {
      return b.shuffle(b.load(in, b.index(0), lanes), b.load(in, b.index(lanes), lanes), list);
    });
    for (size_t i = 0; i < out.size(); ++i) {
      if (list[i] < 0) continue;
      ASSERT_EQ(out[i], x[static_cast<size_t>(list[i])]) << lanes << " lanes, lane " << i;
    }
  }
}

template <class T>
void checkPlacesOf(Scalar scalar, int lanes) {
  const int block = 16 / static_cast<int>(sizeof(T)), half = block / 2;
  auto start = [&](int i) { return i / block * block; };
  checkPlaces<T>(scalar, lanes, [&](auto& random, int i) {  // each lane stays
    return i + static_cast<int>(random() % 2) * lanes;
  });
  checkPlaces<T>(scalar, lanes, [&](auto&, int i) { return start(i) + block - 1 - i % block; });
  checkPlaces<T>(scalar, lanes, [&](auto&, int i) { return start(i) + i % block * 3 % block; });
  for (bool turned : {false, true})
    checkPlaces<T>(scalar, lanes, [&](auto&, int i) {  // half of each
      return start(i) + (i * 3 + 1) % block + (i / half % 2 == turned) * lanes;
    });
  for (int moved = 0; moved < lanes; ++moved)
    checkPlaces<T>(scalar, lanes, [&](auto& random, int i) {
      return i == moved ? static_cast<int>(random() % static_cast<unsigned>(2 * lanes)) : i;
    });
}

TEST(SelectorLanes, ShufflesByOneInstruction) {
  for (int lanes : {4, 8, 16}) checkPlacesOf<float>(Scalar::f32, lanes);
  for (int lanes : {4, 8, 16}) checkPlacesOf<int32_t>(Scalar::i32, lanes);
  for (int lanes : {2, 4, 8}) checkPlacesOf<double>(Scalar::f64, lanes);
  for (int lanes : {2, 4, 8}) checkPlacesOf<int64_t>(Scalar::i64, lanes);
}

TEST(SelectorLanes, BitsOfThree) {
  const auto x = numbered<uint32_t>(48);
  const Opcode ops[] = {Opcode::and_, Opcode::or_, Opcode::xor_};
  auto computed = [](Opcode op, uint32_t a, uint32_t b) {
    return op == Opcode::and_ ? a & b : op == Opcode::or_ ? a | b : a ^ b;
  };
  for (Opcode outer : ops)
    for (Opcode inner : ops)
      for (bool turned : {false, true}) {
        auto out = resultsOf<uint32_t>(Scalar::i32, Scalar::i32, x, 16, [&](Builder& b, auto in) {
          V made = b.binary(inner, b.load(in, b.index(0), 16), b.load(in, b.index(16), 16));
          V last = b.load(in, b.index(32), 16);
          return turned ? b.binary(outer, last, made) : b.binary(outer, made, last);
        });
        for (size_t i = 0; i < out.size(); ++i)
          ASSERT_EQ(out[i], computed(outer, computed(inner, x[i], x[i + 16]), x[i + 32]));
      }
}

TEST(SelectorLanes, PartsOfMasks) {
  std::vector<uint8_t> flags;
  for (int i = 0; i < 64; ++i) flags.push_back(i % 3 == 0 || i % 5 == 1);
  for (auto [all, lanes] : {std::pair{16, 8}, {16, 4}, {8, 4}, {32, 16}, {64, 32}, {64, 16}})
    for (int first = 0; first + lanes <= all; first += lanes) {
      std::vector<int16_t> list;
      for (int i = 0; i < lanes; ++i) list.push_back(static_cast<int16_t>(first + i));
      auto out = resultsOf<uint8_t>(
          Scalar::i1, Scalar::i1, flags, static_cast<size_t>(lanes),
          [&, all = all](Builder& b, kernel::BufferId in) {
            V mask = b.load(in, b.index(0), all);
            return b.shuffle(mask, mask, list);
          });
      for (size_t i = 0; i < out.size(); ++i)
        ASSERT_EQ(out[i], flags[static_cast<size_t>(first) + i]) << all << ", " << first << "+" << i;
    }
}

TEST(SelectorLanes, OneFlagForAll) {
  for (uint8_t set : {0, 1})
    for (uint16_t lanes : {4, 8, 16, 32, 64}) {
      auto out = resultsOf<uint8_t>(Scalar::i1, Scalar::i1, std::vector<uint8_t>{set}, lanes,
                                    [&](Builder& b, kernel::BufferId in) {
                                      return b.splat(b.load(in, b.index(0), 1), lanes);
                                    });
      for (uint8_t flag : out) ASSERT_EQ(flag, set) << lanes;
    }
}

// By the low bits of few bytes; what lies behind them in the register does not count.
TEST(SelectorLanes, FlagsOfFewBytes) {
  const auto x = numbered<uint8_t>(16);
  for (int lanes : {4, 8, 16}) {
    auto out = resultsOf<uint8_t>(
        Scalar::i8, Scalar::i1, x, static_cast<size_t>(lanes),
        [&](Builder& b, kernel::BufferId in) {
          return b.cast(Opcode::itrunc, b.load(in, b.index(0), lanes), Scalar::i1);
        });
    for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], x[i] % 2) << lanes;
  }
}

TEST(SelectorLanes, KnownLanes) {
  const std::vector<int16_t> turned = {3, 2, 1, 0, 7, 6, 5, 4};
  auto out = resultsOf<uint32_t>(
      Scalar::i32, Scalar::i32, std::vector<uint32_t>(8, 0), 8,
      [&](Builder& b, kernel::BufferId in) {
        V ids = b.laneIds({Scalar::i32, 8});
        auto number = [&](uint64_t n) { return b.constant(b.type(ids), n); };
        V places = b.binary(Opcode::urem, b.iadd(b.imul(ids, number(5)), number(2)), number(7));
        V known = b.isub(b.binary(Opcode::shl, b.shuffle(places, places, turned), number(3)),
                         b.binary(Opcode::udiv, ids, number(2)));
        return b.iadd(b.load(in, b.index(0), 8), known);
      });
  for (uint32_t i = 0; i < out.size(); ++i) {
    const auto from = static_cast<uint32_t>(turned[i]);
    EXPECT_EQ(out[i], ((from * 5 + 2) % 7 << 3) - i / 2) << i;
  }
}

template <class T>
T divided(Opcode op, T a, T b) {
  return op == Opcode::udiv || op == Opcode::sdiv ? a / b : a % b;
}

template <class T>
void checkDivision(Opcode op, int lanes, T divisor) {
  constexpr Scalar kScalar = sizeof(T) == 8 ? Scalar::i64 : Scalar::i32;
  std::mt19937_64 random(lanes);
  std::vector<T> x = {0, 1, T(-1), std::numeric_limits<T>::max(), std::numeric_limits<T>::min(),
                      divisor, T(divisor - 1), T(divisor + 1)};
  while (x.size() < 64) x.push_back(static_cast<T>(random() >> random() % 64));
  std::vector<T> out(x.size());
  Kernel kernel{.name = "divide"};
  Builder b(kernel);
  auto in = b.addParam(kScalar, true), to = b.addParam(kScalar, false);
  b.forLoop(b.taskBegin(), b.taskEnd(), lanes, [&](V i) {
    V v = b.load(in, i, lanes);
    b.store(to, i, b.binary(op, v, b.constant(b.type(v), std::make_unsigned_t<T>(divisor))));
  });
  const Target target = *Target::named("x86-64-v4");
  EXPECT_FALSE(usesLlvm(kernel, target));
  if (!runsHere(target)) return;
  compile(kernel, target)({x.data(), out.data()}, 0, static_cast<int64_t>(x.size()));
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(out[i], divided(op, x[i], divisor)) << opcodeName(op) << " of " << x[i];
}

TEST(SelectorLanes, DivisionOfLongNumbers) {
  for (int lanes : {2, 4, 8})
    for (int64_t divisor : {int64_t{2}, int64_t{3}, int64_t{5}, int64_t{6}, int64_t{7}, int64_t{10},
                            int64_t{641}, int64_t{1000}, int64_t{1} << 31, int64_t{1} << 62,
                            int64_t{1000000007}, (int64_t{1} << 53) + 1,
                            std::numeric_limits<int64_t>::max()}) {
      for (Opcode op : {Opcode::udiv, Opcode::urem})
        checkDivision(op, lanes, static_cast<uint64_t>(divisor));
      for (Opcode op : {Opcode::sdiv, Opcode::srem}) checkDivision(op, lanes, divisor);
    }
}

TEST(SelectorLanes, Division) {
  for (int lanes : {4, 8, 16})
    for (int32_t divisor : {2, 3, 5, 6, 7, 10, 12, 25, 64, 100, 125, 641, 1000003, 1 << 30,
                            std::numeric_limits<int32_t>::max()}) {
      for (Opcode op : {Opcode::udiv, Opcode::urem})
        checkDivision(op, lanes, static_cast<uint32_t>(divisor));
      for (Opcode op : {Opcode::sdiv, Opcode::srem}) checkDivision(op, lanes, divisor);
    }
}

}  // namespace
}  // namespace tercel::codegen
