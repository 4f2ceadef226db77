// An artifact as a library for C and C++: <name>.so and <name>.a, which need neither each other nor
// anything of ours, their headers, and what CMake wants to know.
#pragma once
#include <string>
#include <string_view>
#include <vector>

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
// A place in a tree as the name of a parameter: params.dense[0] -> params_dense_0
std::string identifier(const std::string& path);
// Whether an identifier means something else in C or C++.
bool isReserved(std::string_view name);
// Whether the C library has a header of this name, or one that may declare a function of it.
bool isOfCLibrary(const std::string& name);
// The name, with a number after it where one of the names is the same.
std::string unlike(const std::vector<std::string>& names, const std::string& name);
// A name is any text, even one that ends comments.
std::string inComment(std::string text);
// The shape, and what the value is called where its C name is another: " /* x['a b']: f32[3] */".
std::string comment(const program::NamedValue& value, const std::string& name);
// Names of the arguments and then the results, each an identifier of its own.
std::vector<std::string> parameterNames(const program::Procedure& procedure);

}  // namespace tercel::aot
