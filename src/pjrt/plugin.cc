#include "compiler/stablehlo/reader.h"
#include "pjrt/entry.h"
#include "pjrt/named_value.h"

namespace tercel::pjrt {
namespace {

std::vector<int64_t> versionList(const std::array<int64_t, 3>& version) {
  return {version.begin(), version.end()};
}

}  // namespace

Status Plugin_Initialize(PJRT_Plugin_Initialize_Args&) { return {}; }

// The client writes programs in the newest StableHLO version that both sides know.
Status Plugin_Attributes(PJRT_Plugin_Attributes_Args& args) {
  static const Attributes attributes({
      {"stablehlo_current_version", versionList(stablehlo::kNewestVersion)},
      {"stablehlo_minimum_version", versionList(stablehlo::kOldestVersion)},
      {"xla_version", int64_t{2}},
  });
  args.attributes = attributes.data();
  args.num_attributes = attributes.size();
  return {};
}

}  // namespace tercel::pjrt
