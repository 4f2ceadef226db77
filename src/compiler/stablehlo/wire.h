// An MLIR bytecode file as flat arrays: what its bytes say, before any of it means something to us.
//
// Attributes and types refer to each other by index, never by pointer: decoding needs no recursion,
// and a malformed file may contain cycles, so whoever follows indices limits how far.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "compiler/stablehlo/byte_cursor.h"

namespace tercel::stablehlo {

inline constexpr uint32_t kNone = 0xffffffffu;

// Nodes name attributes and types that several codes of several dialects may encode (wire.def).
// Unknown: a code or dialect without a row; `code` and `text` (the dialect) name it.
// Text: encoded in MLIR's text form, which we do not read.
enum class AttrKind : uint8_t {
  Unknown,
  Text,
  Array,
  Dictionary,
  String,
  Symbol,
  NestedSymbol,
  Type,
  Unit,
  Boolean,
  Integer,
  Float,
  Tensor,
  DenseArray,
  DenseResource,
  SparseTensor,
  Distinct,
  CallSiteLoc,
  FileLoc,
  FileRangeLoc,
  FusedLoc,
  NameLoc,
  UnknownLoc,
  ComparisonDirection,
  ComparisonType,
  CustomCallApiVersion,
  FftType,
  Precision,
  RngAlgorithm,
  RngDistribution,
  Transpose,
  ResultAccuracyMode,
  ResultAccuracy,
  OutputOperandAlias,
  Bounds,
  SubAxisInfo,
  AxisRef,
  ReplicaGroupMeshAxes,
  MeshAxis,
  Mesh,
  SdyManualAxes,
  SdyMeshAxis,
  SdyMesh,
  SdyAxisRef,
  SdyDimSharding,
  SdySharding,
  SdyShardingPerValue,
  SdyDimMapping,
  SdyTensorMapping,
  SdyShardingRule,
  SdyAxisList,
  SdyListOfAxisLists,
  SdyAllToAll,
  SdyAllToAllList,
};

enum class TypeKind : uint8_t {
  Unknown,
  Text,
  Integer,
  Bool,
  S2,
  S4,
  S8,
  S16,
  S32,
  S64,
  U2,
  U4,
  U8,
  U16,
  U32,
  U64,
  Index,
  BF16,
  F16,
  F32,
  F64,
  F80,
  F128,
  TF32,
  F4E2M1FN,
  F6E2M3FN,
  F6E3M2FN,
  F8E3M4,
  F8E4M3,
  F8E4M3FN,
  F8E4M3FNUZ,
  F8E4M3B11FNUZ,
  F8E5M2,
  F8E5M2FNUZ,
  F8E8M0FNU,
  Complex,
  Tensor,
  EncodedTensor,
  UnrankedTensor,
  Buffer,
  Vector,
  Tuple,
  Function,
  Token,
  Future,
  Quantized,
  QuantizedPerAxis,
  None,
  Witness,
};

struct Range {
  uint32_t begin = 0;
  uint32_t count = 0;
};

// The fields that a row of wire.def fills; the others stay as they are here.
struct WireAttr {
  AttrKind kind = AttrKind::Unknown;
  uint32_t code = 0;
  uint32_t type = kNone;
  Range items;  // of WireModule::items: attributes
  Range ints;   // of WireModule::ints
  uint64_t bits = 0;
  std::string_view text;
};

struct WireType {
  TypeKind kind = TypeKind::Unknown;
  uint32_t code = 0;
  uint16_t bits = 0;
  bool is_unsigned = false;
  uint32_t type = kNone;  // element type
  Range items;            // types, or one attribute: the encoding
  Range ints;
  std::string_view text;
};

struct WireOpName {
  std::string_view dialect;
  std::string_view name;
};

// Ops stand in pre-order: the ops of an op's regions follow it, up to `end`.
struct WireOp {
  uint32_t name = 0;       // of op_names
  uint32_t location = 0;   // of attrs
  uint32_t attrs = kNone;  // of attrs: a Dictionary
  Bytes properties;
  Range operands;  // of operand_values
  Range results;   // value ids
  Range regions;   // of regions
  uint32_t end = 0;
};

// No block or one; a file with larger regions is refused.
struct WireRegion {
  Range args;         // value ids
  uint32_t ops = 0;   // the first of `op_count` siblings
  uint32_t op_count = 0;
  bool has_block = false;
};

struct WireModule {
  uint64_t version = 0;  // of the bytecode
  std::string_view producer;
  const std::byte* origin = nullptr;  // of the artifact
  std::vector<std::string_view> strings;
  std::vector<std::string_view> dialects;
  std::vector<WireOpName> op_names;
  std::vector<WireAttr> attrs;
  std::vector<WireType> types;
  std::vector<uint32_t> items;
  std::vector<int64_t> ints;
  std::vector<WireOp> ops;
  std::vector<WireRegion> regions;  // the first is the top level
  std::vector<uint32_t> operand_values;
  std::vector<uint32_t> value_types;  // by value id

  std::span<const uint32_t> itemsOf(Range r) const { return {items.data() + r.begin, r.count}; }
  std::span<const int64_t> intsOf(Range r) const { return {ints.data() + r.begin, r.count}; }
  std::span<const uint32_t> operandsOf(const WireOp& op) const {
    return {operand_values.data() + op.operands.begin, op.operands.count};
  }
};

}  // namespace tercel::stablehlo
