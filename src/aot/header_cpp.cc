#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "aot/library.h"

namespace tercel::aot {
namespace {

constexpr const char* kIncludes =
    "// @: a JAX program, compiled by Tercel, for C++17.\n#pragma once\n#include <cstddef>\n"
    "#include <stdexcept>\n#include <string>\n#include <type_traits>\n#include <utility>\n\n#include \"@.h\"\n";

constexpr const char* kBegin = R"(
namespace @_program {

// What a call that failed throws; code() is a tercel_code.
class Error : public std::runtime_error {
 public:
  Error(int code, const std::string& message) : std::runtime_error(message), code_(code) {}
  int code() const { return code_; }

 private:
  int code_;
};

inline void check(int code) {
  if (code != TERCEL_OK) throw Error(code, ::@_error_message());
}

// Elements in a row: of a pointer and a size, of any container with data() and size(), or of
// an array of any rank.
template <class T>
class Array {
 public:
  Array(T* data, std::size_t size) : data_(data), size_(size) {}
  template <class Container, class = decltype(std::declval<Container&>().data())>
  Array(Container&& container) : data_(container.data()), size_(container.size()) {}
  template <class Row, std::size_t Rows,
            class = std::enable_if_t<std::is_same_v<std::remove_cv_t<std::remove_all_extents_t<Row>>,
                                                    std::remove_cv_t<T>>>>
  Array(Row (&array)[Rows]) : data_(reinterpret_cast<T*>(array)), size_(sizeof array / sizeof(T)) {}

  std::size_t size() const { return size_; }
  T* of(std::size_t elements, const char* name) const {
    if (size_ == elements) return data_;
    throw Error(TERCEL_INVALID_ARGUMENT, std::string(name) + " has " + std::to_string(elements) +
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

// One of a function's, with what stands behind it.
struct Parameter {
  std::string type, name, comment;
  Shape shape;
  bool is_argument;
};

std::vector<Parameter> parametersOf(const program::Procedure& procedure) {
  const std::vector<std::string> names = parameterNames(procedure);
  const size_t arguments = procedure.arguments.size();
  std::vector<Parameter> parameters;
  for (size_t i = 0; i < names.size(); ++i) {
    const bool is_argument = i < arguments;
    const program::NamedValue& value =
        is_argument ? procedure.arguments[i] : procedure.results[i - arguments];
    parameters.push_back({cat("Array<", is_argument ? "const " : "", cType(value.shape.dtype), ">"),
                          names[i], comment(value, names[i]), value.shape, is_argument});
  }
  return parameters;
}

std::string method(const program::Artifact& artifact, const program::Procedure& procedure,
                   const std::string& method_name) {
  std::string parameters, values;
  for (const Parameter& p : parametersOf(procedure)) {
    parameters += cat(parameters.empty() ? "" : ", ", p.type, " ", p.name, p.comment);
    values += cat(", ", p.name, ".of(", cElements(p.shape), ", \"", artifact.name, ": ",
                  program::fullName(procedure), ": ", p.name, "\")");
  }
  return cat("\n  void ", method_name, "(", parameters, ") {\n    check(::", artifact.name, "_",
             program::fullName(procedure), "(handle_", values, "));\n  }\n");
}

// The sizes of its arguments, by which a signature is chosen.
std::string sizesOf(const program::Procedure& procedure) {
  std::string condition;
  for (const Parameter& p : parametersOf(procedure)) {
    if (!p.is_argument) continue;
    condition += cat(condition.empty() ? "" : " && ", p.name, ".size() == ", cElements(p.shape));
  }
  return condition;
}

// Of the signatures of one name, the one that the arguments' sizes fit; empty where these do not
// tell them apart.
std::string dispatcher(const std::vector<const program::Procedure*>& signatures,
                       const std::vector<std::string>& methods, const std::string& method_name) {
  std::string parameters, given, choice, listed;
  for (const Parameter& p : parametersOf(*signatures[0])) {
    parameters += cat(parameters.empty() ? "" : ", ", p.type, " ", p.name);
    given += cat(given.empty() ? "" : ", ", p.name);
  }
  std::set<std::string> known;
  for (size_t i = 0; i < signatures.size(); ++i) {
    const std::string sizes = sizesOf(*signatures[i]);
    if (sizes.empty() || !known.insert(sizes).second) return "";
    choice += cat("    if (", sizes, ") return ", methods[i], "(", given, ");\n");
    listed += cat(i == 0 ? "" : ", ", signatures[i]->signature);
  }
  return cat("\n  void ", method_name, "(", parameters, ") {\n", choice,
             "    throw Error(TERCEL_INVALID_ARGUMENT, \"", signatures[0]->name,
             " has no signature for arguments of these sizes: there are ", listed, "\");\n  }\n");
}

}  // namespace

std::string headerForCpp(const program::Artifact& artifact) {
  std::string text = replaced(kIncludes, artifact.name) + replaced(kBegin, artifact.name);
  std::vector<std::string> names;
  std::map<std::string, std::vector<size_t>> by_name;
  for (const program::Procedure& procedure : artifact.procedures) {
    by_name[procedure.name].push_back(names.size());
    names.push_back(unlike(names, methodName(program::fullName(procedure))));
    text += method(artifact, procedure, names.back());
  }
  for (const auto& [name, numbers] : by_name) {
    if (numbers.size() < 2) continue;
    std::vector<const program::Procedure*> signatures;
    std::vector<std::string> methods;
    for (size_t i : numbers) {
      signatures.push_back(&artifact.procedures[i]);
      methods.push_back(names[i]);
    }
    names.push_back(unlike(names, methodName(name)));
    text += dispatcher(signatures, methods, names.back());
  }
  return text + replaced(kEnd, artifact.name);
}

}  // namespace tercel::aot
