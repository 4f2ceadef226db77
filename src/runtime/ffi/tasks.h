// Threads for the tasks that handlers schedule.
#pragma once
#include "runtime/ffi/abi.h"

namespace tercel::ffi {

// Runs task(data) on one of at most `threads` threads of the process that exist for this: a task
// may wait for another, so they must not be those that loops of kernels count on. Runs it at once on
// the caller where there is no thread to be had.
void schedule(XLA_FFI_Task* task, void* data, int threads);

}  // namespace tercel::ffi
