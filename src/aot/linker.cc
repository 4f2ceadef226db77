#include "aot/linker.h"

#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "program/files.h"

extern char** environ;

namespace tercel::aot {
namespace {

// What is written to a mapped file on a full disk is a signal, not an error.
constexpr const char* kUnmapped = "--no-mmap-output-file";

// The C library's parts, which the linker takes the versions of their symbols from: where this
// process has them from, or those beside the runtime.
std::vector<std::string> systemLibraries(const LinkJob& job) {
  if (job.architecture != kHostArchitecture) {
    const std::string folder = cat(job.runtime_folder, "/", toString(job.architecture));
    return {folder + "/libc.so.6", folder + "/libm.so.6"};
  }
  std::vector<std::string> found;
  auto visit = [](dl_phdr_info* info, size_t, void* out) {
    const std::string_view path = info->dlpi_name;
    for (const char* name : {"/libc.so.6", "/libm.so.6", "/ld-linux-x86-64.so.2"}) {
      if (path.ends_with(name)) static_cast<std::vector<std::string>*>(out)->emplace_back(path);
    }
    return 0;
  };
  dl_iterate_phdr(visit, &found);
  return found;
}

std::string outputOf(int descriptor) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t size = read(descriptor, buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return text;
    text.append(buffer, static_cast<size_t>(size));
  }
}

// Runs a program and waits; its words are the error's.
Status runProgram(const std::vector<std::string>& words) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return internalError("no pipe: ", std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string output;
  if (error == 0) output = outputOf(ends[0]);
  close(ends[0]);
  if (error != 0) return internalError("cannot start ", words[0], ": ", std::strerror(error));
  int state = 0;
  while (waitpid(child, &state, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(state) && WEXITSTATUS(state) == 0) return Status();
  if (WIFSIGNALED(state)) output += cat("ended by ", strsignal(WTERMSIG(state)));
  return internalError(words[0], " failed: ", output);
}

}  // namespace

Status linkShared(const LinkJob& job) {
  const std::string script = job.output + ".exports";
  const std::string exports = cat("{ global: ", job.name, "_*; local: *; };\n");
  TERCEL_TRY(program::writeFile(script, std::as_bytes(std::span(exports))));
  std::vector<std::string> words = {
      job.runtime_folder + "/tercel-ld", kUnmapped, "-shared", "-o", job.output,
      "--soname=" + job.name + ".so", "--version-script=" + script, "--gc-sections", "--icf=all",
      "--strip-all", "--eh-frame-hdr", "--hash-style=gnu", "-O2", "-z", "noexecstack", "-z", "defs",
      "-z", "relro", "-z", "now"};
  words.insert(words.end(), job.objects.begin(), job.objects.end());
  words.push_back("--as-needed");
  for (std::string& library : systemLibraries(job)) words.push_back(std::move(library));
  Status status = runProgram(words);
  unlink(script.c_str());
  return status;
}

Status joinObjects(const std::vector<std::string>& objects, const std::string& linker_folder,
                   const std::string& output) {
  std::vector<std::string> words = {linker_folder + "/tercel-ld", kUnmapped, "-r",
                                    "--discard-all", "-o", output};
  words.insert(words.end(), objects.begin(), objects.end());
  return runProgram(words);
}

}  // namespace tercel::aot
