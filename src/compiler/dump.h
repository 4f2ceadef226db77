// A folder with every stage of one compilation, for people and for tercel-opt and tercel-run.
#pragma once
#include <cstddef>
#include <filesystem>
#include <mutex>
#include <span>
#include <string_view>

#include "compiler/compile.h"

namespace tercel::compiler {

// Any thread may write.
class DumpFolder {
 public:
  // Makes parent/NNNN_name, NNNN counting this process's programs. Best effort: what cannot be
  // written is named in the log, once, and never an error of the program's.
  DumpFolder(const std::filesystem::path& parent, std::string_view name);

  void writeText(std::string_view stage, std::string_view text);
  void writeBytes(std::string_view file, std::span<const std::byte> bytes);
  const std::filesystem::path& path() const { return path_; }

 private:
  void write(std::string_view file, const char* data, size_t size);

  std::filesystem::path path_;
  std::mutex mutex_;
  int stage_ = 0;
  bool failed_ = false;
};

// compile(), which writes to dump_folder where that is not empty, and on INTERNAL errors leaves a
// folder with the program and names, in the message, the command that compiles it again.
Result<program::Program> compileWithDump(std::span<const std::byte> bytes,
                                         const CompileOptions& options,
                                         const std::string& dump_folder);

}  // namespace tercel::compiler
