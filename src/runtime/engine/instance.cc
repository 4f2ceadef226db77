#include "runtime/engine/instance.h"

#include <cstdlib>
#include <cstring>

#include "program/file_header.h"
#include "program/file_io.h"
#include "program/files.h"
#include "runtime/kernels/kept_memory.h"

namespace tercel::engine {
namespace {

constexpr size_t kAlignment = program::kDataAlignment;
constexpr program::FileKind kStateFile{"TERCELST", "state", 2};

bool isAligned(const void* data) { return reinterpret_cast<uintptr_t>(data) % kAlignment == 0; }

size_t bytesOf(const Shape& shape) { return static_cast<size_t>(shape.bytes()); }

Status checkBuffer(const std::string& procedure, const char* role, const program::NamedValue& value,
                   const Buffer& buffer) {
  const size_t bytes = bytesOf(value.shape);
  if (buffer.bytes >= bytes && (buffer.data || bytes == 0)) return Status();
  if (!buffer.data) {
    return invalidArgument(procedure, ": ", role, " ", value.name, " is a null pointer");
  }
  return invalidArgument(procedure, ": ", role, " ", value.name, " is ", toString(value.shape),
                         ", ", bytes, " bytes; the buffer has ", buffer.bytes);
}

Status checkCount(const std::string& procedure, const char* role, size_t wanted,
                  std::span<const Buffer> given) {
  const size_t got = given.data() ? given.size() : 0;
  if (wanted == got) return Status();
  return invalidArgument(procedure, " has ", wanted, " ", role, ", ", got, " were given");
}

// What a state is of: the names and types of the mutable globals, in their order.
std::string stateKey(const program::Artifact& artifact) {
  std::string key = artifact.name;
  for (const program::Global& global : artifact.globals) {
    if (global.is_mutable) key += cat("\n", global.name, " ", toString(global.shape));
  }
  return key;
}

}  // namespace

// A procedure's pointers; those of globals never change. Programs write results with aligned
// stores: one that the caller did not align gets memory of ours, kept for later calls.
struct Instance::Bound {
  const LoadedArtifact::Procedure* loaded = nullptr;
  const program::Procedure* procedure = nullptr;
  LoadedProgram::FramePtr frame;
  std::vector<void*> arguments, results;
  std::vector<void*> stand_ins;  // of results, made when needed
  std::vector<void*> wanted;     // where the stand-ins' content belongs; null: nowhere
};

// One thread at a time.
class Instance::Use {
 public:
  explicit Use(const Instance& instance) : instance_(instance) {
    holds_ = !instance.in_use_.exchange(true, std::memory_order_acquire);
  }
  ~Use() {
    if (holds_) instance_.in_use_.store(false, std::memory_order_release);
  }
  Status status() const {
    if (holds_) return Status();
    return failedPrecondition("another call is using this instance of ",
                              instance_.artifact_->artifact().name);
  }

 private:
  const Instance& instance_;
  bool holds_;
};

Instance::Instance(std::shared_ptr<const LoadedArtifact> artifact, InstanceOptions options)
    : artifact_(std::move(artifact)), options_(std::move(options)) {}

Instance::~Instance() {
  for (void* memory : own_memory_) {
    if (options_.allocator.release) {
      options_.allocator.release(memory);
    } else {
      std::free(memory);
    }
  }
  kernels::releaseKeptMemory();
}

Result<std::unique_ptr<Instance>> Instance::create(std::shared_ptr<const LoadedArtifact> artifact,
                                                   InstanceOptions options) try {
  if (options.num_threads == 0) options.num_threads = artifact->artifact().num_threads;
  TERCEL_TRY(program::checkNumThreads(options.num_threads));
  std::unique_ptr<Instance> instance(new Instance(std::move(artifact), std::move(options)));
  TERCEL_TRY(instance->allocate());
  if (!instance->options_.parallel.pool && instance->options_.num_threads > 1) {
    instance->pool_ = std::make_unique<ThreadPool>(
        instance->options_.num_threads, static_cast<size_t>(instance->artifact_->scratchBytes()));
  }
  return instance;
} catch (const std::bad_alloc&) {
  return resourceExhausted("no memory for an instance");
} catch (const std::exception& exception) {
  return resourceExhausted("cannot start threads: ", exception.what());
}

Result<void*> Instance::newMemory(size_t bytes, const char* what) {
  const size_t rounded = program::alignedSize(std::max<size_t>(bytes, 1));
  own_memory_.reserve(own_memory_.size() + 1);
  void* memory = options_.allocator.allocate ? options_.allocator.allocate(rounded, kAlignment)
                                             : std::aligned_alloc(kAlignment, rounded);
  if (!memory) return resourceExhausted("no memory for ", bytes, " bytes of ", what);
  own_memory_.push_back(memory);
  return memory;
}

Status Instance::allocate() {
  const program::Artifact& artifact = artifact_->artifact();
  const size_t arena_bytes = static_cast<size_t>(artifact_->arenaBytes());
  arena_ = options_.arena;
  if (arena_ && (options_.arena_bytes < arena_bytes || !isAligned(arena_))) {
    return invalidArgument(artifact.name, " needs an arena of ", arena_bytes, " bytes aligned to ",
                           kAlignment, "; the one given has ", options_.arena_bytes,
                           isAligned(arena_) ? "" : " and is not aligned");
  }
  if (!arena_ && arena_bytes > 0) {
    TERCEL_ASSIGN(arena_, newMemory(arena_bytes, "arena"));
  }
  const size_t scratch_bytes = static_cast<size_t>(artifact_->scratchBytes());
  if (scratch_bytes > 0)
    scratch_ = {static_cast<std::byte*>(arena_) + arena_bytes - scratch_bytes, scratch_bytes};
  const size_t globals_bytes = static_cast<size_t>(artifact_->globalsBytes());
  TERCEL_ASSIGN(void* globals, newMemory(globals_bytes, "globals"));
  globals_ = static_cast<std::byte*>(globals);
  std::memset(globals_, 0, globals_bytes);
  for (size_t g = 0; g < artifact.globals.size(); ++g) {
    const program::Global& global = artifact.globals[g];
    if (!global.is_mutable || !global.is_initialized) continue;
    std::memcpy(valueOf(g), artifact.data.bytes.data() + global.offset, bytesOf(global.shape));
  }
  bound_.resize(artifact.procedures.size());
  return Status();
}

std::byte* Instance::valueOf(size_t global) const {
  const program::Artifact& artifact = artifact_->artifact();
  const program::Global& facts = artifact.globals[global];
  if (facts.is_mutable || !facts.is_initialized) return globals_ + artifact_->offsetOf(global);
  return const_cast<std::byte*>(artifact.data.bytes.data()) + facts.offset;
}

std::unique_ptr<Instance::Bound> Instance::newBound(size_t procedure) const {
  auto bound = std::make_unique<Bound>();
  bound->loaded = &artifact_->procedures()[procedure];
  bound->procedure = &artifact_->artifact().procedures[procedure];
  bound->frame = bound->loaded->code->makeFrame();
  for (uint32_t global : bound->procedure->used) bound->arguments.push_back(valueOf(global));
  bound->arguments.resize(bound->arguments.size() + bound->procedure->arguments.size());
  bound->results.resize(bound->procedure->results.size());
  bound->stand_ins.resize(bound->results.size());
  bound->wanted.resize(bound->results.size());
  for (uint32_t global : bound->procedure->stored) bound->results.push_back(valueOf(global));
  return bound;
}

Status Instance::call(size_t procedure, std::span<const Buffer> arguments,
                      std::span<const Buffer> results) try {
  Use use(*this);
  TERCEL_TRY(use.status());
  if (procedure >= bound_.size()) return Status(Code::not_found, cat("no procedure ", procedure));
  if (!bound_[procedure]) bound_[procedure] = newBound(procedure);
  Bound& bound = *bound_[procedure];
  TERCEL_TRY(bind(arguments, results, bound));
  return run(bound);
} catch (const std::bad_alloc&) {
  return resourceExhausted("no memory to call a procedure");
}

Status Instance::bind(std::span<const Buffer> arguments, std::span<const Buffer> results,
                      Bound& bound) {
  const program::Procedure& procedure = *bound.procedure;
  const std::string& name = bound.loaded->full_name;
  TERCEL_TRY(checkCount(name, "arguments", procedure.arguments.size(), arguments));
  TERCEL_TRY(checkCount(name, "results", procedure.results.size(), results));
  for (size_t i = 0; i < arguments.size(); ++i) {
    TERCEL_TRY(checkBuffer(name, "argument", procedure.arguments[i], arguments[i]));
    bound.arguments[procedure.used.size() + i] = arguments[i].data;
  }
  for (size_t i = 0; i < results.size(); ++i) {
    TERCEL_TRY(checkBuffer(name, "result", procedure.results[i], results[i]));
    bound.results[i] = results[i].data;
    bound.wanted[i] = nullptr;
    if (isAligned(results[i].data)) continue;
    if (!bound.stand_ins[i]) {
      TERCEL_ASSIGN(bound.stand_ins[i],
                    newMemory(bytesOf(procedure.results[i].shape), "a result"));
    }
    bound.wanted[i] = results[i].data;
    bound.results[i] = bound.stand_ins[i];
  }
  return Status();
}

Status Instance::run(Bound& bound) {
  Invocation invocation;
  invocation.args = bound.arguments.data();
  invocation.results = bound.results.data();
  invocation.arena = arena_;
  invocation.use(pool_.get());
  if (options_.parallel.pool) invocation.parallel = options_.parallel;
  invocation.custom_calls = options_.custom_calls.get();
  std::optional<ScratchLoan> loan;
  if (!scratch_.empty()) loan.emplace(scratch_.data(), scratch_.size());
  TERCEL_TRY(bound.loaded->code->run(invocation, *bound.frame));
  for (size_t i = 0; i < bound.wanted.size(); ++i) {
    if (!bound.wanted[i]) continue;
    std::memcpy(bound.wanted[i], bound.results[i], bytesOf(bound.procedure->results[i].shape));
  }
  return Status();
}

Status Instance::getGlobal(size_t global, Buffer to) const {
  Use use(*this);
  TERCEL_TRY(use.status());
  const auto& globals = artifact_->artifact().globals;
  if (global >= globals.size()) return Status(Code::not_found, cat("no global ", global));
  TERCEL_TRY(checkBuffer(artifact_->artifact().name, "global",
                         {globals[global].name, globals[global].shape}, to));
  std::memcpy(to.data, valueOf(global), bytesOf(globals[global].shape));
  return Status();
}

Status Instance::setGlobal(size_t global, std::span<const std::byte> from) {
  Use use(*this);
  TERCEL_TRY(use.status());
  const auto& globals = artifact_->artifact().globals;
  if (global >= globals.size()) return Status(Code::not_found, cat("no global ", global));
  const program::Global& facts = globals[global];
  if (!facts.is_mutable) return failedPrecondition("global ", facts.name, " is not mutable");
  const size_t bytes = bytesOf(facts.shape);
  if (from.size() != bytes || (bytes > 0 && !from.data())) {
    return invalidArgument("global ", facts.name, " is ", toString(facts.shape), ", ", bytes,
                           " bytes; ", from.data() ? from.size() : 0, " were given");
  }
  std::memcpy(valueOf(global), from.data(), from.size());
  return Status();
}

Status Instance::saveState(const std::string& path) const try {
  Use use(*this);
  TERCEL_TRY(use.status());
  const program::Artifact& artifact = artifact_->artifact();
  program::Writer writer;
  program::startFile(writer.out);
  writer.text(stateKey(artifact));
  for (size_t g = 0; g < artifact.globals.size(); ++g) {
    if (!artifact.globals[g].is_mutable) continue;
    writer.bytes(std::span(valueOf(g), bytesOf(artifact.globals[g].shape)));
  }
  program::sealFile(writer.out, kStateFile);
  return program::writeFile(path, writer.out);
} catch (const std::bad_alloc&) {
  return resourceExhausted("no memory to save a state");
}

Status Instance::loadState(const std::string& path) try {
  Use use(*this);
  TERCEL_TRY(use.status());
  const program::Artifact& artifact = artifact_->artifact();
  TERCEL_ASSIGN(program::HeldBytes file, program::mapFile(path));
  const auto content = program::openFile(file.bytes, kStateFile);
  if (!content.ok()) return content.status().within(path);
  program::Reader reader(*content);
  std::string key;
  reader.text(key);
  if (key != stateKey(artifact)) {
    return invalidArgument(path, " is a state of another program than ", artifact.name);
  }
  program::Reader values = reader;
  for (const program::Global& global : artifact.globals)
    if (global.is_mutable) reader.view(bytesOf(global.shape));
  if (reader.failed() || reader.remaining() != 0) return invalidArgument(path, " is malformed");
  for (size_t g = 0; g < artifact.globals.size(); ++g) {
    if (!artifact.globals[g].is_mutable) continue;
    const std::span<const std::byte> value = values.view(bytesOf(artifact.globals[g].shape));
    std::memcpy(valueOf(g), value.data(), value.size());
  }
  return Status();
} catch (const std::bad_alloc&) {
  return resourceExhausted("no memory to load a state");
}

}  // namespace tercel::engine
