// Indices as numbers, of one element or of a vector's lanes: what is known of them, and what
// computes them.
#include <algorithm>
#include <ranges>

#include "compiler/kernel/index.h"
#include "core/status.h"

namespace tercel::kernel {
namespace {

// By numbers that follow no rule.
bool differsInLanes(const Atom& atom) {
  return atom.kind == Atom::Kind::lanes || atom.kind == Atom::Kind::known;
}

constexpr int64_t kFar = int64_t{1} << 30;  // two of them fit into 32 bits

}  // namespace

bool IndexSpace::varies(const Index& a) const {
  for (Term t : a.terms) {
    const Atom& atom = atoms_[t.atom];
    if (atom.is_vector_loop || differsInLanes(atom)) return true;
    if (atom.kind != Atom::Kind::scalar && varies(atom.inner)) return true;
  }
  return false;
}

bool IndexSpace::linearInLanes(const Index& a, int64_t* step) const {
  *step = 0;
  for (Term t : a.terms) {
    const Atom& atom = atoms_[t.atom];
    if (differsInLanes(atom)) return false;
    if (atom.is_vector_loop) *step += t.factor;
    if ((atom.kind == Atom::Kind::quotient || atom.kind == Atom::Kind::remainder) &&
        varies(atom.inner))
      return false;
  }
  return true;
}

bool IndexSpace::atLane(uint32_t id, int lane, int64_t* value) const {
  const Atom& atom = atoms_[id];
  if (atom.kind == Atom::Kind::lanes) return false;
  if (atom.kind == Atom::Kind::known) {
    *value = atom.at_lanes[static_cast<size_t>(lane)];
    return true;
  }
  if (atom.kind == Atom::Kind::scalar) {
    uint64_t bits;
    if (!builder_.isConstant(atom.value, &bits)) return false;
    *value = static_cast<int64_t>(bits) + (atom.is_vector_loop ? lane : 0);
    return true;
  }
  int64_t inner = atom.inner.constant, part;
  for (Term t : atom.inner.terms) {
    if (!atLane(t.atom, lane, &part)) return false;
    inner = part == kNoPlace || inner == kNoPlace ? kNoPlace : inner + t.factor * part;
  }
  *value = inner;
  if (inner != kNoPlace)
    *value = atom.kind == Atom::Kind::quotient ? inner / atom.divisor : inner % atom.divisor;
  return true;
}

std::vector<int64_t> IndexSpace::knownLanes(const Index& a, int lanes, Index* base) const {
  *base = Index(a.constant);
  std::vector<int64_t> known(static_cast<size_t>(lanes), 0);
  for (Term t : a.terms) {
    if (!varies(atomIndex(t.atom))) {
      base->add(t);
      continue;
    }
    int64_t value;
    for (int l = 0; l < lanes; ++l) {
      if (!atLane(t.atom, l, &value)) return {};
      int64_t& sum = known[static_cast<size_t>(l)];
      sum = value == kNoPlace || sum == kNoPlace ? kNoPlace : sum + t.factor * value;
    }
  }
  return known;
}

V IndexSpace::emitAtom(uint32_t id) {
  const Atom atom = atoms_[id];
  if (atom.kind == Atom::Kind::scalar) return atom.value;
  TERCEL_CHECK(!differsInLanes(atom), "a lane-varying index where a scalar is needed");
  noteBareUse(atom.inner);
  V inner = emitScalar(atom.inner);
  Opcode op = atom.kind == Atom::Kind::quotient ? Opcode::udiv : Opcode::urem;
  return builder_.binary(op, inner, builder_.index(atom.divisor));
}

// Terms of outer loops are added first, so that their sum leaves the inner loops.
V IndexSpace::emitScalar(const Index& a, bool skip_constant) {
  struct Part {
    uint32_t depth;
    V value;
  };
  SmallVector<Part, 4> parts;
  for (Term t : a.terms) {
    V value = builder_.imul(emitAtom(t.atom), builder_.index(t.factor));
    const Kernel& k = builder_.kernel();
    parts.push_back({k.blocks[k.values[value.index].block].depth, value});
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& x, const Part& y) { return x.depth < y.depth; });
  V sum = builder_.index(skip_constant ? 0 : a.constant);
  for (const Part& part : parts) sum = builder_.iadd(part.value, sum);
  return sum;
}

// Digits, by as many as there are lanes: each is another lane's number. Where it does not matter,
// it is one that exists.
V IndexSpace::emitKnown(std::span<const int64_t> at_lanes, Scalar word) {
  const auto lanes = static_cast<int64_t>(at_lanes.size());
  const Type type{word, static_cast<uint16_t>(lanes)};
  V ids = builder_.laneIds(type);
  std::vector<int16_t> digits;
  std::vector<int64_t> rest;
  const auto some = std::ranges::find_if(at_lanes, [](int64_t n) { return n != kNoPlace; });
  for (int64_t n : at_lanes) {
    if (n == kNoPlace) n = some == at_lanes.end() ? 0 : *some;
    digits.push_back(static_cast<int16_t>(n % lanes));
    rest.push_back(n / lanes);
  }
  V low = builder_.shuffle(ids, ids, digits);
  if (std::ranges::all_of(rest, [](int64_t n) { return n == 0; })) return low;
  return builder_.iadd(low, builder_.imul(emitKnown(rest, word), builder_.integer(type, lanes)));
}

V IndexSpace::resized(V value, Scalar word) {
  const bool is_wider = bitWidth(builder_.type(value).scalar) > bitWidth(word);
  return builder_.cast(is_wider ? Opcode::itrunc : Opcode::sext, value, word);
}

V IndexSpace::emitAtomLanes(uint32_t id, int lanes, Scalar word) {
  const Atom atom = atoms_[id];
  if (atom.kind == Atom::Kind::lanes) return resized(atom.value, word);
  if (atom.kind == Atom::Kind::known) return emitKnown(atom.at_lanes, word);
  noteBareUse(atom.inner);
  V inner = emitLanes(atom.inner, lanes, wordOf(atom.inner));
  Opcode op = atom.kind == Atom::Kind::quotient ? Opcode::udiv : Opcode::urem;
  return resized(builder_.binary(op, inner, builder_.integer(builder_.type(inner), atom.divisor)),
                 word);
}

IndexSpace::Parts IndexSpace::partsOf(const Index& a) const {
  Parts parts{.uniform = Index(a.constant)};
  for (Term t : a.terms) {
    const bool is_lane = atoms_[t.atom].is_vector_loop;
    if (is_lane) parts.step += t.factor;
    (is_lane || !varies(atomIndex(t.atom)) ? parts.uniform : parts.varying).add(t);
  }
  return parts;
}

V IndexSpace::emitVarying(const Parts& parts, int lanes, Scalar word) {
  const Type type{word, static_cast<uint16_t>(lanes)};
  V sum = builder_.imul(builder_.laneIds(type), builder_.integer(type, parts.step));
  for (Term t : parts.varying.terms)
    sum = builder_.iadd(
        builder_.imul(emitAtomLanes(t.atom, lanes, word), builder_.integer(type, t.factor)), sum);
  return sum;
}

bool IndexSpace::isNear(const Index& a) const { return lowest(a) > -kFar && highest(a) < kFar; }

// Of what varies: the rest may be far.
Scalar IndexSpace::wordOf(const Parts& parts) const {
  constexpr int64_t kMostLanes = 64;
  const bool fits = isNear(parts.varying) && std::abs(parts.step) < kFar / kMostLanes;
  return fits ? Scalar::i32 : Scalar::i64;
}

Scalar IndexSpace::wordOf(const Index& a) const {
  return isNear(a) ? wordOf(partsOf(a)) : Scalar::i64;
}

V IndexSpace::emitLanes(const Index& a, int lanes, Scalar word) {
  const Parts parts = partsOf(a);
  V first = builder_.widen(resized(emitScalar(parts.uniform, /*skip_constant=*/true), word), lanes);
  const Type type{word, static_cast<uint16_t>(lanes)};
  V rest = builder_.iadd(emitVarying(parts, lanes, word), builder_.integer(type, a.constant));
  return builder_.iadd(first, rest);
}

Places IndexSpace::emitPlaces(const Index& a, int lanes) {
  const Parts parts = partsOf(a);
  return {emitScalar(parts.uniform, /*skip_constant=*/true),
          emitVarying(parts, lanes, wordOf(parts)), a.constant};
}

std::optional<IndexSpace::NearPlaces> IndexSpace::nearPlaces(const Index& a, int lanes) {
  Index numbers, first(a.constant);
  for (Term t : a.terms)
    (atoms_[t.atom].kind == Atom::Kind::lanes && t.factor > 0 ? numbers : first).add(t);
  if (numbers.isConstant()) return {};
  const int64_t most = highest(numbers);
  if (!varies(first)) return NearPlaces{first, numbers, most + 1};
  Index base;
  std::vector<int64_t> known = knownLanes(first, lanes, &base);
  auto matters = [](int64_t place) { return place != kNoPlace; };
  auto that_matter = known | std::views::filter(matters);
  if (that_matter.empty()) return {};
  const auto [low, high] = std::ranges::minmax(that_matter);
  for (int64_t& place : known) place = matters(place) ? place - low : 0;
  const int64_t span = high - low + 1;
  return NearPlaces{add(base, Index(low)), add(numbers, this->known(std::move(known), span)),
                    most + span, false};
}

}  // namespace tercel::kernel
