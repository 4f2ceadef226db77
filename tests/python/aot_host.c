/* Calls every procedure of the library `cases` with arguments from a file, and writes the results to
 * another: arrays one after the other. */
#include <stdio.h>
#include <stdlib.h>

#include "cases.h"

#define CHECK(call)                                                            \
  if (call) return fprintf(stderr, "%s: %s\n", #call, cases_error_message()), 1

static void* room(int64_t bytes) { return aligned_alloc(64, ((size_t)bytes + 64) / 64 * 64); }

static int run(const tercel_api* api, const tercel_program* program, tercel_instance* instance,
               size_t procedure, FILE* in, FILE* out) {
  tercel_procedure_info facts = {sizeof facts};
  CHECK(api->program_procedure(program, procedure, &facts));
  tercel_buffer values[64];
  for (size_t i = 0; i < facts.num_arguments; ++i) {
    tercel_value_info value = {sizeof value};
    CHECK(api->program_argument(program, procedure, i, &value));
    values[i] = (tercel_buffer){room(value.bytes), (size_t)value.bytes};
    if (fread(values[i].data, 1, values[i].bytes, in) != values[i].bytes) return puts("input"), 1;
  }
  tercel_buffer* results = values + facts.num_arguments;
  for (size_t i = 0; i < facts.num_results; ++i) {
    tercel_value_info value = {sizeof value};
    CHECK(api->program_result(program, procedure, i, &value));
    results[i] = (tercel_buffer){room(value.bytes), (size_t)value.bytes};
  }
  CHECK(api->instance_call(instance, procedure, values, facts.num_arguments, results,
                           facts.num_results));
  for (size_t i = 0; i < facts.num_results; ++i) {
    if (fwrite(results[i].data, 1, results[i].bytes, out) != results[i].bytes) return 1;
  }
  for (size_t i = 0; i < facts.num_arguments + facts.num_results; ++i) free(values[i].data);
  return 0;
}

int main(int count, char** words) {
  if (count != 4) return 1;
  FILE *in = fopen(words[1], "rb"), *out = fopen(words[2], "wb");
  if (!in || !out) return perror("files"), 1;
  const tercel_api* api = cases_api();
  tercel_load_options load = {sizeof load};
  tercel_program* program;
  CHECK(cases_load(&load, &program));
  tercel_program_info facts = {sizeof facts};
  CHECK(api->program_describe(program, &facts));
  tercel_instance_options options = {sizeof options};
  options.num_threads = atoi(words[3]);
  tercel_instance* instance;
  CHECK(cases_create(&options, &instance));
  for (size_t procedure = 0; procedure < facts.num_procedures; ++procedure) {
    if (run(api, program, instance, procedure, in, out)) return 1;
  }
  cases_destroy(instance);
  puts(facts.target);
  return fclose(out) != 0;
}
