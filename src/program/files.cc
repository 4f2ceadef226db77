#include "program/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <utility>

namespace tercel::program {
namespace {

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int descriptor() const { return descriptor_; }
  bool reachesDisk() const { return fsync(descriptor_) == 0; }
  // Errors of writing may come as late as this.
  bool finish() { return close(std::exchange(descriptor_, -1)) == 0; }

 private:
  int descriptor_;
};

Status failed(const char* doing, const std::string& path, int error) {
  Code code = Code::internal;
  if (error == ENOENT || error == ENOTDIR) code = Code::not_found;
  if (error == EACCES || error == EPERM || error == EROFS) code = Code::permission_denied;
  const bool is_full = error == ENOSPC || error == EDQUOT || error == EFBIG || error == ENOMEM;
  if (is_full) code = Code::resource_exhausted;
  return Status(code, cat("cannot ", doing, " ", path, ": ", std::strerror(error)));
}

bool writeAll(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return true;
}

// A device or a pipe, of which there is no other in whose place a file could be put.
Status writeStream(const std::string& path, std::span<const std::byte> bytes) {
  File file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.descriptor() < 0 || !writeAll(file.descriptor(), bytes)) {
    return failed("write", path, errno);
  }
  return Status();
}

}  // namespace

Result<HeldBytes> mapFile(const std::string& path) {
  File file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts;
  if (file.descriptor() < 0 || fstat(file.descriptor(), &facts) != 0) {
    return failed("open", path, errno);
  }
  if (!S_ISREG(facts.st_mode)) return invalidArgument(path, " is not a file");
  const size_t size = static_cast<size_t>(facts.st_size);
  if (size == 0) return HeldBytes();
  void* start = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (start == MAP_FAILED) return failed("map", path, errno);
  std::shared_ptr<const void> holder(start, [size](void* memory) { munmap(memory, size); });
  return HeldBytes{std::move(holder), {static_cast<const std::byte*>(start), size}};
}

Status writeFile(const std::string& path, std::span<const std::byte> bytes,
                 Durability durability) {
  struct stat facts;
  const bool is_there = stat(path.c_str(), &facts) == 0;
  if (is_there && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode)) {
    return writeStream(path, bytes);
  }
  static std::atomic<int64_t> drafts{0};  // two threads may write one path at once
  const std::string draft =
      cat(path, ".", static_cast<int64_t>(getpid()), ".", drafts.fetch_add(1), ".part");
  File file(open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file.descriptor() < 0) return failed("write", path, errno);
  if (is_there && S_ISREG(facts.st_mode)) fchmod(file.descriptor(), facts.st_mode & 07777);
  if (writeAll(file.descriptor(), bytes) &&
      (durability == Durability::cached || file.reachesDisk()) && file.finish() &&
      std::rename(draft.c_str(), path.c_str()) == 0) {
    return Status();
  }
  const int error = errno;
  unlink(draft.c_str());
  return failed("write", path, error);
}

// The linker's name of a file may be relative to where the process was once: the system's is not.
std::string fileOf(const void* address) {
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  if (!maps) return "";
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  std::string file;
  for (char line[4096 + 100]; file.empty() && std::fgets(line, sizeof line, maps);) {
    uintptr_t begin = 0, end = 0;
    const bool is_it = std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &begin, &end) == 2 &&
                       wanted >= begin && wanted < end;
    const char* path = is_it ? std::strchr(line, '/') : nullptr;
    if (path) file.assign(path, std::strcspn(path, "\n"));
  }
  std::fclose(maps);
  return file;
}

std::string folderOf(const void* address) {
  std::string folder = fileOf(address);
  folder.erase(folder.rfind('/') + 1);
  return folder;
}

}  // namespace tercel::program
