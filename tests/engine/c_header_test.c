/* tercel.h is C: this file is compiled as such and called by c_api_test.cc. */
#include <string.h>

#include "program/tercel.h"

int tercelTestLoadFromC(const void* bytes, size_t size, char* name, size_t name_size);

int tercelTestLoadFromC(const void* bytes, size_t size, char* name, size_t name_size) {
  tercel_load_options options;
  tercel_program* program = NULL;
  int code;
  memset(&options, 0, sizeof(options));
  options.struct_size = sizeof(options);
  options.num_threads = 1;
  code = tercel_program_load(bytes, size, &options, &program);
  if (code != TERCEL_OK) return code;
  strncpy(name, tercel_program_name(program), name_size - 1);
  tercel_program_destroy(program);
  return TERCEL_OK;
}
