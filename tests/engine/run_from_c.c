/* run_from_c PROGRAM INPUTS RESULTS: runs the first procedure of a program file from C. The
 * arguments' bytes follow one another in INPUTS, the results' in RESULTS. */
#include <stdio.h>
#include <stdlib.h>

#include "program/tercel_program.h"

static void stop(const char* what, const char* why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

static void check(int code) {
  if (code) stop("error", tercel_error_message());
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

static tercel_buffer newArray(int64_t bytes) {
  size_t rounded = ((size_t)bytes + TERCEL_ALIGNMENT) / TERCEL_ALIGNMENT * TERCEL_ALIGNMENT;
  tercel_buffer buffer;
  buffer.data = aligned_alloc(TERCEL_ALIGNMENT, rounded);
  buffer.bytes = (size_t)bytes;
  if (!buffer.data) stop("memory", "none left");
  return buffer;
}

int main(int count, char** names) {
  size_t input_size, i, at = 0;
  char* inputs;
  tercel_program* program;
  tercel_instance* instance;
  tercel_procedure_info procedure;
  tercel_value_info value;
  tercel_buffer *args, *results;
  FILE* out;
  if (count != 4) stop("usage", "run_from_c PROGRAM INPUTS RESULTS");
  inputs = readFile(names[2], &input_size);
  check(tercel_program_open(names[1], NULL, &program));
  check(tercel_instance_create(program, NULL, &instance));
  procedure.struct_size = sizeof(procedure);
  value.struct_size = sizeof(value);
  check(tercel_program_procedure(program, 0, &procedure));
  args = calloc(procedure.num_arguments + 1, sizeof(tercel_buffer));
  results = calloc(procedure.num_results + 1, sizeof(tercel_buffer));
  for (i = 0; i < procedure.num_arguments; ++i) {
    check(tercel_program_argument(program, 0, i, &value));
    if (at + (size_t)value.bytes > input_size) stop(names[2], "too short");
    args[i].data = inputs + at;
    args[i].bytes = (size_t)value.bytes;
    at += (size_t)value.bytes;
  }
  for (i = 0; i < procedure.num_results; ++i) {
    check(tercel_program_result(program, 0, i, &value));
    results[i] = newArray(value.bytes);
  }
  check(tercel_instance_call(instance, 0, args, procedure.num_arguments, results,
                             procedure.num_results));
  out = fopen(names[3], "wb");
  if (!out) stop(names[3], "cannot be written");
  for (i = 0; i < procedure.num_results; ++i) {
    fwrite(results[i].data, 1, results[i].bytes, out);
    free(results[i].data);
  }
  fclose(out);
  free(args);
  free(results);
  free(inputs);
  tercel_instance_destroy(instance);
  tercel_program_destroy(program);
  return 0;
}
