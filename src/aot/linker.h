// The linker: LLD, in an executable of its own beside the runtime's object.
#pragma once
#include <string>
#include <vector>

#include "core/architecture.h"
#include "core/status.h"

namespace tercel::aot {

struct LinkJob {
  std::string name;
  std::vector<std::string> objects;
  Architecture architecture = kHostArchitecture;
  std::string runtime_folder;  // of the linker, and of other architectures' C libraries
  std::string output;
};

// A shared library that exports <name>_* and needs the C library only: of this machine, or for
// another architecture of the machine that the runtime was built on.
Status linkShared(const LinkJob& job);

// One relocatable object of several.
Status joinObjects(const std::vector<std::string>& objects, const std::string& linker_folder,
                   const std::string& output);

}  // namespace tercel::aot
