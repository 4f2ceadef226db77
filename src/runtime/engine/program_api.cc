// tercel_program.h over LoadedArtifact and Instance.
#include <algorithm>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <new>
#include <string>

#include "program/files.h"
#include "program/tercel_program.h"
#include "runtime/engine/c_interface.h"
#include "runtime/engine/instance.h"

namespace engine = tercel::engine;
namespace program = tercel::program;
using tercel::Code;
using tercel::Status;
using engine::guarded;
using engine::ownCopy;

namespace {

static_assert(TERCEL_PRED == static_cast<int>(tercel::DType::pred));
static_assert(TERCEL_S64 == static_cast<int>(tercel::DType::s64));
static_assert(TERCEL_U64 == static_cast<int>(tercel::DType::u64));
static_assert(TERCEL_F64 == static_cast<int>(tercel::DType::f64));
static_assert(TERCEL_C128 == static_cast<int>(tercel::DType::c128));
static_assert(TERCEL_F8E8M0FNU == static_cast<int>(tercel::DType::f8e8m0fnu));
static_assert(tercel::kDTypeCount == TERCEL_F8E8M0FNU + 1);
static_assert(TERCEL_DATA_LOSS == static_cast<int>(Code::data_loss));
static_assert(sizeof(tercel_buffer) == sizeof(engine::Buffer));

// Fills in the fields that the caller's struct has.
template <class Info>
Status fill(Info* to, Info from) {
  if (!to) return tercel::invalidArgument("no place for the answer");
  TERCEL_TRY(engine::checkSize(*to));
  from.struct_size = to->struct_size;
  std::memcpy(to, &from, std::min(to->struct_size, sizeof(from)));
  return Status();
}

Status missing(const char* what, size_t index, size_t count) {
  return Status(Code::not_found, tercel::cat("no ", what, " ", index, " of ", count));
}

tercel_value_info valueInfo(const char* name, const tercel::Shape& shape) {
  tercel_value_info info = {};
  info.struct_size = sizeof(info);
  info.name = name;
  info.dtype = static_cast<tercel_dtype>(shape.dtype);
  info.rank = static_cast<int32_t>(shape.rank());
  info.dims = shape.dims.data();
  info.bytes = shape.bytes();
  return info;
}

class CustomCallHook final : public engine::CustomCallHandler {
 public:
  explicit CustomCallHook(const tercel_instance_options& options) : options_(options) {}

  Status call(const engine::CustomCall& call) override {
    const Site& site = siteOf(call);
    tercel_custom_call plain = {sizeof(plain),
                                site.target.c_str(),
                                site.configuration.c_str(),
                                call.operands.size(),
                                call.operands.data(),
                                call.operand_bytes.data(),
                                call.results.size(),
                                call.results.data(),
                                call.result_bytes.data(),
                                site.operands.data(),
                                site.results.data()};
    const int code = options_.custom_call(options_.custom_call_data, &plain);
    if (code == TERCEL_OK) return Status();
    const bool is_known = code > 0 && code <= static_cast<int>(Code::unauthenticated);
    return Status(is_known ? static_cast<Code>(code) : Code::unknown,
                  code == TERCEL_UNIMPLEMENTED ? std::string("the host does not serve it")
                                               : tercel::cat("failed with code ", code));
  }

 private:
  // What all calls of one step tell the host.
  struct Site {
    std::string target, configuration;
    std::vector<tercel_value_info> operands, results;
  };

  const Site& siteOf(const engine::CustomCall& call) {
    const auto known = sites_.find(call.site);
    if (known != sites_.end()) return known->second;
    Site site{std::string(call.target), std::string(call.configuration),
              infos(call.signature->operands), infos(call.signature->results)};
    return sites_.emplace(call.site, std::move(site)).first->second;
  }

  static std::vector<tercel_value_info> infos(const std::vector<program::CallValue>& values) {
    std::vector<tercel_value_info> infos;
    for (const program::CallValue& value : values)
      infos.push_back(value.is_token ? tokenInfo() : valueInfo("", value.shape));
    return infos;
  }

  static tercel_value_info tokenInfo() {
    static constexpr int64_t kNone[] = {0};
    return {sizeof(tercel_value_info), "", TERCEL_PRED, 1, kNone};
  }

  const tercel_instance_options options_;
  std::map<const void*, Site> sites_;
};

void runOnHost(void* instance, int64_t tasks, int64_t grain, tercel::kernels::TaskFn fn,
               void* context) {
  struct Work {
    tercel::kernels::TaskFn fn;
    void* context;
    tercel::kernels::Isa isa;
  } work{fn, context, tercel::kernels::chosenIsa()};
  auto run = [](void* given, int64_t begin, int64_t end) {
    const Work& work = *static_cast<Work*>(given);
    const tercel::kernels::IsaScope scope(work.isa);
    work.fn(work.context, begin, end);
  };
  const tercel_instance_options& options = static_cast<tercel_instance*>(instance)->options;
  options.parallel_for(options.parallel_for_data, tasks, grain, run, &work);
}

engine::InstanceOptions optionsOf(tercel_instance& instance) {
  const tercel_instance_options& given = instance.options;
  engine::InstanceOptions options;
  options.num_threads = given.num_threads;
  if (given.parallel_for) options.parallel = {&instance, runOnHost};
  options.arena = given.arena;
  options.arena_bytes = given.arena_bytes;
  if (given.allocate) {
    options.allocator.allocate = [given](size_t bytes, size_t alignment) {
      return given.allocate(given.allocator_data, bytes, alignment);
    };
    options.allocator.release = [given](void* memory) {
      given.release(given.allocator_data, memory);
    };
  }
  if (given.custom_call) options.custom_calls = std::make_unique<CustomCallHook>(given);
  return options;
}

Status load(program::HeldBytes file, const tercel_load_options* options, tercel_program** out) {
  TERCEL_ASSIGN(const tercel_load_options own, ownCopy(options));
  auto made = std::make_unique<tercel_program>();
  TERCEL_ASSIGN(made->loaded,
                engine::LoadedArtifact::load(std::move(file),
                                             own.weights_path ? own.weights_path : ""));
  *out = made.release();
  return Status();
}

// f(artifact).
template <class F>
int ofProgram(const tercel_program* program, F&& f) {
  return guarded([&]() -> Status {
    if (!program) return tercel::invalidArgument("no program");
    return f(program->loaded->artifact());
  });
}

// f(instance).
template <class Instance, class F>
int ofInstance(Instance* instance, F&& f) {
  return guarded([&]() -> Status {
    if (!instance) return tercel::invalidArgument("no instance");
    return f(*instance->instance);
  });
}

Status valueAt(const program::Artifact& artifact, size_t procedure, size_t index, const char* what,
               std::vector<program::NamedValue> program::Procedure::* values,
               tercel_value_info* info) {
  const auto& procedures = artifact.procedures;
  if (procedure >= procedures.size()) return missing("procedure", procedure, procedures.size());
  const auto& list = procedures[procedure].*values;
  if (index >= list.size()) return missing(what, index, list.size());
  return fill(info, valueInfo(list[index].name.c_str(), list[index].shape));
}

}  // namespace

int32_t tercel_api_version(void) { return TERCEL_API_VERSION; }

const char* tercel_error_message(void) {
  const std::string* message = engine::lastError();
  return message ? message->c_str() : "no memory";
}

int tercel_program_load(const void* bytes, size_t size, const tercel_load_options* options,
                        tercel_program** program) {
  return guarded([&]() -> Status {
    if (!program) return tercel::invalidArgument("no place for the program");
    *program = nullptr;
    if (!bytes) return tercel::invalidArgument("no program file");
    const auto* first = static_cast<const std::byte*>(bytes);
    TERCEL_ASSIGN(const tercel_load_options own, ownCopy(options));
    if (own.borrow_bytes) {
      if (reinterpret_cast<uintptr_t>(bytes) % program::kDataAlignment != 0) {
        return tercel::invalidArgument("bytes that are borrowed must be aligned to ",
                                       program::kDataAlignment);
      }
      return load({nullptr, {first, size}}, options, program);
    }
    auto copy = std::make_shared<program::AlignedBytes>(first, first + size);
    return load({copy, *copy}, options, program);
  });
}

int tercel_program_open(const char* path, const tercel_load_options* options,
                        tercel_program** program) {
  return guarded([&]() -> Status {
    if (!program || !path) return tercel::invalidArgument("no path, or no place for the program");
    *program = nullptr;
    TERCEL_ASSIGN(program::HeldBytes file, program::mapFile(path));
    return load(std::move(file), options, program).within(path);
  });
}

void tercel_program_destroy(tercel_program* program) {
  if (program && !program->library) delete program;
}

int tercel_program_describe(const tercel_program* program, tercel_program_info* info) {
  return ofProgram(program, [&](const program::Artifact& artifact) {
    return fill(info, {0, artifact.name.c_str(), program->loaded->target().c_str(),
                       artifact.procedures.size(), artifact.globals.size(),
                       program->loaded->arenaBytes(), program->loaded->globalsBytes(),
                       artifact.tree.c_str(), artifact.num_threads});
  });
}

int tercel_program_global(const tercel_program* program, size_t global, tercel_value_info* info) {
  return ofProgram(program, [&](const program::Artifact& artifact) -> Status {
    const auto& globals = artifact.globals;
    if (global >= globals.size()) return missing("global", global, globals.size());
    tercel_value_info facts = valueInfo(globals[global].name.c_str(), globals[global].shape);
    facts.is_initialized = globals[global].is_initialized;
    facts.is_mutable = globals[global].is_mutable;
    return fill(info, facts);
  });
}

int tercel_program_procedure(const tercel_program* program, size_t procedure,
                             tercel_procedure_info* info) {
  return ofProgram(program, [&](const program::Artifact& artifact) -> Status {
    const auto& procedures = artifact.procedures;
    if (procedure >= procedures.size()) return missing("procedure", procedure, procedures.size());
    const program::Procedure& facts = procedures[procedure];
    return fill(info, {0, facts.name.c_str(), facts.signature.c_str(), facts.tree.c_str(),
                       facts.arguments.size(), facts.results.size()});
  });
}

int tercel_program_argument(const tercel_program* program, size_t procedure, size_t argument,
                            tercel_value_info* info) {
  return ofProgram(program, [&](const program::Artifact& artifact) {
    return valueAt(artifact, procedure, argument, "argument", &program::Procedure::arguments, info);
  });
}

int tercel_program_result(const tercel_program* program, size_t procedure, size_t result,
                          tercel_value_info* info) {
  return ofProgram(program, [&](const program::Artifact& artifact) {
    return valueAt(artifact, procedure, result, "result", &program::Procedure::results, info);
  });
}

int tercel_program_find_procedure(const tercel_program* program, const char* name,
                                  const char* signature, size_t* procedure) {
  return ofProgram(program, [&](const program::Artifact& artifact) -> Status {
    if (!name || !procedure) return tercel::invalidArgument("no name, or no place for the number");
    const auto& procedures = artifact.procedures;
    for (size_t p = 0; p < procedures.size(); ++p) {
      if (procedures[p].name != name) continue;
      if (signature && procedures[p].signature != signature) continue;
      *procedure = p;
      return Status();
    }
    return Status(Code::not_found,
                  tercel::cat("no procedure ", name, signature ? " of signature " : "",
                              signature ? signature : ""));
  });
}

int tercel_program_find_global(const tercel_program* program, const char* name, size_t* global) {
  return ofProgram(program, [&](const program::Artifact& artifact) -> Status {
    if (!name || !global) return tercel::invalidArgument("no name, or no place for the number");
    const auto& globals = artifact.globals;
    for (size_t g = 0; g < globals.size(); ++g) {
      if (globals[g].name != name) continue;
      *global = g;
      return Status();
    }
    return Status(Code::not_found, tercel::cat("no global ", name));
  });
}

int tercel_instance_create(tercel_program* program, const tercel_instance_options* options,
                           tercel_instance** instance) {
  return guarded([&]() -> Status {
    if (!instance) return tercel::invalidArgument("no place for the instance");
    *instance = nullptr;
    if (!program) return tercel::invalidArgument("no program");
    auto made = std::make_unique<tercel_instance>();
    made->library = program->library;
    TERCEL_ASSIGN(made->options, ownCopy(options));
    if (!made->options.allocate != !made->options.release) {
      return tercel::invalidArgument("allocate and release are given both or not at all");
    }
    TERCEL_ASSIGN(made->instance, engine::Instance::create(program->loaded, optionsOf(*made)));
    *instance = made.release();
    return Status();
  });
}

void tercel_instance_destroy(tercel_instance* instance) { delete instance; }

int tercel_instance_call(tercel_instance* instance, size_t procedure,
                         const tercel_buffer* arguments, size_t num_arguments,
                         const tercel_buffer* results, size_t num_results) {
  return ofInstance(instance, [&](engine::Instance& own) {
    return own.call(procedure,
                    {reinterpret_cast<const engine::Buffer*>(arguments), num_arguments},
                    {reinterpret_cast<const engine::Buffer*>(results), num_results});
  });
}

int tercel_instance_get_global(const tercel_instance* instance, size_t global, void* data,
                               size_t bytes) {
  return ofInstance(instance, [&](const engine::Instance& own) {
    return own.getGlobal(global, {data, bytes});
  });
}

int tercel_instance_set_global(tercel_instance* instance, size_t global, const void* data,
                               size_t bytes) {
  return ofInstance(instance, [&](engine::Instance& own) {
    return own.setGlobal(global, {static_cast<const std::byte*>(data), bytes});
  });
}

int tercel_instance_save_state(const tercel_instance* instance, const char* path) {
  return ofInstance(instance, [&](const engine::Instance& own) {
    return path ? own.saveState(path) : tercel::invalidArgument("no path");
  });
}

int tercel_instance_load_state(tercel_instance* instance, const char* path) {
  return ofInstance(instance, [&](engine::Instance& own) {
    return path ? own.loadState(path) : tercel::invalidArgument("no path");
  });
}

const tercel_api* tercel_get_api(void) {
  static constexpr tercel_api kApi = {
      sizeof(tercel_api),
      tercel_api_version,
      tercel_error_message,
      tercel_program_load,
      tercel_program_open,
      tercel_program_destroy,
      tercel_program_describe,
      tercel_program_global,
      tercel_program_procedure,
      tercel_program_argument,
      tercel_program_result,
      tercel_program_find_procedure,
      tercel_program_find_global,
      tercel_instance_create,
      tercel_instance_destroy,
      tercel_instance_call,
      tercel_instance_get_global,
      tercel_instance_set_global,
      tercel_instance_save_state,
      tercel_instance_load_state};
  return &kApi;
}
