/* Running a compiled Tercel program from C: no Python, no compiler. Link with Tercel's engine.
 *
 *   tercel_program* program;
 *   if (tercel_program_load(bytes, size, NULL, &program)) puts(tercel_error_message());
 *   tercel_program_run(program, args, results, NULL);
 *   tercel_program_destroy(program);
 *
 * Arrays are dense and row-major, aligned as their elements are; results at TERCEL_ALIGNMENT bytes
 * save a copy. A program may run on several threads at once. Only additions will be made to this
 * interface under the same TERCEL_API_VERSION.
 */
#ifndef TERCEL_H
#define TERCEL_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TERCEL_API_VERSION 1
#define TERCEL_ALIGNMENT 64
#define TERCEL_EXPORT __attribute__((visibility("default")))

typedef enum tercel_code {
  TERCEL_OK = 0,
  TERCEL_UNKNOWN = 2,
  TERCEL_INVALID_ARGUMENT = 3,
  TERCEL_RESOURCE_EXHAUSTED = 8,
  TERCEL_FAILED_PRECONDITION = 9,
  TERCEL_UNIMPLEMENTED = 12,
  TERCEL_INTERNAL = 13,
  TERCEL_DATA_LOSS = 15
} tercel_code; /* other numbers are possible: all but 0 are errors */

typedef enum tercel_dtype {
  TERCEL_PRED, /* one byte, 0 or 1 */
  TERCEL_S8, TERCEL_S16, TERCEL_S32, TERCEL_S64,
  TERCEL_U8, TERCEL_U16, TERCEL_U32, TERCEL_U64,
  TERCEL_F16, TERCEL_BF16, TERCEL_F32, TERCEL_F64,
  TERCEL_C64, TERCEL_C128,
  /* A byte for each value, in its lowest bits; the others are zeros. */
  TERCEL_S2, TERCEL_S4, TERCEL_U2, TERCEL_U4, TERCEL_F4E2M1FN, TERCEL_F6E2M3FN, TERCEL_F6E3M2FN,
  TERCEL_F8E3M4, TERCEL_F8E4M3, TERCEL_F8E4M3B11FNUZ, TERCEL_F8E4M3FN, TERCEL_F8E4M3FNUZ,
  TERCEL_F8E5M2, TERCEL_F8E5M2FNUZ, TERCEL_F8E8M0FNU
} tercel_dtype;

typedef struct tercel_array_type {
  tercel_dtype dtype;
  int32_t rank;
  const int64_t* dims;    /* the program's own memory */
  int64_t bytes;
  int32_t aliased_result; /* arguments: the result that may be given the same pointer, else -1 */
} tercel_array_type;

typedef struct tercel_custom_call {
  const char* target;
  const char* configuration;
  size_t num_operands;
  void* const* operands;
  const int64_t* operand_bytes;
  size_t num_results;
  void* const* results;
  const int64_t* result_bytes;
} tercel_custom_call;

/* Runs a custom call; anything but TERCEL_OK stops the program with that code. */
typedef int (*tercel_custom_call_fn)(void* user_data, const tercel_custom_call* call);

/* struct_size = sizeof of the caller's; zero every field that is not set. */
typedef struct tercel_load_options {
  size_t struct_size;
  int32_t num_threads; /* of the program, the caller's included; 0: one pool for all programs */
} tercel_load_options;

typedef struct tercel_run_options {
  size_t struct_size;
  tercel_custom_call_fn custom_call;
  void* user_data;
} tercel_run_options;

typedef struct tercel_program tercel_program;

TERCEL_EXPORT int32_t tercel_api_version(void);
/* Of the last call on this thread that failed; valid until the next one fails. */
TERCEL_EXPORT const char* tercel_error_message(void);

/* `bytes` need not outlive the call. They hold native code: load only what you trust. */
TERCEL_EXPORT int tercel_program_load(const void* bytes, size_t size,
                                      const tercel_load_options* options,
                                      tercel_program** program);
TERCEL_EXPORT void tercel_program_destroy(tercel_program* program); /* NULL is fine */

TERCEL_EXPORT const char* tercel_program_name(const tercel_program* program);
TERCEL_EXPORT size_t tercel_program_num_arguments(const tercel_program* program);
TERCEL_EXPORT size_t tercel_program_num_results(const tercel_program* program);
/* TERCEL_INVALID_ARGUMENT where `index` is out of range. */
TERCEL_EXPORT int tercel_program_argument(const tercel_program* program, size_t index,
                                          tercel_array_type* type);
TERCEL_EXPORT int tercel_program_result(const tercel_program* program, size_t index,
                                        tercel_array_type* type);

/* One pointer for each argument and each result. Arguments are only read, unless the same pointer
 * is given for their aliased_result. */
TERCEL_EXPORT int tercel_program_run(const tercel_program* program, void* const* args,
                                     void* const* results, const tercel_run_options* options);

#ifdef __cplusplus
}
#endif
#endif
