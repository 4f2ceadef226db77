// The IR section: a tree of ops and regions, read without recursion.
#include "compiler/stablehlo/bytecode_reader.h"

namespace tercel::stablehlo {
namespace {

enum OpMask : uint8_t {
  kHasAttrs = 1,
  kHasResults = 2,
  kHasOperands = 4,
  kHasSuccessors = 8,
  kHasRegions = 16,
  kHasUseListOrders = 32,
  kHasProperties = 64,
};

// Bytecode versions at which the encoding changed.
constexpr uint64_t kIsolatedSectionsSince = 2;
constexpr uint64_t kUseListOrdersSince = 3;
constexpr uint64_t kOptionalArgLocationsSince = 4;

class OpSection {
 public:
  OpSection(ByteCursor cursor, std::span<const Bytes> properties, WireModule& wire)
      : properties_(properties), wire_(wire) {
    cursors_.push_back(cursor);
    // Most ops take ten bytes and more.
    wire_.ops.reserve(cursor.remaining() / 10);
    wire_.value_types.reserve(cursor.remaining() / 10);
    wire_.operand_values.reserve(cursor.remaining() / 10);
  }

  void read() {
    pushRegions(kNone, 1, false);
    readBlockHeader(wire_.regions[0]);
    while (!frames_.empty() && ok()) step();
  }

 private:
  // The regions of one op, being read one after the other.
  struct Frame {
    uint32_t op;  // kNone: the top level
    uint32_t region;
    uint32_t regions_end;
    uint32_t ops_left = 0;
    bool in_block = false;
    bool isolated;
    size_t scope_base;   // of the isolated scope around
    size_t scope_begin;  // of this region's values
    size_t next_value = 0;    // number of the region's next definition
    size_t first_result = 0;  // number of the op's first result, defined after its regions
  };

  ByteCursor& cursor() { return cursors_.back(); }
  bool ok() const { return cursors_.back().ok(); }

  void step() {
    Frame& frame = frames_.back();
    if (frame.ops_left > 0) {
      --frame.ops_left;
      return readOp();
    }
    if (frame.in_block) {
      scope_.resize(frame.scope_begin);
      frame.in_block = false;
      ++frame.region;
    }
    if (frame.region == frame.regions_end) return popFrame();
    beginRegion();
  }

  void pushRegions(uint32_t op, uint32_t count, bool isolated) {
    if (frames_.size() >= kMaxRegionDepth)
      return cursor().refuse(cat("regions nested deeper than ", kMaxRegionDepth));
    auto first = static_cast<uint32_t>(wire_.regions.size());
    wire_.regions.resize(first + count);
    Frame frame{.op = op, .region = first, .regions_end = first + count, .isolated = isolated};
    frame.scope_base = frames_.empty() || isolated ? scope_.size() : frames_.back().scope_base;
    frame.scope_begin = scope_.size();
    frames_.push_back(frame);
    if (!isolated || wire_.version < kIsolatedSectionsSince) return;
    Section section = readSection(cursor());
    if (ok() && section.id != kIrSection) cursor().fail("a region's section is no IR section");
    cursors_.push_back(cursor().over(section.bytes));
  }

  void popFrame() {
    Frame frame = frames_.back();
    frames_.pop_back();
    if (frame.op == kNone) return;
    WireOp& op = wire_.ops[frame.op];
    op.end = static_cast<uint32_t>(wire_.ops.size());
    if (frame.isolated && wire_.version >= kIsolatedSectionsSince) cursors_.pop_back();
    define(op.results, frame.first_result);
  }

  void beginRegion() {
    Frame& frame = frames_.back();
    uint64_t blocks = cursor().varint();
    if (blocks == 0) {
      ++frame.region;
      return;
    }
    if (blocks > 1) return cursor().refuse(cat("a region of ", blocks, " blocks"));
    uint32_t values = cursor().count("number of values");
    frame.scope_begin = frame.next_value = scope_.size();
    scope_.resize(scope_.size() + values, kNone);
    readBlockHeader(wire_.regions[frame.region]);
  }

  void readBlockHeader(WireRegion& region) {
    bool has_args = false;
    uint64_t ops = cursor().varintWithFlag(&has_args);
    if (ops > cursor().remaining()) return cursor().fail("a block with more ops than bytes");
    Frame& frame = frames_.back();
    frame.in_block = true;
    frame.ops_left = static_cast<uint32_t>(ops);
    if (has_args) readBlockArgs(region);
    region.has_block = true;
    region.ops = static_cast<uint32_t>(wire_.ops.size());
    region.op_count = frame.ops_left;
    if (wire_.version >= kUseListOrdersSince && has_args && cursor().byte() != 0)
      skipUseListOrders(region.args.count);
  }

  void readBlockArgs(WireRegion& region) {
    uint32_t n = cursor().count("number of block arguments");
    region.args = {static_cast<uint32_t>(wire_.value_types.size()), n};
    for (uint32_t i = 0; i < n && ok(); ++i) {
      bool has_location = true;
      uint64_t type = wire_.version >= kOptionalArgLocationsSince
                          ? cursor().varintWithFlag(&has_location)
                          : cursor().varint();
      wire_.value_types.push_back(cursor().below(type, wire_.types.size(), "type"));
      if (has_location) cursor().index(wire_.attrs.size(), "location");
    }
    size_t first_value = frames_.back().next_value;
    takeNumbers(n);
    if (ok()) define(region.args, first_value);
  }

  // Values are numbered in the order of their definitions. Those of the top level have no numbers.
  void takeNumbers(uint32_t n) {
    Frame& frame = frames_.back();
    if (frames_.size() == 1) return;
    if (n > scope_.size() - frame.next_value)
      return cursor().fail("more values than their region announces");
    frame.next_value += n;
  }

  void define(Range values, size_t first_value) {
    if (frames_.size() == 1) return;
    for (uint32_t i = 0; i < values.count; ++i) scope_[first_value + i] = values.begin + i;
  }

  void readOp() {
    auto id = static_cast<uint32_t>(wire_.ops.size());
    WireOp op;
    op.name = cursor().index(wire_.op_names.size(), "op name");
    uint8_t mask = cursor().byte();
    op.location = cursor().index(wire_.attrs.size(), "location");
    if (mask & kHasAttrs) op.attrs = cursor().index(wire_.attrs.size(), "attribute");
    if (mask & kHasProperties) {
      uint32_t index = cursor().index(properties_.size(), "properties");
      if (ok()) op.properties = properties_[index];
    }
    if (mask & kHasResults) readResultTypes(op);
    if (mask & kHasOperands) readOperands(op);
    if (mask & kHasSuccessors) return cursor().refuse("an op with successor blocks");
    if (wire_.version >= kUseListOrdersSince && (mask & kHasUseListOrders))
      skipUseListOrders(op.results.count);
    bool isolated = false;
    uint64_t regions = mask & kHasRegions ? cursor().varintWithFlag(&isolated) : 0;
    if (regions > cursor().remaining()) return cursor().fail("an op with more regions than bytes");
    size_t first_value = frames_.back().next_value;
    takeNumbers(op.results.count);
    if (!ok()) return;
    op.regions = {static_cast<uint32_t>(wire_.regions.size()), static_cast<uint32_t>(regions)};
    op.end = id + 1;
    wire_.ops.push_back(op);
    if (regions == 0) return define(op.results, first_value);
    pushRegions(id, op.regions.count, isolated);
    frames_.back().first_result = first_value;
  }

  void readResultTypes(WireOp& op) {
    uint32_t n = cursor().count("number of results");
    op.results = {static_cast<uint32_t>(wire_.value_types.size()), n};
    for (uint32_t i = 0; i < n; ++i)
      wire_.value_types.push_back(cursor().index(wire_.types.size(), "type"));
  }

  void readOperands(WireOp& op) {
    uint32_t n = cursor().count("number of operands");
    op.operands = {static_cast<uint32_t>(wire_.operand_values.size()), n};
    size_t base = frames_.back().scope_base;
    for (uint32_t i = 0; i < n && ok(); ++i) {
      uint32_t index = cursor().index(scope_.size() - base, "value");
      if (!ok()) return;
      uint32_t value = scope_[base + index];
      if (value == kNone) return cursor().fail("a value is used before its definition");
      wire_.operand_values.push_back(value);
    }
  }

  // The order of a value's uses in MLIR's lists: nothing to us.
  void skipUseListOrders(uint32_t values) {
    uint32_t n = values > 1 ? cursor().count("number of use lists") : 1;
    for (uint32_t i = 0; i < n && ok(); ++i) {
      if (values > 1) cursor().varint();
      bool pairs = false;
      uint64_t indices = cursor().varintWithFlag(&pairs);
      if (indices > cursor().remaining()) return cursor().fail("a use list longer than its bytes");
      for (uint64_t k = 0; k < indices; ++k) cursor().varint();
    }
  }

  std::span<const Bytes> properties_;
  WireModule& wire_;
  std::vector<ByteCursor> cursors_;
  std::vector<Frame> frames_;
  std::vector<uint32_t> scope_;  // value ids by number, of all open regions; kNone: not yet defined
};

}  // namespace

void readOps(ByteCursor cursor, std::span<const Bytes> properties, WireModule& wire) {
  OpSection(cursor, properties, wire).read();
}

}  // namespace tercel::stablehlo
