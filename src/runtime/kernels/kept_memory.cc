#include "runtime/kernels/kept_memory.h"

#include <atomic>
#include <bit>
#include <cstdlib>
#include <limits>

#include "core/thread_exit.h"

namespace tercel::kernels {
namespace {

// In front of what the user gets. Blocks are powers of two with it: who needs a size again finds
// one, whatever was needed meanwhile.
struct alignas(64) Block {
  Block* next;
  uint32_t size_class;
};

std::atomic<size_t> longest_kept{std::numeric_limits<size_t>::max()};

struct Kept {
  Block* first[64] = {};
  bool is_over = false;  // the thread ends
  ~Kept() {
    release();
    is_over = true;
  }
  void release() {
    for (Block*& list : first) {
      while (Block* block = list) {
        list = block->next;
        std::free(block);
      }
    }
  }
};

// Null where there is no memory for it.
Kept* keptByThread() {
  thread_local constinit bool is_noted = false;
  if (!is_noted && !hasMemoryToNoteDestructor()) return nullptr;
  is_noted = true;
  thread_local constinit Kept kept;
  return &kept;
}

}  // namespace

void* takeMemory(size_t bytes) noexcept {
  if (bytes > std::numeric_limits<size_t>::max() / 4) return nullptr;
  const uint32_t size_class = static_cast<uint32_t>(std::bit_width(bytes + sizeof(Block) - 1));
  Kept* kept = keptByThread();
  if (!kept) return nullptr;
  Block* block = kept->first[size_class];
  if (block) {
    kept->first[size_class] = block->next;
    return block + 1;
  }
  block = static_cast<Block*>(std::aligned_alloc(alignof(Block), size_t{1} << size_class));
  if (!block) return nullptr;
  block->size_class = size_class;
  return block + 1;
}

void giveMemory(void* memory) noexcept {
  if (!memory) return;
  Block* block = static_cast<Block*>(memory) - 1;
  const uint32_t size_class = block->size_class;
  Kept* kept = keptByThread();
  if (!kept || kept->is_over ||
      size_t{1} << size_class > longest_kept.load(std::memory_order_relaxed)) {
    return std::free(block);
  }
  block->next = kept->first[size_class];
  kept->first[size_class] = block;
}

void keepBlocksUpTo(size_t bytes) { longest_kept.store(bytes, std::memory_order_relaxed); }

void releaseKeptMemory() {
  if (Kept* kept = keptByThread()) kept->release();
}

}  // namespace tercel::kernels
