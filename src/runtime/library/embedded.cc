#include "runtime/library/embedded.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "program/files.h"
#include "runtime/engine/c_interface.h"

namespace {

using tercel::Status;

struct DestroyProgram {
  void operator()(tercel_program* program) const { delete program; }
};
using ProgramPtr = std::unique_ptr<tercel_program, DestroyProgram>;

// The programs of this library, or of those linked into this executable. They live as long as the
// library is loaded.
struct Programs {
  std::mutex mutex;
  std::map<const tercel_embedded*, ProgramPtr> loaded;
};

Programs& programs() {
  static Programs all;
  return all;
}

// One thread at a time.
void takeParts(const tercel_embedded& library) {
  for (void (*const* part)(void) = library.parts; *part; ++part) (*part)();
}

[[gnu::cold]] int refuse(const tercel_instance& instance) {
  return tercel::engine::guarded([&] {
    return tercel::invalidArgument("a procedure of another program was given an instance of ",
                                   instance.instance->artifact().artifact().name);
  });
}

}  // namespace

const tercel_api* tercel_embedded_api(const tercel_embedded* library) {
  std::lock_guard lock(programs().mutex);
  takeParts(*library);
  return tercel_get_api();
}

int tercel_embedded_load(const tercel_embedded* library, const tercel_load_options* options,
                         tercel_program** program) {
  if (!program) {
    return tercel::engine::guarded(
        [] { return tercel::invalidArgument("no place for the program"); });
  }
  std::lock_guard lock(programs().mutex);
  takeParts(*library);
  const auto at = programs().loaded.find(library);
  if (at != programs().loaded.end()) {
    *program = at->second.get();
    return TERCEL_OK;
  }
  std::string weights;
  if (options && options->struct_size > offsetof(tercel_load_options, weights_path) &&
      options->weights_path) {
    weights = options->weights_path;
  } else if (library->weights_name) {
    weights = tercel::program::folderOf(library->bytes) + library->weights_name;
  }
  const tercel_load_options own = {sizeof(own), weights.empty() ? nullptr : weights.c_str(), 1};
  if (const int code = tercel_program_load(library->bytes, library->size, &own, program)) {
    return code;
  }
  return tercel::engine::guarded([&] {
    (*program)->library = library;
    programs().loaded[library].reset(*program);
    return Status();
  });
}

int tercel_embedded_create(const tercel_embedded* library, const tercel_instance_options* options,
                           tercel_instance** instance) {
  tercel_program* program = nullptr;
  if (const int code = tercel_embedded_load(library, nullptr, &program)) return code;
  return tercel_instance_create(program, options, instance);
}

int tercel_embedded_call(const tercel_embedded* library, tercel_instance* instance,
                         size_t procedure, const tercel_buffer* arguments, size_t num_arguments,
                         const tercel_buffer* results, size_t num_results) {
  if (instance && instance->library != library) return refuse(*instance);
  return tercel_instance_call(instance, procedure, arguments, num_arguments, results, num_results);
}
