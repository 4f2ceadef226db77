#include "tools/exported_file.h"

#include <flatbuffers/flatbuffers.h>

#include <string>

namespace tercel::tools {
namespace {

using Bytes = flatbuffers::Vector<int8_t>;
using Texts = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>;

// The fields that matter of the table Exported of JAX's serialization.fbs, of every version so far.
class Exported : private flatbuffers::Table {
 public:
  const Texts* platforms() const { return GetPointer<const Texts*>(kPlatforms); }
  const Bytes* module() const { return GetPointer<const Bytes*>(kModule); }
  bool Verify(flatbuffers::Verifier& verifier) const {
    return VerifyTableStart(verifier) && VerifyOffsetRequired(verifier, kPlatforms) &&
           verifier.VerifyVector(platforms()) && verifier.VerifyVectorOfStrings(platforms()) &&
           VerifyOffsetRequired(verifier, kModule) && verifier.VerifyVector(module()) &&
           verifier.EndTable();
  }

 private:
  static constexpr flatbuffers::voffset_t kPlatforms = 22, kModule = 30;
};

bool isStablehlo(const std::vector<std::byte>& file) {
  return file.size() >= 4 && std::memcmp(file.data(), "ML\xefR", 4) == 0;
}

}  // namespace

Result<std::vector<std::byte>> stablehloOf(std::vector<std::byte> file) {
  if (isStablehlo(file)) return file;
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(file.data()), file.size());
  if (!verifier.VerifyBuffer<Exported>(nullptr)) return file;
  const Exported& exported = *flatbuffers::GetRoot<Exported>(file.data());
  std::string platforms;
  for (const flatbuffers::String* platform : *exported.platforms()) {
    platforms += cat(platforms.empty() ? "" : ", ", platform->str());
  }
  if (platforms != "cpu") {
    return unimplemented("the file was exported for ", platforms, "; export it for cpu: "
                         "jax.export.export(f, platforms=['cpu'])");
  }
  const auto* first = reinterpret_cast<const std::byte*>(exported.module()->data());
  return std::vector<std::byte>(first, first + exported.module()->size());
}

}  // namespace tercel::tools
