// Where large arrays begin within a page. Not all at the same place: what goes in steps of a power of
// two through several arrays would find their lines in the same few sets of a cache. An array lies
// about half a page from the one before, and a little below the one before that: a machine that
// compares only places within a page takes a load for one of what was just stored, where an array
// that is read lies a little below one that is written.
#pragma once
#include <cstdint>

namespace tercel {

inline constexpr int64_t kPage = 4096, kStagger = 1920;  // bytes
inline constexpr int64_t kStaggeredFrom = 64 << 10;      // bytes of an array

}  // namespace tercel
