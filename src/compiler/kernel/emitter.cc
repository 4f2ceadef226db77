#include "compiler/kernel/emitter.h"

#include "compiler/kernel/choices.h"
#include "compiler/kernel/elem_tiny.h"
#include "compiler/kernel/moved_indices.h"
#include "compiler/kernel/reducer.h"
#include "compiler/kernel/tiny_values.h"
#include "core/status.h"

namespace tercel::kernel {
namespace {

using ir::AttrKey;
using ir::OpKind;

uint64_t hashOf(ir::Value v, const Indices& indices) {
  uint64_t hash = v.index;
  auto mix = [&](uint64_t word) { hash = (hash ^ word) * 0x9e3779b97f4a7c15ull + (hash >> 29); };
  for (const Index& i : indices) {
    mix(static_cast<uint64_t>(i.constant));
    for (Term t : i.terms) mix(t.atom * 1000003ull + static_cast<uint64_t>(t.factor));
  }
  return hash;
}

}  // namespace

Guard firstLanes(Builder& b, int lanes, V count) {
  // Of more lanes than a vector has words, in bytes.
  const bool narrow = lanes > 16;
  Type ids{narrow ? Scalar::i8 : Scalar::i32, static_cast<uint16_t>(lanes)};
  if (narrow) {
    count = b.binary(Opcode::smax, count, b.index(0));
    count = b.binary(Opcode::smin, count, b.index(lanes));
  }
  V limit = b.cast(Opcode::itrunc, count, ids.scalar);
  return {b.compare(Opcode::icmp, Predicate::slt, b.laneIds(ids), limit), {}};
}

void Emitter::bindMemory(ir::Value v, BufferId buffer, int64_t offset) {
  Binding binding;
  binding.buffer = buffer;
  binding.offset = offset;
  bindings_[v.index] = std::move(binding);
}

void Emitter::bindPlaced(ir::Value v, BufferId buffer, Placement place) {
  Binding binding;
  binding.kind = Binding::Kind::placed;
  binding.buffer = buffer;
  binding.place = std::move(place);
  bindings_[v.index] = std::move(binding);
}

void Emitter::bindElem(ir::Value v, Elem elem) {
  Binding binding;
  binding.kind = Binding::Kind::elem;
  binding.elem = elem;
  bindings_[v.index] = std::move(binding);
}

void Emitter::unbind(ir::Value v) { bindings_.erase(v.index); }

Elem Emitter::at(ir::Value v, const Indices& indices) {
  if (auto found = bindings_.find(v.index);
      found != bindings_.end() && found->second.kind == Binding::Kind::elem)
    return found->second.elem;
  uint64_t hash = hashOf(v, indices);
  for (const Scope& scope : scopes_) {
    auto [first, last] = scope.memos.equal_range(hash);
    for (; first != last; ++first)
      if (first->second.value == v && first->second.indices == indices) return first->second.elem;
  }
  Elem elem = compute(v, indices);
  scopeOf(elem, indices).memos.emplace(hash, Memo{v, indices, elem});
  return elem;
}

Emitter::Scope& Emitter::scopeOf(const Elem& elem, const Indices& indices) {
  auto scope = scopes_.rbegin();
  if (b_.type(elem.re).lanes == 1 && !anyVaries(indices))
    while (scope->guards_lanes) ++scope;
  return *scope;
}

// In as few bits as the type needs.
Elem Emitter::iotaAt(const Index& i, DType dtype, int64_t bound) {
  constexpr int64_t kExact = int64_t{1} << 24;  // below, f32 has every integer
  const bool is_integer = isInteger(dtype), by_float = !is_integer && bound <= kExact;
  const Scalar word = is_integer ? storedScalar(dtype) : by_float ? Scalar::i32 : Scalar::i64;
  auto cut = [&](V v) { return word == Scalar::i64 ? v : b_.cast(Opcode::itrunc, v, word); };
  V value;
  if (!space_.varies(i)) {
    value = cut(space_.emitScalar(i));
  } else {
    value = space_.emitLanes(i, lanes_, word);
  }
  if (is_integer) return {value, {}};
  if (!by_float) return elemConvert(b_, {value, {}}, DType::s64, dtype);
  return elemConvert(b_, {b_.cast(Opcode::sitofp, value, Scalar::f32), {}}, DType::f32, dtype);
}

Elem Emitter::loadBound(const Binding& binding, const Shape& shape, const Indices& indices) {
  Index index = binding.kind == Binding::Kind::placed
                    ? binding.place(indices)
                    : space_.add(space_.linear(indices, shape.dims), Index(binding.offset));
  const bool strays = space_.lowest(index) + lanes_ < binding.offset ||
                      space_.highest(index) - lanes_ >= binding.offset + shape.elements();
  return loadAt(binding.buffer, shape.dtype, index, strays);
}

Elem Emitter::compute(ir::Value v, const Indices& indices) {
  if (auto found = bindings_.find(v.index); found != bindings_.end())
    return loadBound(found->second, m_.shape(v), indices);
  const ir::Op* op = m_.def(v);
  TERCEL_CHECK(op, "value %", v.index, " : ", toString(m_.shape(v)),
               " is not bound in this kernel");
  if (const auto moved = movedIndices(space_, m_, *op, indices)) return at(op->operand(0), *moved);
  const size_t result = m_.value(v).index;
  switch (op->kind) {
    case OpKind::constant_: return constantAt(*op, indices);
    case OpKind::iota_: return iotaAt(*op, indices);
    case OpKind::pad_: return padAt(*op, indices);
    case OpKind::concatenate_: return concatenateAt(*op, indices);
    case OpKind::dynamic_slice_: return dynamicSliceAt(*op, indices);
    case OpKind::dynamic_update_slice_: return dynamicUpdateSliceAt(*op, indices);
    case OpKind::gather_: return gatherAt(*op, indices);
    case OpKind::reduce_: return rounded(reduceAt(*op, indices)[result], m_.shape(v).dtype);
    case OpKind::reduce_window_:
      return rounded(reduceWindowAt(*op, indices)[result], m_.shape(v).dtype);
    case OpKind::dot_general_: return dotAt(*op, indices);
    case OpKind::convolution_: return convolutionAt(*op, indices);
    case OpKind::optimization_barrier_: return at(op->operand(result), indices);
    case OpKind::map_: return mapAt(*op, indices);
    default: break;
  }
  TERCEL_CHECK(ir::isElementwise(op->kind), ir::opName(op->kind), " cannot be evaluated in place");
  return elementwise(*op, indices);
}

Elem Emitter::rounded(const Elem& elem, DType dtype) {
  return {roundTo(b_, elem.re, dtype), elem.im};
}

Elem Emitter::iotaAt(const ir::Op& op, const Indices& indices) {
  const Shape& shape = m_.shape(op.result());
  const auto d = static_cast<size_t>(op.integer(AttrKey::iota_dimension));
  space_.noteBareUse(indices[d]);
  return iotaAt(indices[d], shape.dtype, shape.dims[d]);
}

Elem Emitter::mapAt(const ir::Op& op, const Indices& indices) {
  std::vector<Elem> args;
  for (ir::Value operand : op.operands) args.push_back(at(operand, indices));
  return rounded(runRegion(op.regions[0], args)[0], m_.shape(op.result()).dtype);
}

// By one condition for all lanes. Nothing where both sides may as well be evaluated.
std::optional<Elem> Emitter::chosenByBranch(const ir::Op& select, const Indices& indices) {
  if (!cluster || lanes_ == 1 || !anyVaries(indices)) return {};
  auto of = [&](ir::Value v) { return at(v, m_.shape(v).rank() == 0 ? Indices{} : indices); };
  const V condition = of(select.operand(0)).re;
  if (b_.type(condition).isVector()) return {};
  for (size_t side : {1, 2}) {
    if (isBound(select.operand(side)) || !m_.def(select.operand(side))) continue;
    const std::optional<ir::Values> beside = neededBeside(m_, *cluster, select, side);
    if (!beside) continue;
    const Dims& dims = m_.shape(select.result()).dims;
    for (ir::Value v : *beside)
      if (m_.shape(v).dims == dims) at(v, indices);
    return branch(condition, [&] { return of(select.operand(1)); },
                  [&] { return of(select.operand(2)); }, true);
  }
  return {};
}

Elem Emitter::elementwise(const ir::Op& op, const Indices& indices) {
  const Shape& out = m_.shape(op.result());
  if (op.kind == OpKind::select_)
    if (const std::optional<Elem> chosen = chosenByBranch(op, indices)) return *chosen;
  if (op.kind == OpKind::bitcast_convert_ &&
      byteSize(m_.shape(op.operand(0)).dtype) != byteSize(out.dtype))
    return bitcastAt(op, indices);
  SmallVector<Elem, 3> args;
  for (ir::Value operand : op.operands)
    args.push_back(at(operand, m_.shape(operand).rank() == 0 ? Indices{} : indices));
  DType in = m_.shape(op.operand(op.kind == OpKind::select_ ? 1 : 0)).dtype;
  return b_.whereAlive(guard_.lanes, [&] {
    V sum = op.kind == OpKind::multiply_add_ ? args[2].re : V{};
    if (in_doubles && multipliesFloats(op)) {
      V product = multiplyInDoubles(b_, args[0].re, args[1].re);
      return Elem{sum.valid() ? b_.fadd(product, sum) : product, {}};
    }
    if (mayMakeTiny(op, args))
      return Elem{multiplyLooking(b_, args[0].re, args[1].re, sum), {}};
    if (op.kind == OpKind::select_)
      return emitElementwise(b_, op, movedAs(heldIn(in)), movedAs(heldIn(out.dtype)), args);
    if (op.kind == OpKind::bitcast_convert_) return emitElementwise(b_, op, in, out.dtype, args);
    return emitElementwise(b_, op, heldIn(in), heldIn(out.dtype), args);
  });
}

bool Emitter::multipliesFloats(const ir::Op& op) const {
  const bool multiplies = op.kind == OpKind::multiply_ || op.kind == OpKind::multiply_add_;
  return multiplies && m_.shape(op.result()).dtype == DType::f32;
}

// Where products are worth a look for tiny ones; the factor that may be tiny becomes the first.
bool Emitter::mayMakeTiny(const ir::Op& op, std::span<Elem> args) const {
  if (!multipliesFloats(op)) return false;
  for (size_t side = 0; side < 2; ++side) {
    if (!looksForTiny(b_, args[side].re)) continue;
    if (!(cluster && isDecay(m_, *cluster, op)) && !mayBeTiny(m_, cluster, op.operand(side)))
      continue;
    std::swap(args[0], args[side]);
    return true;
  }
  return false;
}

// Inside a region f16 and bf16 are computed as f32.
DType Emitter::heldIn(DType dtype) const {
  return region_depth_ > 0 ? computedType(dtype) : dtype;
}

Elem Emitter::constantAt(const ir::Op& op, const Indices& indices) {
  const ir::Literal& literal = op.literal();
  const Shape& shape = literal.shape();
  const DType dtype = movedAs(shape.dtype);
  if (literal.isSplat()) return elemConstant(b_, dtype, literal, 0);
  Index at = space_.linear(indices, shape.dims);
  if (at.isConstant()) return elemConstant(b_, dtype, literal, at.constant);
  TERCEL_CHECK(shape.elements() <= 64, "a large constant must be bound to memory");
  space_.noteBareUse(at);
  V index = emitIndex(at);
  Elem result = elemConstant(b_, dtype, literal, 0);
  for (int64_t i = 1; i < shape.elements(); ++i) {
    V here = b_.compare(Opcode::icmp, Predicate::eq, index, b_.integer(b_.type(index), i));
    result = elemSelect(b_, here, elemConstant(b_, dtype, literal, i), result);
  }
  return result;
}

std::vector<Elem> Emitter::runRegion(ir::RegionId id, std::span<const Elem> args) {
  const ir::Region& region = m_.region(id);
  return scope([&] {
    for (size_t i = 0; i < args.size(); ++i) bindElem(region.args[i], args[i]);
    std::vector<Elem> results;
    ++region_depth_;
    for (ir::Value v : region.results) results.push_back(at(v, {}));
    --region_depth_;
    for (size_t i = 0; i < args.size(); ++i) unbind(region.args[i]);
    return results;
  });
}

std::vector<Elem> Emitter::addInOrder(const ir::Op& reduce, std::span<const Elem> args) {
  const std::optional<ir::Value> known = knownInOrder(m_, reduce);
  if (known) bindElem(*known, {b_.constant({Scalar::i1, 1}, 1), {}});
  std::vector<Elem> results = runRegion(reduce.regions[0], args);
  if (known) unbind(*known);
  return results;
}

}  // namespace tercel::kernel
