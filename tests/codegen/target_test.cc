// What is known of each target, and code for one that is not this machine.
#include <elf.h>

#include <cstring>

#include "machine_code.h"

namespace tercel::codegen {
namespace {

using kernel::Builder;
using kernel::Kernel;
using kernel::Opcode;
using kernel::Scalar;
using kernel::V;

TEST(Target, LevelsOfX86) {
  const Target v2 = *Target::named("x86-64-v2"), v3 = *Target::named("x86-64-v3");
  const Target v4 = *Target::named("x86-64-v4");
  EXPECT_EQ(v2.architecture, Architecture::x86_64);
  EXPECT_EQ(v2.vector_bytes, 16);
  EXPECT_FALSE(v2.has_fma);
  EXPECT_EQ(v3.vector_bytes, 32);
  EXPECT_TRUE(v3.has_fma && v3.converts_half);
  EXPECT_EQ(v4.vector_bytes, 64);
  EXPECT_EQ(v2.vector_registers, 16);
  EXPECT_EQ(v4.vector_registers, 32);
  EXPECT_TRUE(v4.has_avx512);
}

TEST(Target, Arm) {
  const Target arm = *Target::named("aarch64");
  EXPECT_EQ(arm.architecture, Architecture::aarch64);
  EXPECT_EQ(arm.vector_bytes, 16);
  EXPECT_EQ(arm.vector_registers, 32);
  EXPECT_TRUE(arm.has_fma && arm.converts_half);
  EXPECT_FALSE(arm.has_avx2 || arm.has_avx512);
  EXPECT_EQ(arm.features, "+fp-armv8,+neon");
}

TEST(Target, WhatIsSlow) {
  for (const char* cpu : {"x86-64-v2", "x86-64-v4", "skylake-avx512", "sapphirerapids"}) {
    EXPECT_TRUE(Target::named(cpu)->slow_subnormals) << cpu;
    EXPECT_TRUE(Target::named(cpu)->slow_division) << cpu;
  }
  for (const char* cpu : {"znver2", "znver4", "aarch64"}) {
    EXPECT_FALSE(Target::named(cpu)->slow_subnormals) << cpu;
    EXPECT_FALSE(Target::named(cpu)->slow_division) << cpu;
  }
}

TEST(Target, UnknownOnesAreNamed) {
  const Status status = Target::named("aarch32").status();
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_NE(status.message().find("aarch32"), std::string::npos);
  EXPECT_NE(status.message().find("aarch64"), std::string::npos);
}

// Streaming stores, masks, a function: what targets have in ways of their own.
Kernel everything() {
  Kernel kernel{.name = "everything"};
  Builder b(kernel);
  auto x = b.addParam(Scalar::f32, true), out = b.addParam(Scalar::f32, false);
  kernel::Type type{Scalar::f32, 4};
  std::vector<kernel::Type> types = {type, type};
  b.forLoop(b.taskBegin(), b.taskEnd(), 4, [&](V i) {
    V v = b.load(x, i, 4);
    V large = b.any(b.compare(Opcode::fcmp, kernel::Predicate::ogt, v, b.number(type, 9)));
    auto body = [&](std::span<const V> args) { return b.fadd(args[0], args[1]); };
    std::vector<V> args = {v, v};
    b.store(out, i, b.rarely(large, b.function("twice", types, body), args));
  });
  return kernel;
}

TEST(Target, AnObjectIsOfItsArchitecture) {
  const Kernel kernel = everything();
  const Kernel* kernels[] = {&kernel};
  for (const char* name : {"aarch64", "x86-64-v2"}) {
    const Target target = *Target::named(name);
    auto object = compileKernels(kernels, target, {.verify = true});
    ASSERT_TRUE(object.ok()) << object.status().message();
    auto function = compileFunction(kernel, 0, target, {.verify = true});
    ASSERT_TRUE(function.ok()) << function.status().message();
    Elf64_Ehdr header;
    std::memcpy(&header, object->bytes.data(), sizeof header);
    EXPECT_EQ(header.e_machine,
              target.architecture == Architecture::aarch64 ? EM_AARCH64 : EM_X86_64);
    const engine::ObjectBytes objects[] = {object->bytes, function->bytes};
    const Status loaded = engine::LoadedCode::load(objects).status();
    EXPECT_EQ(loaded.ok(), target.architecture == kHostArchitecture) << loaded.message();
  }
}

}  // namespace
}  // namespace tercel::codegen
