#include "compiler/dump.h"

#include <atomic>
#include <cctype>
#include <fstream>

#include "core/log.h"

namespace tercel::compiler {
namespace {

constexpr std::string_view kInput = "input.mlirbc";

std::string numbered(int number, int digits, std::string_view name) {
  std::string text = std::to_string(number);
  if (static_cast<int>(text.size()) < digits) text.insert(0, digits - text.size(), '0');
  text += '_';
  for (char c : name.substr(0, 80)) {
    bool plain = std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
    text += plain ? c : '_';
  }
  return text;
}

int nextNumber() {
  static std::atomic<int> count{0};
  return count++;
}

Status withReproducer(Status status, std::span<const std::byte> bytes) {
  std::error_code error;
  auto parent = std::filesystem::temp_directory_path(error);
  if (error) return status;
  DumpFolder folder(parent / "tercel-reproducers", "compile");
  folder.writeBytes(kInput, bytes);
  folder.writeText("error", status.message());
  auto input = folder.path() / kInput;
  if (!std::filesystem::exists(input, error)) return status;
  return Status(status.code(),
                cat(status.message(), "\nThis is a bug of Tercel's; to see it again: tercel-run "
                    "--compile-only ", input.string()));
}

}  // namespace

DumpFolder::DumpFolder(const std::filesystem::path& parent, std::string_view name) {
  std::error_code error;
  std::filesystem::create_directories(parent, error);
  bool is_made = false;  // by us: other processes write beside us
  do {
    path_ = parent / numbered(nextNumber(), 4, name);
    is_made = std::filesystem::create_directory(path_, error);
  } while (!is_made && (!error || error == std::errc::file_exists));
  if (error) {
    failed_ = true;
    TERCEL_LOG(warning, "cannot make the folder ", path_.string(), ": ", error.message());
  }
}

void DumpFolder::writeText(std::string_view stage, std::string_view text) {
  std::lock_guard lock(mutex_);
  write(numbered(stage_++, 2, stage) + ".txt", text.data(), text.size());
}

void DumpFolder::writeBytes(std::string_view file, std::span<const std::byte> bytes) {
  std::lock_guard lock(mutex_);
  write(file, reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void DumpFolder::write(std::string_view file, const char* data, size_t size) {
  if (failed_) return;
  std::ofstream out(path_ / file, std::ios::binary);
  out.write(data, static_cast<std::streamsize>(size));
  out.close();
  if (out) return;
  failed_ = true;
  TERCEL_LOG(warning, "cannot write ", (path_ / file).string());
}

Result<program::Program> compileWithDump(std::span<const std::byte> bytes,
                                         const CompileOptions& options,
                                         const std::string& dump_folder) {
  Result<program::Program> program = [&] {
    if (dump_folder.empty()) return compile(bytes, options);
    DumpFolder folder(dump_folder, "program");
    folder.writeBytes(kInput, bytes);
    CompileOptions dumping = options;
    dumping.dump = [&](std::string_view stage, std::string_view text) {
      folder.writeText(stage, text);
    };
    Result<program::Program> result = compile(bytes, dumping);
    if (!result.ok()) folder.writeText("error", result.status().message());
    return result;
  }();
  if (program.ok() || program.status().code() != Code::internal) return program;
  return withReproducer(program.status(), bytes);
}

}  // namespace tercel::compiler
