/* tercel_program.h is C: this file is compiled as such and called by program_api_test.cc. */
#include <string.h>

#include "program/tercel_program.h"

int tercelTestLoadFromC(const void* bytes, size_t size, char* name, size_t name_size);

int tercelTestLoadFromC(const void* bytes, size_t size, char* name, size_t name_size) {
  tercel_program* program = NULL;
  tercel_program_info info;
  int code = tercel_program_load(bytes, size, NULL, &program);
  if (code != TERCEL_OK) return code;
  memset(&info, 0, sizeof(info));
  info.struct_size = sizeof(info);
  code = tercel_program_describe(program, &info);
  if (code == TERCEL_OK) strncpy(name, info.name, name_size - 1);
  tercel_program_destroy(program);
  return code;
}
