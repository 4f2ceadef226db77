#include "compiler/kernel/nest.h"

#include <algorithm>

namespace tercel::kernel {
namespace {

bool onlyMoves(ir::OpKind kind) {
  switch (kind) {
    case ir::OpKind::affine_slice_: case ir::OpKind::constant_:
    case ir::OpKind::broadcast_in_dim_: case ir::OpKind::reshape_:
    case ir::OpKind::transpose_: case ir::OpKind::slice_: case ir::OpKind::reverse_:
    case ir::OpKind::pad_: case ir::OpKind::concatenate_: case ir::OpKind::dynamic_slice_:
    case ir::OpKind::gather_: case ir::OpKind::optimization_barrier_:
      return true;
    default: return false;
  }
}

bool computesWithBits(DType dtype) { return bitsOf(dtype) == dtype; }

// Whether the bits of elements are all that matters to an op, for types whose numbers are others.
bool needsOnlyBits(const ir::Module& module, const ir::Op& op) {
  auto isBits = [&](ir::Value v) { return computesWithBits(module.shape(v).dtype); };
  if (onlyMoves(op.kind) || op.kind == ir::OpKind::select_) return true;
  return (ir::isElementwise(op.kind) || op.kind == ir::OpKind::iota_) && op.regions.empty() &&
         std::ranges::all_of(op.operands, isBits) && std::ranges::all_of(op.results, isBits);
}

// Whether vectors of indices are worked out for it, in 64 bits each.
bool computesWithIndices(const ir::Module& module, const ir::Op& op) {
  constexpr int64_t kFew = 8;  // along which no lanes lie
  switch (op.kind) {
    case ir::OpKind::gather_: return !isKnownStart(module, op.operand(1));
    case ir::OpKind::iota_: return module.shape(op.result()).elements() > kFew;
    case ir::OpKind::scatter_: case ir::OpKind::dynamic_update_slice_:
    case ir::OpKind::dot_general_: case ir::OpKind::convolution_:
      return true;
    default: return false;
  }
}

// Where an element of what is padded lies in the result.
Indices insidePadding(IndexSpace& space, const ir::Op& pad, Indices at) {
  const ir::Ints& low = pad.ints(ir::AttrKey::edge_padding_low);
  for (size_t d = 0; d < at.size(); ++d) at[d] = space.add(at[d], Index(low[d]));
  return at;
}

}  // namespace

void KernelLowering::addParams() {
  moves_bits_ = std::ranges::all_of(
      cluster.ops, [&](ir::OpId id) { return onlyMoves(module.op(id).kind); });
  keeps_bits_ = std::ranges::all_of(
      cluster.ops, [&](ir::OpId id) { return needsOnlyBits(module, module.op(id)); });
  std::vector<bool> overwritten(cluster.inputs.size(), false);
  for (const auto* list : {&cluster.alias, &cluster.may_alias})
    for (int32_t a : *list)
      if (a >= 0) overwritten[static_cast<size_t>(a)] = true;
  for (size_t i = 0; i < cluster.inputs.size(); ++i)
    input_buffers.push_back(builder.addParam(inMemory(cluster.inputs[i]), !overwritten[i],
                                             module.shape(cluster.inputs[i]).elements()));
  auto entry = [](const std::vector<int32_t>& list, size_t i) {
    return i < list.size() ? list[i] : -1;
  };
  for (size_t i = 0; i < cluster.outputs.size(); ++i) {
    int32_t alias = entry(cluster.alias, i), may = entry(cluster.may_alias, i);
    if (alias >= 0) {
      output_buffers.push_back(input_buffers[static_cast<size_t>(alias)]);
      continue;
    }
    output_buffers.push_back(builder.addParam(inMemory(cluster.outputs[i]), false));
    if (may >= 0)
      kernel.buffers[output_buffers.back()].alias_of =
          static_cast<int32_t>(input_buffers[static_cast<size_t>(may)]);
  }
  for (ir::Value slice : cluster.slices) {
    BufferId whole = input_buffers[inputOf(cluster, module.def(slice)->operand(0))];
    slices_.push_back(builder.addParam(kernel.buffers[whole].element, true));
    kernel.buffers[slices_.back()].alias_of = static_cast<int32_t>(whole);
  }
  if (!cluster.numbers.empty()) addNumbers(builder.addParam(Scalar::f64, true));
  addStarts();
}

// They are there even where no loop runs, and are loaded before all of them.
void KernelLowering::addNumbers(BufferId numbers) {
  for (size_t i = 0; i < cluster.numbers.size(); ++i) {
    V number = builder.load(numbers, builder.index(0), 1, static_cast<int64_t>(i));
    const DType dtype = module.shape(cluster.numbers[i]).dtype;
    const Scalar scalar = computedScalar(dtype), stored = storedScalar(dtype);
    if (scalar != Scalar::f64) number = builder.cast(Opcode::fptrunc, number, scalar);
    if (dtype == DType::f16) builder.noteHalf(number);
    if (keeps_bits_ && scalar != stored)
      number = builder.cast(Opcode::bitcast, builder.cast(Opcode::fptrunc, number, stored),
                            storedScalar(bitsOf(dtype)));
    numbers_.push_back(number);
  }
}

// Where slices start is the same for all tasks, and worked out before them.
void KernelLowering::addStarts() {
  IndexSpace space(builder);
  Emitter emitter(builder, space, module, 1);
  bindInputs(emitter);
  for (ir::OpId id : cluster.ops) {
    const ir::Op& op = module.op(id);
    const bool updates = op.kind == ir::OpKind::dynamic_update_slice_;
    if (!updates && op.kind != ir::OpKind::dynamic_slice_) continue;
    const size_t first = updates ? 2 : 1;
    const Dims& dims = module.shape(op.operand(0)).dims;
    const Dims& sizes = module.shape(updates ? op.operand(1) : op.result()).dims;
    for (size_t d = 0; d < dims.size(); ++d) {
      const ir::Value start = op.operand(first + d);
      const int64_t limit = dims[d] - sizes[d];
      if (limit == 0 || !isSingle(start) || emitter.knownIndex(start, {}, limit)) continue;
      starts_.push_back({start, limit, emitter.clamped(start, {}, limit)});
      emitter.bindStart(start, limit, starts_.back().clamped);
    }
  }
}

// Made of no more than single elements in memory that the kernel does not write to.
bool KernelLowering::isSingle(ir::Value v) const {
  if (module.shape(v).rank() != 0) return false;
  for (size_t i = 0; i < cluster.inputs.size(); ++i)
    if (cluster.inputs[i] == v) return kernel.buffers[input_buffers[i]].read_only;
  const ir::Op* op = module.def(v);
  if (!op || std::ranges::count(cluster.ops, module.value(v).def) == 0) return false;
  return op->kind == ir::OpKind::constant_ ||
         (ir::isElementwise(op->kind) && op->regions.empty() &&
          std::ranges::all_of(op->operands, [&](ir::Value from) { return isSingle(from); }));
}

bool KernelLowering::mayStoreAgain() const {
  auto takesNone = [](int32_t input) { return input < 0; };
  return std::ranges::all_of(cluster.alias, takesNone) &&
         std::ranges::all_of(cluster.may_alias, takesNone);
}

Scalar KernelLowering::inMemory(ir::Value v) const {
  return storedScalar(movedAs(module.shape(v).dtype));
}

void KernelLowering::bindInputs(Emitter& emitter) const {
  emitter.keeps_bits = keeps_bits_;
  emitter.cluster = &cluster;
  for (size_t i = 0; i < cluster.inputs.size(); ++i)
    emitter.bindMemory(cluster.inputs[i], input_buffers[i]);
  for (size_t i = 0; i < slices_.size(); ++i) bindSlice(emitter, cluster.slices[i], slices_[i]);
  for (size_t i = 0; i < cluster.numbers.size(); ++i)
    emitter.bindElem(cluster.numbers[i], {numbers_[i], {}});
  for (const Start& start : starts_) emitter.bindStart(start.value, start.limit, start.clamped);
}

// The slice's elements lie as far apart as those of the whole.
void KernelLowering::bindSlice(Emitter& emitter, ir::Value slice, BufferId first) const {
  const ir::Op& op = *module.def(slice);
  emitter.bindPlaced(slice, first, [this, &op, &space = emitter.space()](auto indices) {
    const auto& strides = op.ints(ir::AttrKey::strides);
    Indices in_whole;
    for (size_t d = 0; d < indices.size(); ++d)
      in_whole.push_back(space.scale(indices[d], strides[d]));
    return space.linear(in_whole, module.shape(op.operand(0)).dims);
  });
}

void Lowering::storeOutput(Emitter& emitter, size_t output, const Index& linear,
                           const Elem& elem) {
  emitter.storeAt(output_buffers[output], module.shape(cluster.outputs[output]).dtype, linear,
                  elem);
}

void Lowering::forTasks(int64_t count, const std::function<void(V)>& body) {
  forTaskRange(count, [&](V first, V last) { builder.forLoop(first, last, 1, body); });
}

void Lowering::forTaskRange(int64_t count, const std::function<void(V, V)>& body) {
  tasks = count;
  body(builder.index(0), builder.index(count));
}

void KernelLowering::forTaskRange(int64_t count, const std::function<void(V, V)>& body) {
  tasks = kernel.tasks = count;
  body(builder.taskBegin(), builder.taskEnd());
}

const ir::Op* paddedProduct(const ir::Module& module, const Cluster& cluster) {
  if (cluster.nest != Nest::contract) return nullptr;
  const ir::Op* made = module.def(cluster.outputs[0]);
  return made->kind == ir::OpKind::pad_ ? made : nullptr;
}

void storeOutputs(Lowering& low, Emitter& e, std::span<const int64_t> domain, const Indices& at) {
  IndexSpace& space = e.space();
  const Index linear = space.linear(at, domain);
  const ir::Op* pad = paddedProduct(low.module, low.cluster);
  if (pad && std::ranges::equal(low.module.shape(pad->operand(0)).dims, domain)) {
    const Indices inside = insidePadding(space, *pad, at);
    const Dims& dims = low.module.shape(pad->result()).dims;
    return low.storeOutput(e, 0, space.linear(inside, dims), e.at(pad->operand(0), at));
  }
  std::vector<Elem> values;
  for (ir::Value v : low.cluster.outputs) {
    const Dims& own = low.module.shape(v).dims;
    bool same = std::ranges::equal(own, domain);
    values.push_back(e.at(v, same ? at : space.delinear(linear, own)));
  }
  for (size_t o = 0; o < values.size(); ++o) low.storeOutput(e, o, linear, values[o]);
}

size_t inputOf(const Cluster& cluster, ir::Value v) {
  auto at = std::find(cluster.inputs.begin(), cluster.inputs.end(), v);
  TERCEL_CHECK(at != cluster.inputs.end(), "value %", v.index, " is no input of the cluster");
  return static_cast<size_t>(at - cluster.inputs.begin());
}

bool streamsOutputs(const Lowering& low, int lanes, int64_t extent, int64_t large) {
  if (extent % lanes) return false;
  for (size_t o = 0; o < low.cluster.outputs.size(); ++o) {
    const Shape& shape = low.module.shape(low.cluster.outputs[o]);
    bool in_place = (o < low.cluster.alias.size() && low.cluster.alias[o] >= 0) ||
                    (o < low.cluster.may_alias.size() && low.cluster.may_alias[o] >= 0);
    DType dtype = low.movedAs(shape.dtype);
    const int64_t bytes = byteSize(shape.dtype), vector = lanes * bytes;
    if (in_place || isComplex(dtype) || shape.bytes() < large ||
        (vector != kLineBytes && vector != kLineBytes / 2) || extent * bytes % kLineBytes)
      return false;
  }
  return true;
}

bool streamsOnce(const Lowering& low, int lanes, int64_t extent) {
  constexpr int64_t kLarge = 16 << 20, kBeyondCaches = 40 << 20, kMostWritten = 4;
  auto bytes = [&](std::span<const ir::Value> values) {
    int64_t sum = 0;
    for (ir::Value v : values)
      if (!low.module.type(v).is_token) sum += low.module.shape(v).bytes();
    return sum;
  };
  const int64_t read = bytes(low.cluster.inputs), written = bytes(low.cluster.outputs);
  return read + written >= kBeyondCaches && read * kMostWritten > written &&
         streamsOutputs(low, lanes, extent, kLarge);
}

bool storesOver(const Lowering& low) {
  return !low.machine.hasMasks() && low.mayStoreAgain();
}

size_t widestElement(const ir::Module& module, const Cluster& cluster) {
  constexpr size_t kIndexed = 4;
  size_t widest = 1;
  auto look = [&](ir::Value v) {
    if (module.type(v).is_token) return;
    DType dtype = module.shape(v).dtype;
    size_t bytes = byteSize(computedScalar(dtype));
    // An integer index costs two vectors where it is used; it does not narrow the others.
    const bool is_number = isFloat(dtype) || isComplex(dtype);
    widest = std::max(widest, is_number ? bytes : std::min(bytes, kIndexed));
  };
  for (ir::OpId id : cluster.ops)
    if (computesWithIndices(module, module.op(id))) widest = kIndexed;
  for (ir::Value v : cluster.inputs) look(v);
  for (ir::OpId id : cluster.ops)
    for (ir::Value v : module.op(id).results) look(v);
  return widest;
}

int vectorLanes(const ir::Module& module, const Cluster& cluster, const Machine& machine) {
  return machine.vector_bytes / static_cast<int>(widestElement(module, cluster));
}

}  // namespace tercel::kernel
