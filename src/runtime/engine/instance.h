// An instance of an artifact: its own values of the globals, on which procedures are called.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/engine/loaded_artifact.h"
#include "runtime/engine/thread_pool.h"

namespace tercel::engine {

struct Allocator {
  std::function<void*(size_t bytes, size_t alignment)> allocate;  // empty: malloc's
  std::function<void(void*)> release;
};

struct InstanceOptions {
  int num_threads = 0;          // the caller's included; 0: what the artifact says
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
  // What is cold is compiled for size.
  [[gnu::cold]] static Result<std::unique_ptr<Instance>> create(
      std::shared_ptr<const LoadedArtifact> artifact, InstanceOptions options);
  [[gnu::cold]] ~Instance();

  const LoadedArtifact& artifact() const { return *artifact_; }

  // FAILED_PRECONDITION while another thread is in any of these. Allocates nothing but in the
  // first call of a procedure and of a thread.
  Status call(size_t procedure, std::span<const Buffer> arguments, std::span<const Buffer> results);
  [[gnu::cold]] Status getGlobal(size_t global, Buffer to) const;
  [[gnu::cold]] Status setGlobal(size_t global, std::span<const std::byte> from);
  [[gnu::cold]] Status saveState(const std::string& path) const;
  [[gnu::cold]] Status loadState(const std::string& path);

 private:
  struct Bound;
  class Use;

  [[gnu::cold]] Instance(std::shared_ptr<const LoadedArtifact> artifact, InstanceOptions options);
  [[gnu::cold]] Status allocate();
  [[gnu::cold]] Result<void*> newMemory(size_t bytes, const char* what);
  [[gnu::cold]] std::unique_ptr<Bound> newBound(size_t procedure) const;
  Status bind(std::span<const Buffer> arguments, std::span<const Buffer> results, Bound& bound);
  std::byte* valueOf(size_t global) const;
  Status run(Bound& bound);

  std::shared_ptr<const LoadedArtifact> artifact_;
  InstanceOptions options_;
  std::unique_ptr<ThreadPool> pool_;
  void* arena_ = nullptr;
  std::span<std::byte> scratch_;  // the arena's last: of whoever calls
  std::byte* globals_ = nullptr;
  std::vector<void*> own_memory_;
  std::vector<std::unique_ptr<Bound>> bound_;
  mutable std::atomic<bool> in_use_{false};
};

}  // namespace tercel::engine
