// Every pure instruction, for each scalar and several lane counts, on each target.
#include <bit>
#include <numeric>
#include <random>

#include "machine_code.h"
#include "reference.h"

namespace tercel::codegen {
namespace {

using kernel::Builder;
using kernel::Kernel;
using kernel::Opcode;
using kernel::Scalar;
using kernel::Type;
using kernel::V;

constexpr int kElements = 64;
constexpr int kLanes[] = {1, 2, 4, 8, 16, 32, 64};

struct Case {
  Opcode op;
  Scalar from, to;
  int64_t imm = 0;
};

int arity(const Case& c) { return kernel::opcodeOperands(c.op); }

uint64_t readBits(const std::vector<std::byte>& bytes, Scalar s, size_t i) {
  uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + i * kernel::byteSize(s), kernel::byteSize(s));
  return bits;
}

void writeBits(std::vector<std::byte>& bytes, Scalar s, size_t i, uint64_t bits) {
  std::memcpy(bytes.data() + i * kernel::byteSize(s), &bits, kernel::byteSize(s));
}

uint64_t interesting(Scalar s, std::mt19937_64& random) {
  static const double kNumbers[] = {0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.5, INFINITY, -INFINITY, NAN,
                                    1e-40, -1e-42, 6.1e-5, 5.9e-8, 65504, 65520, 3.4e38, -1e39,
                                    1e-310, 1e308, 8388609.0, 2.9802322387695312e-08};
  uint64_t bits = random();
  int width = kernel::bitWidth(s);
  uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  if (!kernel::isFloat(s)) {
    static const uint64_t kEdges[] = {0, 1, ~uint64_t{0}, 2, 0x8000800080008000,
                                      0x8080808080808080, 0x7f7f7f7f7f7f7f7f};
    if (random() % 4 == 0) bits = kEdges[random() % std::size(kEdges)];
    if (random() % 8 == 0) bits = (uint64_t{1} << (width - 1)) - random() % 2;
    return bits & mask;
  }
  if (random() % 3 == 0) return bits & mask;
  double number = random() % 2 ? kNumbers[random() % std::size(kNumbers)]
                               : std::ldexp(static_cast<double>(static_cast<int64_t>(bits)),
                                            static_cast<int>(random() % 40) - 80);
  switch (s) {
    case Scalar::f16: return doubleToHalf(number);
    case Scalar::bf16: return doubleToBFloat16(number);
    case Scalar::f32: return std::bit_cast<uint32_t>(static_cast<float>(number));
    default: return std::bit_cast<uint64_t>(number);
  }
}

// Inputs within what the instruction allows.
void makeDefined(const Case& c, std::span<uint64_t> operands) {
  int width = kernel::bitWidth(c.from);
  switch (c.op) {
    case Opcode::shl: case Opcode::lshr: case Opcode::ashr: operands[1] %= width; break;
    case Opcode::sdiv: case Opcode::srem: case Opcode::udiv: case Opcode::urem: {
      uint64_t minus_one = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
      bool is_signed = c.op == Opcode::sdiv || c.op == Opcode::srem;
      if (operands[1] == 0 || (is_signed && operands[1] == minus_one)) operands[1] = 3;
      break;
    }
    case Opcode::scalb: {
      int64_t range = c.from == Scalar::f32 ? 250 : 2000;
      int64_t any = static_cast<int64_t>(operands[1] % 100003);
      auto exponent = static_cast<double>(any % (2 * range + 1) - range);
      operands[1] = c.from == Scalar::f32 ? std::bit_cast<uint32_t>(static_cast<float>(exponent))
                                          : std::bit_cast<uint64_t>(exponent);
      break;
    }
    case Opcode::fptosi: case Opcode::fptoui: {
      int bits = kernel::bitWidth(c.to) - 1 - (c.op == Opcode::fptosi ? 1 : 0);
      double limit = std::ldexp(1.0, bits);
      double v = c.from == Scalar::f32
                     ? std::bit_cast<float>(static_cast<uint32_t>(operands[0]))
                     : std::bit_cast<double>(operands[0]);
      v = std::isfinite(v) ? std::fmod(v, limit) : 1.75;
      if (c.op == Opcode::fptoui) v = std::fabs(v);
      operands[0] = c.from == Scalar::f32 ? std::bit_cast<uint32_t>(static_cast<float>(v))
                                          : std::bit_cast<uint64_t>(v);
      break;
    }
    default: break;
  }
}

std::string nameOf(const Case& c) {
  return cat(kernel::opcodeName(c.op), '_', kernel::scalarName(c.from), '_',
             kernel::scalarName(c.to), '_', c.imm);
}

Kernel makeKernel(const Case& c) {
  Kernel kernel{.name = nameOf(c)};
  Builder b(kernel);
  std::vector<kernel::BufferId> inputs;
  for (int i = 0; i < arity(c); ++i) inputs.push_back(b.addParam(c.from, true));
  for (int lanes : kLanes) {
    auto out = b.addParam(c.to, false);
    b.forLoop(b.taskBegin(), b.taskEnd(), lanes, [&](V i) {
      V v[3];
      for (size_t k = 0; k < inputs.size(); ++k) v[k] = b.load(inputs[k], i, lanes);
      Type type{c.to, static_cast<uint16_t>(lanes)};
      V result = inputs.size() == 1   ? b.pure(c.op, type, {v[0]}, c.imm)
                 : inputs.size() == 2 ? b.pure(c.op, type, {v[0], v[1]}, c.imm)
                                      : b.pure(c.op, type, {v[0], v[1], v[2]}, c.imm);
      b.store(out, i, result);
    });
  }
  return kernel;
}

struct Data {
  std::vector<std::vector<std::byte>> inputs, outputs;
  std::vector<uint64_t> expected;
  std::vector<void*> params;

  Data(const Case& c, uint64_t seed) {
    std::mt19937_64 random(seed);
    inputs.assign(arity(c), std::vector<std::byte>(kElements * kernel::byteSize(c.from)));
    outputs.assign(std::size(kLanes), std::vector<std::byte>(kElements * kernel::byteSize(c.to)));
    for (size_t i = 0; i < kElements; ++i) {
      std::vector<uint64_t> operands(arity(c));
      for (uint64_t& operand : operands) operand = interesting(c.from, random);
      if (arity(c) > 1 && random() % 6 == 0) operands[1] = operands[0];
      makeDefined(c, operands);
      for (size_t k = 0; k < operands.size(); ++k) writeBits(inputs[k], c.from, i, operands[k]);
      expected.push_back(reference(c.op, c.imm, c.from, c.to, operands));
    }
    for (auto* side : {&inputs, &outputs})
      for (auto& bytes : *side) params.push_back(bytes.data());
  }
};

void expectResults(const Case& c, Data& data, const std::string& cpu) {
  bool exact = c.op == Opcode::fneg || c.op == Opcode::fabs || c.op == Opcode::bitcast;
  for (size_t l = 0; l < std::size(kLanes); ++l)
    for (size_t i = 0; i < kElements; ++i) {
      uint64_t got = readBits(data.outputs[l], c.to, i);
      if (got == data.expected[i]) continue;
      if (!exact && isNan(got, c.to) && isNan(data.expected[i], c.to)) continue;
      std::string inputs;
      for (auto& bytes : data.inputs) inputs += cat(readBits(bytes, c.from, i), ' ');
      ADD_FAILURE() << cpu << ' ' << nameOf(c) << " lanes " << kLanes[l] << " element " << i
                    << ": of " << inputs << "got " << got << ", not " << data.expected[i];
      return;
    }
}

// All cases in one object, so that loading is tested with many kernels too.
void runOn(const Target& target, const std::vector<Case>& cases) {
  std::vector<Kernel> kernels;
  for (const Case& c : cases) kernels.push_back(makeKernel(c));
  std::vector<const Kernel*> compiled;
  for (const Kernel& kernel : kernels) compiled.push_back(&kernel);
  Result<ObjectCode> object = compileKernels(compiled, target, {.verify = true});
  ASSERT_TRUE(object.ok()) << object.status().message();
  // tests/python/test_aot_aarch64.py runs it.
  if (target.architecture == Architecture::aarch64) return;
  engine::ObjectBytes objects[] = {object->bytes};
  auto code = engine::LoadedCode::load(objects);
  ASSERT_TRUE(code.ok()) << target.cpu << ": " << code.status().message();
  if (!runsHere(target)) return;
  for (size_t i = 0; i < cases.size(); ++i) {
    auto* entry = code->function<KernelFunction>(kernels[i].name);
    if (!entry) continue;
    for (uint64_t seed = 0; seed < 4; ++seed) {
      Data data(cases[i], seed + 17 * i);
      entry(data.params.data(), 0, kElements, nullptr);
      expectResults(cases[i], data, target.cpu);
    }
  }
}

void run(const std::vector<Case>& cases) {
  runOn(*Target::named("aarch64"), cases);
  for (const Target& target : testTargets()) runOn(target, cases);
}

constexpr Scalar kIntegers[] = {Scalar::i8, Scalar::i16, Scalar::i32, Scalar::i64};
constexpr Scalar kNumbers[] = {Scalar::f32, Scalar::f64};

TEST(Pure, IntegerArithmetic) {
  std::vector<Case> cases;
  for (Scalar s : kIntegers)
    for (auto op = Opcode::iadd; op <= Opcode::popcnt; op = Opcode(int(op) + 1))
      cases.push_back({op, s, s});
  for (Opcode op : {Opcode::and_, Opcode::or_, Opcode::xor_})
    cases.push_back({op, Scalar::i1, Scalar::i1});
  run(cases);
}

TEST(Pure, DotsOfParts) {
  run({{Opcode::dot_s16, Scalar::i32, Scalar::i32}, {Opcode::dot_u8s8, Scalar::i32, Scalar::i32}});
}

// The first part of an integer is its lowest.
TEST(Pure, IntegersAreJoinedAndParted) {
  Kernel kernel{.name = "bitcast"};
  Builder build(kernel);
  auto bytes = build.addParam(Scalar::i8, true);
  auto words = build.addParam(Scalar::i32, false), halves = build.addParam(Scalar::i16, false);
  V joined = build.bitcast(build.load(bytes, build.index(0), 16), {Scalar::i32, 4});
  build.store(words, build.index(0), joined);
  V one = build.extract(joined, 1);
  build.store(halves, build.index(0), build.bitcast(one, {Scalar::i16, 2}));
  std::vector<uint8_t> in(16);
  std::iota(in.begin(), in.end(), uint8_t{0x81});
  for (const Target& target : testTargets()) {
    MachineCode code = compile(kernel, target);
    if (!code.entry || !runsHere(target)) continue;
    std::vector<uint32_t> out(4);
    std::vector<uint16_t> parts(2);
    code({in.data(), out.data(), parts.data()});
    EXPECT_EQ(out, (std::vector<uint32_t>{0x84838281, 0x88878685, 0x8c8b8a89, 0x908f8e8d}));
    EXPECT_EQ(parts, (std::vector<uint16_t>{0x8685, 0x8887}));
  }
}

TEST(Pure, IntegerComparison) {
  std::vector<Case> cases;
  for (Scalar s : kIntegers)
    for (int p = 0; p <= int(kernel::Predicate::uge); ++p)
      cases.push_back({Opcode::icmp, s, Scalar::i1, p});
  run(cases);
}

TEST(Pure, FloatArithmetic) {
  std::vector<Case> cases;
  for (Scalar s : kNumbers)
    for (auto op = Opcode::fadd; op <= Opcode::round_even; op = Opcode(int(op) + 1))
      if (op != Opcode::fmuladd) cases.push_back({op, s, s});
  for (Scalar s : {Scalar::f16, Scalar::bf16})
    for (Opcode op : {Opcode::fneg, Opcode::fabs}) cases.push_back({op, s, s});
  run(cases);
}

// Only kernels for a machine that has it hold any.
TEST(Pure, HalfArithmetic) {
  if (!Target::host().has_avx512_fp16) GTEST_SKIP() << "this CPU has no AVX512-FP16";
  std::vector<Case> cases;
  for (Opcode op : {Opcode::fadd, Opcode::fsub, Opcode::fmul, Opcode::fdiv})
    cases.push_back({op, Scalar::f16, Scalar::f16});
  for (int p = int(kernel::Predicate::oeq); p <= int(kernel::Predicate::fuge); ++p)
    cases.push_back({Opcode::fcmp, Scalar::f16, Scalar::i1, p});
  runOn(Target::host(), cases);
}

// Where a product and a sum would round twice: sums that cancel, ties, subnormal results.
TEST(Pure, FmaOfDoublesRoundsOnce) {
  constexpr int kCount = 1 << 16;
  std::mt19937_64 random(5);
  auto number = [&](int exponent) {
    uint64_t mantissa = random() & (random() % 2 ? ~uint64_t{0} : random() % 2 ? 0xffull << 44 : 3);
    double m = std::bit_cast<double>(0x3ff0000000000000 | mantissa >> 12 | random() << 63);
    return std::ldexp(m, exponent);
  };
  auto between = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<uint64_t>(high - low + 1));
  };
  std::vector<double> a, b, c, out(kCount);
  while (a.size() < kCount) {
    int sum = random() % 2 ? between(-1150, -1000) : between(-1074, 1030);
    int first = between(std::max(-1073, sum - 1000), std::min(1020, sum + 1050));
    a.push_back(number(first));
    b.push_back(number(std::clamp(sum - first, -1074, 1023)));
    c.push_back(random() % 3 ? number(std::clamp(sum + between(-120, 120), -1074, 1023))
                             : -a.back() * b.back() * (1 + 0x1p-52 * between(-2, 2)));
  }
  Kernel kernel{.name = "fma"};
  Builder build(kernel);
  kernel::BufferId in[3];
  for (kernel::BufferId& buffer : in) buffer = build.addParam(Scalar::f64, true);
  auto results = build.addParam(Scalar::f64, false);
  build.forLoop(build.taskBegin(), build.taskEnd(), 4, [&](V i) {
    build.store(results, i, build.fma(build.load(in[0], i, 4), build.load(in[1], i, 4),
                                      build.load(in[2], i, 4)));
  });
  for (const Target& target : testTargets()) {
    MachineCode code = compile(kernel, target);
    if (!code.entry || !runsHere(target)) continue;
    code({a.data(), b.data(), c.data(), out.data()}, 0, kCount);
    for (int i = 0; i < kCount; ++i) {
      double want = std::fma(a[i], b[i], c[i]);
      ASSERT_EQ(std::bit_cast<uint64_t>(out[i]), std::bit_cast<uint64_t>(want))
          << target.cpu << ": " << a[i] << " * " << b[i] << " + " << c[i];
    }
  }
}

TEST(Pure, MultiplyAddIsFusedWhereTheMachineDoes) {
  Kernel kernel{.name = "fmuladd"};
  Builder build(kernel);
  auto x = build.addParam(Scalar::f32, true), result = build.addParam(Scalar::f32, false);
  build.forLoop(build.taskBegin(), build.taskEnd(), 8, [&](V i) {
    V v = build.load(x, i, 8);
    build.store(result, i, build.fmuladd(v, v, build.number({Scalar::f32, 8}, -1 - 0x1p-11)));
  });
  std::vector<float> in(8, 1 + 0x1p-12f), out(8);
  for (const Target& target : testTargets()) {
    MachineCode code = compile(kernel, target);
    if (!code.entry || !runsHere(target)) continue;
    code({in.data(), out.data()}, 0, 8);
    EXPECT_EQ(out, std::vector<float>(8, target.has_fma ? 0x1p-24f : 0)) << target.cpu;
  }
}

TEST(Pure, FloatComparison) {
  std::vector<Case> cases;
  for (Scalar s : kNumbers)
    for (int p = int(kernel::Predicate::oeq); p <= int(kernel::Predicate::fuge); ++p)
      cases.push_back({Opcode::fcmp, s, Scalar::i1, p});
  run(cases);
}

TEST(Pure, IntegerConversion) {
  std::vector<Case> cases;
  for (Scalar s : {Scalar::i1, Scalar::i8, Scalar::i16, Scalar::i32, Scalar::i64})
    for (Scalar t : {Scalar::i1, Scalar::i8, Scalar::i16, Scalar::i32, Scalar::i64}) {
      if (s < t) cases.push_back({Opcode::zext, s, t}), cases.push_back({Opcode::sext, s, t});
      if (s > t) cases.push_back({Opcode::itrunc, s, t});
    }
  run(cases);
}

TEST(Pure, FloatConversion) {
  std::vector<Case> cases;
  for (Scalar s : {Scalar::f16, Scalar::bf16}) {
    for (Scalar t : kNumbers)
      cases.push_back({Opcode::fpext, s, t}), cases.push_back({Opcode::fptrunc, t, s});
    cases.push_back({Opcode::bitcast, s, Scalar::i16});
    cases.push_back({Opcode::bitcast, Scalar::i16, s});
  }
  cases.push_back({Opcode::fpext, Scalar::f32, Scalar::f64});
  cases.push_back({Opcode::fptrunc, Scalar::f64, Scalar::f32});
  cases.push_back({Opcode::bitcast, Scalar::f32, Scalar::i32});
  cases.push_back({Opcode::bitcast, Scalar::i64, Scalar::f64});
  run(cases);
}

TEST(Pure, NumberConversion) {
  std::vector<Case> cases;
  for (Scalar f : kNumbers)
    for (Scalar s : {Scalar::i1, Scalar::i8, Scalar::i16, Scalar::i32, Scalar::i64}) {
      cases.push_back({Opcode::sitofp, s, f});
      cases.push_back({Opcode::uitofp, s, f});
      if (s == Scalar::i1) continue;
      cases.push_back({Opcode::fptosi, f, s});
      cases.push_back({Opcode::fptoui, f, s});
    }
  run(cases);
}

}  // namespace
}  // namespace tercel::codegen
