// dot_general and convolution with their epilogue, by register tiles.
//
// The output's innermost dimension is vectorised: the operand that varies along it (the n side) is
// loaded as vectors, the other one (the m side) as scalars, each used for a whole tile of rows x
// vectors whose sums stay in registers over the loop of k. Panels of the n side, and tiles of the m
// side, are copied to scratch memory first where their own layout would make that loop slow (Goto and
// van de Geijn, "Anatomy of high-performance matrix multiplication").
#include <algorithm>

#include "compiler/kernel/contraction.h"
#include "compiler/kernel/nest.h"
#include "compiler/kernel/transpose_tile.h"

namespace tercel::kernel {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

class ContractNest {
 public:
  ContractNest(Lowering& low, const Op& op)
      : m_(low.module), low_(low), op_(op), b_(low_.builder), space_(b_),
        contraction_(m_, op) {}

  // False where the plain loop nest is the better one.
  bool suits() {
    const Shape& out = m_.shape(op_.result());
    if (!contraction_.simple() || isComplex(out.dtype) || isPred(out.dtype) || out.rank() == 0)
      return false;
    rank_ = out.dims.size();
    Dims domain = out.dims;
    std::vector<bool> classes(rank_, false);
    for (int64_t e : contraction_.extents()) {
      domain.push_back(e);
      classes.push_back(true);
    }
    domain_ = domain;
    if (elementCount(domain) == 0) return false;
    plan_ = planLoops(low_, domain, [&](Emitter& e, const Indices& i) { probeAll(e, i); }, classes);
    return classify() && chooseTile();
  }

  void run() {
    chooseTasks();
    low_.forTasks(tasks_, [&](V task) { emitTask(task); });
  }

 private:
  void probeAll(Emitter& e, const Indices& domain) {
    Indices out(domain.begin(), domain.begin() + static_cast<int64_t>(rank_));
    Indices k(domain.begin() + static_cast<int64_t>(rank_), domain.end());
    lhs_access_ = e.record->size();
    e.at(op_.operand(0), contraction_.lhs(e.space(), out, k));
    rhs_access_ = e.record->size();
    e.at(op_.operand(1), contraction_.rhs(e.space(), out, k));
    Type type{computedScalar(m_.shape(op_.result()).dtype), 1};
    e.bindElem(op_.result(), {e.builder().opaque(type), {}});
    storeOutputs(e, out);
  }

  bool isK(size_t g) const { return plan_.loops[plan_.groups[g][0]].dim >= rank_; }

  int64_t strideOf(size_t access, size_t g) const {
    return plan_.strides[access].empty() ? 0 : plan_.strides[access][g];
  }

  // Which groups index the m side alone, the n side alone, both, or the sum.
  bool classify() {
    if (plan_.strides[lhs_access_].empty() || plan_.strides[rhs_access_].empty()) return false;
    size_t inner = plan_.groups.size();
    for (size_t g = 0; g < plan_.groups.size(); ++g) {
      if (isK(g))
        k_groups_.push_back(g);
      else
        inner = g;
    }
    if (inner == plan_.groups.size()) return false;
    bool on_rhs = strideOf(rhs_access_, inner) != 0, on_lhs = strideOf(lhs_access_, inner) != 0;
    if (on_rhs == on_lhs) return false;
    n_access_ = on_rhs ? rhs_access_ : lhs_access_;
    m_access_ = on_rhs ? lhs_access_ : rhs_access_;
    n_operand_ = on_rhs ? 1 : 0;
    n_group_ = inner;
    m_group_ = kNone;
    for (size_t g = 0; g < plan_.groups.size(); ++g) {
      if (isK(g) || g == n_group_) continue;
      if (strideOf(n_access_, g) == 0 && (m_group_ == kNone || betterRows(g))) m_group_ = g;
    }
    return true;
  }

  bool betterRows(size_t g) const {
    return plan_.groupExtent(g) >= std::min<int64_t>(plan_.groupExtent(m_group_), 8);
  }

  int64_t kExtent() const {
    int64_t k = 1;
    for (size_t g : k_groups_) k *= plan_.groupExtent(g);
    return k;
  }

  // Rows and vectors of a tile: as many sums as the registers hold, few rows wasted at the end.
  bool chooseTile() {
    int registers = low_.machine.vector_bytes == 64 ? 24 : 12;
    DType out = m_.shape(op_.result()).dtype;
    lanes_ = low_.machine.vector_bytes / static_cast<int>(std::max<size_t>(4, byteSize(out)));
    n_ = plan_.groupExtent(n_group_);
    m_extent_ = m_group_ == kNone ? 1 : plan_.groupExtent(m_group_);
    while (lanes_ > 1 && lanes_ / 2 >= n_) lanes_ /= 2;
    int64_t vectors = (n_ + lanes_ - 1) / lanes_;
    vectors_ = static_cast<int>(std::min<int64_t>(vectors, m_extent_ <= 4 ? 4 : 2));
    if (m_extent_ == 1) vectors_ = static_cast<int>(std::min<int64_t>(vectors, 8));
    int most = registers / vectors_;
    double best = 1e30;
    for (int rows = std::min<int>(most, static_cast<int>(m_extent_)); rows >= 1; --rows) {
      int64_t tiles = (m_extent_ + rows - 1) / rows;
      // Each tile costs its rows and the loads of the n side.
      double cost = static_cast<double>(tiles) * (rows + 1.5);
      if (cost < best - 1e-9) {
        best = cost;
        rows_ = rows;
      }
      if (rows <= 4 && rows_ > 4) break;
    }
    panel_ = static_cast<int64_t>(vectors_) * lanes_;
    DType n_dtype = m_.shape(op_.operand(n_operand_)).dtype;
    bool converts = computedScalar(n_dtype) != storedScalar(n_dtype);
    int64_t pitch = 0;
    for (size_t g : k_groups_) pitch = std::max(pitch, std::abs(strideOf(n_access_, g)));
    int64_t bytes = static_cast<int64_t>(byteSize(n_dtype));
    bool far = pitch * bytes >= 1024 && kExtent() >= 32;
    bool contiguous = std::abs(strideOf(n_access_, n_group_)) == 1;
    int64_t reuse = (m_extent_ + rows_ - 1) / rows_;
    pack_n_ = !contiguous || (reuse >= 3 && (far || converts));
    if (!contiguous && reuse < 2 && m_extent_ < 4) return false;  // little to gain from panels
    int64_t panels = (n_ + panel_ - 1) / panel_;
    pack_m_ = panels >= 4 && reuse >= 2 && kExtent() >= 64;
    // Loads outside of a padded input are kept out of the loop of k.
    if (contraction_.padded()) (n_operand_ == 0 ? pack_n_ : pack_m_) = true;
    m_across_ = pack_m_ && m_group_ != kNone && strideOf(m_access_, m_group_) == 1 &&
                std::abs(strideOf(m_access_, k_groups_.back())) != 1 && rows_ <= mLanes() &&
                !contraction_.padded();
    return kExtent() >= 2 || m_extent_ >= 2;
  }

  void chooseTasks() {
    int64_t panels = (n_ + panel_ - 1) / panel_;
    int64_t element = byteSize(sumScalar());
    int64_t limit = std::max<int64_t>(1, (low_.machine.l2_bytes / 2) / (kExtent() * panel_ * element));
    chunk_ = pack_n_ ? std::min<int64_t>({panels, limit, 8}) : std::min<int64_t>(panels, 8);
    int64_t others = 1;
    for (size_t g = 0; g < plan_.groups.size(); ++g) {
      if (isK(g) || g == n_group_ || g == m_group_) continue;
      task_groups_.push_back(g);
      task_extents_.push_back(plan_.groupExtent(g));
      others *= plan_.groupExtent(g);
    }
    while (chunk_ > 1 && others * ((panels + chunk_ - 1) / chunk_) < 8) chunk_ = (chunk_ + 1) / 2;
    chunks_ = (panels + chunk_ - 1) / chunk_;
    int64_t tiles = (m_extent_ + rows_ - 1) / rows_;
    row_chunk_ = tiles;
    while (others * chunks_ * ((tiles + row_chunk_ - 1) / row_chunk_) < 8 && row_chunk_ > 4)
      row_chunk_ = (row_chunk_ + 1) / 2;
    row_chunks_ = (tiles + row_chunk_ - 1) / row_chunk_;
    tasks_ = others * chunks_ * row_chunks_;
    if (pack_n_) n_scratch_ = b_.addScratch(sumScalar(), chunk_ * kExtent() * panel_);
    m_pitch_ = kExtent() + 16;  // an odd number of cache lines keeps rows out of each other's sets
    m_slots_ = m_across_ ? 4 : 1;
    int64_t m_elements = m_across_ ? m_slots_ * kExtent() * mLanes() : rows_ * m_pitch_;
    if (pack_m_) m_scratch_ = b_.addScratch(sumScalar(), m_elements);
  }

  Scalar sumScalar() const { return computedScalar(m_.shape(op_.result()).dtype); }
  int mLanes() const { return low_.machine.vector_bytes / static_cast<int>(byteSize(sumScalar())); }

  void emitTask(V task) {
    std::vector<Index> groups(plan_.groups.size());
    Index t = space_.loop(task, tasks_);
    Index rows = space_.remainder(t, row_chunks_);
    t = space_.quotient(t, row_chunks_);
    Index columns = space_.remainder(t, chunks_);
    Indices outer = space_.delinear(space_.quotient(t, chunks_), task_extents_);
    for (size_t i = 0; i < task_groups_.size(); ++i)
      groups[task_groups_[i]] = plain(outer[i], task_extents_[i]);
    V first = b_.imul(space_.emitScalar(columns), b_.index(chunk_));
    int64_t panels = (n_ + panel_ - 1) / panel_;
    V last = b_.binary(Opcode::smin, b_.iadd(first, b_.index(chunk_)), b_.index(panels));
    if (chunks_ == 1) last = b_.index(panels);
    if (pack_n_)
      b_.forLoop(first, last, 1, [&](V panel) { packN(groups, panel, b_.isub(panel, first)); });
    int64_t tiles = (m_extent_ + rows_ - 1) / rows_;
    V tile_lo = b_.imul(space_.emitScalar(rows), b_.index(row_chunk_));
    V tile_hi = row_chunks_ == 1
                    ? b_.index(tiles)
                    : b_.binary(Opcode::smin, b_.iadd(tile_lo, b_.index(row_chunk_)), b_.index(tiles));
    auto tiles_of = [&](V tile, V m_slot) {
      V row = b_.imul(tile, b_.index(rows_));
      b_.forLoop(first, last, 1, [&](V panel) {
        emitTile(groups, row, m_slot, panel, b_.isub(panel, first));
      });
    };
    b_.forLoop(tile_lo, tile_hi, m_slots_, [&](V tile) {
      if (pack_m_) packM(groups, b_.imul(tile, b_.index(rows_)));
      if (m_slots_ == 1) return tiles_of(tile, b_.index(0));
      V end = b_.binary(Opcode::smin, b_.iadd(tile, b_.index(m_slots_)), tile_hi);
      b_.forLoop(tile, end, 1, [&](V each) { tiles_of(each, b_.isub(each, tile)); });
    });
  }

  Index plain(const Index& i, int64_t extent) {
    return i.isConstant() ? i : space_.loop(space_.emitScalar(i), extent);
  }

  Emitter emitter(int lanes) {
    Emitter e(b_, space_, m_, lanes);
    low_.bindInputs(e);
    return e;
  }

  // The element of an operand at these groups, in the type of the sums.
  Elem operandAt(Emitter& e, size_t operand, const std::vector<Index>& groups) {
    Indices domain = domainIndices(space_, plan_, domain_.size(), groups);
    Indices out(domain.begin(), domain.begin() + static_cast<int64_t>(rank_));
    Indices k(domain.begin() + static_cast<int64_t>(rank_), domain.end());
    DType from = m_.shape(op_.operand(operand)).dtype, to = m_.shape(op_.result()).dtype;
    Elem x = operand == 0 ? lhsAt(e, out, k) : e.at(op_.operand(1), contraction_.rhs(space_, out, k));
    DType wide = to == DType::f16 || to == DType::bf16 ? DType::f32 : to;
    return elemConvert(b_, x, from, wide);
  }

  // Zero in the padding.
  Elem lhsAt(Emitter& e, const Indices& out, const Indices& k) {
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

  // Loops over all k; body gets the groups and the linear k.
  using KBody = std::function<std::vector<Elem>(std::vector<Index>&, const Index&, std::vector<Elem>)>;
  std::vector<Elem> overK(Emitter& e, size_t at, std::vector<Index> groups, Index linear,
                          std::vector<Elem> now, const KBody& body) {
    if (at == k_groups_.size()) return body(groups, linear, std::move(now));
    int64_t extent = plan_.groupExtent(k_groups_[at]);
    return e.loop(extent, std::move(now), [&](Index i, std::vector<Elem> values) {
      std::vector<Index> next = groups;
      next[k_groups_[at]] = i;
      Index k = space_.add(space_.scale(linear, extent), i);
      return overK(e, at + 1, std::move(next), k, std::move(values), body);
    });
  }

  Guard columnGuard(V column) {
    if (n_ % lanes_ == 0 && n_ % panel_ == 0) return {};
    Type ids{Scalar::i32, static_cast<uint16_t>(lanes_)};
    V left = b_.cast(Opcode::itrunc, b_.isub(b_.index(n_), column), Scalar::i32);
    return {b_.compare(Opcode::icmp, Predicate::slt, b_.laneIds(ids), left), {}};
  }

  // [k][panel_] of the n side, columns past the end as zeros.
  void packN(const std::vector<Index>& groups, V panel, V slot) {
    V base = b_.imul(slot, b_.index(kExtent() * panel_));
    int64_t last = k_groups_.empty() ? 0 : strideOf(n_access_, k_groups_.back());
    int64_t inner = k_groups_.empty() ? 1 : plan_.groupExtent(k_groups_.back());
    if (std::abs(strideOf(n_access_, n_group_)) != 1 && last == 1 && inner >= lanes_ && lanes_ >= 4)
      return packTransposed(groups, panel, base);
    Emitter e = emitter(lanes_);
    overK(e, 0, groups, Index(0), {}, [&](std::vector<Index>& at, const Index& k, auto) {
      for (int v = 0; v < vectors_; ++v) {
        V column = b_.iadd(b_.imul(panel, b_.index(panel_)), b_.index(v * lanes_));
        std::vector<Index> here = at;
        here[n_group_] = space_.loop(column, std::max<int64_t>(n_, 2), lanes_ > 1);
        e.guarded(columnGuard(column), [&] {
          Elem x = operandAt(e, n_operand_, here);
          V to = b_.iadd(base, space_.emitScalar(space_.scale(k, panel_)));
          b_.store(n_scratch_, to, b_.widen(x.re, lanes_), v * lanes_);
        });
      }
      return std::vector<Elem>{};
    });
  }

  // The n side lies along k: squares of it are turned in registers.
  void packTransposed(const std::vector<Index>& groups, V panel, V base) {
    size_t inner_group = k_groups_.back();
    int64_t inner = plan_.groupExtent(inner_group);
    std::vector<size_t> outer_groups(k_groups_.begin(), k_groups_.end() - 1);
    Emitter e = emitter(lanes_);
    overGroups(e, outer_groups, 0, groups, Index(0), [&](const std::vector<Index>& at, const Index& k0) {
      auto square = [&](V k, Guard guard, int64_t rows) {
        b_.forLoop(b_.index(0), b_.index(vectors_), 1, [&](V v) {
          std::vector<V> lines;
          V first = b_.iadd(b_.imul(panel, b_.index(panel_)), b_.imul(v, b_.index(lanes_)));
          for (int c = 0; c < lanes_; ++c) {
            V column = b_.iadd(first, b_.index(c));
            if (n_ % panel_) column = b_.binary(Opcode::smin, column, b_.index(n_ - 1));
            std::vector<Index> here = at;
            here[n_group_] = space_.loop(column, std::max<int64_t>(n_, 2));
            here[inner_group] = space_.loop(k, std::max<int64_t>(inner, 2), true);
            lines.push_back(e.guarded(guard, [&] {
              return b_.widen(operandAt(e, n_operand_, here).re, lanes_);
            }));
          }
          transposeTile(b_, lines);
          V line = b_.iadd(space_.emitScalar(space_.scale(k0, inner)), k);
          V to = b_.iadd(b_.iadd(base, b_.imul(v, b_.index(lanes_))),
                         b_.imul(line, b_.index(panel_)));
          for (int64_t r = 0; r < rows; ++r)
            b_.store(n_scratch_, to, lines[static_cast<size_t>(r)], r * panel_);
        });
      };
      int64_t whole = inner / lanes_ * lanes_;
      b_.forLoop(b_.index(0), b_.index(whole), lanes_,
                 [&](V k) { e.scope([&] { square(k, {}, lanes_); }); });
      if (whole == inner) return;
      Type ids{Scalar::i32, static_cast<uint16_t>(lanes_)};
      V mask = b_.compare(Opcode::icmp, Predicate::slt, b_.laneIds(ids),
                          b_.integer(ids, inner - whole));
      e.scope([&] { square(b_.index(whole), {mask, {}}, inner - whole); });
    });
  }

  using GroupBody = std::function<void(const std::vector<Index>&, const Index&)>;
  void overGroups(Emitter& e, const std::vector<size_t>& list, size_t at, std::vector<Index> groups,
                  Index linear, const GroupBody& body) {
    if (at == list.size()) return body(groups, linear);
    int64_t extent = plan_.groupExtent(list[at]);
    b_.forLoop(b_.index(0), b_.index(extent), 1, [&](V i) {
      e.scope([&] {
        std::vector<Index> next = groups;
        next[list[at]] = space_.loop(i, extent);
        Index k = space_.add(space_.scale(linear, extent), next[list[at]]);
        overGroups(e, list, at + 1, std::move(next), k, body);
      });
    });
  }

  // Rows past the end repeat the last one; their sums are not stored.
  V rowAt(V row, int64_t i) {
    V at = b_.iadd(row, b_.index(i));
    return m_extent_ % rows_ == 0 ? at : b_.binary(Opcode::smin, at, b_.index(m_extent_ - 1));
  }

  // [rows_][m_pitch_] of the m side where it lies along k, else element by element.
  void packM(const std::vector<Index>& groups, V row) {
    if (m_across_) return packAcross(groups, row);
    size_t inner_group = k_groups_.back();
    int64_t inner = plan_.groupExtent(inner_group);
    bool along_k = std::abs(strideOf(m_access_, inner_group)) == 1;
    int lanes = along_k ? mLanes() : 1;
    while (lanes > 1 && lanes / 2 >= inner) lanes /= 2;
    std::vector<size_t> outer_groups(k_groups_.begin(), k_groups_.end() - 1);
    Emitter e = emitter(lanes);
    overGroups(e, outer_groups, 0, groups, Index(0), [&](const std::vector<Index>& at, const Index& k0) {
      auto piece = [&](V k, Guard guard) {
        for (int64_t i = 0; i < rows_; ++i) {
          std::vector<Index> here = at;
          if (m_group_ != kNone) here[m_group_] = space_.loop(rowAt(row, i), std::max<int64_t>(m_extent_, 2));
          here[inner_group] = space_.loop(k, std::max<int64_t>(inner, 2), lanes > 1);
          e.guarded(guard, [&] {
            V x = b_.widen(operandAt(e, 1 - n_operand_, here).re, lanes);
            V to = b_.iadd(space_.emitScalar(space_.scale(k0, inner)), k);
            if (guard.lanes.valid())
              b_.storeMasked(m_scratch_, to, x, guard.lanes, i * m_pitch_);
            else
              b_.store(m_scratch_, to, x, i * m_pitch_);
          });
        }
      };
      int64_t whole = inner / lanes * lanes;
      b_.forLoop(b_.index(0), b_.index(whole), lanes, [&](V k) { e.scope([&] { piece(k, {}); }); });
      if (whole == inner) return;
      Type ids{Scalar::i32, static_cast<uint16_t>(lanes)};
      V mask = b_.compare(Opcode::icmp, Predicate::slt, b_.laneIds(ids),
                          b_.integer(ids, inner - whole));
      e.scope([&] { piece(b_.index(whole), {mask, {}}); });
    });
  }

  // The m side lies along the rows: vectors of them for each k, of several tiles at once, because
  // they are neighbours in memory.
  void packAcross(const std::vector<Index>& groups, V row) {
    int lanes = mLanes();
    Emitter e = emitter(lanes);
    std::vector<V> masks;
    for (int64_t slot = 0; slot < m_slots_; ++slot) {
      Type ids{Scalar::i32, static_cast<uint16_t>(lanes)};
      V left = b_.isub(b_.index(m_extent_ - slot * rows_), row);
      masks.push_back(b_.compare(Opcode::icmp, Predicate::slt, b_.laneIds(ids),
                                 b_.cast(Opcode::itrunc, left, Scalar::i32)));
    }
    overGroups(e, k_groups_, 0, groups, Index(0), [&](const std::vector<Index>& at, const Index& k) {
      for (int64_t slot = 0; slot < m_slots_; ++slot) {
        std::vector<Index> here = at;
        here[m_group_] = space_.add(space_.loop(row, std::max<int64_t>(m_extent_, 2), lanes > 1),
                                    Index(slot * rows_));
        e.guarded(Guard{masks[static_cast<size_t>(slot)], {}}, [&] {
          V x = b_.widen(operandAt(e, 1 - n_operand_, here).re, lanes);
          b_.store(m_scratch_, space_.emitScalar(space_.scale(k, lanes)), x,
                   slot * kExtent() * lanes);
        });
      }
    });
  }

  void emitTile(const std::vector<Index>& groups, V row, V m_slot, V panel, V slot) {
    Emitter e = emitter(lanes_);
    DType out = m_.shape(op_.result()).dtype;
    std::vector<Elem> sums(static_cast<size_t>(rows_ * vectors_), elemWiden(b_, e.zero(out), lanes_));
    V first = b_.imul(panel, b_.index(panel_));
    V base = pack_n_ ? b_.imul(slot, b_.index(kExtent() * panel_)) : V{};
    sums = overK(e, 0, groups, Index(0), sums, [&](std::vector<Index>& at, const Index& k,
                                                   std::vector<Elem> now) {
      std::vector<Elem> vectors;
      for (int v = 0; v < vectors_; ++v) vectors.push_back(nVector(e, at, k, first, base, v));
      for (int64_t i = 0; i < rows_; ++i) {
        Elem a = mScalar(e, at, k, row, m_slot, i);
        for (int v = 0; v < vectors_; ++v) {
          Elem& sum = now[static_cast<size_t>(i * vectors_ + v)];
          sum = e.multiplyAdd(a, vectors[static_cast<size_t>(v)], sum, out, out);
        }
      }
      return now;
    });
    for (int64_t i = 0; i < rows_; ++i) {
      auto write = [&] { storeRow(e, groups, row, i, first, sums); };
      if (m_extent_ % rows_ == 0) {
        write();
        continue;
      }
      V inside = b_.compare(Opcode::icmp, Predicate::slt, b_.iadd(row, b_.index(i)),
                            b_.index(m_extent_));
      b_.ifThen(inside, [&] { e.scope(write); });
    }
  }

  Elem nVector(Emitter& e, const std::vector<Index>& at, const Index& k, V first, V base, int v) {
    if (pack_n_) {
      V from = b_.iadd(base, space_.emitScalar(space_.scale(k, panel_)));
      return {b_.load(n_scratch_, from, lanes_, v * lanes_), {}};
    }
    V column = b_.iadd(first, b_.index(v * lanes_));
    std::vector<Index> here = at;
    here[n_group_] = space_.add(space_.loop(first, std::max<int64_t>(n_, 2), lanes_ > 1), Index(v * lanes_));
    return e.guarded(columnGuard(column), [&] { return operandAt(e, n_operand_, here); });
  }

  Elem mScalar(Emitter& e, const std::vector<Index>& at, const Index& k, V row, V m_slot,
               int64_t i) {
    if (m_across_) {
      V from = b_.iadd(b_.imul(m_slot, b_.index(kExtent() * mLanes())),
                       space_.emitScalar(space_.scale(k, mLanes())));
      return {b_.load(m_scratch_, from, 1, i), {}};
    }
    if (pack_m_) return {b_.load(m_scratch_, space_.emitScalar(k), 1, i * m_pitch_), {}};
    std::vector<Index> here = at;
    if (m_group_ != kNone) {
      bool even = m_extent_ % rows_ == 0;
      here[m_group_] = even ? space_.add(space_.loop(row, std::max<int64_t>(m_extent_, 2)), Index(i))
                            : space_.loop(rowAt(row, i), std::max<int64_t>(m_extent_, 2));
    }
    return operandAt(e, 1 - n_operand_, here);
  }

  void storeRow(Emitter& e, std::vector<Index> groups, V row, int64_t i, V first,
                const std::vector<Elem>& sums) {
    DType out = m_.shape(op_.result()).dtype;
    if (m_group_ != kNone)
      groups[m_group_] = space_.add(space_.loop(row, std::max<int64_t>(m_extent_, 2)), Index(i));
    for (int v = 0; v < vectors_; ++v) {
      Elem sum = sums[static_cast<size_t>(i * vectors_ + v)];
      e.bindElem(op_.result(), {roundTo(b_, sum.re, out), {}});
      V column = b_.iadd(first, b_.index(v * lanes_));
      groups[n_group_] = space_.add(space_.loop(first, std::max<int64_t>(n_, 2), lanes_ > 1), Index(v * lanes_));
      e.guarded(columnGuard(column), [&] {
        Indices domain = domainIndices(space_, plan_, domain_.size(), groups);
        storeOutputs(e, Indices(domain.begin(), domain.begin() + static_cast<int64_t>(rank_)));
      });
    }
  }

  void storeOutputs(Emitter& e, const Indices& out) {
    const Dims& dims = m_.shape(op_.result()).dims;
    Index linear = e.space().linear(out, dims);
    std::vector<Elem> values;
    for (Value v : low_.cluster.outputs) {
      const Dims& own = m_.shape(v).dims;
      values.push_back(e.at(v, own == dims ? out : e.space().delinear(linear, own)));
    }
    for (size_t o = 0; o < values.size(); ++o) low_.storeOutput(e, o, linear, values[o]);
  }

  static constexpr size_t kNone = ~size_t{0};

  const ir::Module& m_;
  Lowering& low_;
  int64_t tasks_ = 1;
  const Op& op_;
  Builder& b_;
  IndexSpace space_;
  Contraction contraction_;
  LoopPlan plan_;
  Dims domain_;      // the output's dimensions, then the sum's
  size_t rank_ = 0;  // of the output
  size_t lhs_access_ = 0, rhs_access_ = 0, n_access_ = 0, m_access_ = 0;
  size_t n_operand_ = 1;
  size_t n_group_ = 0, m_group_ = kNone;
  std::vector<size_t> k_groups_, task_groups_;
  Dims task_extents_;
  int lanes_ = 1, vectors_ = 1;
  int64_t rows_ = 1, panel_ = 1;
  int64_t n_ = 1, m_extent_ = 1;
  int64_t chunk_ = 1, chunks_ = 1;          // panels of a task
  int64_t row_chunk_ = 1, row_chunks_ = 1;  // tiles of a task
  int64_t m_pitch_ = 0;
  int64_t m_slots_ = 1;  // tiles of the m side that are packed together
  bool pack_n_ = false, pack_m_ = false;
  bool m_across_ = false;  // packed as [k][row] instead of [row][k]
  BufferId n_scratch_ = 0, m_scratch_ = 0;
};

}  // namespace

Status lowerContract(Lowering& low) {
  for (ir::OpId id : low.cluster.ops) {
    const Op& op = low.module.op(id);
    if (op.kind != OpKind::dot_general_ && op.kind != OpKind::convolution_) continue;
    ContractNest nest(low, op);
    if (!nest.suits()) continue;
    nest.run();
    return Status();
  }
  return lowerLoop(low);
}

}  // namespace tercel::kernel
