/* Making artifacts: a program of several procedures that share globals, compiled for one or more
 * CPU levels. In the plugin only; tercel_program.h runs what is made here.
 *
 *   tercel_artifact_create("mnist", &artifact);
 *   tercel_artifact_add_global(artifact, &weights);
 *   tercel_artifact_add_procedure(artifact, &predict);
 *   tercel_artifact_compile(artifact, "native");
 *   tercel_artifact_save(artifact, "mnist.tercel");
 *   tercel_artifact_save_library(artifact, "out", NULL);
 *   tercel_artifact_destroy(artifact);
 *
 * Functions return a tercel_code; tercel_error_message() has the words. An artifact is for one
 * thread at a time. Strings and arrays are copied.
 */
#ifndef TERCEL_AOT_H
#define TERCEL_AOT_H
#include "program/tercel_program.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tercel_artifact tercel_artifact;

/* struct_size = sizeof of the caller's; zero every field that is not set. */
typedef struct tercel_global_spec {
  size_t struct_size;
  const char* name; /* its place in the tree, as params.dense.kernel; unique */
  tercel_dtype dtype;
  int32_t rank;
  const int64_t* dims;
  const void* data;   /* NULL: not initialised, and zeros in a new instance */
  int32_t is_mutable; /* procedures may store into it */
} tercel_global_spec;

typedef struct tercel_value_spec {
  const char* name; /* its place in the tree, as x or batch.labels */
  tercel_dtype dtype;
  int32_t rank;
  const int64_t* dims;
} tercel_value_spec;

typedef struct tercel_shape_spec {
  int32_t rank; /* -1: as the module says */
  const int64_t* dims;
} tercel_shape_spec;

typedef struct tercel_procedure_spec {
  size_t struct_size;
  const char* name;      /* a C identifier; several signatures may share it */
  const char* signature; /* what tells signatures of one name apart, as batch8; "" where alone */
  /* A portable artifact of StableHLO. Its main takes the values of `used`, then the arguments, and
   * gives the results, then the new values of `stored`. */
  const void* module;
  size_t module_size;
  size_t num_used;
  const int32_t* used; /* globals, in the order they were added */
  size_t num_stored;
  const int32_t* stored;
  /* Where both `arguments` and `results` are NULL, all of main's, as argument0 and result0. */
  size_t num_arguments;
  const tercel_value_spec* arguments;
  size_t num_results;
  const tercel_value_spec* results;
  const char* tree; /* for the caller of Python's: how arguments and results are nested; any text */
  /* Where arguments and results are taken from main: the shapes of its first arguments, for a
   * module that leaves sizes open, as jax.export's with symbolic dimensions; FAILED_PRECONDITION
   * where one is missing. The module's own checks of them are made by tercel_artifact_compile. */
  size_t num_shapes;
  const tercel_shape_spec* shapes;
  /* There, too: of a module for several platforms, as jax.export's can be, whose main takes the
   * number of a platform before all else: that number. NULL: of one platform. */
  const int32_t* platform;
} tercel_procedure_spec;

typedef struct tercel_library_options {
  size_t struct_size;
  int32_t side_file; /* 1: the globals' values go to <name>.weights, which is mapped at load */
  const char* runtime_directory; /* of tercel-ld; NULL: aot beside this library */
} tercel_library_options;

TERCEL_EXPORT int tercel_artifact_create(const char* name, tercel_artifact** artifact);
/* From what tercel_artifact_serialize wrote; or tercel_artifact_save_apart, whose weights lie in the
 * file weights_path, else NULL. */
TERCEL_EXPORT int tercel_artifact_parse(const void* bytes, size_t size, const char* weights_path,
                                        tercel_artifact** artifact);
TERCEL_EXPORT void tercel_artifact_destroy(tercel_artifact* artifact);

/* How the globals are nested, for the caller of Python's: any text. */
TERCEL_EXPORT int tercel_artifact_set_tree(tercel_artifact* artifact, const char* tree);
TERCEL_EXPORT int tercel_artifact_add_global(tercel_artifact* artifact,
                                             const tercel_global_spec* spec);
/* Reads and checks the module: TERCEL_UNIMPLEMENTED names what cannot leave Python. */
TERCEL_EXPORT int tercel_artifact_add_procedure(tercel_artifact* artifact,
                                                const tercel_procedure_spec* spec);
/* For tercel_artifact_compile; 2 where it is not set. 0: what must be done; 1: the program's arithmetic
 * as it is written; 2: what the plugin does; 3: with LLVM's highest level. What was compiled before is
 * dropped. */
TERCEL_EXPORT int tercel_artifact_set_optimization_level(tercel_artifact* artifact, int32_t level);
/* Of instances whose options do not say; 1, the caller's alone, where it is not set. */
TERCEL_EXPORT int tercel_artifact_set_num_threads(tercel_artifact* artifact, int32_t num_threads);
/* Compiles every procedure for each of `targets`: "native" or a list as
 * "aarch64,x86-64-v2,x86-64-v4", of which a machine takes the highest that it can run. What was
 * compiled before is dropped. */
TERCEL_EXPORT int tercel_artifact_compile(tercel_artifact* artifact, const char* targets);

/* `bytes` is to be given back by tercel_free. */
TERCEL_EXPORT int tercel_artifact_serialize(const tercel_artifact* artifact, void** bytes,
                                            size_t* size);
TERCEL_EXPORT void tercel_free(void* bytes);
/* One file; appears whole or not at all. */
TERCEL_EXPORT int tercel_artifact_save(const tercel_artifact* artifact, const char* path);
/* The globals' values and large constants into a file of their own, which tercel_load_options name
 * and which is mapped into memory. */
TERCEL_EXPORT int tercel_artifact_save_apart(const tercel_artifact* artifact, const char* path,
                                             const char* weights_path);
/* <name>.so, <name>.a, <name>.h, <name>.hpp, tercel_program.h and <name>.cmake in a directory that
 * is made where it lacks. */
TERCEL_EXPORT int tercel_artifact_save_library(const tercel_artifact* artifact,
                                               const char* directory,
                                               const tercel_library_options* options);

#ifdef __cplusplus
}
#endif
#endif
