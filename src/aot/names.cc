#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "aot/library.h"
#include "core/status.h"

namespace tercel::aot {
namespace {

// Words of C and C++, macros, types and namespaces.
constexpr auto kReserved = std::to_array<std::string_view>(
    {"BIG_ENDIAN", "BUFSIZ", "BYTE_ORDER", "FILE", "I", "INFINITY", "LITTLE_ENDIAN", "L_ctermid",
     "L_cuserid", "L_tmpnam", "NAN", "NFDBITS", "NULL", "PDP_ENDIAN", "P_tmpdir", "WCONTINUED",
     "WEOF", "WEXITED", "WEXITSTATUS", "WIFCONTINUED", "WIFEXITED", "WIFSIGNALED", "WIFSTOPPED",
     "WNOHANG", "WNOWAIT", "WSTOPPED", "WSTOPSIG", "WTERMSIG", "WUNTRACED", "alignas", "alignof",
     "alloca", "and", "and_eq", "asm", "assert", "auto", "be16toh", "be32toh", "be64toh", "bitand",
     "bitor", "bool", "break", "case", "catch", "char", "char16_t", "char32_t", "char8_t", "class",
     "co_await", "co_return", "co_yield", "compl", "complex", "concept", "const", "const_cast",
     "consteval", "constexpr", "constinit", "continue", "decltype", "default", "delete", "do",
     "double", "dynamic_cast", "else", "enum", "errno", "explicit", "export", "extern", "false",
     "float", "for", "friend", "goto", "htobe16", "htobe32", "htobe64", "htole16", "htole32",
     "htole64", "if", "imaginary", "inline", "int", "int16_t", "int32_t", "int64_t", "int8_t",
     "le16toh", "le32toh", "le64toh", "linux", "long", "main", "mutable", "namespace", "new",
     "noexcept", "noreturn", "not", "not_eq", "nullptr", "offsetof", "operator", "or", "or_eq",
     "private", "protected", "public", "register", "reinterpret_cast", "requires", "restrict",
     "return", "short", "signed", "size_t", "sizeof", "static", "static_assert", "static_cast",
     "std", "stderr", "stdin", "stdout", "struct", "switch", "template", "tercel", "this",
     "thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "typeof", "uint16_t",
     "uint32_t", "uint64_t", "uint8_t", "union", "unix", "unsigned", "using", "virtual", "void",
     "volatile", "wchar_t", "while", "xor", "xor_eq"});

// What macros of the C library begin or end with.
constexpr auto kMacroPrefixes = std::to_array<std::string_view>(
    {"EXIT_", "FD_", "LC_", "M_", "RENAME_", "SEEK_", "TERCEL_"});
constexpr auto kMacroSuffixes =
    std::to_array<std::string_view>({"_C", "_MAX", "_MIN", "_SETSIZE", "_WIDTH"});

// Headers of the C library and of GCC, which NAME.h must not be found in place of.
constexpr auto kHeaders = std::to_array<std::string_view>(
    {"aio", "aliases", "alloca", "ar", "argp", "argz", "assert", "backtrace", "byteswap", "cet",
     "complex", "cpio", "cpuid", "crypt", "ctype", "dirent", "dlfcn", "elf", "endian", "envz",
     "err", "errno", "error", "execinfo", "fcntl", "features", "fenv", "float", "fmtmsg", "fnmatch",
     "fstab", "fts", "ftw", "gconv", "gcov", "getopt", "glob", "grp", "gshadow", "iconv", "ifaddrs",
     "inttypes", "iso646", "langinfo", "lastlog", "libgen", "libintl", "limits", "link", "locale",
     "malloc", "math", "mcheck", "memory", "mm3dnow", "mm_malloc", "mntent", "monetary", "mqueue",
     "netdb", "nl_types", "nss", "obstack", "omp", "openacc", "paths", "poll", "printf",
     "proc_service", "pthread", "pty", "pwd", "quadmath", "re_comp", "regex", "regexp", "resolv",
     "sched", "search", "semaphore", "setjmp", "sgtty", "shadow", "signal", "spawn", "stab",
     "stdalign", "stdarg", "stdatomic", "stdbit", "stdbool", "stdckdint", "stddef", "stdfix",
     "stdint", "stdio", "stdio_ext", "stdlib", "stdnoreturn", "string", "strings", "syscall",
     "sysexits", "syslimits", "syslog", "tar", "termio", "termios", "tgmath", "thread_db",
     "threads", "time", "ttyent", "uchar", "ucontext", "ulimit", "unistd", "unwind", "utime",
     "utmp", "utmpx", "values", "varargs", "wait", "wchar", "wctype", "wordexp"});

// And what a declaration of the headers uses beside its parameters.
constexpr auto kOfHeaders = std::to_array<std::string_view>({"Array", "check", "instance"});

bool isCapitalOrDigit(char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

bool isWordCharacter(char c) { return (c >= 'a' && c <= 'z') || isCapitalOrDigit(c) || c == '_'; }

// INT8_MAX and LC_ALL; EDOM, as the names of errors are.
bool isNamedLikeMacro(std::string_view name) {
  if (name.size() > 1 && name[0] == 'E' && std::ranges::all_of(name, isCapitalOrDigit)) return true;
  if (!std::ranges::all_of(name, [](char c) { return isCapitalOrDigit(c) || c == '_'; }))
    return false;
  return std::ranges::any_of(kMacroPrefixes, [&](auto part) { return name.starts_with(part); }) ||
         std::ranges::any_of(kMacroSuffixes, [&](auto part) { return name.ends_with(part); });
}

// _Bool, __x86_64__.
bool isOfImplementation(std::string_view name) {
  return name.size() > 1 && name[0] == '_' &&
         (name[1] == '_' || (name[1] >= 'A' && name[1] <= 'Z'));
}

struct CType {
  DType dtype;
  const char* name;
};

// Of what C has no word for, the bytes.
constexpr CType kTypes[] = {
    {DType::pred, "uint8_t"},  {DType::s8, "int8_t"},       {DType::s16, "int16_t"},
    {DType::s32, "int32_t"},   {DType::s64, "int64_t"},     {DType::u8, "uint8_t"},
    {DType::u16, "uint16_t"},  {DType::u32, "uint32_t"},    {DType::u64, "uint64_t"},
    {DType::f16, "uint16_t"},  {DType::bf16, "uint16_t"},   {DType::f32, "float"},
    {DType::f64, "double"},    {DType::c64, "float"},       {DType::c128, "double"},
};

}  // namespace

bool isReserved(std::string_view name) {
  return isOfImplementation(name) || isNamedLikeMacro(name) ||
         std::ranges::find(kReserved, name) != kReserved.end();
}

bool isOfCLibrary(const std::string& name) {
  if (std::ranges::find(kHeaders, name) != kHeaders.end() || name.ends_with("intrin")) return true;
  return std::ranges::any_of(std::array{"libc.so.6", "libm.so.6"}, [&](const char* file) {
    void* library = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
    if (!library) return false;
    const bool has = dlsym(library, name.c_str()) != nullptr;
    dlclose(library);
    return has;
  });
}

const char* cType(DType dtype) {
  for (const CType& type : kTypes)
    if (type.dtype == dtype) return type.name;
  return "uint8_t";
}

std::string replaced(std::string_view text, const std::string& name) {
  std::string result;
  for (char c : text) {
    if (c == '@') {
      result += name;
    } else {
      result += c;
    }
  }
  return result;
}

std::string identifier(const std::string& path) {
  std::string name;
  for (char c : path) {
    if (isWordCharacter(c)) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  while (name.size() > 1 && name.back() == '_') name.pop_back();
  if (name.empty()) return "value";
  if (name[0] >= '0' && name[0] <= '9') name = cat("_", name);
  if (isReserved(name) || std::ranges::find(kOfHeaders, name) != kOfHeaders.end()) name += '_';
  return name;
}

std::string unlike(const std::vector<std::string>& names, const std::string& name) {
  std::string unique = name;
  for (int n = 2; std::ranges::find(names, unique) != names.end(); ++n) unique = cat(name, n);
  return unique;
}

std::string inComment(std::string text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string_view pair = std::string_view(text).substr(i, 2);
    if (static_cast<unsigned char>(text[i]) < ' ' || pair == "*/" || pair == "/*") text[i] = ' ';
  }
  return text;
}

std::string comment(const program::NamedValue& value, const std::string& name) {
  return cat(" /* ", value.name == name ? "" : inComment(value.name) + ": ", toString(value.shape),
             " */");
}

std::vector<std::string> parameterNames(const program::Procedure& procedure) {
  std::vector<std::string> names;
  auto add = [&](const program::NamedValue& value) {
    names.push_back(unlike(names, identifier(value.name)));
  };
  for (const program::NamedValue& value : procedure.arguments) add(value);
  for (const program::NamedValue& value : procedure.results) add(value);
  return names;
}

}  // namespace tercel::aot
