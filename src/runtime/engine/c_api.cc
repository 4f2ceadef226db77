// tercel.h over LoadedProgram.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "core/options.h"
#include "program/format.h"
#include "program/tercel.h"
#include "runtime/engine/loaded_program.h"
#include "runtime/engine/thread_pool.h"

struct tercel_program {
  std::shared_ptr<tercel::engine::LoadedProgram> loaded;
  std::unique_ptr<tercel::engine::ThreadPool> own_pool;
  tercel::engine::ThreadPool* pool = nullptr;
};

namespace {

using tercel::Code;
using tercel::Status;
namespace engine = tercel::engine;
namespace program = tercel::program;

static_assert(TERCEL_PRED == static_cast<int>(tercel::DType::pred));
static_assert(TERCEL_S64 == static_cast<int>(tercel::DType::s64));
static_assert(TERCEL_U64 == static_cast<int>(tercel::DType::u64));
static_assert(TERCEL_F64 == static_cast<int>(tercel::DType::f64));
static_assert(TERCEL_C128 == static_cast<int>(tercel::DType::c128));
static_assert(TERCEL_F8E8M0FNU == static_cast<int>(tercel::DType::f8e8m0fnu));
static_assert(tercel::kDTypeCount == TERCEL_F8E8M0FNU + 1);
static_assert(TERCEL_DATA_LOSS == static_cast<int>(Code::data_loss));

thread_local std::string last_error;

int report(const Status& status) {
  if (!status.ok()) last_error = status.message();
  return static_cast<int>(status.code());
}

// No exception leaves the C interface.
template <class F>
int guarded(F&& f) noexcept {
  try {
    return report(f());
  } catch (const tercel::CheckFailure& failure) {
    return report(Status(Code::internal, failure.message));
  } catch (const std::bad_alloc&) {
    last_error.clear();
    return TERCEL_RESOURCE_EXHAUSTED;
  } catch (const std::exception& exception) {
    return report(Status(Code::internal, exception.what()));
  }
}

// The caller's options, of which an older caller has only the first fields.
template <class Options>
Options ownCopy(const Options* options) {
  Options copy = {};
  if (options) std::memcpy(&copy, options, std::min(options->struct_size, sizeof(copy)));
  return copy;
}

tercel::Result<engine::ThreadPool*> sharedPool() {
  static auto options = tercel::optionsFromEnvironment();
  if (!options.ok()) return options.status();
  static engine::ThreadPool pool(static_cast<int>(options->num_threads));
  return &pool;
}

class CallbackHandler final : public engine::CustomCallHandler {
 public:
  explicit CallbackHandler(const tercel_run_options& options) : options_(options) {}

  Status call(const engine::CustomCall& call) override {
    std::string target(call.target), configuration(call.configuration);
    tercel_custom_call plain = {
        target.c_str(),       configuration.c_str(),     call.operands.size(),
        call.operands.data(), call.operand_bytes.data(), call.results.size(),
        call.results.data(),  call.result_bytes.data()};
    int code = options_.custom_call(options_.user_data, &plain);
    if (code == TERCEL_OK) return Status();
    if (code < 0 || code > static_cast<int>(Code::unauthenticated)) code = TERCEL_UNKNOWN;
    return Status(static_cast<Code>(code), tercel::cat("failed with code ", code));
  }

 private:
  const tercel_run_options& options_;
};

struct Free {
  void operator()(void* data) const { std::free(data); }
};

// Programs write their results with aligned stores: a result that is not gets its own memory for
// the run.
class AlignedResults {
 public:
  Status init(const program::Program& program, void* const* results) {
    for (size_t i = 0; i < program.results.size(); ++i) {
      pointers_.push_back(results[i]);
      size_t bytes = static_cast<size_t>(program.results[i].shape.bytes());
      if (reinterpret_cast<uintptr_t>(results[i]) % TERCEL_ALIGNMENT == 0 || bytes == 0) continue;
      size_t rounded = (bytes + TERCEL_ALIGNMENT - 1) / TERCEL_ALIGNMENT * TERCEL_ALIGNMENT;
      std::unique_ptr<void, Free> own(std::aligned_alloc(TERCEL_ALIGNMENT, rounded));
      if (!own) return tercel::resourceExhausted("no memory for result ", i);
      pointers_.back() = own.get();
      copies_.push_back({std::move(own), results[i], bytes});
    }
    return Status();
  }
  void* const* pointers() const { return pointers_.data(); }
  void store() const {
    for (const Copy& copy : copies_) std::memcpy(copy.to, copy.from.get(), copy.bytes);
  }

 private:
  struct Copy {
    std::unique_ptr<void, Free> from;
    void* to;
    size_t bytes;
  };
  std::vector<void*> pointers_;
  std::vector<Copy> copies_;
};

tercel_array_type arrayType(const tercel::Shape& shape, int32_t aliased_result) {
  return {static_cast<tercel_dtype>(shape.dtype), static_cast<int32_t>(shape.rank()),
          shape.dims.data(), shape.bytes(), aliased_result};
}

Status load(const void* bytes, size_t size, const tercel_load_options& options,
            std::unique_ptr<tercel_program>& out) {
  auto made = std::make_unique<tercel_program>();
  TERCEL_ASSIGN(program::Program program,
                program::deserialize({static_cast<const std::byte*>(bytes), size}));
  TERCEL_ASSIGN(made->loaded, engine::LoadedProgram::load(std::move(program)));
  if (options.num_threads > 0) {
    made->own_pool = std::make_unique<engine::ThreadPool>(options.num_threads);
    made->pool = made->own_pool.get();
  } else {
    TERCEL_ASSIGN(made->pool, sharedPool());
  }
  out = std::move(made);
  return Status();
}

}  // namespace

int32_t tercel_api_version(void) { return TERCEL_API_VERSION; }

const char* tercel_error_message(void) { return last_error.c_str(); }

int tercel_program_load(const void* bytes, size_t size, const tercel_load_options* options,
                        tercel_program** program) {
  return guarded([&]() -> Status {
    if (!program) return tercel::invalidArgument("no place for the program");
    *program = nullptr;
    if (!bytes) return tercel::invalidArgument("no program file");
    std::unique_ptr<tercel_program> loaded;
    TERCEL_TRY(load(bytes, size, ownCopy(options), loaded));
    *program = loaded.release();
    return Status();
  });
}

void tercel_program_destroy(tercel_program* program) { delete program; }

const char* tercel_program_name(const tercel_program* program) {
  return program->loaded->program().name.c_str();
}

size_t tercel_program_num_arguments(const tercel_program* program) {
  return program->loaded->program().arguments.size();
}

size_t tercel_program_num_results(const tercel_program* program) {
  return program->loaded->program().results.size();
}

int tercel_program_argument(const tercel_program* program, size_t index, tercel_array_type* type) {
  return guarded([&]() -> Status {
    const auto& arguments = program->loaded->program().arguments;
    if (index >= arguments.size()) return tercel::invalidArgument("no argument ", index);
    *type = arrayType(arguments[index].shape, arguments[index].aliased_result);
    return Status();
  });
}

int tercel_program_result(const tercel_program* program, size_t index, tercel_array_type* type) {
  return guarded([&]() -> Status {
    const auto& results = program->loaded->program().results;
    if (index >= results.size()) return tercel::invalidArgument("no result ", index);
    *type = arrayType(results[index].shape, -1);
    return Status();
  });
}

int tercel_program_run(const tercel_program* program, void* const* args, void* const* results,
                       const tercel_run_options* options) {
  return guarded([&]() -> Status {
    tercel_run_options own = ownCopy(options);
    CallbackHandler handler(own);
    AlignedResults aligned;
    TERCEL_TRY(aligned.init(program->loaded->program(), results));
    engine::Invocation invocation;
    invocation.args = args;
    invocation.results = aligned.pointers();
    invocation.pool = program->pool;
    invocation.custom_calls = own.custom_call ? &handler : nullptr;
    TERCEL_TRY(program->loaded->run(invocation));
    aligned.store();
    return Status();
  });
}
