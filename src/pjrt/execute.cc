// Running a loaded executable, on one device or on all of its devices.
#include "pjrt/entry.h"
#include "pjrt/executable_facts.h"

namespace tercel::pjrt {
namespace {

using Args = PJRT_LoadedExecutable_Execute_Args;
using BufferList = std::vector<runtime::Buffer*>;

Status checkLists(const Args& args) {
  if (args.num_devices == 0) return invalidArgument("num_devices is 0");
  if (!args.argument_lists && args.num_args != 0) return invalidArgument("argument_lists is null");
  if (!args.output_lists) return invalidArgument("output_lists is null");
  if (args.num_devices != 1 && args.num_devices != args.executable->devices.size()) {
    return invalidArgument("num_devices is ", args.num_devices, ", the executable's is ",
                           args.executable->devices.size());
  }
  const size_t num_outputs = args.executable->facts->output_types.size();
  for (size_t device = 0; device < args.num_devices && num_outputs != 0; ++device) {
    if (!args.output_lists[device]) return invalidArgument("output_lists[", device, "] is null");
  }
  return {};
}

Status unwrapArguments(const Args& args, BufferList& buffers) {
  buffers.reserve(args.num_devices * args.num_args);
  for (size_t device = 0; device < args.num_devices; ++device) {
    for (size_t i = 0; i < args.num_args; ++i) {
      PJRT_Buffer* const* const list = args.argument_lists[device];
      if (!list || !list[i]) {
        return invalidArgument("argument ", i, " of device ", device, " is null");
      }
      if (list[i]->client != args.executable->client) {
        return invalidArgument("argument ", i, " is another client's");
      }
      buffers.push_back(list[i]->buffer.get());
    }
  }
  return {};
}

Status unwrapOptions(const PJRT_ExecuteOptions* options, runtime::ExecuteOptions& to) {
  using Options = PJRT_ExecuteOptions;
  if (!options) return {};
  if (!covers(*options, &Options::num_non_donatable_input_indices)) {
    return invalidArgument("the struct_size of PJRT_ExecuteOptions is ", options->struct_size);
  }
  if (options->num_send_ops != 0 || options->num_recv_ops != 0) {
    return unimplemented("send and receive callbacks are not supported by Tercel");
  }
  to.launch_id = options->launch_id;
  if (covers(*options, &Options::context) && options->context) {
    // Of its own: the client may add to its context or destroy it while the program runs.
    to.user_data = std::make_shared<const ffi::UserData>(options->context->user_data);
  }
  if (options->non_donatable_input_indices) {
    to.non_donatable = {options->non_donatable_input_indices,
                        options->num_non_donatable_input_indices};
  }
  return {};
}

// Handles of all results and events, made before any is given away.
struct Wrapped {
  std::vector<std::unique_ptr<PJRT_Buffer>> buffers;
  std::vector<EventPtr> events;
};

Wrapped wrapResults(const ClientRef& client, std::vector<runtime::Launch> launches) {
  Wrapped wrapped;
  for (runtime::Launch& launch : launches) {
    for (runtime::BufferPtr& result : launch.results) {
      wrapped.buffers.emplace_back(wrap(client, std::move(result)));
    }
    wrapped.events.emplace_back(wrap(std::move(launch.done)));
  }
  return wrapped;
}

void giveAway(Wrapped wrapped, const Args& args) {
  const size_t num_outputs = wrapped.buffers.size() / args.num_devices;
  for (size_t i = 0; i < wrapped.buffers.size(); ++i) {
    args.output_lists[i / num_outputs][i % num_outputs] = wrapped.buffers[i].release();
  }
  if (!args.device_complete_events) return;
  for (size_t i = 0; i < wrapped.events.size(); ++i) {
    args.device_complete_events[i] = wrapped.events[i].release();
  }
}

// The device that a launch on one of several devices means.
Result<runtime::Device*> chosenDevice(const Args& args) {
  if (args.execute_device) return args.execute_device->device;
  if (args.num_devices == args.executable->devices.size()) return nullptr;
  return invalidArgument("num_devices is 1 and execute_device is null, the executable has ",
                         args.executable->devices.size(), " devices");
}

}  // namespace

Status LoadedExecutable_Execute(PJRT_LoadedExecutable_Execute_Args& args) {
  TERCEL_TRY(checkLists(args));
  runtime::ExecuteOptions options;
  TERCEL_TRY(unwrapOptions(args.options, options));
  BufferList buffers;
  TERCEL_TRY(unwrapArguments(args, buffers));
  std::vector<std::span<runtime::Buffer* const>> rows;
  for (size_t device = 0; device < args.num_devices; ++device) {
    rows.emplace_back(buffers.data() + device * args.num_args, args.num_args);
  }
  TERCEL_ASSIGN(runtime::Device * device, chosenDevice(args));
  TERCEL_ASSIGN(auto launches, args.executable->executable->execute(rows, options, device));
  giveAway(wrapResults(args.executable->client, std::move(launches)), args);
  return {};
}

Status ExecuteContext_Create(PJRT_ExecuteContext_Create_Args& args) {
  args.context = new PJRT_ExecuteContext;
  return {};
}

Status ExecuteContext_Destroy(PJRT_ExecuteContext_Destroy_Args& args) {
  delete args.context;
  return {};
}

}  // namespace tercel::pjrt
