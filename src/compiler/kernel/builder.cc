#include "compiler/kernel/builder.h"

#include <algorithm>
#include <bit>

#include "compiler/kernel/bounds.h"
#include "core/status.h"

namespace tercel::kernel {
namespace {

uint64_t mix(uint64_t hash, uint64_t word) {
  hash ^= word + 0x9e3779b97f4a7c15ull + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdull;
}

uint64_t hashOf(const Inst& inst) {
  uint64_t hash = static_cast<uint64_t>(inst.op) << 32 |
                  static_cast<uint64_t>(inst.type.scalar) << 16 | inst.type.lanes;
  for (V v : inst.operands) hash = mix(hash, v.index);
  hash = mix(mix(hash, static_cast<uint64_t>(inst.imm)), static_cast<uint64_t>(inst.offset));
  for (int16_t lane : inst.list) hash = mix(hash, static_cast<uint64_t>(lane));
  return hash;
}

bool sameInst(const Inst& a, const Inst& b) {
  return a.op == b.op && a.type == b.type && a.imm == b.imm && a.offset == b.offset &&
         a.operands == b.operands && a.list == b.list;
}

bool commutes(Opcode op) {
  switch (op) {
    case Opcode::iadd: case Opcode::imul: case Opcode::and_: case Opcode::or_:
    case Opcode::xor_: case Opcode::fadd: case Opcode::fmul: case Opcode::smin:
    case Opcode::smax: case Opcode::umin: case Opcode::umax: case Opcode::umulh:
    case Opcode::fminimum: case Opcode::fmaximum:
      return true;
    default:
      return false;
  }
}

uint64_t numberBits(Scalar s, double value) {
  switch (s) {
    case Scalar::f16: return doubleToHalf(value);
    case Scalar::bf16: return doubleToBFloat16(value);
    case Scalar::f32: return std::bit_cast<uint32_t>(static_cast<float>(value));
    case Scalar::f64: return std::bit_cast<uint64_t>(value);
    default: TERCEL_CHECK(false, "a number of type ", scalarName(s));
  }
  return 0;
}

}  // namespace

Builder::Builder(Kernel& kernel) : kernel_(kernel) {
  if (kernel_.blocks.empty()) {
    kernel_.blocks.emplace_back();
    for (int i = 0; i < 2; ++i)
      kernel_.blocks[0].args.push_back(addValue({Scalar::i64, 1}, 0, 0xffffffffu));
  }
}

V Builder::addValue(Type type, BlockId block, InstId def) {
  kernel_.values.push_back({type, block, def});
  return {static_cast<uint32_t>(kernel_.values.size() - 1)};
}

V Builder::emit(Inst inst, BlockId block) {
  InstId id = static_cast<InstId>(kernel_.insts.size());
  V result;
  if (hasResult(inst.op)) inst.results.push_back(result = addValue(inst.type, block, id));
  kernel_.insts.push_back(std::move(inst));
  kernel_.blocks[block].insts.push_back(id);
  return result;
}

BlockId Builder::home(const Inst& inst) const {
  BlockId at = root_;
  for (V v : inst.operands) {
    BlockId block = kernel_.values[v.index].block;
    if (kernel_.blocks[block].depth > kernel_.blocks[at].depth) at = block;
  }
  if (instClass(inst.op) == InstClass::pure) {
    for (BlockId in = current_; in != at; in = kernel_.blocks[in].parent)
      if (kernel_.blocks[in].keeps && kernel_.blocks[in].parent == at) return in;
    return at;
  }
  // A load may leave loops but no guarded block.
  BlockId limit = current_;
  while (limit != at && !kernel_.blocks[limit].guarded) limit = kernel_.blocks[limit].parent;
  return limit;
}

V Builder::share(Inst inst) {
  BlockId block = home(inst);
  uint64_t hash = hashOf(inst);
  // Where it is in a guarded home, or one that keeps it, there may be an equal one further out.
  for (BlockId at = block;; at = kernel_.blocks[at].parent) {
    if (V found = findShared(inst, hash, at); found.valid()) return found;
    if (at == root_) break;
    if (instClass(inst.op) == InstClass::pure && !kernel_.blocks[at].keeps) break;
  }
  V result = emit(std::move(inst), block);
  shared_.emplace(mix(hash, block), kernel_.values[result.index].def);
  return result;
}

V Builder::findShared(const Inst& inst, uint64_t hash, BlockId block) const {
  auto [first, last] = shared_.equal_range(mix(hash, block));
  for (; first != last; ++first) {
    const Inst& other = kernel_.insts[first->second];
    if (sameInst(other, inst) && kernel_.values[other.results[0].index].block == block)
      return other.results[0];
  }
  return {};
}

bool Builder::isFromOutside(V v, uint32_t blocks, int insts) const {
  if (kernel_.blocks[kernel_.values[v.index].block].depth + blocks <= depth()) return true;
  const Inst* inst = kernel_.def(v);
  if (!inst || insts == 0) return false;
  const bool loads = inst->op == Opcode::load && kernel_.buffers[inst->imm].read_only;
  if (!loads && instClass(inst->op) != InstClass::pure) return false;
  return std::ranges::all_of(inst->operands,
                             [&](V x) { return isFromOutside(x, blocks, insts - 1); });
}

bool Builder::isConstant(V v, uint64_t* bits) const {
  const Inst* inst = kernel_.def(v);
  if (!inst || inst->op != Opcode::constant) return false;
  if (bits) *bits = static_cast<uint64_t>(inst->imm);
  return true;
}

bool Builder::isMultiple(V v, int64_t of) const {
  uint64_t bits;
  if (isConstant(v, &bits)) return static_cast<int64_t>(bits) % of == 0;
  const Inst* inst = kernel_.def(v);
  return inst && inst->op == Opcode::imul && std::ranges::any_of(inst->operands, [&](V factor) {
    return isConstant(factor) && isMultiple(factor, of);
  });
}

V Builder::constant(Type type, uint64_t bits) {
  return share({.op = Opcode::constant,
                .type = type,
                .imm = static_cast<int64_t>(truncateTo(bits, type.scalar))});
}

V Builder::integer(Type type, int64_t value) {
  return constant(type, static_cast<uint64_t>(value));
}

V Builder::number(Type type, double value) {
  return constant(type, numberBits(type.scalar, value));
}

bool Builder::isNonZero(V v) const {
  uint64_t bits;
  if (isConstant(v, &bits)) return bits != 0;
  const Inst* choice = kernel_.def(v);
  if (!choice || choice->op != Opcode::select) return false;
  const Inst* test = kernel_.def(choice->operands[0]);
  return test && test->op == Opcode::icmp && test->imm == static_cast<int64_t>(Predicate::eq) &&
         test->operands[0] == choice->operands[2] && isConstant(test->operands[1], &bits) &&
         bits == 0 && isConstant(choice->operands[1], &bits) && bits != 0;
}

bool Builder::isOfPrecision(V v, Scalar narrow, int depth) const {
  uint64_t bits;
  if (isConstant(v, &bits))
    return narrow == Scalar::bf16 ? (bits & 0xffff) == 0 : isHalfNumber(bits);
  if (narrow == Scalar::f16 && halves_.contains(v.index)) return true;
  const Inst* def = kernel_.def(v);
  if (!def || depth == 0) return false;
  auto is = [&](size_t operand) {
    return isOfPrecision(def->operands[operand], narrow, depth - 1);
  };
  switch (def->op) {
    case Opcode::fpext: return type(def->operands[0]).scalar == narrow;
    case Opcode::fneg: case Opcode::fabs: case Opcode::splat: return is(0);
    case Opcode::fmax: case Opcode::fmin: case Opcode::fmaximum: case Opcode::fminimum:
      return is(0) && is(1);
    case Opcode::select: return is(1) && is(2);
    default: return false;
  }
}

V Builder::pure(Opcode op, Type type, std::initializer_list<V> operands, int64_t imm) {
  Inst inst{.op = op, .type = type, .operands = operands, .imm = imm};
  if (commutes(op)) {
    bool swap = isConstant(inst.operands[0])
                    ? !isConstant(inst.operands[1])
                    : !isConstant(inst.operands[1]) &&
                          inst.operands[0].index > inst.operands[1].index;
    if (swap) std::swap(inst.operands[0], inst.operands[1]);
  }
  if (V folded = fold(inst); folded.valid()) return folded;
  return share(std::move(inst));
}

V Builder::splat(V scalar, int lanes) {
  if (lanes == 1) return scalar;
  Type type{this->type(scalar).scalar, static_cast<uint16_t>(lanes)};
  uint64_t bits;
  if (isConstant(scalar, &bits)) return constant(type, bits);
  return pure(Opcode::splat, type, {scalar});
}

V Builder::laneIds(Type type) { return pure(Opcode::lane_ids, type, {}); }

V Builder::extract(V v, int lane) {
  Type scalar{type(v).scalar, 1};
  uint64_t bits;
  if (isConstant(v, &bits)) return constant(scalar, bits);
  return pure(Opcode::extract, scalar, {v}, lane);
}

V Builder::shuffle(V a, V b, std::span<const int16_t> lanes) {
  Inst inst{.op = Opcode::shuffle,
            .type = {type(a).scalar, static_cast<uint16_t>(lanes.size())},
            .operands = {a, b}};
  inst.list.assign(lanes.begin(), lanes.end());
  return share(std::move(inst));
}

V Builder::binary(Opcode op, V a, V b) {
  int lanes = std::max(type(a).lanes, type(b).lanes);
  a = widen(a, lanes);
  b = widen(b, lanes);
  TERCEL_CHECK(type(a) == type(b), opcodeName(op), " of ", toString(type(a)), " and ",
               toString(type(b)));
  return pure(op, type(a), {a, b});
}

V Builder::fma(V a, V b, V c) { return ternary(Opcode::fma, a, b, c); }

V Builder::fmuladd(V a, V b, V c) { return ternary(Opcode::fmuladd, a, b, c); }

V Builder::ternary(Opcode op, V a, V b, V c) {
  int lanes = std::max({type(a).lanes, type(b).lanes, type(c).lanes});
  a = widen(a, lanes);
  b = widen(b, lanes);
  c = widen(c, lanes);
  return pure(op, type(c), {a, b, c});
}

V Builder::lookUp(V index, std::span<const V> tables) {
  const Type found = type(tables[0]);
  auto inPair = [&](size_t first) {
    if (first + 1 == tables.size()) return pure(Opcode::lookup, found, {index, tables[first]});
    return pure(Opcode::lookup2, found, {index, tables[first], tables[first + 1]});
  };
  size_t first = (tables.size() - 1) / 2 * 2;
  V all = inPair(first);
  for (; first > 0; first -= 2) {
    const V bound = integer(type(index), static_cast<int64_t>(first) * found.lanes);
    all = select(compare(Opcode::icmp, Predicate::ult, index, bound), inPair(first - 2), all);
  }
  return all;
}

namespace {

bool holds(Predicate predicate, uint64_t a, uint64_t b, Scalar scalar) {
  const int64_t x = signExtend(a, scalar), y = signExtend(b, scalar);
  switch (predicate) {
    case Predicate::eq: return a == b;
    case Predicate::ne: return a != b;
    case Predicate::slt: return x < y;
    case Predicate::sle: return x <= y;
    case Predicate::sgt: return x > y;
    case Predicate::sge: return x >= y;
    case Predicate::ult: return a < b;
    case Predicate::ule: return a <= b;
    case Predicate::ugt: return a > b;
    default: return a >= b;
  }
}

}  // namespace

V Builder::compare(Opcode op, Predicate predicate, V a, V b) {
  int lanes = std::max(type(a).lanes, type(b).lanes);
  uint64_t left, right;
  if (op == Opcode::icmp && isConstant(a, &left) && isConstant(b, &right))
    return constant({Scalar::i1, static_cast<uint16_t>(lanes)},
                    holds(predicate, left, right, type(a).scalar));
  a = widen(a, lanes);
  b = widen(b, lanes);
  if (op == Opcode::fcmp && type(a).scalar == Scalar::f32)
    if (V x = asHalf(a), y = asHalf(b); x.valid() && y.valid()) a = x, b = y;
  return pure(op, type(a).with(Scalar::i1), {a, b}, static_cast<int64_t>(predicate));
}

V Builder::cast(Opcode op, V a, Scalar to) {
  if (type(a).scalar == to) return a;
  const Inst* def = kernel_.def(a);
  if (op == Opcode::fptrunc && def && def->op == Opcode::fpext &&
      type(def->operands[0]).scalar == to)
    return def->operands[0];
  if (op == Opcode::fptrunc && to == Scalar::f16 && type(a).scalar == Scalar::f32)
    if (V half = roundedToHalf(a); half.valid()) return half;
  if (op == Opcode::fptrunc && to == Scalar::bf16 && isOfPrecision(a, to)) {
    const Type word = type(a).with(Scalar::i32);
    V half = binary(Opcode::lshr, bitcast(a, word), integer(word, 16));
    return cast(Opcode::bitcast, cast(Opcode::itrunc, half, Scalar::i16), to);
  }
  uint64_t bits;
  if (isConstant(a, &bits)) {
    Type result = type(a).with(to);
    if (op == Opcode::sext)
      return integer(result, signExtend(bits, type(a).scalar));
    if (op == Opcode::zext || op == Opcode::itrunc || op == Opcode::bitcast)
      return constant(result, bits);
  }
  return pure(op, type(a).with(to), {a});
}

V Builder::bitcast(V a, Type to) {
  return type(a) == to ? a : pure(Opcode::bitcast, to, {a});
}

V Builder::select(V condition, V a, V b) {
  int lanes = std::max({type(condition).lanes, type(a).lanes, type(b).lanes});
  uint64_t bits;
  if (a == b) return a;
  if (isConstant(condition, &bits)) return widen(bits & 1 ? a : b, lanes);
  condition = type(condition).lanes != 1 ? widen(condition, lanes)
                                         : comparedInLanes(condition, lanes, type(a).scalar);
  a = widen(a, lanes);
  b = widen(b, lanes);
  const Inst* before = kernel_.def(a);
  if (before && before->op == Opcode::select && before->operands[0] == condition &&
      before->operands[2] == b)
    return a;
  return pure(Opcode::select, type(a), {condition, a, b});
}

// A comparison of single floats made in all lanes of what it chooses: a flag takes long to become a
// mask. What is known outside waits for nothing.
V Builder::comparedInLanes(V flag, int lanes, Scalar chosen) {
  const Inst* test = kernel_.def(flag);
  if (lanes == 1 || !test || test->op != Opcode::fcmp || isFromOutside(flag)) return flag;
  const Inst compared = *test;
  if (byteSize(type(compared.operands[0]).scalar) != byteSize(chosen)) return flag;
  return compare(Opcode::fcmp, static_cast<Predicate>(compared.imm),
                 splat(compared.operands[0], lanes), splat(compared.operands[1], lanes));
}

// How many lanes, from the first on, a mask has that is made of their numbers. Nothing where it is
// not.
std::optional<int64_t> Builder::firstLanesOf(V mask) const {
  const Inst* test = kernel_.def(mask);
  uint64_t count;
  if (!test || test->op != Opcode::icmp || test->imm != static_cast<int64_t>(Predicate::slt) ||
      !isConstant(test->operands[1], &count))
    return {};
  const Inst* lanes = kernel_.def(test->operands[0]);
  if (!lanes || lanes->op != Opcode::lane_ids || bitWidth(lanes->type.scalar) > 32) return {};
  return signExtend(count, lanes->type.scalar);
}

V Builder::any(V mask) {
  if (!type(mask).isVector()) return mask;
  if (alive_.valid() && type(alive_) == type(mask)) mask = binary(Opcode::and_, mask, alive_);
  uint64_t flag;
  if (isConstant(mask, &flag)) return constant({Scalar::i1, 1}, flag);
  if (const std::optional<int64_t> first = firstLanesOf(mask))
    return constant({Scalar::i1, 1}, *first > 0);
  return pure(Opcode::any, {Scalar::i1, 1}, {mask});
}

}  // namespace tercel::kernel
