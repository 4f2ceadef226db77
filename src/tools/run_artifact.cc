#include "tools/run_artifact.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>

#include "compiler/eval/difference.h"
#include "program/aligned_bytes.h"
#include "runtime/engine/instance.h"
#include "tools/program_input.h"

namespace tercel::tools {
namespace {

using engine::Instance;
using engine::LoadedArtifact;
using program::NamedValue;
using Files = std::map<std::string, std::string, std::less<>>;

void printValues(const char* role, const std::vector<NamedValue>& values) {
  for (const NamedValue& value : values) {
    std::printf("    %s %s: %s\n", role, value.name.c_str(), toString(value.shape).c_str());
  }
}

void list(const LoadedArtifact& loaded) {
  const program::Artifact& artifact = loaded.artifact();
  std::printf("%s, compiled for %s; an instance takes %lld bytes of arena and %lld of globals, "
              "and has %d thread%s\n",
              artifact.name.c_str(), loaded.target().c_str(),
              static_cast<long long>(loaded.arenaBytes()),
              static_cast<long long>(loaded.globalsBytes()), artifact.num_threads,
              artifact.num_threads == 1 ? "" : "s");
  for (const program::Global& global : artifact.globals) {
    std::printf("  global %s: %s%s%s\n", global.name.c_str(), toString(global.shape).c_str(),
                global.is_mutable ? ", mutable" : "",
                global.is_initialized ? "" : ", not initialized");
  }
  for (size_t p = 0; p < artifact.procedures.size(); ++p) {
    std::printf("  procedure %s\n", loaded.procedures()[p].full_name.c_str());
    printValues("argument", artifact.procedures[p].arguments);
    printValues("result", artifact.procedures[p].results);
  }
}

Result<Files> filesOf(const std::vector<std::string>& words, const std::vector<NamedValue>& values,
                      const char* role) {
  Files files;
  for (const std::string& word : words) {
    const size_t at = word.find('=');
    if (at == word.npos) return invalidArgument("write NAME=FILE, not ", word);
    const std::string name = word.substr(0, at);
    if (std::ranges::find(values, name, &NamedValue::name) == values.end()) {
      return invalidArgument("the procedure has no ", role, " ", name);
    }
    files[name] = word.substr(at + 1);
  }
  return files;
}

// Arrays of their own, aligned.
struct Arrays {
  void add(const Shape& shape, std::span<const std::byte> bytes) {
    memory.emplace_back(static_cast<size_t>(shape.bytes()));
    std::copy(bytes.begin(), bytes.end(), memory.back().begin());
    buffers.push_back({memory.back().data(), memory.back().size()});
  }
  std::vector<program::AlignedBytes> memory;
  std::vector<engine::Buffer> buffers;
};

Result<Arrays> argumentsOf(const program::Procedure& procedure, const ArtifactRequest& request) {
  TERCEL_ASSIGN(const Files files, filesOf(request.inputs, procedure.arguments, "argument"));
  Arrays arrays;
  for (size_t i = 0; i < procedure.arguments.size(); ++i) {
    const NamedValue& value = procedure.arguments[i];
    ir::Literal array = makeInput(value.shape, static_cast<uint64_t>(request.seed) + i);
    if (const auto at = files.find(value.name); at != files.end()) {
      TERCEL_ASSIGN(array, readInput(at->second, value.shape));
    }
    arrays.add(value.shape, array.expanded().bytes());
  }
  return arrays;
}

Result<size_t> numberOf(const LoadedArtifact& loaded, const std::string& name) {
  for (size_t p = 0; p < loaded.procedures().size(); ++p) {
    if (loaded.procedures()[p].full_name == name) return p;
  }
  std::string all;
  for (const LoadedArtifact::Procedure& procedure : loaded.procedures())
    all += cat(all.empty() ? "" : ", ", procedure.full_name);
  return Status(Code::not_found,
                cat(loaded.artifact().name, " has no procedure ", name, "; it has ", all));
}

Status compareTo(const std::string& path, const NamedValue& value, const ir::Literal& got) {
  TERCEL_ASSIGN(const ir::Literal wanted, readInput(path, value.shape));
  const std::string wrong = eval::difference(got, wanted);
  if (!wrong.empty())
    return failedPrecondition("result ", value.name, " is not that of ", path, ": ", wrong);
  std::printf("%s: agrees with %s\n", value.name.c_str(), path.c_str());
  return Status();
}

Status report(const program::Procedure& procedure, const Arrays& results,
              const ArtifactRequest& request) {
  TERCEL_ASSIGN(const Files files, filesOf(request.expects, procedure.results, "result"));
  Status first;
  for (size_t i = 0; i < procedure.results.size(); ++i) {
    const NamedValue& value = procedure.results[i];
    const ir::Literal got(value.shape, {results.memory[i].begin(), results.memory[i].end()});
    std::printf("%s: %s\n", value.name.c_str(), summary(got).c_str());
    if (const auto at = files.find(value.name); at != files.end()) {
      Status status = compareTo(at->second, value, got);
      if (first.ok()) first = std::move(status);
    }
  }
  return first;
}

Status call(std::shared_ptr<const LoadedArtifact> loaded, const ArtifactRequest& request) {
  TERCEL_ASSIGN(const size_t number, numberOf(*loaded, request.procedure));
  const program::Procedure& procedure = loaded->artifact().procedures[number];
  engine::InstanceOptions options;
  options.num_threads = static_cast<int>(request.threads);
  TERCEL_ASSIGN(const std::unique_ptr<Instance> instance,
                Instance::create(loaded, std::move(options)));
  TERCEL_ASSIGN(const Arrays arguments, argumentsOf(procedure, request));
  Arrays results;
  for (const NamedValue& value : procedure.results) results.add(value.shape, {});
  double least = HUGE_VAL;
  for (int64_t i = 0; i < std::max<int64_t>(1, request.repeat); ++i) {
    const auto begin = std::chrono::steady_clock::now();
    TERCEL_TRY(instance->call(number, arguments.buffers, results.buffers));
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    least = std::min(least, took.count());
  }
  std::printf("%s: %.2f us, the least of %lld calls\n", request.procedure.c_str(), least,
              static_cast<long long>(std::max<int64_t>(1, request.repeat)));
  return report(procedure, results, request);
}

}  // namespace

Status runArtifact(std::span<const std::byte> file, const ArtifactRequest& request) {
  auto copy = std::make_shared<program::AlignedBytes>(file.begin(), file.end());
  TERCEL_ASSIGN(auto loaded, LoadedArtifact::load({copy, *copy}, request.weights));
  if (!request.procedure.empty()) return call(std::move(loaded), request);
  list(*loaded);
  return Status();
}

}  // namespace tercel::tools
