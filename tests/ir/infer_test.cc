#include "compiler/ir/infer.h"

#include <gtest/gtest.h>

#include "bad_uses.h"
#include "compiler/ir/window.h"
#include "module_text.h"
#include "op_examples.h"

namespace tercel::ir {
namespace {

TEST(Inference, RefusesBadUses) {
  for (const BadUse& use : kBadUses) {
    std::string error = errorOf(mainOf(use.args, use.body));
    EXPECT_TRUE(mentions(error, use.error)) << use.body << "\n  gave: " << error;
  }
}

TEST(Inference, ErrorsNameOpTypesAndPlace) {
  std::string error = errorOf(mainOf("%0: f32[4], %1: f32[5]",
                                     R"(%2 = add(%0, %1) : f32[4] loc("jit(f)/add model.py:3"))"));
  EXPECT_TRUE(mentions(error, "@main")) << error;
  EXPECT_TRUE(mentions(error, "jit(f)/add model.py:3")) << error;
  EXPECT_TRUE(mentions(error, "add(f32[4], f32[5])")) << error;
}

struct Parsed {
  Module module;
  OpId op;  // the example's, the last of main
  std::vector<Type> types;
};

Parsed parsed(const OpExample& example) {
  auto module = parse(moduleOf(example));
  TERCEL_CHECK(module.ok(), module.status().message());
  Parsed result{std::move(*module), {}, {}};
  result.op = result.module.region(result.module.main().body).ops.back();
  for (Value v : result.module.op(result.op).results) result.types.push_back(result.module.type(v));
  return result;
}

TEST(Inference, MissingAttributesGiveErrorsOrTheSameTypes) {
  for (const OpExample& example : kOpExamples) {
    Parsed p = parsed(example);
    const Op& op = p.module.op(p.op);
    for (size_t i = 0; i < op.attrs.size(); ++i) {
      auto attrs = op.attrs;
      attrs.erase(attrs.begin() + static_cast<std::ptrdiff_t>(i));
      auto types = inferTypes(p.module, op.kind, op.operands, attrs, op.regions, p.types);
      if (types.ok()) {
        EXPECT_EQ(*types, p.types) << example.body;
      }
    }
  }
}

// Under the sanitizers this is a test of the arithmetic, too.
TEST(Inference, ExtremeAttributesGiveErrorsOrGoodTypes) {
  constexpr int64_t kExtremes[] = {INT64_MIN, -1, 0, 1, int64_t{1} << 40, INT64_MAX};
  for (const OpExample& example : kOpExamples) {
    Parsed p = parsed(example);
    Op& op = p.module.op(p.op);
    for (auto& [key, attr] : op.attrs) {
      Attr saved = attr;
      for (int64_t extreme : kExtremes) {
        if (auto* list = std::get_if<Ints>(&attr)) *list = Ints(list->size(), extreme);
        if (auto* number = std::get_if<int64_t>(&attr)) *number = extreme;
        for (std::span<const Type> declared : {std::span<const Type>(p.types), {}}) {
          auto types = inferTypes(p.module, op.kind, op.operands, op.attrs, op.regions, declared);
          if (!types.ok()) continue;
          for (const Type& type : *types)
            EXPECT_TRUE(sizeIsRepresentable(type.shape.dims, byteSize(type.shape.dtype)))
                << example.body << ' ' << attrName(key) << ' ' << extreme;
        }
      }
      attr = saved;
    }
  }
}

TEST(Inference, AttributeOfAnotherKind) {
  auto module = parse(mainOf("%0: f32[4]", "%1 = reverse(%0) {dimensions = [0]} : f32[4]"));
  ASSERT_TRUE(module.ok());
  Op& op = module->op(module->region(module->main().body).ops[0]);
  op.set(AttrKey::dimensions, int64_t{0});
  EXPECT_TRUE(mentions(verify(*module).message(), "dimensions has a value of another kind"));
}

TEST(Inference, PreferredElementTypeIsTheDeclaredOne) {
  constexpr std::string_view kArgs = "%0: bf16[4,8], %1: bf16[8,2]";
  constexpr std::string_view kDot =
      "%2 = dot_general(%0, %1) {lhs_contracting_dimensions = [1], "
      "rhs_contracting_dimensions = [0]} : ";
  EXPECT_EQ(errorOf(mainOf(kArgs, cat(kDot, "f32[4,2]"))), "");
  EXPECT_TRUE(mentions(errorOf(mainOf(kArgs, cat(kDot, "c64[4,2]"))), "cannot accumulate in c64"));
}

int64_t countByWalking(const WindowDim& d) {
  auto dilated = [](int64_t n, int64_t by) { return n == 0 ? 0 : (n - 1) * by + 1; };
  int64_t padded = d.low + dilated(d.size, d.base_dilation) + d.high;
  int64_t window = dilated(d.window, d.window_dilation), count = 0;
  if (padded <= 0) return 0;
  for (int64_t at = 0; at + window <= padded; at += d.stride) ++count;
  return count;
}

TEST(Window, CountAgreesWithWalking) {
  for (int64_t size : {0, 1, 2, 5, 9})
    for (int64_t window : {1, 2, 3})
      for (int64_t stride : {1, 2, 4})
        for (int64_t base : {1, 2})
          for (int64_t dilation : {1, 3})
            for (int64_t low : {-2, 0, 3})
              for (int64_t high : {-4, 0, 1}) {
                WindowDim dim{size, window, stride, base, dilation, low, high};
                EXPECT_EQ(static_cast<int64_t>(windowCount(dim)), countByWalking(dim))
                    << size << ' ' << window << ' ' << stride << ' ' << base << ' ' << dilation
                    << ' ' << low << ' ' << high;
              }
}

}  // namespace
}  // namespace tercel::ir
