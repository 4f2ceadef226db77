// Memory instructions: masks at the edge of a page, gathers, scatters, scratch.
#include <sys/mman.h>

#include <algorithm>
#include <random>

#include "machine_code.h"

namespace tercel::codegen {
namespace {

using kernel::Builder;
using kernel::Kernel;
using kernel::Opcode;
using kernel::Predicate;
using kernel::Scalar;
using kernel::Type;
using kernel::V;

constexpr Scalar kScalars[] = {Scalar::i1,  Scalar::i8,   Scalar::i16, Scalar::i32, Scalar::i64,
                               Scalar::f16, Scalar::bf16, Scalar::f32, Scalar::f64};
constexpr int kLanes[] = {1, 2, 4, 8, 16, 32};

// A readable page between two that are not.
class GuardedPage {
 public:
  GuardedPage() {
    base_ = static_cast<std::byte*>(
        mmap(nullptr, 3 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_ + kPage, kPage, PROT_READ | PROT_WRITE);
  }
  ~GuardedPage() { munmap(base_, 3 * kPage); }
  std::byte* begin() { return base_ + kPage; }
  std::byte* end() { return base_ + 2 * kPage; }

 private:
  static constexpr size_t kPage = 4096;
  std::byte* base_;
};

// A mask of the lanes [from, to).
V laneRange(Builder& b, int lanes, V from, V to) {
  Type type{Scalar::i64, static_cast<uint16_t>(lanes)};
  V ids = lanes == 1 ? b.index(0) : b.laneIds(type);
  V above = b.compare(Opcode::icmp, Predicate::sge, ids, from);
  return b.binary(Opcode::and_, above, b.compare(Opcode::icmp, Predicate::slt, ids, to));
}

uint8_t pattern(size_t i, Scalar s) {
  return s == Scalar::i1 ? (i * 7 % 3 == 1) : static_cast<uint8_t>(i * 37 + 11);
}

// Copies the lanes [begin, end) with a masked load and a masked store.
Kernel maskedCopy(Scalar s, int lanes) {
  Kernel kernel{.name = cat("masked_", kernel::scalarName(s), 'x', lanes)};
  Builder b(kernel);
  auto x = b.addParam(s, true), out = b.addParam(s, false), all = b.addParam(s, false);
  V mask = laneRange(b, lanes, b.taskBegin(), b.taskEnd());
  V loaded = b.loadMasked(x, b.index(0), mask);
  b.storeMasked(out, b.index(0), loaded, mask);
  b.store(all, b.index(0), loaded);
  return kernel;
}

TEST(Memory, MaskedLanesAreNeverTouched) {
  GuardedPage source, target;
  for (const Target& machine : testTargets())
    for (Scalar s : kScalars)
      for (int lanes : kLanes) {
        Kernel kernel = maskedCopy(s, lanes);
        MachineCode code = compile(kernel, machine);
        if (!code.entry || !runsHere(machine)) continue;
        SCOPED_TRACE(cat(machine.cpu, ' ', kernel.name));
        int64_t size = kernel::byteSize(s), bytes = size * lanes;
        for (int64_t count : {int64_t{0}, int64_t{1}, int64_t{lanes / 2}, int64_t{lanes}}) {
          // The last `count` lanes lie before the page, the first ones after it.
          for (bool at_end : {true, false}) {
            int64_t first = at_end ? 0 : lanes - count, last = first + count;
            std::byte* from = at_end ? source.end() - count * size
                                     : source.begin() - (lanes - count) * size;
            std::byte* to = target.begin() + (from - source.begin());
            for (int64_t i = first * size; i < last * size; ++i) {
              from[i] = std::byte{pattern(static_cast<size_t>(i), s)};
              to[i] = std::byte{0x55};
            }
            std::vector<std::byte> all(bytes, std::byte{0xee}), expected(bytes, std::byte{0});
            std::copy(from + first * size, from + last * size, expected.begin() + first * size);
            code({from, to, all.data()}, first, last);
            EXPECT_TRUE(std::equal(from + first * size, from + last * size, to + first * size));
            EXPECT_EQ(all, expected);
          }
        }
      }
}

TEST(Memory, GatherAndScatter) {
  std::mt19937 random(5);
  for (const Target& machine : testTargets())
    for (Scalar s : kScalars)
      for (int lanes : kLanes) {
        Kernel kernel{.name = cat("gather_", kernel::scalarName(s), 'x', lanes)};
        Builder b(kernel);
        auto x = b.addParam(s, true), where = b.addParam(Scalar::i64, true);
        auto keep = b.addParam(Scalar::i1, true), out = b.addParam(s, false);
        auto back = b.addParam(s, false);
        V indices = b.load(where, b.index(0), lanes), mask = b.load(keep, b.index(0), lanes);
        V first = b.iadd(b.taskBegin(), b.index(3));
        V gathered = b.gather(x, {first, indices, -3}, mask);
        b.store(out, b.index(0), gathered);
        b.scatter(back, {first, indices, -3}, gathered, mask);
        V everyLane = b.constant({Scalar::i1, static_cast<uint16_t>(lanes)}, 1);
        V some = b.cast(Opcode::itrunc, b.binary(Opcode::and_, indices, b.index(63)), Scalar::i32);
        b.store(out, b.index(lanes), b.gather(x, {b.index(0), some}, everyLane));
        V narrow = b.cast(Opcode::itrunc, indices, Scalar::i32);
        b.store(out, b.index(2 * lanes), b.gather(x, {first, narrow, -3}, mask));
        MachineCode code = compile(kernel, machine);
        if (!code.entry || !runsHere(machine)) continue;
        SCOPED_TRACE(cat(machine.cpu, ' ', kernel.name));
        int64_t size = kernel::byteSize(s);
        std::vector<uint8_t> xs(64 * size), keeps(lanes), outs(3 * lanes * size, 0xee);
        std::vector<uint8_t> backs(64 * size, 0x77), back_expected = backs;
        std::vector<uint8_t> expected(3 * lanes * size, 0);
        std::vector<int64_t> wheres(lanes);
        for (size_t i = 0; i < xs.size(); ++i) xs[i] = pattern(i, s);
        for (int i = 0; i < lanes; ++i) {
          keeps[i] = random() % 2;
          wheres[i] = static_cast<int64_t>(random() % 64);
          std::copy_n(&xs[wheres[i] * size], size, &expected[(lanes + i) * size]);
          if (keeps[i]) {
            std::copy_n(&xs[wheres[i] * size], size, &expected[i * size]);
            std::copy_n(&xs[wheres[i] * size], size, &expected[(2 * lanes + i) * size]);
            std::copy_n(&xs[wheres[i] * size], size, &back_expected[wheres[i] * size]);
          } else {
            wheres[i] += int64_t{64} << 40;  // far outside
          }
        }
        code({xs.data(), wheres.data(), keeps.data(), outs.data(), backs.data()});
        EXPECT_EQ(outs, expected);
        EXPECT_EQ(backs, back_expected);
      }
}

TEST(Memory, ScatterWritesDuplicatesInLaneOrder) {
  for (const Target& machine : testTargets()) {
    Kernel kernel{.name = "duplicates"};
    Builder b(kernel);
    auto out = b.addParam(Scalar::i32, false);
    Type indices{Scalar::i64, 16};
    b.scatter(out, {b.index(0), b.binary(Opcode::and_, b.laneIds(indices), b.index(3))},
              b.laneIds({Scalar::i32, 16}), b.constant({Scalar::i1, 16}, 1));
    MachineCode code = compile(kernel, machine);
    if (!code.entry || !runsHere(machine)) continue;
    std::vector<int32_t> outs(4, -1);
    code({outs.data()});
    EXPECT_EQ(outs, (std::vector<int32_t>{12, 13, 14, 15})) << machine.cpu;
  }
}

TEST(Memory, StreamingStoreAndPrefetch) {
  constexpr int64_t kFar = 1 << 25;  // elements, which are fetched ahead
  for (const Target& machine : testTargets())
    for (Scalar s : kScalars) {
      Kernel kernel{.name = cat("stream_", kernel::scalarName(s))};
      Builder b(kernel);
      auto x = b.addParam(s, true, kFar), out = b.addParam(s, false);
      int lanes = static_cast<int>(machine.vector_bytes / kernel::byteSize(s));
      b.machine.vector_bytes = static_cast<int>(machine.vector_bytes);
      b.fetchingAhead(4 * lanes, [&] {
        b.forLoop(b.taskBegin(), b.taskEnd(), lanes, [&](V i) {
          b.storeStreaming(out, i, b.load(x, i, lanes));
        });
      });
      EXPECT_TRUE(std::ranges::any_of(kernel.insts, [](const kernel::Inst& inst) {
        return inst.op == Opcode::prefetch;
      }));
      MachineCode code = compile(kernel, machine);
      if (!code.entry || !runsHere(machine)) continue;
      size_t bytes = static_cast<size_t>(8 * machine.vector_bytes);
      alignas(64) uint8_t xs[8 * 64], outs[8 * 64] = {};
      for (size_t i = 0; i < bytes; ++i) xs[i] = pattern(i, s);
      code({xs, outs}, 0, 8 * lanes);
      EXPECT_EQ(std::memcmp(xs, outs, bytes), 0) << machine.cpu << ' ' << kernel.name;
    }
}

TEST(Memory, ScratchBuffersAreApart) {
  Kernel kernel{.name = "scratch"};
  Builder b(kernel);
  auto x = b.addParam(Scalar::f32, true), out = b.addParam(Scalar::f32, false);
  auto first = b.addScratch(Scalar::f32, 10), second = b.addScratch(Scalar::f32, 10);
  b.forLoop(b.index(0), b.index(10), 1, [&](V i) {
    V v = b.load(x, i, 1);
    b.store(first, i, v);
    b.store(second, i, b.fmul(v, v));
  });
  b.forLoop(b.index(0), b.index(10), 1, [&](V i) {
    V reversed = b.isub(b.index(9), i);
    b.store(out, i, b.binary(Opcode::fsub, b.load(first, reversed, 1), b.load(second, i, 1)));
  });
  std::vector<float> xs(10), outs(10);
  for (int i = 0; i < 10; ++i) xs[i] = 0.5f + static_cast<float>(i);
  MachineCode code = compile(kernel);
  code({xs.data(), outs.data()});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(outs[i], xs[9 - i] - xs[i] * xs[i]);
}

// One buffer that is read and written: loads must see the stores before them.
TEST(Memory, StoresAreSeenByLaterLoads) {
  Kernel kernel{.name = "prefix"};
  Builder b(kernel);
  auto x = b.addParam(Scalar::i32, false);
  b.forLoop(b.index(1), b.index(32), 1, [&](V i) {
    b.store(x, i, b.iadd(b.load(x, i, 1), b.load(x, i, 1, -1)));
  });
  MachineCode code = compile(kernel);
  std::vector<int32_t> xs(32, 1);
  code({xs.data()});
  for (int i = 0; i < 32; ++i) EXPECT_EQ(xs[i], i + 1);
}

}  // namespace
}  // namespace tercel::codegen
