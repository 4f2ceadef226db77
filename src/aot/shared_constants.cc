#include "aot/shared_constants.h"

#include <algorithm>
#include <span>

#include "program/artifact.h"
#include "program/file_header.h"

namespace tercel::aot {
namespace {

constexpr size_t kLeastShared = 1024;

// A stretch of a program's constants that no slot is partly in, and where it goes.
struct Stretch {
  size_t begin, end;
  program::Place place = program::Place::constant;
  size_t to = 0;
};

std::vector<Stretch> stretchesOf(const program::Program& program) {
  std::vector<Stretch> all, merged;
  for (const program::Slot& slot : program.slots) {
    if (slot.place != program::Place::constant || slot.bytes == 0) continue;
    const auto begin = static_cast<size_t>(slot.offset);
    all.push_back({begin / program::kDataAlignment * program::kDataAlignment,
                   begin + static_cast<size_t>(slot.bytes)});
  }
  std::ranges::sort(all, {}, &Stretch::begin);
  for (const Stretch& stretch : all) {
    if (merged.empty() || stretch.begin >= merged.back().end)
      merged.push_back(stretch);
    else
      merged.back().end = std::max(merged.back().end, stretch.end);
  }
  return merged;
}

size_t append(std::span<const std::byte> constant, program::AlignedBytes& to) {
  to.resize(program::alignedSize(to.size()));
  to.insert(to.end(), constant.begin(), constant.end());
  return to.size() - constant.size();
}

}  // namespace

size_t SharedConstants::place(std::span<const std::byte> constant) {
  const uint64_t hash = program::hashBytes(constant);
  const auto [first, last] = known_.equal_range(hash);
  for (auto at = first; at != last; ++at) {
    const auto [begin, end] = at->second;
    if (std::ranges::equal(constant, std::span(bytes_).subspan(begin, end - begin))) return begin;
  }
  const size_t begin = append(constant, bytes_);
  known_.emplace(hash, std::pair(begin, bytes_.size()));
  return begin;
}

void SharedConstants::take(program::Program& program) {
  std::vector<Stretch> stretches = stretchesOf(program);
  program::AlignedBytes kept;
  for (Stretch& stretch : stretches) {
    const auto constant =
        std::span<const std::byte>(program.constants).subspan(stretch.begin,
                                                              stretch.end - stretch.begin);
    if (constant.size() >= kLeastShared) stretch.place = program::Place::shared;
    stretch.to = constant.size() < kLeastShared ? append(constant, kept) : place(constant);
  }
  for (program::Slot& slot : program.slots) {
    if (slot.place != program::Place::constant) continue;
    if (slot.bytes == 0) {
      slot.offset = 0;
      continue;
    }
    const auto offset = static_cast<size_t>(slot.offset);
    const Stretch& own = *(std::ranges::upper_bound(stretches, offset, {}, &Stretch::begin) - 1);
    slot.place = own.place;
    slot.offset = static_cast<int64_t>(own.to + offset - own.begin);
  }
  program.constants = std::move(kept);
  program.shared_bytes = static_cast<int64_t>(bytes_.size());
}

}  // namespace tercel::aot
