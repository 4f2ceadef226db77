// Buffer calls that the caller completes later, through a callback which we hand out.
#include "pjrt/entry.h"
#include "pjrt/handles.h"

namespace tercel::pjrt {
namespace {

// A copy that waits for its destination. It holds the bytes, so the buffer may go meanwhile.
struct WaitingCopy {
  ClientRef client;
  runtime::BufferPtr buffer;
  int64_t offset;
  int64_t size;
  runtime::Event done;

  Status start(void* dst) {
    if (!dst && size != 0) return invalidArgument("dst is null");
    TERCEL_ASSIGN(const runtime::Event copied, buffer->copyRawToHost(dst, offset, size));
    copied.onReady([done = done](const Status& status) { done.set(status); });
    return {};
  }
};

// The caller's callbacks have no way to return an error, so theirs must not be thrown either.
template <class Work>
Status caught(Work work) noexcept try {
  return work();
} catch (...) {
  return Status(Code::resource_exhausted, "out of memory");
}

template <class Args>
Status statusOf(const Args& args) {
  const Code code = codeFrom(args.error_code);
  if (code == Code::ok) return {};
  return Status(code, std::string(textOf(args.error_message, args.error_message_size)));
}

void destinationReady(PJRT_Buffer_CopyRawToHostFuture_Callback_Args* args) {
  const std::unique_ptr<WaitingCopy> copy(static_cast<WaitingCopy*>(args->callback_data));
  Status status = caught([&]() -> Status {
    TERCEL_TRY(statusOf(*args));
    return copy->start(args->dst);
  });
  if (!status.ok()) copy->done.set(std::move(status));
}

void dependencyReady(PJRT_Buffer_DonateWithControlDependency_Callback_Args* args) {
  const std::unique_ptr<runtime::Event> dependency(
      static_cast<runtime::Event*>(args->callback_data));
  dependency->set(caught([&] { return statusOf(*args); }));
}

}  // namespace

Status Buffer_CopyRawToHostFuture(PJRT_Buffer_CopyRawToHostFuture_Args& args) {
  const runtime::Buffer& buffer = *args.buffer->buffer;
  TERCEL_ASSIGN(auto same, buffer.bitcast(buffer.type()));
  auto copy = std::make_unique<WaitingCopy>(args.buffer->client, std::move(same), args.offset,
                                            args.transfer_size, runtime::Event::pending());
  args.event = wrap(copy->done);
  args.callback_data = copy.release();
  args.future_ready_callback = destinationReady;
  return {};
}

Status Buffer_DonateWithControlDependency(PJRT_Buffer_DonateWithControlDependency_Args& args) {
  auto dependency = std::make_unique<runtime::Event>(runtime::Event::pending());
  TERCEL_ASSIGN(auto donated, args.buffer->buffer->donateAfter(*dependency));
  args.out_buffer = wrap(args.buffer->client, std::move(donated));
  args.callback_data = dependency.release();
  args.dependency_ready_callback = dependencyReady;
  return {};
}

}  // namespace tercel::pjrt
