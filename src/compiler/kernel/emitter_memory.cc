#include <algorithm>
#include <bit>
#include <numeric>

#include "compiler/kernel/emitter.h"
#include "core/status.h"

namespace tercel::kernel {
namespace {

// Where elements lie further apart, a gather is no slower than so many loads.
constexpr int64_t kMostVectors = 16;
constexpr int64_t kSharers = 4;  // lanes that may share a place, each of which asks for it

// Lanes a, a+step, a+2*step ... of a vector of n lanes.
std::vector<int16_t> lanesFrom(int first, int step, int count) {
  std::vector<int16_t> list;
  for (int i = 0; i < count; ++i) list.push_back(static_cast<int16_t>(first + i * step));
  return list;
}

// For each element that a vector of `width` holds from `first` on, the lane at that place; so many
// lists as lanes share one. `none` where there is no lane.
std::vector<std::vector<int16_t>> lanesAt(std::span<const int64_t> places, int64_t first,
                                          int64_t width, int16_t none) {
  std::vector<std::vector<int16_t>> lists;
  for (size_t lane = 0; lane < places.size(); ++lane) {
    if (places[lane] < first || places[lane] >= first + width) continue;
    const auto at = static_cast<size_t>(places[lane] - first);
    auto list = std::ranges::find_if(lists, [&](const auto& l) { return l[at] == none; });
    if (list == lists.end())
      list = lists.insert(list, std::vector<int16_t>(static_cast<size_t>(width), none));
    (*list)[at] = static_cast<int16_t>(lane);
  }
  return lists;
}

}  // namespace

Elem Emitter::loadAt(BufferId buffer, DType dtype, const Index& index, bool strays) {
  if (const auto imaginary = b_.imaginaryOf(buffer); imaginary && isComplex(dtype))
    return {loadAt(buffer, realPart(dtype), index, strays).re,
            loadAt(*imaginary, realPart(dtype), index, strays).re};
  dtype = movedAs(dtype);
  if (record) {
    const auto& buffers = b_.kernel().buffers;
    const int32_t whole = buffers[buffer].alias_of;
    record->push_back({.index = index,
                       .element_bytes = static_cast<int64_t>(byteSize(dtype)),
                       .param = buffers[buffer].param,
                       .slice_of = whole < 0 ? -1 : buffers[static_cast<size_t>(whole)].param});
  }
  const Elem stored = loadStored(buffer, isComplex(dtype), index, strays);
  if (computedScalar(dtype) == storedScalar(dtype)) return stored;
  return {b_.cast(Opcode::fpext, stored.re, computedScalar(dtype)), {}};
}

Elem Emitter::loadStored(BufferId buffer, bool complex, const Index& index, bool strays) {
  if (!space_.varies(index)) return loadOne(buffer, complex, index);
  V mask = maskOfGuard();
  int64_t step;
  if (space_.linearInLanes(index, &step) && std::abs(step) == 1 && !(complex && mask.valid()))
    return loadLine(buffer, complex, index, step, mask, strays && guard_.lanes.valid());
  const Index place = complex ? space_.scale(index, 2) : index;
  if (V re = loadApart(buffer, place, mask); re.valid())
    return {re, complex ? loadApart(buffer, space_.add(place, Index(1)), mask) : V{}};
  if (!complex)
    if (V found = lookUp(buffer, index, mask); found.valid()) return {found, {}};
  if (!mask.valid()) mask = b_.constant({Scalar::i1, static_cast<uint16_t>(lanes_)}, 1);
  const Places at = space_.emitPlaces(place, lanes_);
  const V re = b_.gather(buffer, at, mask);
  return {re, complex ? b_.gather(buffer, at.next(), mask) : V{}};
}

// One element for all lanes.
Elem Emitter::loadOne(BufferId buffer, bool complex, const Index& index) {
  V at = space_.emitScalar(index, true);
  int64_t offset = index.constant;
  if (guard_.scalar.valid()) {
    at = b_.select(guard_.scalar, b_.iadd(at, b_.index(offset)), b_.index(0));
    offset = 0;
  }
  if (!complex) return {b_.load(buffer, at, 1, offset), {}};
  const V twice = b_.imul(at, b_.index(2));
  return {b_.load(buffer, twice, 1, 2 * offset), b_.load(buffer, twice, 1, 2 * offset + 1)};
}

// Lanes one after another in memory, forwards or backwards.
Elem Emitter::loadLine(BufferId buffer, bool complex, const Index& index, int64_t step, V mask,
                       bool strays) {
  V at = space_.emitScalar(index, true);
  int64_t offset = index.constant - (step < 0 ? lanes_ - 1 : 0);
  if (guard_.scalar.valid() || strays) {  // masked loads of memory that is not there are slow
    V is_there = strays ? b_.any(mask) : guard_.scalar;
    at = b_.select(is_there, b_.iadd(at, b_.index(offset)), b_.index(0));
    offset = 0;
  }
  if (complex) {
    const V twice = b_.imul(at, b_.index(2));
    const int count = pairsFit(buffer) ? 2 * lanes_ : lanes_;
    const V low = b_.load(buffer, twice, count, 2 * offset);
    const V high = count > lanes_ ? low : b_.load(buffer, twice, count, 2 * offset + lanes_);
    const int first = step < 0 ? 2 * (lanes_ - 1) : 0;
    return {b_.shuffle(low, high, lanesFrom(first, static_cast<int>(2 * step), lanes_)),
            b_.shuffle(low, high, lanesFrom(first + 1, static_cast<int>(2 * step), lanes_))};
  }
  auto turned = [&](V x) {
    return step < 0 ? shuffled(b_, x, lanesFrom(lanes_ - 1, -1, lanes_)) : x;
  };
  if (!mask.valid()) return {turned(b_.load(buffer, at, lanes_, offset)), {}};
  return {turned(b_.loadMasked(buffer, at, turned(mask), offset)), {}};
}

// Lanes by numbers that are all within a few vectors; an invalid value where they may not be.
V Emitter::lookUp(BufferId buffer, const Index& index, V mask) {
  constexpr int64_t kMostTables = 8;
  const Scalar element = b_.kernel().buffers[buffer].element;
  const int64_t size = byteSize(element);
  if (element == Scalar::i1 || !b_.machine.looksUp(size, lanes_)) return {};
  const auto near = space_.nearPlaces(index, lanes_);
  const int64_t most = std::min(kMostTables * lanes_, int64_t{1} << (8 * std::min<int64_t>(size, 4)));
  if (!near || near->span > most || (mask.valid() && !near->is_same)) return {};
  V first = space_.emitScalar(near->first, /*skip_constant=*/true);
  int64_t least = near->first.constant;
  if (mask.valid()) {
    first = b_.select(b_.any(mask), b_.iadd(first, b_.index(least)), b_.index(0));
    least = 0;
  }
  std::vector<V> tables;
  for (int64_t begin = 0; begin < near->span; begin += lanes_) {
    const int64_t left = near->span - begin, offset = least + begin;
    const V is_there = firstLanes(b_, lanes_, b_.index(left)).lanes;
    tables.push_back(left >= lanes_ ? b_.load(buffer, first, lanes_, offset)
                                    : b_.loadMasked(buffer, first, is_there, offset));
  }
  constexpr Scalar kWords[] = {Scalar::i8, Scalar::i16, Scalar::i32, Scalar::i64};
  const Scalar word = kWords[std::countr_zero(static_cast<uint64_t>(size))];
  const V numbers = space_.emitLanes(near->numbers, lanes_, Scalar::i32);
  const V found = b_.lookUp(b_.cast(size < 4 ? Opcode::itrunc : Opcode::zext, numbers, word), tables);
  return mask.valid() ? b_.select(mask, found, b_.constant(b_.type(found), 0)) : found;
}

// Lanes whose places are known beside each other, by loads and shuffles; an invalid value where
// gathering them is better.
V Emitter::loadApart(BufferId buffer, const Index& index, V mask) {
  int64_t step;
  if (space_.linearInLanes(index, &step) && std::abs(step) > 1 &&
      std::abs(step) <= mostApart(b_.kernel().buffers[buffer].element, mask)) {
    const int apart = static_cast<int>(step);
    return mask.valid() ? loadStridedMasked(buffer, index, apart, mask)
                        : loadStrided(buffer, index, apart);
  }
  return loadNear(buffer, index, mask);
}

// Over how many vectors shuffles bridge. A masked load costs as much as two.
int64_t Emitter::mostApart(Scalar stored, V mask) const {
  if (!mask.valid()) return kMostVectors;
  const bool is_quick = stored != Scalar::i1 && byteSize(stored) >= b_.machine.masked_bytes;
  return is_quick ? kMostVectors / 2 : 0;
}

// Every step-th element, of a negative step from the last. Those beside them are found in the same
// vectors, but for the last one, if there are such before the first of all that is read.
V Emitter::loadStrided(BufferId buffer, const Index& index, int step) {
  const int64_t first = index.constant + std::min(0, (lanes_ - 1) * step);
  const int64_t before = first > 0 ? first % step : 0;
  const int64_t ahead = before <= space_.lowest(index) ? before : 0;
  std::vector<int64_t> places;
  for (int lane = 0; lane < lanes_; ++lane)
    places.push_back(index.constant + int64_t{lane} * step - (first - ahead));
  int64_t offset = first - ahead;
  alignToStored(buffer, space_.lowest(index) + offset - index.constant, offset, places);
  return loadPlaces(buffer, space_.emitScalar(index, true), offset, places);
}

// The same of the lanes of a mask.
V Emitter::loadStridedMasked(BufferId buffer, const Index& index, int step, V mask) {
  const int64_t lowest = std::min(0, (lanes_ - 1) * step);
  std::vector<int64_t> places;
  for (int lane = 0; lane < lanes_; ++lane) places.push_back(int64_t{lane} * step - lowest);
  int64_t offset = index.constant + lowest;
  alignToStored(buffer, space_.lowest(index) + lowest, offset, places);
  return loadPlacesMasked(buffer, space_.emitScalar(index, true), offset, places, mask);
}

// Of the places only those of the mask's lanes are read: the others may lie where there is no memory.
V Emitter::loadPlacesMasked(BufferId buffer, V at, int64_t offset, std::span<const int64_t> places,
                            V mask) {
  const int64_t width = wholeVector(buffer), reach = std::ranges::max(places) + 1;
  const V flags = inBytes(b_, mask), none = b_.integer(b_.type(flags), 0);
  V all;
  for (int64_t first = 0; first < reach; first += width) {
    V here;
    for (const auto& list : lanesAt(places, first, width, static_cast<int16_t>(lanes_))) {
      const V some = b_.shuffle(flags, none, list);
      here = here.valid() ? b_.binary(Opcode::or_, here, some) : some;
    }
    if (!here.valid()) continue;
    const V next = b_.loadMasked(buffer, at, b_.cast(Opcode::itrunc, here, Scalar::i1),
                                 offset + first);
    std::vector<int16_t> from;
    for (int64_t lane = 0; lane < (first + width >= reach ? lanes_ : width); ++lane) {
      const int64_t place = lane < lanes_ ? places[static_cast<size_t>(lane)] : kNoPlace;
      const bool is_here = place >= first && place < first + width;
      from.push_back(static_cast<int16_t>(is_here ? width + place - first : lane));
    }
    all = b_.shuffle(all.valid() ? all : next, next, from);
  }
  return all;
}

// Lanes at known places within a few vectors. Invalid where they are not.
V Emitter::loadNear(BufferId buffer, const Index& index, V mask) {
  Index base;
  std::vector<int64_t> places = space_.knownLanes(index, lanes_, &base);
  if (places.empty()) return {};
  if (V all = loadInOrder(buffer, base, places, mask); all.valid()) return all;
  int64_t lowest = INT64_MAX, highest = INT64_MIN;
  for (int64_t place : places) {
    if (place == kNoPlace) continue;
    lowest = std::min(lowest, place);
    highest = std::max(highest, place);
  }
  const int64_t most = mostApart(b_.kernel().buffers[buffer].element, mask) * lanes_;
  if (highest - lowest >= (mask.valid() ? most / kSharers : most))
    return mask.valid() ? V{} : loadRuns(buffer, base, places);
  for (int64_t& place : places)
    if (place != kNoPlace) place -= lowest;
  const V at = space_.emitScalar(base, true);
  int64_t offset = base.constant + lowest;
  alignToStored(buffer, space_.lowest(base) + lowest, offset, places);
  return mask.valid() ? loadPlacesMasked(buffer, at, offset, places, mask)
                      : loadPlaces(buffer, at, offset, places);
}

// Vectors of scratch memory are loaded as they are stored: what lies across two waits for both to
// leave the store buffer. `before`: elements that are known to lie before the first.
void Emitter::alignToStored(BufferId buffer, int64_t before, int64_t& offset,
                            std::vector<int64_t>& places) const {
  const int64_t width = wholeVector(buffer), into = offset % width;
  if (!isScratch(buffer) || offset < 0 || into > before) return;
  const int64_t reach = std::ranges::max(places) + 1;
  if ((reach + into + width - 1) / width > (reach + width - 1) / width) return;
  offset -= into;
  for (int64_t& place : places)
    if (place != kNoPlace) place += into;
}

// Where all lanes that matter lie side by side: without the others. Invalid where they do not.
V Emitter::loadInOrder(BufferId buffer, const Index& base, std::span<const int64_t> places, V mask) {
  std::vector<int16_t> unused;
  int64_t first = kNoPlace;  // lane 0's
  for (int64_t lane = 0; lane < lanes_; ++lane) {
    const int64_t place = places[static_cast<size_t>(lane)];
    unused.push_back(place == kNoPlace);
    if (place == kNoPlace) continue;
    if (first == kNoPlace) first = place - lane;
    if (first != place - lane) return {};
  }
  if (first == kNoPlace) return {};
  V at = space_.emitScalar(base, true);
  const int64_t offset = base.constant + first;
  if (std::ranges::find(unused, 1) != unused.end()) {
    const Scalar id = 4 * lanes_ <= b_.machine.vector_bytes ? Scalar::i32 : Scalar::i8;
    V ids = b_.laneIds({id, static_cast<uint16_t>(lanes_)});
    V used = b_.compare(Opcode::icmp, Predicate::eq, b_.shuffle(ids, ids, unused),
                        b_.integer(b_.type(ids), 0));
    mask = mask.valid() ? b_.binary(Opcode::and_, mask, used) : used;
  }
  return mask.valid() ? b_.loadMasked(buffer, at, mask, offset)
                      : b_.load(buffer, at, lanes_, offset);
}

// Out of all of a scratch buffer that one vector holds, as it is stored: it may be a variable then.
// Invalid where it is larger.
V Emitter::pickOfSmall(BufferId buffer, V at, int64_t offset, std::span<const int64_t> places) {
  const Buffer& b = b_.kernel().buffers[buffer];
  uint64_t first;
  const auto lanes = static_cast<int>(std::bit_ceil(static_cast<uint64_t>(b.elements)));
  if (b.elements < 2 || lanes * byteSize(b.element) > b_.machine.vector_bytes ||
      b.element == Scalar::i1 || !b_.isConstant(at, &first))
    return {};
  std::vector<int16_t> from;
  for (int64_t place : places)
    from.push_back(static_cast<int16_t>(
        place == kNoPlace ? 0 : static_cast<int64_t>(first) + offset + place));
  return shuffled(b_, b_.load(buffer, b_.index(0), lanes), from);
}

// Memory is loaded from 0 to the last of the places, beyond which there may be none, and they are
// picked out of it.
V Emitter::loadPlaces(BufferId buffer, V at, int64_t offset, std::span<const int64_t> places) {
  if (V picked = pickOfSmall(buffer, at, offset, places); picked.valid()) return picked;
  const int64_t reach = *std::max_element(places.begin(), places.end()) + 1;
  if (reach == 1) return b_.widen(b_.load(buffer, at, 1, offset), lanes_);
  const int64_t whole = wholeVector(buffer);
  if (reach > whole) return loadSideBySide(buffer, at, offset, places, whole);
  const int64_t width = reach > lanes_ ? whole : lanes_;
  const bool is_power = (reach & (reach - 1)) == 0, is_whole = isScratch(buffer);
  V all = is_power || is_whole
              ? b_.load(buffer, at, static_cast<int>(is_whole ? width : reach), offset)
              : b_.loadMasked(buffer, at,
                                   firstLanes(b_, static_cast<int>(width), b_.index(reach)).lanes,
                                   offset);
  std::vector<int16_t> from;
  for (int64_t place : places)
    from.push_back(static_cast<int16_t>(place == kNoPlace ? 0 : place));
  return shuffled(b_, all, from);
}

// Vectors of `width`, each giving the lanes that lie in it. The last one ends with the last element.
V Emitter::loadSideBySide(BufferId buffer, V at, int64_t offset, std::span<const int64_t> places,
                          int64_t width) {
  const int64_t reach = *std::max_element(places.begin(), places.end()) + 1;
  V all;
  for (int64_t first = 0; first < reach; first += width) {
    const int64_t begin = isScratch(buffer) ? first : std::min(first, reach - width);
    const bool is_last = first + width >= reach;
    auto isHere = [&](int64_t place) { return place >= first && place < begin + width; };
    if (std::ranges::none_of(places, isHere)) continue;
    V next = inBytes(b_, b_.load(buffer, at, static_cast<int>(width), offset + begin));
    std::vector<int16_t> from;
    for (int64_t lane = 0; lane < (is_last ? lanes_ : width); ++lane) {
      const int64_t place = lane < lanes_ ? places[static_cast<size_t>(lane)] : -1;
      from.push_back(static_cast<int16_t>(isHere(place) ? width + place - begin : lane));
    }
    all = b_.shuffle(all.valid() ? all : next, next, from);
  }
  const bool is_flag = b_.kernel().buffers[buffer].element == Scalar::i1;
  return is_flag ? b_.cast(Opcode::itrunc, all, Scalar::i1) : all;
}

// How many of a buffer's elements a vector holds; lanes of four bytes fill one.
int64_t Emitter::wholeVector(BufferId buffer) const {
  constexpr int64_t kWidest = 64;  // bytes
  const int64_t size = byteSize(b_.kernel().buffers[buffer].element);
  return std::max<int64_t>(lanes_, std::min<int64_t>(kWidest, 4 * lanes_) / size);
}

// Lanes of `a` where `from_a` says so, of `b` elsewhere.
Elem Emitter::blended(const std::vector<bool>& from_a, const Elem& a, const Elem& b) {
  std::vector<int16_t> list;
  for (int l = 0; l < lanes_; ++l)
    list.push_back(static_cast<int16_t>(from_a[static_cast<size_t>(l)] ? l : lanes_ + l));
  auto blend = [&](V x, V y) {
    x = b_.widen(x, lanes_);
    V both = b_.shuffle(inBytes(b_, x), inBytes(b_, b_.widen(y, lanes_)), list);
    return b_.type(x).scalar == Scalar::i1 ? b_.cast(Opcode::itrunc, both, Scalar::i1) : both;
  };
  return {blend(a.re, b.re), a.im.valid() ? blend(a.im, b.im) : V{}};
}

Elem Emitter::selectWhere(V condition, const Elem& a, const Elem& b) {
  return condition.valid() ? elemSelect(b_, condition, a, b) : a;
}

}  // namespace tercel::kernel
