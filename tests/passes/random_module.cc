#include "random_module.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tercel::passes {
using namespace ir;
namespace {

constexpr DType kTypes[] = {DType::f32,  DType::f32, DType::f32,  DType::s32, DType::s32,
                            DType::pred, DType::f64, DType::bf16, DType::u8,  DType::c64};
constexpr double kNumbers[] = {0.0, -0.0, 1, -1, 2, 0.5, 3, -7, INFINITY, -INFINITY, NAN, 8, 1e30};

}  // namespace

DType RandomModule::dtype() { return kTypes[pick(std::size(kTypes))]; }

Dims RandomModule::dims() {
  Dims d;
  for (int64_t rank = pick(4); rank > 0; --rank) d.push_back(chance(3) ? 0 : 1 + pick(4));
  return d;
}

Literal RandomModule::literal(const Shape& shape, Numbers numbers) {
  if (chance(30)) return Literal::splatOf(shape, static_cast<double>(pick(4)) - 1);
  std::vector<std::byte> bytes(static_cast<size_t>(shape.bytes()));
  size_t element = byteSize(shape.dtype);
  for (size_t at = 0; at < bytes.size(); at += element) {
    double number = chance(50) ? kNumbers[pick(std::size(kNumbers))]
                               : static_cast<double>(pick(2000)) / 64 - 15;
    if (!isFloat(shape.dtype) && !isComplex(shape.dtype)) number = pick(9);
    // The order of a product decides whether it overflows, and windows leave that open.
    if (attributed_ && std::abs(number) == 1e30) number = 8;
    if (numbers == Numbers::finite && !(std::abs(number) < 100)) number = 0;
    Literal one = Literal::splatOf({shape.dtype, {}}, number);
    std::copy(one.bytes().begin(), one.bytes().end(), bytes.begin() + static_cast<long>(at));
  }
  return Literal(shape, std::move(bytes));
}

std::vector<Literal> RandomModule::arguments(const Module& module, Numbers numbers) {
  std::vector<Literal> args;
  for (Value v : module.region(module.main().body).args)
    args.push_back(literal(module.shape(v), numbers));
  return args;
}

Value RandomModule::any() { return oneOf(pool_); }

// A visible value of this shape, or a constant, or a broadcast of a scalar.
Value RandomModule::anyOf(const Shape& shape, B& b) {
  std::vector<Value> fit;
  for (Value v : pool_)
    if (b.shape(v) == shape) fit.push_back(v);
  if (!fit.empty() && chance(75)) return oneOf(fit);
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
    OpKind floats[] = {OpKind::negate_, OpKind::abs_,  OpKind::floor_,      OpKind::sqrt_,
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
  const Shape& shape = b.shape(x);
  if (shape.rank() == 0)
    return add(b.iota({chance(50) ? DType::s32 : DType::f32, {1 + pick(4)}}, 0));
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

void RandomModule::op(B& b, int depth) {
  if (attributed_ && chance(30)) return attributed(b);
  int64_t n = pick(100);
  if (n < 40) return elementwise(b);
  if (n < 56) return movement(b);
  if (n < 66) return cut(b);
  if (n < 71) return join(b);
  if (n < 77) return indexed(b);
  if (n < 83) return reduction(b);
  if (n < 85) return sort(b);
  if (n < 89) return contraction(b);
  if (n < 91) return convolution(b);
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
