// Ops in the form that kernels are generated for: operands of convolutions and products lie as their
// tiles read them, and a product of two vectors is a sum along a row; random bits are arithmetic;
// complex numbers of one width become those of another by way of their parts.
#include <algorithm>
#include <unordered_map>

#include "compiler/passes/dimensions.h"
#include "compiler/passes/dot_sides.h"
#include "compiler/passes/expand_convolution.h"
#include "compiler/passes/expand_product.h"
#include "compiler/passes/expand_random.h"
#include "compiler/passes/expand_reduce.h"
#include "compiler/passes/expand_window.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewriter.h"
#include "compiler/passes/rules.h"

namespace tercel::passes {
namespace {

using ir::AttrKey;
using ir::Ints;
using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::Value;

class Expand : public Rewriter {
 public:
  explicit Expand(ir::Module& module) : Rewriter(module) {
    countUses();
    for (const ir::Function& f : module.functions) findDivisors(f.body);
  }

 private:
  bool visit(OpId id) override {
    switch (op(id).kind) {
      case OpKind::bitcast_convert_:
        return regroupParts(id);
      case OpKind::convolution_:
        return swapConvolution(*this, id) || undilateConvolution(*this, id) ||
               orderConvolution(*this, id);
      case OpKind::divide_:
        return divideByRoot(id) || canonicalised(id);
      case OpKind::dot_general_:
        return sumInOrder(id) || turnVectors(id) || rowProduct(id) || exchangeSides(id) ||
               turnLeft(id) || splitSum(*this, id);
      case OpKind::reduce_:
        return turnPairs(*this, id) || fillColumns(*this, id) || splitReduce(*this, id) ||
               canonicalised(id);
      case OpKind::reduce_window_:
        return splitWindow(*this, id) || canonicalised(id);
      case OpKind::rng_bit_generator_:
        return expandRandom(*this, id);
      default:
        return canonicalised(id);
    }
  }

  // What the expansions emit keeps the contract of the pipeline.
  bool canonicalised(OpId id) {
    Value by = canonicalForm(*this, op(id));
    if (by.valid()) replace(op(id).result(), by);
    return by.valid();
  }

  // Roots that nothing but several divisions in their region needs.
  void findDivisors(ir::RegionId region) {
    std::unordered_map<uint32_t, uint32_t> divisions;
    for (OpId id : module().region(region).ops) {
      const Op& o = op(id);
      if (o.kind == OpKind::divide_) ++divisions[o.operand(1).index];
      for (ir::RegionId inner : o.regions) findDivisors(inner);
    }
    for (OpId id : module().region(region).ops) {
      if (op(id).kind != OpKind::sqrt_) continue;
      const Value root = op(id).result();
      const DType dtype = shape(root).dtype;
      if (dtype != DType::f32 && dtype != DType::f64) continue;
      const auto at = divisions.find(root.index);
      if (at != divisions.end() && at->second > 1 && at->second == otherUses(root))
        inverse_roots_[root.index] = Value{};
    }
  }

  // x / sqrt(z), y / sqrt(z), ...: the inverse once, as kernels have it where they see both ops.
  bool divideByRoot(OpId id) {
    const auto at = inverse_roots_.find(op(id).operand(1).index);
    if (at == inverse_roots_.end()) return false;
    const Value root = op(id).operand(1), x = op(id).operand(0);
    if (!at->second.valid()) at->second = unary(OpKind::rsqrt_, def(root)->operand(0));
    replace(op(id).result(), binary(OpKind::multiply_, x, at->second));
    return true;
  }

  // c64[..., 2] is c128[...]: what is regrouped are the bits of pairs of real numbers.
  bool regroupParts(OpId id) {
    const Op o = op(id);
    const Shape from = shape(o.operand(0)), to = shape(o.result());
    if (!isComplex(from.dtype) || !isComplex(to.dtype) || from.dtype == to.dtype)
      return canonicalised(id);
    Value v = o.operand(0);
    for (const Shape& next : {pairsOf(from), pairsOf(to), to})
      v = emit(OpKind::bitcast_convert_, {v}, next);
    replace(o.result(), v);
    return true;
  }

  // A sum over several dimensions goes through the larger operand as that lies; the smaller one is
  // turned, if its dimensions lie in another order.
  bool sumInOrder(OpId id) {
    constexpr int64_t kMuchSmaller = 8;
    const Op o = op(id);
    DotSide lhs = lhsOf(o), rhs = rhsOf(o);
    const bool left = shape(lhs.value).elements() < shape(rhs.value).elements();
    DotSide &small = left ? lhs : rhs, &large = left ? rhs : lhs;
    if (rises(large.contracting) && rises(small.contracting)) return false;
    if (shape(small.value).elements() * kMuchSmaller > shape(large.value).elements()) return false;
    Ints order = range(std::ssize(large.contracting));
    std::ranges::sort(order, {}, [&](int64_t i) {
      return large.contracting[static_cast<size_t>(i)];
    });
    for (DotSide* side : {&large, &small}) side->contracting = mapped(order, side->contracting);
    Ints permutation = range(shape(small.value).rank());
    Ints lies = small.contracting;
    std::ranges::sort(lies);
    for (size_t i = 0; i < lies.size(); ++i)
      permutation[static_cast<size_t>(lies[i])] = small.contracting[i];
    small = turned(*this, small, permutation);
    return replaceProduct(o, lhs, rhs);
  }

  // Matrices whose elements lie among each other, times vectors that do not: the vectors are
  // turned, and all of the batch is multiplied at once.
  bool turnVectors(OpId id) {
    constexpr int64_t kMuchSmaller = 4, kLong = 16;
    const Op o = op(id);
    DotSide lhs = lhsOf(o), rhs = rhsOf(o);
    const bool right = freeElements(rhs) == 1;
    DotSide &vector = right ? rhs : lhs, &matrix = right ? lhs : rhs;
    const int64_t last = shape(matrix.value).rank() - 1, rank = shape(vector.value).rank();
    const auto at = std::ranges::find(matrix.batch, last) - matrix.batch.begin();
    if (at == std::ssize(matrix.batch) || freeElements(vector) != 1 || vector.contracting.empty() ||
        shape(matrix.value).dims.back() < kLong ||
        shape(vector.value).elements() * kMuchSmaller > shape(matrix.value).elements())
      return false;
    const int64_t from = vector.batch[static_cast<size_t>(at)];
    if (from == rank - 1) return false;
    Ints order = range(rank);
    std::rotate(order.begin() + from, order.begin() + from + 1, order.end());
    vector = turned(*this, vector, order);
    return replaceProduct(o, lhs, rhs);
  }

  bool replaceProduct(const Op& dot, const DotSide& lhs, const DotSide& rhs) {
    replace(dot.result(), emitDot(*this, dot, lhs, rhs, shape(dot.result()).dims));
    return true;
  }

  // matrix [batch..., m..., k...] times vector [batch..., k...], the sum's elements being neighbours
  // in memory: multiplied and added along the row, where there is but one or the matrix is computed
  // there, as products compute no operands. Where neighbours are of the batch instead, products and
  // sums go over all of it at once.
  bool rowProduct(OpId id) {
    const Op o = op(id);
    const DotSide lhs = lhsOf(o), rhs = rhsOf(o);
    const bool vector_right = freeElements(rhs) == 1 && (sumsRows(lhs) || batchLies(lhs, rhs));
    const DotSide& matrix = vector_right ? lhs : rhs;
    const DotSide& vector = vector_right ? rhs : lhs;
    const bool in_batch = batchLies(matrix, vector);
    const bool suits = in_batch || sumsRows(matrix) || freeElements(matrix) == 1;
    if (freeElements(vector) != 1 || !suits) return false;
    const Shape out = shape(o.result());
    const Shape m = shape(matrix.value);
    if (isPred(out.dtype) || m.elements() == 0) return false;
    if (isComplex(out.dtype) && freeElements(matrix) != 1) return false;
    const Op* maker = def(matrix.value);
    bool computed = maker && ir::isElementwise(maker->kind) && freeElements(matrix) >= 4 &&
                    isMadeHere(matrix.value);
    if (freeElements(matrix) != 1 && !computed && !in_batch) return false;
    DType wide = computedType(out.dtype);
    Value product = binary(OpKind::multiply_, convert(matrix.value, wide),
                           spread(vector, matrix, convert(vector.value, wide)));
    Value sum = addUp(product, wide, matrix.contracting);
    // The sum has the matrix's other dimensions; the result wants batch dimensions first.
    Ints order = matrix.batch;
    for (int64_t d : matrix.free(m.rank())) order.push_back(d);
    for (int64_t& d : order)
      d -= std::ranges::count_if(matrix.contracting, [&](int64_t summed) { return summed < d; });
    if (!std::ranges::is_sorted(order)) sum = transpose(sum, order);
    replace(o.result(), convert(reshape(sum, out.dims), out.dtype));
    return true;
  }

  // A large left operand whose rows do not lie along the sum is turned once, before: else each task
  // would pack it anew, or read it again from lines far apart.
  bool turnLeft(OpId id) {
    constexpr int64_t kReads = 128;
    const Op o = op(id);
    const DotSide lhs = lhsOf(o), rhs = rhsOf(o);
    const Shape from = shape(lhs.value);
    const int64_t columns = freeElements(rhs);
    Ints order = lhs.batch, free = lhs.free(from.rank());
    if (lhs.contracting.empty() || free.empty() || free.back() != from.rank() - 1 ||
        isComplex(from.dtype) || columns < kReads || isReadAsItLies(lhs, columns))
      return false;
    order.insert(order.end(), free.begin(), free.end());
    order.insert(order.end(), lhs.contracting.begin(), lhs.contracting.end());
    return replaceProduct(o, turned(*this, lhs, order), rhs);
  }
  // Whether caches hold what is read together of it, for so many columns. Elements of less than 32
  // bits are packed.
  bool isReadAsItLies(const DotSide& lhs, int64_t columns) const {
    constexpr int64_t kFewRows = 128, kNearSteps = 128, kSteps = 1024;  // as products are cut
    constexpr int64_t kManyColumns = 512;
    constexpr int64_t kNear = 32 << 10, kLarge = 128 << 10, kLargePacked = 64 << 10;
    const Shape& from = shape(lhs.value);
    if (byteSize(from.dtype) < 4) return from.elements() < kLargePacked;
    const int64_t rows = extent(from.dims, lhs.free(from.rank()));
    const int64_t steps = rows <= kFewRows ? kNearSteps : kSteps;
    return rows * std::min(extent(from.dims, lhs.contracting), steps) <
           (columns < kManyColumns ? kLarge : kNear);
  }

  // A long left operand that lies along its rows, times few columns: the other way round, rows fill
  // whole vectors, and only the small result is turned.
  bool exchangeSides(OpId id) {
    constexpr int64_t kFew = 8, kRows = 64, kSteps = 16;
    const Op o = op(id);
    const DotSide lhs = lhsOf(o), rhs = rhsOf(o);
    const Shape from = shape(lhs.value), out = shape(o.result());
    const Ints rows = lhs.free(from.rank());
    int64_t columns = freeElements(rhs), steps = 1;
    for (int64_t d : lhs.contracting) steps *= from.dims[static_cast<size_t>(d)];
    if (rows.empty() || rows.back() != from.rank() - 1 || from.dims.back() < kRows ||
        columns < 2 || columns > kFew || steps < kSteps || isComplex(from.dtype))
      return false;
    // The new result has the columns in front of the rows.
    const auto batch = static_cast<int64_t>(lhs.batch.size());
    const auto split = batch + static_cast<int64_t>(rows.size());
    Ints order = range(batch);
    for (int64_t d = split; d < out.rank(); ++d) order.push_back(d);
    for (int64_t d = batch; d < split; ++d) order.push_back(d);
    Dims exchanged;
    for (int64_t d : order) exchanged.push_back(out.dims[static_cast<size_t>(d)]);
    const Value product = emitDot(*this, o, rhs, lhs, exchanged);
    replace(o.result(), transpose(product, inverse(order)));
    return true;
  }

  int64_t freeElements(const DotSide& side) const {
    const Shape& from = shape(side.value);
    return extent(from.dims, side.free(from.rank()));
  }

  // The vector over the matrix's dimensions.
  Value spread(const DotSide& vector, const DotSide& matrix, Value v) {
    const Dims from = shape(v).dims;
    Dims kept;
    Ints to;
    for (size_t d = 0; d < from.size(); ++d) {
      auto in = [&](const Ints& list) {
        auto at = std::ranges::find(list, static_cast<int64_t>(d));
        return at == list.end() ? -1 : at - list.begin();
      };
      if (auto b = in(vector.batch); b >= 0) {
        to.push_back(matrix.batch[static_cast<size_t>(b)]);
      } else if (auto k = in(vector.contracting); k >= 0) {
        to.push_back(matrix.contracting[static_cast<size_t>(k)]);
      } else {
        continue;  // of size 1
      }
      kept.push_back(from[d]);
    }
    return broadcast(reshape(v, kept), shape(matrix.value).dims, to);
  }

  // Whether neighbours in memory belong to the batch on both sides.
  bool batchLies(const DotSide& a, const DotSide& b) const {
    constexpr int64_t kLong = 16;
    const Dims &from = shape(a.value).dims, &other = shape(b.value).dims;
    for (size_t i = 0; i < a.batch.size(); ++i)
      if (a.batch[i] + 1 == std::ssize(from) && b.batch[i] + 1 == std::ssize(other))
        return from.back() >= kLong && !a.contracting.empty();
    return false;
  }

  // Whether the sum goes over the innermost dimensions, and is long.
  bool sumsRows(const DotSide& side) const {
    constexpr int64_t kLong = 32;
    const Dims& dims = shape(side.value).dims;
    const auto rank = static_cast<int64_t>(dims.size());
    int64_t length = 1;
    for (int64_t d : side.contracting) {
      if (d < rank - static_cast<int64_t>(side.contracting.size())) return false;
      length *= dims[static_cast<size_t>(d)];
    }
    return length >= kLong;
  }

  Value addUp(Value v, DType dtype, Ints dimensions) {
    std::ranges::sort(dimensions);
    return reduceBy(*this, OpKind::add_, v, splat({dtype, {}}, 0), dimensions);
  }

  std::unordered_map<uint32_t, Value> inverse_roots_;  // by root; invalid: not yet computed
};

}  // namespace

PassResult expand(ir::Module& module) { return Expand(module).run(); }

}  // namespace tercel::passes
