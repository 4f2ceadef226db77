// The linker: LLD, in an executable of its own beside the runtime's object.
#pragma once
#include <string>
#include <vector>

#include "core/status.h"

namespace tercel::aot {

// A shared library of `objects` that exports <name>_* and needs this machine's C library only.
Status linkShared(const std::vector<std::string>& objects, const std::string& name,
                  const std::string& linker_folder, const std::string& output);

// One relocatable object of several.
Status joinObjects(const std::vector<std::string>& objects, const std::string& linker_folder,
                   const std::string& output);

}  // namespace tercel::aot
