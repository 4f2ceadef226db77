// op_map.def and attr_map.def as tables.
#pragma once
#include <span>
#include <string_view>

#include "compiler/ir/module.h"
#include "compiler/stablehlo/wire.h"

namespace tercel::stablehlo {

// How an op of the wire becomes ops of ours.
enum class OpForm : uint8_t {
  op,             // the same op
  broadcast,      // broadcast_in_dim
  device_id,      // 0 on one device
  dot,            // dot_general
  dropped,        // nothing
  dynamic,        // the same op, of constants
  einsum,         // sums, a dot_general, a transpose
  function,       // a Function
  index_select,   // gather
  inlined,        // the ops of its region
  one_device,     // its operands, on one device
  random,         // random bits made numbers
  permute,        // its operand or zeros, on one device
  same,           // its operands
  returns,        // the results of its region
  tuple,          // its operands: we have no tuples
  tuple_element,  // some of the tuple's values
  refused,
};

enum class AttrRule : uint8_t {
  accuracy,
  boolean,
  choice,
  dictionary,
  dtype,
  ignored,
  integer,
  ints,
  literal,
  precision,
  text,
  number,
  none,  // no row: only a form may use it
};

struct OpAttr {
  std::string_view name;
  AttrRule rule = AttrRule::none;
  ir::AttrKey key{};
  AttrKind choice = AttrKind::Unknown;  // of rule choice
};

inline constexpr size_t kMaxOpAttrs = 20;

struct OpRow {
  std::string_view dialect;
  std::string_view name;
  OpForm form = OpForm::refused;
  ir::OpKind kind{};
  std::span<const OpAttr> attrs;
  std::string_view given = {};  // of form dynamic: what the operands behind the op's own give
};

// The row of an op, or null.
const OpRow* findOp(std::string_view dialect, std::string_view name);
std::span<const OpRow> allOps();

}  // namespace tercel::stablehlo
