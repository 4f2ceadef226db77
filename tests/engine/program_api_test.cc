#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>
#include <vector>

#include "engine/program_maker.h"
#include "program/artifact.h"
#include "program/file_header.h"
#include "program/format.h"
#include "program/tercel_program.h"

extern "C" int tercelTestLoadFromC(const void* bytes, size_t size, char* name, size_t name_size);

namespace {

using tercel::DType;
using tercel::Shape;
using tercel::program::StepKind;
using tercel::program::stored;
using Bytes = std::vector<std::byte>;

const Shape kShape{DType::f32, {2, 3}};

void addCall(tercel::test::ProgramMaker& m, uint32_t a, uint32_t r) {
  auto& step = m.step(0, StepKind::custom_call, {a, r});
  step.values = tercel::program::encode({4, {{kShape}}, {{kShape}}});
  step.name = "negate";
  step.text = "all of it";
}

// r = custom call of (a), without native code.
Bytes callProgram() {
  tercel::test::ProgramMaker m;
  uint32_t a = m.argument(kShape), r = m.result(kShape);
  addCall(m, a, r);
  m.program.name = "c_program";
  m.program.target_cpu = "any";
  return tercel::program::serialize(m.program);
}

constexpr tercel::Architecture kOtherArchitecture =
    tercel::kHostArchitecture == tercel::Architecture::x86_64 ? tercel::Architecture::aarch64
                                                              : tercel::Architecture::x86_64;

// (state, a) -> (r = copy of the state, state = custom call of (a)); state in place.
Bytes storeProgram(tercel::Architecture architecture = tercel::kHostArchitecture) {
  tercel::test::ProgramMaker m;
  uint32_t state = m.argument(kShape, 1), a = m.argument(kShape);
  uint32_t r = m.result(kShape), stored = m.result(kShape);
  m.copy(0, state, r);
  addCall(m, a, stored);
  m.program.architecture = architecture;
  return tercel::program::serialize(m.program);
}

tercel::program::Artifact makeArtifact() {
  tercel::program::Artifact artifact;
  artifact.name = "net";
  artifact.targets = {"monster", "any"};
  auto values = std::make_shared<std::vector<float>>(32, 0.f);
  for (int i = 0; i < 6; ++i) (*values)[i] = 10.f + static_cast<float>(i);
  artifact.data = {values, std::as_bytes(std::span(*values))};
  artifact.data_bytes = artifact.data.bytes.size();
  artifact.data_hash = tercel::program::hashBytes(artifact.data.bytes);
  artifact.globals = {{"params.w", kShape, true, true, 0},
                      {"cache", kShape, true, false, 0},
                      {"fixed", kShape, false, true, 64}};
  tercel::program::Procedure swap;
  swap.name = "swap";
  swap.signature = "batch2";
  swap.used = {0};
  swap.stored = {0};
  swap.arguments = {{"x", kShape}};
  swap.results = {{"old", kShape}};
  swap.codes = {stored(storeProgram(kOtherArchitecture)), stored(storeProgram())};
  artifact.procedures = {swap};
  return artifact;
}

int negate(void* user_data, const tercel_custom_call* call) {
  if (std::strcmp(call->target, "negate") != 0) return TERCEL_UNIMPLEMENTED;
  ++*static_cast<int*>(user_data);
  EXPECT_EQ(call->struct_size, sizeof(*call));
  EXPECT_STREQ(call->configuration, "all of it");
  EXPECT_EQ(call->num_operands, 1u);
  EXPECT_EQ(call->num_results, 1u);
  EXPECT_EQ(call->operand_bytes[0], 24);
  for (int i = 0; i < 6; ++i) {
    static_cast<float*>(call->results[0])[i] = -static_cast<const float*>(call->operands[0])[i];
  }
  return TERCEL_OK;
}

int fail(void*, const tercel_custom_call*) { return 77; }

int checkTokens(void*, const tercel_custom_call* call) {
  const std::pair<const tercel_value_info*, int64_t> tokens[] = {
      {&call->operand_types[1], call->operand_bytes[1]},
      {&call->result_types[0], call->result_bytes[0]}};
  for (const auto& [type, bytes] : tokens) {
    EXPECT_EQ(type->dtype, TERCEL_PRED);
    EXPECT_EQ(type->rank, 1);
    EXPECT_EQ(type->dims[0], 0);
    EXPECT_EQ(type->bytes, 0);
    EXPECT_EQ(bytes, 0);
  }
  EXPECT_EQ(call->operand_types[0].dtype, TERCEL_F32);
  return TERCEL_OK;
}

class Loaded {
 public:
  explicit Loaded(const Bytes& bytes, tercel_instance_options options = {}) {
    if (!options.custom_call) options.custom_call = negate;
    options.custom_call_data = &calls;
    options.struct_size = sizeof(options);
    EXPECT_EQ(tercel_program_load(bytes.data(), bytes.size(), nullptr, &program), TERCEL_OK)
        << tercel_error_message();
    EXPECT_EQ(tercel_instance_create(program, &options, &instance), TERCEL_OK)
        << tercel_error_message();
  }
  ~Loaded() {
    tercel_program_destroy(program);
    tercel_instance_destroy(instance);
  }
  int call(void* argument, void* result) {
    tercel_buffer in = {argument, 24}, out = {result, 24};
    return tercel_instance_call(instance, 0, &in, 1, &out, 1);
  }

  int calls = 0;
  tercel_program* program = nullptr;
  tercel_instance* instance = nullptr;
};

template <class Info>
Info sized() {
  Info info = {};
  info.struct_size = sizeof(info);
  return info;
}

TEST(ProgramApi, APlainProgramHasOneProcedure) {
  EXPECT_EQ(tercel_api_version(), TERCEL_API_VERSION);
  Loaded loaded(callProgram());
  auto info = sized<tercel_program_info>();
  ASSERT_EQ(tercel_program_describe(loaded.program, &info), TERCEL_OK);
  EXPECT_STREQ(info.name, "c_program");
  EXPECT_EQ(info.num_procedures, 1u);
  auto procedure = sized<tercel_procedure_info>();
  ASSERT_EQ(tercel_program_procedure(loaded.program, 0, &procedure), TERCEL_OK);
  EXPECT_STREQ(procedure.name, "main");
  EXPECT_EQ(procedure.num_arguments, 1u);
  EXPECT_EQ(procedure.num_results, 1u);
  auto value = sized<tercel_value_info>();
  ASSERT_EQ(tercel_program_argument(loaded.program, 0, 0, &value), TERCEL_OK);
  EXPECT_EQ(value.dtype, TERCEL_F32);
  EXPECT_EQ(value.rank, 2);
  EXPECT_EQ(value.dims[1], 3);
  EXPECT_EQ(value.bytes, 24);
  EXPECT_EQ(tercel_program_argument(loaded.program, 0, 1, &value), TERCEL_NOT_FOUND);
  EXPECT_EQ(tercel_program_result(loaded.program, 1, 0, &value), TERCEL_NOT_FOUND);
  float a[6] = {1, 2, 3, 4, 5, 6}, r[6] = {};
  ASSERT_EQ(loaded.call(a, r), TERCEL_OK) << tercel_error_message();
  EXPECT_EQ(r[5], -6);
  EXPECT_EQ(loaded.calls, 1);
}

TEST(ProgramApi, AnOlderCallersStructsAreShorter) {
  Loaded loaded(callProgram());
  tercel_program_info info = {};
  info.struct_size = offsetof(tercel_program_info, num_procedures);
  info.num_procedures = 99;
  ASSERT_EQ(tercel_program_describe(loaded.program, &info), TERCEL_OK);
  EXPECT_STREQ(info.name, "c_program");
  EXPECT_EQ(info.num_procedures, 99u);
}

TEST(ProgramApi, StructsWithoutTheirSizeAreErrors) {
  const Bytes bytes = serializeArtifact(makeArtifact());
  Loaded loaded(bytes);
  tercel_program* program = nullptr;
  tercel_instance* instance = nullptr;
  tercel_program_info about = {};
  EXPECT_EQ(tercel_program_describe(loaded.program, &about), TERCEL_INVALID_ARGUMENT);
  EXPECT_STREQ(tercel_error_message(), "struct_size is 0, not the size of the struct");
  tercel_value_info value = {};
  EXPECT_EQ(tercel_program_global(loaded.program, 0, &value), TERCEL_INVALID_ARGUMENT);
  tercel_load_options load = {};
  EXPECT_EQ(tercel_program_load(bytes.data(), bytes.size(), &load, &program),
            TERCEL_INVALID_ARGUMENT);
  EXPECT_EQ(tercel_program_open("/no/such/file", &load, &program), TERCEL_NOT_FOUND);
  tercel_instance_options options = {};
  options.num_threads = 2;
  EXPECT_EQ(tercel_instance_create(loaded.program, &options, &instance), TERCEL_INVALID_ARGUMENT);
}

TEST(ProgramApi, AnAllocatorIsTwoFunctions) {
  Loaded loaded(serializeArtifact(makeArtifact()));
  tercel_instance* instance = nullptr;
  tercel_instance_options options = {};
  options.struct_size = sizeof(options);
  options.allocate = [](void*, size_t, size_t) -> void* { return nullptr; };
  EXPECT_EQ(tercel_instance_create(loaded.program, &options, &instance), TERCEL_INVALID_ARGUMENT);
  options.allocate = nullptr;
  options.release = [](void*, void*) {};
  EXPECT_EQ(tercel_instance_create(loaded.program, &options, &instance), TERCEL_INVALID_ARGUMENT);
  EXPECT_EQ(instance, nullptr);
}

TEST(ProgramApi, CustomCallsFail) {
  Bytes bytes = callProgram();
  float a[6] = {}, r[6] = {};
  Loaded failing(bytes, {.custom_call = fail});
  EXPECT_EQ(failing.call(a, r), TERCEL_UNKNOWN);
  tercel_instance* plain = nullptr;
  ASSERT_EQ(tercel_instance_create(failing.program, nullptr, &plain), TERCEL_OK);
  tercel_buffer in = {a, 24}, out = {r, 24};
  EXPECT_EQ(tercel_instance_call(plain, 0, &in, 1, &out, 1), TERCEL_UNIMPLEMENTED);
  EXPECT_NE(std::strstr(tercel_error_message(), "negate"), nullptr) << tercel_error_message();
  tercel_instance_destroy(plain);
}

TEST(ProgramApi, TokensOfCustomCallsAreEmpty) {
  tercel::test::ProgramMaker m;
  const uint32_t a = m.argument(kShape), r = m.result(kShape), token = m.arena(0);
  m.copy(0, a, r);
  auto& step = m.step(0, StepKind::custom_call, {a, token, token});
  step.values = tercel::program::encode(
      {4, {{kShape}, {.is_token = true}}, {{.is_token = true}}, true});
  step.name = "ordered";
  m.program.target_cpu = "any";
  Loaded loaded(tercel::program::serialize(m.program), {.custom_call = checkTokens});
  float x[6] = {}, y[6] = {};
  EXPECT_EQ(loaded.call(x, y), TERCEL_OK) << tercel_error_message();
}

TEST(ProgramApi, StateStaysInItsInstance) {
  Loaded one(serializeArtifact(makeArtifact()));
  auto info = sized<tercel_program_info>();
  ASSERT_EQ(tercel_program_describe(one.program, &info), TERCEL_OK);
  EXPECT_STREQ(info.target, "any");
  EXPECT_EQ(info.globals_bytes, 128);
  Loaded two(serializeArtifact(makeArtifact()));
  alignas(64) float x[6] = {1, 2, 3, 4, 5, 6}, old[6] = {};
  ASSERT_EQ(one.call(x, old), TERCEL_OK) << tercel_error_message();
  EXPECT_EQ(old[5], 15);
  ASSERT_EQ(one.call(x, old), TERCEL_OK);
  EXPECT_EQ(old[5], -6);
  float state[6];
  ASSERT_EQ(tercel_instance_get_global(two.instance, 0, state, 24), TERCEL_OK);
  EXPECT_EQ(state[5], 15);
  ASSERT_EQ(tercel_instance_get_global(two.instance, 1, state, 24), TERCEL_OK);
  EXPECT_EQ(state[5], 0);
  ASSERT_EQ(tercel_instance_set_global(two.instance, 0, x, 24), TERCEL_OK);
  ASSERT_EQ(two.call(x, old + 0), TERCEL_OK);
  EXPECT_EQ(old[5], 6);
}

TEST(ProgramApi, ResultsAnywhere) {
  Loaded loaded(callProgram());
  alignas(64) float memory[64] = {0, 1, 2, 3, 4, 5, 6};
  ASSERT_EQ(loaded.call(memory + 1, memory + 33), TERCEL_OK);
  EXPECT_EQ(memory[33 + 5], -6);
  EXPECT_EQ(memory[33 + 6], 0);
}

TEST(ProgramApi, BadCallsAreErrors) {
  Loaded loaded(serializeArtifact(makeArtifact()));
  float x[6] = {}, r[6] = {};
  tercel_buffer good_in = {x, 24}, good_out = {r, 24}, small = {r, 23}, null = {nullptr, 24};
  auto call = [&](size_t p, tercel_buffer in, size_t n, tercel_buffer out) {
    return tercel_instance_call(loaded.instance, p, &in, n, &out, 1);
  };
  EXPECT_EQ(call(1, good_in, 1, good_out), TERCEL_NOT_FOUND);
  EXPECT_EQ(call(0, good_in, 0, good_out), TERCEL_INVALID_ARGUMENT);
  EXPECT_EQ(call(0, small, 1, good_out), TERCEL_INVALID_ARGUMENT);
  EXPECT_EQ(call(0, good_in, 1, small), TERCEL_INVALID_ARGUMENT);
  EXPECT_STREQ(tercel_error_message(),
               "swap_batch2: result old is f32[2,3], 24 bytes; the buffer has 23");
  EXPECT_EQ(call(0, null, 1, good_out), TERCEL_INVALID_ARGUMENT);
  EXPECT_EQ(tercel_instance_get_global(loaded.instance, 0, x, 20), TERCEL_INVALID_ARGUMENT);
  EXPECT_EQ(tercel_instance_get_global(loaded.instance, 3, x, 24), TERCEL_NOT_FOUND);
  EXPECT_EQ(tercel_instance_set_global(loaded.instance, 0, x, 28), TERCEL_INVALID_ARGUMENT);
  EXPECT_EQ(tercel_instance_set_global(loaded.instance, 2, x, 24), TERCEL_FAILED_PRECONDITION);
  EXPECT_EQ(loaded.calls, 0);
  EXPECT_EQ(call(0, good_in, 1, good_out), TERCEL_OK);
}

TEST(ProgramApi, NullPointersAreErrors) {
  const Bytes bytes = serializeArtifact(makeArtifact());
  tercel_program* program = nullptr;
  tercel_instance *instance = nullptr, *none = nullptr;  // a failed call takes what it would fill
  ASSERT_EQ(tercel_program_load(bytes.data(), bytes.size(), nullptr, &program), TERCEL_OK);
  ASSERT_EQ(tercel_instance_create(program, nullptr, &instance), TERCEL_OK);
  tercel_program_info about = {sizeof(about)};
  tercel_procedure_info procedure = {sizeof(procedure)};
  tercel_value_info value = {sizeof(value)};
  size_t number = 0;
  float x[6] = {};
  const tercel_buffer buffer = {x, sizeof(x)};
  const int codes[] = {
      tercel_program_describe(nullptr, &about),
      tercel_program_describe(program, nullptr),
      tercel_program_global(nullptr, 0, &value),
      tercel_program_procedure(nullptr, 0, &procedure),
      tercel_program_argument(nullptr, 0, 0, &value),
      tercel_program_result(nullptr, 0, 0, &value),
      tercel_program_find_procedure(nullptr, "swap", nullptr, &number),
      tercel_program_find_procedure(program, nullptr, nullptr, &number),
      tercel_program_find_procedure(program, "swap", nullptr, nullptr),
      tercel_program_find_global(nullptr, "cache", &number),
      tercel_program_find_global(program, nullptr, &number),
      tercel_program_find_global(program, "cache", nullptr),
      tercel_instance_create(nullptr, nullptr, &none),
      tercel_instance_create(program, nullptr, nullptr),
      tercel_instance_call(nullptr, 0, &buffer, 1, &buffer, 1),
      tercel_instance_call(instance, 0, nullptr, 1, &buffer, 1),
      tercel_instance_call(instance, 0, &buffer, 1, nullptr, 1),
      tercel_instance_get_global(nullptr, 0, x, sizeof(x)),
      tercel_instance_get_global(instance, 0, nullptr, sizeof(x)),
      tercel_instance_set_global(nullptr, 0, x, sizeof(x)),
      tercel_instance_set_global(instance, 0, nullptr, sizeof(x)),
      tercel_instance_save_state(nullptr, "/no/such/file"),
      tercel_instance_save_state(instance, nullptr),
      tercel_instance_load_state(nullptr, "/no/such/file"),
      tercel_instance_load_state(instance, nullptr),
  };
  for (size_t i = 0; i < std::size(codes); ++i) {
    EXPECT_EQ(codes[i], TERCEL_INVALID_ARGUMENT) << "call " << i;
  }
  tercel_instance_destroy(instance);
  tercel_program_destroy(program);
}

TEST(ProgramApi, NamesAreFound) {
  Loaded loaded(serializeArtifact(makeArtifact()));
  size_t at = 9;
  EXPECT_EQ(tercel_program_find_procedure(loaded.program, "swap", nullptr, &at), TERCEL_OK);
  EXPECT_EQ(at, 0u);
  EXPECT_EQ(tercel_program_find_procedure(loaded.program, "swap", "batch3", &at), TERCEL_NOT_FOUND);
  EXPECT_EQ(tercel_program_find_global(loaded.program, "fixed", &at), TERCEL_OK);
  EXPECT_EQ(at, 2u);
  auto value = sized<tercel_value_info>();
  ASSERT_EQ(tercel_program_global(loaded.program, 2, &value), TERCEL_OK);
  EXPECT_EQ(value.is_initialized, 1);
  EXPECT_EQ(value.is_mutable, 0);
}

TEST(ProgramApi, ASecondThreadIsRefused) {
  struct Meeting {
    std::atomic<bool> inside{false}, leave{false};
  } meeting;
  tercel_instance_options options = {};
  options.struct_size = sizeof(options);
  options.custom_call_data = &meeting;
  options.custom_call = [](void* data, const tercel_custom_call*) -> int {
    auto& at = *static_cast<Meeting*>(data);
    at.inside = true;
    while (!at.leave) std::this_thread::yield();
    return TERCEL_OK;
  };
  Bytes bytes = callProgram();
  tercel_program* program = nullptr;
  tercel_instance* instance = nullptr;
  ASSERT_EQ(tercel_program_load(bytes.data(), bytes.size(), nullptr, &program), TERCEL_OK);
  ASSERT_EQ(tercel_instance_create(program, &options, &instance), TERCEL_OK);
  float a[6] = {}, r[6] = {}, r2[6] = {};
  tercel_buffer in = {a, 24}, out = {r, 24}, out2 = {r2, 24};
  std::thread first(
      [&] { EXPECT_EQ(tercel_instance_call(instance, 0, &in, 1, &out, 1), TERCEL_OK); });
  while (!meeting.inside) std::this_thread::yield();
  EXPECT_EQ(tercel_instance_call(instance, 0, &in, 1, &out2, 1), TERCEL_FAILED_PRECONDITION);
  EXPECT_STREQ(tercel_error_message(), "another call is using this instance of c_program");
  meeting.leave = true;
  first.join();
  tercel_instance_destroy(instance);
  tercel_program_destroy(program);
}

TEST(ProgramApi, MemoryIsTheHosts) {
  struct Count {
    int made = 0, freed = 0;
  } count;
  Bytes bytes = serializeArtifact(makeArtifact());
  tercel_instance_options options = {};
  options.struct_size = sizeof(options);
  options.allocator_data = &count;
  options.allocate = [](void* data, size_t size, size_t alignment) {
    ++static_cast<Count*>(data)->made;
    return std::aligned_alloc(alignment, size);
  };
  options.release = [](void* data, void* memory) {
    ++static_cast<Count*>(data)->freed;
    std::free(memory);
  };
  tercel_program* program = nullptr;
  tercel_instance* instance = nullptr;
  ASSERT_EQ(tercel_program_load(bytes.data(), bytes.size(), nullptr, &program), TERCEL_OK);
  ASSERT_EQ(tercel_instance_create(program, &options, &instance), TERCEL_OK);
  EXPECT_EQ(count.made, 1);
  tercel_instance_destroy(instance);
  EXPECT_EQ(count.freed, 1);
  options.allocate = [](void*, size_t, size_t) -> void* { return nullptr; };
  EXPECT_EQ(tercel_instance_create(program, &options, &instance), TERCEL_RESOURCE_EXHAUSTED);
  EXPECT_EQ(instance, nullptr);
  float arena[1];
  options = {.struct_size = sizeof(options), .arena = reinterpret_cast<char*>(arena) + 1};
  EXPECT_EQ(tercel_instance_create(program, &options, &instance), TERCEL_INVALID_ARGUMENT);
  tercel_program_destroy(program);
}

int threadsOfThisProcess() {
  return static_cast<int>(
      std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
}

// A thread that was joined stays in the list for a moment.
void expectThreadsOfThisProcess(int wanted) {
  for (int turn = 0; turn < 500 && threadsOfThisProcess() > wanted; ++turn) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(threadsOfThisProcess(), wanted);
}

TEST(ProgramApi, AnInstanceHasTheThreadsOfItsArtifact) {
  tercel::program::Artifact artifact = makeArtifact();
  artifact.num_threads = 3;
  const Bytes bytes = serializeArtifact(artifact);
  tercel_program* program = nullptr;
  tercel_instance* instance = nullptr;
  ASSERT_EQ(tercel_program_load(bytes.data(), bytes.size(), nullptr, &program), TERCEL_OK);
  auto info = sized<tercel_program_info>();
  ASSERT_EQ(tercel_program_describe(program, &info), TERCEL_OK);
  EXPECT_EQ(info.num_threads, 3);

  const int before = threadsOfThisProcess();
  auto options = sized<tercel_instance_options>();
  for (const auto& [wish, wanted] : {std::pair(0, 2), std::pair(1, 0), std::pair(5, 4)}) {
    options.num_threads = wish;
    ASSERT_EQ(tercel_instance_create(program, &options, &instance), TERCEL_OK);
    expectThreadsOfThisProcess(before + wanted);
    tercel_instance_destroy(instance);
  }
  ASSERT_EQ(tercel_instance_create(program, nullptr, &instance), TERCEL_OK);
  expectThreadsOfThisProcess(before + 2);
  tercel_instance_destroy(instance);
  options.num_threads = 0;  // the host's own are in place of ours
  options.parallel_for = [](void*, int64_t tasks, int64_t, tercel_task_fn task, void* context) {
    task(context, 0, tasks);
  };
  ASSERT_EQ(tercel_instance_create(program, &options, &instance), TERCEL_OK);
  expectThreadsOfThisProcess(before);
  tercel_instance_destroy(instance);
  options.num_threads = -1;
  EXPECT_EQ(tercel_instance_create(program, &options, &instance), TERCEL_INVALID_ARGUMENT);
  EXPECT_STREQ(tercel_error_message(), "the number of threads is to be 1 to 1024, not -1");
  tercel_program_destroy(program);

  for (int32_t none : {0, -1, 1025}) {
    artifact.num_threads = none;
    const Bytes bad = serializeArtifact(artifact);
    EXPECT_EQ(tercel_program_load(bad.data(), bad.size(), nullptr, &program),
              TERCEL_INVALID_ARGUMENT);
    EXPECT_NE(std::strstr(tercel_error_message(), "is to be 1 to 1024, not"), nullptr);
  }
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tercelXXXXXX").string();
    path = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

TEST(ProgramApi, StatesAreSavedAndLoaded) {
  TemporaryFolder folder;
  const std::string path = folder.path / "state";
  Loaded one(serializeArtifact(makeArtifact())), two(serializeArtifact(makeArtifact()));
  float x[6] = {1, 2, 3, 4, 5, 6}, r[6];
  ASSERT_EQ(one.call(x, r), TERCEL_OK);
  ASSERT_EQ(tercel_instance_save_state(one.instance, path.c_str()), TERCEL_OK)
      << tercel_error_message();
  ASSERT_EQ(tercel_instance_load_state(two.instance, path.c_str()), TERCEL_OK)
      << tercel_error_message();
  ASSERT_EQ(tercel_instance_get_global(two.instance, 0, r, 24), TERCEL_OK);
  EXPECT_EQ(r[5], -6);
  Loaded other(callProgram());
  EXPECT_EQ(tercel_instance_load_state(other.instance, path.c_str()), TERCEL_INVALID_ARGUMENT);
  EXPECT_EQ(tercel_instance_load_state(two.instance, (path + "x").c_str()), TERCEL_NOT_FOUND);
  std::filesystem::resize_file(path, 100);
  EXPECT_EQ(tercel_instance_load_state(two.instance, path.c_str()), TERCEL_DATA_LOSS);
  EXPECT_EQ(tercel_instance_save_state(one.instance, "/dev/full/x"), TERCEL_NOT_FOUND);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path), {}), 1);
}

TEST(ProgramApi, AStateOfOtherSizesChangesNothing) {
  TemporaryFolder folder;
  const std::string path = folder.path / "state";
  Loaded one(serializeArtifact(makeArtifact()));
  ASSERT_EQ(tercel_instance_save_state(one.instance, path.c_str()), TERCEL_OK);
  Bytes file(std::filesystem::file_size(path));
  std::ifstream(path, std::ios::binary)
      .read(reinterpret_cast<char*>(file.data()), static_cast<std::streamsize>(file.size()));
  const size_t second = file.size() - 24 - sizeof(uint64_t), first = second - 24 - sizeof(uint64_t);
  file[first + sizeof(uint64_t)] = std::byte{0x77};
  file[second] = std::byte{20};
  tercel::program::sealFile(file, {"TERCELST", "state", 2});
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  EXPECT_EQ(tercel_instance_load_state(one.instance, path.c_str()), TERCEL_INVALID_ARGUMENT);
  float values[6] = {};
  ASSERT_EQ(tercel_instance_get_global(one.instance, 0, values, 24), TERCEL_OK);
  EXPECT_EQ(values[0], 10);
}

TEST(ProgramApi, TwoInstancesSaveToOnePathAtOnce) {
  TemporaryFolder folder;
  const std::string path = folder.path / "state";
  auto save = [&] {
    Loaded one(serializeArtifact(makeArtifact()));
    for (int i = 0; i < 40; ++i) {
      EXPECT_EQ(tercel_instance_save_state(one.instance, path.c_str()), TERCEL_OK)
          << tercel_error_message();
      EXPECT_EQ(tercel_instance_load_state(one.instance, path.c_str()), TERCEL_OK)
          << tercel_error_message();
    }
  };
  std::thread other(save);
  save();
  other.join();
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path), {}), 1);
}

TEST(ProgramApi, WeightsInAFileOfTheirOwn) {
  TemporaryFolder folder;
  tercel::program::Artifact artifact = makeArtifact();
  artifact.has_side_file = true;
  Bytes bytes = serializeArtifact(artifact);
  const std::string path = folder.path / "weights";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(artifact.data.bytes.data()),
             static_cast<std::streamsize>(artifact.data.bytes.size()));
  tercel_program* program = nullptr;
  EXPECT_EQ(tercel_program_load(bytes.data(), bytes.size(), nullptr, &program),
            TERCEL_INVALID_ARGUMENT);
  tercel_load_options options = {sizeof(options), path.c_str(), 0};
  ASSERT_EQ(tercel_program_load(bytes.data(), bytes.size(), &options, &program), TERCEL_OK)
      << tercel_error_message();
  tercel_program_destroy(program);
  std::filesystem::resize_file(path, 64);
  EXPECT_EQ(tercel_program_load(bytes.data(), bytes.size(), &options, &program), TERCEL_DATA_LOSS);
}

TEST(ProgramApi, OtherVersionsAreRefused) {
  Bytes bytes = serializeArtifact(makeArtifact());
  tercel_program* program = nullptr;
  for (uint32_t version :
       {tercel::program::kArtifactVersion - 1, tercel::program::kArtifactVersion + 1}) {
    tercel::program::sealFile(bytes, {"TERCELAR", "artifact", version});
    EXPECT_EQ(tercel_program_load(bytes.data(), bytes.size(), nullptr, &program),
              TERCEL_INVALID_ARGUMENT);
    const bool newer = version > tercel::program::kArtifactVersion;
    const std::string said = "format version " + std::to_string(version) +
                             (newer ? ", of a newer Tercel" : ", of an older Tercel");
    EXPECT_NE(std::strstr(tercel_error_message(), said.c_str()), nullptr) << tercel_error_message();
  }
}

TEST(ProgramApi, BadFilesAreErrors) {
  tercel_program* program = nullptr;
  EXPECT_EQ(tercel_program_load("nonsense", 8, nullptr, &program), TERCEL_INVALID_ARGUMENT);
  EXPECT_EQ(program, nullptr);
  EXPECT_STRNE(tercel_error_message(), "");
  EXPECT_EQ(tercel_program_load(nullptr, 0, nullptr, &program), TERCEL_INVALID_ARGUMENT);
  EXPECT_EQ(tercel_program_open("/no/such/file", nullptr, &program), TERCEL_NOT_FOUND);
  for (const Bytes& bytes : {callProgram(), serializeArtifact(makeArtifact())}) {
    EXPECT_EQ(tercel_program_load(bytes.data(), bytes.size() - 1, nullptr, &program),
              TERCEL_DATA_LOSS);
    EXPECT_NE(std::strstr(tercel_error_message(), "bytes of content, not"), nullptr);
    Bytes altered = bytes;
    altered.back() ^= std::byte{1};
    EXPECT_EQ(tercel_program_load(altered.data(), altered.size(), nullptr, &program),
              TERCEL_DATA_LOSS);
    EXPECT_NE(std::strstr(tercel_error_message(), "is damaged: its checksum"), nullptr);
    EXPECT_EQ(tercel_program_load(bytes.data(), bytes.size(), nullptr, nullptr),
              TERCEL_INVALID_ARGUMENT);
    Bytes newer = bytes;
    newer[8] = std::byte{200};
    EXPECT_EQ(tercel_program_load(newer.data(), newer.size(), nullptr, &program),
              TERCEL_INVALID_ARGUMENT);
    EXPECT_NE(std::strstr(tercel_error_message(), "version 200"), nullptr);
  }
}

// Every byte of an artifact changed in turn, with the checksum made good: refused or harmless.
TEST(ProgramApi, DamagedArtifactsDoNotCrash) {
  const Bytes bytes = serializeArtifact(makeArtifact());
  for (size_t at = 32; at < bytes.size(); ++at) {
    for (int change : {1, 0x80, 0xff}) {
      Bytes damaged = bytes;
      damaged[at] ^= static_cast<std::byte>(change);
      const uint64_t hash = tercel::program::hashBytes(std::span(damaged).subspan(32));
      std::memcpy(damaged.data() + 24, &hash, sizeof(hash));
      tercel_program* program = nullptr;
      if (tercel_program_load(damaged.data(), damaged.size(), nullptr, &program) == TERCEL_OK) {
        tercel_program_destroy(program);
      }
    }
  }
}

TEST(ProgramApi, GlobalsThatFitIntoNoMemory) {
  tercel::program::Artifact artifact = makeArtifact();
  const Shape vast{DType::f32, {int64_t{1} << 59}};
  for (const char* name : {"a", "b", "c"}) artifact.globals.push_back({name, vast, true, false, 0});
  Bytes bytes = serializeArtifact(artifact);
  tercel_program* program = nullptr;
  EXPECT_EQ(tercel_program_load(bytes.data(), bytes.size(), nullptr, &program),
            TERCEL_INVALID_ARGUMENT);
  artifact.globals.resize(4);
  bytes = serializeArtifact(artifact);
  ASSERT_EQ(tercel_program_load(bytes.data(), bytes.size(), nullptr, &program), TERCEL_OK);
  tercel_instance* instance = nullptr;
  EXPECT_EQ(tercel_instance_create(program, nullptr, &instance), TERCEL_RESOURCE_EXHAUSTED);
  tercel_program_destroy(program);
}

TEST(ProgramApi, NoCpuForIt) {
  tercel::program::Artifact artifact = makeArtifact();
  artifact.targets = {"monster"};
  artifact.procedures[0].codes = {stored(storeProgram(kOtherArchitecture))};
  Bytes bytes = serializeArtifact(artifact);
  tercel_program* program = nullptr;
  const int code = tercel_program_load(bytes.data(), bytes.size(), nullptr, &program);
  EXPECT_EQ(code, TERCEL_FAILED_PRECONDITION);
  EXPECT_NE(std::strstr(tercel_error_message(), ", and this machine is "), nullptr)
      << tercel_error_message();
}

TEST(ProgramApi, FromC) {
  Bytes bytes = callProgram();
  char name[32] = {};
  EXPECT_EQ(tercelTestLoadFromC(bytes.data(), bytes.size(), name, sizeof(name)), TERCEL_OK);
  EXPECT_STREQ(name, "c_program");
}

}  // namespace
