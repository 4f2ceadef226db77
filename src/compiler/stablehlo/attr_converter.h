// An op's attributes of the wire as ours, by the rules of attr_map.def.
#pragma once
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/stablehlo/budget.h"
#include "compiler/stablehlo/op_map.h"
#include "compiler/stablehlo/type_table.h"
#include "compiler/stablehlo/wire.h"

namespace tercel::stablehlo {

// The attributes of one op, in the order of its row.
struct OpAttrs {
  uint32_t index[kMaxOpAttrs];
};

class AttrConverter {
 public:
  AttrConverter(const WireModule& wire, Budget& budget, TypeTable& types)
      : wire_(wire), budget_(budget), types_(types), literal_ids_(wire.attrs.size(), kNone) {}

  // Finds the op's attributes, in its properties or (in old files) its dictionary.
  Status gather(const WireOp& op, const OpRow& row, OpAttrs* attrs) const;
  // Adds to the op's attributes what one of the wire becomes.
  Status convert(const OpAttr& rule, uint32_t attr, ir::Op& op);

  Status literal(uint32_t attr, ir::Literal* literal);
  Status ints(uint32_t attr, ir::Ints* ints);

 private:
  Status gatherFromDictionary(const WireOp& op, const OpRow& row, OpAttrs* attrs) const;
  Status convertValue(const OpAttr& rule, uint32_t attr, ir::Op& op);
  Status convertChoice(const OpAttr& rule, uint32_t attr, ir::Op& op);
  Status addText(const OpAttr& rule, uint32_t attr, std::optional<std::string_view> text,
                 ir::Op& op);
  Status convertDictionary(const OpAttr& rule, uint32_t attr, ir::Op& op);
  Status convertPrecision(const OpAttr& rule, uint32_t attr, ir::Op& op);
  Status convertDType(const OpAttr& rule, uint32_t attr, ir::Op& op);
  Status checkDefault(const OpAttr& rule, uint32_t attr);
  Status makeLiteral(uint32_t attr, ir::Literal* literal);

  const WireModule& wire_;
  Budget& budget_;
  TypeTable& types_;
  std::vector<uint32_t> literal_ids_;  // of literals_, by attribute: a payload is copied once
  std::vector<ir::Literal> literals_;
};

}  // namespace tercel::stablehlo
