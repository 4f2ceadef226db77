// The object loader: linking across objects, and bytes that are no object.
#include <elf.h>

#include <fstream>
#include <random>

#include "machine_code.h"

namespace tercel::engine {
namespace {

using kernel::Builder;
using kernel::Kernel;
using kernel::Opcode;
using kernel::Scalar;
using kernel::Type;
using kernel::V;

std::vector<std::byte> objectOf(std::string name, double factor) {
  Kernel kernel{.name = std::move(name)};
  Builder b(kernel);
  auto x = b.addParam(Scalar::f32, true), out = b.addParam(Scalar::f32, false);
  b.forLoop(b.taskBegin(), b.taskEnd(), 16, [&](V i) {
    V v = b.fmul(b.load(x, i, 16), b.number({Scalar::f32, 1}, factor));
    V ids = b.cast(Opcode::sitofp, b.laneIds({Scalar::i32, 16}), Scalar::f32);
    b.store(out, i, b.fadd(v, ids));
  });
  const Kernel* kernels[] = {&kernel};
  auto object = codegen::compileKernels(kernels, codegen::Target::host());
  EXPECT_TRUE(object.ok()) << object.status().message();
  return object->bytes;
}

Status load(std::span<const std::byte> bytes) {
  ObjectBytes objects[] = {bytes};
  return LoadedCode::load(objects).status();
}

TEST(Loader, ManyObjectsInOneMapping) {
  std::vector<std::vector<std::byte>> bytes;
  std::vector<ObjectBytes> objects;
  for (int i = 0; i < 40; ++i) bytes.push_back(objectOf(cat("k", i), i));
  for (auto& object : bytes) objects.push_back(object);
  auto code = LoadedCode::load(objects);
  ASSERT_TRUE(code.ok()) << code.status().message();
  std::vector<float> xs(32, 2.0f), outs(32);
  void* params[] = {xs.data(), outs.data()};
  LoadedCode moved = std::move(*code);
  EXPECT_EQ(code->find("k1"), nullptr);
  for (int k = 0; k < 40; ++k) {
    auto* entry = moved.function<codegen::KernelFunction>(cat("k", k));
    ASSERT_NE(entry, nullptr);
    entry(params, 0, 32, nullptr);
    for (int i = 0; i < 32; ++i) EXPECT_EQ(outs[i], 2.0f * k + i % 16);
  }
  EXPECT_EQ(moved.find("k40"), nullptr);
}

TEST(Loader, NoPageIsWritableAndExecutable) {
  auto bytes = objectOf("k", 3);
  ObjectBytes objects[] = {bytes};
  auto code = LoadedCode::load(objects);
  ASSERT_TRUE(code.ok());
  auto from = reinterpret_cast<uintptr_t>(code->mapping().data());
  uintptr_t to = from + code->mapping().size();
  std::ifstream maps("/proc/self/maps");
  bool executable = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t first = 0, last = 0;
    char access[5] = {};
    ASSERT_EQ(std::sscanf(line.c_str(), "%lx-%lx %4s", &first, &last, access), 3);
    if (last <= from || first >= to) continue;
    EXPECT_FALSE(access[1] == 'w' && access[2] == 'x') << line;
    executable |= access[2] == 'x';
  }
  EXPECT_TRUE(executable);
}

TEST(Loader, NothingToLoad) {
  auto code = LoadedCode::load({});
  ASSERT_TRUE(code.ok());
  EXPECT_EQ(code->find("k"), nullptr);
}

TEST(Loader, RefusesTwoDefinitions) {
  auto bytes = objectOf("k", 3);
  ObjectBytes objects[] = {bytes, bytes};
  auto code = LoadedCode::load(objects);
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.status().message(), "object code defines k twice");
}

TEST(Loader, RefusesWhatIsNoObject) {
  EXPECT_FALSE(load({}).ok());
  auto bytes = objectOf("k", 3);
  bytes[18] = std::byte{EM_AARCH64};
  EXPECT_EQ(load(bytes).message(), "malformed object code: not a relocatable x86-64 object");
}

// An object in which the relocations are of the given type, against the external `memcpy`.
struct HandMade {
  static constexpr size_t kSections = 6;
  struct {
    Elf64_Ehdr header{};
    uint8_t code[64] = {};
    Elf64_Rela relocation{};
    Elf64_Sym symbols[3] = {};
    char names[16] = "\0memcpy\0call";
    Elf64_Shdr sections[kSections] = {};
  } file;

  explicit HandMade(uint32_t type, int64_t addend, uint64_t offset) {
    std::memcpy(file.header.e_ident, ELFMAG, SELFMAG);
    file.header.e_ident[EI_CLASS] = ELFCLASS64;
    file.header.e_ident[EI_DATA] = ELFDATA2LSB;
    file.header.e_type = ET_REL;
    file.header.e_machine = EM_X86_64;
    file.header.e_shentsize = sizeof(Elf64_Shdr);
    file.header.e_shnum = kSections;
    file.header.e_shoff = at(file.sections);
    file.relocation = {offset, ELF64_R_INFO(uint64_t{1}, type), addend};
    file.symbols[1] = {.st_name = 1, .st_info = STB_GLOBAL << 4};
    file.symbols[2] = {.st_name = 8, .st_info = STB_GLOBAL << 4, .st_shndx = 1};
    section(1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, file.code, 0, 0);
    section(2, SHT_RELA, 0, file.relocation, 3, 1);
    section(3, SHT_SYMTAB, 0, file.symbols, 4, 0);
    section(4, SHT_STRTAB, 0, file.names, 0, 0);
  }

  template <class T>
  uint64_t at(const T& part) const {
    return static_cast<uint64_t>(reinterpret_cast<const char*>(&part) -
                                 reinterpret_cast<const char*>(&file));
  }
  template <class T>
  void section(int i, uint32_t type, uint64_t flags, const T& part, uint32_t link, uint32_t info) {
    file.sections[i] = {.sh_type = type, .sh_flags = flags, .sh_offset = at(part),
                        .sh_size = sizeof part, .sh_link = link, .sh_info = info,
                        .sh_addralign = 16};
  }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(&file, 1)); }
};

TEST(Loader, CallsAnExternalFunction) {
  // jmp memcpy: a 32-bit displacement that needs a stub.
  HandMade object(R_X86_64_PLT32, -4, 1);
  object.file.code[0] = 0xe9;
  ObjectBytes objects[] = {object.bytes()};
  auto code = LoadedCode::load(objects);
  ASSERT_TRUE(code.ok()) << code.status().message();
  char from[] = "moved", to[6] = {};
  code->function<void*(void*, const void*, size_t)>("call")(to, from, 6);
  EXPECT_STREQ(to, "moved");
}

TEST(Loader, ReadsAnAddressFromTheTable) {
  // jmp *memcpy@GOTPCREL(%rip)
  HandMade object(R_X86_64_GOTPCRELX, -4, 2);
  object.file.code[0] = 0xff;
  object.file.code[1] = 0x25;
  ObjectBytes objects[] = {object.bytes()};
  auto code = LoadedCode::load(objects);
  ASSERT_TRUE(code.ok()) << code.status().message();
  char from[] = "moved", to[6] = {};
  code->function<void*(void*, const void*, size_t)>("call")(to, from, 6);
  EXPECT_STREQ(to, "moved");
}

TEST(Loader, WritesAWholeAddress) {
  HandMade object(R_X86_64_64, 5, 8);
  ObjectBytes objects[] = {object.bytes()};
  auto code = LoadedCode::load(objects);
  ASSERT_TRUE(code.ok()) << code.status().message();
  uint64_t written;
  std::memcpy(&written, static_cast<char*>(code->find("call")) + 8, 8);
  EXPECT_EQ(written, reinterpret_cast<uint64_t>(&std::memcpy) + 5);
}

TEST(Loader, RelocationsThatCannotBe) {
  EXPECT_EQ(load(HandMade(R_X86_64_32, 0, 1).bytes()).code(), Code::out_of_range);
  EXPECT_EQ(load(HandMade(R_X86_64_PLT32, int64_t{1} << 40, 1).bytes()).code(),
            Code::out_of_range);
  EXPECT_EQ(load(HandMade(R_X86_64_TPOFF32, 0, 1).bytes()).code(), Code::unimplemented);
  EXPECT_EQ(load(HandMade(R_X86_64_64, 0, 57).bytes()).code(), Code::invalid_argument);
  EXPECT_EQ(load(HandMade(R_X86_64_PC32, 0, 61).bytes()).code(), Code::invalid_argument);
  HandMade unknown(R_X86_64_PLT32, -4, 1);
  unknown.file.names[1] = 'n';
  EXPECT_EQ(load(unknown.bytes()).message(), "object code needs the unknown function nemcpy");
}

TEST(Loader, TruncatedObjectsAreRefused) {
  auto bytes = objectOf("k", 3);
  for (size_t n = 0; n < bytes.size(); ++n) {
    std::vector<std::byte> part(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(n));
    EXPECT_FALSE(load(part).ok()) << n;
  }
}

// Whatever the bytes: a Status or code that is not run, never a crash.
TEST(Loader, ChangedBytesDoNotCrash) {
  std::mt19937 random(1);
  HandMade small(R_X86_64_GOTPCREL, -4, 2);
  std::vector<std::byte> hand_made(small.bytes().begin(), small.bytes().end());
  int refused = 0, loaded = 0;
  for (auto& bytes : {objectOf("k", 3), hand_made})
    for (size_t i = 0; i < bytes.size(); ++i)
      for (int round = 0; round < 4; ++round) {
        std::vector<std::byte> changed = bytes;
        changed[i] ^= std::byte{static_cast<uint8_t>(round == 0 ? 0xff : 1 + random() % 255)};
        if (round == 3) changed[random() % bytes.size()] ^= std::byte{0x80};
        ++(load(changed).ok() ? loaded : refused);
      }
  EXPECT_GT(refused, 100);
  EXPECT_GT(loaded, 100);
}

}  // namespace
}  // namespace tercel::engine
