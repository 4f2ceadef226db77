// Ops with regions and with places that are computed, for expansions of algorithms.
#pragma once
#include "compiler/ir/builder.h"

namespace tercel::ir {

// The sum over some dimensions.
Value sumOver(Builder& b, Value v, Ints dimensions);

// What stands at i, an s32, of one dimension, which the result keeps with size 1.
Value lineOf(Builder& b, Value v, size_t dimension, Value i);
// v with that line replaced.
Value withLine(Builder& b, Value v, size_t dimension, Value i, Value line);

// state = body(inside, i, state) for i, an s32, from 0 to `trips`; it may use the values around.
template <class Body>
Value countedLoop(Builder& b, int64_t trips, Value state, Body&& body) {
  Module& m = b.module();
  const Type index{Shape{DType::s32, {}}}, carried = m.type(state);
  const RegionId condition = m.addRegion(), turn = m.addRegion();
  const Value counted = m.addArg(condition, index);
  m.addArg(condition, carried);
  Builder check(m, condition);
  m.region(condition).results = {
      check.compare(counted, check.splat(index.shape, static_cast<double>(trips)), "LT")};
  Builder inside(m, turn);
  const Value i = m.addArg(turn, index), now = m.addArg(turn, carried);
  const Value next = body(inside, i, now);
  m.region(turn).results = {inside.binary(OpKind::add_, i, inside.splat(index.shape, 1)), next};
  const Value start = b.splat(index.shape, 0);
  const Type types[] = {index, carried};
  const OpId loop = b.append(OpKind::while_, {start, state}, types);
  m.op(loop).regions = {condition, turn};
  return m.op(loop).result(1);
}

}  // namespace tercel::ir
