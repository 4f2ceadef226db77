#include "compiler/passes/affine_places.h"

#include <algorithm>

#include "compiler/ir/operand_coordinates.h"
#include "compiler/passes/constants.h"
#include "compiler/passes/element_range.h"
#include "core/integers.h"

namespace tercel::passes {
using namespace ir;
namespace {

constexpr int kMaxVisits = 256;
constexpr int64_t kMaxNumber = int64_t{1} << 40;    // so that nothing here overflows
constexpr int64_t kMaxElements = int64_t{1} << 22;  // of a constant that is looked through

bool isSmall(const Affine& a) {
  auto size = [](__int128 n) { return n < 0 ? -n : n; };
  __int128 most = size(a.constant);
  for (const Affine::Term& t : a.terms)
    most += t.digit.extent * size(t.factor);
  return most <= kMaxNumber;
}

Affine scaled(Affine a, int64_t factor) {
  if (factor == 0) return {};
  a.constant *= factor;
  for (Affine::Term& t : a.terms) t.factor *= factor;
  return a;
}

Affine number(int64_t n) { return {{}, n}; }
Affine difference(const Affine& a, const Affine& b) { return sum(a, scaled(b, -1)); }

bool fits(DType type, const Affine& a) {
  if (!isSmall(a)) return false;
  if (!hasRange(type)) return type != DType::u64 || a.lowest() >= 0;
  const Range range = rangeOfType(type);
  return range.low <= a.lowest() && a.highest() <= range.high;
}

std::optional<Affine> times(const Affine& a, const Affine& number) {
  const int64_t factor = number.constant, most = std::max(-a.lowest(), a.highest());
  if (!number.terms.empty() || factor > kMaxNumber / 2 || factor < -kMaxNumber / 2) return {};
  if (static_cast<double>(most) * std::abs(static_cast<double>(factor)) >
      static_cast<double>(kMaxNumber))
    return {};
  return scaled(a, factor);
}

struct Division {
  int64_t by;
  bool wants_quotient;
};

// What an op with this number as its second operand is.
std::optional<Division> divisionOf(OpKind kind, int64_t n) {
  switch (kind) {
    case OpKind::divide_:
    case OpKind::remainder_:
      if (n <= 0) return {};
      return Division{n, kind == OpKind::divide_};
    case OpKind::and_:
      if (n < 0 || (n & (n + 1)) != 0) return {};
      return Division{n + 1, false};
    default:  // a shift to the right
      if (n < 0 || n > 30) return {};
      return Division{int64_t{1} << n, true};
  }
}

Affine linear(std::span<const Affine> at, const Dims& dims) {
  Affine place;
  const Dims strides = rowMajorStrides(dims);
  for (size_t d = 0; d < at.size(); ++d) place = sum(place, scaled(at[d], strides[d]));
  return place;
}

std::vector<Affine> moved(const Coordinates& coordinates, std::span<const Affine> at) {
  std::vector<Affine> from;
  for (const auto& [dimension, start, step] : coordinates)
    from.push_back(sum(dimension < 0 ? Affine() : scaled(at[static_cast<size_t>(dimension)], step),
                       number(start)));
  return from;
}

}  // namespace

Affine sum(Affine a, const Affine& b) {
  a.constant += b.constant;
  for (const Affine::Term& t : b.terms) {
    auto at = std::ranges::lower_bound(a.terms, t.digit, {}, &Affine::Term::digit);
    const auto i = static_cast<size_t>(at - a.terms.begin());
    if (at == a.terms.end() || at->digit != t.digit)
      a.terms.insert(i, t);
    else if ((at->factor += t.factor) == 0)
      a.terms.erase(i);
  }
  return a;
}

int64_t Affine::lowest() const {
  int64_t low = constant;
  for (const Term& t : terms) low += std::min<int64_t>(0, t.factor * (t.digit.extent - 1));
  return low;
}

int64_t Affine::highest() const {
  int64_t high = constant;
  for (const Term& t : terms) high += std::max<int64_t>(0, t.factor * (t.digit.extent - 1));
  return high;
}

Affine AffinePlaces::coordinate(size_t d) const {
  Affine a = number(box_.low[d]);
  if (box_.extents[d] > 1) a.terms.push_back({{d, 1, box_.extents[d]}, 1});
  return a;
}

std::optional<Affine> AffinePlaces::at(Value v, std::span<const Affine> coordinates) {
  const Op* op = rw_.def(v);
  if (!op || op->results.size() != 1 || ++visits_ > kMaxVisits) return {};
  if (!isInteger(rw_.shape(v).dtype)) return {};
  const std::optional<Affine> found = inside(*op, coordinates);
  return found && fits(rw_.shape(v).dtype, *found) ? found : std::nullopt;
}

std::optional<Affine> AffinePlaces::inside(const Op& op, std::span<const Affine> at) {
  if (const auto coordinates = operandCoordinates(rw_.module(), op))
    return this->at(op.operand(0), moved(*coordinates, at));
  switch (op.kind) {
    case OpKind::iota_: return at[static_cast<size_t>(op.integer(AttrKey::iota_dimension))];
    case OpKind::constant_:
      if (op.literal().shape().elements() == 0) return {};
      return literalAt(op.literal(), linear(at, op.literal().shape().dims));
    case OpKind::reshape_: return reshapedAt(op, at);
    case OpKind::concatenate_: return joinedAt(op, at);
    case OpKind::convert_: return this->at(op.operand(0), at);
    default: return arithmetic(op, at);
  }
}

// Of an elementwise op, which may be a single element for all of its result.
std::optional<Affine> AffinePlaces::operandAt(const Op& op, size_t i, std::span<const Affine> at) {
  const bool scalar = rw_.shape(op.operand(i)).rank() == 0;
  return this->at(op.operand(i), scalar ? std::span<const Affine>() : at);
}

std::optional<Affine> AffinePlaces::arithmetic(const Op& op, std::span<const Affine> at) {
  if (!isElementwise(op.kind) || !op.regions.empty()) return {};
  auto operand = [&](size_t i) { return operandAt(op, i, at); };
  if (op.kind == OpKind::select_) {
    const Op* compare = rw_.def(op.operand(0), OpKind::compare_);
    const std::optional<bool> chosen = compare ? compared(*compare, at) : std::nullopt;
    return chosen ? operand(*chosen ? 1 : 2) : std::nullopt;
  }
  const bool is_binary = op.operands.size() == 2;
  if (op.kind != OpKind::negate_ && op.kind != OpKind::clamp_ && !is_binary) return {};
  const std::optional<Affine> a = operand(0);
  if (!a) return {};
  if (op.kind == OpKind::negate_) return scaled(*a, -1);
  const std::optional<Affine> b = operand(1);
  if (!b) return {};
  switch (op.kind) {
    case OpKind::add_: return sum(*a, *b);
    case OpKind::subtract_: return difference(*a, *b);
    case OpKind::multiply_: return b->terms.empty() ? times(*a, *b) : times(*b, *a);
    case OpKind::and_: return b->terms.empty() ? partOf(op.kind, *a, *b) : partOf(op.kind, *b, *a);
    case OpKind::divide_:
    case OpKind::remainder_:
    case OpKind::shift_right_arithmetic_:
    case OpKind::shift_right_logical_: return partOf(op.kind, *a, *b);
    case OpKind::minimum_: return smaller(*a, *b, false);
    case OpKind::maximum_: return smaller(*a, *b, true);
    case OpKind::clamp_: {
      const std::optional<Affine> c = operand(2);
      return c ? clamped(*a, *b, *c) : std::nullopt;
    }
    default: return {};
  }
}

// The quotient or the remainder that the op has of a number.
std::optional<Affine> AffinePlaces::partOf(OpKind kind, const Affine& a, const Affine& b) {
  const auto division = b.terms.empty() ? divisionOf(kind, b.constant) : std::nullopt;
  const auto parts = division ? divided(a, division->by) : std::nullopt;
  if (!parts) return {};
  return division->wants_quotient ? parts->quotient : parts->remainder;
}

// Of a constant: as its first elements say, if all others agree.
std::optional<Affine> AffinePlaces::literalAt(const Literal& literal, const Affine& place) {
  auto element = [&](int64_t i) { return static_cast<int64_t>(literal.number(i)); };
  auto isKnown = [&](int64_t i) {
    return std::abs(literal.number(i)) <= static_cast<double>(kMaxNumber);
  };
  if (literal.isSplat()) return isKnown(0) ? std::optional(number(element(0))) : std::nullopt;
  int64_t count = 1;
  if (!isKnown(place.constant)) return {};
  Affine found = number(element(place.constant));
  SmallVector<int64_t, 4> steps, counter(place.terms.size(), 0);
  for (const Affine::Term& t : place.terms) {
    if ((count *= t.digit.extent) > kMaxElements || !isKnown(place.constant + t.factor)) return {};
    steps.push_back(element(place.constant + t.factor) - found.constant);
    if (steps.back() != 0) found.terms.push_back({t.digit, steps.back()});
  }
  if (!isSmall(found)) return {};
  int64_t at = place.constant, expected = found.constant;
  for (int64_t i = 0; i < count; ++i) {
    if (!isKnown(at) || element(at) != expected) {
      if (place.terms.size() == 1 && place.terms[0].digit.divisor == 1)
        cut_ = CutAt{place.terms[0].digit.dimension, i};
      return {};
    }
    for (size_t d = place.terms.size(); d-- > 0;) {
      const Affine::Term& t = place.terms[d];
      at += t.factor;
      expected += steps[d];
      if (++counter[d] < t.digit.extent) break;
      at -= t.factor * t.digit.extent;
      expected -= steps[d] * t.digit.extent;
      counter[d] = 0;
    }
  }
  return found;
}

std::optional<Affine> AffinePlaces::joinedAt(const Op& op, std::span<const Affine> at) {
  const auto d = static_cast<size_t>(op.integer(AttrKey::dimension));
  std::vector<Affine> from(at.begin(), at.end());
  for (Value v : op.operands) {
    const int64_t size = rw_.shape(v).dims[d];
    const std::optional<bool> here = isBelow(from[d], size);
    if (!here) return {};
    if (*here) return this->at(v, from);
    from[d].constant -= size;
  }
  return {};
}

std::optional<Affine> AffinePlaces::reshapedAt(const Op& op, std::span<const Affine> at) {
  const Dims& from = rw_.shape(op.operand(0)).dims;
  Affine rest = linear(at, rw_.shape(op.result()).dims);
  std::vector<Affine> to(from.size());
  for (size_t d = from.size(); d-- > 0;) {
    if (from[d] == 1) continue;
    const auto parts = divided(rest, from[d]);
    if (!parts) return {};
    to[d] = parts->remainder;
    rest = parts->quotient;
  }
  return this->at(op.operand(0), to);
}

// By digits, where those of `a` can be parted so.
std::optional<AffinePlaces::Divided> AffinePlaces::divided(const Affine& a, int64_t by) {
  if (a.lowest() < 0) {
    wantCut(a, 0);
    return {};
  }
  Divided parts{number(a.constant / by), number(a.constant % by)};
  Affine rest = number(a.constant % by);
  for (const Affine::Term& t : a.terms) {
    if (t.factor % by == 0)
      parts.quotient = sum(parts.quotient, {{{t.digit, t.factor / by}}, 0});
    else
      rest = sum(rest, {{{t}}, 0});
  }
  parts.remainder = rest;
  const int64_t turn = floorDiv(rest.lowest(), by);
  if (turn == floorDiv(rest.highest(), by)) {
    parts.quotient.constant += turn;
    parts.remainder.constant -= turn * by;
    return parts;
  }
  if (rest.terms.size() == 1 && rest.terms[0].factor > 0 && by % rest.terms[0].factor == 0 &&
      rest.constant < rest.terms[0].factor) {
    const auto& [digit, factor] = rest.terms[0];
    const int64_t times = by / factor;
    if (digit.extent % times == 0) {
      const Digit upper{digit.dimension, digit.divisor * times, digit.extent / times};
      const Digit lower{digit.dimension, digit.divisor, times};
      parts.quotient = sum(parts.quotient, {{{upper, 1}}, 0});
      parts.remainder = {{{lower, factor}}, rest.constant};
      return parts;
    }
  }
  // At the last multiple, so that what comes before is whole turns, unless it starts within one.
  const bool starts_one = floorDiv(rest.lowest(), by) * by == rest.lowest();
  wantCut(rest, (starts_one ? floorDiv(rest.highest() + 1, by) : turn + 1) * by);
  return {};
}

std::optional<bool> AffinePlaces::isBelow(const Affine& a, int64_t bound) {
  if (a.highest() < bound) return true;
  if (a.lowest() >= bound) return false;
  wantCut(a, bound);
  return {};
}

std::optional<bool> AffinePlaces::compared(const Op& op, std::span<const Affine> at) {
  const std::optional<Affine> a = operandAt(op, 0, at), b = a ? operandAt(op, 1, at) : std::nullopt;
  if (!b) return {};
  const Affine over = difference(*a, *b);
  const std::string& direction = op.symbol(AttrKey::comparison_direction);
  auto negated = [](std::optional<bool> known) { return known ? std::optional(!*known) : known; };
  if (direction == "LT") return isBelow(over, 0);
  if (direction == "LE") return isBelow(over, 1);
  if (direction == "GE") return negated(isBelow(over, 0));
  if (direction == "GT") return negated(isBelow(over, 1));
  const bool differs = over.highest() < 0 || over.lowest() > 0;
  if (!differs && !(over == number(0))) return {};
  return differs == (direction == "NE");
}

std::optional<Affine> AffinePlaces::smaller(const Affine& a, const Affine& b, bool larger) {
  const Affine over = difference(a, b);
  if (over.highest() <= 0) return larger ? b : a;
  if (over.lowest() >= 0) return larger ? a : b;
  wantCut(over, 0);
  return {};
}

std::optional<Affine> AffinePlaces::clamped(const Affine& low, const Affine& a,
                                            const Affine& high) {
  const std::optional<Affine> above = smaller(a, low, true);
  return above ? smaller(*above, high, false) : std::nullopt;
}

std::optional<Affine> AffinePlaces::clamped(const Affine& a, int64_t limit) {
  return clamped(number(0), a, number(limit));
}

// Where a, which follows one coordinate, comes to `bound`.
void AffinePlaces::wantCut(const Affine& a, int64_t bound) {
  if (a.terms.size() != 1 || a.terms[0].digit.divisor != 1) return;
  const auto& [digit, factor] = a.terms[0];
  if (digit.extent != box_.extents[digit.dimension]) return;
  const int64_t left = bound - a.constant;
  const int64_t at = factor > 0 ? -floorDiv(-left, factor) : floorDiv(-left, -factor) + 1;
  if (at > 0 && at < digit.extent) cut_ = CutAt{digit.dimension, at};
}

}  // namespace tercel::passes
