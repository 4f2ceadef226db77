// Host to device, with any strides and any promise about the host's memory.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "runtime/client_fixture.h"
#include "runtime/strided_copy.h"

namespace tercel::runtime {
namespace {

class HostTransferTest : public ClientTest {
 protected:
  // The same array by the definition of strides.
  static std::vector<std::byte> gathered(const std::byte* data, const Shape& shape,
                                         const Dims& strides) {
    size_t size = byteSize(shape.dtype);
    std::vector<std::byte> out;
    Dims index(shape.dims.size(), 0);
    for (int64_t n = 0; n < shape.elements(); ++n) {
      int64_t offset = 0;
      for (size_t i = 0; i < index.size(); ++i) offset += index[i] * strides[i];
      out.insert(out.end(), data + offset, data + offset + size);
      for (size_t i = index.size(); i-- > 0;) {
        if (++index[i] < shape.dims[i]) break;
        index[i] = 0;
      }
    }
    return out;
  }

  void check(const std::byte* data, const Shape& shape, const Dims& strides) {
    HostArray array;
    array.data = data;
    array.type = shape;
    array.byte_strides = strides;
    array.semantics = HostSemantics::immutable_zero_copy;
    auto made = client->bufferFromHost(array, memory);
    ASSERT_TRUE(made.ok()) << made.status().message();
    std::vector<std::byte> got(static_cast<size_t>(shape.bytes()));
    ASSERT_TRUE(made->buffer->copyToHost(got.data(), shape.bytes())->await().ok());
    EXPECT_EQ(got, gathered(data, shape, strides))
        << toString(shape) << " with byte strides " << toString(strides);
  }
};

TEST_F(HostTransferTest, AnyStrides) {
  std::vector<std::byte> host(1 << 16);
  for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<std::byte>(i * 7 + i / 251);
  const std::byte* middle = host.data() + host.size() / 2;
  for (DType dtype : {DType::pred, DType::bf16, DType::f32, DType::f64, DType::c128}) {
    int64_t b = static_cast<int64_t>(byteSize(dtype));
    check(middle, {dtype, {}}, {});
    check(middle, {dtype, {7}}, {b});
    check(middle, {dtype, {7}}, {-b});
    check(middle, {dtype, {7}}, {0});
    check(middle, {dtype, {7}}, {3 * b});
    check(middle + 1, {dtype, {7}}, {b + 1});  // not aligned
    check(middle, {dtype, {5, 33}}, {33 * b, b});
    check(middle, {dtype, {33, 20}}, {b, 33 * b});  // transposed
    check(middle, {dtype, {5, 6}}, {-6 * b, -b});
    check(middle, {dtype, {5, 6}}, {0, b});  // broadcast
    check(middle, {dtype, {5, 6}}, {b, 0});
    check(middle, {dtype, {3, 4, 5}}, {b, 3 * b, 12 * b});
    check(middle, {dtype, {3, 4, 5}}, {20 * b, b, 4 * b});
    check(middle, {dtype, {3, 4, 5, 2}}, {-40 * b, 10 * b, 2 * b, b});
    check(middle, {dtype, {2, 1, 3}}, {3 * b, 999, b});  // a stride that does not matter
    check(middle, {dtype, {0, 4}}, {0, 0});
    check(nullptr, {dtype, {4, 0}}, {0, 0});
  }
}

TEST_F(HostTransferTest, LargeArraysInTasks) {
  int64_t rows = 700, columns = 1100;
  std::vector<int32_t> host(static_cast<size_t>(rows * columns));
  std::iota(host.begin(), host.end(), 0);
  const auto* data = reinterpret_cast<const std::byte*>(host.data());
  check(data, {DType::s32, {columns, rows}}, {4, 4 * columns});
  check(data + 4, {DType::s32, {rows, columns - 1}}, {4 * columns, 4});
  check(data + 4, {DType::s32, {rows * columns - 1}}, {4});
}

TEST_F(HostTransferTest, ZeroCopyWhereDenseAndAligned) {
  alignas(64) float host[32] = {1, 2, 3};
  for (auto semantics : {HostSemantics::immutable_zero_copy, HostSemantics::mutable_zero_copy}) {
    HostArray array{host, Shape{DType::f32, {4, 4}}, std::nullopt, semantics};
    auto made = client->bufferFromHost(array, memory);
    ASSERT_TRUE(made.ok());
    EXPECT_EQ(*made->buffer->data(), host);
    EXPECT_FALSE(made->done_with_host.isReady());
    made->buffer->deleteData();
    EXPECT_TRUE(made->done_with_host.isReady());
  }
}

TEST_F(HostTransferTest, TheHostIsDoneWithOnceTheLastHolderIs) {
  alignas(64) float host[16] = {1, 2, 3};
  HostArray array{host, Shape{DType::f32, {16}}, std::nullopt, HostSemantics::immutable_zero_copy};
  auto made = client->bufferFromHost(array, memory);
  ASSERT_TRUE(made.ok());
  auto view = made->buffer->bitcast(Shape{DType::s32, {4, 4}});
  ASSERT_TRUE(view.ok());
  made->buffer.reset();
  EXPECT_FALSE(made->done_with_host.isReady());
  view->reset();
  EXPECT_TRUE(made->done_with_host.isReady());
}

TEST_F(HostTransferTest, CopiesOtherwise) {
  alignas(64) float host[40] = {};
  const Shape shape{DType::f32, {16}};
  HostArray copied[] = {
      {host, shape, std::nullopt, HostSemantics::immutable_only_during_call},
      {host, shape, std::nullopt, HostSemantics::immutable_until_transfer_completes},
      {host + 1, shape, std::nullopt, HostSemantics::immutable_zero_copy},
      {host, shape, Dims{8}, HostSemantics::immutable_zero_copy},
  };
  for (const HostArray& array : copied) {
    std::fill(host, host + 40, 5.f);
    auto made = client->bufferFromHost(array, memory);
    ASSERT_TRUE(made.ok());
    EXPECT_TRUE(made->done_with_host.isReady());
    std::fill(host, host + 40, -1.f);
    EXPECT_EQ(read(*made->buffer), std::vector<float>(16, 5.f));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(*made->buffer->data()) % 64, 0u);
  }
}

TEST_F(HostTransferTest, BadRequestsAreErrors) {
  float host[4] = {};
  HostArray array{host, Shape{DType::f32, {2, 2}}, Dims{4}, {}};
  EXPECT_EQ(client->bufferFromHost(array, memory).status().code(), Code::invalid_argument);
  array = {host, Shape{DType::f32, {-1}}, std::nullopt, {}};
  EXPECT_EQ(client->bufferFromHost(array, memory).status().code(), Code::invalid_argument);
  array = {nullptr, Shape{DType::f32, {4}}, std::nullopt, {}};
  EXPECT_EQ(client->bufferFromHost(array, memory).status().code(), Code::invalid_argument);
  array = {host, Shape{DType::f32, {4}}, std::nullopt, {}};
  EXPECT_EQ(client->bufferFromHost(array, nullptr).status().code(), Code::invalid_argument);
  array = {host, Shape{DType::f32, {int64_t{1} << 56}}, std::nullopt, {}};
  EXPECT_EQ(client->bufferFromHost(array, memory).status().code(), Code::resource_exhausted);
}

}  // namespace
}  // namespace tercel::runtime
