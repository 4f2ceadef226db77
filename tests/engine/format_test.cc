#include "program/file_header.h"
#include "program/format.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "engine/file_examples.h"
#include "engine/program_maker.h"
#include "program/validate.h"

namespace tercel::program {
namespace {

using test::kHeaderBytes, test::sealed;

Program everything() { return test::programOfEverything(); }

TEST(Format, RoundTrip) {
  Program program = everything();
  std::vector<std::byte> bytes = serialize(program);
  Result<Program> back = deserialize(bytes);
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(serialize(*back), bytes);
  EXPECT_EQ(back->name, "jit_everything");
  EXPECT_EQ(back->arguments[0].aliased_result, 0);
  EXPECT_EQ(back->arguments[0].shape, program.arguments[0].shape);
  EXPECT_TRUE(back->arguments[1].may_donate);
  EXPECT_EQ(back->results[0].memory_kind, "pinned_host");
  EXPECT_EQ(back->results[0].layout, Dims{0});
  EXPECT_EQ(back->constants, program.constants);
  EXPECT_EQ(back->objects, program.objects);
  EXPECT_EQ(back->sequences.size(), 8u);
  EXPECT_EQ(back->sequences[4][0].text, "{uplo = 76 : ui8}");
  EXPECT_EQ(back->cost, 12.5);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(back->constants.data()) % 64, 0u);
}

TEST(Format, NotAProgram) {
  EXPECT_EQ(deserialize({}).status().code(), Code::invalid_argument);
  std::vector<std::byte> text(100, std::byte{'x'});
  EXPECT_EQ(deserialize(text).status().code(), Code::invalid_argument);
}

TEST(Format, AnotherVersionIsRefusedByName) {
  std::vector<std::byte> bytes = serialize(everything());
  bytes[8] = std::byte{99};
  Status status = deserialize(bytes).status();
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_NE(status.message().find("version 99"), std::string::npos) << status.message();
}

TEST(Format, EveryTruncationIsAnError) {
  std::vector<std::byte> bytes = serialize(everything());
  for (size_t size = 8; size < bytes.size(); ++size) {
    Status status = deserialize(std::span(bytes).first(size)).status();
    EXPECT_EQ(status.code(), Code::data_loss) << size;
  }
}

TEST(Format, EveryFlippedBitIsAnError) {
  std::vector<std::byte> bytes = serialize(everything());
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      bytes[i] ^= std::byte{1} << bit;
      EXPECT_FALSE(deserialize(bytes).ok()) << "byte " << i << ", bit " << bit;
      bytes[i] ^= std::byte{1} << bit;
    }
  }
}

// With a good checksum the content itself must stand every check: an answer or an error, no crash.
TEST(Format, SealedTruncationIsAnError) {
  std::vector<std::byte> bytes = serialize(everything());
  for (size_t size = kHeaderBytes; size < bytes.size(); ++size) {
    std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_FALSE(deserialize(sealed(cut)).ok()) << size;
  }
}

TEST(Format, SealedFuzzNeverCrashes) {
  std::vector<std::byte> good = serialize(everything());
  std::mt19937 random(1);
  int accepted = 0, refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> bytes = good;
    for (uint32_t n = 1 + random() % 4; n > 0; --n) {
      size_t at = kHeaderBytes + random() % (bytes.size() - kHeaderBytes);
      static constexpr uint8_t kNasty[] = {0, 1, 0x7f, 0x80, 0xff};
      bytes[at] = std::byte{random() % 2 ? kNasty[random() % 5] : static_cast<uint8_t>(random())};
    }
    Result<Program> program = deserialize(sealed(bytes));
    if (!program.ok()) {
      ++refused;
      continue;
    }
    ++accepted;
    EXPECT_TRUE(validate(*program).ok());
    EXPECT_EQ(serialize(*program).size(), bytes.size());
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 100);
}

TEST(CallSignature, RoundTrip) {
  const CallSignature signature{
      4, {{Shape{DType::f32, {2, 3}}}, {{}, true}}, {{Shape{DType::s32, {}}}}, true};
  EXPECT_EQ(toString(signature), "(f32[2,3], token) -> (s32[])");
  Result<CallSignature> back = decodeCallSignature(encode(signature));
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back->api_version, 4);
  EXPECT_TRUE(back->has_side_effect);
  EXPECT_EQ(toString(*back), toString(signature));
  std::vector<int64_t> numbers = encode(signature);
  for (; !numbers.empty(); numbers.pop_back())
    EXPECT_EQ(decodeCallSignature(numbers).ok(), numbers == encode(signature));
}

struct Damage {
  const char* what;
  void (*apply)(Program&);
};

TEST(Validate, NamesWhatIsWrong) {
  const Damage damages[] = {
      {"no sequence 77", [](Program& p) { p.sequences[0][2].target = 77; }},
      {"used twice", [](Program& p) { p.sequences[0][2].target = 2; }},
      {"used twice",
       [](Program& p) {
         p.sequences[2][0].sequences = {0, 3};
       }},
      {"no slot", [](Program& p) { p.sequences[0][0].slots[0] = 1000; }},
      {"no kernel", [](Program& p) { p.sequences[0][0].target = 9; }},
      {"grain", [](Program& p) { p.sequences[0][0].grain = 0; }},
      {"two slots", [](Program& p) { p.sequences[0][1].slots.pop_back(); }},
      {"writes a constant", [](Program& p) { p.sequences[0][1].slots[1] = 5; }},
      {"more bytes", [](Program& p) { p.slots[p.sequences[0][1].slots[0]].bytes = 3; }},
      {"one body", [](Program& p) { p.sequences[0][2].sequences.clear(); }},
      {"selector", [](Program& p) { p.sequences[2][0].values = {8}; }},
      {"0 sequences", [](Program& p) { p.sequences[2][0].sequences.clear(); }},
      {"element size", [](Program& p) { p.sequences[3][0].values.pop_back(); }},
      {"sort dimensions", [](Program& p) { p.sequences[3][0].values[1] = -1; }},
      {"sort dimensions", [](Program& p) { p.sequences[3][0].values[4] = 3; }},
      {"sorted elements", [](Program& p) { p.sequences[3][0].values[3] = 5; }},
      {"sort keys", [](Program& p) { p.sequences[3][0].text = "f32,s32"; }},
      {"sort keys", [](Program& p) { p.sequences[3][0].text = "f64"; }},
      {"sort keys", [](Program& p) { p.sequences[3][0].text = "c64"; }},
      {"sort keys", [](Program& p) { p.sequences[3][0].text = "f32,"; }},
      {"smaller than", [](Program& p) { p.sequences[3][0].values[1] = 5; }},
      {"impossible signature", [](Program& p) { p.sequences[4][0].values[0] = 3; }},
      {"impossible signature", [](Program& p) { p.sequences[4][0].values[3] = 2; }},
      {"impossible signature", [](Program& p) { p.sequences[4][0].values[4] = 200; }},
      {"impossible signature", [](Program& p) { p.sequences[4][0].values.push_back(0); }},
      {"impossible signature", [](Program& p) { p.sequences[4][0].values[6] = -4; }},
      {"1 slots", [](Program& p) { p.sequences[4][0].slots.pop_back(); }},
      {"larger than its slot", [](Program& p) { p.sequences[4][0].values[6] = 5; }},
      {"writes a constant or an argument", [](Program& p) { p.sequences[4][0].slots[1] = 1; }},
      {"lie in its memory", [](Program& p) { p.slots[0].offset = 1; }},
      {"lie in its memory", [](Program& p) { p.slots[0].bytes = -1; }},
      {"lie in its memory", [](Program& p) { p.slots[0].index = 2; }},
      {"lie in its memory", [](Program& p) { p.slots[0].place = static_cast<Place>(9); }},
      {"lie in its memory", [](Program& p) { p.arena_bytes = 8; }},
      {"share memory", [](Program& p) { p.arguments[0].aliased_result = 1; }},
      {"share memory", [](Program& p) { p.arguments[1].aliased_result = 0; }},
      {"shape", [](Program& p) { p.arguments[0].shape.dims[0] = -4; }},
      {"shape",
       [](Program& p) {
         p.results[0].shape.dims = {1 << 30, 1 << 30, 1 << 30};
       }},
      {"dtype", [](Program& p) { p.results[0].shape.dtype = static_cast<DType>(200); }},
      {"object", [](Program& p) { p.kernels[0].object = 2; }},
      {"scratch", [](Program& p) { p.kernels[0].scratch_bytes = -1; }},
      {"step kind", [](Program& p) { p.sequences[0][0].kind = static_cast<StepKind>(50); }},
      {"at least one", [](Program& p) { p.sequences.clear(); }},
  };
  ASSERT_TRUE(validate(everything()).ok()) << validate(everything()).message();
  for (const Damage& damage : damages) {
    Program program = everything();
    damage.apply(program);
    Status status = validate(program);
    EXPECT_EQ(status.code(), Code::invalid_argument) << damage.what;
    EXPECT_NE(status.message().find(damage.what), std::string::npos)
        << "expected '" << damage.what << "' in: " << status.message();
    EXPECT_FALSE(deserialize(serialize(program)).ok()) << damage.what;
  }
}

TEST(Validate, DeepNestingIsRefused) {
  test::ProgramMaker maker;
  uint32_t pred = maker.arena(1);
  for (uint32_t depth = 0; depth < 1000; ++depth) {
    uint32_t condition = maker.sequence(), body = maker.sequence();
    Step& loop = maker.step(depth == 0 ? 0 : body - 2, StepKind::while_loop, {pred});
    loop.target = condition;
    loop.sequences = {body};
  }
  Status status = validate(maker.program);
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_NE(status.message().find("deeply"), std::string::npos);
  EXPECT_LT(status.message().size(), 300u);
}

}  // namespace
}  // namespace tercel::program
