// Custom calls whose work is a Python function. JAX puts its functions into a table that it hands
// over with each execution; a call names one by its index.
//
// The plugin knows nothing of Python: what makes arrays of memory and calls the function is a
// trampoline that the tercel package has set (registration.py), through ctypes, which takes the
// interpreter's lock for it. So the library needs no libpython, works with every Python that JAX
// does, and what depends on NumPy is written in Python.
#pragma once
#include <string_view>

#include "core/status.h"
#include "runtime/ffi/attributes.h"
#include "runtime/ffi/context.h"

namespace tercel::ffi {

bool isPythonCallback(std::string_view target);
// False until the trampoline is set.
bool canCallPython();

class PythonCallback {
 public:
  static Result<PythonCallback> create(const engine::CustomCall& call,
                                       const Attributes& attributes);
  Status run(const engine::CustomCall& call, const UserData* user_data) const;

 private:
  uint64_t index_ = 0;
  bool in_place_ = false;
  std::string types_;  // for the trampoline
};

}  // namespace tercel::ffi
