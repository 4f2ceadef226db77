#include "compile/cases.h"
#include "core/shape.h"
#include "core/status.h"

namespace tercel::compiler {
namespace {

using Names = std::vector<std::string_view>;

std::string list(const std::vector<int64_t>& numbers) { return toString(std::span(numbers)); }

struct Monoid {
  std::string_view op;
  Names dtypes;
};

const Monoid kMonoids[] = {
    {"add", {"f32", "f64", "f16", "bf16", "s8", "s32", "u64", "c64", "pred"}},
    {"multiply", {"f32", "bf16", "s32", "u8", "c128"}},
    {"maximum", {"f32", "f64", "bf16", "s8", "u32", "pred"}},
    {"minimum", {"f32", "f16", "s64", "u16"}},
    {"and", {"pred", "s32", "u8"}},
    {"or", {"pred", "s64", "u16"}},
    {"xor", {"pred", "u32", "s8"}},
};

// All subsets of the dimensions of [3,5,37] in one function, each with an init that is no identity.
std::string reductionText(std::string_view op, std::string_view dtype) {
  const std::vector<int64_t> dims{3, 5, 37};
  std::string body, types, returned;
  for (int subset = 0; subset < 8; ++subset) {
    std::vector<int64_t> reduced, kept;
    for (int i = 0; i < 3; ++i) {
      if (subset >> i & 1) reduced.push_back(i);
      else kept.push_back(dims[static_cast<size_t>(i)]);
    }
    std::string type = cat(dtype, list(kept));
    body += cat("  %r", subset, " = reduce(%a, %i) {dimensions = ", list(reduced), "} ",
                reducerText(op, dtype), " : ", type, "\n");
    types += cat(type, ", ");
    returned += cat("%r", subset, ", ");
  }
  body += cat("  %e = reduce(%z, %i) {dimensions = [0]} ", reducerText(op, dtype), " : ", dtype,
              "[4]\n");
  return cat("func @main(%a: ", dtype, list(dims), ", %i: ", dtype, "[], %z: ", dtype,
             "[0,4]) -> (", types, dtype, "[4]) {\n", body, "  return ", returned, "%e\n}");
}

struct Product {
  int64_t batch, m, n, k;
};

// With the contracted dimension after or before the operand's own, the batch before or between.
std::string dotText(std::string_view dtype, std::string_view out, const Product& p, int layout) {
  bool lhs_first = layout & 1, rhs_first = layout & 2, batch_inside = layout & 4;
  std::vector<int64_t> lhs = lhs_first ? std::vector{p.k, p.m} : std::vector{p.m, p.k};
  std::vector<int64_t> rhs = rhs_first ? std::vector{p.k, p.n} : std::vector{p.n, p.k};
  int64_t lhs_contract = lhs_first ? 0 : 1, rhs_contract = rhs_first ? 0 : 1;
  std::vector<int64_t> result{p.m, p.n};
  std::string batching;
  if (p.batch > 0) {
    int64_t at = batch_inside ? 1 : 0;
    lhs.insert(lhs.begin() + at, p.batch);
    rhs.insert(rhs.begin(), p.batch);
    result.insert(result.begin(), p.batch);
    lhs_contract += lhs_contract >= at ? 1 : 0;
    rhs_contract += 1;
    batching = cat("lhs_batching_dimensions = [", at, "], rhs_batching_dimensions = [0], ");
  }
  std::string type = cat(out, list(result));
  bool plain = layout == 1 || layout == 2;  // no epilogue
  return cat("func @main(%a: ", dtype, list(lhs), ", %b: ", dtype, list(rhs), ", %c: ", type,
             ") -> (", type, ") {\n  %d = dot_general(%a, %b) {", batching,
             "lhs_contracting_dimensions = [", lhs_contract, "], rhs_contracting_dimensions = [",
             rhs_contract, "]} : ", type, "\n  %r = add(%d, %c) : ", type, "\n  return ",
             plain ? "%d" : "%r", "\n}");
}

constexpr Product kProducts[] = {
    {0, 1, 1, 1}, {0, 7, 37, 19}, {0, 1, 33, 17}, {0, 33, 1, 17}, {0, 5, 18, 1},
    {2, 5, 19, 7}, {3, 1, 16, 4}, {0, 40, 70, 65}, {0, 3, 4, 0},
    // Few columns or rows; tiles and panels that overlap; several tasks.
    {0, 50, 3, 70}, {0, 9, 7, 101}, {0, 3, 50, 64}, {2, 20, 5, 40}, {0, 77, 83, 40},
    {0, 203, 150, 120},
    // Sums in blocks, the last one shorter: along the sum, packed, read where they lie.
    {0, 41, 5, 3100}, {0, 33, 40, 1737}, {0, 5, 300, 701}, {3, 17, 290, 111}, {0, 31, 290, 905},
};

}  // namespace

std::string reducerText(std::string_view op, std::string_view dtype) {
  return cat("body(%x: ", dtype, "[], %y: ", dtype, "[]) { %q = ", op, "(%x, %y) : ", dtype,
             "[] return %q }");
}

std::vector<Case> reductionCases() {
  std::vector<Case> cases;
  for (const Monoid& monoid : kMonoids)
    for (std::string_view dtype : monoid.dtypes)
      cases.push_back({cat(monoid.op, "_", dtype), reductionText(monoid.op, dtype)});
  return cases;
}

std::vector<Case> dotCases() {
  std::vector<Case> cases;
  auto addCase = [&](std::string_view dtype, std::string_view out, size_t i, int layout) {
    cases.push_back({cat(dtype, "_", out, "_", i, "_layout", layout),
                     dotText(dtype, out, kProducts[i], layout)});
  };
  for (size_t i = 0; i < std::size(kProducts); ++i)
    for (int layout = 0; layout < (kProducts[i].batch > 0 ? 8 : 4); ++layout)
      addCase("f32", "f32", i, layout);
  const std::pair<std::string_view, std::string_view> kOthers[] = {
      {"bf16", "f32"}, {"bf16", "bf16"}, {"f16", "f16"}, {"f64", "f64"}, {"s8", "s32"},
      {"s32", "s32"},  {"u8", "u8"},     {"c64", "c64"}, {"c128", "c128"}, {"pred", "pred"}};
  for (auto [dtype, out] : kOthers)
    for (size_t i : {1, 2, 5, 9, 11, 13, 15, 16, 17})
      addCase(dtype, out, i, static_cast<int>(i) % 4);
  return cases;
}

}  // namespace tercel::compiler
