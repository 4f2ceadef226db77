#include "compiler/ir/infer_rules.h"

namespace tercel::ir {
namespace {

int64_t rankOf(const OpUse& use, size_t operand) { return use.shape(operand).rank(); }
Types like(const OpUse& use, size_t operand, Dims dims) {
  return oneType(use.shape(operand).dtype, std::move(dims));
}

Status checkDeclaredLike(const OpUse& use) {
  if (use.declared.size() != 1 || use.declared[0].is_token)
    return use.error("needs one declared tensor type, not ", toString(use.declared));
  if (use.declared[0].shape.dtype == use.shape(0).dtype) return {};
  return use.error("cannot give ", toString(use.declared[0]), " of another element type");
}

Result<Types> inferReshape(const OpUse& use) {
  TERCEL_TRY(checkDeclaredLike(use));
  const Shape& to = use.declared[0].shape;
  if (!sizeIsRepresentable(to.dims, byteSize(to.dtype)) || to.elements() != use.shape(0).elements())
    return use.error("cannot give ", toString(use.declared[0]), " of another element count");
  return Types{use.declared[0]};
}

Result<Types> inferAffineSlice(const OpUse& use) {
  TERCEL_TRY(checkDeclaredLike(use));
  const Dims &from = use.dims(0), &to = use.declared[0].shape.dims;
  TERCEL_TRY(checkSize(use, AttrKey::start_indices, from.size()));
  TERCEL_TRY(checkSize(use, AttrKey::steps, from.size() * to.size()));
  if (!sizeIsRepresentable(to, byteSize(use.shape(0).dtype)))
    return use.error("cannot give ", toString(use.declared[0]));
  if (elementCount(to) == 0) return Types{use.declared[0]};
  for (size_t d = 0; d < from.size(); ++d) {
    Wide low = use.ints(AttrKey::start_indices)[d], high = low;
    for (size_t j = 0; j < to.size(); ++j) {
      const Wide most = static_cast<Wide>(use.ints(AttrKey::steps)[d * to.size() + j]) * (to[j] - 1);
      (most < 0 ? low : high) += most;
    }
    if (low < 0 || high >= from[d]) return use.error("leaves its operand's dimension ", d);
  }
  return Types{use.declared[0]};
}

Result<Types> inferBroadcast(const OpUse& use) {
  TERCEL_TRY(checkDeclaredLike(use));
  const Dims& from = use.dims(0);
  const Shape& to = use.declared[0].shape;
  const Ints& where = use.ints(AttrKey::broadcast_dimensions);
  TERCEL_TRY(checkSize(use, AttrKey::broadcast_dimensions, from.size()));
  TERCEL_TRY(checkAxes(use, AttrKey::broadcast_dimensions, to.rank()));
  for (size_t i = 0; i < from.size(); ++i)
    if (from[i] != 1 && from[i] != to.dims[where[i]])
      return use.error("dimension ", i, " cannot become dimension ", where[i], " of ",
                       toString(use.declared[0]));
  return Types{use.declared[0]};
}

Result<Types> inferConcatenate(const OpUse& use) {
  if (use.count() == 0) return use.error("needs an operand");
  TERCEL_TRY(checkInRange(use, AttrKey::dimension, rankOf(use, 0)));
  size_t along = static_cast<size_t>(use.integer(AttrKey::dimension));
  Wide total = 0;
  for (size_t i = 0; i < use.count(); ++i) {
    Shape part = use.shape(i);
    if (part.rank() == rankOf(use, 0)) {
      total += part.dims[along];
      part.dims[along] = use.dims(0)[along];
    }
    if (part != use.shape(0))
      return use.error("operand ", i, " differs from operand 0 beyond dimension ", along);
  }
  Dims sum;
  TERCEL_TRY(pushDim(use, sum, total));
  Dims dims = use.dims(0);
  dims[along] = sum[0];
  return like(use, 0, dims);
}

// Operands from `first` on are one integer scalar a dimension of operand 0.
Status checkStartIndices(const OpUse& use, size_t first) {
  size_t rank = use.dims(0).size();
  if (use.count() != first + rank)
    return use.error("has ", use.count(), " operands, expected ", first + rank);
  for (size_t i = first; i < use.count(); ++i) {
    if (!isInteger(use.shape(i).dtype) || !use.dims(i).empty())
      return use.error("start index ", i - first, " is not an integer scalar");
    if (use.shape(i).dtype != use.shape(first).dtype)
      return use.error("the start indices differ in type");
  }
  return {};
}

Result<Types> inferDynamicSlice(const OpUse& use) {
  if (use.count() == 0) return use.error("needs an operand");
  TERCEL_TRY(checkStartIndices(use, 1));
  TERCEL_TRY(checkSize(use, AttrKey::slice_sizes, use.dims(0).size()));
  TERCEL_TRY(checkAtLeast(use, AttrKey::slice_sizes, 0));
  const Ints& sizes = use.ints(AttrKey::slice_sizes);
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] > use.dims(0)[i])
      return use.error("slice_sizes ", tercel::toString(sizes), " exceeds the operand");
  return like(use, 0, Dims(std::span<const int64_t>(sizes)));
}

Result<Types> inferDynamicUpdateSlice(const OpUse& use) {
  if (use.count() < 2) return use.error("needs an operand and an update");
  TERCEL_TRY(checkStartIndices(use, 2));
  if (use.shape(0).dtype != use.shape(1).dtype || rankOf(use, 0) != rankOf(use, 1))
    return use.error("operand and update differ in element type or rank");
  for (size_t i = 0; i < use.dims(0).size(); ++i)
    if (use.dims(1)[i] > use.dims(0)[i]) return use.error("the update exceeds the operand");
  return Types{use.type(0)};
}

Result<Types> inferPad(const OpUse& use) {
  if (use.shape(1).dtype != use.shape(0).dtype || !use.dims(1).empty())
    return use.error("the padding value is not a scalar of the operand's element type");
  const Dims& from = use.dims(0);
  for (AttrKey key :
       {AttrKey::edge_padding_low, AttrKey::edge_padding_high, AttrKey::interior_padding})
    TERCEL_TRY(checkSize(use, key, from.size()));
  TERCEL_TRY(checkAtLeast(use, AttrKey::interior_padding, 0));
  Dims dims;
  for (size_t i = 0; i < from.size(); ++i) {
    Wide gaps = from[i] > 0 ? from[i] - 1 : 0;
    TERCEL_TRY(pushDim(use, dims,
                       Wide{use.ints(AttrKey::edge_padding_low)[i]} + from[i] +
                           gaps * use.ints(AttrKey::interior_padding)[i] +
                           use.ints(AttrKey::edge_padding_high)[i]));
  }
  return like(use, 0, dims);
}

Result<Types> inferReverse(const OpUse& use) {
  TERCEL_TRY(checkAxes(use, AttrKey::dimensions, rankOf(use, 0)));
  return Types{use.type(0)};
}

Result<Types> inferSlice(const OpUse& use) {
  const Dims& from = use.dims(0);
  for (AttrKey key : {AttrKey::start_indices, AttrKey::limit_indices, AttrKey::strides})
    TERCEL_TRY(checkSize(use, key, from.size()));
  TERCEL_TRY(checkAtLeast(use, AttrKey::start_indices, 0));
  TERCEL_TRY(checkAtLeast(use, AttrKey::strides, 1));
  Dims dims;
  for (size_t i = 0; i < from.size(); ++i) {
    int64_t start = use.ints(AttrKey::start_indices)[i];
    int64_t limit = use.ints(AttrKey::limit_indices)[i];
    int64_t stride = use.ints(AttrKey::strides)[i];
    if (start > limit || limit > from[i])
      return use.error("[", start, ", ", limit, ") is not a range of dimension ", i);
    dims.push_back(limit == start ? 0 : (limit - start - 1) / stride + 1);
  }
  return like(use, 0, dims);
}

Result<Types> inferTranspose(const OpUse& use) {
  TERCEL_TRY(checkSize(use, AttrKey::permutation, use.dims(0).size()));
  TERCEL_TRY(checkAxes(use, AttrKey::permutation, rankOf(use, 0)));
  Dims dims;
  for (int64_t axis : use.ints(AttrKey::permutation)) dims.push_back(use.dims(0)[axis]);
  return like(use, 0, dims);
}

Result<Types> inferConstant(const OpUse& use) {
  const Attr* value = use.find(AttrKey::value);
  if (!value) return use.error("has no value");
  const Literal& literal = std::get<Literal>(*value);
  Type type{literal.shape()};
  size_t bytes = literal.isSplat() ? byteSize(type.shape.dtype) : type.shape.bytes();
  if (literal.bytes().size() != bytes)
    return use.error("its value has ", literal.bytes().size(), " bytes, not ", bytes);
  return Types{type};
}

Result<Types> inferIota(const OpUse& use) {
  if (use.declared.size() != 1 || use.declared[0].is_token)
    return use.error("needs one declared tensor type, not ", toString(use.declared));
  const Shape& to = use.declared[0].shape;
  if (isPred(to.dtype)) return use.error("is not defined for pred");
  TERCEL_TRY(checkInRange(use, AttrKey::iota_dimension, to.rank()));
  return Types{use.declared[0]};
}

}  // namespace

Result<Types> inferSource(const OpUse& use) {
  return use.kind == OpKind::constant_ ? inferConstant(use) : inferIota(use);
}

Result<Types> inferMovement(const OpUse& use) {
  switch (use.kind) {
    case OpKind::affine_slice_:
      return inferAffineSlice(use);
    case OpKind::broadcast_in_dim_:
      return inferBroadcast(use);
    case OpKind::concatenate_:
      return inferConcatenate(use);
    case OpKind::dynamic_slice_:
      return inferDynamicSlice(use);
    case OpKind::dynamic_update_slice_:
      return inferDynamicUpdateSlice(use);
    case OpKind::pad_:
      return inferPad(use);
    case OpKind::reshape_:
      return inferReshape(use);
    case OpKind::reverse_:
      return inferReverse(use);
    case OpKind::slice_:
      return inferSlice(use);
    case OpKind::transpose_:
      return inferTranspose(use);
    default:
      return internalError(opName(use.kind), " has no inference rule");
  }
}

}  // namespace tercel::ir
