// An Artifact with the code for this machine's CPU in memory, and its instances: the values of its
// globals, on which procedures are called.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "program/artifact.h"
#include "runtime/engine/loaded_program.h"
#include "runtime/engine/thread_pool.h"

namespace tercel::engine {

class LoadedArtifact {
 public:
  // Takes the first target whose instruction sets this CPU has; FAILED_PRECONDITION where none is.
  // `file`: of an Artifact or of a Program, which becomes an artifact with the procedure `main` and
  // no globals. weights_path: of the side file of an artifact that has one.
  static Result<std::shared_ptr<const LoadedArtifact>> load(program::HeldBytes file,
                                                            const std::string& weights_path);

  struct Procedure {
    std::string full_name;  // with its signature, for messages
    std::shared_ptr<LoadedProgram> code;
  };

  const program::Artifact& artifact() const { return artifact_; }
  const std::string& target() const { return artifact_.targets[target_]; }
  const std::vector<Procedure>& procedures() const { return procedures_; }
  // Of an instance: working memory, and the values of the mutable globals.
  int64_t arenaBytes() const { return arena_bytes_; }
  int64_t globalsBytes() const { return globals_bytes_; }
  // Of a mutable global, in an instance's values.
  int64_t offsetOf(size_t global) const { return offsets_[global]; }

 private:
  Status readProgram(program::HeldBytes file);
  Status readData(const std::string& weights_path);
  Status loadCode();
  Status loadProcedures(size_t target);
  Status checkInterface(const program::Procedure& procedure, const program::Program& code) const;
  void placeGlobals();

  program::Artifact artifact_;
  size_t target_ = 0;
  std::vector<Procedure> procedures_;
  std::vector<int64_t> offsets_;
  int64_t arena_bytes_ = 0;
  int64_t globals_bytes_ = 0;
};

// A Program file's program; of an artifact's file that of its only procedure, for this CPU.
Result<program::Program> readProgram(std::span<const std::byte> file);

struct Allocator {
  std::function<void*(size_t bytes, size_t alignment)> allocate;  // empty: malloc's
  std::function<void(void*)> release;
};

struct InstanceOptions {
  int num_threads = 1;          // the caller's included
  kernels::Parallel parallel;   // in place of threads of our own
  void* arena = nullptr;        // stays the caller's
  size_t arena_bytes = 0;
  Allocator allocator;
  std::unique_ptr<CustomCallHandler> custom_calls;
};

struct Buffer {
  void* data = nullptr;
  size_t bytes = 0;
};

class Instance {
 public:
  static Result<std::unique_ptr<Instance>> create(std::shared_ptr<const LoadedArtifact> artifact,
                                                  InstanceOptions options);
  ~Instance();

  const LoadedArtifact& artifact() const { return *artifact_; }

  // FAILED_PRECONDITION while another thread is in any of these. Allocates nothing but in the
  // first call of a procedure and of a thread.
  Status call(size_t procedure, std::span<const Buffer> arguments, std::span<const Buffer> results);
  Status getGlobal(size_t global, Buffer to) const;
  Status setGlobal(size_t global, std::span<const std::byte> from);
  Status saveState(const std::string& path) const;
  Status loadState(const std::string& path);

 private:
  struct Bound;
  class Use;

  Instance(std::shared_ptr<const LoadedArtifact> artifact, InstanceOptions options);
  Status allocate();
  Result<void*> newMemory(size_t bytes, const char* what);
  Status bind(size_t procedure, std::span<const Buffer> arguments,
              std::span<const Buffer> results, Bound& bound);
  std::byte* valueOf(size_t global) const;
  Status run(Bound& bound);

  std::shared_ptr<const LoadedArtifact> artifact_;
  InstanceOptions options_;
  std::unique_ptr<ThreadPool> pool_;
  void* arena_ = nullptr;
  std::byte* globals_ = nullptr;
  std::vector<void*> own_memory_;
  std::vector<std::unique_ptr<Bound>> bound_;
  mutable std::atomic<bool> in_use_{false};
};

}  // namespace tercel::engine
