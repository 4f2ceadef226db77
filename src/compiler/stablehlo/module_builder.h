// Builds our Module from a file's ops.
#pragma once
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/stablehlo/attr_converter.h"
#include "compiler/stablehlo/budget.h"
#include "compiler/stablehlo/location_table.h"
#include "compiler/stablehlo/op_map.h"
#include "compiler/stablehlo/reader.h"
#include "compiler/stablehlo/type_table.h"
#include "compiler/stablehlo/wire.h"

namespace tercel::stablehlo {

class ModuleBuilder {
 public:
  ModuleBuilder(const WireModule& wire, size_t artifact_bytes,
                const GivenArguments& given);

  Status build();
  ir::Module take() { return std::move(module_); }

 private:
  // A block being filled: ops go to `region`, the terminator's operands to `results`.
  struct Block {
    ir::RegionId region;
    ir::Values results;
    bool closed = false;
  };

  Status buildModule(const WireOp& op);
  Status buildTopLevelOp(const WireOp& op);
  Status buildFunction(const WireOp& op, const OpRow& row, const OpAttrs& attrs);
  Status readSignature(ir::Function& function, uint32_t type, uint32_t arg_attrs,
                       uint32_t result_attrs);
  Status readArgInfo(uint32_t dictionary, std::span<const Range> results, ir::ArgInfo& info);
  Status readPlacement(uint32_t dictionary, std::string& memory_kind, std::string& layout_mode,
                       std::string& sharding);
  Status readText(uint32_t attr, std::string& text);

  Status buildBlock(const WireRegion& region, Block& block);
  // `given`: of the block's arguments, where the file leaves their sizes open.
  Status buildRegion(const WireRegion& region, ir::RegionId* id,
                     std::span<const ir::Type> given = {});
  Status buildOp(const WireOp& op, Block& block);
  Status buildPlain(const WireOp& op, const OpRow& row, const OpAttrs& attrs, Block& block);
  Status buildRegions(const WireOp& op, ir::OpId id);
  Status checkArity(const WireOp& op, ir::OpKind kind, size_t operands) const;
  Status finishAttrs(ir::OpId id);
  bool isShardingCall(const OpRow& row, const OpAttrs& attrs) const;

  // custom_calls.cc
  struct CallLayouts {
    std::vector<ir::Ints> operands, results;
  };
  Status buildCustomCall(const WireOp& op, const OpRow& row, const OpAttrs& attrs, Block& block);
  Status readLayouts(uint32_t attr, std::span<const ir::Type> types, std::vector<ir::Ints>& layouts);
  Status appendCall(const WireOp& op, const OpRow& row, const OpAttrs& attrs, ir::Values operands,
                    const CallLayouts& layouts, Block& block, ir::OpId* id);
  Status readAliases(uint32_t attr, ir::Op& built);
  Status readConfiguration(const WireOp& op, ir::Op& built);
  ir::Value turned(ir::Value value, Dims dims, ir::Ints permutation, Block& block);

  // foreign_calls.cc
  struct ForeignCall {
    const WireOp& op;
    const OpRow& row;
    const OpAttrs& attrs;
    std::string_view target;
    ir::RegionId region;
    ir::Values operands;
  };
  using BuildForeign = Status (ModuleBuilder::*)(const ForeignCall&);
  // How calls of this name become ops of ours; null: they do not.
  static BuildForeign foreignCalled(std::string_view target);
  Status buildForeignCall(const WireOp& op, const OpRow& row, const OpAttrs& attrs,
                          std::string_view target, BuildForeign build, const Block& block);
  Status calledRegion(const ForeignCall& call, std::span<const ir::Type> args,
                      std::span<const ir::Type> results, ir::RegionId* region);
  bool hasTypes(const ir::Values& values) const;
  Status buildFactorisation(const ForeignCall& call);
  Status buildEigenvectors(const ForeignCall& call);
  Status buildLu(const ForeignCall& call);
  Status buildReflectorProduct(const ForeignCall& call);
  Status buildApproxTopK(const ForeignCall& call);
  Status buildTopK(const ForeignCall& call);
  Status buildDynamicBits(const ForeignCall& call);
  Status buildDynamicWindow(const ForeignCall& call);

  // op_forms.cc
  Status buildForm(const WireOp& op, const OpRow& row, const OpAttrs& attrs, Block& block);
  Status buildBroadcast(const WireOp& op, const OpRow& row, const OpAttrs& attrs, Block& block);
  Status buildDot(const WireOp& op, const OpRow& row, const OpAttrs& attrs, Block& block);
  Status buildDeviceId(const WireOp& op, Block& block);
  Status buildPermute(const WireOp& op, const OpRow& row, const OpAttrs& attrs, Block& block);
  Status buildInlined(const WireOp& op, Block& block);
  Status buildTupleElement(const WireOp& op, const OpRow& row, const OpAttrs& attrs);
  Status buildReturn(const WireOp& op, Block& block);
  Status requireOneDevice() const;
  // dynamic_forms.cc
  Status buildDynamic(const WireOp& op, const OpRow& row, const OpAttrs& attrs, Block& block);
  Status buildSliceAt(const WireOp& op, const ir::Values& operands, Block& block);
  Status giveAttribute(ir::Op& built, ir::Value from, std::string_view name) const;
  // refine.cc
  Status noteFunction(const WireOp& op);
  Status argumentTypes(const WireRegion& body, std::vector<ir::Type>& types);
  Status buildInlinedCall(const WireOp& op, const OpRow& row, const OpAttrs& attrs, Block& block);
  Status inlineFunction(std::string_view name, const WireOp& call, const ir::Values& operands,
                        Block& block);
  Status shapeFrom(ir::Value constant, Dims* dims) const;
  Status settleShape(ir::Op& built, ir::Value dims);
  Status takeCallShapes(const WireOp& op, std::string_view target, ir::Values& operands);
  Status shortenResults(ir::Value operand, ir::Value count, int64_t dimension);
  Status requireSizes(const WireOp& op);
  Status settle(const WireOp& op, Block& block);
  Status settleTypes(ir::OpId id);
  Status foldSizes(const WireOp& op, ir::OpId id, Block& block);
  // einsum_form.cc
  Status buildEinsum(const WireOp& op, const OpRow& row, const OpAttrs& attrs, Block& block);
  Status buildIndexSelect(const WireOp& op, const OpRow& row, const OpAttrs& attrs, Block& block);
  // random_form.cc
  Status buildRandom(const WireOp& op, const OpRow& row, const OpAttrs& attrs, Block& block);

  // Appends an op of ours whose results are those of `op`.
  Status append(const WireOp& op, ir::OpKind kind, ir::Values operands, Block& block,
                ir::OpId* id);
  ir::Values operandsOf(const WireOp& op) const;
  // Sets result_types_, and the slots of the values about to be appended to values_.
  Status takeResults(const WireOp& op);
  Status bindArgs(Range args, ir::RegionId region, std::span<const ir::Type> given);
  // Makes values of ours stand for values of the wire; their types must be the wire's.
  Status bind(Range wire_values, const ir::Values& values);
  // Values beyond one for each value of the file: of tuples.
  Status spendValues(size_t count) {
    return count <= 1 ? Status() : budget_.spend(count * sizeof(ir::ValueInfo));
  }

  uint32_t attrNamed(const OpRow& row, const OpAttrs& attrs, std::string_view name) const;
  const WireOpName& nameOf(const WireOp& op) const { return wire_.op_names[op.name]; }
  // The error with the op's name and location, unless an op inside it has already given its own.
  Status located(const WireOp& op, Status error);
  ir::Value converted(ir::Value v, DType to, Block& block, ir::LocId loc = {});
  void widenNarrower(ir::Values& operands, Block& block);
  void convertProduct(ir::OpId id, Block& block);
  // Gives the type of a select_and_scatter's operand where that was promoted.
  std::optional<DType> promoteScattered(ir::OpId id, Block& block);
  void widenArgs(ir::RegionId region, DType from, DType to);
  Status refuse(const WireOp& op) const;
  std::string spelling(const WireOp& op) const;

  const WireModule& wire_;
  Budget budget_;
  ir::Module module_;
  TypeTable types_;
  LocationTable locations_;
  AttrConverter attrs_;
  std::vector<const OpRow*> rows_;  // by op name; null: unknown
  std::vector<Range> slots_;        // of values_, by value of the wire: a tuple has several or none
  std::vector<ir::Value> values_;
  std::vector<ir::Type> result_types_;  // scratch
  bool one_device_ = true;
  // Of a file that leaves sizes open: only main is built, its calls inlined, and each op's result
  // types follow from its operands' (refine.cc).
  bool refines_ = false;
  const GivenArguments& given_;
  std::unordered_map<std::string_view, const WireOp*> functions_;
  int call_depth_ = 0, calls_ = 0;
  bool is_located_ = false;
};

}  // namespace tercel::stablehlo
