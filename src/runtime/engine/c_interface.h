// The edge of our C interfaces: errors as a code and words that the thread keeps, structs that tell
// their size.
#pragma once
#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>

#include "core/status.h"
#include "core/thread_exit.h"
#include "program/tercel_program.h"
#include "runtime/engine/instance.h"

namespace tercel::engine {

// Of the last call on this thread that failed. Null where there is no memory for it.
inline std::string* lastError() {
  static thread_local constinit bool is_noted = false;
  if (!is_noted && !hasMemoryToNoteDestructor()) return nullptr;
  is_noted = true;
  static thread_local std::string message;
  return &message;
}
inline void noteError(const std::string& message) noexcept {
  std::string* last = lastError();
  try {
    if (last) *last = message;
  } catch (const std::bad_alloc&) {
    *last = "no memory";  // short: takes none
  }
}

// f()'s code. No exception leaves a C interface.
template <class F>
int guarded(F&& f) noexcept {
  try {
    try {
      const Status status = f();
      if (!status.ok()) noteError(status.message());
      return static_cast<int>(status.code());
    } catch (const CheckFailure& failure) {
      noteError(failure.message);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& exception) {
      noteError(exception.what());
    }
    return static_cast<int>(Code::internal);
  } catch (const std::bad_alloc&) {
    noteError("no memory");
    return static_cast<int>(Code::resource_exhausted);
  }
}

// A struct whose size its caller forgot to set would have no fields.
template <class Struct>
Status checkSize(const Struct& given) {
  constexpr size_t kWithOneField = 2 * sizeof(size_t);
  if (given.struct_size >= kWithOneField) return Status();
  return invalidArgument("struct_size is ", given.struct_size, ", not the size of the struct");
}

// The caller's options, of which an older caller has only the first fields.
template <class Options>
Result<Options> ownCopy(const Options* options) {
  Options copy = {};
  if (!options) return copy;
  TERCEL_TRY(checkSize(*options));
  std::memcpy(&copy, options, std::min(options->struct_size, sizeof(copy)));
  return copy;
}

}  // namespace tercel::engine

struct tercel_program {
  std::shared_ptr<const tercel::engine::LoadedArtifact> loaded;
  const void* library = nullptr;  // that keeps it, whoever else destroys it
};

struct tercel_instance {
  const void* library = nullptr;  // its program's
  tercel_instance_options options;
  std::unique_ptr<tercel::engine::Instance> instance;
};
