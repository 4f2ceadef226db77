// Products of sparse matrices: jaxlib's cpu_csr_sparse_dense_ffi.
#include <gtest/gtest.h>

#include "runtime/linalg/functions.h"

namespace tercel::linalg {
namespace {

// [[0, 1, 0], [2, 0, 3]], and a last row that names a column there is not.
struct Sparse {
  std::vector<float> values{1, 2, 3, 4};
  std::vector<int32_t> starts{0, 1, 3, 9}, columns{1, 0, 2, 3};
};

program::CallSignature signatureOf(Dims x, Dims product, DType indices = DType::s32) {
  return {.operands = {{{DType::f32, {4}}}, {{indices, {4}}}, {{indices, {4}}}, {{DType::f32, x}}},
          .results = {{{DType::f32, product}}}};
}

Result<std::vector<float>> multiply(const program::CallSignature& signature, std::vector<float> x) {
  Sparse sparse;
  std::vector<float> product(6, 77);
  void* const operands[] = {sparse.values.data(), sparse.starts.data(), sparse.columns.data(),
                            x.data()};
  void* const results[] = {product.data()};
  const Function function = find("cpu_csr_sparse_dense_ffi");
  TERCEL_TRY(function({"{}", &signature, operands, results, {}}));
  return product;
}

TEST(Sparse, TimesAVectorAndAMatrix) {
  const auto vector = multiply(signatureOf({3}, {3}), {1, 2, 3});
  ASSERT_TRUE(vector.ok()) << vector.status().message();
  EXPECT_EQ(*vector, (std::vector<float>{2, 11, 0, 77, 77, 77}));
  const auto matrix = multiply(signatureOf({3, 2}, {3, 2}), {1, 10, 2, 20, 3, 30});
  ASSERT_TRUE(matrix.ok()) << matrix.status().message();
  EXPECT_EQ(*matrix, (std::vector<float>{2, 20, 11, 110, 0, 0}));
}

TEST(Sparse, RefusesWhatDoesNotFit) {
  const std::vector<float> x(6);
  program::CallSignature fewer = signatureOf({3}, {3}), of_bytes = signatureOf({3}, {3}, DType::s8);
  fewer.operands.pop_back();
  for (const program::CallSignature& signature :
       {fewer, of_bytes, signatureOf({3}, {2}), signatureOf({3}, {3, 1}), signatureOf({}, {}),
        signatureOf({1, 3, 2}, {1, 3, 2})}) {
    EXPECT_EQ(multiply(signature, x).status().code(), Code::invalid_argument)
        << toString(signature);
  }
}

}  // namespace
}  // namespace tercel::linalg
