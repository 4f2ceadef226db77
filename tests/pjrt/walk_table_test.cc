// The table itself: version, no null slot, and what each entry makes of bad arguments.
#include <cctype>
#include <functional>
#include <set>

#include "walk.h"

namespace walk {
namespace {

enum class Kind { entry, stub };

struct Row {
  std::string name;
  Kind kind;
  bool has_self;
  size_t needs;
  std::function<PJRT_Error*(size_t struct_size)> call;  // all else zero
  std::function<PJRT_Error*()> call_with_null;
};

template <class Args>
Row makeRow(const char* name, Kind kind, bool has_self, size_t needs, PJRT_Error* (*entry)(Args*)) {
  return {name,
          kind,
          has_self,
          needs,
          [entry](size_t struct_size) {
            auto args = blank<Args>(struct_size);
            return entry(&args);
          },
          [entry] { return entry(nullptr); }};
}

std::vector<Row> rows() {
  std::vector<Row> list;
#define PJRT_ENTRY(index, name, since, self, needs)                                               \
  list.push_back(makeRow("PJRT_" #name, Kind::entry, std::string_view(#self) != "struct_size",    \
                         offsetof(PJRT_##name##_Args, needs) + sizeof(PJRT_##name##_Args::needs), \
                         api().PJRT_##name));
#define PJRT_STUB(index, name, since)                                                      \
  list.push_back(makeRow("PJRT_" #name, Kind::stub, false, PJRT_##name##_Args_STRUCT_SIZE, \
                         api().PJRT_##name));
#include "pjrt/api.def"
  return list;
}

class Table : public Walk {
  void SetUp() override {
    Walk::SetUp();
    if (!isTercel()) GTEST_SKIP() << "promises of Tercel's own";
  }
};

TEST(Api, VersionAndSize) {
  EXPECT_EQ(api().struct_size, PJRT_Api_STRUCT_SIZE);
  EXPECT_EQ(api().pjrt_api_version.major_version, PJRT_API_MAJOR);
  EXPECT_GE(api().pjrt_api_version.minor_version, PJRT_API_MINOR);
  EXPECT_EQ(api().pjrt_api_version.struct_size, PJRT_Api_Version_STRUCT_SIZE);
}

TEST(Api, NoSlotIsNull) {
  auto* slot = reinterpret_cast<void* const*>(&api().PJRT_Error_Destroy);
  for (int i = 0; i < 138; ++i) EXPECT_NE(slot[i], nullptr) << i;
}

TEST(Api, ExtensionsAreAProperList) {
  std::set<int> types;
  for (auto* e = api().extension_start; e; e = e->next) {
    EXPECT_GE(e->struct_size, PJRT_Extension_Base_STRUCT_SIZE);
    EXPECT_TRUE(types.insert(e->type).second) << e->type;
  }
  EXPECT_TRUE(types.count(PJRT_Extension_Type_Layouts));
  EXPECT_TRUE(types.count(PJRT_Extension_Type_Shardings));
  EXPECT_TRUE(types.count(PJRT_Extension_Type_MemoryDescriptions));
  EXPECT_TRUE(types.count(PJRT_Extension_Type_FFI));
}

TEST_F(Table, NullArgs) {
  for (const Row& row : rows()) {
    const Outcome outcome = take(row.call_with_null());
    const bool stub = row.kind == Kind::stub;
    EXPECT_EQ(outcome, stub ? PJRT_Error_Code_UNIMPLEMENTED : PJRT_Error_Code_INVALID_ARGUMENT)
        << row.name;
    EXPECT_NE(outcome.message.find(row.name), std::string::npos) << outcome.message;
  }
}

TEST_F(Table, ShortStructSize) {
  for (const Row& row : rows()) {
    if (row.kind == Kind::stub) continue;
    for (const size_t size : {size_t{0}, size_t{8}, row.needs - 1}) {
      const Outcome outcome = take(row.call(size));
      EXPECT_EQ(outcome, PJRT_Error_Code_INVALID_ARGUMENT) << row.name << " " << size;
      EXPECT_NE(outcome.message.find(row.name), std::string::npos) << outcome.message;
    }
  }
}

TEST_F(Table, NullHandle) {
  for (const Row& row : rows()) {
    if (row.kind == Kind::stub || !row.has_self) continue;
    const Outcome outcome = take(row.call(row.needs));
    EXPECT_EQ(outcome, PJRT_Error_Code_INVALID_ARGUMENT) << row.name;
    EXPECT_NE(outcome.message.find("is null"), std::string::npos) << outcome.message;
  }
}

TEST_F(Table, DestroyOfNull) {
  for (const Row& row : rows()) {
    if (row.name.find("_Destroy") == std::string::npos || row.kind == Kind::stub) continue;
    EXPECT_EQ(take(row.call(row.needs)), PJRT_Error_Code_OK) << row.name;
  }
}

TEST_F(Table, ErrorsOfNull) {
  WALK_ARGS(Error_Destroy, destroy);
  api().PJRT_Error_Destroy(&destroy);
  api().PJRT_Error_Destroy(nullptr);
  WALK_ARGS(Error_Message, message);
  api().PJRT_Error_Message(&message);
  EXPECT_EQ(message.message, nullptr);
}

// Since 0.107 a client may read an error through the table in its first word.
TEST_F(Table, ErrorFunctionTable) {
  WALK_ARGS(Client_LookupDevice, args);
  args.client = client;
  args.id = -1;
  PJRT_Error* error = api().PJRT_Client_LookupDevice(&args);
  ASSERT_NE(error, nullptr);
  ASSERT_NE(error->vtable, nullptr);
  EXPECT_GE(error->vtable->struct_size, PJRT_Error_FunctionTable_STRUCT_SIZE);
  const char* text = nullptr;
  size_t size = 0;
  error->vtable->message(error, &text, &size);
  EXPECT_EQ(std::string(text, size), "No matching device found for device_id -1");
  EXPECT_EQ(error->vtable->get_code(error), PJRT_Error_Code_INVALID_ARGUMENT);
  error->vtable->for_each_payload(
      error, [](auto...) { ADD_FAILURE() << "no payload was attached"; }, nullptr);
  WALK_ARGS(Error_ForEachPayload, each);
  each.error = error;
  each.visitor = [](auto...) { ADD_FAILURE() << "no payload was attached"; };
  EXPECT_EQ(WALK_CALL(Error_ForEachPayload, each), PJRT_Error_Code_OK);
  error->vtable->destroy(error);
}

}  // namespace
}  // namespace walk
