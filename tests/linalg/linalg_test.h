// What the tests of linear algebra share: calls of a function in one type, and how near is near.
#pragma once
#include <gtest/gtest.h>

#include "linalg/matrices.h"

namespace tercel::linalg_test {

class LinalgTest : public testing::TestWithParam<Type> {
 protected:
  const Type type_ = GetParam();
  Random random_{type_};

  std::string target(const std::string& real, const std::string& complex) const {
    return cat("lapack_", type_.letter, type_.is_complex() ? complex : real, "_ffi");
  }
  std::string target(const std::string& name) const { return target(name, name); }
  std::vector<Value> run(const std::string& name, const std::string& attributes,
                         const std::vector<Value>& operands, std::vector<Value> results,
                         const std::vector<int>& in_place = {}) {
    auto outcome = call(name, attributes, operands, std::move(results), in_place);
    EXPECT_TRUE(outcome.ok()) << outcome.status().message();
    return outcome.ok() ? std::move(*outcome) : std::vector<Value>(9, empty(DType::f32, 9, 9, 9));
  }
  void expectNear(const Matrix& a, const Matrix& b, double scale) {
    ASSERT_EQ(a.data.size(), b.data.size());
    EXPECT_LE(norm(a - b), 20 * type_.epsilon * (scale + 1e-30) * double(a.rows + a.cols + 4));
  }
  void expectOrthonormal(const Matrix& q) { expectNear(adjoint(q) * q, identity(q.cols), 1); }
};

}  // namespace tercel::linalg_test
