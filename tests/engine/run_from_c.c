/* run_from_c PROGRAM INPUTS RESULTS: runs a program file from C. The arguments' bytes follow one
 * another in INPUTS, the results' in RESULTS. */
#include <stdio.h>
#include <stdlib.h>

#include "program/tercel.h"

static void stop(const char* what, const char* why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

static void* readFile(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  void* bytes;
  long length;
  if (!file) stop(path, "cannot be opened");
  fseek(file, 0, SEEK_END);
  length = ftell(file);
  rewind(file);
  bytes = malloc((size_t)length + 1);
  if (!bytes || fread(bytes, 1, (size_t)length, file) != (size_t)length) stop(path, "not read");
  fclose(file);
  *size = (size_t)length;
  return bytes;
}

static void* newArray(int64_t bytes) {
  size_t rounded = ((size_t)bytes + TERCEL_ALIGNMENT) / TERCEL_ALIGNMENT * TERCEL_ALIGNMENT;
  void* data = aligned_alloc(TERCEL_ALIGNMENT, rounded);
  if (!data) stop("memory", "none left");
  return data;
}

int main(int count, char** names) {
  size_t program_size, input_size, i, at = 0;
  char *file, *inputs;
  tercel_program* program;
  tercel_array_type type;
  void **args, **results;
  FILE* out;
  if (count != 4) stop("usage", "run_from_c PROGRAM INPUTS RESULTS");
  file = readFile(names[1], &program_size);
  inputs = readFile(names[2], &input_size);
  if (tercel_program_load(file, program_size, NULL, &program)) stop("load", tercel_error_message());
  free(file);
  args = calloc(tercel_program_num_arguments(program) + 1, sizeof(void*));
  results = calloc(tercel_program_num_results(program) + 1, sizeof(void*));
  for (i = 0; i < tercel_program_num_arguments(program); ++i) {
    tercel_program_argument(program, i, &type);
    if (at + (size_t)type.bytes > input_size) stop(names[2], "too short");
    args[i] = inputs + at;
    at += (size_t)type.bytes;
  }
  for (i = 0; i < tercel_program_num_results(program); ++i) {
    tercel_program_result(program, i, &type);
    results[i] = newArray(type.bytes);
  }
  if (tercel_program_run(program, args, results, NULL)) stop("run", tercel_error_message());
  out = fopen(names[3], "wb");
  if (!out) stop(names[3], "cannot be written");
  for (i = 0; i < tercel_program_num_results(program); ++i) {
    tercel_program_result(program, i, &type);
    fwrite(results[i], 1, (size_t)type.bytes, out);
    free(results[i]);
  }
  fclose(out);
  free(args);
  free(results);
  free(inputs);
  tercel_program_destroy(program);
  return 0;
}
