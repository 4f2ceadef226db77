#include <algorithm>
#include <array>

#include "aot/library.h"

namespace tercel::aot {
namespace {

constexpr const char* kIncludes =
    "// @: a JAX program, compiled by Tercel, for C++17.\n#pragma once\n#include <cstddef>\n"
    "#include <stdexcept>\n#include <string>\n#include <utility>\n\n#include \"@.h\"\n";

constexpr const char* kBegin = R"(
namespace @_program {

// What a call that failed throws; code() is a tercel_code.
class Error : public std::runtime_error {
 public:
  Error(int code, const char* message) : std::runtime_error(message), code_(code) {}
  int code() const { return code_; }

 private:
  int code_;
};

inline void check(int code) {
  if (code != TERCEL_OK) throw Error(code, ::@_error_message());
}

// Elements in a row: of a pointer and a size, or of any container with data() and size().
template <class T>
class Array {
 public:
  Array(T* data, std::size_t size) : data_(data), size_(size) {}
  template <class Container, class = decltype(std::declval<Container&>().data())>
  Array(Container&& container) : data_(container.data()), size_(container.size()) {}

  T* of(std::size_t elements, const char* name) const {
    if (size_ == elements) return data_;
    throw std::invalid_argument(std::string(name) + " has " + std::to_string(elements) +
                                " elements, not " + std::to_string(size_));
  }

 private:
  T* data_;
  std::size_t size_;
};

// The program with its own values of the globals. One thread at a time may use it.
class Instance {
 public:
  explicit Instance(const tercel_instance_options* options = nullptr) {
    check(::@_create(options, &handle_));
  }
  ~Instance() { ::@_destroy(handle_); }
  Instance(Instance&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Instance& operator=(Instance&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  ::@* get() const { return handle_; }
  void saveState(const std::string& path) const { check(::@_save_state(handle_, path.c_str())); }
  void loadState(const std::string& path) { check(::@_load_state(handle_, path.c_str())); }
  void getGlobal(std::size_t global, void* data, std::size_t bytes) const {
    check(::@_get_global(handle_, global, data, bytes));
  }
  void setGlobal(std::size_t global, const void* data, std::size_t bytes) {
    check(::@_set_global(handle_, global, data, bytes));
  }
)";

constexpr const char* kEnd = R"(
 private:
  ::@* handle_ = nullptr;
};

}  // namespace @_program
)";

// Elements as C sees them: a complex number is two.
int64_t cElements(const Shape& shape) {
  const bool is_complex = shape.dtype == DType::c64 || shape.dtype == DType::c128;
  return shape.elements() * (is_complex ? 2 : 1);
}

// What else an Instance has, and what its functions call.
constexpr auto kMembers = std::to_array<std::string_view>(
    {"Array", "Error", "Instance", "check", "get", "getGlobal", "handle_", "loadState", "saveState",
     "setGlobal"});

std::string methodName(const std::string& name) {
  const bool is_taken = isReserved(name) || std::ranges::find(kMembers, name) != kMembers.end();
  return is_taken ? name + "_" : name;
}

std::string method(const program::Artifact& artifact, const program::Procedure& procedure,
                   const std::string& method_name) {
  const std::vector<std::string> names = parameterNames(procedure);
  const size_t arguments = procedure.arguments.size();
  std::string parameters, values;
  for (size_t i = 0; i < names.size(); ++i) {
    const bool is_argument = i < arguments;
    const Shape& shape = (is_argument ? procedure.arguments[i]
                                      : procedure.results[i - arguments]).shape;
    parameters += cat(i == 0 ? "" : ", ", "Array<", is_argument ? "const " : "",
                      cType(shape.dtype), "> ", names[i], " /* ", toString(shape), " */");
    values += cat(", ", names[i], ".of(", cElements(shape), ", \"", names[i], "\")");
  }
  return cat("\n  void ", method_name, "(", parameters, ") {\n    check(::", artifact.name, "_",
             program::fullName(procedure), "(handle_", values, "));\n  }\n");
}

}  // namespace

std::string headerForCpp(const program::Artifact& artifact) {
  std::string text = replaced(kIncludes, artifact.name) + replaced(kBegin, artifact.name);
  std::vector<std::string> names;
  for (const program::Procedure& procedure : artifact.procedures) {
    names.push_back(unlike(names, methodName(program::fullName(procedure))));
    text += method(artifact, procedure, names.back());
  }
  return text + replaced(kEnd, artifact.name);
}

}  // namespace tercel::aot
