#include "compiler/kernel/index.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace tercel::kernel {
namespace {

int64_t floorMod(int64_t a, int64_t b) { return a - floorDiv(a, b) * b; }

int64_t factorOf(const Index& a, uint32_t atom) {
  for (Term t : a.terms)
    if (t.atom == atom) return t.factor;
  return 0;
}

// How many times `a` has all terms of `part`, of which `term`, one of its own, is one. 0: it has not.
int64_t timesIn(const Index& a, const Index& part, Term term) {
  const int64_t once = factorOf(part, term.atom);
  if (once == 0 || term.factor % once != 0) return 0;
  const int64_t times = term.factor / once;
  for (Term t : part.terms)
    if (factorOf(a, t.atom) != times * t.factor) return 0;
  return times;
}

}  // namespace

void Index::add(Term term) {
  auto at = std::lower_bound(terms.begin(), terms.end(), term,
                             [](Term a, Term b) { return a.atom < b.atom; });
  size_t position = static_cast<size_t>(at - terms.begin());
  if (at != terms.end() && at->atom == term.atom) {
    at->factor += term.factor;
    if (at->factor == 0) terms.erase(position);
  } else if (term.factor != 0) {
    terms.insert(position, term);
  }
}

uint32_t IndexSpace::addAtom(Atom atom) {
  atoms_.push_back(std::move(atom));
  return static_cast<uint32_t>(atoms_.size() - 1);
}

Index IndexSpace::atomIndex(uint32_t id) const {
  Index index;
  index.terms.push_back({id, 1});
  return index;
}

Index IndexSpace::loop(V value, int64_t extent, bool vector) {
  if (extent == 1) return Index(0);
  Atom atom{.extent = extent, .is_loop = true, .is_vector_loop = vector, .value = value};
  return atomIndex(addAtom(atom));
}

Index IndexSpace::wholeVectors(V value, int64_t extent, int lanes) {
  const Index index = loop(value, extent, lanes > 1);
  if (lanes > 1 && !index.isConstant()) atoms_[index.terms[0].atom].lanes = lanes;
  return index;
}

Index IndexSpace::scalar(V value, int64_t extent) {
  uint64_t bits;
  if (builder_.isConstant(value, &bits)) return Index(static_cast<int64_t>(bits));
  for (uint32_t id = 0; id < atoms_.size(); ++id)
    if (atoms_[id].value == value && !atoms_[id].is_loop) return atomIndex(id);
  return atomIndex(addAtom({.extent = extent, .value = value}));
}

Index IndexSpace::lanes(V values, int64_t extent) {
  if (!builder_.type(values).isVector()) return scalar(values, extent);
  for (uint32_t id = 0; id < atoms_.size(); ++id)
    if (atoms_[id].value == values) return atomIndex(id);
  return atomIndex(addAtom({.kind = Atom::Kind::lanes, .extent = extent, .value = values}));
}

Index IndexSpace::known(std::vector<int64_t> at_lanes, int64_t extent) {
  const bool is_one = std::ranges::adjacent_find(at_lanes, std::not_equal_to{}) == at_lanes.end();
  if (is_one && at_lanes[0] != kNoPlace) return Index(at_lanes[0]);
  for (uint32_t id = 0; id < atoms_.size(); ++id)
    if (atoms_[id].kind == Atom::Kind::known && atoms_[id].at_lanes == at_lanes)
      return atomIndex(id);
  return atomIndex(
      addAtom({.kind = Atom::Kind::known, .extent = extent, .at_lanes = std::move(at_lanes)}));
}

Index IndexSpace::add(const Index& a, const Index& b) const {
  Index sum = a;
  sum.constant += b.constant;
  for (Term t : b.terms) sum.add(t);
  return recombined(std::move(sum));
}

Index IndexSpace::scale(const Index& a, int64_t factor) const {
  if (factor == 0) return Index(0);
  Index scaled = a;
  scaled.constant *= factor;
  for (Term& t : scaled.terms) t.factor *= factor;
  return scaled;
}

// divisor * (x / divisor) + x % divisor = x.
Index IndexSpace::recombined(Index a) const {
  for (const Term& r : a.terms) {
    const Atom& rem = atoms_[r.atom];
    if (rem.kind == Atom::Kind::known) {
      for (const InLanes& x : in_lanes_)
        if (const int64_t times = timesIn(a, x.whole, r))
          return add(subtract(a, scale(x.whole, times)), scale(x.of, times));
      continue;
    }
    if (rem.kind != Atom::Kind::remainder) continue;
    for (const Term& q : a.terms) {
      const Atom& quo = atoms_[q.atom];
      if (quo.kind != Atom::Kind::quotient || quo.divisor != rem.divisor ||
          q.factor != r.factor * rem.divisor || !(quo.inner == rem.inner))
        continue;
      Index inner = scale(rem.inner, r.factor);
      Term gone_r = {r.atom, -r.factor}, gone_q = {q.atom, -q.factor};
      a.add(gone_r);
      a.add(gone_q);
      return add(a, inner);
    }
  }
  return a;
}

int64_t IndexSpace::lowest(const Index& a) const {
  int64_t sum = a.constant;
  for (Term t : a.terms)
    if (t.factor < 0) sum += t.factor * (atoms_[t.atom].extent - 1);
  return sum;
}

int64_t IndexSpace::highest(const Index& a) const {
  int64_t sum = a.constant;
  for (Term t : a.terms)
    if (t.factor > 0) sum += t.factor * (atoms_[t.atom].extent - 1);
  return sum;
}

// a = unit * first + second, as far as terms and constant are such multiples.
std::pair<Index, Index> IndexSpace::inUnits(const Index& a, int64_t unit) const {
  Index units, rest;
  for (Term t : a.terms) {
    if (t.factor % unit == 0)
      units.add({t.atom, t.factor / unit});
    else
      rest.add(t);
  }
  units.constant = floorDiv(a.constant, unit);
  rest.constant = floorMod(a.constant, unit);
  return {units, rest};
}

// A part of the divisor that a has multiples of, and less than one besides: rows of an array, of
// which a few are a row of another. 1: none.
int64_t IndexSpace::unitOf(const Index& a, int64_t divisor) const {
  for (Term t : a.terms) {
    const int64_t unit = std::gcd(t.factor, divisor);
    if (unit == 1) continue;
    const Index rest = inUnits(a, unit).second;
    if (lowest(rest) >= 0 && highest(rest) < unit) return unit;
  }
  return 1;
}

// Of a vector whose first place is a multiple of the divisor, whichever it is: known in each lane,
// but for the first one's quotient.
const IndexSpace::InLanes* IndexSpace::dividedInLanes(const Index& a, int64_t divisor) {
  for (const InLanes& known : in_lanes_)
    if (known.divisor == divisor && known.of == a) return &known;
  if (a.terms.size() != 1) return nullptr;
  const Term t = a.terms[0];
  const Atom vector = atoms_[t.atom];
  if (vector.lanes == 0 || t.factor < 0 || t.factor * vector.lanes % divisor != 0) return nullptr;
  std::vector<int64_t> quotients, remainders;
  for (int64_t lane = 0; lane < vector.lanes; ++lane) {
    const int64_t place = t.factor * lane + a.constant;
    quotients.push_back(place / divisor);
    remainders.push_back(place % divisor);
  }
  const Index first = scalar(vector.value, std::max<int64_t>(vector.extent - vector.lanes + 1, 1));
  InLanes in_lanes{.of = a, .divisor = divisor};
  in_lanes.quotient =
      add(divided(Atom::Kind::quotient, scale(first, t.factor), divisor),
          known(quotients, quotients.back() + 1));
  in_lanes.remainder = known(remainders, divisor);
  in_lanes.whole = add(scale(in_lanes.quotient, divisor), in_lanes.remainder);
  in_lanes_.push_back(std::move(in_lanes));
  return &in_lanes_.back();
}

// Takes the multiples of the divisor out of `a`; what is left stands in one atom.
Index IndexSpace::divided(Atom::Kind kind, const Index& a, int64_t divisor) {
  auto [whole, rest] = inUnits(a, divisor);
  if (lowest(rest) < 0) {  // keep the part under division non-negative
    int64_t shift = (-lowest(rest) + divisor - 1) / divisor;
    rest.constant += shift * divisor;
    whole.constant -= shift;
  }
  bool want_quotient = kind == Atom::Kind::quotient;
  if (highest(rest) < divisor) return want_quotient ? whole : rest;
  if (rest.isConstant()) {
    if (!want_quotient) return Index(floorMod(rest.constant, divisor));
    whole.constant += rest.constant / divisor;
    return whole;
  }
  if (const int64_t unit = unitOf(rest, divisor); unit > 1) {
    const auto [units, below] = inUnits(rest, unit);
    const Index of_units = divided(kind, units, divisor / unit);
    return want_quotient ? add(whole, of_units) : add(scale(of_units, unit), below);
  }
  if (const InLanes* in_lanes = dividedInLanes(rest, divisor))
    return want_quotient ? add(whole, in_lanes->quotient) : in_lanes->remainder;
  if (rest.terms.size() == 1 && rest.constant == 0 && rest.terms[0].factor == 1) {
    const Atom& only = atoms_[rest.terms[0].atom];
    if (only.is_loop && only.extent % divisor == 0)
      splits_.push_back({rest.terms[0].atom, divisor});
  }
  int64_t extent = want_quotient ? highest(rest) / divisor + 1 : divisor;
  for (uint32_t id = 0; id < atoms_.size(); ++id) {
    const Atom& other = atoms_[id];
    if (other.kind == kind && other.divisor == divisor && other.inner == rest)
      return want_quotient ? add(whole, atomIndex(id)) : atomIndex(id);
  }
  uint32_t id = addAtom({.kind = kind, .extent = extent, .inner = rest, .divisor = divisor});
  return want_quotient ? add(whole, atomIndex(id)) : atomIndex(id);
}

Index IndexSpace::quotient(const Index& a, int64_t divisor) {
  return divisor == 1 ? a : divided(Atom::Kind::quotient, a, divisor);
}

Index IndexSpace::remainder(const Index& a, int64_t divisor) {
  return divisor == 1 ? Index(0) : divided(Atom::Kind::remainder, a, divisor);
}

Index IndexSpace::linear(std::span<const Index> indices, std::span<const int64_t> dims) const {
  Index sum;
  int64_t stride = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    sum = add(sum, scale(indices[d], stride));
    stride *= dims[d];
  }
  return sum;
}

Indices IndexSpace::delinear(const Index& linear, std::span<const int64_t> dims) {
  Indices indices(dims.size());
  size_t first = 0;  // what is left for it is not beyond it
  while (first < dims.size() && dims[first] == 1) ++first;
  Index rest = linear;
  for (size_t d = dims.size(); d-- > first + 1;) {
    if (dims[d] == 1) continue;
    indices[d] = remainder(rest, dims[d]);
    rest = quotient(rest, dims[d]);
  }
  if (first < dims.size()) indices[first] = rest;
  return indices;
}

Index IndexSpace::loopsOf(const Index& a) const {
  Index loops;
  for (Term t : a.terms)
    if (atoms_[t.atom].is_loop) loops.add(t);
  return loops;
}

void IndexSpace::noteBareUse(const Index& a) {
  for (Term t : a.terms) {
    const Atom& atom = atoms_[t.atom];
    if (atom.kind == Atom::Kind::quotient || atom.kind == Atom::Kind::remainder)
      noteBareUse(atom.inner);
  }
  if (Index loops = loopsOf(a); !loops.isConstant()) bare_.push_back(std::move(loops));
}

void IndexSpace::noteBoundUse(const Index& a) {
  if (Index loops = loopsOf(a); !loops.isConstant()) bound_.push_back(std::move(loops));
}

// x / d + rest < n where x + d * rest < d * n.
Index IndexSpace::withoutQuotient(const Index& a, int64_t* factor) const {
  *factor = 1;
  for (Term t : a.terms) {
    const Atom& atom = atoms_[t.atom];
    if (atom.kind != Atom::Kind::quotient || t.factor != 1) continue;
    Index rest = a;
    rest.add({t.atom, -1});
    *factor = atom.divisor;
    return add(atom.inner, scale(rest, atom.divisor));
  }
  return a;
}

bool IndexSpace::usedBare(uint32_t atom) const {
  return std::ranges::any_of(bare_, [&](const Index& use) {
    return std::ranges::any_of(use.terms, [&](Term t) { return t.atom == atom; });
  });
}

}  // namespace tercel::kernel
