#include "compiler/kernel/domain_rows.h"

#include <algorithm>

namespace tercel::kernel {
namespace {

constexpr int64_t kRowsOfTask = 4 * kTaskElements;

}  // namespace

DomainRows::DomainRows(Lowering& low, const Dims& domain, const Evaluate& evaluate)
    : low_(low), b_(low.builder), domain_(domain), evaluate_(evaluate) {
  const Piece whole{Indices(domain.size()), domain};
  row_ = rowDimension(whole);
  int64_t row = 1, all = elementCount(domain);
  for (size_t d = row_; d < domain.size(); ++d) row *= domain[d];
  if (row_ == 0 || row > 2 * kTaskElements || all < kSmallDomain) return;
  evaluate_row_ = [this](Emitter& e, const Indices& in_row) {
    Indices at;
    for (const Place& p : places_) {
      V v = p.at.valid() ? p.at : e.builder().opaque({Scalar::i64, 1});
      at.push_back(e.space().add(e.space().loop(v, p.extent), Index(p.start)));
    }
    at.insert(at.end(), in_row.begin(), in_row.end());
    evaluate_(e, at);
  };
  kinds_ = kindsOf(whole, 0);
  if (ops_ > kOpsOfPieces) kinds_.clear();
  for (; taken_ < row_ && all > kRowsOfTask; ++taken_) all /= domain[taken_];
}

// The innermost one that is cut, or 0.
size_t DomainRows::rowDimension(const Piece& whole) const {
  for (size_t d = domain_.size(); d-- > 1;)
    if (findCuts(low_, whole, d, evaluate_).size() > 1) return d;
  return 0;
}

bool DomainRows::cutsRow() const {
  const int lanes = vectorLanes(low_.module, low_.cluster, low_.machine);
  return row_ + 1 < domain_.size() || domain_[row_] > 2 * lanes;
}

DomainRows::Kinds DomainRows::kindsOf(const Piece& piece, size_t dimension) {
  Kinds kinds;
  std::vector<int64_t> cuts{piece.extents[dimension]};
  if (dimension < row_ || cutsRow()) cuts = findCuts(low_, piece, dimension, evaluate_);
  int64_t start = 0;
  for (int64_t end : cuts) {
    if (ops_ > kOpsOfPieces) break;
    if (dimension == row_) {
      kinds.push_back(rowPiece(piece, start, end - start));
    } else {
      Piece part = piece;
      part.start[dimension] = Index(start);
      part.extents[dimension] = end - start;
      places_.push_back({start, end - start, {}});
      kinds.push_back({start, end - start, kindsOf(part, dimension + 1), nullptr});
      places_.pop_back();
    }
    start = end;
  }
  return kinds;
}

DomainRows::Kind DomainRows::rowPiece(const Piece& piece, int64_t start, int64_t extent) {
  Piece inner{Indices(piece.start.begin() + static_cast<int64_t>(row_), piece.start.end()),
              Dims(piece.extents.begin() + row_, piece.extents.end())};
  inner.start[0] = Index(start);
  inner.extents[0] = extent;
  auto loops = std::make_unique<ElementLoops>(low_, std::move(inner), false, evaluate_row_);
  ops_ += loops->loads() ? std::max<size_t>(1, opsOf(low_)) : 1;
  return {start, extent, {}, std::move(loops)};
}

void DomainRows::emitTask(V task) {
  IndexSpace space(b_);
  std::vector<V> at;
  for (const Index& i : space.delinear(space.loop(task, tasks()), taken()))
    at.push_back(space.emitScalar(i));
  emitKinds(kinds_, 0, at);
}

// at: the places along the dimensions that tasks enumerate.
void DomainRows::emitKinds(const Kinds& kinds, size_t dimension, std::span<const V> at) {
  if (dimension == row_) {
    for (const Kind& piece : kinds) piece.row->emitAll();
  } else if (dimension < at.size()) {
    emitKindOf(kinds, 0, dimension, at);
  } else {
    for (const Kind& kind : kinds)
      b_.forLoop(b_.index(0), b_.index(kind.extent), 1,
                 [&](V i) { emitAt(kind, i, dimension, at); });
  }
}

// That to which the task's place belongs, which is not before `which`.
void DomainRows::emitKindOf(const Kinds& kinds, size_t which, size_t dimension,
                            std::span<const V> at) {
  const Kind& kind = kinds[which];
  const V place = b_.isub(at[dimension], b_.index(kind.start));
  if (which + 1 == kinds.size()) return emitAt(kind, place, dimension, at);
  const V is_here = b_.compare(Opcode::icmp, Predicate::slt, place, b_.index(kind.extent));
  b_.ifElse(is_here,
            [&] {
              emitAt(kind, place, dimension, at);
              return Builder::Values{};
            },
            [&] {
              emitKindOf(kinds, which + 1, dimension, at);
              return Builder::Values{};
            });
}

void DomainRows::emitAt(const Kind& kind, V place, size_t dimension, std::span<const V> at) {
  places_.push_back({kind.start, kind.extent, place});
  emitKinds(kind.inner, dimension + 1, at);
  places_.pop_back();
}

}  // namespace tercel::kernel
