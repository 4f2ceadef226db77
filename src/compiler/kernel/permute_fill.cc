// Lines that become lanes, squares of words, words by themselves: the ways of a permutation.
#include "compiler/kernel/permute_fill.h"

#include "compiler/kernel/transpose_tile.h"

namespace tercel::kernel {

using Way = PermutePlan::Way;

int64_t PermuteFill::outerStep() const {
  if (plan_.way != Way::tiles) return 1;
  return std::clamp<int64_t>(mostLines() / plan_.inner_size, 1, plan_.outer_size);
}

void PermuteFill::emit(const Side& in_side, const Side& out_side, const Range& in,
                       const Range& out, V first, V to) {
  if (plan_.way == Way::join)
    return in_side.overSteps(b_, in, plan_.words, [&](V at) { joinLines(at, first, to); });
  if (plan_.way == Way::within)
    return in_side.overSteps(b_, in, plan_.words, [&](V at) { moveWithin(at, first, to); });
  if (plan_.way == Way::part)
    return out_side.overSteps(b_, out, plan_.words, [&](V at) { partLines(at, first, to); });
  out_side.overSteps(b_, out, outerStep(), [&](V out_at) {
    V line = first;
    if (plan_.outer) line = b_.iadd(line, b_.imul(out_at, b_.index(loads()[*plan_.outer])));
    in_side.overSteps(b_, in, std::min(plan_.words, plan_.in_size), [&](V at) {
      V from = b_.iadd(line, b_.imul(at, b_.index(plan_.word)));
      V to = b_.iadd(b_.imul(at, b_.index(pitch_)), b_.imul(out_at, b_.index(plan_.across())));
      plan_.way == Way::tiles ? turnTiles(from, to) : copyWords(from, to);
    });
  });
}

// Where the line is of a place across: of `inner`, and beyond it of the next `outer`.
int64_t PermuteFill::lineAt(int64_t place) const {
  int64_t at = 0;
  for (size_t g : plan_.inner) {
    at += place % extent(g) * loads()[g];
    place /= extent(g);
  }
  return at + (plan_.outer ? place * loads()[*plan_.outer] : 0);
}

V PermuteFill::load(V place, int64_t offset, int64_t words) {
  return loadLanes(place, offset, words * plan_.word);
}

V PermuteFill::loadLanes(V place, int64_t offset, int64_t count, const Guard& guard) {
  const auto lanes = static_cast<int>(count);
  Emitter e(b_, space_, low_.module, lanes);
  low_.bindInputs(e);
  e.keeps_bits = true;
  const Shape& shape = low_.module.shape(source_);
  const int64_t all = std::max<int64_t>(2, shape.elements() - offset);
  Index at = space_.add(space_.loop(place, all, lanes > 1), Index(offset));
  const Indices indices = space_.delinear(at, shape.dims);
  V bits = e.guarded(guard, [&] { return e.at(source_, indices).re; });
  return b_.cast(Opcode::bitcast, bits, held_);
}

Words PermuteFill::inVectors() const {
  return {static_cast<int>(plan_.word), static_cast<int>(plan_.words)};
}

// Of a vector that goes straight to the output, only `count` elements.
void PermuteFill::put(V to, int64_t offset, V vector, int64_t count) {
  if (scratch_) return b_.store(*scratch_, to, vector, offset);
  const int lanes = b_.type(vector).lanes;
  Emitter e(b_, space_, low_.module, lanes);
  e.keeps_bits = true;
  Guard guard;
  if (count < lanes) guard = firstLanes(b_, lanes, b_.index(count));
  const int64_t elements = low_.module.shape(low_.cluster.outputs[0]).elements();
  const int64_t all = std::max<int64_t>(2, elements - offset);
  const Index place = space_.add(space_.loop(to, all, true), Index(offset));
  e.guarded(guard, [&] { low_.storeOutput(e, 0, place, {vector, {}}); });
}

void PermuteFill::joinLines(V at, V first, V to) {
  V from = b_.iadd(first, b_.imul(at, b_.index(plan_.word)));
  std::vector<V> lines;
  for (int64_t r = 0; r < plan_.inner_size; ++r)
    lines.push_back(load(from, lineAt(r), plan_.words));
  to = b_.iadd(to, b_.imul(at, b_.index(plan_.across())));
  const int64_t step = joinedWords(plan_.inner_size, plan_.words) * plan_.word;
  const std::vector<V> joined = joinedLines(b_, lines, inVectors());
  for (size_t v = 0; v < joined.size(); ++v)
    put(to, static_cast<int64_t>(v) * step, joined[v],
        v + 1 < joined.size() ? plan_.words * plan_.word : step);
}

void PermuteFill::partLines(V at, V first, V to) {
  V from = b_.iadd(first, b_.imul(at, b_.index(loads()[*plan_.outer])));
  const int64_t lines = plan_.in_size, step = joinedWords(lines, plan_.words);
  const int64_t count = plan_.words * lines / step, early = plan_.words - step;
  std::vector<V> vectors;
  for (int64_t v = 0; v < count; ++v)
    vectors.push_back(load(from, (v * step - (v == count - 1 ? early : 0)) * plan_.word,
                           plan_.words));
  const std::vector<V> parted = partedLines(b_, vectors, lines, inVectors(), early);
  const int64_t pitch = scratch_ ? pitch_ : stores()[plan_.ins[0]];
  to = b_.iadd(to, b_.imul(at, b_.index(plan_.word)));
  for (size_t r = 0; r < parted.size(); ++r)
    put(to, static_cast<int64_t>(r) * pitch, parted[r], plan_.words * plan_.word);
}

// Vectors of the rows that a step has, the last one so that it ends with them.
void PermuteFill::moveWithin(V at, V first, V to) {
  const int64_t all = plan_.words * plan_.across();
  const int64_t lanes = vectorBytes() / byteSize(held_);
  auto begin = [&](int64_t v) { return std::min(v * lanes, all - lanes); };
  V before = b_.imul(at, b_.index(plan_.across()));
  std::vector<V> vectors;
  for (int64_t v = 0; v * lanes < all; ++v)
    vectors.push_back(loadLanes(b_.iadd(first, before), begin(v), lanes));
  const Words each{1, static_cast<int>(lanes)};
  for (int64_t v = 0; v * lanes < all; ++v) {
    V moved = gathered(b_, vectors, each, [&](int64_t lane) {
      const int64_t place = begin(v) + lane, row = place / plan_.across();
      const int64_t source = row * plan_.across() + lineAt(place % plan_.across() / plan_.word) +
                             place % plan_.word;
      return From(source / lanes, source - begin(source / lanes));
    });
    put(b_.iadd(to, before), begin(v), moved, lanes);
  }
}

// Squares side by side in vectors; the last ones overlap their neighbours, or lack lines.
void PermuteFill::turnTiles(V from, V to) {
  const int64_t n = plan_.words, all = outerStep() * plan_.inner_size;
  const int64_t lines = std::min(mostLines(), powerFrom(std::max(all, n)));
  for (int64_t begin = 0; begin < all; begin += lines) {
    const int64_t first = std::max<int64_t>(0, std::min(begin, all - lines));
    std::vector<V> square;
    for (int64_t i = 0; i < n; ++i) square.push_back(sideBySide(from, first + i, lines, all));
    transposeTile(b_, square, static_cast<int>(plan_.word));
    for (int64_t i = 0; i < std::min(n, plan_.in_size); ++i)
      b_.store(*scratch_, to, square[static_cast<size_t>(i)], i * pitch_ + first * plan_.word);
  }
}

int64_t PermuteFill::mostLines() const {
  return std::max(plan_.words, vectorBytes() / (plan_.word * byteSize(held_)));
}

// Every so many-th of `lines` lines from the first on, of `all`.
V PermuteFill::sideBySide(V from, int64_t first, int64_t lines, int64_t all) {
  if (lines == plan_.words) return loadFew(from, lineAt(std::min(first, all - 1)));
  V low = sideBySide(from, first, lines / 2, all);
  const int64_t next = first + lines / 2;
  V high = next < all ? sideBySide(from, next, lines / 2, all) : low;
  std::vector<int16_t> list;
  for (int64_t lane = 0; lane < lines * plan_.word; ++lane)
    list.push_back(static_cast<int16_t>(lane));
  return b_.shuffle(low, high, list);
}

// Vectors of which only the first elements are there.
V PermuteFill::loadFirst(V from, int64_t offset, int64_t count, int64_t lanes) {
  return loadLanes(from, offset, lanes,
                   firstLanes(b_, static_cast<int>(lanes), b_.index(count)));
}

// The words that there are of a tile's line: no power of two is loaded as two that overlap.
V PermuteFill::loadFew(V from, int64_t offset) {
  const int64_t count = std::min(plan_.words, plan_.in_size);
  if (count == plan_.words) return load(from, offset, count);
  const int64_t half = powerFrom(count + 1) / 2;
  if (half < count && low_.machine.hasMasks())
    return loadFirst(from, offset, count * plan_.word, plan_.words * plan_.word);
  V low = load(from, offset, half);
  V high = half == count ? low : load(from, offset + (count - half) * plan_.word, half);
  std::vector<int16_t> list;
  for (int64_t lane = 0; lane < plan_.words * plan_.word; ++lane) {
    const int64_t w = lane / plan_.word, in_high = w - (count - half) + half;
    const int64_t at = w < half ? w : w < count ? in_high : -1;
    list.push_back(static_cast<int16_t>(at < 0 ? -1 : at * plan_.word + lane % plan_.word));
  }
  return b_.shuffle(low, high, list);
}

// In the order of the scratch memory: what is stored behind a word, the next one overwrites.
void PermuteFill::copyWords(V from, V to) {
  for (int64_t i = 0; i < plan_.words; ++i)
    for (int64_t r = 0; r < plan_.inner_size; ++r)
      copyWord(from, lineAt(r) + i * plan_.word, to, i * pitch_ + r * plan_.word);
}

void PermuteFill::copyWord(V from, int64_t place, V to, int64_t put) {
  const int64_t whole = powerFrom(plan_.word), half = whole / 2, rest = plan_.word - half;
  if (whole == plan_.word)
    return b_.store(*scratch_, to, loadLanes(from, place, whole), put);
  if (low_.machine.hasMasks()) {
    V word = loadFirst(from, place, plan_.word, whole);
    if (!plan_.is_packed || !plan_.outer) return b_.store(*scratch_, to, word, put);
    const Guard guard = firstLanes(b_, static_cast<int>(whole), b_.index(plan_.word));
    return b_.storeMasked(*scratch_, to, word, guard.lanes, put);
  }
  b_.store(*scratch_, to, loadLanes(from, place, half), put);
  b_.store(*scratch_, to, loadLanes(from, place + rest, half), put + rest);
}

}  // namespace tercel::kernel
