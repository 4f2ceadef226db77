// Vectors of bytes, words and flags, whose instructions the selector writes itself: every
// instruction, in every width of vectors, against what it means.
#include <cstring>
#include <functional>
#include <random>

#include "machine_code.h"
#include "reference.h"

namespace tercel::codegen {
namespace {

using kernel::Builder;
using kernel::Kernel;
using kernel::Opcode;
using kernel::Predicate;
using kernel::Scalar;
using kernel::Type;
using kernel::V;

constexpr int kElements = 256;

// One result of two operands, in vectors of so many lanes.
struct Case {
  std::string name;
  Scalar from, to;
  int lanes;
  std::function<V(Builder&, V, V)> emit;
  std::function<uint64_t(uint64_t, uint64_t)> expected;
};

Kernel kernelOf(const Case& c) {
  Kernel kernel{.name = "narrow"};
  Builder b(kernel);
  auto x = b.addParam(c.from, true), y = b.addParam(c.from, true), out = b.addParam(c.to, false);
  b.forLoop(b.taskBegin(), b.taskEnd(), c.lanes, [&](V i) {
    b.store(out, i, c.emit(b, b.load(x, i, c.lanes), b.load(y, i, c.lanes)));
  });
  return kernel;
}

uint64_t maskOf(Scalar s) { return (uint64_t{1} << kernel::bitWidth(s)) - 1; }

uint64_t at(const std::vector<uint8_t>& bytes, Scalar s, int i) {
  uint64_t bits = 0;
  const auto size = static_cast<size_t>(kernel::byteSize(s));
  std::memcpy(&bits, bytes.data() + static_cast<size_t>(i) * size, size);
  return bits;
}

std::vector<uint8_t> numbers(Scalar s, uint64_t limit, std::mt19937_64& random) {
  const auto size = static_cast<size_t>(kernel::byteSize(s));
  std::vector<uint8_t> bytes(kElements * size);
  for (size_t i = 0; i < kElements; ++i) {
    static constexpr uint64_t kEdges[] = {0, 1, ~uint64_t{0}, 0x8080808080808080 >> 1, 0x8000};
    uint64_t bits = (random() % 4 ? random() : kEdges[random() % 5]) & maskOf(s);
    bits %= limit;
    std::memcpy(bytes.data() + i * size, &bits, size);
  }
  return bytes;
}

void check(const Case& c, uint64_t second_below = ~uint64_t{0}) {
  const Kernel kernel = kernelOf(c);
  const std::string where = cat(c.name, ' ', kernel::scalarName(c.from), 'x', c.lanes);
  EXPECT_FALSE(usesLlvm(kernel, *Target::named("x86-64-v4"))) << where;
  if (!runsHere(*Target::named("x86-64-v4"))) return;
  std::mt19937_64 random(c.lanes);
  auto x = numbers(c.from, ~uint64_t{0}, random), y = numbers(c.from, second_below, random);
  std::vector<uint8_t> out(kElements * static_cast<size_t>(kernel::byteSize(c.to)));
  compile(kernel, *Target::named("x86-64-v4"))({x.data(), y.data(), out.data()}, 0, kElements);
  for (int i = 0; i < kElements; ++i) {
    const uint64_t a = at(x, c.from, i), b = at(y, c.from, i);
    ASSERT_EQ(at(out, c.to, i), c.expected(a, b)) << where << " of " << a << " and " << b;
  }
}

std::vector<int> lanesOf(Scalar s) {
  const int most = 512 / std::max(kernel::bitWidth(s), 8);
  return {most / 4, most / 2, most};
}

uint64_t meaning(Opcode op, Scalar s, uint64_t a, uint64_t b) {
  const uint64_t operands[] = {a, b};
  return reference(op, 0, s, s, operands);
}

constexpr Opcode kShifts[] = {Opcode::shl, Opcode::lshr, Opcode::ashr};

TEST(SelectorNarrow, Arithmetic) {
  for (Scalar s : {Scalar::i8, Scalar::i16})
    for (int lanes : lanesOf(s))
      for (Opcode op : {Opcode::iadd, Opcode::isub, Opcode::imul, Opcode::and_, Opcode::or_,
                        Opcode::xor_, Opcode::smin, Opcode::smax, Opcode::umin, Opcode::umax})
        check({std::string(kernel::opcodeName(op)), s, s, lanes,
               [=](Builder& b, V x, V y) { return b.binary(op, x, y); },
               [=](uint64_t x, uint64_t y) { return meaning(op, s, x, y); }});
}

TEST(SelectorNarrow, Shifts) {
  for (Scalar s : {Scalar::i8, Scalar::i16})
    for (int lanes : lanesOf(s))
      for (Opcode op : kShifts) {
        const auto width = static_cast<uint64_t>(kernel::bitWidth(s));
        check({std::string(kernel::opcodeName(op)), s, s, lanes,
               [=](Builder& b, V x, V y) { return b.binary(op, x, y); },
               [=](uint64_t x, uint64_t y) { return meaning(op, s, x, y); }},
              width);
        for (uint64_t by = 1; by < width; by += 3)
          check({cat(kernel::opcodeName(op), " by ", by), s, s, lanes,
                 [=](Builder& b, V x, V) { return b.binary(op, x, b.constant(b.type(x), by)); },
                 [=](uint64_t x, uint64_t) { return meaning(op, s, x, by); }});
      }
}

TEST(SelectorNarrow, ComparisonsAndChoices) {
  for (Scalar s : {Scalar::i8, Scalar::i16})
    for (int lanes : lanesOf(s))
      for (auto p = Predicate::eq; p <= Predicate::uge; p = Predicate(int(p) + 1)) {
        auto holds = [=](uint64_t x, uint64_t y) {
          const uint64_t operands[] = {x, y};
          return reference(Opcode::icmp, static_cast<int64_t>(p), s, Scalar::i1, operands);
        };
        auto compare = [=](Builder& b, V x, V y) { return b.compare(Opcode::icmp, p, x, y); };
        check({"compare", s, Scalar::i1, lanes, compare, holds});
        check({"select", s, s, lanes,
               [=](Builder& b, V x, V y) { return b.select(compare(b, x, y), x, y); },
               [=](uint64_t x, uint64_t y) { return holds(x, y) ? x : y; }});
      }
}

TEST(SelectorNarrow, Flags) {
  for (int lanes : {16, 32, 64}) {
    for (Opcode op : {Opcode::and_, Opcode::or_, Opcode::xor_})
      check({std::string(kernel::opcodeName(op)), Scalar::i1, Scalar::i1, lanes,
             [=](Builder& b, V x, V y) { return b.binary(op, x, y); },
             [=](uint64_t x, uint64_t y) { return meaning(op, Scalar::i1, x, y); }});
    for (Predicate p : {Predicate::eq, Predicate::ne})
      check({"compare", Scalar::i1, Scalar::i1, lanes,
             [=](Builder& b, V x, V y) { return b.compare(Opcode::icmp, p, x, y); },
             [=](uint64_t x, uint64_t y) { return uint64_t{(x == y) == (p == Predicate::eq)}; }});
    check({"widened", Scalar::i1, Scalar::i8, lanes,
           [](Builder& b, V x, V y) {
             return b.iadd(b.cast(Opcode::zext, x, Scalar::i8), b.cast(Opcode::sext, y, Scalar::i8));
           },
           [](uint64_t x, uint64_t y) { return (x - y) & 0xff; }});
    // Of a mask whose last lane alone is set, that one and the one before.
    check({"extract", Scalar::i8, Scalar::i8, lanes,
           [=](Builder& b, V x, V y) {
             V ids = b.laneIds(b.type(x));
             V mask = b.compare(Opcode::icmp, Predicate::eq, ids, b.integer(b.type(x), lanes - 1));
             V differences = b.select(b.extract(mask, lanes - 2), b.iadd(x, y), b.isub(x, y));
             return b.select(b.extract(mask, lanes - 1), differences, y);
           },
           [](uint64_t x, uint64_t y) { return (x - y) & 0xff; }});
  }
}

TEST(SelectorNarrow, Conversions) {
  for (int lanes : {16, 32}) {
    check({"zext", Scalar::i8, Scalar::i16, lanes,
           [](Builder& b, V x, V) { return b.cast(Opcode::zext, x, Scalar::i16); },
           [](uint64_t x, uint64_t) { return x; }});
    check({"sext", Scalar::i8, Scalar::i16, lanes,
           [](Builder& b, V x, V) { return b.cast(Opcode::sext, x, Scalar::i16); },
           [](uint64_t x, uint64_t) { return static_cast<uint64_t>(static_cast<int8_t>(x)) & 0xffff; }});
    check({"trunc", Scalar::i16, Scalar::i8, lanes,
           [](Builder& b, V x, V) { return b.cast(Opcode::itrunc, x, Scalar::i8); },
           [](uint64_t x, uint64_t) { return x & 0xff; }});
  }
}

TEST(SelectorNarrow, Floats) {
  for (Scalar s : {Scalar::i8, Scalar::i16})
    for (Scalar real : {Scalar::f32, Scalar::f64})
      for (int lanes : {4, 8, 16}) {
        if (kernel::bitWidth(real) * lanes > 512) continue;
        if (lanes * kernel::bitWidth(s) < 64) continue;  // loaded as scalars
        for (bool is_signed : {false, true}) {
          const Opcode in = is_signed ? Opcode::sitofp : Opcode::uitofp;
          const Opcode out = is_signed ? Opcode::fptosi : Opcode::fptoui;
          check({"there and back", s, s, lanes,
                 [=](Builder& b, V x, V) {
                   V number = b.cast(in, x, real);
                   V half = b.binary(Opcode::fmul, number, b.number(b.type(number), 0.5));
                   return b.cast(out, half, s);
                 },
                 [=](uint64_t x, uint64_t) {
                   const int width = kernel::bitWidth(s);
                   auto n = static_cast<int64_t>(x << (64 - width)) >> (64 - width);
                   return static_cast<uint64_t>((is_signed ? n : static_cast<int64_t>(x)) / 2) &
                          maskOf(s);
                 }});
        }
      }
}

}  // namespace
}  // namespace tercel::codegen
