// Tells profilers and debuggers what lies where in generated code.
#pragma once
#include "runtime/engine/object_loader.h"

namespace tercel::engine {

// Appends the symbols of `code` to /tmp/perf-<pid>.map, which perf reads, and shows them to gdb by its
// JIT interface. Whatever fails is only logged. The names stay for the life of the process.
void announceCode(const LoadedCode& code);

}  // namespace tercel::engine
