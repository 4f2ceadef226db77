/* What a library that tercel.aot saved calls: its own artifact lies inside of it. */
#ifndef TERCEL_EMBEDDED_H
#define TERCEL_EMBEDDED_H
#include "program/tercel_program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Written by compiler/codegen/library_code.cc: the two change together. */
typedef struct tercel_embedded {
  const void* bytes; /* of the artifact, aligned to TERCEL_ALIGNMENT */
  size_t size;
  const char* weights_name; /* of the file beside the library; NULL where the weights are inside */
  void (*const* parts)(void); /* that the program needs, of those below; ends with NULL */
} tercel_embedded;

TERCEL_EXPORT void tercel_part_fft_f32(void);
TERCEL_EXPORT void tercel_part_fft_f64(void);
TERCEL_EXPORT void tercel_part_sort(void);
TERCEL_EXPORT void tercel_part_debug_print(void);
/* and tercel_part_<target> for each target of runtime/linalg/functions.def. Of x86-64, what the
 * parts' kernels are compiled for: */
TERCEL_EXPORT void tercel_part_baseline(void);
TERCEL_EXPORT void tercel_part_avx2(void);
TERCEL_EXPORT void tercel_part_avx512(void);

/* tercel_get_api, whose functions have what the library's program needs. */
TERCEL_EXPORT const tercel_api* tercel_embedded_api(const tercel_embedded* library);
/* Loads the program where it is not: `options` are looked at only then. It stays the library's. */
TERCEL_EXPORT int tercel_embedded_load(const tercel_embedded* library,
                                       const tercel_load_options* options,
                                       tercel_program** program);
TERCEL_EXPORT int tercel_embedded_create(const tercel_embedded* library,
                                         const tercel_instance_options* options,
                                         tercel_instance** instance);
/* tercel_instance_call where the instance is of this library's program; INVALID_ARGUMENT else. */
TERCEL_EXPORT int tercel_embedded_call(const tercel_embedded* library, tercel_instance* instance,
                                       size_t procedure, const tercel_buffer* arguments,
                                       size_t num_arguments, const tercel_buffer* results,
                                       size_t num_results);

#ifdef __cplusplus
}
#endif
#endif
