// Kernels -> object code through LLVM. No LLVM type leaves this folder.
#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/kernel/kernel.h"
#include "core/architecture.h"
#include "core/status.h"

namespace tercel::codegen {

// The name of the machine that this process runs on.
constexpr std::string_view kNative = "native";

// A machine to compile for.
struct Target {
  Architecture architecture = Architecture::x86_64;
  std::string cpu;       // LLVM's name
  std::string features;  // +avx2,-sse4a,...
  int vector_bytes = 16;
  int vector_registers = 16;
  bool converts_half = false;  // between f16 and f32
  bool has_fma = false;
  bool has_avx2 = false;
  bool has_avx512 = false;  // F, BW, DQ and VL
  bool has_avx512_fp16 = false;
  bool has_level4 = false;      // all of x86-64-v4, for which Selector is written
  bool has_pair_dot = false;    // multiplies and adds pairs of s16 in every vector
  int byte_dot_bytes = 0;       // the widest vector in which it does so with four u8 and s8
  bool has_bf16_dot = false;    // multiplies and adds pairs of bf16 in every vector
  int lookup_bytes = 0;         // of the smallest elements that it finds in a vector by number
  bool has_tiles = false;  // registers of whole matrices: products of bf16 and of bytes (AMX)
  bool slow_subnormals = true;  // arithmetic with them takes a hundred cycles
  bool slow_division = true;    // of 512 bits: 16 cycles
  bool halves_vectors = false;  // computes with those of 512 bits in two halves
  bool slow_gather = false;     // slower than a load of each element
  int64_t l2_bytes = 1 << 20;  // of one core

  static const Target& host();
  // native, aarch64, or LLVM's name of an x86-64 CPU or level, as x86-64-v3; INVALID_ARGUMENT for
  // another.
  static Result<Target> named(std::string_view cpu);
  // FAILED_PRECONDITION where the host lacks something of it.
  Status checkHost() const;
};

struct CodegenOptions {
  int opt_level = 2;    // of LLVM's code generator, 0 to 3
  bool verify = false;  // run the kernel verifier and LLVM's
  // Called with (stage, text): "llvm" and "asm".
  std::function<void(std::string_view, std::string_view)> dump;
};

struct ObjectCode {
  std::vector<std::byte> bytes;      // one relocatable ELF object
  std::vector<std::string> symbols;  // one per kernel, in order
};

// One object for the given kernels, to be loaded beside those of their functions. Thread-safe: each
// call borrows a code generator, of which there are as many as there were calls at once.
Result<ObjectCode> compileKernels(std::span<const kernel::Kernel* const> kernels,
                                  const Target& target, const CodegenOptions& options = {});

// The object of a function of `kernel`; its symbol is its name.
Result<ObjectCode> compileFunction(const kernel::Kernel& kernel, kernel::FunctionId function,
                                   const Target& target, const CodegenOptions& options = {});

// Makes the code generators that `calls` calls at once will borrow: the first call would otherwise
// wait some milliseconds for its own.
void prepare(const Target& target, int calls = 1);

}  // namespace tercel::codegen
