// The reader on programs written here: what JAX does not write, and what nobody should.
#include <gtest/gtest.h>

#include "compiler/ir/text.h"
#include "compiler/ir/verifier.h"
#include "compiler/stablehlo/op_map.h"
#include "compiler/stablehlo/reader.h"
#include "stablehlo/listing.h"
#include "stablehlo/program_writer.h"

namespace tercel::stablehlo {
namespace {

Result<ir::Module> read(const std::string& bytes) {
  return readStablehlo(std::as_bytes(std::span(bytes)));
}

std::vector<std::string> lines(const std::string& bytes) {
  Result<ir::Module> module = read(bytes);
  if (!module.ok()) return {module.status().message()};
  Status verified = ir::verify(*module);
  return verified.ok() ? listing(*module) : std::vector<std::string>{verified.message()};
}

void expectError(const std::string& bytes, Code code, std::string_view words) {
  Result<ir::Module> module = read(bytes);
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.status().code(), code) << module.status().message();
  EXPECT_NE(module.status().message().find(words), std::string::npos) << module.status().message();
}

using Lines = std::vector<std::string>;

TEST(StablehloReader, ReadsAProgram) {
  ProgramWriter p;
  p.add("add_v1", {0, 0}, {p.f32x2});
  p.ret({1});
  EXPECT_EQ(lines(p.finish({p.f32x2})),
            (Lines{"func main (f32[2])", "add %0 %0 : f32[2]", "return %1"}));
}

TEST(StablehloReader, SettlesOpenSizes) {
  ProgramWriter p;
  uint32_t open = p.tensor(p.f32, {-1});
  p.add("negate_v1", {0}, {open});
  p.add("add_v1", {1, 0}, {open});
  p.ret({2});
  EXPECT_EQ(lines(p.finish({open})),
            (Lines{"func main (f32[2])", "negate %0 : f32[2]", "add %1 %0 : f32[2]", "return %2"}));
  ProgramWriter wrong;
  wrong.add("negate_v1", {0}, {wrong.tensor(wrong.f32, {-1, 3})});
  wrong.ret({1});
  expectError(wrong.finish({wrong.f32x2}), Code::invalid_argument, "its result cannot be f32[2]");
}

// What is computed with sizes on the way goes to the evaluator, which takes what is well typed.
TEST(StablehloReader, RefusesSizesOfWrongTypes) {
  ProgramWriter p;
  uint32_t open = p.tensor(p.f32, {-1}), scalar = p.tensor(p.s64, {});
  p.add("constant_v1", {}, {scalar}, {p.intsAttr({1, 2})});
  p.add("negate_v1", {1}, {scalar});
  p.add("negate_v1", {0}, {open});
  p.ret({3});
  expectError(p.finish({open}), Code::invalid_argument,
              "its types are (s64[2]), not the declared (s64[])");
}

TEST(StablehloReader, RewritesOldOps) {
  ProgramWriter p;
  uint32_t f32x32 = p.tensor(p.f32, {3, 2}), scalar = p.tensor(p.f32, {});
  uint32_t none = p.w.attr(kVhlo, varints({1, 0}));
  p.add("broadcast_v1", {0}, {f32x32}, {p.intsAttr({3})});
  p.add("dot_v1", {0, 0}, {scalar}, {none});
  p.ret({1, 2});
  EXPECT_EQ(lines(p.finish({f32x32, scalar})),
            (Lines{"func main (f32[2])", "broadcast_in_dim %0 broadcast_dimensions=[1] : f32[3,2]",
                   "dot_general %0 %0 lhs_batching_dimensions=[] lhs_contracting_dimensions=[0] "
                   "rhs_batching_dimensions=[] rhs_contracting_dimensions=[0] : f32[]",
                   "return %1 %2"}));
}

TEST(StablehloReader, FlattensTuples) {
  ProgramWriter p;
  uint32_t pair = p.w.type(kVhlo, varints({23, 2, p.f32x2, p.f32x2}));
  uint32_t nested = p.w.type(kVhlo, varints({23, 2, pair, p.f32x2}));
  uint32_t s32 = p.w.type(kVhlo, varint(13));
  uint32_t zero = p.w.attr(kVhlo, varints({9, s32}) + svarint(0));
  p.add("negate_v1", {0}, {p.f32x2});
  p.add("tuple_v1", {0, 1}, {pair});
  p.add("tuple_v1", {2, 0}, {nested});
  p.add("get_tuple_element_v1", {3}, {pair}, {zero});
  p.add("get_tuple_element_v1", {4}, {p.f32x2}, {zero});
  p.ret({5, 3});
  EXPECT_EQ(lines(p.finish({p.f32x2, nested})),
            (Lines{"func main (f32[2])", "negate %0 : f32[2]", "return %0 %0 %1 %0"}));
}

// What is asynchronous is done where it starts.
TEST(StablehloReader, WaitsForFuturesAtOnce) {
  ProgramWriter p;
  uint32_t future = p.w.type(kVhlo, varints({42, 1, p.f32x2}));
  uint32_t negate = p.w.op(kVhlo, "negate_v1"), ret = p.w.op(kVhlo, "return_v1");
  // One region of one block with one argument, and two ops: %4 = negate %3, return %4. The numbers
  // of main's own values, 0 to 2, come before.
  std::string body = varints({2, 1, 2, 5, 1, 2 * p.f32x2}) + '\0' + varint(negate) + char(6) +
                     varints({p.location, 1, p.f32x2, 1, 3}) + varint(ret) + char(4) +
                     varints({p.location, 1, 4});
  p.add("async_start_v1", {0}, {future}, {}, body);
  p.add("async_done_v1", {1}, {p.f32x2});
  p.ret({2});
  EXPECT_EQ(lines(p.finish({p.f32x2})),
            (Lines{"func main (f32[2])", "negate %0 : f32[2]", "return %1"}));
}

TEST(StablehloReader, ReadsConstantsOfEveryPacking) {
  ProgramWriter p;
  uint32_t pred = p.w.type(kVhlo, varint(0));
  uint32_t p9 = p.tensor(pred, {9}), p1 = p.tensor(pred, {1});
  uint32_t complex = p.w.type(kVhlo, varints({1, p.f32})), c1 = p.tensor(complex, {2});
  struct Case {
    uint32_t type;
    std::string blob;
    std::vector<uint8_t> bytes;
  } cases[] = {{p9, "\xff", std::vector<uint8_t>(9, 1)},
               {p9, std::string(1, '\0'), std::vector<uint8_t>(9, 0)},
               {p9, std::string("\x05\x01"), {1, 0, 1, 0, 0, 0, 0, 0, 1}},
               {p9, std::string("\1\0\1\0\0\0\0\0\1", 9), {1, 0, 1, 0, 0, 0, 0, 0, 1}},
               {p1, "\xff", {1}},
               {p1, "\1", {1}},
               {c1, "abcdefghABCDEFGH", {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h',
                                         'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H'}}};
  std::vector<uint32_t> types;
  std::vector<uint32_t> values;
  for (const Case& c : cases) {
    p.add("constant_v1", {}, {c.type}, {p.tensorAttr(c.type, c.blob)});
    types.push_back(c.type);
    values.push_back(static_cast<uint32_t>(values.size() + 1));
  }
  p.ret(values);
  Result<ir::Module> module = read(p.finish(types));
  ASSERT_TRUE(module.ok()) << module.status().message();
  for (size_t i = 0; i < std::size(cases); ++i) {
    ir::Literal all = module->op({static_cast<uint32_t>(i)}).literal().expanded();
    auto bytes = reinterpret_cast<const uint8_t*>(all.bytes().data());
    EXPECT_EQ(std::vector<uint8_t>(bytes, bytes + all.bytes().size()), cases[i].bytes) << i;
  }
}

TEST(StablehloReader, SharesEqualConstants) {
  ProgramWriter p;
  uint32_t attr = p.tensorAttr(p.f32x2, "abcdefgh");
  p.add("constant_v1", {}, {p.f32x2}, {attr});
  p.add("constant_v1", {}, {p.f32x2}, {attr});
  p.ret({1});
  Result<ir::Module> module = read(p.finish({p.f32x2}));
  ASSERT_TRUE(module.ok());
  EXPECT_EQ(module->op({0}).literal().bytes().data(), module->op({1}).literal().bytes().data());
}

TEST(StablehloReader, NamesWhatItRefuses) {
  {
    ProgramWriter p;
    uint32_t file = p.w.attr(kBuiltin, varints({2, p.w.string("model.py")}));
    p.location = p.w.attr(kBuiltin, varints({11, file, 7, 3}));
    p.add("unheard_of_v3", {0}, {p.f32x2});
    p.ret({1});
    expectError(p.finish({p.f32x2}), Code::unimplemented, "vhlo.unheard_of_v3 at model.py:7:3");
  }
  {
    // An op without a line is where its function is.
    ProgramWriter p;
    uint32_t file = p.w.attr(kBuiltin, varints({2, p.w.string("model.py")}));
    uint32_t name = p.w.attr(kBuiltin, varints({2, p.w.string("einsum")}));
    p.function_location = p.w.attr(kBuiltin, varints({11, file, 7, 3}));
    p.location = p.w.attr(kBuiltin, varints({14, name, p.location}));
    p.add("uniform_quantize_v1", {0}, {p.f32x2});
    p.ret({1});
    expectError(p.finish({p.f32x2}), Code::unimplemented,
                "stablehlo.uniform_quantize at einsum (model.py:7:3): this op on (tensor<2xf32>)");
  }
  {
    ProgramWriter p;
    p.add("uniform_quantize_v1", {0}, {p.f32x2}, {}, "", kStrange);
    p.ret({1});
    expectError(p.finish({p.f32x2}), Code::unimplemented, "strange.uniform_quantize_v1");
  }
  {
    ProgramWriter p;
    p.add("negate_v1", {0}, {p.w.type(kVhlo, varints({99}))});
    p.ret({1});
    expectError(p.finish({p.f32x2}), Code::unimplemented, "type 99 of dialect vhlo");
  }
  {
    ProgramWriter p;
    p.add("iota_v1", {}, {p.f32x2}, {p.w.attr(kStrange, varints({1, 2, 3}))});
    p.ret({1});
    expectError(p.finish({p.f32x2}), Code::unimplemented, "strange");
  }
  expectError("module {}", Code::unimplemented, "MLIR text");
  ProgramWriter p;
  p.ret({0});
  expectError(p.finish({p.f32x2}, 7), Code::unimplemented, "bytecode version 7");
}

// The call's own values lie in memory as their types say; transposes are around it.
TEST(StablehloReader, WritesTheLayoutsOfCustomCallsAsTransposes) {
  ProgramWriter p;
  uint32_t wide = p.tensor(p.f32, {2, 3}), target = p.w.text("unheard_of"), empty = p.w.text("");
  uint32_t one = p.w.attr(kVhlo, varints({5, 1})), no = p.w.attr(kVhlo, varints({2, 0}));
  uint32_t none = p.w.attr(kVhlo, varints({1, 0}));
  uint32_t rows = p.w.attr(kVhlo, varints({1, 1, p.intsAttr({0})}));
  uint32_t columns = p.w.attr(kVhlo, varints({1, 1, p.intsAttr({0, 1})}));
  p.add("custom_call_v1", {0}, {wide}, {one, empty, target, none, no, rows, none, columns});
  p.add("custom_call_v1", {1}, {p.f32x2}, {one, empty, target, none, no, columns, none, rows});
  p.ret({2});
  Result<ir::Module> module = read(p.finish({p.f32x2}));
  ASSERT_TRUE(module.ok()) << module.status().message();
  std::string text = ir::print(*module);
  for (const char* line :
       {"%1 = custom_call(%0) {api_version = 1, call_target_name = unheard_of, "
        "result_layouts = [0, 1]} : f32[3,2]\n",
        "%2 = transpose(%1) {permutation = [1, 0]} : f32[2,3]\n",
        "%3 = transpose(%2) {permutation = [1, 0]} : f32[3,2]\n",
        "%4 = custom_call(%3) {api_version = 1, call_target_name = unheard_of, "
        "operand_layouts = [0, 1]} : f32[2]\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "in\n" << text;
}

// Layouts and aliases that cannot be.
TEST(StablehloReader, RefusesCustomCallsThatCannotBe) {
  for (std::vector<int64_t> layout : {std::vector<int64_t>{1}, {0, 1}, {}, {-1}}) {
    ProgramWriter p;
    uint32_t target = p.w.text("unheard_of"), empty = p.w.text("");
    uint32_t one = p.w.attr(kVhlo, varints({5, 1})), no = p.w.attr(kVhlo, varints({2, 0}));
    uint32_t none = p.w.attr(kVhlo, varints({1, 0}));
    uint32_t bad = p.w.attr(kVhlo, varints({1, 1, p.intsAttr(layout)}));
    p.add("custom_call_v1", {0}, {p.f32x2}, {one, empty, target, none, no, bad, none, none});
    p.ret({1});
    expectError(p.finish({p.f32x2}), Code::invalid_argument, "no order of the dimensions");
  }
}

TEST(StablehloReader, SaysWhereBytesAreWrong) {
  expectError("", Code::invalid_argument, "byte 0");
  expectError(std::string("\0\1\2\3", 4), Code::invalid_argument, "not MLIR bytecode");
  ProgramWriter p;
  p.ret({5});
  expectError(p.finish({p.f32x2}), Code::invalid_argument, "at byte");
}

TEST(StablehloReader, EndsOnCyclesAndSharing) {
  {
    // A location inside itself.
    ProgramWriter p;
    uint32_t name = p.w.attr(kBuiltin, varints({2, p.w.string("n")}));
    p.location = p.w.attr(kBuiltin, varints({14, name, name + 1}));
    p.add("negate_v1", {0}, {p.f32x2});
    p.ret({1});
    EXPECT_TRUE(read(p.finish({p.f32x2})).ok());
  }
  {
    // A tuple of itself.
    ProgramWriter p;
    uint32_t tuple = p.w.type(kVhlo, varints({23, 1, p.f32x2 + 1}));
    p.add("tuple_v1", {0}, {tuple});
    p.ret({1});
    expectError(p.finish({tuple}), Code::unimplemented, "nested deeper");
  }
  {
    // Tuples of tuples without any leaf: 100^10 of them.
    ProgramWriter p;
    uint32_t tuple = p.w.type(kVhlo, varints({23, 0}));
    for (int i = 0; i < 10; ++i) {
      std::string bytes = varints({23, 100});
      for (int k = 0; k < 100; ++k) bytes += varint(tuple);
      tuple = p.w.type(kVhlo, bytes);
    }
    p.add("tuple_v1", {0}, {tuple});
    p.ret({1});
    expectError(p.finish({tuple}), Code::unimplemented, "a tuple of more than");
  }
  {
    // Dictionaries in dictionaries: 50^15 entries.
    ProgramWriter p;
    uint32_t key = p.w.text("x"), config = key;
    for (int i = 0; i < 15; ++i) {
      std::string bytes = varints({6, 50});
      for (int k = 0; k < 50; ++k) bytes += varints({key, config});
      config = p.w.attr(kVhlo, bytes);
    }
    uint32_t one = p.w.attr(kVhlo, varints({5, 1})), no = p.w.attr(kVhlo, varints({2, 0}));
    uint32_t list = p.w.attr(kVhlo, varints({1, 0}));
    p.add("custom_call_v1", {0}, {p.f32x2}, {one, config, key, list, no, list, list, list});
    p.ret({1});
    expectError(p.finish({p.f32x2}), Code::resource_exhausted, "too much shared");
  }
}

// A `case` in a `case` in a ..., each with one region.
std::string nestedCases(uint32_t op, uint32_t depth) {
  std::string inner = varint(0);
  for (uint32_t i = 0; i < depth; ++i)
    inner = varints({1, 0, 2}) + varint(op) + char(0x14) + varints({0, 1, 0, 2}) + inner;
  return varint(2) + inner;
}

TEST(StablehloReader, RefusesDeepNesting) {
  for (uint32_t depth : {10u, 5000u}) {
    ProgramWriter p;
    uint32_t op = p.w.op(kVhlo, "case_v1");
    p.add("case_v1", {0}, {}, {}, nestedCases(op, depth));
    p.ret({0});
    if (depth == 10)
      expectError(p.finish({p.f32x2}), Code::invalid_argument, "empty region");
    else
      expectError(p.finish({p.f32x2}), Code::unimplemented, "nested deeper than");
  }
}

TEST(StablehloReader, OpTableIsInOrder) {
  for (const OpRow& row : allOps()) {
    for (size_t i = 1; i < row.attrs.size(); ++i)
      EXPECT_LT(row.attrs[i - 1].name, row.attrs[i].name) << row.name;
    if (row.form != OpForm::op) continue;
    for (const OpAttr& attr : row.attrs)
      EXPECT_NE(attr.rule, AttrRule::none) << row.name << ' ' << attr.name;
  }
  EXPECT_EQ(findOp("vhlo", "add_v1")->kind, ir::OpKind::add_);
  EXPECT_EQ(findOp("vhlo", "add_v9"), nullptr);
}

}  // namespace
}  // namespace tercel::stablehlo
