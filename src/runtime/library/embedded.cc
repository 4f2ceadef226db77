#include "runtime/library/embedded.h"

#include <dlfcn.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/engine/error_message.h"

namespace {

using tercel::Status;

struct DestroyProgram {
  void operator()(tercel_program* program) const { tercel_program_destroy(program); }
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

// Beside the library or executable that the artifact lies in.
std::string weightsPath(const tercel_embedded* library) {
  Dl_info place;
  if (!dladdr(library->bytes, &place) || !place.dli_fname) return library->weights_name;
  const std::string file = place.dli_fname;
  return file.substr(0, file.rfind('/') + 1) + library->weights_name;
}

}  // namespace

int tercel_embedded_load(const tercel_embedded* library, const tercel_load_options* options,
                         tercel_program** program) {
  std::lock_guard lock(programs().mutex);
  for (void (*const* part)(void) = library->parts; *part; ++part) (*part)();
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
    weights = weightsPath(library);
  }
  const tercel_load_options own = {sizeof(own), weights.empty() ? nullptr : weights.c_str(), 1};
  if (const int code = tercel_program_load(library->bytes, library->size, &own, program)) {
    return code;
  }
  return tercel::engine::guarded([&] {
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
