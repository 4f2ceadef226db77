// Memory for values: which of them share a place, and where each place lies in the arena.
#pragma once
#include <cstdint>
#include <vector>

#include "program/program.h"

namespace tercel::plan {

using StorageId = uint32_t;
inline constexpr StorageId kNoStorage = 0xffffffffu;
inline constexpr int64_t kUnborn = INT64_MAX;

// A piece of memory that holds one value at a time. Times count steps, nested ones included.
struct Storage {
  program::Place place = program::Place::arena;
  uint32_t index = 0;   // of the argument or result
  int64_t offset = 0;   // in the arena or the constants, once assigned
  int64_t bytes = 0;
  int64_t first = 0;    // step that writes it first; kUnborn before there is one
  int64_t last = 0;     // step that reads it last
  StorageId part_of = kNoStorage;  // of a part: the storage it lies in, where its offset counts from
  StorageId argument = kNoStorage;  // of a result: the argument whose memory it may be given
  std::vector<uint32_t> values = {};  // all that have been kept here so far
};

// Gives each arena storage an offset (64-byte aligned) such that storages whose lives overlap do not;
// first fit in order of birth. Returns the size of the arena.
int64_t assignOffsets(std::vector<Storage>& storages);
// The same for some of them, from 0 on.
int64_t assignOffsets(std::vector<Storage>& storages, std::vector<StorageId> which);
// The arena storages from `first` on that are used and no parts of others.
std::vector<StorageId> wholeStorages(const std::vector<Storage>& storages, StorageId first = 0);

}  // namespace tercel::plan
