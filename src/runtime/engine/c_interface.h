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
#include "program/tercel_program.h"
#include "runtime/engine/instance.h"

namespace tercel::engine {

// Of the last call on this thread that failed.
inline std::string& lastError() {
  static thread_local std::string message;
  return message;
}

// f()'s code. No exception leaves a C interface.
template <class F>
int guarded(F&& f) noexcept {
  auto report = [](const Status& status) {
    if (!status.ok()) lastError() = status.message();
    return static_cast<int>(status.code());
  };
  try {
    return report(f());
  } catch (const CheckFailure& failure) {
    return report(Status(Code::internal, failure.message));
  } catch (const std::bad_alloc&) {
    lastError() = "no memory";  // short: takes none
    return static_cast<int>(Code::resource_exhausted);
  } catch (const std::exception& exception) {
    return report(Status(Code::internal, exception.what()));
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
