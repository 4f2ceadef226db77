// Any lanes of 32 or 64 bits of one or two vectors of the result's width: by one instruction that
// has the places within itself where there is one, else by a vector of places.
#include <bit>
#include <functional>
#include <optional>

#include "compiler/codegen/selector.h"
#include "compiler/codegen/selector_names.h"

namespace tercel::codegen {

using kernel::Scalar;

namespace {

using List = std::vector<int16_t>;  // undefined lanes, which are negative, may be any

// Whether `list` is what `lane` says, where it is defined.
bool isList(const std::vector<int16_t>& list, const std::function<int(int)>& lane) {
  for (int i = 0; i < static_cast<int>(list.size()); ++i)
    if (list[static_cast<size_t>(i)] >= 0 && list[static_cast<size_t>(i)] != lane(i)) return false;
  return true;
}

// The one operand (0, 1) that the lanes of one half of each block (of `half` lanes) are taken from,
// 0 where none is; -1 where they come from both.
int operandOfHalf(const List& list, size_t which, size_t half, int lanes) {
  int from = -1;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i] < 0 || i / half % 2 != which) continue;
    const int own = list[i] >= lanes;
    if (from >= 0 && own != from) return -1;
    from = own;
  }
  return std::max(from, 0);
}

// Two bits for each of a block's four lanes, the same in all blocks, of lanes within their blocks.
std::optional<int64_t> codeOfFours(const List& list, int lanes) {
  int places[4] = {-1, -1, -1, -1};
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i] < 0) continue;
    const int own = list[i] % lanes - static_cast<int>(i / 4 * 4);
    int& place = places[i % 4];
    if (own < 0 || own > 3 || (place >= 0 && place != own)) return {};
    place = own;
  }
  int64_t code = 0;
  for (int i = 0; i < 4; ++i) code |= static_cast<int64_t>(std::max(places[i], 0)) << 2 * i;
  return code;
}

// A bit for each lane, of lanes within pairs.
std::optional<int64_t> codeOfPairs(const List& list, int lanes) {
  int64_t code = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i] < 0) continue;
    const int own = list[i] % lanes - static_cast<int>(i / 2 * 2);
    if (own < 0 || own > 1) return {};
    code |= static_cast<int64_t>(own) << i;
  }
  return code;
}

}  // namespace

// Lanes of two vectors interleaved within each block, or whole blocks of the one before some of the
// other: without a vector of places. Invalid where it is neither.
Selector::Reg Selector::permuteByBlocks(const Inst& inst, Reg a, Reg b, Type type) {
  const int width = kernel::bitWidth(type.scalar), lanes = type.lanes;
  const int in_block = kBlockBits / width, blocks = lanes / in_block;
  for (int unit = 1; unit * width <= 64; ++unit)
    for (int high = 0; high < 2; ++high) {
      const int units = in_block / unit;
      auto interleaved = [&](int i) {
        const int n = i / unit % units;
        return (n % 2 ? lanes : 0) + i / in_block * in_block + (n + high * units) / 2 * unit +
               i % unit;
      };
      if (!isList(inst.list, interleaved)) continue;
      const char* name = unit * width == 32 ? "DQ" : "QDQ";
      return make(cat("VPUNPCK", high ? "H" : "L", name, widthSuffix(type), "rr"), type, {a, b});
    }
  if (blocks < 2) return {};
  std::vector<int> from;  // blocks of each half of the result, in its own vector
  int64_t code = 0;
  for (int k = 0; k < blocks; ++k) {
    const int first = inst.list[static_cast<size_t>(k * in_block)];
    const int block = first / in_block - (k < blocks / 2 ? 0 : blocks);
    if (first < 0 || block < 0 || block >= blocks) return {};
    from.push_back(block + (k < blocks / 2 ? 0 : blocks));
    code |= static_cast<int64_t>(block) << (blocks == 4 ? 2 * k : k);
  }
  auto whole = [&](int i) {
    return from[static_cast<size_t>(i / in_block)] * in_block + i % in_block;
  };
  if (!isList(inst.list, whole)) return {};
  return make(cat("VSHUFI32X4", widthSuffix(type), "rri"), type, {a, b}, code);
}

// Lanes within their blocks, or pairs of them, each half of which is of one vector.
Selector::Reg Selector::permuteWithin(const Inst& inst, Reg a, Reg b, Type type) {
  const bool in_fours = kernel::bitWidth(type.scalar) == 32;
  const int lanes = type.lanes;
  const auto code = in_fours ? codeOfFours(inst.list, lanes) : codeOfPairs(inst.list, lanes);
  if (!code) return {};
  const std::string width = widthSuffix(type);
  if (!b.isValid()) {
    if (in_fours && !kernel::isFloat(type.scalar))
      return make(cat("VPSHUFD", width, "ri"), type, {a}, *code);
    return make(cat("VPERMILP", in_fours ? "S" : "D", width, "ri"), type, {a}, *code);
  }
  const size_t half = in_fours ? 2 : 1;
  const int low = operandOfHalf(inst.list, 0, half, lanes);
  const int high = operandOfHalf(inst.list, 1, half, lanes);
  if (low < 0 || high < 0) return {};
  return make(cat("VSHUFP", in_fours ? "S" : "D", width, "rri"), type,
              {low ? b : a, high ? b : a}, *code);
}

// Each lane stays in its place; or all but one do, in one block.
Selector::Reg Selector::blend(const Inst& inst, Reg a, Reg b, Type type) {
  const int lanes = type.lanes;
  uint64_t of_b = 0;
  int moved = -1, moves = 0;
  for (int i = 0; i < lanes; ++i) {
    const int lane = inst.list[static_cast<size_t>(i)];
    if (lane < 0 || lane == i) continue;
    moved = i, ++moves;
    if (lane == lanes + i) of_b |= uint64_t{1} << i;
  }
  const bool in_words = kernel::bitWidth(type.scalar) == 32;
  if (moves == 1 && in_words && registerBits(type) == kBlockBits) {
    const int lane = inst.list[static_cast<size_t>(moved)];
    return make("VINSERTPSZrr", type, {a, lane < lanes ? a : b},
                lane % lanes << 6 | moved << 4);
  }
  if (std::popcount(of_b) != moves) return {};
  Reg mask = maskConstant(lanes, of_b);
  if (isWideFloat(type.scalar))
    return make(cat("VBLENDM", floatSuffix(type), widthSuffix(type), "rrk"), type, {mask, a, b});
  return make(cat("VPBLENDM", integerLetter(type.scalar), widthSuffix(type), "rrk"), type,
              {mask, a, b});
}

// Any lanes of one or two vectors of the result's width.
Selector::Reg Selector::permute(const Inst& inst, Reg a, Reg b, Type type) {
  const int width = kernel::bitWidth(type.scalar);
  const int lanes = registerBits(type) / width;
  if (lanes != type.lanes) return refuse(), Reg();
  if (Reg known = permuteWithin(inst, a, b, type); known.isValid()) return known;
  if (b.isValid()) {
    if (Reg known = permuteByBlocks(inst, a, b, type); known.isValid()) return known;
    if (Reg known = blend(inst, a, b, type); known.isValid()) return known;
  }
  llvm::SmallVector<uint64_t, 16> from;
  for (int lane : inst.list) from.push_back(lane < 0 ? from.size() % lanes : lane);
  const Type index{width == 64 ? Scalar::i64 : Scalar::i32, static_cast<uint16_t>(lanes)};
  Reg places = lanesConstant(index, from);
  const std::string suffix =
      cat(kernel::isFloat(type.scalar) ? floatSuffix(type)
                                       : std::string(1, integerLetter(type.scalar)),
          widthSuffix(type), "rr");
  if (b.isValid()) return make("VPERMT2" + suffix, type, {a, places, b});
  return make("VPERM" + suffix, type, {places, a});
}

Selector::Reg Selector::lookUp(const Inst& inst) {
  const int bits = registerBits(inst.type);
  if (kernel::bitWidth(inst.type.scalar) * inst.type.lanes != bits || bits > 512)
    return refuse(), Reg();
  const std::string suffix = cat(integerLetter(inst.type.scalar), widthSuffix(bits), "rr");
  Reg index = operand(inst, 0), low = operand(inst, 1);
  if (inst.op == Opcode::lookup) return make("VPERM" + suffix, inst.type, {index, low});
  return make("VPERMT2" + suffix, inst.type, {low, index, operand(inst, 2)});
}

}  // namespace tercel::codegen
