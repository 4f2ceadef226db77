// An artifact as a library for C and C++: <name>.so and <name>.a, which need neither each other nor
// anything of ours, their headers, and what CMake wants to know.
#pragma once
#include <string>

#include "core/status.h"
#include "program/artifact.h"

namespace tercel::aot {

struct LibraryOptions {
  bool side_file = false;      // the globals' values in <name>.weights
  std::string runtime_folder;  // of tercel-ld, and of a folder for each architecture
};

// Makes the folder where it lacks; its files appear whole or not at all. INVALID_ARGUMENT where the
// artifact has code for several architectures.
Status saveLibrary(program::Artifact artifact, const std::string& folder,
                   const LibraryOptions& options);

// <name>.h and <name>.hpp
std::string headerForC(const program::Artifact& artifact);
std::string headerForCpp(const program::Artifact& artifact);

// `text` with `name` for each @.
std::string replaced(std::string_view text, const std::string& name);
const char* cType(DType dtype);
// A place in a tree as a C identifier: params.dense[0] -> params_dense_0
std::string identifier(const std::string& path);
// Names of the arguments and then the results, each an identifier of its own.
std::vector<std::string> parameterNames(const program::Procedure& procedure);

}  // namespace tercel::aot
