// The Layouts extension. A layout is an order of dimensions, row-major by default.
#include "pjrt/element_type.h"
#include "pjrt/entry.h"
#include "pjrt/executable_facts.h"
#include "pjrt/extensions.h"
#include "pjrt/layout.h"

struct PJRT_Layouts_SerializedLayout : tercel::pjrt::SerializedBytes {};

namespace tercel::pjrt {
namespace {

Status Layouts_MemoryLayout_Destroy(PJRT_Layouts_MemoryLayout_Destroy_Args& args) {
  delete args.layout;
  return {};
}

Status Layouts_MemoryLayout_Serialize(PJRT_Layouts_MemoryLayout_Serialize_Args& args) {
  auto* serialized = new PJRT_Layouts_SerializedLayout{{args.layout->text}};
  args.serialized_bytes = serialized->bytes.data();
  args.serialized_bytes_size = serialized->bytes.size();
  args.serialized_layout = serialized;
  args.serialized_layout_deleter = [](PJRT_Layouts_SerializedLayout* s) { delete s; };
  return {};
}

Status Layouts_PJRT_Client_GetDefaultLayout(PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args& args) {
  args.layout = new PJRT_Layouts_MemoryLayout{layoutText({}, args.num_dims)};
  return {};
}

Status Layouts_PJRT_Buffer_MemoryLayout(PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args& args) {
  const ArrayType& type = args.buffer->buffer->type();
  args.layout = new PJRT_Layouts_MemoryLayout{layoutText(type.layout, type.shape.dims.size())};
  return {};
}

Status Layouts_PJRT_Topology_GetDefaultLayout(
    PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args& args) {
  args.layout = new PJRT_Layouts_MemoryLayout{layoutText({}, args.num_dims)};
  return {};
}

Status Layouts_PJRT_Executable_GetOutputLayouts(
    PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args& args) {
  const auto& pointers = args.executable->facts->output_layouts.pointers;
  args.num_outputs = pointers.size();
  args.layouts = const_cast<PJRT_Layouts_MemoryLayout**>(pointers.data());
  return {};
}

Status Layouts_PJRT_Executable_GetParameterLayouts(
    PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args& args) {
  const auto& pointers = args.executable->facts->parameter_layouts.pointers;
  args.num_parameters = pointers.size();
  args.layouts = const_cast<PJRT_Layouts_MemoryLayout**>(pointers.data());
  return {};
}

PJRT_DOOR(Layouts_MemoryLayout_Destroy, struct_size, layout)
PJRT_DOOR(Layouts_MemoryLayout_Serialize, layout, serialized_layout_deleter)
PJRT_DOOR(Layouts_PJRT_Client_GetDefaultLayout, client, layout)
PJRT_DOOR(Layouts_PJRT_Buffer_MemoryLayout, buffer, layout)
PJRT_DOOR(Layouts_PJRT_Topology_GetDefaultLayout, topology_description, layout)
PJRT_DOOR(Layouts_PJRT_Executable_GetOutputLayouts, executable, layouts)
PJRT_DOOR(Layouts_PJRT_Executable_GetParameterLayouts, executable, layouts)

}  // namespace

PJRT_Layouts_Extension layoutsExtension() {
  return {{PJRT_Layouts_Extension_STRUCT_SIZE, PJRT_Extension_Type_Layouts, nullptr},
          door_Layouts_MemoryLayout_Destroy,
          door_Layouts_MemoryLayout_Serialize,
          door_Layouts_PJRT_Client_GetDefaultLayout,
          door_Layouts_PJRT_Buffer_MemoryLayout,
          door_Layouts_PJRT_Topology_GetDefaultLayout,
          door_Layouts_PJRT_Executable_GetOutputLayouts,
          door_Layouts_PJRT_Executable_GetParameterLayouts};
}

}  // namespace tercel::pjrt
