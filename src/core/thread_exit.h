// What threads clear up when they end.
#pragma once
#include <cstdlib>

namespace tercel {

// To be asked before a thread first uses a thread_local that has a destructor: whether there is
// memory to note it. Where there is none, the C library would end the process.
inline bool hasMemoryToNoteDestructor() {
  constexpr size_t kBytes = 64;  // more than it takes
  void* volatile probe = std::malloc(kBytes);
  std::free(probe);
  return probe != nullptr;
}

}  // namespace tercel
