// Files: read by mapping, written whole or not at all.
#pragma once
#include <span>
#include <string>

#include "core/status.h"
#include "program/artifact.h"

namespace tercel::engine {

// Private pages of the file, mapped for as long as the result lives. NOT_FOUND, PERMISSION_DENIED.
Result<program::HeldBytes> mapFile(const std::string& path);

// A file under another name that takes the place of `path` once it is on the disk. What fails
// (RESOURCE_EXHAUSTED for a full disk) leaves nothing behind, and an older file as it was.
Status writeFile(const std::string& path, std::span<const std::byte> bytes);

// The folder, with its last slash, of the library or executable that `address` lies in; empty where
// that is not known.
std::string folderOf(const void* address);

}  // namespace tercel::engine
