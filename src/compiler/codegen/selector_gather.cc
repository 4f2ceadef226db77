// Elements that lie anywhere: by one instruction, or by a load of each where that is no slower.
#include <llvm/CodeGen/MachineRegisterInfo.h>

#include "compiler/codegen/selector.h"
#include "compiler/codegen/selector_names.h"

namespace tercel::codegen {

using kernel::Scalar;

namespace {

// VGATHERDPS: of places of 32 bits floats of 32.
std::string indexedName(const char* stem, kernel::Type type, kernel::Type places) {
  const char letter = integerLetter(places.scalar);
  const std::string element = kernel::isFloat(type.scalar)
                                  ? cat(letter, floatSuffix(type))
                                  : std::string{letter, integerLetter(type.scalar)};
  const int bits = std::max(registerBits(type), registerBits(places));
  return cat(kernel::isFloat(type.scalar) ? "V" : "VP", stem, element, widthSuffix(bits));
}

}  // namespace

// What all lanes add to the buffer is added to its base, where it is no constant.
Selector::Address Selector::placesOf(const Inst& inst) {
  Address address = addressOf(inst);
  if (address.index.isValid()) {
    Reg base = newReg("GR64_NOSP");
    Builder sum = start("LEA64r", base);
    sum.addReg(address.base).addImm(address.scale).addReg(address.index);
    sum.addImm(address.offset).addReg(0);
    finish(*sum);
    address.base = base;
    address.offset = 0;
  }
  address.index = operand(inst, 1);
  return address;
}

bool Selector::isIndexed(const Inst& inst) const {
  const Type type = inst.type, places = typeOf(inst, 1);
  const int bits = std::max(kernel::bitWidth(type.scalar), kernel::bitWidth(places.scalar));
  return type.isVector() && kernel::bitWidth(type.scalar) >= 32 && type.lanes * bits >= kBlockBits &&
         type.lanes * bits <= 512;
}

Selector::Reg Selector::gather(const Inst& inst) {
  uint64_t every;
  const bool is_whole = constantBits(inst.operands[2], &every) && every != 0;
  if (is_whole && (target_.slow_gather || kernel::bitWidth(inst.type.scalar) < 32))
    return gatherByLoads(inst);
  if (!isIndexed(inst)) return refuse(), Reg();
  const Address address = placesOf(inst);
  Reg none = constant(inst.type, 0), mask = operand(inst, 2), result = newReg(inst.type);
  Reg left = newReg(inst.type.with(Scalar::i1));
  Builder built = start(cat(indexedName("GATHER", inst.type, typeOf(inst, 1)), "rm"), result);
  built.addReg(left, llvm::RegState::Define).addReg(none).addReg(mask);
  addAddress(built, address, false, static_cast<uint64_t>(kernel::byteSize(inst.type.scalar)));
  finish(*built);
  return result;
}

void Selector::scatter(const Inst& inst) {
  if (!isIndexed(inst)) return refuse();
  const Address address = placesOf(inst);
  Reg stored = operand(inst, 2), mask = operand(inst, 3);
  Reg left = newReg(inst.type.with(Scalar::i1));
  Builder built = start(cat(indexedName("SCATTER", inst.type, typeOf(inst, 1)), "mr"), left);
  addAddress(built, address, true, static_cast<uint64_t>(kernel::byteSize(inst.type.scalar)));
  built.addReg(mask).addReg(stored);
  finish(*built);
}

// One after the other, into the lanes of blocks, of which the vector is made. Places of 32 bits leave
// their vector in pairs.
Selector::Reg Selector::gatherByLoads(const Inst& inst) {
  const Type type = inst.type, places = typeOf(inst, 1);
  const int width = kernel::bitWidth(type.scalar), in_block = kBlockBits / width;
  if (places.scalar != Scalar::i32 || !type.isVector() || type.scalar == Scalar::i1 ||
      type.lanes * width < kBlockBits || places.lanes * 32 > 512)
    return refuse(), Reg();
  Address address = placesOf(inst);
  const Reg all = address.index;
  const Type block{type.scalar, static_cast<uint16_t>(in_block)};
  std::vector<Reg> blocks;
  for (int lane = 0; lane < type.lanes; lane += 2) {
    Reg pair = pairOf(all, places, lane), low = newReg("GR32"), near = newReg("GR64_NOSP");
    copy(pair, low, names_.part("sub_32bit"));
    make("MOVSX64rr32", near, {low});
    Reg far = make("SAR64ri", newReg("GR64_NOSP"), {pair}, 32);
    for (Reg place : {near, far}) {
      const int at = (lane + (place == far)) % in_block;
      address.index = place;
      Reg before = at ? blocks.back() : Reg();
      if (!at) blocks.emplace_back();
      blocks.back() = loadLane(block, before, at, address);
    }
  }
  return joinedBlocks(blocks, block);
}

Selector::Reg Selector::pairOf(Reg places, Type type, int lane) {
  Reg v = blockOf(places, type, {Scalar::i64, 2}, lane / 4);
  const Type pair{Scalar::i64, 1};
  return lane % 4 ? make("VPEXTRQZrr", pair, {v}, 1) : make("VMOVPQIto64Zrr", pair, {v});
}

// A block with the element there at one of its lanes; the first lane's is loaded alone.
Selector::Reg Selector::loadLane(Type block, Reg before, int lane, const Address& address) {
  const int width = kernel::bitWidth(block.scalar);
  const bool inserts = width < 32;
  if (inserts && !before.isValid()) before = undefined(block);
  const char* name = width == 8    ? "VPINSRBZrm"
                     : width == 16 ? "VPINSRWZrm"
                     : width == 64 ? lane ? "VMOVHPDZ128rm" : "VMOVSDZrm"
                     : lane        ? "VINSERTPSZrm"
                                   : "VMOVSSZrm";
  Reg result = newReg(block);
  Builder built = start(name, result);
  if (lane || inserts) built.addReg(before);
  addAddress(built, address, false, static_cast<uint64_t>(width / 8));
  if (inserts) built.addImm(lane);
  if (width == 32 && lane) built.addImm(lane << 4);
  finish(*built);
  return result;
}

Selector::Reg Selector::joinedBlocks(std::vector<Reg> blocks, Type block) {
  for (; blocks.size() > 1; block.lanes = static_cast<uint16_t>(2 * block.lanes)) {
    for (size_t i = 0; i < blocks.size() / 2; ++i)
      blocks[i] = widened(blocks[2 * i], blocks[2 * i + 1], block);
    blocks.resize(blocks.size() / 2);
  }
  return blocks[0];
}

}  // namespace tercel::codegen
