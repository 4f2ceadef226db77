// libFuzzer's door to the reader: `stablehlo_fuzz CORPUS`. What reads is verified too.
#include <cstdint>

#include "compiler/ir/verifier.h"
#include "compiler/stablehlo/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto module = tercel::stablehlo::readStablehlo(std::as_bytes(std::span(data, size)));
  if (module.ok()) (void)tercel::ir::verify(*module).ok();
  return 0;
}
