// Sums of products of narrow numbers, several at a time: where the machine multiplies the parts of
// 32 bits and adds them up, as many neighbours along the sum are packed in one word of each side.
#include <algorithm>

#include "compiler/kernel/contract_nest.h"

namespace tercel::kernel {

// Of integers exact, but for what the result does not hold: whether an operand's highest bit is its
// sign is all one to a result that is no wider.
int64_t ContractNest::possibleParts() const {
  if (isFloat(sum_)) return low_.machine.has_bf16_dot && takesSubnormalsAsZeros() ? 2 : 1;
  DType out = m_.shape(op_.result()).dtype;
  DType left = operandType(rows_), right = operandType(columns_);
  if (!isInteger(out) || !isInteger(left) || !isInteger(right) || byteSize(out) > 4) return 1;
  auto bytes = std::max(byteSize(left), byteSize(right));
  bool is_narrow = byteSize(out) <= bytes;
  if (bytes == 1 && low_.machine.has_byte_dot && (is_narrow || isSigned(left) || isSigned(right)))
    return 4;
  auto fits = [&](DType type) { return is_narrow || isSigned(type) || byteSize(type) == 1; };
  return bytes <= 2 && low_.machine.has_pair_dot && fits(left) && fits(right) ? 2 : 1;
}

int64_t ContractNest::steps(size_t group) const {
  return group == innerSum() ? (extent(group) + tiling_.parts - 1) / tiling_.parts : extent(group);
}

int64_t ContractNest::wholeSteps(size_t group) const {
  return group == innerSum() ? extent(group) / tiling_.parts : extent(group);
}

// Of four parts, one side's are unsigned. Where neither is, the m side's get 128 added, and the
// sums begin with as much less.
bool ContractNest::hasUnsignedParts(const Axis& axis) const {
  return !isSigned(operandType(axis)) || byteSize(m_.shape(op_.result()).dtype) == 1;
}

bool ContractNest::isBiased() const {
  return tiling_.parts == 4 && !tiling_.in_tiles && !hasUnsignedParts(rows_) &&
         !hasUnsignedParts(columns_);
}

V ContractNest::biased(size_t operand, V word) {
  if (!isBiased() || operand != rows_.operand) return word;
  return b_.binary(Opcode::xor_, word, b_.constant(b_.type(word), 0x80808080));
}

V ContractNest::addProducts(V m, V n, V sum) {
  if (isFloat(sum_)) return b_.ternary(Opcode::dot_bf16, m, n, sum);
  if (tiling_.parts == 2) return b_.ternary(Opcode::dot_s16, m, n, sum);
  bool n_first = !isBiased() && !hasUnsignedParts(rows_);
  return b_.ternary(Opcode::dot_u8s8, n_first ? n : m, n_first ? m : n, sum);
}

// The block's steps along a group that take whole words, and the one that does not.
void ContractNest::overWhole(size_t group, int64_t at_once, const std::function<void(V)>& body) {
  auto [first, last] = rangeOf(group);
  V whole = b_.index(wholeSteps(group));
  if (wholeSteps(group) < steps(group)) last = b_.binary(Opcode::smin, last, whole);
  if (wholeSteps(group) > 0) b_.forLoop(first, last, at_once, body);
}

void ContractNest::overCut(size_t group, const std::function<void(V)>& body) {
  if (wholeSteps(group) == steps(group)) return;
  V last = rangeOf(group).second, whole = b_.index(wholeSteps(group));
  b_.forLoop(b_.binary(Opcode::smin, last, whole), last, 1, body);
}

// An element as the part of a word that it is.
V ContractNest::partAt(Emitter& e, size_t operand, const Groups& groups) {
  if (tiling_.parts == 4) return operandAs(DType::s8, e, operand, groups);
  if (!isFloat(sum_)) return operandAs(DType::s16, e, operand, groups);
  V x = operandAs(DType::bf16, e, operand, groups);
  return b_.cast(Opcode::bitcast, b_.cast(Opcode::fptrunc, x, Scalar::bf16), Scalar::i16);
}

// The word at the step that the innermost group says; what the last one lacks is zero.
V ContractNest::wordAt(Emitter& e, size_t operand, const Groups& groups) {
  if (tiling_.parts == 1) return operandAt(e, operand, groups);
  Index step = groups[innerSum()];
  bool is_last = step == Index(wholeSteps(innerSum()));
  int64_t parts = is_last ? extent(innerSum()) % tiling_.parts : tiling_.parts;
  int64_t width = 32 / tiling_.parts;
  V word;
  for (int64_t i = 0; i < parts; ++i) {
    Index k = space_.add(space_.scale(step, tiling_.parts), Index(i));
    V part = b_.cast(Opcode::zext, partAt(e, operand, with(groups, innerSum(), k)), Scalar::i32);
    part = b_.binary(Opcode::shl, part, b_.integer(b_.type(part), i * width));
    word = i == 0 ? part : b_.binary(Opcode::or_, word, part);
  }
  return biased(operand, word);
}

// Those of so many steps from one on, of an operand that lies along the sum.
V ContractNest::wordsAlong(size_t operand, const Groups& groups, V step, int lanes) {
  int64_t parts = tiling_.parts;
  int elements = lanes * static_cast<int>(parts);
  Emitter e = emitter(elements);
  Index k = space_.loop(b_.imul(step, b_.index(parts)), extent(innerSum()), true);
  Groups here = with(groups, innerSum(), k);
  if (parts == 1) return b_.widen(operandAt(e, operand, here), lanes);
  V x = partAt(e, operand, here);
  x = b_.bitcast(b_.widen(x, elements), {Scalar::i32, static_cast<uint16_t>(lanes)});
  return biased(operand, x);
}

// As packM; the last vector of a line is moved back.
void ContractNest::packWordsM(const Groups& groups, V row) {
  int64_t whole = wholeSteps(innerSum());
  bool lies_along = strideOf(rows_.operand, innerSum()) == 1;
  int lanes = 1;
  while (lies_along && 2 * lanes <= std::min<int64_t>(whole, sumLanes(low_.machine, 4))) lanes *= 2;
  V begin = rangeOf(innerSum()).first;
  Emitter e = emitter(1);
  overGroups(e, outerSums(), 0, groups, Index(0), [&](const Groups& at, const Index& k0) {
    V line = b_.isub(space_.emitScalar(space_.scale(k0, steps(innerSum()))), begin);
    auto eachRow = [&](V k, const std::function<V(const Groups&)>& words) {
      for (int64_t r = 0; r < tiling_.rows; ++r) {
        Groups here = with(at, rows_.group, space_.add(rowIndex(row), Index(r)));
        V there = b_.iadd(line, k);
        e.scope([&] { b_.store(m_scratch_, there, words(here), r * m_pitch_); });
      }
    };
    auto word = [&](const Groups& here, const Index& step) {
      return wordAt(e, rows_.operand, with(here, innerSum(), step));
    };
    overWhole(innerSum(), lanes, [&](V i) {
      V k = whole % lanes ? b_.binary(Opcode::smin, i, b_.index(whole - lanes)) : i;
      eachRow(k, [&](const Groups& here) {
        return lanes > 1 ? wordsAlong(rows_.operand, here, k, lanes)
                         : word(here, space_.loop(k, whole));
      });
    });
    overCut(innerSum(), [&](V k) {
      eachRow(k, [&](const Groups& here) { return word(here, Index(whole)); });
    });
  });
}

// What the sums of each column begin with: the n side's parts times -128.
void ContractNest::addUpBias(V first, V last) {
  Type type{sum_, static_cast<uint16_t>(tiling_.lanes)};
  V zero = b_.constant(type, 0), factors = b_.constant(type, 0x80808080);
  Sums none(static_cast<size_t>(tiling_.vectors), zero);
  b_.forLoop(first, last, 1, [&](V panel) {
    V slot = b_.isub(panel, first), begin = b_.imul(slot, b_.index(panelSize()));
    Sums all = b_.forLoop(b_.index(0), stepsInBlock(), 1, {none.begin(), none.end()},
                          [&](V k, std::span<const V> now) {
      V line = b_.iadd(begin, b_.imul(k, b_.index(tiling_.panel())));
      Sums next;
      for (V sum : now) {
        auto offset = static_cast<int64_t>(next.size()) * tiling_.lanes;
        V n = b_.load(n_scratch_, line, tiling_.lanes, offset);
        next.push_back(b_.ternary(Opcode::dot_u8s8, factors, n, sum));
      }
      return next;
    });
    for (size_t v = 0; v < all.size(); ++v)
      b_.store(bias_scratch_, b_.imul(slot, b_.index(tiling_.panel())), b_.isub(zero, all[v]),
               static_cast<int64_t>(v) * tiling_.lanes);
  });
}

}  // namespace tercel::kernel
