// Builds one kernel, compiles it, loads it and calls it.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "compiler/codegen/codegen.h"
#include "compiler/kernel/builder.h"
#include "runtime/engine/object_loader.h"

namespace tercel::codegen {

using KernelFunction = void(void* const*, int64_t, int64_t, void*);

// The targets that every test of an instruction compiles for; those the machine cannot run are
// compiled only.
inline std::vector<Target> testTargets() {
  return {Target::host(), *Target::named("x86-64-v4"), *Target::named("x86-64-v3"),
          *Target::named("x86-64-v2")};
}

inline bool runsHere(const Target& target) {
  const Target& host = Target::host();
  return host.vector_bytes >= target.vector_bytes && host.has_fma >= target.has_fma;
}

// Whether LLVM selects the kernel's instructions: it writes its own IR down where it does.
inline bool usesLlvm(const kernel::Kernel& kernel, const Target& target) {
  bool has_ir = false;
  CodegenOptions options{.verify = true};
  options.dump = [&](std::string_view stage, std::string_view) { has_ir |= stage == "llvm"; };
  const kernel::Kernel* kernels[] = {&kernel};
  EXPECT_TRUE(compileKernels(kernels, target, options).ok());
  return has_ir;
}

struct MachineCode {
  engine::LoadedCode code;
  KernelFunction* entry = nullptr;
  int64_t scratch_bytes = 0;

  void operator()(std::vector<void*> params, int64_t begin = 0, int64_t end = 1) const {
    void* scratch = std::aligned_alloc(64, static_cast<size_t>(scratch_bytes + 63) / 64 * 64 + 64);
    entry(params.data(), begin, end, scratch);
    std::free(scratch);
  }
};

// The objects of the kernels' functions, one of each name.
inline std::vector<ObjectCode> compileFunctions(std::span<const kernel::Kernel* const> kernels,
                                                const Target& target) {
  std::vector<ObjectCode> objects;
  for (const kernel::Kernel* kernel : kernels)
    for (kernel::FunctionId f = 0; f < kernel->functions.size(); ++f) {
      auto same = [&](const ObjectCode& o) { return o.symbols[0] == kernel->functions[f].name; };
      if (std::ranges::any_of(objects, same)) continue;
      Result<ObjectCode> object = compileFunction(*kernel, f, target, {.verify = true});
      EXPECT_TRUE(object.ok()) << object.status().message();
      if (object.ok()) objects.push_back(std::move(*object));
    }
  return objects;
}

inline MachineCode compile(const kernel::Kernel& kernel, const Target& target = Target::host()) {
  const kernel::Kernel* kernels[] = {&kernel};
  CodegenOptions options{.verify = true};
  if (std::getenv("TERCEL_TEST_DUMP"))
    options.dump = [](std::string_view stage, std::string_view text) {
      std::fprintf(stderr, "--- %.*s\n%.*s", static_cast<int>(stage.size()), stage.data(),
                   static_cast<int>(text.size()), text.data());
    };
  Result<ObjectCode> object = compileKernels(kernels, target, options);
  EXPECT_TRUE(object.ok()) << object.status().message();
  if (!object.ok()) return {};
  std::vector<ObjectCode> functions = compileFunctions(kernels, target);
  std::vector<engine::ObjectBytes> objects = {object->bytes};
  for (const ObjectCode& function : functions) objects.push_back(function.bytes);
  Result<engine::LoadedCode> loaded = engine::LoadedCode::load(objects);
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  if (!loaded.ok()) return {};
  MachineCode result{.code = std::move(*loaded), .scratch_bytes = kernel.scratch_bytes};
  result.entry = result.code.function<KernelFunction>(kernel.name);
  EXPECT_NE(result.entry, nullptr);
  return result;
}

}  // namespace tercel::codegen
