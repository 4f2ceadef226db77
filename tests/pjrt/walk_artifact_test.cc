// What tercel_aot.h made is loaded back through the PJRT C API.
#include <dlfcn.h>

#include "walk.h"
#include "program/tercel_aot.h"

namespace walk {
namespace {

template <class Function>
Function* symbol(const char* name) {
  static void* library = dlopen(TERCEL_PLUGIN_PATH, RTLD_NOW | RTLD_NOLOAD);
  return library ? reinterpret_cast<Function*>(dlsym(library, name)) : nullptr;
}
#define AOT(name) symbol<decltype(name)>(#name)

struct Artifact {
  ~Artifact() { AOT(tercel_artifact_destroy)(handle); }
  int addProcedure(const char* name) {
    static constexpr int64_t kDims[] = {4};
    const tercel_value_spec values[] = {{"x", TERCEL_F32, 1, kDims}, {"y", TERCEL_F32, 1, kDims}};
    tercel_procedure_spec spec = {};
    spec.struct_size = sizeof(spec);
    spec.name = name;
    spec.module = kAddBytecode.data();
    spec.module_size = kAddBytecode.size();
    spec.num_arguments = 2;
    spec.arguments = values;
    spec.num_results = 1;
    spec.results = values;
    return AOT(tercel_artifact_add_procedure)(handle, &spec);
  }
  std::string serialize() {
    void* bytes = nullptr;
    size_t size = 0;
    EXPECT_EQ(AOT(tercel_artifact_serialize)(handle, &bytes, &size), TERCEL_OK);
    std::string text(static_cast<const char*>(bytes), size);
    AOT(tercel_free)(bytes);
    return text;
  }
  tercel_artifact* handle = nullptr;
};

class ArtifactTest : public Walk {
 protected:
  void SetUp() override {
    Walk::SetUp();
    if (!isTercel()) GTEST_SKIP() << "another plugin";
  }
  Outcome load(const std::string& bytes, PJRT_LoadedExecutable*& executable) {
    WALK_ARGS(Executable_DeserializeAndLoad, args);
    args.client = client;
    args.serialized_executable = bytes.data();
    args.serialized_executable_size = bytes.size();
    Outcome outcome = WALK_CALL(Executable_DeserializeAndLoad, args);
    executable = args.loaded_executable;
    return outcome;
  }
};

TEST_F(ArtifactTest, IsLoadedBack) {
  Artifact artifact;
  ASSERT_EQ(AOT(tercel_artifact_create)("adder", &artifact.handle), TERCEL_OK);
  ASSERT_EQ(artifact.addProcedure("add"), TERCEL_OK) << AOT(tercel_error_message)();
  for (const char* targets : {"native", "x86-64-v2,native", "x86-64-v2"}) {
    ASSERT_EQ(AOT(tercel_artifact_compile)(artifact.handle, targets), TERCEL_OK)
        << AOT(tercel_error_message)();
    PJRT_LoadedExecutable* executable = nullptr;
    ASSERT_EQ(load(artifact.serialize(), executable), PJRT_Error_Code_OK) << targets;
    expectAdds(executable);
    destroy(executable);
  }
}

TEST_F(ArtifactTest, OfSeveralProceduresIsRefused) {
  Artifact artifact;
  ASSERT_EQ(AOT(tercel_artifact_create)("adder", &artifact.handle), TERCEL_OK);
  ASSERT_EQ(artifact.addProcedure("add"), TERCEL_OK);
  ASSERT_EQ(artifact.addProcedure("add_again"), TERCEL_OK);
  ASSERT_EQ(AOT(tercel_artifact_compile)(artifact.handle, "native"), TERCEL_OK);
  PJRT_LoadedExecutable* executable = nullptr;
  EXPECT_EQ(load(artifact.serialize(), executable), PJRT_Error_Code_INVALID_ARGUMENT);
}

TEST_F(ArtifactTest, IsToBeCompiledAfterWhatChangesIt) {
  Artifact artifact;
  ASSERT_EQ(AOT(tercel_artifact_create)("adder", &artifact.handle), TERCEL_OK);
  ASSERT_EQ(artifact.addProcedure("add"), TERCEL_OK);
  const auto changes = {+[](Artifact& a) { return a.addProcedure("add_again"); },
                        +[](Artifact& a) {
                          return AOT(tercel_artifact_set_optimization_level)(a.handle, 1);
                        }};
  for (auto change : changes) {
    ASSERT_EQ(AOT(tercel_artifact_compile)(artifact.handle, "native"), TERCEL_OK);
    ASSERT_EQ(change(artifact), TERCEL_OK);
    void* bytes = nullptr;
    size_t size = 0;
    EXPECT_EQ(AOT(tercel_artifact_serialize)(artifact.handle, &bytes, &size),
              TERCEL_FAILED_PRECONDITION);
    EXPECT_STREQ(AOT(tercel_error_message)(), "adder was not compiled");
  }
  EXPECT_EQ(AOT(tercel_artifact_compile)(artifact.handle, "native"), TERCEL_OK);
  EXPECT_NE(artifact.serialize(), "");
}

TEST_F(ArtifactTest, BadSpecsAreErrors) {
  Artifact artifact;
  ASSERT_EQ(AOT(tercel_artifact_create)("two words", &artifact.handle), TERCEL_OK);
  ASSERT_EQ(artifact.addProcedure("add"), TERCEL_OK);
  EXPECT_EQ(AOT(tercel_artifact_compile)(artifact.handle, "pentium-pro"), TERCEL_INVALID_ARGUMENT);
  EXPECT_EQ(AOT(tercel_artifact_compile)(artifact.handle, ""), TERCEL_INVALID_ARGUMENT);
  EXPECT_EQ(AOT(tercel_artifact_compile)(artifact.handle, "native,native"),
            TERCEL_INVALID_ARGUMENT);
  void* bytes = nullptr;
  size_t size = 0;
  EXPECT_EQ(AOT(tercel_artifact_serialize)(artifact.handle, &bytes, &size),
            TERCEL_FAILED_PRECONDITION);
  ASSERT_EQ(AOT(tercel_artifact_compile)(artifact.handle, "x86-64-v3"), TERCEL_OK);
  EXPECT_EQ(AOT(tercel_artifact_serialize)(artifact.handle, &bytes, &size),
            TERCEL_INVALID_ARGUMENT);
  tercel_procedure_spec empty = {};
  empty.struct_size = sizeof(empty);
  EXPECT_EQ(AOT(tercel_artifact_add_procedure)(artifact.handle, &empty), TERCEL_INVALID_ARGUMENT);
  for (int level : {-1, 4}) {
    EXPECT_EQ(AOT(tercel_artifact_set_optimization_level)(artifact.handle, level),
              TERCEL_INVALID_ARGUMENT);
  }
  tercel_global_spec global = {};
  global.struct_size = sizeof(global);
  global.rank = 1;
  EXPECT_EQ(AOT(tercel_artifact_add_global)(artifact.handle, &global), TERCEL_INVALID_ARGUMENT);
}

TEST_F(ArtifactTest, NullPointersAreErrors) {
  Artifact artifact;
  ASSERT_EQ(AOT(tercel_artifact_create)("adder", &artifact.handle), TERCEL_OK);
  ASSERT_EQ(artifact.addProcedure("add"), TERCEL_OK);
  ASSERT_EQ(AOT(tercel_artifact_compile)(artifact.handle, "native"), TERCEL_OK);
  tercel_artifact *const made = artifact.handle, *parsed = nullptr;
  tercel_global_spec global = {.struct_size = sizeof(global)};
  tercel_procedure_spec procedure = {.struct_size = sizeof(procedure)};
  void* bytes = nullptr;
  size_t size = 0;
  const int codes[] = {
      AOT(tercel_artifact_create)("adder", nullptr),
      AOT(tercel_artifact_parse)(nullptr, 1, nullptr, &parsed),
      AOT(tercel_artifact_parse)("", 0, nullptr, nullptr),
      AOT(tercel_artifact_set_tree)(nullptr, ""),
      AOT(tercel_artifact_add_global)(nullptr, &global),
      AOT(tercel_artifact_add_global)(made, nullptr),
      AOT(tercel_artifact_add_procedure)(nullptr, &procedure),
      AOT(tercel_artifact_add_procedure)(made, nullptr),
      AOT(tercel_artifact_set_optimization_level)(nullptr, 1),
      AOT(tercel_artifact_set_num_threads)(nullptr, 1),
      AOT(tercel_artifact_compile)(nullptr, "native"),
      AOT(tercel_artifact_serialize)(nullptr, &bytes, &size),
      AOT(tercel_artifact_serialize)(made, nullptr, &size),
      AOT(tercel_artifact_serialize)(made, &bytes, nullptr),
      AOT(tercel_artifact_save)(nullptr, "/no/such/folder/x"),
      AOT(tercel_artifact_save)(made, nullptr),
      AOT(tercel_artifact_save_apart)(nullptr, "/no/such/folder/x", "/no/such/folder/y"),
      AOT(tercel_artifact_save_apart)(made, nullptr, "/no/such/folder/y"),
      AOT(tercel_artifact_save_apart)(made, "/no/such/folder/x", nullptr),
      AOT(tercel_artifact_save_library)(nullptr, "/no/such/folder", nullptr),
      AOT(tercel_artifact_save_library)(made, nullptr, nullptr),
  };
  for (size_t i = 0; i < std::size(codes); ++i) {
    EXPECT_EQ(codes[i], TERCEL_INVALID_ARGUMENT) << "call " << i;
  }
  AOT(tercel_artifact_destroy)(nullptr);
}

TEST_F(ArtifactTest, ListsWithoutTheirItemsAreErrors) {
  Artifact artifact;
  ASSERT_EQ(AOT(tercel_artifact_create)("adder", &artifact.handle), TERCEL_OK);
  for (size_t tercel_procedure_spec::* count :
       {&tercel_procedure_spec::module_size, &tercel_procedure_spec::num_used,
        &tercel_procedure_spec::num_stored, &tercel_procedure_spec::num_arguments,
        &tercel_procedure_spec::num_results, &tercel_procedure_spec::num_shapes}) {
    tercel_procedure_spec spec = {.struct_size = sizeof(spec), .name = "add"};
    spec.*count = 1;
    EXPECT_EQ(AOT(tercel_artifact_add_procedure)(artifact.handle, &spec), TERCEL_INVALID_ARGUMENT);
    EXPECT_NE(std::string(AOT(tercel_error_message)()).find("no list"), std::string::npos);
  }
}

}  // namespace
}  // namespace walk
