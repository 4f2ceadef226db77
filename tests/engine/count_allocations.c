/* count_allocations ARTIFACT: calls each procedure of an artifact of programs without state and
 * prints for each "NAME ALLOCATIONS ALLOCATIONS LOCKS": of its first call, then of its second. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/tercel_program.h"

static long allocations, locks;

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

void* malloc(size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  ++allocations;
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, size_t bytes) {
  ++allocations;
  return __libc_realloc(memory, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  ++allocations;
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  *memory = aligned_alloc(alignment, bytes);
  return *memory ? 0 : 12;
}
int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static int (*lock)(pthread_mutex_t*);
  if (!lock) *(void**)&lock = dlsym(RTLD_NEXT, "pthread_mutex_lock");
  ++locks;
  return lock(mutex);
}

static void check(int code) {
  if (!code) return;
  fprintf(stderr, "error: %s\n", tercel_error_message());
  exit(1);
}

/* The host's functions, as quiet as the engine's: each result is the operand of its number. */
static int serve(void* data, const tercel_custom_call* call) {
  size_t i;
  (void)data;
  for (i = 0; i < call->num_results; ++i)
    memcpy(call->results[i], call->operands[i], (size_t)call->result_bytes[i]);
  return TERCEL_OK;
}

/* Floats between 0 and 1, other numbers of them small: matrices of them have all decompositions. */
static void fill(char* data, const tercel_value_info* value) {
  int64_t i;
  unsigned state = 12345;
  const int is_float = value->dtype == TERCEL_F32;
  for (i = 0; i + 4 <= value->bytes; i += 4) {
    const unsigned number = (state = state * 1664525u + 1013904223u) >> 8;
    const float real = (float)number / (1 << 24);
    const unsigned small = number % 1000;
    memcpy(data + i, is_float ? (const void*)&real : (const void*)&small, 4);
  }
}

static tercel_buffer newBuffer(const tercel_value_info* value) {
  tercel_buffer buffer;
  buffer.bytes = (size_t)value->bytes;
  buffer.data = aligned_alloc(TERCEL_ALIGNMENT, (buffer.bytes + 64) / 64 * 64);
  if (!buffer.data) exit(1);
  fill(buffer.data, value);
  return buffer;
}

static void count(tercel_program* program, tercel_instance* instance, size_t number) {
  tercel_procedure_info procedure = {sizeof(procedure)};
  tercel_value_info value = {sizeof(value)};
  tercel_buffer arguments[8], results[8];
  long first = 0;
  size_t i;
  check(tercel_program_procedure(program, number, &procedure));
  if (procedure.num_arguments > 8 || procedure.num_results > 8) exit(1);
  for (i = 0; i < procedure.num_arguments; ++i) {
    check(tercel_program_argument(program, number, i, &value));
    arguments[i] = newBuffer(&value);
  }
  for (i = 0; i < procedure.num_results; ++i) {
    check(tercel_program_result(program, number, i, &value));
    results[i] = newBuffer(&value);
  }
  for (i = 0; i < 2; ++i) {
    first = allocations;
    allocations = locks = 0;
    check(tercel_instance_call(instance, number, arguments, procedure.num_arguments, results,
                               procedure.num_results));
  }
  printf("%s %ld %ld %ld\n", procedure.name, first, allocations, locks);
}

int main(int argc, char** argv) {
  tercel_program* program;
  tercel_instance* instance;
  tercel_program_info info = {sizeof(info)};
  tercel_instance_options options = {sizeof(options)};
  size_t i;
  if (argc != 2) return 1;
  options.custom_call = serve;
  check(tercel_program_open(argv[1], NULL, &program));
  check(tercel_instance_create(program, &options, &instance));
  check(tercel_program_describe(program, &info));
  for (i = 0; i < info.num_procedures; ++i) count(program, instance, i);
  tercel_instance_destroy(instance);
  tercel_program_destroy(program);
  return 0;
}
