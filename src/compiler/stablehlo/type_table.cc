#include "compiler/stablehlo/type_table.h"

#include "compiler/stablehlo/wire_codes.h"

namespace tercel::stablehlo {
namespace {

constexpr int kMaxTupleDepth = 16;
constexpr size_t kMaxTupleTypes = 1 << 16;

std::optional<DType> integerDType(unsigned bits, bool is_unsigned) {
  switch (bits) {
    case 1: return DType::pred;
    case 2: return is_unsigned ? DType::u2 : DType::s2;
    case 4: return is_unsigned ? DType::u4 : DType::s4;
    case 8: return is_unsigned ? DType::u8 : DType::s8;
    case 16: return is_unsigned ? DType::u16 : DType::s16;
    case 32: return is_unsigned ? DType::u32 : DType::s32;
    case 64: return is_unsigned ? DType::u64 : DType::s64;
    default: return std::nullopt;
  }
}

std::optional<DType> complexDType(TypeKind part) {
  if (part == TypeKind::F32) return DType::c64;
  if (part == TypeKind::F64) return DType::c128;
  return std::nullopt;
}

std::string lowerCase(std::string_view name) {
  std::string text(name);
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] += 'a' - 'A';
  return text;
}

}  // namespace

std::optional<DType> dtypeOf(const WireModule& wire, uint32_t type) {
  const WireType& t = wire.types[type];
  switch (t.kind) {
    case TypeKind::BF16: return DType::bf16;
    case TypeKind::F16: return DType::f16;
    case TypeKind::F32: return DType::f32;
    case TypeKind::F64: return DType::f64;
    case TypeKind::F4E2M1FN: return DType::f4e2m1fn;
    case TypeKind::F6E2M3FN: return DType::f6e2m3fn;
    case TypeKind::F6E3M2FN: return DType::f6e3m2fn;
    case TypeKind::F8E3M4: return DType::f8e3m4;
    case TypeKind::F8E4M3: return DType::f8e4m3;
    case TypeKind::F8E4M3B11FNUZ: return DType::f8e4m3b11fnuz;
    case TypeKind::F8E4M3FN: return DType::f8e4m3fn;
    case TypeKind::F8E4M3FNUZ: return DType::f8e4m3fnuz;
    case TypeKind::F8E5M2: return DType::f8e5m2;
    case TypeKind::F8E5M2FNUZ: return DType::f8e5m2fnuz;
    case TypeKind::F8E8M0FNU: return DType::f8e8m0fnu;
    case TypeKind::Complex: return complexDType(wire.types[t.type].kind);
    default: break;
  }
  bool is_integer = t.kind >= TypeKind::Integer && t.kind <= TypeKind::U64;
  return is_integer ? integerDType(t.bits, t.is_unsigned) : std::nullopt;
}

std::string typeText(const WireModule& wire, uint32_t type) {
  const WireType& t = wire.types[type];
  if (std::optional<DType> dtype = dtypeOf(wire, type)) return std::string(dtypeName(*dtype));
  switch (t.kind) {
    case TypeKind::Unknown: return cat("type ", t.code, " of dialect ", t.text);
    case TypeKind::Text: return std::string(t.text);
    case TypeKind::Integer: return cat(t.is_unsigned ? "ui" : "i", t.bits);
    case TypeKind::Tensor:
    case TypeKind::EncodedTensor: break;
    default: return lowerCase(kindName(t.kind));
  }
  std::string text = "tensor<";
  for (int64_t dim : wire.intsOf(t.ints).subspan(1))
    text += dim < 0 ? std::string("?x") : cat(dim, "x");
  const WireType& element = wire.types[t.type];
  std::optional<DType> dtype = dtypeOf(wire, t.type);
  text += dtype ? std::string(dtypeName(*dtype)) : lowerCase(kindName(element.kind));
  return text + (t.kind == TypeKind::EncodedTensor ? ", bounds>" : ">");
}

Status TypeTable::leaves(uint32_t type, std::span<const ir::Type>* leaves) {
  Range& range = ranges_[type];
  if (range.count == 0) {
    std::vector<ir::Type> converted;
    visits_ = 0;
    TERCEL_TRY(convert(type, 0, converted));
    TERCEL_TRY(budget_.spend(visits_ * sizeof(ir::Type)));
    range = {static_cast<uint32_t>(leaves_.size()), static_cast<uint32_t>(converted.size())};
    leaves_.insert(leaves_.end(), converted.begin(), converted.end());
  }
  *leaves = std::span<const ir::Type>(leaves_).subspan(range.begin, range.count);
  return {};
}

Status TypeTable::convert(uint32_t type, int depth, std::vector<ir::Type>& leaves) {
  const WireType& t = wire_.types[type];
  if (++visits_ > kMaxTupleTypes) return unimplemented("a tuple of more than ", kMaxTupleTypes);
  if (t.kind == TypeKind::Tensor) return convertTensor(type, leaves);
  if (t.kind == TypeKind::Token) {
    leaves.push_back(ir::Type::token());
    return {};
  }
  // What a future is of is there at once.
  if (t.kind != TypeKind::Tuple && t.kind != TypeKind::Future)
    return unimplemented("values of type ", typeText(wire_, type));
  if (depth >= kMaxTupleDepth) return unimplemented("tuples nested deeper than ", kMaxTupleDepth);
  for (uint32_t element : wire_.itemsOf(t.items).subspan(1))
    TERCEL_TRY(convert(element, depth + 1, leaves));
  return {};
}

Status TypeTable::convertTensor(uint32_t type, std::vector<ir::Type>& leaves) const {
  const WireType& t = wire_.types[type];
  std::span<const int64_t> dims = wire_.intsOf(t.ints).subspan(1);
  std::optional<DType> dtype = dtypeOf(wire_, t.type);
  if (!dtype) return unimplemented("the type ", typeText(wire_, type), " is not supported by Tercel");
  if (dims.size() > kMaxRank) return unimplemented("tensors of rank ", dims.size());
  ir::Type leaf{Shape{*dtype, Dims(dims)}, false};
  for (int64_t& dim : leaf.shape.dims) dim = std::max(dim, kUnknownSize);
  if (hasUnknownSize(leaf) && !allows_unknown_)
    return unimplemented("dynamic shapes: ", typeText(wire_, type));
  if (!hasUnknownSize(leaf) && !sizeIsRepresentable(dims, byteSize(*dtype)))
    return invalidArgument("a tensor too large to address: ", typeText(wire_, type));
  leaves.push_back(std::move(leaf));
  return {};
}

bool fits(const ir::Type& announced, const ir::Type& type) {
  if (announced.is_token != type.is_token || announced.shape.dtype != type.shape.dtype)
    return false;
  return std::ranges::equal(announced.shape.dims, type.shape.dims, [](int64_t a, int64_t b) {
    return a == b || (a == kUnknownSize && b >= 0);
  });
}

}  // namespace tercel::stablehlo
