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
  DType sum = m_.shape(op_.result()).dtype;
  bool is_half = sum == DType::f16 || sum == DType::bf16;
  return operandAs(is_half ? DType::f32 : sum, e, operand, groups);
}

V ContractNest::operandAs(DType type, Emitter& e, size_t operand, const Groups& groups) {
  Indices domain = domainIndices(space_, plan_, domain_.size(), groups);
  Indices out(domain.begin(), domain.begin() + static_cast<int64_t>(rank_));
  Indices k(domain.begin() + static_cast<int64_t>(rank_), domain.end());
  Elem x = e.at(op_.operand(operand), operand == 0 ? contraction_.lhs(space_, out, k)
                                                   : contraction_.rhs(space_, out, k));
  return elemConvert(b_, x, m_.shape(op_.operand(operand)).dtype, type).re;
}

Index ContractNest::rowIndex(V row) {
  int64_t starts = std::max<int64_t>(0, rows_.extent - tiling_.rows) / rows_.unit + 1;
  return space_.scale(space_.loop(row, starts), rows_.unit);
}

int64_t ContractNest::columnOffset(int v) const {
  int64_t offset = static_cast<int64_t>(v) * tiling_.lanes;
  if (columns_.extent >= tiling_.panel()) return offset;
  return std::min(offset, std::max<int64_t>(0, columns_.extent - tiling_.lanes));
}

Index ContractNest::columnIndex(V column, int v) {
  int64_t starts = std::max<int64_t>(0, columns_.extent - tiling_.panel());
  int64_t extent = starts + std::min<int64_t>(columns_.extent, tiling_.lanes);
  return space_.add(space_.loop(column, extent, tiling_.lanes > 1), Index(columnOffset(v)));
}

Guard ContractNest::columnGuard() {
  if (columns_.extent >= tiling_.lanes) return {};
  return firstLanes(b_, tiling_.lanes, b_.index(columns_.extent));
}

void ContractNest::emitTile(const Tile& tile, Part part) {
  if (part == Part::sums) return storeKept(tile);
  if (tiling_.in_tiles) {
    addInTiles(tile, part);
    return part == Part::whole ? storeKept(tile) : void();
  }
  Sums sums = sumsOf(tile);
  if (part == Part::block) return addToKept(tile, sums);
  if (!staged_) return storeDirectly(tile, sums);
  keepSums(tile, sums);
  storeKept(tile);
}

// Whether products that met subnormal numbers are made in f64. Short sums take less time than to
// look, and of tiles of many sums the code would be long.
bool ContractNest::looksForSubnormals() const {
  constexpr int64_t kMostSums = 8, kFewestSteps = 64;
  const int64_t columns = tiling_.along_k ? tiling_.panel() : tiling_.vectors;
  return low_.machine.slow_subnormals && m_.shape(op_.result()).dtype == DType::f32 &&
         tiling_.parts == 1 && !tiling_.in_tiles && k_ >= kFewestSteps &&
         tiling_.rows * columns <= kMostSums &&
         (op_.kind == ir::OpKind::convolution_ || isVectorProduct(m_, op_));
}

ContractNest::Sums ContractNest::bySubnormals(const std::function<Sums()>& sums) {
  if (!looksForSubnormals()) return sums();
  auto inDoubles = [&] {
    in_doubles_ = true;
    Sums all = sums();
    in_doubles_ = false;
    return all;
  };
  return b_.ifElse(b_.metSubnormals(), inDoubles, sums);
}

ContractNest::Sums ContractNest::sumsOf(const Tile& tile) {
  int64_t columns = tiling_.along_k ? tiling_.panel() : ownVectors(tile);
  int lanes = tiling_.along_k ? tiling_.sum_lanes : tiling_.lanes;
  V zero = b_.constant({sum_, static_cast<uint16_t>(lanes)}, 0);
  V bias = b_.imul(tile.n_slot, b_.index(tiling_.panel()));
  Sums sums;
  for (int64_t i = 0; i < tiling_.rows * columns; ++i)
    sums.push_back(isBiased() ? b_.load(bias_scratch_, bias, lanes,
                                        (tile.first + i % columns) * lanes)
                              : zero);
  Emitter e = emitter(lanes);
  sums = overK(e, tile, 0, tile.groups, Index(0), sums);
  return tiling_.along_k ? addedUp(sums) : sums;
}

V ContractNest::multiplyAdd(Emitter& e, V a, V b, V sum) {
  DType out = m_.shape(op_.result()).dtype;
  e.in_doubles = in_doubles_;
  return e.multiplyAdd({a, {}}, {b, {}}, {sum, {}}, out, out).re;
}

// The loops of the sum; one where both sides are packed, which makes k linear.
ContractNest::Sums ContractNest::overK(Emitter& e, const Tile& tile, size_t at, Groups groups,
                                       Index linear, const Sums& sums) {
  bool packed = tiling_.pack_m && tiling_.pack_n && !tiling_.along_k;
  size_t levels = packed ? std::min<size_t>(1, k_groups_.size()) : k_groups_.size();
  if (at == levels) return step(e, tile, groups, linear, sums);
  int64_t count = packed ? blockSize() : extent(k_groups_[at]), inside = 1;
  for (size_t g = at + 1; g < levels; ++g) inside *= extent(k_groups_[g]);
  int lanes = tiling_.along_k && at + 1 == levels ? e.lanes() : 1;
  std::pair<V, V> range = rangeOf(k_groups_[at]);
  if (packed) range = {b_.index(0), stepsInBlock()};
  if (skipsZeros()) range = withoutZeros(range, k_groups_[at], tile.groups);
  auto inner = [&](V i, const Guard& guard, const Sums& now) {
    Index here = space_.loop(i, count, lanes > 1);
    Groups inside_groups = with(groups, packed ? kNone : k_groups_[at], here);
    Index k = space_.add(space_.scale(linear, count), packed ? here : inBlock(k_groups_[at], i));
    return e.scope([&] {
      if (lanes > 1) return stepAlong(e, tile, inside_groups, k, guard, now);
      return overK(e, tile, at + 1, inside_groups, k, now);
    });
  };
  int64_t whole = count / lanes * lanes;
  V last = range.second;
  if (whole < count) range.second = b_.binary(Opcode::smin, last, b_.index(whole));
  Sums now = inRuns(range, packed ? count : blockOf(k_groups_[at]), inside, lanes, sums,
                    [&](V i, const Sums& each) { return inner(i, {}, each); });
  if (whole == count) return now;
  // What is left of the last vector: no more than once.
  Guard rest = firstLanes(b_, lanes, b_.index(count - whole));
  return b_.forLoop(range.second, last, lanes, {now.begin(), now.end()},
                    [&](V i, std::span<const V> each) {
    return inner(i, rest, Sums(each.begin(), each.end()));
  });
}

ContractNest::Sums ContractNest::oneByOne(std::pair<V, V> range, int64_t lanes, const Sums& sums,
                                          const Body& body) {
  return b_.forLoop(range.first, range.second, lanes, {sums.begin(), sums.end()},
                    [&](V i, std::span<const V> now) {
    return body(i, Sums(now.begin(), now.end()));
  });
}

// oneByOne of up to `count`. The flags are looked at every so many turns: a look takes as long as many
// additions, on AMD's machines for which all of them wait.
ContractNest::Sums ContractNest::inStretches(std::pair<V, V> range, int64_t count, int64_t lanes,
                                             const Sums& sums, const Body& body) {
  constexpr int64_t kTurns = 16;
  const int64_t stretch = kTurns * lanes;
  auto looking = [&](V first, V last, const Sums& now) {
    return bySubnormals([&] { return oneByOne({first, last}, lanes, now, body); });
  };
  if (!looksForSubnormals() || count <= stretch) return looking(range.first, range.second, sums);
  return b_.forLoop(range.first, range.second, stretch, {sums.begin(), sums.end()},
                    [&](V first, std::span<const V> now) {
    V last = b_.binary(Opcode::smin, b_.iadd(first, b_.index(stretch)), range.second);
    return looking(first, last, Sums(now.begin(), now.end()));
  });
}

// Additions to few sums would wait for each other: several are added up side by side.
ContractNest::Sums ContractNest::inChains(std::pair<V, V> range, int64_t count, int64_t lanes,
                                          const Sums& sums, const Body& body) {
  constexpr int64_t kChains = 8, kFewestTurns = 4;
  const auto own = static_cast<int64_t>(sums.size());
  int64_t at_once = 1;
  while (2 * at_once * own <= kChains && 2 * at_once * lanes * kFewestTurns <= count) at_once *= 2;
  if (at_once == 1) return inStretches(range, count, lanes, sums, body);
  const auto [first, last] = range;
  V whole = b_.binary(Opcode::and_, b_.isub(last, first), b_.index(-at_once * lanes));
  V middle = b_.iadd(first, whole);
  Sums all(static_cast<size_t>(at_once * own), b_.constant(b_.type(sums[0]), 0));
  std::ranges::copy(sums, all.begin());
  all = inStretches({first, middle}, count, at_once * lanes, all, [&](V i, const Sums& now) {
    Sums next;
    for (int64_t k = 0; k < at_once; ++k) {
      const auto part = now.begin() + k * own;
      for (V sum : body(b_.iadd(i, b_.index(k * lanes)), Sums(part, part + own)))
        next.push_back(sum);
    }
    return next;
  });
  for (size_t left = all.size() / 2; left >= sums.size(); left /= 2)
    for (size_t i = 0; i < left; ++i)
      all[i] = b_.binary(isFloat(sum_) ? Opcode::fadd : Opcode::iadd, all[i], all[i + left]);
  return inStretches({middle, last}, at_once * lanes, lanes, Sums(all.begin(), all.begin() + own),
                     body);
}

// A loop of `count` iterations, `lanes` at a time, each of which adds `inside` products. A long sum
// is added up from those of shorter runs: rounding errors grow with a run's length.
ContractNest::Sums ContractNest::inRuns(std::pair<V, V> range, int64_t count, int64_t inside,
                                        int64_t lanes, const Sums& sums, const Body& body) {
  constexpr int64_t kLongestRun = 1024;
  auto loop = [&](V lo, V hi, const Sums& from) {
    return inside == 1 ? inChains({lo, hi}, count, lanes, from, body)
                       : oneByOne({lo, hi}, lanes, from, body);
  };
  bool is_level = inside <= kLongestRun && kLongestRun < inside * count / lanes;
  if (!is_level || !isFloat(sum_)) return loop(range.first, range.second, sums);
  int64_t run = std::max<int64_t>(1, kLongestRun / inside) * lanes;
  V zero = b_.constant(b_.type(sums[0]), 0);
  return b_.forLoop(range.first, range.second, run, {sums.begin(), sums.end()},
                    [&](V first, std::span<const V> now) {
    V last = b_.binary(Opcode::smin, b_.iadd(first, b_.index(run)), range.second);
    Sums own = loop(first, last, Sums(sums.size(), zero));
    for (size_t i = 0; i < own.size(); ++i) own[i] = b_.fadd(now[i], own[i]);
    return own;
  });
}

ContractNest::Sums ContractNest::step(Emitter& e, const Tile& tile, const Groups& groups,
                                      const Index& k, const Sums& sums) {
  std::vector<V> vectors;
  for (int v = tile.first; v < tiling_.vectors; ++v)
    vectors.push_back(nVector(e, tile, groups, k, v));
  Sums next;
  for (int64_t i = 0; i < tiling_.rows; ++i) {
    V a = mScalar(e, tile, groups, k, i);
    for (V v : vectors) {
      V sum = sums[next.size()];
      next.push_back(tiling_.parts > 1 ? addProducts(a, v, sum) : multiplyAdd(e, a, v, sum));
    }
  }
  return next;
}

V ContractNest::nVector(Emitter& e, const Tile& tile, const Groups& groups, const Index& k, int v) {
  if (tiling_.pack_n) {
    V line = b_.iadd(b_.imul(tile.n_slot, b_.index(panelSize())),
                     space_.emitScalar(space_.scale(k, tiling_.panel())));
    return b_.load(n_scratch_, line, tiling_.lanes, v * tiling_.lanes);
  }
  return e.guarded(columnGuard(), [&] {
    V x = operandAt(e, columns_.operand, with(groups, columns_.group, columnIndex(tile.column, v)));
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
  return operandAt(e, rows_.operand, with(groups, rows_.group, row));
}

void ContractNest::storeDirectly(const Tile& tile, const Sums& sums) {
  Emitter e = emitter(tiling_.lanes);
  for (int64_t i = 0; i < tiling_.rows; ++i)
    for (int v = tile.first; v < tiling_.vectors; ++v)
      storeVector(e, tile, space_.add(rowIndex(tile.row), Index(i)), v,
                  sums[static_cast<size_t>(i * ownVectors(tile) + v - tile.first)]);
}

int64_t ContractNest::keptAt(const Tile& tile, size_t sum) const {
  const auto at = static_cast<int64_t>(sum), own = static_cast<int64_t>(ownVectors(tile));
  return (at / own * tiling_.vectors + tile.first + at % own) * tiling_.lanes;
}

void ContractNest::keepSums(const Tile& tile, const Sums& sums) {
  for (size_t i = 0; i < sums.size(); ++i)
    b_.store(tile_scratch_, tile.sums, sums[i], keptAt(tile, i));
}

void ContractNest::addToKept(const Tile& tile, const Sums& sums) {
  Sums all;
  for (V sum : sums) {
    V kept = b_.load(tile_scratch_, tile.sums, tiling_.lanes, keptAt(tile, all.size()));
    all.push_back(b_.binary(isFloat(sum_) ? Opcode::fadd : Opcode::iadd, kept, sum));
  }
  keepSums(tile, all);
}

// The epilogue is emitted once, in a loop over the rows.
void ContractNest::storeKept(const Tile& tile) {
  b_.forLoop(b_.index(0), b_.index(tiling_.rows), 1, [&](V i) {
    Emitter e = emitter(tiling_.lanes);
    Index row = space_.add(rowIndex(tile.row), space_.loop(i, tiling_.rows));
    for (int v = tile.first; v < tiling_.vectors; ++v) {
      V from = b_.iadd(tile.sums, b_.imul(i, b_.index(tiling_.panel())));
      storeVector(e, tile, row, v, b_.load(tile_scratch_, from, tiling_.lanes, v * tiling_.lanes));
    }
  });
}

void ContractNest::storeVector(Emitter& e, const Tile& tile, const Index& row, int v, V sum) {
  Groups at = with(tile.groups, rows_.group, row);
  at = with(at, columns_.group, columnIndex(tile.column, v));
  DType dtype = m_.shape(op_.result()).dtype;
  V result = sum_ == Scalar::i32 ? b_.cast(Opcode::itrunc, sum, computedScalar(dtype))
                               : roundTo(b_, sum, dtype);
  e.bindElem(op_.result(), {result, {}});
  e.guarded(columnGuard(), [&] {
    Indices domain = domainIndices(space_, plan_, domain_.size(), at);
    Indices out(domain.begin(), domain.begin() + static_cast<int64_t>(rank_));
    storeOutputs(low_, e, m_.shape(op_.result()).dims, out);
  });
}

}  // namespace tercel::kernel
