// The ops of a random module that have regions or contract.
#include <algorithm>
#include <numeric>

#include "random_module.h"

namespace tercel::passes {
using namespace ir;
namespace {

Type scalarType(DType t) { return Type{Shape{t, {}}}; }

}  // namespace

// Each lane on its own: a sum, a product, an extremum, or something that does not commute.
RegionId RandomModule::reducer(Module& m, DType dtype, int lanes) {
  RegionId id = m.addRegion();
  for (int i = 0; i < 2 * lanes; ++i) m.addArg(id, scalarType(dtype));
  B b(m, id);
  Values results;
  for (int i = 0; i < lanes; ++i) {
    Value x = m.region(id).args[static_cast<size_t>(i)];
    Value y = m.region(id).args[static_cast<size_t>(i + lanes)];
    OpKind kinds[] = {OpKind::add_, OpKind::multiply_, OpKind::maximum_, OpKind::minimum_};
    results.push_back(b.binary(kinds[pick(dtype == DType::c64 ? 2 : 4)], x, y));
  }
  m.region(id).results = results;
  return id;
}

void RandomModule::reduction(B& b) {
  Value x = any();
  Shape shape = b.shape(x);
  // 16-bit sums depend on how they are grouped.
  if (shape.dtype == DType::bf16 || shape.dtype == DType::f64) return;
  int lanes = chance(25) ? 2 : 1;
  Ints reduced;
  Shape result{shape.dtype, {}};
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (chance(50))
      reduced.push_back(d);
    else
      result.dims.push_back(shape.dims[static_cast<size_t>(d)]);
  }
  Values operands{x};
  if (lanes == 2) operands.push_back(anyOf(shape, b));
  for (int i = 0; i < lanes; ++i) operands.push_back(scalar(shape.dtype, b));
  std::vector<Type> types(static_cast<size_t>(lanes), Type{result});
  RegionId body = reducer(b.module(), shape.dtype, lanes);
  OpId id = b.append(OpKind::reduce_, operands, types, {{AttrKey::dimensions, reduced}});
  b.module().op(id).regions.push_back(body);
  for (Value v : Values(b.module().op(id).results)) add(v);
}

void RandomModule::sort(B& b) {
  Value x = any();
  Shape shape = b.shape(x);
  if (shape.rank() == 0 || shape.dtype == DType::c64) return;
  Value y = anyOf({DType::s32, shape.dims}, b);
  Module& m = b.module();
  RegionId body = m.addRegion();
  for (DType t : {shape.dtype, shape.dtype, DType::s32, DType::s32}) m.addArg(body, scalarType(t));
  B inner(m, body);
  Value less = inner.compare(m.region(body).args[0], m.region(body).args[1], "LT",
                             isFloat(shape.dtype) ? "TOTALORDER" : "");
  m.region(body).results.push_back(less);
  std::vector<Type> types{Type{shape}, Type{Shape{DType::s32, shape.dims}}};
  OpId id = b.append(OpKind::sort_, {x, y}, types,
                     {{AttrKey::dimension, pick(shape.rank())}, {AttrKey::is_stable, true}});
  m.op(id).regions.push_back(body);
  for (Value v : Values(m.op(id).results)) add(v);
}

// lhs [batch, free..., contracting] in any order of dimensions, rhs alike.
void RandomModule::contraction(B& b) {
  DType t = chance(80) ? DType::f32 : DType::s32;
  int64_t batches = pick(2), contractions = pick(3);
  Ints sizes;
  for (int64_t i = 0; i < batches + contractions; ++i) sizes.push_back(1 + pick(3));
  auto elements = [&](const Shape& shape) {
    DType narrow = chance(50) ? DType::s8 : DType::u8;
    bool widened = t == DType::s32 && chance(60);
    return widened ? b.convert(anyOf({narrow, shape.dims}, b), t) : anyOf(shape, b);
  };
  auto side = [&](Ints& batch, Ints& contract) {
    int64_t rank = batches + contractions + pick(3);
    Ints order(static_cast<size_t>(rank));
    std::iota(order.begin(), order.end(), 0);
    if (chance(60)) std::shuffle(order.begin(), order.end(), random_);
    Shape shape{t, Dims(static_cast<size_t>(rank), 1)};
    for (int64_t i = 0; i < rank; ++i) {
      size_t at = static_cast<size_t>(order[static_cast<size_t>(i)]);
      bool shared = i < batches + contractions;
      shape.dims[at] = shared ? sizes[static_cast<size_t>(i)] : 1 + pick(3);
      if (shared) (i < batches ? batch : contract).push_back(static_cast<int64_t>(at));
    }
    Value x = elements(shape);
    if (chance(40)) {  // behind a transpose
      Ints permutation(static_cast<size_t>(rank));
      std::iota(permutation.begin(), permutation.end(), 0);
      std::shuffle(permutation.begin(), permutation.end(), random_);
      Shape source{t, Dims(static_cast<size_t>(rank), 1)};
      for (size_t i = 0; i < permutation.size(); ++i)
        source.dims[static_cast<size_t>(permutation[i])] = shape.dims[i];
      x = b.transpose(elements(source), permutation);
    }
    return x;
  };
  Ints lb, lc, rb, rc;
  Value lhs = side(lb, lc), rhs = side(rb, rc);
  add(b.build(OpKind::dot_general_, {lhs, rhs},
              {{AttrKey::lhs_batching_dimensions, lb},
               {AttrKey::rhs_batching_dimensions, rb},
               {AttrKey::lhs_contracting_dimensions, lc},
               {AttrKey::rhs_contracting_dimensions, rc}}));
}

// One spatial dimension, all dimensions in any order, the operands often behind transposes. No
// padding: whether 0 from there times an infinity is NaN, pass expand and the evaluator disagree.
void RandomModule::convolution(B& b) {
  int64_t features = 1 + pick(2), window = 1 + pick(2);
  auto shuffled = [&] {
    Ints order{0, 1, 2};
    std::shuffle(order.begin(), order.end(), random_);
    return order;
  };
  // order[i] is where the i-th of (batch or input, feature or output, spatial) lies.
  auto operand = [&](const Ints& sizes, const Ints& order) {
    Shape shape{DType::f32, Dims(3, 1)};
    for (size_t i = 0; i < 3; ++i) shape.dims[static_cast<size_t>(order[i])] = sizes[i];
    if (chance(50)) return anyOf(shape, b);
    Ints permutation = shuffled();
    Shape source = shape;
    for (size_t i = 0; i < 3; ++i) source.dims[static_cast<size_t>(permutation[i])] = shape.dims[i];
    return b.transpose(anyOf(source, b), permutation);
  };
  Ints in = shuffled(), kernel = shuffled(), out = shuffled();
  Value x = operand({1 + pick(2), features, window + pick(3)}, in);
  Value k = operand({features, 1 + pick(3), window}, kernel);
  Value y = b.build(OpKind::convolution_, {x, k},
                    {{AttrKey::window_strides, Ints{1 + pick(2)}},
                     {AttrKey::padding, Ints{0, 0}},
                     {AttrKey::lhs_dilation, Ints{1}},
                     {AttrKey::rhs_dilation, Ints{1}},
                     {AttrKey::window_reversal, Ints{pick(2)}},
                     {AttrKey::input_batch_dimension, in[0]},
                     {AttrKey::input_feature_dimension, in[1]},
                     {AttrKey::input_spatial_dimensions, Ints{in[2]}},
                     {AttrKey::kernel_input_feature_dimension, kernel[0]},
                     {AttrKey::kernel_output_feature_dimension, kernel[1]},
                     {AttrKey::kernel_spatial_dimensions, Ints{kernel[2]}},
                     {AttrKey::output_batch_dimension, out[0]},
                     {AttrKey::output_feature_dimension, out[1]},
                     {AttrKey::output_spatial_dimensions, Ints{out[2]}},
                     {AttrKey::feature_group_count, int64_t{1}},
                     {AttrKey::batch_group_count, int64_t{1}}});
  add(chance(50) ? y : b.transpose(y, shuffled()));
}

RegionId RandomModule::branchRegion(B& b, std::span<const Shape> shapes, int depth) {
  size_t outer = pool_.size();
  RegionId id = b.module().addRegion();
  B inner(b.module(), id);
  ops(inner, static_cast<int>(pick(4)), depth + 1);
  Values results;
  for (const Shape& shape : shapes) results.push_back(anyOf(shape, inner));
  b.module().region(id).results = results;
  pool_.resize(outer);
  return id;
}

void RandomModule::branch(B& b, int depth) {
  std::vector<Shape> shapes;
  std::vector<Type> types;
  for (int64_t n = 1 + pick(2); n > 0; --n) shapes.push_back(b.shape(any()));
  for (const Shape& shape : shapes) types.push_back(Type{shape});
  bool is_if = chance(50);
  Value selector = scalar(is_if ? DType::pred : DType::s32, b);
  SmallVector<RegionId, 2> regions;
  for (int64_t n = is_if ? 2 : 1 + pick(3); n > 0; --n)
    regions.push_back(branchRegion(b, shapes, depth));
  OpId id = b.append(is_if ? OpKind::if_ : OpKind::case_, {selector}, types);
  b.module().op(id).regions = regions;
  for (Value v : Values(b.module().op(id).results)) add(v);
}

// A counter from 0 up to 0..3, and carried values of which some never change.
void RandomModule::loop(B& b, int depth) {
  Module& m = b.module();
  Values inits{b.splat({DType::s32, {}}, 0)};
  for (int64_t n = pick(4); n > 0; --n) inits.push_back(any());
  std::vector<Type> types;
  for (Value v : inits) types.push_back(m.type(v));
  RegionId cond = m.addRegion(), body = m.addRegion();
  for (const Type& type : types) m.addArg(cond, type), m.addArg(body, type);
  B c(m, cond), inner(m, body);
  Value limit = c.splat({DType::s32, {}}, static_cast<double>(pick(4)));
  m.region(cond).results.push_back(c.compare(m.region(cond).args[0], limit, "LT"));
  size_t outer = pool_.size();
  for (Value v : Values(m.region(body).args)) add(v);
  ops(inner, 1 + static_cast<int>(pick(5)), depth + 1);
  Values next{inner.binary(OpKind::add_, m.region(body).args[0], inner.splat({DType::s32, {}}, 1))};
  for (size_t i = 1; i < inits.size(); ++i) {
    Value arg = m.region(body).args[i];
    next.push_back(chance(25) ? arg : anyOf(m.shape(arg), inner));
  }
  m.region(body).results = next;
  pool_.resize(outer);
  OpId id = b.append(OpKind::while_, inits, types);
  m.op(id).regions = {cond, body};
  for (Value v : Values(m.op(id).results)) add(v);
}

void RandomModule::call(B& b) {
  Module& m = b.module();
  if (m.functions.size() < 2) return;
  const Function& f = m.functions[1];
  Values operands;
  for (Value arg : Values(m.region(f.body).args)) operands.push_back(anyOf(Shape(m.shape(arg)), b));
  std::vector<Type> types;
  for (Value v : m.region(f.body).results) types.push_back(m.type(v));
  OpId id = b.append(OpKind::call_, operands, types, {{AttrKey::callee, f.name}});
  for (Value v : Values(m.op(id).results)) add(v);
}

}  // namespace tercel::passes
