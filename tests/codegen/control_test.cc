// Loops, branches and what else has blocks; also constants and lane movement.
#include <numeric>
#include <thread>

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
using Values = Builder::Values;

// Runs `check` with the code for each target that runs here; all are compiled.
template <class Check>
void onTargets(const Kernel& kernel, Check check) {
  for (const Target& target : testTargets()) {
    SCOPED_TRACE(target.cpu);
    MachineCode code = compile(kernel, target);
    if (code.entry && runsHere(target)) check(code);
  }
}

TEST(Control, TaskLoopAddsTwoArrays) {
  Kernel kernel{.name = "add"};
  Builder b(kernel);
  auto x = b.addParam(Scalar::f32, true), y = b.addParam(Scalar::f32, true);
  auto out = b.addParam(Scalar::f32, false);
  b.forLoop(b.taskBegin(), b.taskEnd(), 16, [&](V i) {
    b.store(out, i, b.fadd(b.load(x, i, 16), b.load(y, i, 16)));
  });
  std::vector<float> xs(64), ys(64);
  for (int i = 0; i < 64; ++i) xs[i] = 1.5f * i, ys[i] = 100.0f - i;
  onTargets(kernel, [&](const MachineCode& code) {
    std::vector<float> outs(64, -1.0f);
    code({xs.data(), ys.data(), outs.data()}, 16, 48);
    for (int i = 0; i < 64; ++i)
      EXPECT_EQ(outs[i], i >= 16 && i < 48 ? xs[i] + ys[i] : -1.0f) << i;
    code({xs.data(), ys.data(), outs.data()}, 5, 5);  // no task
    EXPECT_EQ(outs[5], -1.0f);
  });
}

// f(x, y) = x + y in the lanes where x > 100, by a loop that adds ones; two kernels share it. Sums
// are carried past the calls, as what a loop keeps in registers.
Kernel addRarely(std::string name, int lanes) {
  Kernel kernel{.name = std::move(name)};
  Builder b(kernel);
  auto x = b.addParam(Scalar::f32, true), out = b.addParam(Scalar::f32, false);
  Type type{Scalar::f32, static_cast<uint16_t>(lanes)};
  auto body = [&](std::span<const V> v) {
    V one = b.number(type, 1);
    V left[] = {v[0], v[1]};
    auto more = [&](V y) {
      return b.any(b.compare(Opcode::fcmp, Predicate::ogt, y, b.number(type, 0)));
    };
    Values last = b.whileLoop(left, [&](auto w) { return more(w[1]); },
                              [&](auto w) {
                                return Values{b.fadd(w[0], one), b.binary(Opcode::fsub, w[1], one)};
                              });
    V large = b.compare(Opcode::fcmp, Predicate::ogt, v[0], b.number(type, 100));
    return b.select(large, last[0], v[0]);
  };
  Type types[] = {type, type};
  V zero = b.number(type, 0);
  Values sum = b.forLoop(b.taskBegin(), b.taskEnd(), lanes, {&zero, 1},
                         [&](V i, std::span<const V> carried) {
    V v = b.load(x, i, lanes);
    V large = b.any(b.compare(Opcode::fcmp, Predicate::ogt, v, b.number(type, 100)));
    V args[] = {v, b.number(type, 5)};
    V y = b.rarely(large, b.function(cat("add.", lanes), types, body), args);
    b.store(out, i, y);
    return Values{b.fadd(carried[0], y)};
  });
  b.store(out, b.taskEnd(), sum[0]);
  return kernel;
}

TEST(Control, FunctionsAreCalledRarely) {
  for (int lanes : {1, 4, 8, 16}) {
    Kernel first = addRarely("first", lanes), second = addRarely("second", lanes);
    const Kernel* kernels[] = {&first, &second};
    for (const Target& target : testTargets()) {
      SCOPED_TRACE(cat(target.cpu, ", lanes ", lanes));
      Result<ObjectCode> object = compileKernels(kernels, target, {.verify = true});
      ASSERT_TRUE(object.ok()) << object.status().message();
      std::vector<ObjectCode> functions = compileFunctions(kernels, target);
      ASSERT_EQ(functions.size(), 1u);
      if (!runsHere(target)) continue;
      engine::ObjectBytes objects[] = {object->bytes, functions[0].bytes};
      auto code = engine::LoadedCode::load(objects);
      ASSERT_TRUE(code.ok()) << code.status().message();
      for (const Kernel* kernel : kernels) {
        std::vector<float> x(64), out(80), sums(16);
        for (int i = 0; i < 64; ++i) x[i] = i % 21 == 3 ? 200.0f + i : static_cast<float>(i);
        void* params[] = {x.data(), out.data()};
        code->function<KernelFunction>(kernel->name)(params, 0, 64, nullptr);
        for (int i = 0; i < 64; ++i) {
          float want = x[i] > 100 ? x[i] + 5 : x[i];
          EXPECT_EQ(out[i], want) << i;
          sums[i % lanes] += want;
        }
        for (int i = 0; i < lanes; ++i) EXPECT_EQ(out[64 + i], sums[i]) << i;
      }
    }
  }
}

// A function takes wide vectors and returns a short one: what its caller keeps stays whole.
TEST(Control, FunctionsKeepWholeRegisters) {
  for (int lanes : {4, 8}) {
    Kernel kernel{.name = "narrowed"};
    Builder b(kernel);
    auto x = b.addParam(Scalar::f64, true), out = b.addParam(Scalar::f64, false);
    const Type wide{Scalar::f64, static_cast<uint16_t>(lanes)};
    const Type types[] = {wide.with(Scalar::f32), wide};
    b.forLoop(b.taskBegin(), b.taskEnd(), lanes, [&](V i) {
      V v = b.load(x, i, lanes), next = b.load(x, i, lanes, 64);
      V small = b.any(b.compare(Opcode::fcmp, Predicate::olt, v, b.number(wide, 8)));
      V args[] = {b.cast(Opcode::fptrunc, v, Scalar::f32), v};
      auto body = [&](std::span<const V> a) {
        return b.cast(Opcode::fptrunc, b.fadd(a[1], a[1]), Scalar::f32);
      };
      V y = b.rarely(small, b.function(cat("narrow.", lanes), types, body), args);
      b.store(out, i, b.fadd(b.cast(Opcode::fpext, y, Scalar::f64), v));
      b.store(out, i, b.fadd(v, next), 64);
    });
    std::vector<double> xs(128);
    std::iota(xs.begin(), xs.end(), 0);
    onTargets(kernel, [&](const MachineCode& code) {
      std::vector<double> outs(128, -1);
      code({xs.data(), outs.data()}, 0, 64);
      for (int i = 0; i < 64; ++i) {
        EXPECT_EQ(outs[i], (i / lanes * lanes < 8 ? 3 : 2) * xs[i]) << i;
        EXPECT_EQ(outs[64 + i], 2 * xs[i] + 64) << i;
      }
    });
  }
}

TEST(Control, NestedLoopsCarryValues) {
  // out[i] = sum of j in [i, 7) of x[j] * i, with a loop that may run no trip.
  Kernel kernel{.name = "carry"};
  Builder b(kernel);
  auto x = b.addParam(Scalar::i64, true), out = b.addParam(Scalar::i64, false);
  b.forLoop(b.index(0), b.index(10), 1, [&](V i) {
    V init[] = {b.index(1000), b.index(0)};
    Values sums = b.forLoop(i, b.index(7), 1, init, [&](V j, std::span<const V> carried) {
      V term = b.imul(b.load(x, j, 1), i);
      return Values{carried[1], b.iadd(carried[0], term)};  // swapped in each trip
    });
    b.store(out, b.imul(i, b.index(2)), sums[0]);
    b.store(out, b.imul(i, b.index(2)), sums[1], 1);
  });
  std::vector<int64_t> xs{3, 1, 4, 1, 5, 9, 2};
  onTargets(kernel, [&](const MachineCode& code) {
    std::vector<int64_t> outs(20, -1);
    code({xs.data(), outs.data()});
    for (int64_t i = 0; i < 10; ++i) {
      int64_t p = 1000, q = 0;
      for (int64_t j = i; j < 7; ++j) p += xs[j] * i, std::swap(p, q);
      EXPECT_EQ(outs[2 * i], p) << i;
      EXPECT_EQ(outs[2 * i + 1], q) << i;
    }
  });
}

TEST(Control, WhileLoop) {
  // Collatz steps of each task number.
  Kernel kernel{.name = "collatz"};
  Builder b(kernel);
  auto out = b.addParam(Scalar::i64, false);
  b.forLoop(b.taskBegin(), b.taskEnd(), 1, [&](V i) {
    V init[] = {i, b.index(0)};
    Values last = b.whileLoop(
        init,
        [&](std::span<const V> v) {
          return b.compare(Opcode::icmp, Predicate::ugt, v[0], b.index(1));
        },
        [&](std::span<const V> v) {
          V odd = b.cast(Opcode::itrunc, v[0], Scalar::i1);
          Values next = b.ifElse(
              odd, [&] { return Values{b.iadd(b.imul(v[0], b.index(3)), b.index(1))}; },
              [&] { return Values{b.binary(Opcode::lshr, v[0], b.index(1))}; });
          return Values{next[0], b.iadd(v[1], b.index(1))};
        });
    b.store(out, i, last[1]);
  });
  onTargets(kernel, [&](const MachineCode& code) {
    std::vector<int64_t> outs(30, -1);
    code({outs.data()}, 1, 30);
    EXPECT_EQ(outs[1], 0);
    EXPECT_EQ(outs[6], 8);
    EXPECT_EQ(outs[27], 111);
    EXPECT_EQ(outs[0], -1);
  });
}

TEST(Control, IfWithoutElse) {
  Kernel kernel{.name = "guard"};
  Builder b(kernel);
  auto out = b.addParam(Scalar::i32, false);
  b.forLoop(b.taskBegin(), b.taskEnd(), 1, [&](V i) {
    V small = b.compare(Opcode::icmp, Predicate::slt, i, b.index(3));
    b.ifThen(small, [&] { b.store(out, i, b.integer({Scalar::i32, 1}, 7)); });
    V picked = b.ifElse(small, [&] { return Values{b.index(1)}; },
                        [&] { return Values{b.index(2)}; })[0];
    b.store(out, i, b.cast(Opcode::itrunc, picked, Scalar::i32), 8);
  });
  onTargets(kernel, [&](const MachineCode& code) {
    std::vector<int32_t> outs(16, 0);
    code({outs.data()}, 0, 6);
    EXPECT_EQ(outs, (std::vector<int32_t>{7, 7, 7, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 0}));
  });
}

TEST(Control, VectorsAreCarried) {
  Kernel kernel{.name = "reduce"};
  Builder b(kernel);
  auto x = b.addParam(Scalar::f32, true), out = b.addParam(Scalar::f32, false);
  Type type{Scalar::f32, 8};
  V init[] = {b.number(type, 0.0), b.number(type, -INFINITY)};
  Values last = b.forLoop(b.index(0), b.index(64), 8, init, [&](V i, std::span<const V> v) {
    V loaded = b.load(x, i, 8);
    return Values{b.fadd(v[0], loaded), b.binary(Opcode::fmax, v[1], loaded)};
  });
  b.store(out, b.index(0), last[0]);
  b.store(out, b.index(8), last[1]);
  std::vector<float> xs(64);
  for (int i = 0; i < 64; ++i) xs[i] = static_cast<float>((i * 37) % 64);
  onTargets(kernel, [&](const MachineCode& code) {
    std::vector<float> outs(16);
    code({xs.data(), outs.data()});
    for (int lane = 0; lane < 8; ++lane) {
      float sum = 0, greatest = -INFINITY;
      for (int i = lane; i < 64; i += 8) sum += xs[i], greatest = std::max(greatest, xs[i]);
      EXPECT_EQ(outs[lane], sum);
      EXPECT_EQ(outs[8 + lane], greatest);
    }
  });
}

TEST(Lanes, Movement) {
  Kernel kernel{.name = "lanes"};
  Builder b(kernel);
  auto x = b.addParam(Scalar::i32, true), out = b.addParam(Scalar::i32, false);
  V v = b.load(x, b.index(0), 8), w = b.load(x, b.index(8), 8);
  const int16_t order[] = {15, 0, 14, 1, -1, 2, 9, 9};
  b.store(out, b.index(0), b.shuffle(v, w, order));
  b.store(out, b.index(8), b.extract(v, 5));
  b.store(out, b.index(9), b.splat(b.extract(w, 0), 4));
  b.store(out, b.index(13), b.laneIds({Scalar::i32, 2}));
  const int16_t pair[] = {1, 0};
  b.store(out, b.index(15), b.shuffle(b.load(x, b.index(1), 1), b.load(x, b.index(2), 1), pair));
  V condition = b.compare(Opcode::icmp, Predicate::sgt, v, b.integer({Scalar::i32, 1}, 103));
  b.store(out, b.index(17), b.select(condition, v, w));
  V all = b.compare(Opcode::icmp, Predicate::sgt, b.load(x, b.index(0), 1),
                    b.integer({Scalar::i32, 1}, 0));
  b.store(out, b.index(25), b.select(all, w, v));
  std::vector<int32_t> xs(16);
  std::iota(xs.begin(), xs.end(), 100);
  onTargets(kernel, [&](const MachineCode& code) {
    std::vector<int32_t> outs(40, -1);
    code({xs.data(), outs.data()});
    EXPECT_EQ(outs[0], 115);
    EXPECT_EQ(outs[3], 101);
    EXPECT_EQ(outs[7], 109);
    EXPECT_EQ(outs[8], 105);
    EXPECT_EQ(outs[12], 108);
    EXPECT_EQ(outs[13], 0);
    EXPECT_EQ(outs[14], 1);
    EXPECT_EQ(outs[15], 102);
    EXPECT_EQ(outs[16], 101);
    for (int i = 0; i < 8; ++i) EXPECT_EQ(outs[17 + i], i > 3 ? 100 + i : 108 + i);
    for (int i = 0; i < 8; ++i) EXPECT_EQ(outs[25 + i], 108 + i);
  });
}

// Interleaved within blocks of 16 bytes by units of one lane or two, or whole blocks of both, and
// what is nearly so.
std::vector<std::vector<int16_t>> blockLists(int lanes, int in_block) {
  std::vector<std::vector<int16_t>> lists;
  auto add = [&](auto&& lane) {
    std::vector<int16_t> list;
    for (int i = 0; i < lanes; ++i) list.push_back(static_cast<int16_t>(lane(i)));
    lists.push_back(list);
    list[static_cast<size_t>(lanes - 1)] = 1;
    lists.push_back(list);
  };
  for (int high = 0; high < 2; ++high)
    for (int unit = 1; unit < in_block; unit *= 2)
      add([&](int i) {
        const int n = i % in_block / unit;
        return n % 2 * lanes + i / in_block * in_block + high * in_block / 2 + n / 2 * unit +
               i % unit;
      });
  for (int odd = 0; odd < 2; ++odd)
    add([&](int i) { return (2 * (i / in_block) + odd) * in_block % (2 * lanes) + i % in_block; });
  add([&](int i) { return i < lanes / 2 ? lanes - in_block + i % in_block : lanes + i; });
  add([&](int i) { return 2 * lanes - 1 - i; });
  return lists;
}

TEST(Lanes, ChangePlacesByBlocks) {
  for (Scalar s : {Scalar::i32, Scalar::f64})
    for (int bytes : {16, 32, 64}) {
      const auto size = static_cast<int>(kernel::byteSize(s));
      const int lanes = bytes / size;
      Kernel kernel{.name = cat("blocks_", kernel::scalarName(s), lanes)};
      Builder b(kernel);
      auto x = b.addParam(s, true), out = b.addParam(s, false);
      V low = b.load(x, b.index(0), lanes), high = b.load(x, b.index(lanes), lanes);
      std::vector<uint8_t> xs(2 * static_cast<size_t>(bytes)), want;
      for (size_t i = 0; i < xs.size(); ++i) xs[i] = static_cast<uint8_t>(i);
      int64_t at = 0;
      for (const std::vector<int16_t>& list : blockLists(lanes, 16 / size)) {
        b.store(out, b.index(at), b.shuffle(low, high, list));
        at += lanes;
        for (int16_t lane : list)
          want.insert(want.end(), &xs[static_cast<size_t>(lane * size)],
                      &xs[static_cast<size_t>(lane * size)] + size);
      }
      onTargets(kernel, [&](const MachineCode& code) {
        std::vector<uint8_t> outs(want.size());
        code({xs.data(), outs.data()});
        EXPECT_EQ(outs, want) << kernel.name;
      });
    }
}

TEST(Lanes, PickedOutOfMore) {
  for (Scalar s : {Scalar::i1, Scalar::i8, Scalar::i16, Scalar::i32, Scalar::f64})
    for (int from : {4, 16, 64})
      for (int to = 2; to < from; to *= 2) {
        Kernel kernel{.name = cat("picked_", kernel::scalarName(s), from, "_", to)};
        Builder b(kernel);
        auto x = b.addParam(s, true), out = b.addParam(s, false);
        std::vector<int16_t> order, part;
        for (int i = 0; i < to; ++i) {
          order.push_back(static_cast<int16_t>((i * 7 + 3) % (2 * from)));
          part.push_back(static_cast<int16_t>(from - to + i));
        }
        V low = b.load(x, b.index(0), from), high = b.load(x, b.index(from), from);
        b.store(out, b.index(0), b.shuffle(low, high, order));
        b.store(out, b.index(to), b.shuffle(low, high, part));
        const auto size = static_cast<size_t>(kernel::byteSize(s));
        std::vector<uint8_t> xs(2 * from * size), want;
        for (size_t i = 0; i < xs.size(); ++i)
          xs[i] = static_cast<uint8_t>(s == Scalar::i1 ? i * i % 3 % 2 : i * 37 + i / 7);
        for (const auto& lanes : {order, part})
          for (int16_t lane : lanes)
            want.insert(want.end(), &xs[lane * size], &xs[lane * size] + size);
        onTargets(kernel, [&](const MachineCode& code) {
          std::vector<uint8_t> outs(want.size());
          code({xs.data(), outs.data()});
          EXPECT_EQ(outs, want) << kernel.name;
        });
      }
}

TEST(Lanes, ConstantsOfEveryScalar) {
  constexpr Scalar kScalars[] = {Scalar::i1,  Scalar::i8,   Scalar::i16, Scalar::i32, Scalar::i64,
                                 Scalar::f16, Scalar::bf16, Scalar::f32, Scalar::f64};
  for (Scalar s : kScalars) {
    Kernel kernel{.name = cat("constant_", kernel::scalarName(s))};
    Builder b(kernel);
    auto out = b.addParam(s, false);
    constexpr uint64_t kBits = 0x7fe1234589abcd01;
    b.store(out, b.index(0), b.constant({s, 8}, kBits));
    b.store(out, b.index(8), b.constant({s, 1}, kBits));
    size_t bytes = static_cast<size_t>(kernel::byteSize(s));
    onTargets(kernel, [&](const MachineCode& code) {
      std::vector<uint8_t> outs(9 * bytes, 0xee);
      code({outs.data()});
      uint64_t expected = s == Scalar::i1 ? kBits & 1 : kBits;
      for (size_t i = 0; i < 9; ++i)
        EXPECT_EQ(std::memcmp(outs.data() + i * bytes, &expected, bytes), 0)
            << kernel.name << ' ' << i;
    });
  }
}

TEST(Object, ManyKernelsInOneModule) {
  std::vector<Kernel> kernels(5);
  std::vector<const Kernel*> pointers;
  for (int i = 0; i < 5; ++i) {
    kernels[i].name = cat("k", i);
    Builder b(kernels[i]);
    auto out = b.addParam(Scalar::i64, false);
    b.store(out, b.index(i), b.index(10 + i));
    pointers.push_back(&kernels[i]);
  }
  auto object = compileKernels(pointers, Target::host());
  ASSERT_TRUE(object.ok());
  EXPECT_EQ(object->symbols, (std::vector<std::string>{"k0", "k1", "k2", "k3", "k4"}));
  engine::ObjectBytes objects[] = {object->bytes};
  auto code = engine::LoadedCode::load(objects);
  ASSERT_TRUE(code.ok());
  std::vector<int64_t> outs(5);
  void* params[] = {outs.data()};
  for (auto& name : object->symbols)
    code->function<KernelFunction>(name)(params, 0, 1, nullptr);
  EXPECT_EQ(outs, (std::vector<int64_t>{10, 11, 12, 13, 14}));
}

// Each thread has a code generator of its own; the same kernel gives the same bytes in all.
TEST(Object, ThreadsCompileAtOnce) {
  Kernel kernel{.name = "k"};
  Builder b(kernel);
  auto x = b.addParam(Scalar::f32, true), out = b.addParam(Scalar::f32, false);
  b.forLoop(b.taskBegin(), b.taskEnd(), 16, [&](V i) {
    V v = b.load(x, i, 16);
    b.store(out, i, b.fma(v, v, b.number({Scalar::f32, 16}, 0.1)));
  });
  const Kernel* kernels[] = {&kernel};
  auto alone = compileKernels(kernels, Target::host());
  ASSERT_TRUE(alone.ok());
  std::vector<std::vector<std::byte>> results(4);
  std::vector<std::thread> threads;
  for (auto& result : results)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        auto object = compileKernels(kernels, i % 2 ? Target::host() : *Target::named("x86-64-v3"));
        if (object.ok() && i % 2) result = std::move(object->bytes);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (auto& result : results) EXPECT_EQ(result, alone->bytes);
}

// What compileKernels refuses to compile leaves the thread's code generator fit for the next one.
TEST(Object, VerifierSpeaksFirst) {
  Kernel bad{.name = "bad"}, good{.name = "good"};
  Builder b(bad), c(good);
  b.store(b.addParam(Scalar::f32, true), b.index(0), b.number({Scalar::f32, 1}, 1.0));
  c.store(c.addParam(Scalar::f32, false), c.index(0), c.number({Scalar::f32, 1}, 1.0));
  const Kernel* kernels[] = {&good, &bad};
  auto object = compileKernels(kernels, Target::host(), {.verify = true});
  ASSERT_FALSE(object.ok());
  EXPECT_NE(object.status().message().find("the buffer is read only"), std::string::npos);
  EXPECT_TRUE(compileKernels({kernels, 1}, Target::host(), {.verify = true}).ok());
}

}  // namespace
}  // namespace tercel::codegen
