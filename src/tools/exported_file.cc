#include "tools/exported_file.h"

#include <flatbuffers/flatbuffers.h>

#include <string>

#include "compiler/stablehlo/bytecode_magic.h"

namespace tercel::tools {
namespace {

using Bytes = flatbuffers::Vector<int8_t>;
using Texts = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>;
using Kept = flatbuffers::Vector<uint16_t>;
using Indices = flatbuffers::Vector<uint32_t>;

// The fields that matter of the tables of JAX's serialization.fbs, of every version so far.
class ArrayType : private flatbuffers::Table {
 public:
  const Texts* shape() const { return GetPointer<const Texts*>(kShape); }
  // Of an array of random keys, the numbers of u32 that one is made of; of others 0.
  int keyWords() const {
    const auto dtype = GetField<int8_t>(kDtype, 0);
    return dtype == kFry ? 2 : dtype == kRbg || dtype == kUnsafeRbg ? 4 : 0;
  }
  bool Verify(flatbuffers::Verifier& verifier) const {
    return VerifyTableStart(verifier) && VerifyOffset(verifier, kShape) &&
           verifier.VerifyVector(shape()) && verifier.VerifyVectorOfStrings(shape()) &&
           VerifyField<int8_t>(verifier, kDtype, 1) && verifier.EndTable();
  }

 private:
  static constexpr flatbuffers::voffset_t kShape = 6, kDtype = 8;
  static constexpr int8_t kFry = 27, kRbg = 28, kUnsafeRbg = 29;
};
using Types = flatbuffers::Vector<flatbuffers::Offset<ArrayType>>;

class Exported : private flatbuffers::Table {
 public:
  const Types* arguments() const { return GetPointer<const Types*>(kArguments); }
  const Texts* platforms() const { return GetPointer<const Texts*>(kPlatforms); }
  const Bytes* module() const { return GetPointer<const Bytes*>(kModule); }
  const Kept* kept() const { return GetPointer<const Kept*>(kKept); }  // of the arguments
  // Newer files have each type once, and number them.
  const Types* types() const { return GetPointer<const Types*>(kTypes); }
  const Indices* argumentTypes() const { return GetPointer<const Indices*>(kArgumentTypes); }

  bool Verify(flatbuffers::Verifier& verifier) const {
    return VerifyTableStart(verifier) && VerifyOffsetRequired(verifier, kPlatforms) &&
           verifier.VerifyVector(platforms()) && verifier.VerifyVectorOfStrings(platforms()) &&
           VerifyOffsetRequired(verifier, kModule) && verifier.VerifyVector(module()) &&
           VerifyOffset(verifier, kKept) && verifier.VerifyVector(kept()) &&
           VerifyOffset(verifier, kArgumentTypes) && verifier.VerifyVector(argumentTypes()) &&
           verifyTypes(verifier, kArguments) && verifyTypes(verifier, kTypes) &&
           verifier.EndTable();
  }

 private:
  bool verifyTypes(flatbuffers::Verifier& verifier, flatbuffers::voffset_t field) const {
    if (!VerifyOffset(verifier, field)) return false;
    const Types* list = GetPointer<const Types*>(field);
    return verifier.VerifyVector(list) && verifier.VerifyVectorOfTables(list);
  }

  static constexpr flatbuffers::voffset_t kArguments = 10, kPlatforms = 22, kModule = 30,
                                          kKept = 34, kTypes = 42, kArgumentTypes = 48;
};

const ArrayType* typeOf(const Exported& exported, uint32_t argument) {
  const Types* list = exported.arguments();
  if (exported.types() && exported.argumentTypes()) {
    if (argument >= exported.argumentTypes()->size()) return nullptr;
    list = exported.types();
    argument = exported.argumentTypes()->Get(argument);
  }
  return list && argument < list->size() ? list->Get(argument) : nullptr;
}

// What main takes; jax.export leaves out arguments that nothing reads.
std::vector<std::vector<std::string>> argumentsOf(const Exported& exported) {
  std::vector<std::vector<std::string>> arguments;
  if (!exported.kept()) return arguments;
  for (uint16_t number : *exported.kept()) {
    const ArrayType* type = typeOf(exported, number);
    if (!type) return {};
    arguments.emplace_back();
    if (type->shape())
      for (const flatbuffers::String* dim : *type->shape()) arguments.back().push_back(dim->str());
    if (type->keyWords() > 0) arguments.back().push_back(cat(type->keyWords()));
  }
  return arguments;
}

// Among the platforms of a file.
Result<int32_t> numberOfCpu(const Texts& platforms) {
  std::string all;
  for (uint32_t i = 0; i < platforms.size(); ++i) {
    const std::string name = platforms.Get(i)->str();
    if (name == "cpu") return static_cast<int32_t>(i);
    all += cat(all.empty() ? "" : ", ", name);
  }
  return unimplemented("the file was exported for ", all, "; export it for cpu, too: "
                       "jax.export.export(f, platforms=['cpu', ...])");
}

}  // namespace

Result<ExportedFile> readExported(std::vector<std::byte> file) {
  if (stablehlo::isBytecode(file)) return ExportedFile{std::move(file), {}, {}};
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(file.data()), file.size());
  if (!verifier.VerifyBuffer<Exported>(nullptr)) return ExportedFile{std::move(file), {}, {}};
  const Exported& exported = *flatbuffers::GetRoot<Exported>(file.data());
  TERCEL_ASSIGN(const int32_t platform, numberOfCpu(*exported.platforms()));
  const auto* first = reinterpret_cast<const std::byte*>(exported.module()->data());
  ExportedFile result{{first, first + exported.module()->size()}, argumentsOf(exported), {}};
  if (exported.platforms()->size() > 1) result.platform = platform;
  return result;
}

}  // namespace tercel::tools
