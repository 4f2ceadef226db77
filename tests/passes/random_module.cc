#include "random_module.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tercel::passes {
using namespace ir;
namespace {

constexpr DType kTypes[] = {DType::f32, DType::f32, DType::f32, DType::s32, DType::s32,
                            DType::pred, DType::f64, DType::bf16, DType::u8, DType::c64};
constexpr double kNumbers[] = {0.0, -0.0, 1, -1, 2, 0.5, 3, -7, INFINITY, -INFINITY, NAN, 8, 1e30};

Type scalarType(DType t) { return Type{Shape{t, {}}}; }

}  // namespace

DType RandomModule::dtype() { return kTypes[pick(std::size(kTypes))]; }

Dims RandomModule::dims() {
  Dims d;
  for (int64_t rank = pick(4); rank > 0; --rank) d.push_back(chance(3) ? 0 : 1 + pick(4));
  return d;
}

Literal RandomModule::literal(const Shape& shape) {
  if (chance(30)) return Literal::splatOf(shape, static_cast<double>(pick(4)) - 1);
  std::vector<std::byte> bytes(static_cast<size_t>(shape.bytes()));
  size_t element = byteSize(shape.dtype);
  for (size_t at = 0; at < bytes.size(); at += element) {
    double number = chance(50) ? kNumbers[pick(std::size(kNumbers))]
                               : static_cast<double>(pick(2000)) / 64 - 15;
    if (!isFloat(shape.dtype) && !isComplex(shape.dtype)) number = pick(9);
    Literal one = Literal::splatOf({shape.dtype, {}}, number);
    std::copy(one.bytes().begin(), one.bytes().end(), bytes.begin() + static_cast<long>(at));
  }
  return Literal(shape, std::move(bytes));
}

std::vector<Literal> RandomModule::arguments(const Module& module) {
  std::vector<Literal> args;
  for (Value v : module.region(module.main().body).args) args.push_back(literal(module.shape(v)));
  return args;
}

Value RandomModule::any() { return pool_[static_cast<size_t>(pick(static_cast<int64_t>(pool_.size())))]; }

// A visible value of this shape, or a constant, or a broadcast of a scalar.
Value RandomModule::anyOf(const Shape& shape, B& b) {
  std::vector<Value> fit;
  for (Value v : pool_)
    if (b.shape(v) == shape) fit.push_back(v);
  if (!fit.empty() && chance(75)) return fit[static_cast<size_t>(pick(static_cast<int64_t>(fit.size())))];
  if (chance(50) || shape.rank() == 0) return b.constant(literal(shape));
  return b.broadcast(scalar(shape.dtype, b), shape, {});
}

Value RandomModule::anyDType(DType dtype, B& b) {
  for (int tries = 0; tries < 8; ++tries)
    if (Value v = any(); b.shape(v).dtype == dtype) return v;
  return b.convert(any(), dtype);
}

void RandomModule::arithmetic(B& b, Value x) {
  Shape shape = b.shape(x);
  DType t = shape.dtype;
  if (chance(35)) {
    if (t == DType::pred) return add(b.unary(OpKind::not_, x));
    OpKind any_number[] = {OpKind::negate_, OpKind::abs_};
    if (t == DType::c64) return add(b.unary(OpKind::negate_, x));
    OpKind floats[] = {OpKind::negate_, OpKind::abs_,  OpKind::floor_, OpKind::sqrt_,
                       OpKind::sign_,   OpKind::tanh_, OpKind::exponential_};
    if (isFloat(t)) return add(b.unary(floats[pick(std::size(floats))], x));
    if (isUnsigned(t)) return add(b.unary(OpKind::not_, x));
    return add(b.unary(any_number[pick(2)], x));
  }
  Value y = anyOf(shape, b);
  if (t == DType::pred) {
    OpKind logic[] = {OpKind::and_, OpKind::or_, OpKind::xor_, OpKind::add_, OpKind::multiply_};
    return add(b.binary(logic[pick(std::size(logic))], x, y));
  }
  if (t == DType::c64) {
    OpKind kinds[] = {OpKind::add_, OpKind::subtract_, OpKind::multiply_};
    return add(b.binary(kinds[pick(3)], x, y));
  }
  OpKind numbers[] = {OpKind::add_,     OpKind::subtract_, OpKind::multiply_, OpKind::maximum_,
                      OpKind::minimum_, OpKind::divide_,   OpKind::remainder_};
  OpKind bits[] = {OpKind::and_, OpKind::or_, OpKind::xor_, OpKind::shift_left_};
  if (isInteger(t) && chance(30)) return add(b.binary(bits[pick(std::size(bits))], x, y));
  if (isFloat(t) && chance(10)) {
    double exponents[] = {0, 1, 2, 0.5, -0.5};
    return add(b.binary(OpKind::power_, x, b.splat(shape, exponents[pick(4)])));
  }
  Value left = chance(50) ? x : y;
  add(b.binary(numbers[pick(std::size(numbers))], left, left == x ? y : x));
}

void RandomModule::selection(B& b) {
  Value x = any();
  Shape shape = b.shape(x);
  Value y = anyOf(shape, b);
  bool ordered = shape.dtype != DType::c64;
  const char* directions[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
  if (chance(40)) return add(b.compare(x, y, directions[pick(ordered ? 6 : 2)]));
  if (ordered && shape.dtype != DType::pred && chance(25)) {
    Value low = chance(50) ? scalar(shape.dtype, b) : anyOf(shape, b);
    return add(b.build(OpKind::clamp_, {low, x, anyOf(shape, b)}));
  }
  Value pred = chance(30) ? scalar(DType::pred, b) : anyOf({DType::pred, shape.dims}, b);
  add(b.select(pred, x, y));
}

void RandomModule::conversion(B& b) {
  Value x = any();
  DType t = b.shape(x).dtype;
  if (t == DType::c64) return add(b.unary(chance(50) ? OpKind::real_ : OpKind::imag_, x));
  if (t == DType::f32 && chance(15))
    return add(b.binary(OpKind::complex_, x, anyOf(b.shape(x), b)));
  add(b.convert(x, dtype()));
}

void RandomModule::elementwise(B& b) {
  if (chance(60)) return arithmetic(b, any());
  chance(70) ? selection(b) : conversion(b);
}

void RandomModule::movement(B& b) {
  Value x = any();
  Shape shape = b.shape(x);
  if (chance(40)) {
    Dims to = shape.dims;
    Ints where(to.size());
    std::iota(where.begin(), where.end(), 0);
    for (int64_t extra = pick(3); extra > 0 && to.size() < 5; --extra) {
      int64_t at = pick(static_cast<int64_t>(to.size()) + 1);
      to.insert(static_cast<size_t>(at), 1 + pick(3));
      for (int64_t& d : where) d += d >= at;
    }
    for (size_t i = 0; i < where.size(); ++i)
      if (shape.dims[i] == 1 && chance(70)) to[static_cast<size_t>(where[i])] = 1 + pick(4);
    return add(b.broadcast(x, {shape.dtype, to}, where));
  }
  if (chance(50)) {
    Ints permutation(shape.dims.size());
    std::iota(permutation.begin(), permutation.end(), 0);
    std::shuffle(permutation.begin(), permutation.end(), random_);
    return add(b.transpose(x, permutation));
  }
  Dims to;
  int64_t rest = shape.elements();
  for (int64_t d : {int64_t{2}, int64_t{3}, int64_t{1}, int64_t{2}})
    if (rest % d == 0 && rest > 0 && chance(60)) {
      to.push_back(d);
      rest /= d;
    }
  to.insert(static_cast<size_t>(pick(static_cast<int64_t>(to.size()) + 1)), rest);
  if (rest == 1 && chance(50) && to.size() > 1 && to[0] == 1) to.erase(0);
  add(b.reshape(x, to));
}

void RandomModule::cut(B& b) {
  Value x = any();
  Dims dims = b.shape(x).dims;
  Ints low, high, interior, start, limit, stride;
  for (int64_t d : dims) {
    low.push_back(chance(50) ? 0 : pick(4) - 1);
    high.push_back(chance(50) ? 0 : pick(4) - 1);
    interior.push_back(chance(15) ? 1 : 0);
    if (low.back() + high.back() + d < 0) low.back() = high.back() = 0;
    start.push_back(pick(d + 1));
    limit.push_back(start.back() + pick(d - start.back() + 1));
    if (chance(40)) start.back() = 0, limit.back() = d;
    stride.push_back(1 + (chance(25) ? pick(3) : 0));
  }
  if (chance(60)) return add(b.slice(x, start, limit, stride));
  if (chance(60)) return add(b.pad(x, scalar(b.shape(x).dtype, b), low, high, interior));
  Ints reversed;
  for (size_t d = 0; d < dims.size(); ++d)
    if (chance(50)) reversed.push_back(static_cast<int64_t>(d));
  add(b.build(OpKind::reverse_, {x}, {{AttrKey::dimensions, reversed}}));
}

void RandomModule::join(B& b) {
  Value x = any();
  Shape shape = b.shape(x);
  if (shape.rank() == 0) return;
  int64_t along = pick(shape.rank());
  Values parts{x};
  for (int64_t more = pick(3); more > 0; --more) {
    Shape part = shape;
    if (chance(40)) part.dims[static_cast<size_t>(along)] = pick(3);
    parts.push_back(anyOf(part, b));
  }
  add(b.concatenate(parts, along));
}

void RandomModule::indexed(B& b) {
  Value x = any();
  Shape shape = b.shape(x);
  if (shape.rank() == 0) return add(b.iota({chance(50) ? DType::s32 : DType::f32, {1 + pick(4)}}, 0));
  Values operands{x};
  Ints sizes;
  bool update = chance(40);
  for (int64_t d : shape.dims) sizes.push_back(chance(30) ? d : (d ? 1 + pick(d) : 0));
  if (update) operands.push_back(anyOf({shape.dtype, Dims(std::span<const int64_t>(sizes))}, b));
  for (int64_t d = 0; d < shape.rank(); ++d) operands.push_back(scalar(DType::s32, b));
  if (update) return add(b.build(OpKind::dynamic_update_slice_, operands));
  if (chance(60))
    return add(b.build(OpKind::dynamic_slice_, operands, {{AttrKey::slice_sizes, sizes}}));
  if (shape.elements() == 0) return;
  Shape indices{DType::s32, {1 + pick(2), 1}};
  sizes[0] = 1;
  Ints offset;
  for (int64_t d = 1; d < shape.rank(); ++d) offset.push_back(d);
  add(b.build(OpKind::gather_, {x, anyOf(indices, b)},
              {{AttrKey::offset_dims, offset},
               {AttrKey::collapsed_slice_dims, Ints{0}},
               {AttrKey::start_index_map, Ints{0}},
               {AttrKey::index_vector_dim, int64_t{1}},
               {AttrKey::slice_sizes, sizes}}));
}

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
    Value x = anyOf(shape, b);
    if (chance(40)) {  // behind a transpose
      Ints permutation(static_cast<size_t>(rank));
      std::iota(permutation.begin(), permutation.end(), 0);
      std::shuffle(permutation.begin(), permutation.end(), random_);
      Shape source{t, Dims(static_cast<size_t>(rank), 1)};
      for (size_t i = 0; i < permutation.size(); ++i)
        source.dims[static_cast<size_t>(permutation[i])] = shape.dims[i];
      x = b.transpose(anyOf(source, b), permutation);
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

void RandomModule::op(B& b, int depth) {
  int64_t n = pick(100);
  if (n < 40) return elementwise(b);
  if (n < 56) return movement(b);
  if (n < 66) return cut(b);
  if (n < 71) return join(b);
  if (n < 77) return indexed(b);
  if (n < 83) return reduction(b);
  if (n < 85) return sort(b);
  if (n < 91) return contraction(b);
  if (n < 93 && depth == 0) return call(b);
  if (depth > 2) return elementwise(b);
  n < 96 ? branch(b, depth) : loop(b, depth);
}

void RandomModule::ops(B& b, int count, int depth) {
  for (int i = 0; i < count; ++i) op(b, depth);
}

Module RandomModule::make(int count) {
  Module m;
  for (const char* name : {"main", "f"}) {
    bool is_main = m.functions.empty();
    RegionId body = m.addRegion();
    m.functions.push_back({.name = name, .is_public = is_main, .body = body});
  }
  for (size_t i : {size_t{1}, size_t{0}}) {
    RegionId body = m.functions[i].body;
    pool_.clear();
    for (int64_t n = 2 + pick(3); n > 0; --n) {
      add(m.addArg(body, Type{Shape{dtype(), dims()}}));
      m.functions[i].args.push_back({});
    }
    B b(m, body);
    ops(b, i ? 4 : count, i ? 3 : 0);
    for (int64_t n = 1 + pick(4); n > 0; --n) {
      m.region(body).results.push_back(any());
      m.functions[i].results.push_back({});
    }
  }
  return m;
}

}  // namespace tercel::passes
