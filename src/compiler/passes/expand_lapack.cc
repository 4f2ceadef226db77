// JAX's calls of LAPACK's getrf, potrf and trsm, where the matrices are small.
#include "compiler/passes/expand_lapack.h"

#include <charconv>

#include "compiler/passes/small_linalg.h"
#include "core/status.h"

namespace tercel::passes {
namespace {

using ir::AttrKey;
using ir::Builder;
using ir::Ints;
using ir::Op;
using ir::Value;
using ir::Values;

char letterOf(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 's';
    case DType::f64:
      return 'd';
    case DType::c64:
      return 'c';
    case DType::c128:
      return 'z';
    default:
      return 0;
  }
}

// A letter of the configuration, as {uplo = 76 : u8}; 0: it has none of that name.
char optionOf(const Op& call, std::string_view name) {
  const std::string& text = call.symbol(AttrKey::backend_config);
  const std::string key = cat(name, " = ");
  const size_t at = text.find(key);
  if (at == text.npos) return 0;
  int letter = 0;
  std::from_chars(text.data() + at + key.size(), text.data() + text.size(), letter);
  return static_cast<char>(letter);
}

bool isMatrices(const Shape& shape, DType dtype) {
  return shape.rank() >= 2 && shape.dtype == dtype;
}

// `layouts` are of values one after another: that of the one of this rank at `start` is
// column-major matrices, row-major, or another.
enum class Order { rows, columns, other };
Order orderOf(const Ints& layouts, size_t start, size_t rank) {
  if (layouts.empty()) return Order::rows;
  if (layouts.size() < start + rank) return Order::other;
  const auto at = [&](size_t i) { return static_cast<size_t>(layouts[start + i]); };
  for (size_t i = 2; i < rank; ++i)
    if (at(i) != rank - 1 - i) return Order::other;
  if (at(0) == rank - 1 && at(1) == rank - 2) return Order::rows;
  return at(0) == rank - 2 && at(1) == rank - 1 ? Order::columns : Order::other;
}

// A call of one function on matrices that lie the same way in all operands and results.
class Lapack {
 public:
  Lapack(Builder& b, const Op& call) : b_(b), call_(call) {}

  Values expanded() {
    if (call_.operands.empty() || call_.results.empty()) return {};
    const Shape& a = b_.shape(call_.operand(0));
    if (!isMatrices(a, a.dtype) || !isMatrices(b_.shape(call_.result()), a.dtype)) return {};
    const std::string& target = call_.symbol(AttrKey::call_target_name);
    auto names = [&](std::string_view function) {
      return letterOf(a.dtype) && target == cat("lapack_", letterOf(a.dtype), function, "_ffi");
    };
    if (names("getrf")) return lu(a);
    if (names("potrf")) return cholesky(a);
    if (names("trsm")) return solution(a);
    return {};
  }

 private:
  bool has(size_t operands, const std::vector<Shape>& results) const {
    if (call_.operands.size() != operands || call_.results.size() != results.size()) return false;
    for (size_t i = 0; i < results.size(); ++i)
      if (b_.module().type(call_.result(i)).is_token || b_.shape(call_.result(i)) != results[i])
        return false;
    return true;
  }

  // Of all operands and the first result; other where they differ.
  Order order() const {
    const size_t rank = b_.shape(call_.operand(0)).dims.size();
    const Order given = orderOf(call_.ints(AttrKey::operand_layouts), 0, rank);
    const Order made = orderOf(call_.ints(AttrKey::result_layouts), 0, rank);
    if (given != made) return Order::other;
    if (call_.operands.size() == 1) return given;
    const Order second = orderOf(call_.ints(AttrKey::operand_layouts), rank, rank);
    return second == given ? given : Order::other;
  }

  Entries taken(Order order) {
    Entries a = entriesOf(b_, call_.operand(0));
    return order == Order::columns ? a.turned() : a;
  }
  Value given(const Entries& a, Order order) {
    return matricesOf(b_, order == Order::columns ? a.turned() : a);
  }

  Values lu(const Shape& a) {
    const Dims batch{a.dims.begin(), a.dims.end() - 2};
    Dims pivots = batch;
    pivots.push_back(std::min(a.dims[batch.size()], a.dims.back()));
    if (!has(1, {a, {DType::s32, pivots}, {DType::s32, batch}}) || !isSmallLu(a)) return {};
    const Order order = this->order();
    if (order == Order::other) return {};
    const SmallLu lu = smallLu(b_, taken(order));
    return {given(lu.factors, order), stacked(b_, lu.pivots, batch.size()), lu.info};
  }

  Values cholesky(const Shape& a) {
    const Dims batch{a.dims.begin(), a.dims.end() - 2};
    const char triangle = optionOf(call_, "uplo");
    const bool is_square = a.dims[batch.size()] == a.dims.back();
    if (!has(1, {a, {DType::s32, batch}}) || !is_square || !isSmallCholesky(a)) return {};
    const Order order = this->order();
    if (order == Order::other || (triangle != 'L' && triangle != 'U')) return {};
    Entries entries = taken(order);
    // a = u^H u: the lower triangle of conj(a) gives conj(u).
    if (triangle == 'U') entries = conjugatedBelow(entries.turned());
    SmallCholesky found = smallCholesky(b_, std::move(entries));
    if (triangle == 'U') found.factor = conjugatedBelow(std::move(found.factor)).turned();
    return {given(found.factor, order), found.info};
  }

  // Of the lower triangle and the diagonal.
  Entries conjugatedBelow(Entries a) {
    for (int64_t i = 0; i < a.rows(); ++i)
      for (int64_t j = 0; j <= i; ++j) a(i, j) = conjugated(b_, a(i, j));
    return a;
  }

  Values solution(const Shape& a) {
    const char side = optionOf(call_, "side"), triangle = optionOf(call_, "uplo");
    const char form = optionOf(call_, "trans_x"), diagonal = optionOf(call_, "diag");
    const bool known = (side == 'L' || side == 'R') && (triangle == 'L' || triangle == 'U') &&
                       (form == 'N' || form == 'T' || form == 'C') &&
                       (diagonal == 'N' || diagonal == 'U');
    if (!known || call_.operands.size() != 2) return {};
    const Shape rhs = b_.shape(call_.operand(1));
    const Order order = has(2, {rhs}) ? this->order() : Order::other;
    if (order == Order::other || !isSmallTriangle(a) || rhs.dims.size() != a.dims.size()) return {};
    const size_t row = a.dims.size() - 2;
    const bool along_rows = (side == 'L') == (order == Order::rows);
    const size_t unknowns = along_rows ? row : row + 1;
    Dims square = rhs.dims;
    square[row] = square[row + 1] = rhs.dims[unknowns];
    if (rhs.dtype != a.dtype || rhs.elements() == 0 || square != a.dims) return {};
    const Triangle how{.left = side == 'L',
                       .lower = triangle == 'L',
                       .transposed = form != 'N',
                       .conjugate = form == 'C',
                       .unit = diagonal == 'U'};
    return {smallSolution(b_, taken(order), call_.operand(1), unknowns, how)};
  }

  Builder& b_;
  const Op& call_;
};

}  // namespace

Values expandLapack(Builder& b, const Op& call) { return Lapack(b, call).expanded(); }

}  // namespace tercel::passes
