// The Shardings extension.
#include "pjrt/entry.h"
#include "pjrt/executable_facts.h"
#include "pjrt/extensions.h"

namespace tercel::pjrt {
namespace {

Status Shardings_PJRT_Executable_ParameterShardings(
    PJRT_Shardings_PJRT_Executable_ParameterShardings_Args& args) {
  const auto& shardings = args.executable->facts->parameter_shardings;
  args.num_parameters = args.executable->facts->parameter_memory_kinds.texts.size();
  args.shardings = shardings ? shardings->data.data() : nullptr;
  args.sharding_sizes = shardings ? shardings->sizes.data() : nullptr;
  return {};
}

Status Shardings_PJRT_Executable_OutputShardings(
    PJRT_Shardings_PJRT_Executable_OutputShardings_Args& args) {
  const auto& shardings = args.executable->facts->output_shardings;
  args.num_outputs = args.executable->facts->output_types.size();
  args.shardings = shardings ? shardings->data.data() : nullptr;
  args.sharding_sizes = shardings ? shardings->sizes.data() : nullptr;
  return {};
}

PJRT_DOOR(Shardings_PJRT_Executable_ParameterShardings, executable, sharding_sizes)
PJRT_DOOR(Shardings_PJRT_Executable_OutputShardings, executable, sharding_sizes)

}  // namespace

PJRT_Shardings_Extension shardingsExtension() {
  return {{PJRT_Shardings_Extension_STRUCT_SIZE, PJRT_Extension_Type_Shardings, nullptr},
          door_Shardings_PJRT_Executable_ParameterShardings,
          door_Shardings_PJRT_Executable_OutputShardings};
}

}  // namespace tercel::pjrt
