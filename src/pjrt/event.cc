#include "pjrt/entry.h"
#include "pjrt/handles.h"

namespace tercel::pjrt {

Status Event_Destroy(PJRT_Event_Destroy_Args& args) {
  destroy(args.event);
  return {};
}

Status Event_IsReady(PJRT_Event_IsReady_Args& args) {
  args.is_ready = args.event->event.isReady();
  return {};
}

Status Event_Error(PJRT_Event_Error_Args& args) {
  const runtime::Event& event = args.event->event;
  return event.isReady() ? event.status() : Status();
}

Status Event_Await(PJRT_Event_Await_Args& args) { return args.event->event.await(); }

Status Event_OnReady(PJRT_Event_OnReady_Args& args) {
  if (!args.callback) return invalidArgument("PJRT_Event_OnReady: callback is null");
  args.event->event.onReady([callback = args.callback, user_arg = args.user_arg](
                                const Status& status) { callback(makeError(status), user_arg); });
  return {};
}

Status Event_Create(PJRT_Event_Create_Args& args) {
  args.event = wrap(runtime::Event::pending());
  return {};
}

Status Event_Set(PJRT_Event_Set_Args& args) {
  const Code code = codeFrom(args.error_code);
  Status status;
  if (code != Code::ok) {
    status = Status(code, std::string(textOf(args.error_message, args.error_message_size)));
  }
  if (args.event->event.set(std::move(status))) return {};
  return failedPrecondition("PJRT_Event_Set: the event is ready already");
}

}  // namespace tercel::pjrt
