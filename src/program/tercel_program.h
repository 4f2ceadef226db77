/* Running a compiled Tercel program from C: no Python, no compiler.
 *
 * A program has procedures and globals. It is immutable and may be used by any number of threads. An
 * instance has its own values of the globals; procedures are called on an instance, by one thread at
 * a time (a second one is refused with TERCEL_FAILED_PRECONDITION).
 *
 *   tercel_program* program;
 *   tercel_instance* instance;
 *   if (tercel_program_load(bytes, size, NULL, &program)) puts(tercel_error_message());
 *   tercel_instance_create(program, NULL, &instance);
 *   tercel_instance_call(instance, procedure, args, num_args, results, num_results);
 *   tercel_instance_destroy(instance);
 *   tercel_program_destroy(program);
 *
 * Functions return a tercel_code. Arrays are dense and row-major, aligned as their elements are;
 * results at TERCEL_ALIGNMENT bytes save a copy. A call allocates nothing and takes no lock, after
 * the first one with its results so aligned. Only additions will be made to this interface under the
 * same TERCEL_API_VERSION: structs grow at their ends, and struct_size says which of their fields the
 * caller knows.
 */
#ifndef TERCEL_PROGRAM_H
#define TERCEL_PROGRAM_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TERCEL_API_VERSION 2
#define TERCEL_ALIGNMENT 64
#ifndef TERCEL_EXPORT
#define TERCEL_EXPORT __attribute__((visibility("default")))
#endif

typedef enum tercel_code {
  TERCEL_OK = 0,
  TERCEL_UNKNOWN = 2,
  TERCEL_INVALID_ARGUMENT = 3,
  TERCEL_NOT_FOUND = 5,
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

typedef struct tercel_program tercel_program;
typedef struct tercel_instance tercel_instance;

/* Strings and dims below are the program's own memory. In every struct, struct_size = sizeof of the
 * caller's; fields of options that are not set are zero. */
typedef struct tercel_value_info {
  size_t struct_size;
  const char* name; /* its place in the tree, as params.dense.kernel */
  tercel_dtype dtype;
  int32_t rank;
  const int64_t* dims;
  int64_t bytes;
  int32_t is_initialized; /* globals: has a value in the program; else zeros */
  int32_t is_mutable;     /* globals */
} tercel_value_info;

typedef struct tercel_procedure_info {
  size_t struct_size;
  const char* name;
  const char* signature; /* tells apart those of one name */
  const char* tree;      /* how arguments and results are nested, in the words of who saved it */
  size_t num_arguments;
  size_t num_results;
} tercel_procedure_info;

typedef struct tercel_program_info {
  size_t struct_size;
  const char* name;
  const char* target; /* the CPU level that was chosen, as x86-64-v3 */
  size_t num_procedures;
  size_t num_globals;
  int64_t arena_bytes;  /* working memory that an instance needs */
  int64_t globals_bytes; /* and for the values of its mutable globals */
  const char* tree;      /* how the globals are nested, in the words of who saved it */
  int32_t num_threads;   /* of instances whose options do not say */
} tercel_program_info;

typedef struct tercel_buffer {
  void* data;
  size_t bytes; /* at least the value's */
} tercel_buffer;

/* A custom call of the program: anything but TERCEL_OK stops the procedure with that tercel_code;
 * what is none is TERCEL_UNKNOWN. Of a target that it does not serve it returns TERCEL_UNIMPLEMENTED:
 * jax.debug.print then writes to stderr. */
typedef struct tercel_custom_call {
  size_t struct_size;
  const char* target;
  const char* configuration;
  size_t num_operands;
  void* const* operands;
  const int64_t* operand_bytes;
  size_t num_results;
  void* const* results;
  const int64_t* result_bytes;
  const tercel_value_info* operand_types; /* without names; tokens are pred[0] */
  const tercel_value_info* result_types;
} tercel_custom_call;
typedef int (*tercel_custom_call_fn)(void* user_data, const tercel_custom_call* call);

/* Tasks [begin, end) of a loop; may run on any thread, in any order and grouping. */
typedef void (*tercel_task_fn)(void* context, int64_t begin, int64_t end);
/* Has run all `tasks` in groups of `grain` or more when it returns. */
typedef void (*tercel_parallel_for_fn)(void* user_data, int64_t tasks, int64_t grain,
                                       tercel_task_fn task, void* context);

typedef struct tercel_load_options {
  size_t struct_size;
  const char* weights_path; /* the side file of a program that was saved with one */
  int32_t borrow_bytes;     /* 1: `bytes` are aligned to TERCEL_ALIGNMENT and outlive the program */
} tercel_load_options;

typedef struct tercel_instance_options {
  size_t struct_size;
  /* The caller's included; 1: the caller's alone; 0: what the program was saved with, which is 1
   * where nothing was said. */
  int32_t num_threads;
  /* In place of threads of our own. */
  tercel_parallel_for_fn parallel_for;
  void* parallel_for_data;
  /* arena_bytes of the program at least, aligned to TERCEL_ALIGNMENT; stays the caller's. */
  void* arena;
  size_t arena_bytes;
  /* In place of malloc for the instance's own memory, both or neither; aligned to `alignment`. */
  void* (*allocate)(void* user_data, size_t bytes, size_t alignment);
  void (*release)(void* user_data, void* memory);
  void* allocator_data;
  tercel_custom_call_fn custom_call;
  void* custom_call_data;
} tercel_instance_options;

TERCEL_EXPORT int32_t tercel_api_version(void);
/* Of the last call on this thread that failed; valid until the next one fails. */
TERCEL_EXPORT const char* tercel_error_message(void);

/* An artifact that tercel.aot saved, or what PJRT serialised: one procedure, main. `bytes` are copied.
 * They hold native code: load only what you trust. */
TERCEL_EXPORT int tercel_program_load(const void* bytes, size_t size,
                                      const tercel_load_options* options,
                                      tercel_program** program);
/* Maps a file. */
TERCEL_EXPORT int tercel_program_open(const char* path, const tercel_load_options* options,
                                      tercel_program** program);
/* NULL is fine. Its instances may live on. */
TERCEL_EXPORT void tercel_program_destroy(tercel_program* program);

TERCEL_EXPORT int tercel_program_describe(const tercel_program* program,
                                          tercel_program_info* info);
/* TERCEL_NOT_FOUND where an index is out of range. */
TERCEL_EXPORT int tercel_program_global(const tercel_program* program, size_t global,
                                        tercel_value_info* info);
TERCEL_EXPORT int tercel_program_procedure(const tercel_program* program, size_t procedure,
                                           tercel_procedure_info* info);
TERCEL_EXPORT int tercel_program_argument(const tercel_program* program, size_t procedure,
                                          size_t argument, tercel_value_info* info);
TERCEL_EXPORT int tercel_program_result(const tercel_program* program, size_t procedure,
                                        size_t result, tercel_value_info* info);
/* By name; `signature` may be NULL for the first of that name. */
TERCEL_EXPORT int tercel_program_find_procedure(const tercel_program* program, const char* name,
                                                const char* signature, size_t* procedure);
TERCEL_EXPORT int tercel_program_find_global(const tercel_program* program, const char* name,
                                             size_t* global);

TERCEL_EXPORT int tercel_instance_create(tercel_program* program,
                                         const tercel_instance_options* options,
                                         tercel_instance** instance);
TERCEL_EXPORT void tercel_instance_destroy(tercel_instance* instance); /* NULL is fine */
/* One buffer for each argument and result. After an error the globals that the procedure stores are
 * undefined. Results must not overlap the arguments or each other. */
TERCEL_EXPORT int tercel_instance_call(tercel_instance* instance, size_t procedure,
                                       const tercel_buffer* arguments, size_t num_arguments,
                                       const tercel_buffer* results, size_t num_results);
TERCEL_EXPORT int tercel_instance_get_global(const tercel_instance* instance, size_t global,
                                             void* data, size_t bytes);
/* TERCEL_FAILED_PRECONDITION for one that is not mutable. */
TERCEL_EXPORT int tercel_instance_set_global(tercel_instance* instance, size_t global,
                                             const void* data, size_t bytes);
/* The values of all mutable globals; the file appears whole or not at all. */
TERCEL_EXPORT int tercel_instance_save_state(const tercel_instance* instance, const char* path);
/* Of the same program; else TERCEL_INVALID_ARGUMENT, and nothing is changed. */
TERCEL_EXPORT int tercel_instance_load_state(tercel_instance* instance, const char* path);

/* All of the above, for those who find Tercel inside of a library by one symbol of its. */
typedef struct tercel_api {
  size_t struct_size;
  int32_t (*api_version)(void);
  const char* (*error_message)(void);
  int (*program_load)(const void* bytes, size_t size, const tercel_load_options* options,
                      tercel_program** program);
  int (*program_open)(const char* path, const tercel_load_options* options,
                      tercel_program** program);
  void (*program_destroy)(tercel_program* program);
  int (*program_describe)(const tercel_program* program, tercel_program_info* info);
  int (*program_global)(const tercel_program* program, size_t global, tercel_value_info* info);
  int (*program_procedure)(const tercel_program* program, size_t procedure,
                           tercel_procedure_info* info);
  int (*program_argument)(const tercel_program* program, size_t procedure, size_t argument,
                          tercel_value_info* info);
  int (*program_result)(const tercel_program* program, size_t procedure, size_t result,
                        tercel_value_info* info);
  int (*program_find_procedure)(const tercel_program* program, const char* name,
                                const char* signature, size_t* procedure);
  int (*program_find_global)(const tercel_program* program, const char* name, size_t* global);
  int (*instance_create)(tercel_program* program, const tercel_instance_options* options,
                         tercel_instance** instance);
  void (*instance_destroy)(tercel_instance* instance);
  int (*instance_call)(tercel_instance* instance, size_t procedure, const tercel_buffer* arguments,
                       size_t num_arguments, const tercel_buffer* results, size_t num_results);
  int (*instance_get_global)(const tercel_instance* instance, size_t global, void* data,
                             size_t bytes);
  int (*instance_set_global)(tercel_instance* instance, size_t global, const void* data,
                             size_t bytes);
  int (*instance_save_state)(const tercel_instance* instance, const char* path);
  int (*instance_load_state)(tercel_instance* instance, const char* path);
} tercel_api;
TERCEL_EXPORT const tercel_api* tercel_get_api(void);

#ifdef __cplusplus
}
#endif
#endif
