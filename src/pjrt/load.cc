// Compiling, and loading what was compiled onto devices.
#include "pjrt/compile.h"
#include "pjrt/entry.h"
#include "pjrt/executable_facts.h"
#include "runtime/engine/loaded_artifact.h"

namespace tercel::pjrt {
namespace {

Result<std::string_view> codeOf(const PJRT_Program* program) {
  if (!program || program->struct_size < PJRT_Program_STRUCT_SIZE) {
    return invalidArgument("program is null or its struct_size is too small");
  }
  const std::string_view format = textOf(program->format, program->format_size);
  if (format != "mlir") return invalidArgument("Unknown program format '", format, "'.");
  if (!program->code) return invalidArgument("the program's code is null");
  return std::string_view(program->code, program->code_size);
}

Result<runtime::Device*> lookup(const ClientState& client, int64_t id) {
  const bool is_int = id == static_cast<int>(id);
  return client.client->lookupDevice(is_int ? static_cast<int>(id) : -1);
}

Result<std::vector<runtime::Device*>> devicesOf(const ClientState& client,
                                                const CompileOptions& options) {
  std::vector<runtime::Device*> devices;
  if (options.device_assignment) {
    for (const int64_t id : options.device_assignment->device_ids) {
      TERCEL_ASSIGN(runtime::Device * device, lookup(client, id));
      devices.push_back(device);
    }
    return devices;
  }
  const int64_t wanted = options.num_replicas * options.num_partitions;
  const auto& all = client.client->devices();
  if (wanted > static_cast<int64_t>(all.size())) {
    return invalidArgument("the program is for ", wanted, " devices, there are ", all.size());
  }
  if (wanted == 1 && options.device_ordinal >= 0) {
    TERCEL_ASSIGN(runtime::Device * device, lookup(client, options.device_ordinal));
    devices.push_back(device);
    return devices;
  }
  devices.assign(all.begin(), all.begin() + wanted);
  return devices;
}

Result<Compiled> compileFor(const PJRT_Program* program, const CompileOptions& given,
                            const Options& options, std::string_view& code) {
  TERCEL_ASSIGN(code, codeOf(program));
  TERCEL_ASSIGN(const Options own, withOverrides(options, given));
  if (given.num_replicas * given.num_partitions != 1) {
    return unimplemented("programs for several devices (", given.num_replicas, " replicas x ",
                         given.num_partitions, " partitions) are not supported by Tercel yet");
  }
  return compile(code, own);
}

// What an executable's program lives in.
struct Loaded {
  ClientRef client;
  std::shared_ptr<runtime::Executable> executable;
};

PJRT_LoadedExecutable* wrapLoaded(const ClientRef& client,
                                  std::shared_ptr<runtime::Executable> executable,
                                  ExecutableSource source) {
  auto keep = std::make_shared<Loaded>(client, executable);
  std::shared_ptr<const program::Program> program(keep, &executable->program());
  auto facts = std::make_shared<ExecutableFacts>(std::move(program), std::move(source),
                                                 executable->memoryStats());
  auto loaded = std::make_unique<PJRT_LoadedExecutable>(client, executable, std::move(facts));
  int index = 0;
  for (const runtime::Device* device : executable->devices()) {
    loaded->devices.push_back(client->wrap(device));
    loaded->logical_ids.push_back(
        {index / executable->numPartitions(), index % executable->numPartitions()});
    ++index;
  }
  return loaded.release();
}

Result<PJRT_LoadedExecutable*> load(const ClientRef& client, Compiled compiled,
                                    const CompileOptions& options, ExecutableSource source) {
  source.num_replicas = options.num_replicas;
  source.num_partitions = options.num_partitions;
  source.is_native = compiled.is_native;
  runtime::ExecutableOptions to;
  TERCEL_ASSIGN(to.devices, devicesOf(*client, options));
  to.num_replicas = static_cast<int>(options.num_replicas);
  to.num_partitions = static_cast<int>(options.num_partitions);
  to.runner = std::move(compiled.runner);
  TERCEL_ASSIGN(std::shared_ptr<runtime::Executable> executable,
                runtime::Executable::create(client->client.get(), std::move(compiled.program),
                                            std::move(to)));
  return wrapLoaded(client, std::move(executable), std::move(source));
}

}  // namespace

Status Client_Compile(PJRT_Client_Compile_Args& args) {
  const ClientRef& client = args.client->state;
  const std::string_view serialized = textOf(args.compile_options, args.compile_options_size);
  TERCEL_ASSIGN(const CompileOptions options, readCompileOptions(serialized));
  std::string_view code;
  TERCEL_ASSIGN(Compiled compiled,
                compileFor(args.program, options, client->client->options(), code));
  ExecutableSource source{std::string(code), std::string(serialized)};
  TERCEL_ASSIGN(args.executable, load(client, std::move(compiled), options, std::move(source)));
  return {};
}

// Ahead of time, for a topology: without devices to load onto.
Status Compile(PJRT_Compile_Args& args) {
  const std::string_view serialized = textOf(args.compile_options, args.compile_options_size);
  TERCEL_ASSIGN(const CompileOptions given, readCompileOptions(serialized));
  Options options;
  if (args.client) {
    options = args.client->state->client->options();
  } else {
    TERCEL_ASSIGN(options, optionsFromEnvironment());
  }
  std::string_view code;
  TERCEL_ASSIGN(Compiled compiled, compileFor(args.program, given, options, code));
  if (!compiled.is_native) return unimplemented("ahead-of-time compilation for the evaluator");
  ExecutableSource source{std::string(code), std::string(serialized), given.num_replicas,
                          given.num_partitions};
  args.executable = new PJRT_Executable{std::make_shared<ExecutableFacts>(
      std::make_shared<const program::Program>(std::move(compiled.program)), std::move(source),
      std::nullopt)};
  return {};
}

Status Client_Load(PJRT_Client_Load_Args& args) {
  if (!args.executable) return invalidArgument("executable is null");
  const ExecutableFacts& facts = *args.executable->facts;
  std::string_view serialized = textOf(args.compile_options, args.compile_options_size);
  if (serialized.empty()) serialized = facts.source.compile_options;
  TERCEL_ASSIGN(const CompileOptions options, readCompileOptions(serialized));
  TERCEL_ASSIGN(args.loaded_executable,
                load(args.client->state, {*facts.program, nullptr}, options, facts.source));
  return {};
}

Status Executable_DeserializeAndLoad(PJRT_Executable_DeserializeAndLoad_Args& args) {
  using Args = PJRT_Executable_DeserializeAndLoad_Args;
  const std::string_view bytes =
      textOf(args.serialized_executable, args.serialized_executable_size);
  std::string_view serialized;
  if (covers(args, &Args::overridden_serialized_compile_options_size)) {
    serialized = textOf(args.overridden_serialized_compile_options,
                        args.overridden_serialized_compile_options_size);
  }
  TERCEL_ASSIGN(const CompileOptions options, readCompileOptions(serialized));
  TERCEL_ASSIGN(program::Program program,
                engine::readProgram(std::as_bytes(std::span(bytes.data(), bytes.size()))));
  ExecutableSource source{{}, std::string(serialized)};
  TERCEL_ASSIGN(args.loaded_executable, load(args.client->state, {std::move(program), nullptr},
                                             options, std::move(source)));
  return {};
}

}  // namespace tercel::pjrt
