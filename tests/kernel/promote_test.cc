// Scratch memory that becomes values, seen on the text.
#include "compiler/kernel/promote.h"

#include <gtest/gtest.h>

#include "compiler/kernel/builder.h"
#include "compiler/kernel/text.h"
#include "compiler/kernel/verifier.h"

namespace tercel::kernel {
namespace {

using Values = Builder::Values;

struct Promote : testing::Test {
  Kernel kernel{.name = "k"};
  Builder b{kernel};
  BufferId in = b.addParam(Scalar::f32, true), out = b.addParam(Scalar::f32, false);
  BufferId scratch = b.addScratch(Scalar::f32, 8);

  V read(BufferId buffer, int64_t at, int lanes = 4) {
    return b.load(buffer, b.index(at), static_cast<uint16_t>(lanes));
  }
  void write(BufferId buffer, int64_t at, V value) { b.store(buffer, b.index(at), value); }
  // How many instructions of the op are left that read or write the scratch memory.
  int left() {
    promoteScratch(kernel);
    EXPECT_TRUE(verify(kernel).ok()) << verify(kernel).message() << print(kernel);
    int count = 0;
    for (const Block& block : kernel.blocks)
      for (InstId id : block.insts) {
        const Inst& inst = kernel.insts[id];
        count += instClass(inst.op) == InstClass::memory && inst.imm == scratch;
      }
    return count;
  }
  const Inst& only(Opcode op) {
    const Inst* found = nullptr;
    for (const Block& block : kernel.blocks)
      for (InstId id : block.insts)
        if (kernel.insts[id].op == op) found = &kernel.insts[id];
    return *found;
  }
  void turns(const std::function<void(V)>& body) {
    b.forLoop(b.index(0), b.taskBegin(), 1, body);
  }
};

TEST_F(Promote, IsCarriedThroughALoop) {
  write(scratch, 0, read(in, 0));
  turns([&](V) { write(scratch, 0, b.binary(Opcode::fmul, read(scratch, 0), read(in, 4))); });
  write(out, 0, read(scratch, 0));
  EXPECT_EQ(left(), 0);
  EXPECT_EQ(only(Opcode::for_).results.size(), 1u);
  EXPECT_EQ(only(Opcode::store).operands[1], only(Opcode::for_).results[0]);
}

TEST_F(Promote, IsNotCarriedWhereEachTurnStoresFirst) {
  turns([&](V i) {
    write(scratch, 0, read(in, 0));
    b.store(out, i, read(scratch, 0));
  });
  write(out, 0, read(in, 0));
  EXPECT_EQ(left(), 0);
  EXPECT_TRUE(only(Opcode::for_).results.empty());
}

TEST_F(Promote, IsAResultOfABranch) {
  write(scratch, 0, read(in, 0));
  V condition = b.compare(Opcode::icmp, Predicate::sgt, b.taskBegin(), b.index(0));
  b.ifThen(condition, [&] { write(scratch, 0, read(in, 4)); });
  write(out, 0, read(scratch, 0));
  EXPECT_EQ(left(), 0);
  EXPECT_EQ(only(Opcode::if_).results.size(), 1u);
}

TEST_F(Promote, OfPartsEachIsAValue) {
  write(scratch, 0, read(in, 0));
  write(scratch, 4, read(in, 4));
  turns([&](V) {
    V first = read(scratch, 0);
    write(scratch, 0, read(scratch, 4));
    write(scratch, 4, first);
  });
  write(out, 0, read(scratch, 0));
  EXPECT_EQ(left(), 0);
  EXPECT_EQ(only(Opcode::for_).results.size(), 2u);
}

TEST_F(Promote, OfPartsThatOverlapItIsOneValue) {
  write(scratch, 0, read(in, 0));
  write(scratch, 2, read(in, 8, 1));
  write(out, 0, read(scratch, 2));
  EXPECT_EQ(left(), 0);
  EXPECT_NE(print(kernel).find("[0, 7, -1, -1]"), std::string::npos) << print(kernel);
}

TEST_F(Promote, StaysWherePartsOverlapInMoreThanARegister) {
  BufferId large = scratch = b.addScratch(Scalar::f32, 32);
  write(large, 0, read(in, 0, 16));
  write(out, 0, read(large, 8, 16));
  EXPECT_EQ(left(), 2);
}

TEST_F(Promote, StaysWhereAPlaceIsUnknown) {
  write(scratch, 0, read(in, 0));
  turns([&](V i) { b.store(out, i, b.load(scratch, i, 1)); });
  EXPECT_EQ(left(), 2);
}

TEST_F(Promote, StaysWhereAConditionStores) {
  V zero = b.index(0);
  b.whileLoop({&zero, 1}, [&](auto v) {
    write(scratch, 0, read(in, 0));
    return b.compare(Opcode::icmp, Predicate::slt, v[0], b.taskBegin());
  }, [&](auto v) { return Values{b.iadd(v[0], b.index(1))}; });
  write(out, 0, read(scratch, 0));
  EXPECT_EQ(left(), 2);
}

}  // namespace
}  // namespace tercel::kernel
