#include "pjrt/entry.h"
#include "pjrt/named_value.h"

namespace tercel::pjrt {

Status Plugin_Initialize(PJRT_Plugin_Initialize_Args&) { return {}; }

// The client writes programs in the newest StableHLO version that both sides know.
Status Plugin_Attributes(PJRT_Plugin_Attributes_Args& args) {
  static const Attributes attributes({
      {"stablehlo_current_version", std::vector<int64_t>{1, 17, 0}},
      {"stablehlo_minimum_version", std::vector<int64_t>{0, 9, 0}},
      {"xla_version", int64_t{2}},
  });
  args.attributes = attributes.data();
  args.num_attributes = attributes.size();
  return {};
}

}  // namespace tercel::pjrt
