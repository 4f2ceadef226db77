#include "compiler/stablehlo/reader.h"

#include <algorithm>

#include "compiler/stablehlo/bytecode_reader.h"
#include "compiler/stablehlo/module_builder.h"

namespace tercel::stablehlo {
namespace {

// Text has no control characters but white space; enough to tell it from other binary formats.
bool looksLikeText(std::string_view bytes) {
  bytes = bytes.substr(0, 64);
  return std::all_of(bytes.begin(), bytes.end(), [](char c) {
    return c == '\n' || c == '\t' || c == '\r' || static_cast<unsigned char>(c) >= 0x20;
  });
}

Result<ir::Module> readText(std::string_view) {
  return unimplemented("MLIR text is not read yet: serialize a StableHLO portable artifact");
}

}  // namespace

Result<ir::Module> readStablehlo(std::span<const std::byte> artifact, const GivenDims& dims) {
  if (!isBytecode(artifact) && !artifact.empty() && looksLikeText(asText(artifact)))
    return readText(asText(artifact));
  WireModule wire;
  TERCEL_TRY(readBytecode(artifact, wire));
  ModuleBuilder builder(wire, artifact.size(), dims);
  TERCEL_TRY(builder.build());
  return builder.take();
}

}  // namespace tercel::stablehlo
