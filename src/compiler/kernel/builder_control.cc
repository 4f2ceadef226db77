// The Builder's blocks: loops, branches, functions.
#include <utility>

#include "compiler/kernel/builder.h"

namespace tercel::kernel {

FunctionId Builder::function(const std::string& name, std::span<const Type> args,
                             const std::function<V(std::span<const V>)>& body) {
  for (size_t i = 0; i < kernel_.functions.size(); ++i)
    if (kernel_.functions[i].name == name) return static_cast<FunctionId>(i);
  BlockId block = static_cast<BlockId>(kernel_.blocks.size());
  kernel_.blocks.push_back({.parent = block});
  addArguments(block, args);
  BlockId current = std::exchange(current_, block), root = std::exchange(root_, block);
  SmallVector<V, 2> values = kernel_.blocks[block].args;
  V result = whereAlive({}, [&] { return body(values); });
  kernel_.blocks[block].yields.push_back(result);
  current_ = current;
  root_ = root;
  kernel_.functions.push_back({name, block});
  return static_cast<FunctionId>(kernel_.functions.size() - 1);
}

V Builder::rarely(V condition, FunctionId function, std::span<const V> args) {
  uint64_t flag;
  if (isConstant(condition, &flag) && !flag) return args[0];
  Inst inst{.op = Opcode::rarely, .type = type(args[0]), .operands = {condition}, .imm = function};
  for (V v : args) inst.operands.push_back(v);
  ++rare_calls_;
  return share(std::move(inst));
}

void Builder::addArguments(BlockId block, std::span<const Type> args) {
  for (Type t : args) kernel_.blocks[block].args.push_back(addValue(t, block, 0xffffffffu));
}

BlockId Builder::openBlock(std::span<const Type> args, bool guarded) {
  BlockId id = static_cast<BlockId>(kernel_.blocks.size());
  Block block{.parent = current_, .depth = kernel_.blocks[current_].depth + 1, .guarded = guarded};
  kernel_.blocks.push_back(std::move(block));
  addArguments(id, args);
  current_ = id;
  return id;
}

void Builder::closeBlock(std::span<const V> yields) {
  for (V v : yields) kernel_.blocks[current_].yields.push_back(v);
  current_ = kernel_.blocks[current_].parent;
}

Builder::Values Builder::finishControl(Inst inst, std::span<const Type> result_types) {
  InstId id = static_cast<InstId>(kernel_.insts.size());
  Values results;
  for (Type t : result_types) results.push_back(addValue(t, current_, id));
  for (V v : results) inst.results.push_back(v);
  kernel_.insts.push_back(std::move(inst));
  kernel_.blocks[current_].insts.push_back(id);
  return results;
}

Builder::Values Builder::forLoop(V lo, V hi, int64_t step, std::span<const V> carried,
                                 const std::function<Values(V, std::span<const V>)>& body) {
  uint64_t first, last;
  if (isConstant(lo, &first) && isConstant(hi, &last)) {
    int64_t trips = static_cast<int64_t>(last) - static_cast<int64_t>(first);
    if (trips <= inline_trips_ * step)
      return inlineTrips(static_cast<int64_t>(first), static_cast<int64_t>(last), step, carried,
                         body);
  }
  SmallVector<Type, 8> types{Type{Scalar::i64, 1}};
  for (V v : carried) types.push_back(type(v));
  Inst inst{.op = Opcode::for_, .operands = {lo, hi}, .imm = step};
  for (V v : carried) inst.operands.push_back(v);
  BlockId block = openBlock(types, !runsAtLeastOnce(kernel_, lo, hi));
  inst.blocks.push_back(block);
  SmallVector<V, 2> args = kernel_.blocks[block].args;
  closeBlock(body(args[0], std::span<const V>(args).subspan(1)));
  return finishControl(std::move(inst), std::span<const Type>(types).subspan(1));
}

// What is inside of trips one after another may itself be that many times fewer of them.
Builder::Values Builder::inlineTrips(
    int64_t lo, int64_t hi, int64_t step, std::span<const V> carried,
    const std::function<Values(V, std::span<const V>)>& body) {
  int64_t trips = (hi - lo + step - 1) / step, before = inline_trips_;
  if (trips > 1) inline_trips_ = std::max<int64_t>(1, before / trips);
  Values now(carried);
  for (int64_t i = lo; i < hi; i += step) now = body(index(i), now);
  inline_trips_ = before;
  return now;
}

void Builder::forLoop(V lo, V hi, int64_t step, const std::function<void(V)>& body) {
  forLoop(lo, hi, step, {}, [&](V i, std::span<const V>) {
    body(i);
    return Values{};
  });
}

Builder::Values Builder::whileLoop(std::span<const V> carried,
                                   const std::function<V(std::span<const V>)>& condition,
                                   const std::function<Values(std::span<const V>)>& body) {
  SmallVector<Type, 8> types;
  Inst inst{.op = Opcode::while_};
  for (V v : carried) {
    types.push_back(type(v));
    inst.operands.push_back(v);
  }
  BlockId cond = openBlock(types, true);
  SmallVector<V, 2> args = kernel_.blocks[cond].args;
  V go_on = condition(args);
  closeBlock({&go_on, 1});
  BlockId loop = openBlock(types, true);
  args = kernel_.blocks[loop].args;
  closeBlock(body(args));
  inst.blocks = {cond, loop};
  return finishControl(std::move(inst), types);
}

Builder::Values Builder::ifElse(V condition, const std::function<Values()>& then_body,
                                const std::function<Values()>& else_body, bool keeps) {
  uint64_t known;
  if (isConstant(condition, &known)) return known ? then_body() : else_body();
  Inst inst{.op = Opcode::if_, .operands = {condition}};
  SmallVector<Type, 8> types;
  for (const auto* body : {&then_body, &else_body}) {
    inst.blocks.push_back(openBlock({}, true));
    kernel_.blocks[current_].keeps = keeps;
    Values yields = (*body)();
    types.clear();
    for (V v : yields) types.push_back(type(v));
    closeBlock(yields);
  }
  return finishControl(std::move(inst), types);
}

void Builder::ifThen(V condition, const std::function<void()>& body) {
  ifElse(condition, [&] { body(); return Values{}; }, [] { return Values{}; });
}

}  // namespace tercel::kernel
