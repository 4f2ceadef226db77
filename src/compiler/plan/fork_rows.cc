#include "compiler/plan/fork_rows.h"

#include <algorithm>
#include <map>

#include "compiler/ir/builder.h"
#include "compiler/ir/rename.h"
#include "compiler/plan/row_ops.h"

namespace tercel::plan {
namespace {

using ir::AttrKey;
using ir::Builder;
using ir::Cut;
using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::Value;

struct Rows {
  int64_t first = 0, count = 0;
};

// The ops for some of the rows.
class Branch {
 public:
  Branch(ir::Module& m, Rows rows) : m_(m), b_(m, m.addRegion()), rows_(rows) {}

  ir::RegionId make(const RowOps& rows) {
    for (const RowOp& row : rows.ops) {
      const Op& op = m_.op(row.op);
      b_.setLocation(op.loc);
      made_[op.result().index] = isSliceFromOutside(op) ? slice(op, row.cut) : copy(op, row);
    }
    for (Value v : rows.wanted)
      m_.region(b_.region()).results.push_back(made_.at(v.index));
    return b_.region();
  }

 private:
  Value copy(const Op& op, const RowOp& row) {
    ir::Values operands;
    for (size_t i = 0; i < op.operands.size(); ++i)
      operands.push_back(part(op.operand(i), row.operands[i]));
    const OpId made = ir::copyCut(m_, op, std::move(operands),
                                 {row.cut.dimension, rows_.count * row.cut.unit});
    m_.region(b_.region()).ops.push_back(made);
    return m_.op(made).result();
  }

  Value part(Value v, Cut cut) {
    if (auto at = made_.find(v.index); at != made_.end()) return at->second;
    const Op* op = m_.def(v);
    const bool is_splat = op && op->kind == OpKind::constant_ && op->literal().isSplat();
    if (cut.isWhole() && !is_splat) return v;
    auto [at, fresh] = parts_.try_emplace({v.index, cut});
    if (!fresh) return at->second;
    Shape shape = m_.shape(v);
    if (!cut.isWhole()) shape.dims[static_cast<size_t>(cut.dimension)] = rows_.count * cut.unit;
    if (is_splat)
      at->second = b_.constant(ir::Literal::splat(shape, op->literal().bytes().data()));
    else
      at->second = lines(v, cut, ir::Ints(shape.dims.size()),
                         {shape.dims.begin(), shape.dims.end()}, ir::Ints(shape.dims.size(), 1));
    return at->second;
  }

  // Slices of slices are one: where it starts is no part of a kernel.
  bool isSliceFromOutside(const Op& op) const {
    return op.kind == OpKind::slice_ && !made_.contains(op.operand(0).index);
  }

  Value slice(const Op& op, Cut cut) {
    return lines(op.operand(0), cut, op.ints(AttrKey::start_indices),
                 op.ints(AttrKey::limit_indices), op.ints(AttrKey::strides));
  }

  Value lines(Value v, Cut cut, ir::Ints first, ir::Ints limit, ir::Ints strides) {
    const auto d = static_cast<size_t>(cut.dimension);
    first[d] = rows_.first * cut.unit;
    limit[d] = first[d] + rows_.count * cut.unit;
    return b_.slice(v, std::move(first), std::move(limit), std::move(strides));
  }

  ir::Module& m_;
  Builder b_;
  const Rows rows_;
  std::unordered_map<uint32_t, Value> made_;               // by the value it is a part of
  std::map<std::pair<uint32_t, Cut>, Value> parts_;  // of values from outside
};

class ForkMaker {
 public:
  explicit ForkMaker(ir::Module& m) : m_(m), body_(m.region(m.main().body)) {}

  bool run() {
    constexpr int kMostForks = 8;
    std::vector<OpId> done, rest = body_.ops;
    for (int i = 0; i < kMostForks; ++i) {
      auto rows = findRowOps(m_, rest, body_.results);
      if (!rows) break;
      const std::vector<Rows> branches = branchesFor(*rows);
      if (branches.empty()) break;
      done.insert(done.end(), rows->before.begin(), rows->before.end());
      fork(*rows, branches, done);
      rest = std::move(rows->after);
    }
    if (renamed_.empty()) return false;
    done.insert(done.end(), rest.begin(), rest.end());
    body_.ops = std::move(done);
    ir::rename(m_, m_.main().body, renamed_);
    return true;
  }

 private:
  // Tiles of products and vectors shall be full, and branches have the same kernels.
  static std::vector<Rows> branchesFor(const RowOps& rows) {
    constexpr int64_t kMost = 4, kFewestRows = 8, kFewestNarrow = 64;
    const int64_t fewest = rows.has_narrow_rows ? kFewestNarrow : kFewestRows;
    int64_t count = std::min(kMost, rows.rows / fewest);
    while (count > 1 && rows.rows % count != 0) --count;
    if (count < 2 && rows.rows >= fewest) count = 2;
    std::vector<Rows> list;
    for (int64_t i = 0; count > 1 && i < count; ++i) {
      const int64_t first = rows.rows * i / count;
      list.push_back({first, rows.rows * (i + 1) / count - first});
    }
    return list;
  }

  void fork(const RowOps& rows, const std::vector<Rows>& branches, std::vector<OpId>& ops) {
    std::vector<ir::Type> types;
    SmallVector<ir::RegionId, 2> regions;
    for (const Rows& own : branches) {
      regions.push_back(Branch(m_, own).make(rows));
      for (Value v : m_.region(regions.back()).results) types.push_back(m_.type(v));
    }
    Builder b(m_, m_.addRegion(), m_.op(rows.ops.front().op).loc);
    const OpId made = b.append(OpKind::fork_, {}, types);
    m_.op(made).regions = regions;
    for (size_t i = 0; i < rows.wanted.size(); ++i) {
      ir::Values parts;
      for (size_t k = 0; k < branches.size(); ++k)
        parts.push_back(m_.op(made).result(k * rows.wanted.size() + i));
      renamed_[rows.wanted[i].index] = whole(b, parts, cutOf(rows, rows.wanted[i]));
    }
    const std::vector<OpId>& added = m_.region(b.region()).ops;
    ops.insert(ops.end(), added.begin(), added.end());
  }

  Cut cutOf(const RowOps& rows, Value v) const {
    const OpId def = m_.value(v).def;
    return std::ranges::find(rows.ops, def, &RowOp::op)->cut;
  }

  // A sum of parts has no cut.
  static Value whole(Builder& b, const ir::Values& parts, Cut cut) {
    if (!cut.isWhole()) return b.concatenate(parts, cut.dimension);
    Value sum = parts[0];
    for (size_t i = 1; i < parts.size(); ++i) sum = b.binary(OpKind::add_, sum, parts[i]);
    return sum;
  }

  ir::Module& m_;
  ir::Region& body_;
  ir::Renamed renamed_;
};

}  // namespace

bool forkRows(ir::Module& module) { return ForkMaker(module).run(); }

}  // namespace tercel::plan
