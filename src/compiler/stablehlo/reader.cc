#include "compiler/stablehlo/reader.h"

#include <algorithm>

#include "compiler/ir/builder.h"
#include "compiler/ir/rename.h"
#include "compiler/stablehlo/bytecode_magic.h"
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

// Main's first argument becomes a constant.
Status fixPlatform(ir::Module& module, int32_t platform) {
  const bool has_main = module.find("main") != nullptr;
  ir::Region* body = has_main ? &module.region(module.main().body) : nullptr;
  if (!body || body->args.empty() || module.shape(body->args[0]) != Shape{DType::s32, {}})
    return invalidArgument("main of a program for several platforms takes the number of its "
                           "platform first, an s32");
  ir::Builder builder(module, module.main().body);
  const ir::Value number = builder.splat(Shape{DType::s32, {}}, platform);
  std::ranges::rotate(body->ops, body->ops.end() - 1);
  ir::rename(module, module.main().body, {{body->args[0].index, number}});
  body->args.erase(size_t{0});
  for (size_t i = 0; i < body->args.size(); ++i)
    module.setIndex(body->args[i], static_cast<uint32_t>(i));
  module.main().args.erase(module.main().args.begin());
  return {};
}

Result<ir::Module> readText(std::string_view) {
  return unimplemented("MLIR text is not read yet: serialize a StableHLO portable artifact");
}

}  // namespace

Result<ir::Module> readStablehlo(std::span<const std::byte> artifact,
                                 const GivenArguments& given) {
  if (!isBytecode(artifact) && !artifact.empty() && looksLikeText(asText(artifact)))
    return readText(asText(artifact));
  WireModule wire;
  TERCEL_TRY(readBytecode(artifact, wire));
  ModuleBuilder builder(wire, artifact.size(), given);
  TERCEL_TRY(builder.build());
  ir::Module module = builder.take();
  if (given.platform) TERCEL_TRY(fixPlatform(module, *given.platform));
  return module;
}

}  // namespace tercel::stablehlo
