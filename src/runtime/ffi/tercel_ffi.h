/* How handlers of custom calls reach Tercel from outside of PJRT, whose own extension takes less.
 * Everything is for the whole process, at any time, from any thread.
 *
 * A function that can fail returns NULL or a message, valid until the next failure on the thread.
 */
#ifndef TERCEL_FFI_H
#define TERCEL_FFI_H
#include <stddef.h>
#include <stdint.h>

#include "program/tercel_program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One XLA_FFI_Handler* for each stage; all but execute may be null. */
TERCEL_EXPORT const char* tercel_ffi_register_handler(const char* target, void* instantiate,
                                                      void* prepare, void* initialize,
                                                      void* execute);
/* A function of StableHLO's API versions 1 to 3: (void* result, const void** operands, ...). */
TERCEL_EXPORT const char* tercel_ffi_register_untyped(const char* target, void* function);
/* type_id: in and out, 0 asks for one. type_info: an XLA_FFI_TypeInfo* or null. */
TERCEL_EXPORT const char* tercel_ffi_register_type(const char* name, int64_t* type_id,
                                                   const void* type_info);

/* Called before the first call of each custom call whose handler's name begins with lapack_:
 * jaxlib's crash until it has looked for LAPACK, which takes too long to be done in vain. */
typedef void (*tercel_ffi_lapack_fn)(void);
TERCEL_EXPORT void tercel_ffi_set_lapack(tercel_ffi_lapack_fn initialize);

/* Calls a Python function (a borrowed PyObject*) on arrays.
 * types: of the operands, then, after ">", of the results, with spaces between:
 *   "f32[2,3] token > f32[]"
 * buffers: of all of them, in that order; in_place: the function writes the results itself
 * Anything but 0 is a failure, of which tercel_ffi_python_failed(call, ...) was told. */
typedef int (*tercel_ffi_python_fn)(void* function, const char* types, int in_place,
                                    void* const* buffers, void* call);
TERCEL_EXPORT void tercel_ffi_set_python(tercel_ffi_python_fn trampoline);
TERCEL_EXPORT void tercel_ffi_python_failed(void* call, const char* message, size_t size);

/* The number of the work that the devices' queues took last, and whether any up to that number is
 * unfinished. It may call Python, whose interpreter is to wait for it before it ends. */
TERCEL_EXPORT int64_t tercel_ffi_last_work(void);
TERCEL_EXPORT int tercel_ffi_is_unfinished(int64_t last);

#ifdef __cplusplus
}
#endif
#endif
