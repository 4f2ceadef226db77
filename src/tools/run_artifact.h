// tercel-run of what tercel.aot saved.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/status.h"

namespace tercel::tools {

struct ArtifactRequest {
  std::string procedure;             // NAME or NAME_SIGNATURE; empty: list what there is
  std::vector<std::string> inputs;   // ARGUMENT=FILE, as of readInput; the others are made up
  std::vector<std::string> expects;  // RESULT=FILE
  std::string weights;               // path of the side file
  int64_t seed = 0, threads = 1, repeat = 1;
};

// Lists the artifact, or calls a procedure and prints its results and its time. An error where a
// result differs from what was expected by more than 1e-5 of its largest element.
Status runArtifact(std::span<const std::byte> file, const ArtifactRequest& request);

}  // namespace tercel::tools
