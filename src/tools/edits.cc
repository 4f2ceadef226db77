#include "tools/edits.h"

#include <algorithm>

#include "compiler/ir/builder.h"
#include "compiler/ir/infer.h"
#include "compiler/ir/clone.h"

namespace tercel::tools {
namespace {

using ir::Module;
using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::RegionId;
using ir::Value;

// Everywhere but in the definitions.
void replaceUses(Module& m, Value old, Value by) {
  auto swap = [&](ir::Values& values) { std::ranges::replace(values, old, by); };
  for (uint32_t i = 0; i < m.opCount(); ++i) swap(m.op(OpId{i}).operands);
  for (uint32_t i = 0; i < m.regionCount(); ++i) swap(m.region(RegionId{i}).results);
}

Value newArgument(Module& m, const ir::Type& type) {
  m.main().args.emplace_back();
  return m.addArg(m.main().body, type);
}

// A constant in front of all of main.
Value newConstant(Module& m, const Shape& shape, double number) {
  const ir::Type type{shape, false};
  const OpId id = m.addOp(OpKind::constant_, {}, {&type, 1});
  m.op(id).set(ir::AttrKey::value, ir::Literal::splatOf(shape, number));
  auto& ops = m.region(m.main().body).ops;
  ops.insert(ops.begin(), id);
  return m.op(id).result();
}

void eraseOp(Module& m, OpId id) {
  for (uint32_t i = 0; i < m.regionCount(); ++i) std::erase(m.region(RegionId{i}).ops, id);
}

// Where an op stands: its region, and its place in it.
std::pair<RegionId, size_t> placeOf(const Module& m, OpId id) {
  for (uint32_t i = 0; i < m.regionCount(); ++i) {
    const auto& ops = m.region(RegionId{i}).ops;
    const auto found = std::ranges::find(ops, id);
    if (found != ops.end()) return {RegionId{i}, static_cast<size_t>(found - ops.begin())};
  }
  return {};
}

template <class List>
void drop(List& list, size_t i) {
  List kept;
  for (size_t k = 0; k < list.size(); ++k)
    if (k != i) kept.push_back(list[k]);
  list = kept;
}

bool isUsed(const Module& m, Value v) {
  auto has = [&](const ir::Values& values) { return std::ranges::find(values, v) != values.end(); };
  for (const OpId id : opsOfMain(m))
    if (has(m.op(id).operands)) return true;
  for (uint32_t i = 0; i < m.regionCount(); ++i)
    if (has(m.region(RegionId{i}).results)) return true;
  return false;
}

bool replaceByOperands(const Module& now, OpId id, const Attempt& attempt) {
  const Op& op = now.op(id);
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const Value by = op.operands[i];
    // A loop's and a sort's results go with their operands.
    const bool by_lane = op.results.size() > 1 && op.operands.size() >= op.results.size();
    if (by_lane && i > 0) break;
    Module edited = now;
    for (size_t r = 0; r < op.results.size(); ++r) {
      const Value stands = by_lane ? op.operands[r] : by;
      if (now.type(stands) == now.type(op.result(r))) replaceUses(edited, op.result(r), stands);
    }
    if (attempt(std::move(edited))) return true;
  }
  return false;
}

bool replaceByNew(const Module& now, OpId id, const Attempt& attempt, bool argument) {
  Module edited = now;
  for (const Value v : now.op(id).results) {
    const ir::Type type = now.type(v);
    if (type.is_token) return false;
    const Value by = argument ? newArgument(edited, type) : newConstant(edited, type.shape, 0);
    replaceUses(edited, v, by);
  }
  eraseOp(edited, id);
  return attempt(std::move(edited));
}

// A lane: an operand, a result and the comparator's two arguments.
Module withoutSortLane(const Module& now, OpId id, size_t lane) {
  Module edited = now;
  Op& op = edited.op(id);
  ir::Region& body = edited.region(op.regions[0]);
  for (int side = 0; side < 2; ++side) drop(body.args, 2 * lane);
  for (size_t i = 0; i < body.args.size(); ++i)
    edited.setIndex(body.args[i], static_cast<uint32_t>(i));
  drop(op.operands, lane);
  drop(op.results, lane);
  for (size_t i = 0; i < op.results.size(); ++i)
    edited.setIndex(op.results[i], static_cast<uint32_t>(i));
  return edited;
}

Module withRegionInPlace(const Module& now, OpId id, RegionId region) {
  Module edited = now;
  const Op& op = now.op(id);
  const auto [around, at] = placeOf(edited, id);
  if (!around.valid()) return edited;
  for (size_t i = 0; i < now.region(region).args.size(); ++i)
    replaceUses(edited, now.region(region).args[i], op.operands[i]);
  const ir::Values results = edited.region(region).results;
  for (size_t i = 0; i < results.size(); ++i) replaceUses(edited, op.result(i), results[i]);
  auto& list = edited.region(around).ops;
  list.erase(list.begin() + static_cast<ptrdiff_t>(at));
  const auto& inner = now.region(region).ops;
  list.insert(list.begin() + static_cast<ptrdiff_t>(at), inner.begin(), inner.end());
  return edited;
}

Module withoutPart(const Module& now, OpId id, size_t part) {
  Module edited = now;
  Op& op = edited.op(id);
  drop(op.operands, part);
  auto types = ir::inferTypes(edited, op.kind, op.operands, op.attrs, {}, {});
  if (types.ok()) edited.setType(op.result(), types->front());
  return edited;
}

// Whether an op stands in a region that another result would make depend on an order left open.
bool isInReducer(const Module& m, OpId id) {
  const RegionId region = placeOf(m, id).first;
  for (const OpId around : opsOfMain(m)) {
    const Op& op = m.op(around);
    const ir::OpClass kind = ir::opClass(op.kind);
    const bool reduces = kind == ir::OpClass::reduce || kind == ir::OpClass::index;
    if (reduces && std::ranges::find(op.regions, region) != op.regions.end()) return true;
  }
  return false;
}

}  // namespace

std::vector<OpId> opsOfMain(const Module& module) {
  std::vector<OpId> ops;
  ir::forEachOp(module, module.main().body, [&](OpId id, RegionId) { ops.push_back(id); });
  return ops;
}

void dropResults(const Module& now, const Attempt& attempt) {
  for (size_t i = now.region(now.main().body).results.size(); i-- > 0;) {
    if (now.region(now.main().body).results.size() < 2) return;
    Module edited = now;
    for (ir::ArgInfo& info : edited.main().args) info.aliasing_output = -1;
    drop(edited.region(edited.main().body).results, i);
    drop(edited.main().results, i);
    attempt(std::move(edited));
  }
}

void dropArguments(const Module& now, const Attempt& attempt) {
  for (size_t i = now.region(now.main().body).args.size(); i-- > 0;) {
    if (isUsed(now, now.region(now.main().body).args[i])) continue;
    Module edited = now;
    ir::Values& args = edited.region(edited.main().body).args;
    drop(args, i);
    drop(edited.main().args, i);
    for (size_t k = 0; k < args.size(); ++k) edited.setIndex(args[k], static_cast<uint32_t>(k));
    attempt(std::move(edited));
  }
}

// From the last on: what an op of the end is replaced by makes all before it dead.
void replaceOps(const Module& now, const Attempt& attempt) {
  for (size_t i = opsOfMain(now).size(); i-- > 0;) {
    const std::vector<OpId> ops = opsOfMain(now);
    if (i >= ops.size()) continue;
    const OpId id = ops[i];
    if (isInReducer(now, id)) continue;
    if (now.op(id).kind == OpKind::constant_) {
      replaceByNew(now, id, attempt, true);
    } else if (!replaceByNew(now, id, attempt, true) && !replaceByNew(now, id, attempt, false)) {
      replaceByOperands(now, id, attempt);
    }
  }
}

void dropOperands(const Module& now, const Attempt& attempt) {
  for (size_t i = opsOfMain(now).size(); i-- > 0;) {
    const std::vector<OpId> ops = opsOfMain(now);
    if (i >= ops.size()) continue;
    const OpKind kind = now.op(ops[i]).kind;
    if (kind != OpKind::sort_ && kind != OpKind::concatenate_) continue;
    for (size_t k = now.op(ops[i]).operands.size(); k-- > 0;) {
      if (now.op(ops[i]).operands.size() < 2) break;
      const bool kept = attempt(kind == OpKind::sort_ ? withoutSortLane(now, ops[i], k)
                                                      : withoutPart(now, ops[i], k));
      if (kept) break;  // the ids are others now
    }
  }
}

// The ops of one branch, or one turn of a loop, in place of the op.
void takeBranches(const Module& now, const Attempt& attempt) {
  for (size_t i = opsOfMain(now).size(); i-- > 0;) {
    const std::vector<OpId> ops = opsOfMain(now);
    if (i >= ops.size()) continue;
    const Op& op = now.op(ops[i]);
    const bool is_loop = op.kind == OpKind::while_;
    if (op.kind != OpKind::if_ && op.kind != OpKind::case_ && !is_loop) continue;
    for (size_t branch = is_loop ? 1 : 0; branch < op.regions.size(); ++branch)
      if (attempt(withRegionInPlace(now, ops[i], op.regions[branch]))) break;
  }
}

}  // namespace tercel::tools
