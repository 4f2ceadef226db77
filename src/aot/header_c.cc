#include "aot/library.h"

namespace tercel::aot {
namespace {

std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

std::string parameter(const program::NamedValue& value, const std::string& name, bool is_argument) {
  return cat(is_argument ? "const " : "", cType(value.shape.dtype), "* ", name, comment(value, name));
}

std::string declaration(const program::Artifact& artifact, const program::Procedure& procedure) {
  const std::vector<std::string> names = parameterNames(procedure);
  std::string text = cat("int ", artifact.name, "_", program::fullName(procedure), "(", artifact.name,
                         "* instance");
  const size_t arguments = procedure.arguments.size();
  for (size_t i = 0; i < arguments; ++i) {
    text += cat(",\n    ", parameter(procedure.arguments[i], names[i], true));
  }
  for (size_t i = 0; i < procedure.results.size(); ++i) {
    text += cat(",\n    ", parameter(procedure.results[i], names[arguments + i], false));
  }
  return text + ");\n";
}

std::string globalsEnum(const program::Artifact& artifact) {
  if (artifact.globals.empty()) return "";
  std::string text = "/* Numbers of the globals. */\nenum {\n";
  std::vector<std::string> names;
  for (size_t g = 0; g < artifact.globals.size(); ++g) {
    const program::Global& global = artifact.globals[g];
    names.push_back(unlike(
        names, cat(upper(artifact.name), "_GLOBAL_", upper(identifier(global.name)))));
    text += cat("  ", names.back(), " = ", g, ", /* ", inComment(global.name), ": ",
                toString(global.shape), global.is_mutable ? "" : ", not mutable", " */\n");
  }
  return text + "};\n\n";
}

constexpr const char* kGeneral = R"(
typedef struct tercel_instance @;

/* The program, loaded once; it stays the library's. Options are looked at in the first call, which
 * @_create() makes where nobody else did; NULL is fine. */
int @_load(const tercel_load_options* options, tercel_program** program);
/* All functions of tercel_program.h, of the Tercel inside this library. */
const tercel_api* @_api(void);

/* An instance has its own values of the globals. One thread at a time may use it. Options may be
 * NULL: one thread, memory from malloc. */
int @_create(const tercel_instance_options* options, @** instance);
void @_destroy(@* instance);
/* Of the last call on this thread that failed. */
const char* @_error_message(void);

/* `bytes` must be the global's size to set it, no less to get it; `global` is one of the numbers
 * above. */
int @_get_global(const @* instance, size_t global, void* data, size_t bytes);
int @_set_global(@* instance, size_t global, const void* data, size_t bytes);
/* The values of all mutable globals, in a file. */
int @_save_state(const @* instance, const char* path);
int @_load_state(@* instance, const char* path);

/* The procedures. Arrays are dense and row-major; each function gives 0 or a tercel_code. */
)";

}  // namespace

std::string headerForC(const program::Artifact& artifact) {
  const std::string guard = cat("TERCEL_LIBRARY_", upper(artifact.name), "_H");
  std::string text = cat("/* ", artifact.name, ": a JAX program, compiled by Tercel. */\n#ifndef ",
                         guard, "\n#define ", guard, "\n#include \"tercel_program.h\"\n\n",
                         "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
  text += globalsEnum(artifact);
  text += std::string_view(replaced(kGeneral, artifact.name)).substr(1);
  for (const program::Procedure& procedure : artifact.procedures) {
    text += declaration(artifact, procedure);
  }
  return text + "\n#ifdef __cplusplus\n}\n#endif\n#endif\n";
}

}  // namespace tercel::aot
