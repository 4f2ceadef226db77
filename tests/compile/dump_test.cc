#include "compiler/dump.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>

namespace tercel::compiler {
namespace {

TEST(Dump, ProcessesThatShareAFolderShareNoneInIt) {
  constexpr int kFolders = 300, kProcesses = 3;
  std::string pattern = (std::filesystem::temp_directory_path() / "tercelXXXXXX").string();
  const std::filesystem::path parent = mkdtemp(pattern.data());
  pid_t children[kProcesses];
  for (pid_t& child : children) {
    if ((child = fork()) != 0) continue;
    for (int i = 0; i < kFolders; ++i) DumpFolder(parent / "dump", "program");
    _exit(0);
  }
  for (const pid_t child : children) EXPECT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(parent / "dump"), {}),
            kFolders * kProcesses);
  std::filesystem::remove_all(parent);
}

}  // namespace
}  // namespace tercel::compiler
