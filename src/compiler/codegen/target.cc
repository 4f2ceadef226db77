#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/X86TargetParser.h>

#include <unistd.h>

#include <algorithm>

#include "compiler/codegen/codegen.h"
#include "core/cpu_features.h"
#include "core/tile_registers.h"

namespace tercel::codegen {
namespace {

template <class Has>
void readX86Features(Target& target, Has has) {
  target.converts_half = has("f16c");
  target.has_fma = has("fma");
  target.has_avx2 = has("avx2");
  // BW implies F, and LLVM's list of a level leaves out what is implied.
  target.has_avx512 = has("avx512bw") && has("avx512dq") && has("avx512vl");
  target.has_level4 = target.has_avx512 && has("avx512cd") && has("bmi2") && has("lzcnt");
  target.has_avx512_fp16 = target.has_avx512 && has("avx512fp16");
  target.has_pair_dot = true;
  bool has_avx512_vnni = target.has_avx512 && has("avx512vnni");
  target.byte_dot_bytes = has_avx512_vnni ? 64 : has("avxvnni") ? 32 : 0;
  target.has_bf16_dot = target.has_avx512 && has("avx512bf16");
  target.lookup_bytes = !target.has_avx512 ? 0 : has("avx512vbmi") ? 1 : 2;
  target.has_tiles =
      target.has_level4 && has("amx-tile") && has("amx-bf16") && has("amx-int8");
  target.vector_bytes = target.has_avx512 ? 64 : target.has_avx2 ? 32 : 16;
  target.vector_registers = target.has_avx512 ? 32 : 16;
  target.slow_gather = target.cpu.starts_with("znver");
  target.halves_vectors = target.cpu == "znver4" && target.has_avx512;
  target.slow_subnormals = target.slow_division = !target.slow_gather;
}

// Armv8.0-A with NEON, which every 64-bit Arm CPU under Linux has.
Target armTarget() {
  return {.architecture = Architecture::aarch64, .cpu = "generic",
          .features = "+fp-armv8,+neon", .vector_bytes = 16, .vector_registers = 32,
          .converts_half = true, .has_fma = true, .slow_subnormals = false,
          .slow_division = false};
}

// With its sign; without what no machine could refuse.
std::string signedName(std::string_view name, bool is_there) {
  return cat(is_there && isCpuFeature(name) ? '+' : '-', name);
}

// In one order: the string keys caches of code.
std::string joined(std::vector<std::string> names) {
  std::ranges::sort(names);
  std::string text;
  for (const std::string& name : names) text += cat(text.empty() ? "" : ",", name);
  return text;
}

Target hostTarget() {
  Target target{.cpu = llvm::sys::getHostCPUName().str()};
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  if (!useTileRegisters())
    for (const char* name : {"amx-tile", "amx-bf16", "amx-int8"}) features[name] = false;
  std::vector<std::string> names;
  for (const auto& feature : features)
    names.push_back(signedName(feature.first(), feature.second));
  target.features = joined(std::move(names));
  readX86Features(target, [&](const char* name) { return features.lookup(name); });
  if (long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE); l2 > 0) target.l2_bytes = l2;
  return target;
}

}  // namespace

const Target& Target::host() {
  // Never destroyed: threads may generate code until the process ends.
  static const Target& host = *new Target(hostTarget());
  return host;
}

Result<Target> Target::named(std::string_view cpu) {
  if (cpu == kNative) return host();
  if (cpu == toString(Architecture::aarch64)) return armTarget();
  Target target{.cpu = std::string(cpu)};
  if (llvm::X86::parseArchX86(target.cpu, /*Only64Bit=*/true) == llvm::X86::CK_None) {
    return invalidArgument("unknown target ", cpu, "; known are native, aarch64, x86-64-v2, "
                           "x86-64-v3, x86-64-v4 and LLVM's names of x86-64 CPUs");
  }
  llvm::SmallVector<llvm::StringRef, 64> features;
  llvm::X86::getFeaturesForCPU(target.cpu, features);
  std::vector<std::string> names;
  for (llvm::StringRef name : features) names.push_back(signedName(name, true));
  target.features = joined(std::move(names));
  readX86Features(target, [&](const char* name) { return llvm::is_contained(features, name); });
  return target;
}

Status Target::checkHost() const {
  if (architecture != host().architecture) {
    return failedPrecondition("this machine is ", toString(host().architecture));
  }
  const std::string lacked = cat(',', host().features, ',');
  for (std::string_view rest = features; !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    if (name.starts_with('+') && lacked.find(cat(",-", name.substr(1), ',')) != lacked.npos)
      return failedPrecondition("this machine lacks ", name.substr(1));
  }
  return Status();
}

}  // namespace tercel::codegen
