// The object that makes an artifact a library: its bytes, and C functions that call the engine.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/codegen/codegen.h"

namespace tercel::codegen {

struct LibraryProcedure {
  std::string name;  // in C, without the library's
  size_t arguments = 0;
  size_t results = 0;
};

struct LibraryCode {
  std::string name;
  std::span<const std::byte> artifact;
  std::string weights_name;  // of the side file; empty: none
  std::vector<LibraryProcedure> procedures;
  std::vector<std::string> parts;  // of the engine that it needs: fft, sort
};

// Whether a library has a function of that name besides its procedures, as <name>_create.
bool isLibraryFunction(std::string_view name);

// For any CPU of the architecture. Its symbols are <name>_create and the like; it needs those of
// tercel_program.h and runtime/library/embedded.h.
Result<ObjectCode> compileLibraryCode(const LibraryCode& library, Architecture architecture);

// A static library of object files; its members have the files' names.
Result<std::vector<std::byte>> archiveOf(const std::vector<std::string>& objects);

}  // namespace tercel::codegen
