// Elements as others of another size: the wider view lacks the last dimension.
#include <algorithm>

#include "compiler/kernel/emitter.h"
#include "core/status.h"

namespace tercel::kernel {
namespace {

DType unsignedOf(size_t bytes) {
  return bytes == 1 ? DType::u8 : bytes == 2 ? DType::u16 : bytes == 4 ? DType::u32 : DType::u64;
}

V toBits(Builder& b, V x, DType dtype) {
  if (isHalfFloat(dtype)) x = b.cast(Opcode::fptrunc, x, storedScalar(dtype));
  return b.cast(Opcode::bitcast, x, storedScalar(unsignedOf(byteSize(dtype))));
}

V fromBits(Builder& b, V x, DType dtype) {
  x = b.cast(Opcode::bitcast, x, storedScalar(dtype));
  return isHalfFloat(dtype) ? b.cast(Opcode::fpext, x, Scalar::f32) : x;
}

}  // namespace

Elem Emitter::bitcastAt(const ir::Op& op, const Indices& indices) {
  const DType from = m_.shape(op.operand(0)).dtype, to = m_.shape(op.result()).dtype;
  TERCEL_CHECK(!isComplex(from) && !isComplex(to), "bitcast_convert between widths of ",
               dtypeName(from), " and ", dtypeName(to));
  const V bits = byteSize(from) > byteSize(to) ? partOfBits(op, indices) : joinedBits(op, indices);
  return {fromBits(b_, bits, to), {}};
}

V Emitter::partOfBits(const ir::Op& op, const Indices& indices) {
  const DType from = m_.shape(op.operand(0)).dtype;
  const size_t size = byteSize(m_.shape(op.result()).dtype);
  const Index& last = indices.back();
  space_.noteBareUse(last);
  V part = space_.varies(last) ? space_.emitLanes(last, lanes_, Scalar::i64)
                               : space_.emitScalar(last);
  V bits = toBits(b_, at(op.operand(0), Indices(indices.begin(), indices.end() - 1)).re, from);
  V offset = b_.imul(part, b_.index(static_cast<int64_t>(size) * 8));
  V shift = elemConvert(b_, {offset, {}}, DType::s64, unsignedOf(byteSize(from))).re;
  return b_.cast(Opcode::itrunc, b_.binary(Opcode::lshr, bits, shift),
                 storedScalar(unsignedOf(size)));
}

V Emitter::joinedBits(const ir::Op& op, const Indices& indices) {
  const DType from = m_.shape(op.operand(0)).dtype;
  const size_t size = byteSize(m_.shape(op.result()).dtype);
  const auto part_size = static_cast<int64_t>(byteSize(from));
  V sum;
  for (int64_t k = 0; k * part_size < static_cast<int64_t>(size); ++k) {
    Indices inner = indices;
    inner.push_back(Index(k));
    V part = toBits(b_, at(op.operand(0), inner).re, from);
    part = b_.cast(Opcode::zext, part, storedScalar(unsignedOf(size)));
    part = b_.binary(Opcode::shl, part, b_.integer(b_.type(part), k * part_size * 8));
    sum = sum.valid() ? b_.binary(Opcode::or_, sum, part) : part;
  }
  return sum;
}

}  // namespace tercel::kernel
