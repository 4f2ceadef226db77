// How operands are indexed by the domain of the kernel that reads them.
#include "compiler/plan/access_map.h"

#include <gtest/gtest.h>

#include "compiler/ir/text.h"

namespace tercel::plan {
namespace {

using List = SmallVector<int32_t, 6>;

// The map of operand 0 of the one op of `text` over its result's dimensions.
struct OneOp {
  OneOp(std::string_view args, std::string_view op, std::string_view result)
      : module(*ir::parse(cat("module @m { func @main(", args, ") -> (", result, ") { %r = ", op,
                              " : ", result, " return %r } }"))) {}
  const ir::Op& op() const {
    return module.op(module.region(module.main().body).ops.back());
  }
  AccessMap map() const {
    Domain domain = Domain::of(module.shape(op().result()).dims);
    return operandMap(module, op(), 0, AccessMap::identity(domain), domain);
  }
  ir::Module module;
};

TEST(AccessMap, IdentityLeavesOutUnitDimensions) {
  Domain domain = Domain::of({4, 1, 8});
  AccessMap map = AccessMap::identity(domain);
  EXPECT_EQ(map.dims, (List{0, -1, 2}));
  EXPECT_TRUE(map.isIdentity(domain));
}

TEST(AccessMap, ElementwiseKeepsTheMap) {
  AccessMap map = OneOp("%x: f32[4,8]", "negate(%x)", "f32[4,8]").map();
  EXPECT_TRUE(map.regular);
  EXPECT_EQ(map.dims, (List{0, 1}));
  EXPECT_EQ(map.repeats, 1);
}

TEST(AccessMap, TransposePermutes) {
  AccessMap map =
      OneOp("%x: f32[4,8,2]", "transpose(%x) {permutation = [2, 0, 1]}", "f32[2,4,8]").map();
  EXPECT_TRUE(map.regular);
  EXPECT_EQ(map.dims, (List{1, 2, 0}));
}

TEST(AccessMap, BroadcastAlongRowsIsEvaluatedOnceARow) {
  AccessMap map =
      OneOp("%x: f32[4]", "broadcast_in_dim(%x) {broadcast_dimensions = [0]}", "f32[4,8]").map();
  EXPECT_EQ(map.dims, (List{0}));
  EXPECT_EQ(map.repeats, 1);
}

TEST(AccessMap, BroadcastOverRowsIsEvaluatedInEach) {
  AccessMap map =
      OneOp("%x: f32[8]", "broadcast_in_dim(%x) {broadcast_dimensions = [1]}", "f32[4,8]").map();
  EXPECT_EQ(map.dims, (List{1}));
  EXPECT_EQ(map.repeats, 4);
}

TEST(AccessMap, ReshapeOfUnitDimensionsIsRegularAndNoOther) {
  AccessMap units = OneOp("%x: f32[4,1,8]", "reshape(%x)", "f32[1,4,8]").map();
  EXPECT_TRUE(units.regular);
  EXPECT_EQ(units.dims, (List{1, -1, 2}));
  EXPECT_FALSE(OneOp("%x: f32[32]", "reshape(%x)", "f32[4,8]").map().regular);
}

TEST(AccessMap, UsesThatDifferAddUp) {
  Domain domain = Domain::of({4, 4});
  AccessMap identity = AccessMap::identity(domain), turned = identity;
  turned.dims = {1, 0};
  EXPECT_EQ(meet(identity, identity).dims, identity.dims);
  EXPECT_FALSE(meet(identity, turned).regular);
  EXPECT_EQ(meet(identity, turned).repeats, 2);
}

TEST(ExtendForReduce, AppendsTheReducedDimensions) {
  OneOp reduce("%x: f32[4,8], %z: f32[]",
               "reduce(%x, %z) {dimensions = [1]} body(%a: f32[], %b: f32[]) "
               "{ %s = add(%a, %b) : f32[] return %s }",
               "f32[4]");
  Domain domain = Domain::of({4});
  ASSERT_TRUE(extendForReduce(reduce.module, reduce.op(), AccessMap::identity(domain), domain));
  EXPECT_EQ(domain.extents, (Dims{4, 8}));
  EXPECT_EQ(domain.reduced, (std::vector<bool>{false, true}));
  AccessMap rows;
  rows.dims = {0};
  EXPECT_EQ(operandMap(reduce.module, reduce.op(), 0, rows, domain).dims, (List{0, 1}));
  // Rows of another length do not fit.
  Domain other{{4, 9}, {false, true}};
  EXPECT_FALSE(extendForReduce(reduce.module, reduce.op(), rows, other));
}

}  // namespace
}  // namespace tercel::plan
