#include "compiler/kernel_store.h"

#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <system_error>

#include "compiler/codegen/codegen.h"
#include "core/log.h"
#include "program/file_header.h"
#include "program/files.h"
#include "program/format.h"

namespace tercel::compiler {
namespace {

// The file this code came from: another build has another size or time. Empty where the file is
// gone.
const std::string& buildIdentity() {
  static const std::string identity = [] {
    const std::string path = program::fileOf(reinterpret_cast<const void*>(&buildIdentity));
    struct stat file;
    if (stat(path.c_str(), &file) != 0) return std::string();
    return cat(file.st_size, '.', file.st_mtim.tv_sec, '.', file.st_mtim.tv_nsec);
  }();
  return identity;
}

program::Program toProgram(const std::string& key, const CompiledKernel& kernel,
                           const codegen::Target& target) {
  program::Program stored;
  stored.name = key;
  stored.architecture = target.architecture;
  stored.target_cpu = target.cpu;
  stored.target_features = target.features;
  stored.objects = {kernel.object};
  stored.kernels = {{kernel.symbol, 0, kernel.scratch_bytes}};
  for (const auto& function : kernel.functions) {
    stored.kernels.push_back({function->symbol, static_cast<uint32_t>(stored.objects.size()), 0});
    stored.objects.push_back(function->object);
  }
  program::Step step;
  step.tasks = kernel.tasks;
  step.cost = kernel.cost;
  stored.sequences = {{step}};
  return stored;
}

void warnOnce(const std::string& folder, std::string_view why) {
  static std::atomic<bool> is_said{false};
  if (!is_said.exchange(true))
    TERCEL_LOG(warning, "cannot keep compiled kernels in ", folder, ": ", why);
}

}  // namespace

std::unique_ptr<KernelStore> KernelStore::open(const std::string& folder,
                                               const codegen::Target& target) {
  if (buildIdentity().empty()) {
    warnOnce(folder, "the library that makes them was moved or removed");
    return nullptr;
  }
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  return std::unique_ptr<KernelStore>(new KernelStore(folder, target));
}

KernelStore::KernelStore(std::string folder, codegen::Target target)
    : folder_(std::move(folder)), target_(std::move(target)) {}

std::string KernelStore::pathOf(const std::string& key) const {
  std::string whole = cat(target_.cpu, ' ', target_.features, ' ', buildIdentity(), '\n', key);
  char hash[20];
  std::snprintf(hash, sizeof hash, "%016llx",
                static_cast<unsigned long long>(
                    program::hashBytes(std::as_bytes(std::span(whole.data(), whole.size())))));
  return cat(folder_, '/', hash, ".tercel");
}

std::optional<CompiledKernel> KernelStore::find(const std::string& key) const {
  const Result<program::HeldBytes> file = program::mapFile(pathOf(key));
  if (!file.ok()) return std::nullopt;
  Result<program::Program> stored = program::deserialize(file->bytes);
  if (!stored.ok() || stored->name != key || stored->kernels.empty() ||
      stored->objects.size() != stored->kernels.size() || stored->sequences[0].size() != 1) {
    return std::nullopt;
  }
  const program::Step& step = stored->sequences[0][0];
  CompiledKernel kernel{.object = std::move(stored->objects[0]),
                        .symbol = stored->kernels[0].symbol,
                        .scratch_bytes = stored->kernels[0].scratch_bytes,
                        .tasks = step.tasks,
                        .cost = step.cost};
  for (size_t i = 1; i < stored->kernels.size(); ++i)
    kernel.functions.push_back(std::make_shared<CompiledFunction>(
        CompiledFunction{stored->kernels[i].symbol, std::move(stored->objects[i])}));
  return kernel;
}

void KernelStore::insert(const std::string& key, const CompiledKernel& kernel) const {
  const Status status =
      program::writeFile(pathOf(key), program::serialize(toProgram(key, kernel, target_)),
                         program::Durability::cached);
  if (!status.ok()) warnOnce(folder_, status.message());
}

}  // namespace tercel::compiler
