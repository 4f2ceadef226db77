#include "runtime/ffi/registry.h"

#include <gtest/gtest.h>

#include "ffi/handlers.h"
#include "runtime/ffi/error.h"

namespace tercel::ffi {
namespace test {

bool isQuery(XLA_FFI_CallFrame* frame, int minor) {
  EXPECT_EQ(frame->struct_size, XLA_FFI_CallFrame_STRUCT_SIZE);
  if (!frame->extension_start || frame->extension_start->type != XLA_FFI_Extension_Metadata)
    return false;
  auto* extension = reinterpret_cast<XLA_FFI_Metadata_Extension*>(frame->extension_start);
  extension->metadata->api_version.minor_version = minor;
  return true;
}

XLA_FFI_Error* errorOf(XLA_FFI_CallFrame* frame, XLA_FFI_Error_Code code, const char* message) {
  XLA_FFI_Error_Create_Args args = {sizeof(args), nullptr, message, code};
  return frame->api->Error_Create(&args);
}

}  // namespace test

namespace {

XLA_FFI_Error* plain(XLA_FFI_CallFrame* frame) {
  test::isQuery(frame, 2);
  return nullptr;
}
XLA_FFI_Error* other(XLA_FFI_CallFrame* frame) {
  test::isQuery(frame);
  return nullptr;
}
XLA_FFI_Error* fromTheFuture(XLA_FFI_CallFrame* frame) {
  reinterpret_cast<XLA_FFI_Metadata_Extension*>(frame->extension_start)
      ->metadata->api_version.major_version = 7;
  return nullptr;
}
XLA_FFI_Error* broken(XLA_FFI_CallFrame* frame) {
  return test::errorOf(frame, 9, "types first");
}

TEST(Registry, KeepsTheFirstHandler) {
  EXPECT_FALSE(findHandler("registry.plain"));
  ASSERT_TRUE(registerHandler("registry.plain", {nullptr, nullptr, nullptr, plain}).ok());
  EXPECT_TRUE(registerHandler("registry.plain", {nullptr, nullptr, nullptr, plain}).ok());
  Status status = registerHandler("registry.plain", {nullptr, nullptr, nullptr, other});
  EXPECT_EQ(status.code(), Code::already_exists);
  EXPECT_NE(status.message().find("registry.plain"), std::string::npos);
  auto found = findHandler("registry.plain");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->stages[XLA_FFI_ExecutionStage_EXECUTE], plain);
  EXPECT_EQ(found->minor_version, 2);
}

TEST(Registry, RefusesWhatItCannotRun) {
  EXPECT_EQ(registerHandler("registry.none", {}).code(), Code::invalid_argument);
  EXPECT_EQ(registerUntyped("registry.none", nullptr).code(), Code::invalid_argument);
  EXPECT_EQ(registerHandler("registry.future", {nullptr, nullptr, nullptr, fromTheFuture}).code(),
            Code::unimplemented);
  Status status = registerHandler("registry.broken", {broken, nullptr, nullptr, plain});
  EXPECT_EQ(status.code(), Code::failed_precondition);
  EXPECT_NE(status.message().find("types first"), std::string::npos);
  EXPECT_FALSE(findHandler("registry.broken"));
}

void remove(void*) {}

TEST(Registry, TypesHaveOneIdEach) {
  int64_t fresh = 0, given = 4711, again = 0, wrong = 4712;
  ASSERT_TRUE(registerType("registry.Fresh", fresh, remove).ok());
  ASSERT_TRUE(registerType("registry.Given", given, nullptr).ok());
  EXPECT_NE(fresh, 0);
  EXPECT_EQ(given, 4711);
  ASSERT_TRUE(registerType("registry.Fresh", again, nullptr).ok());
  EXPECT_EQ(again, fresh);
  EXPECT_EQ(registerType("registry.Given", wrong, nullptr).code(), Code::already_exists);
  EXPECT_EQ(deleterOf(fresh), remove);
  ASSERT_TRUE(deleterOf(given));
  EXPECT_EQ(*deleterOf(given), nullptr);
  EXPECT_FALSE(deleterOf(4712));
}

}  // namespace
}  // namespace tercel::ffi
