// Walks the C API of a plugin as a client does: by dlopen, through the function table alone.
// WALK_PLUGIN in the environment names another plugin's library to walk.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "pjrt/abi/api.h"
#include "pjrt/abi/ext_ffi.h"
#include "pjrt/abi/ext_layouts.h"
#include "pjrt/abi/ext_memory_descriptions.h"
#include "pjrt/abi/ext_shardings.h"

namespace walk {

const PJRT_Api& api();

// What a call came to: a code and its message.
struct Outcome {
  PJRT_Error_Code code = PJRT_Error_Code_OK;
  std::string message;
  friend bool operator==(const Outcome& a, PJRT_Error_Code b) { return a.code == b; }
  friend std::ostream& operator<<(std::ostream& out, const Outcome& o) {
    return out << "code " << o.code << " " << o.message;
  }
};

// Reads the error and destroys it.
Outcome take(PJRT_Error* error);

// Awaits the event, destroys it.
Outcome await(PJRT_Event* event);

// The extension of that type, or null.
const PJRT_Extension_Base* extension(PJRT_Extension_Type type);

template <class Args>
Args blank(size_t struct_size) {
  Args args = {};
  args.struct_size = struct_size;
  return args;
}

// `var` is a zeroed PJRT_<name>_Args with its struct_size.
#define WALK_ARGS(name, var) \
  auto var = ::walk::blank<PJRT_##name##_Args>(PJRT_##name##_Args_STRUCT_SIZE)
#define WALK_CALL(name, args) ::walk::take(::walk::api().PJRT_##name(&args))
#define WALK_OK(name, args) ASSERT_EQ(WALK_CALL(name, args), PJRT_Error_Code_OK)

// (f32[4], f32[4]) -> f32[4], as text and as a StableHLO v1.17.0 portable artifact.
extern const std::string_view kAddText;
extern const std::string_view kAddBytecode;

class Walk : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  PJRT_Buffer* makeBuffer(const std::vector<float>& values);
  std::vector<float> read(PJRT_Buffer* buffer);
  void destroy(PJRT_Buffer* buffer);
  Outcome compile(std::string_view code, std::string_view format, std::string_view options,
                  PJRT_LoadedExecutable*& executable);
  PJRT_LoadedExecutable* compileAdd();
  size_t numOutputs(PJRT_LoadedExecutable* executable);
  // One run on the executable's device; awaits its end. Outputs are null where it never began.
  Outcome run(PJRT_LoadedExecutable* executable, const std::vector<PJRT_Buffer*>& arguments,
              std::vector<PJRT_Buffer*>& outputs);
  void expectAdds(PJRT_LoadedExecutable* executable);
  PJRT_Executable* unloaded(PJRT_LoadedExecutable* executable);
  void destroy(PJRT_LoadedExecutable* executable);
  void destroy(PJRT_Executable* executable);
  bool isTercel();

  PJRT_Client* client = nullptr;
  std::vector<PJRT_Device*> devices;
  PJRT_ExecuteContext* context = nullptr;  // of run()
};

// executable_build_options { num_replicas: 1, num_partitions: 1 }
inline constexpr std::string_view kOneDevice("\x1a\x04\x20\x01\x28\x01", 6);

}  // namespace walk
