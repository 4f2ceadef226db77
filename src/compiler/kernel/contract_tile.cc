// One tile of sums: the loop of k, and what becomes of the sums.
#include <algorithm>

#include "compiler/kernel/contract_nest.h"

namespace tercel::kernel {

Emitter ContractNest::emitter(int lanes) {
  Emitter e(b_, space_, m_, lanes);
  low_.bindInputs(e);
  return e;
}

// The element of an operand at these groups, in the type of the sums.
V ContractNest::operandAt(Emitter& e, size_t operand, const Groups& groups) {
  Indices domain = domainIndices(space_, plan_, domain_.size(), groups);
  Indices out(domain.begin(), domain.begin() + static_cast<int64_t>(rank_));
  Indices k(domain.begin() + static_cast<int64_t>(rank_), domain.end());
  DType from = m_.shape(op_.operand(operand)).dtype, to = m_.shape(op_.result()).dtype;
  Elem x = operand == 0 ? lhsAt(e, out, k) : e.at(op_.operand(1), contraction_.rhs(space_, out, k));
  DType wide = to == DType::f16 || to == DType::bf16 ? DType::f32 : to;
  return elemConvert(b_, x, from, wide).re;
}

// Zero in the padding.
Elem ContractNest::lhsAt(Emitter& e, const Indices& out, const Indices& k) {
  V inside;
  for (auto [index, extent] : contraction_.bounds(space_, out, k)) {
    V ok = e.inBounds(index, extent);
    if (ok.valid()) inside = inside.valid() ? b_.binary(Opcode::and_, inside, ok) : ok;
  }
  Indices where = contraction_.lhs(space_, out, k);
  if (!inside.valid()) return e.at(op_.operand(0), where);
  Elem x = e.guarded(e.guardOf(inside), [&] { return e.at(op_.operand(0), where); });
  return e.selectWhere(inside, x, e.zero(m_.shape(op_.operand(0)).dtype));
}

Index ContractNest::rowIndex(V row) {
  return space_.loop(row, std::max<int64_t>(1, m_extent_ - tiling_.rows + 1));
}

int64_t ContractNest::columnOffset(int v) const {
  int64_t offset = static_cast<int64_t>(v) * tiling_.lanes;
  return n_ < tiling_.panel() ? std::min(offset, std::max<int64_t>(0, n_ - tiling_.lanes)) : offset;
}

Index ContractNest::columnIndex(V column, int v) {
  int64_t starts = std::max<int64_t>(0, n_ - tiling_.panel());
  int64_t extent = starts + std::min<int64_t>(n_, tiling_.lanes);
  return space_.add(space_.loop(column, extent, tiling_.lanes > 1), Index(columnOffset(v)));
}

Guard ContractNest::columnGuard() {
  if (n_ >= tiling_.lanes) return {};
  Type ids{Scalar::i32, static_cast<uint16_t>(tiling_.lanes)};
  return {b_.compare(Opcode::icmp, Predicate::slt, b_.laneIds(ids), b_.integer(ids, n_)), {}};
}

void ContractNest::emitTile(const Tile& tile) {
  Sums sums = tiling_.along_k ? sumsAlong(tile) : sumsAcross(tile);
  staged_ ? storeStaged(tile, sums) : storeDirectly(tile, sums);
}

ContractNest::Sums ContractNest::sumsAcross(const Tile& tile) {
  Emitter e = emitter(tiling_.lanes);
  V zero = b_.constant({sum_, static_cast<uint16_t>(tiling_.lanes)}, 0);
  Sums sums;
  for (int64_t i = 0; i < tiling_.rows * tiling_.vectors; ++i) sums.push_back(zero);
  return overK(e, tile, 0, tile.groups, Index(0), sums);
}

V ContractNest::multiplyAdd(Emitter& e, V a, V b, V sum) {
  DType out = m_.shape(op_.result()).dtype;
  return e.multiplyAdd({a, {}}, {b, {}}, {sum, {}}, out, out).re;
}

// The loops of the sum; one where both sides are packed, which makes k linear.
ContractNest::Sums ContractNest::overK(Emitter& e, const Tile& tile, size_t at, Groups groups,
                                       Index linear, const Sums& sums) {
  bool packed = tiling_.pack_m && tiling_.pack_n;
  if (at == (packed ? std::min<size_t>(1, k_groups_.size()) : k_groups_.size()))
    return step(e, tile, groups, linear, sums);
  int64_t count = packed ? k_ : extent(k_groups_[at]), inside = 1;
  for (size_t g = at + 1; !packed && g < k_groups_.size(); ++g) inside *= extent(k_groups_[g]);
  return inRuns(count, inside, sums, [&](V i, const Sums& now) {
    Index here = space_.loop(i, count);
    return e.scope([&] {
      return overK(e, tile, at + 1, with(groups, packed ? kNone : k_groups_[at], here),
                   space_.add(space_.scale(linear, count), here), now);
    });
  });
}

// A loop of `count` iterations, each of which adds `inside` products. A long sum is added up from
// those of shorter runs: rounding errors grow with a run's length.
ContractNest::Sums ContractNest::inRuns(int64_t count, int64_t inside, const Sums& sums,
                                        const std::function<Sums(V, const Sums&)>& body) {
  constexpr int64_t kLongestRun = 1024;
  auto loop = [&](V lo, V hi, const Sums& from) {
    return b_.forLoop(lo, hi, 1, {from.begin(), from.end()}, [&](V i, std::span<const V> now) {
      return body(i, Sums(now.begin(), now.end()));
    });
  };
  bool is_level = inside <= kLongestRun && kLongestRun < inside * count;
  if (!is_level || !isFloat(sum_)) return loop(b_.index(0), b_.index(count), sums);
  int64_t run = std::max<int64_t>(1, kLongestRun / inside);
  V zero = b_.constant({sum_, static_cast<uint16_t>(tiling_.lanes)}, 0);
  return b_.forLoop(b_.index(0), b_.index(count), run, {sums.begin(), sums.end()},
                    [&](V first, std::span<const V> now) {
    V last = b_.binary(Opcode::smin, b_.iadd(first, b_.index(run)), b_.index(count));
    Sums own = loop(first, last, Sums(sums.size(), zero));
    for (size_t i = 0; i < own.size(); ++i) own[i] = b_.fadd(now[i], own[i]);
    return own;
  });
}

ContractNest::Sums ContractNest::step(Emitter& e, const Tile& tile, const Groups& groups,
                                      const Index& k, const Sums& sums) {
  std::vector<V> vectors;
  for (int v = 0; v < tiling_.vectors; ++v) vectors.push_back(nVector(e, tile, groups, k, v));
  Sums next;
  for (int64_t i = 0; i < tiling_.rows; ++i) {
    V a = mScalar(e, tile, groups, k, i);
    for (V v : vectors) next.push_back(multiplyAdd(e, a, v, sums[next.size()]));
  }
  return next;
}

V ContractNest::nVector(Emitter& e, const Tile& tile, const Groups& groups, const Index& k, int v) {
  if (tiling_.pack_n) {
    V line = b_.iadd(b_.imul(tile.n_slot, b_.index(k_ * tiling_.panel())),
                     space_.emitScalar(space_.scale(k, tiling_.panel())));
    return b_.load(n_scratch_, line, tiling_.lanes, v * tiling_.lanes);
  }
  return e.guarded(columnGuard(), [&] {
    V x = operandAt(e, n_operand_, with(groups, n_group_, columnIndex(tile.column, v)));
    return b_.widen(x, tiling_.lanes);
  });
}

V ContractNest::mScalar(Emitter& e, const Tile& tile, const Groups& groups, const Index& k,
                        int64_t i) {
  if (tiling_.across) {
    V line = b_.iadd(tile.m_slot, space_.emitScalar(space_.scale(k, tiling_.rows)));
    return b_.load(m_scratch_, line, 1, i);
  }
  if (tiling_.pack_m) return b_.load(m_scratch_, space_.emitScalar(k), 1, i * m_pitch_);
  Index row = space_.add(rowIndex(tile.row), Index(i));
  return operandAt(e, 1 - n_operand_, with(groups, m_group_, row));
}

void ContractNest::storeDirectly(const Tile& tile, const Sums& sums) {
  Emitter e = emitter(tiling_.lanes);
  for (int64_t i = 0; i < tiling_.rows; ++i)
    for (int v = 0; v < tiling_.vectors; ++v)
      storeVector(e, tile, space_.add(rowIndex(tile.row), Index(i)), v,
                  sums[static_cast<size_t>(i * tiling_.vectors + v)]);
}

// The epilogue is emitted once, in a loop over the rows.
void ContractNest::storeStaged(const Tile& tile, const Sums& sums) {
  for (size_t i = 0; i < sums.size(); ++i)
    b_.store(tile_scratch_, b_.index(0), sums[i], static_cast<int64_t>(i) * tiling_.lanes);
  b_.forLoop(b_.index(0), b_.index(tiling_.rows), 1, [&](V i) {
    Emitter e = emitter(tiling_.lanes);
    Index row = space_.add(rowIndex(tile.row), space_.loop(i, tiling_.rows));
    for (int v = 0; v < tiling_.vectors; ++v) {
      V from = b_.imul(i, b_.index(tiling_.panel()));
      storeVector(e, tile, row, v, b_.load(tile_scratch_, from, tiling_.lanes, v * tiling_.lanes));
    }
  });
}

void ContractNest::storeVector(Emitter& e, const Tile& tile, const Index& row, int v, V sum) {
  Groups at = with(with(tile.groups, m_group_, row), n_group_, columnIndex(tile.column, v));
  e.bindElem(op_.result(), {roundTo(b_, sum, m_.shape(op_.result()).dtype), {}});
  e.guarded(columnGuard(), [&] {
    Indices domain = domainIndices(space_, plan_, domain_.size(), at);
    storeOutputs(e, Indices(domain.begin(), domain.begin() + static_cast<int64_t>(rank_)));
  });
}

void ContractNest::storeOutputs(Emitter& e, const Indices& out) {
  const Dims& dims = m_.shape(op_.result()).dims;
  Index linear = e.space().linear(out, dims);
  std::vector<Elem> values;
  for (ir::Value v : low_.cluster.outputs) {
    const Dims& own = m_.shape(v).dims;
    values.push_back(e.at(v, own == dims ? out : e.space().delinear(linear, own)));
  }
  for (size_t o = 0; o < values.size(); ++o) low_.storeOutput(e, o, linear, values[o]);
}

}  // namespace tercel::kernel
