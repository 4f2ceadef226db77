// The MLIR bytecode container, all versions up to 6.
#pragma once
#include "compiler/stablehlo/wire.h"

namespace tercel::stablehlo {

inline constexpr uint64_t kNewestBytecode = 6;
// Regions nested deeper than this are refused, so that whoever walks them may recurse.
inline constexpr uint32_t kMaxRegionDepth = 200;

// `wire` refers to the artifact's bytes. INVALID_ARGUMENT with the byte offset where they are
// malformed, UNIMPLEMENTED for what the file asks for and we do not read.
Status readBytecode(Bytes artifact, WireModule& wire);

// The IR section: ops, regions, values. Called by readBytecode once the tables are filled.
void readOps(ByteCursor cursor, std::span<const Bytes> properties, WireModule& wire);

// A section's header and its bytes. id: as in the file, without the alignment flag.
struct Section {
  uint8_t id = 0;
  Bytes bytes;
};
Section readSection(ByteCursor& cursor);

inline constexpr uint8_t kIrSection = 4;

}  // namespace tercel::stablehlo
