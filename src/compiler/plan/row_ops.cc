#include "compiler/plan/row_ops.h"

#include <algorithm>
#include <unordered_map>

#include "compiler/plan/batches.h"
#include "compiler/plan/captures.h"
#include "compiler/plan/late_ops.h"
#include "compiler/plan/op_traits.h"
#include "core/integers.h"

namespace tercel::plan {
namespace {

using ir::AttrKey;
using ir::Cut;
using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::Value;

// Whether parts of a sum may be rounded each.
bool isAddedUp(DType dtype) { return dtype == DType::f32 || dtype == DType::f64; }

// Goes through a list of ops in order and takes those that belong to the rows of one batch.
class RowSearch {
 public:
  RowSearch(const ir::Module& m, const Batches& batches, size_t batch)
      : m_(m), batches_(batches), batch_(batch) {
    found_.rows = batches.rows(batch);
  }

  RowOps run(std::span<const OpId> ops, const ir::Values& results) {
    for (OpId id : ops) visit(id);
    for (Value v : results)
      if (rowOf(v)) want(v);
    return std::move(found_);
  }

 private:
  void visit(OpId id) {
    const Op& op = m_.op(id);
    const std::vector<Value> reads = readsOf(m_, op);
    bool is_late = late_.isBefore(op, reads);
    if (auto row = is_late ? std::nullopt : rowOp(op)) return take(id, std::move(*row));
    for (Value v : reads) {
      if (!rowOf(v)) continue;
      want(v);
      is_late = true;
    }
    (is_late ? found_.after : found_.before).push_back(id);
    if (is_late) late_.add(op);
  }

  void take(OpId id, RowOp row) {
    row.op = id;
    const Value result = m_.op(id).result();
    const bool is_last = row.cut.dimension + 1 == m_.shape(result).rank();
    found_.has_narrow_rows |= !row.cut.isWhole() && is_last;
    row_of_[result.index] = found_.ops.size();
    found_.ops.push_back(std::move(row));
  }

  const RowOp* rowOf(Value v) const {
    auto at = row_of_.find(v.index);
    return at == row_of_.end() ? nullptr : &found_.ops[at->second];
  }

  void want(Value v) {
    if (std::ranges::count(found_.wanted, v) == 0) found_.wanted.push_back(v);
  }

  std::optional<RowOp> rowOp(const Op& op) const {
    if (op.results.size() != 1 || op.operands.empty() || m_.type(op.result()).is_token) return {};
    const bool reduces = op.kind == OpKind::reduce_ && captures(m_, op).empty();
    if (!op.regions.empty() && !reduces) return {};
    for (Value v : op.operands)
      if (const RowOp* row = rowOf(v); row && row->is_sum) return ofSums(op);
    if (auto sum = sumOf(op)) return sum;
    return partOf(op);
  }

  // The rows' parts of the result are made of their parts of the operands.
  std::optional<RowOp> partOf(const Op& op) const {
    const Value result = op.result();
    const Dims& dims = m_.shape(result).dims;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d] == 0 || dims[d] % found_.rows != 0) continue;
      const Cut cut{static_cast<int64_t>(d), dims[d] / found_.rows};
      auto operands = ir::operandCuts(m_, op, cut);
      if (!operands || !fits(op, *operands)) continue;
      if (isInBatch(op) || (cut.unit == 1 && batches_.of(result, d) == batch_))
        return RowOp{{}, cut, false, std::move(*operands)};
    }
    return {};
  }

  bool isInBatch(const Op& op) const {
    return std::ranges::any_of(op.operands, [&](Value v) { return rowOf(v) != nullptr; });
  }

  // What rows have is cut as it is made; anything else may be cut anywhere.
  bool fits(const Op& op, const std::vector<Cut>& operands) const {
    for (size_t i = 0; i < operands.size(); ++i)
      if (const RowOp* row = rowOf(op.operand(i)); row && (row->is_sum || row->cut != operands[i]))
        return false;
    return true;
  }

  // A sum over the rows.
  std::optional<RowOp> sumOf(const Op& op) const {
    if (!isInBatch(op) || !isAddedUp(m_.shape(op.result()).dtype)) return {};
    if (op.kind == OpKind::dot_general_) return sumOfProducts(op);
    if (op.kind != OpKind::reduce_ || op.operands.size() != 2 || !addsFromZero(op)) return {};
    const RowOp* row = rowOf(op.operand(0));
    if (!row || !contains(op.ints(AttrKey::dimensions), row->cut.dimension)) return {};
    return RowOp{{}, {}, true, {row->cut, {}}};
  }

  std::optional<RowOp> sumOfProducts(const Op& op) const {
    const ir::Ints& lhs = op.ints(AttrKey::lhs_contracting_dimensions);
    const ir::Ints& rhs = op.ints(AttrKey::rhs_contracting_dimensions);
    for (size_t i = 0; i < lhs.size(); ++i) {
      const int64_t lines = m_.shape(op.operand(0)).dims[static_cast<size_t>(lhs[i])];
      if (lines == 0 || lines % found_.rows != 0) continue;
      std::vector<Cut> operands = {{lhs[i], lines / found_.rows}, {rhs[i], lines / found_.rows}};
      if (fits(op, operands)) return RowOp{{}, {}, true, std::move(operands)};
    }
    return {};
  }

  bool addsFromZero(const Op& op) const {
    const Op* start = m_.def(op.operand(1));
    if (!start || start->kind != OpKind::constant_ || start->literal().number(0) != 0) return false;
    const ir::Region& body = m_.region(op.regions[0]);
    if (body.ops.size() != 1 || m_.op(body.ops[0]).kind != OpKind::add_) return false;
    const Op& add = m_.op(body.ops[0]);
    return add.operands == body.args && body.results[0] == add.result();
  }

  // What is done to a sum and may as well be done to each of its terms.
  std::optional<RowOp> ofSums(const Op& op) const {
    const auto sums = std::ranges::count_if(op.operands, [&](Value v) {
      const RowOp* row = rowOf(v);
      return row && row->is_sum;
    });
    const bool adds = op.kind == OpKind::add_ || op.kind == OpKind::subtract_;
    if (!adds || sums != 2) return {};
    return RowOp{{}, {}, true, std::vector<Cut>(2)};
  }

  const ir::Module& m_;
  const Batches& batches_;
  const size_t batch_;
  RowOps found_;
  std::unordered_map<uint32_t, size_t> row_of_;  // by value
  LateOps late_;  // that need whole results
};

constexpr int kFewestProducts = 4;

// Many products, each too small to be shared out by itself.
double gain(const ir::Module& m, const RowOps& rows) {
  constexpr double kWorthThreads = 20e3, kLongProduct = 40e3;  // ns
  double work = 0;
  int products = 0;
  for (const RowOp& row : rows.ops) {
    products += m.op(row.op).kind == OpKind::dot_general_;
    work += workOf(m, m.op(row.op));
  }
  if (products < kFewestProducts || work < kWorthThreads) return 0;
  return work > products * kLongProduct ? 0 : work;
}

}  // namespace

std::optional<RowOps> findRowOps(const ir::Module& m, std::span<const OpId> ops,
                                 const ir::Values& results) {
  const auto products = std::ranges::count_if(ops, [&](OpId id) {
    return m.op(id).kind == OpKind::dot_general_;
  });
  if (products < kFewestProducts) return {};
  const Batches batches(m, ops);
  std::optional<RowOps> best;
  double most = 0;
  for (size_t batch : batches.largest()) {
    RowOps found = RowSearch(m, batches, batch).run(ops, results);
    const double own = gain(m, found);
    if (own <= most) continue;
    most = own;
    best = std::move(found);
  }
  return best;
}

}  // namespace tercel::plan
