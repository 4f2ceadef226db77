#include "compiler/kernel_store.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "compiler/codegen/codegen.h"
#include "core/log.h"
#include "program/file_header.h"
#include "program/format.h"

namespace tercel::compiler {
namespace {

namespace fs = std::filesystem;

// The file this code came from: another build has another size or time.
const std::string& buildIdentity() {
  static const std::string identity = [] {
    Dl_info info;
    struct stat file = {};
    if (dladdr(reinterpret_cast<const void*>(&buildIdentity), &info)) stat(info.dli_fname, &file);
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

std::vector<std::byte> contentOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) return {};
  std::vector<std::byte> bytes(static_cast<size_t>(in.tellg()));
  in.seekg(0).read(reinterpret_cast<char*>(bytes.data()), static_cast<long>(bytes.size()));
  return in ? bytes : std::vector<std::byte>();
}

// Under another name first: nobody sees half a file.
bool replaceFile(const std::string& path, std::span<const std::byte> bytes) {
  static std::atomic<uint64_t> count{0};
  std::string unfinished = cat(path, '.', getpid(), '.', count.fetch_add(1));
  std::error_code error;
  std::ofstream out(unfinished, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<long>(bytes.size()));
  out.close();
  if (out) fs::rename(unfinished, path, error);
  if (out && !error) return true;
  fs::remove(unfinished, error);
  return false;
}

}  // namespace

KernelStore::KernelStore(std::string folder, codegen::Target target)
    : folder_(std::move(folder)), target_(std::move(target)) {
  std::error_code error;
  fs::create_directories(folder_, error);
}

std::string KernelStore::pathOf(const std::string& key) const {
  std::string whole = cat(target_.cpu, ' ', target_.features, ' ', buildIdentity(), '\n', key);
  char hash[20];
  std::snprintf(hash, sizeof hash, "%016llx",
                static_cast<unsigned long long>(
                    program::hashBytes(std::as_bytes(std::span(whole.data(), whole.size())))));
  return cat(folder_, '/', hash, ".tercel");
}

std::optional<CompiledKernel> KernelStore::find(const std::string& key) const {
  std::vector<std::byte> bytes = contentOf(pathOf(key));
  if (bytes.empty()) return std::nullopt;
  Result<program::Program> stored = program::deserialize(bytes);
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
  static std::atomic<bool> said{false};
  if (replaceFile(pathOf(key), program::serialize(toProgram(key, kernel, target_))) ||
      said.exchange(true)) {
    return;
  }
  TERCEL_LOG(warning, "cannot keep compiled kernels in ", folder_);
}

}  // namespace tercel::compiler
