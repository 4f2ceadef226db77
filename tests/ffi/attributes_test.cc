// What handlers see of a call's attributes.
#include "runtime/ffi/attributes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "runtime/ffi/data_type.h"

namespace tercel::ffi {
namespace {

std::string nameAt(const XLA_FFI_Attrs& attrs, int64_t i) {
  return {attrs.names[i]->ptr, attrs.names[i]->len};
}

template <class T>
T scalarAt(const XLA_FFI_Attrs& attrs, int64_t i) {
  EXPECT_EQ(attrs.types[i], XLA_FFI_AttrType_SCALAR);
  T value;
  std::memcpy(&value, static_cast<XLA_FFI_Scalar*>(attrs.attrs[i])->value, sizeof(T));
  return value;
}

std::unique_ptr<Attributes> parsed(std::string_view text) {
  auto attributes = Attributes::parse(text);
  EXPECT_TRUE(attributes.ok()) << text << ": " << attributes.status().message();
  return attributes.ok() ? std::move(*attributes) : nullptr;
}

TEST(Attributes, NoneAtAll) {
  EXPECT_EQ(parsed("")->frame().size, 0);
  EXPECT_EQ(parsed("{}")->frame().size, 0);
}

TEST(Attributes, ScalarsSortedByName) {
  auto attributes = parsed(
      "{z = -5 : s32, b = true, a = 85 : u8, i = 7 : index, f = 1.5 : f32, n = 0x7fc00000 : f32, "
      "d = -2.5e-300 : f64, h = 0.5 : f16, \"x y\" = 18446744073709551615 : u64}");
  const XLA_FFI_Attrs& attrs = attributes->frame();
  ASSERT_EQ(attrs.size, 9);
  const char* names[] = {"a", "b", "d", "f", "h", "i", "n", "x y", "z"};
  for (int64_t i = 0; i < 9; ++i) EXPECT_EQ(nameAt(attrs, i), names[i]);
  EXPECT_EQ(scalarAt<uint8_t>(attrs, 0), 85);
  EXPECT_EQ(scalarAt<uint8_t>(attrs, 1), 1);
  EXPECT_EQ(scalarAt<double>(attrs, 2), -2.5e-300);
  EXPECT_EQ(scalarAt<float>(attrs, 3), 1.5f);
  EXPECT_EQ(scalarAt<uint16_t>(attrs, 4), 0x3800);
  EXPECT_EQ(scalarAt<int64_t>(attrs, 5), 7);
  EXPECT_TRUE(std::isnan(scalarAt<float>(attrs, 6)));
  EXPECT_EQ(scalarAt<uint64_t>(attrs, 7), ~uint64_t{0});
  EXPECT_EQ(scalarAt<int32_t>(attrs, 8), -5);
  EXPECT_EQ(static_cast<XLA_FFI_Scalar*>(attrs.attrs[8])->dtype, dataTypeOf(DType::s32));
  EXPECT_EQ(*attributes->number("x y"), ~uint64_t{0});
  EXPECT_EQ(attributes->number("a"), nullptr);
  EXPECT_EQ(attributes->number("none"), nullptr);
}

TEST(Attributes, StringsArraysAndDictionaries) {
  auto attributes = parsed(
      R"({a = s64[3](1, -2, 3), d = {deep = {x = 1 : s8}}, e = f32[0](), l = [1 : s32, 2 : s32], )"
      R"(p = pred[2](1, 0), s = "a \"quoted\" \\ \x0a, {line}", w = f64[2](0.1, 0xfff0000000000000)})");
  const XLA_FFI_Attrs& attrs = attributes->frame();
  ASSERT_EQ(attrs.size, 7);
  auto array = [&](int64_t i) { return *static_cast<XLA_FFI_Array*>(attrs.attrs[i]); };
  ASSERT_EQ(attrs.types[0], XLA_FFI_AttrType_ARRAY);
  EXPECT_EQ(array(0).size, 3u);
  EXPECT_EQ(static_cast<int64_t*>(array(0).data)[1], -2);
  ASSERT_EQ(attrs.types[1], XLA_FFI_AttrType_DICTIONARY);
  auto* outer = static_cast<XLA_FFI_Attrs*>(attrs.attrs[1]);
  auto* inner = static_cast<XLA_FFI_Attrs*>(outer->attrs[0]);
  EXPECT_EQ(nameAt(*outer, 0), "deep");
  EXPECT_EQ(scalarAt<int8_t>(*inner, 0), 1);
  EXPECT_EQ(array(2).size, 0u);
  EXPECT_EQ(array(2).dtype, dataTypeOf(DType::f32));
  EXPECT_EQ(array(3).size, 2u);
  EXPECT_EQ(static_cast<int32_t*>(array(3).data)[1], 2);
  EXPECT_EQ(static_cast<uint8_t*>(array(4).data)[0], 1);
  ASSERT_EQ(attrs.types[5], XLA_FFI_AttrType_STRING);
  auto* text = static_cast<XLA_FFI_ByteSpan*>(attrs.attrs[5]);
  EXPECT_EQ(std::string(text->ptr, text->len), "a \"quoted\" \\ \n, {line}");
  EXPECT_EQ(static_cast<double*>(array(6).data)[0], 0.1);
  EXPECT_EQ(static_cast<double*>(array(6).data)[1], -INFINITY);
}

TEST(Attributes, WhatHandlersCannotBeGiven) {
  for (const char* text : {"{a = unit}", "{a = [[1 : s32]]}", "{a = [1 : s32, 2 : s64]}",
                           "{a = @symbol}", "{a = 1 : x9}", "{a = c64[1](1)}"}) {
    EXPECT_EQ(Attributes::parse(text).status().code(), Code::unimplemented) << text;
  }
}

TEST(Attributes, DamagedTextIsAnError) {
  const std::string good =
      R"({a = s64[3](1, -2, 3), d = {deep = {x = 1 : s8}}, l = [1 : s32], s = "\x0a"})";
  ASSERT_TRUE(Attributes::parse(good).ok());
  for (size_t size = 1; size < good.size(); ++size)
    EXPECT_FALSE(Attributes::parse(good.substr(0, size)).ok()) << good.substr(0, size);
  for (size_t i = 0; i < good.size(); ++i)
    for (char c : {'\0', '{', '[', '"', '\\', '9', '\xff'}) {
      std::string bad = good;
      bad[i] = c;
      (void)Attributes::parse(bad);  // an answer or an error, no crash
    }
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "{a = ";
  EXPECT_FALSE(Attributes::parse(deep).ok());
  EXPECT_FALSE(Attributes::parse("{a = " + std::string(100000, '[')).ok());
}

TEST(DataType, EveryDTypeHasANumberOfItsOwn) {
  for (size_t i = 0; i < kDTypeCount; ++i) {
    if (dtypeName(static_cast<DType>(i)).starts_with("f6")) continue;  // the ABI has none
    XLA_FFI_DataType number = dataTypeOf(static_cast<DType>(i));
    EXPECT_NE(number, kInvalidType) << dtypeName(static_cast<DType>(i));
    for (size_t k = 0; k < i; ++k) EXPECT_NE(number, dataTypeOf(static_cast<DType>(k)));
  }
  EXPECT_EQ(dataTypeOf(DType::f32), 11);
  EXPECT_EQ(dataTypeOf(DType::c128), 18);
}

}  // namespace
}  // namespace tercel::ffi
