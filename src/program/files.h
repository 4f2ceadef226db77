// Files: read by mapping, written whole or not at all.
#pragma once
#include <span>
#include <string>

#include "core/status.h"
#include "program/artifact.h"

namespace tercel::program {

// Private pages of the file, mapped for as long as the result lives. NOT_FOUND, PERMISSION_DENIED.
Result<HeldBytes> mapFile(const std::string& path);

// cached: what can be made again; a machine that fails may leave a damaged file.
enum class Durability { on_disk, cached };

// A file under another name that takes the place of `path` once it is as durable. What fails
// (RESOURCE_EXHAUSTED for a full disk) leaves nothing behind, and an older file as it was.
Status writeFile(const std::string& path, std::span<const std::byte> bytes,
                 Durability durability = Durability::on_disk);

// The library or executable that `address` lies in, and its folder with the last slash; empty where
// that is not known.
std::string fileOf(const void* address);
std::string folderOf(const void* address);

}  // namespace tercel::program
