// The Builder's memory instructions.
#include "compiler/kernel/builder.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>

#include "core/integers.h"
#include "core/status.h"

namespace tercel::kernel {

BufferId Builder::addParam(Scalar element, bool read_only, int64_t elements) {
  const int64_t size = byteSize(element);
  const auto id = static_cast<BufferId>(kernel_.buffers.size());
  const bool is_far = elements * size > machine.l2_bytes;
  if (is_far) far_.insert(id);
  if (read_only && size >= 4 && is_far) far_in_parts_.insert(id);
  Buffer buffer{.element = element, .param = kernel_.params++, .read_only = read_only};
  kernel_.buffers.push_back(buffer);
  return id;
}

BufferId Builder::addScratch(Scalar element, int64_t elements) {
  int64_t at = roundUp(kernel_.scratch_bytes, 64);
  kernel_.buffers.push_back({.element = element, .scratch_offset = at, .elements = elements});
  kernel_.scratch_bytes = at + elements * byteSize(element) + kScratchSlack;
  return static_cast<BufferId>(kernel_.buffers.size() - 1);
}

BufferId Builder::addComplexScratch(Scalar part, int64_t elements) {
  const BufferId real = addScratch(part, elements);
  imaginary_[real] = addScratch(part, elements);
  return real;
}

std::optional<BufferId> Builder::imaginaryOf(BufferId buffer) const {
  const auto at = imaginary_.find(buffer);
  return at == imaginary_.end() ? std::nullopt : std::optional(at->second);
}

void Builder::clearSlack(BufferId scratch) {
  const Buffer& b = kernel_.buffers[scratch];
  const int64_t lanes = machine.vector_bytes / byteSize(b.element), rest = b.elements % lanes;
  if (!machine.slow_subnormals || !isFloat(b.element) || rest == 0) return;
  const V zero = constant({b.element, static_cast<uint16_t>(lanes)}, 0);
  const V last = index(b.elements - rest);
  emit({.op = Opcode::store, .type = type(zero), .operands = {last, zero}, .imm = scratch}, root_);
}

// Whether a vector at a place known now lies in a scratch buffer and its slack.
bool Builder::staysInScratch(BufferId buffer, V index, int lanes, int64_t offset) const {
  const Buffer& b = kernel_.buffers[buffer];
  uint64_t at;
  if (b.elements == 0 || !isConstant(index, &at)) return false;
  int64_t first = static_cast<int64_t>(at) + offset, size = byteSize(b.element);
  return first >= 0 && (first + lanes) * size <= b.elements * size + kScratchSlack;
}

// Whether the lanes that the mask leaves out would all fall into the slack: stores of whole vectors
// can be forwarded to the loads after them, masked ones cannot.
bool Builder::endsInSlack(BufferId buffer, V index, V mask, int64_t offset) const {
  if (!staysInScratch(buffer, index, type(mask).lanes, offset)) return false;
  const std::optional<int64_t> left = firstLanesOf(mask);
  uint64_t at;
  if (!left || !isConstant(index, &at)) return false;
  return *left > 0 && static_cast<int64_t>(at) + offset + *left >= kernel_.buffers[buffer].elements;
}

V Builder::load(BufferId buffer, V index, int lanes, int64_t offset) {
  const Buffer& b = kernel_.buffers[buffer];
  if (lanes * byteSize(b.element) >= machine.vector_bytes) far_in_parts_.erase(buffer);
  Inst inst{.op = Opcode::load,
            .type = {b.element, static_cast<uint16_t>(lanes)},
            .operands = {index},
            .imm = buffer,
            .offset = offset};
  const size_t before = kernel_.insts.size();
  const V loaded = b.read_only ? share(inst) : emit(inst, current_);
  const bool is_new = kernel_.insts.size() > before;
  if (is_new && ahead_ > 0 && far_.contains(buffer))
    prefetch(inst, kernel_.values[loaded.index].block);
  return loaded;
}

void Builder::prefetch(const Inst& load, BlockId block) {
  // Of more arrays at once enough is on its way; shorter loads would ask for a line again.
  constexpr size_t kFewArrays = 2;
  if (far_.size() > kFewArrays ||
      load.type.lanes * byteSize(load.type.scalar) < machine.vector_bytes)
    return;
  emit({.op = Opcode::prefetch, .operands = load.operands, .imm = load.imm,
        .offset = load.offset + ahead_}, block);
}

// By two smaller vectors, which overlap where what is left is no vector: what comes from far comes
// sooner by loads without a mask.
V Builder::loadFirst(BufferId buffer, V index, V mask, int64_t count, int64_t offset) {
  const Type whole = type(mask).with(kernel_.buffers[buffer].element);
  const auto low = static_cast<int>(std::bit_floor(static_cast<uint64_t>(count)));
  const auto rest = static_cast<int>(count) - low;
  auto firstOf = [](int64_t some, int of) {
    std::vector<int16_t> list(static_cast<size_t>(of), -1);
    std::iota(list.begin(), list.begin() + some, int16_t{0});
    return list;
  };
  std::vector<int16_t> list = firstOf(count, whole.lanes);
  V x = load(buffer, index, low, offset), y = x;
  if (rest == 1) {
    y = widen(load(buffer, index, 1, offset + low), low);
  } else if (std::has_single_bit(static_cast<unsigned>(rest))) {
    y = load(buffer, index, rest, offset + low);
    y = shuffle(y, y, firstOf(rest, low));
  } else if (rest > 0) {
    y = load(buffer, index, low, offset + rest);
    for (int i = low; i < count; ++i)
      list[static_cast<size_t>(i)] += static_cast<int16_t>(low - rest);
  }
  return select(mask, shuffle(x, y, list), constant(whole, 0));
}

V Builder::loadMasked(BufferId buffer, V index, V mask, int64_t offset) {
  if (staysInScratch(buffer, index, type(mask).lanes, offset))
    return load(buffer, index, type(mask).lanes, offset);
  const std::optional<int64_t> first = firstLanesOf(mask);
  if (first && *first > 1 && *first < type(mask).lanes && far_in_parts_.contains(buffer))
    return loadFirst(buffer, index, mask, *first, offset);
  const Buffer& b = kernel_.buffers[buffer];
  Inst inst{.op = Opcode::load_masked,
            .type = type(mask).with(b.element),
            .operands = {index, mask},
            .imm = buffer,
            .offset = offset};
  return b.read_only ? share(std::move(inst)) : emit(std::move(inst), current_);
}

V Builder::gather(BufferId buffer, const Places& places, V mask) {
  const Buffer& b = kernel_.buffers[buffer];
  Inst inst{.op = Opcode::gather,
            .type = type(mask).with(b.element),
            .operands = {places.first, places.lanes, mask},
            .imm = buffer,
            .offset = places.offset};
  return b.read_only ? share(std::move(inst)) : emit(std::move(inst), current_);
}

void Builder::store(BufferId buffer, V index, V value, int64_t offset) {
  emit({.op = Opcode::store, .type = type(value), .operands = {index, value}, .imm = buffer,
        .offset = offset},
       current_);
}

void Builder::storeMasked(BufferId buffer, V index, V value, V mask, int64_t offset) {
  if (endsInSlack(buffer, index, mask, offset)) return store(buffer, index, value, offset);
  emit({.op = Opcode::store_masked, .type = type(value), .operands = {index, value, mask},
        .imm = buffer, .offset = offset},
       current_);
}

void Builder::storeStreaming(BufferId buffer, V index, V value, int64_t offset) {
  emit({.op = Opcode::store_streaming, .type = type(value), .operands = {index, value},
        .imm = buffer, .offset = offset},
       current_);
}

void Builder::scatter(BufferId buffer, const Places& places, V value, V mask) {
  emit({.op = Opcode::scatter, .type = type(value),
        .operands = {places.first, places.lanes, value, mask}, .imm = buffer,
        .offset = places.offset},
       current_);
}

std::vector<InstId> Builder::withoutStores(const std::function<void()>& emit) {
  const size_t before = kernel_.blocks[current_].insts.size();
  const size_t blocks = kernel_.blocks.size();
  emit();
  auto stores = [&](InstId id) { return isStore(kernel_.insts[id].op); };
  for (size_t inner = blocks; inner < kernel_.blocks.size(); ++inner)
    TERCEL_CHECK(std::ranges::none_of(kernel_.blocks[inner].insts, stores),
                 "a store in a block of its own");
  std::vector<InstId>& all = kernel_.blocks[current_].insts;
  const auto first = all.begin() + static_cast<int64_t>(before);
  const auto left = std::stable_partition(first, all.end(), std::not_fn(stores));
  std::vector<InstId> taken(left, all.end());
  all.erase(left, all.end());
  return taken;
}

void Builder::append(std::span<const InstId> insts) {
  std::vector<InstId>& all = kernel_.blocks[current_].insts;
  all.insert(all.end(), insts.begin(), insts.end());
}

V Builder::metSubnormals() {
  V met = emit({.op = Opcode::subnormals_met, .type = {Scalar::i32, 1}}, current_);
  return compare(Opcode::icmp, Predicate::ne, met, integer(type(met), 0));
}

void Builder::forgetSubnormals() {
  ifThen(metSubnormals(), [&] { emit({.op = Opcode::subnormals_forget}, current_); });
}

void Builder::tiles(Opcode op, std::initializer_list<int16_t> numbers) {
  emit({.op = op, .list = numbers}, current_);
}

void Builder::tileLoad(int16_t tile, BufferId buffer, V index, int64_t pitch, int64_t offset) {
  moveTile(Opcode::tile_load, tile, buffer, index, pitch, offset);
}

void Builder::tileStore(int16_t tile, BufferId buffer, V index, int64_t pitch, int64_t offset) {
  moveTile(Opcode::tile_store, tile, buffer, index, pitch, offset);
}

void Builder::moveTile(Opcode op, int16_t tile, BufferId buffer, V index, int64_t pitch,
                       int64_t offset) {
  TERCEL_CHECK(pitch >= 0 && pitch <= INT16_MAX, "rows of a tile are ", pitch, " elements apart");
  Scalar element = kernel_.buffers[buffer].element;
  auto lanes = static_cast<uint16_t>(kTileRowBytes / byteSize(element));
  emit({.op = op, .type = {element, lanes}, .operands = {index}, .imm = buffer, .offset = offset,
        .list = {tile, static_cast<int16_t>(pitch)}},
       current_);
}

}  // namespace tercel::kernel
