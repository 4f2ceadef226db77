#include "pjrt/op_sharding.h"

#include "pjrt/wire.h"

namespace tercel::pjrt {

std::string writeOpSharding(const OpSharding& sharding) {
  enum : uint32_t {
    kType = 1,
    kTileAssignmentDimensions = 3,
    kTileAssignmentDevices = 4,
    kReplicateOnLastTileDim = 6,
    kLastTileDims = 8,
    kIotaReshapeDims = 9,
    kIotaTransposePerm = 10,
  };
  WireWriter out;
  out.integer(kType, static_cast<int64_t>(sharding.type));
  if (sharding.type == ShardingType::maximal) {
    const int64_t one = 1;
    out.packed(kTileAssignmentDimensions, {&one, 1});
    out.packed(kTileAssignmentDevices, {&sharding.device, 1});
  }
  if (sharding.type == ShardingType::other) {
    out.packed(kTileAssignmentDimensions, sharding.tile_dims);
    if (sharding.replicate_on_last_tile_dim) out.integer(kReplicateOnLastTileDim, 1);
    out.packed(kLastTileDims, sharding.last_tile_dims);
    out.packed(kIotaReshapeDims, sharding.iota_reshape_dims);
    out.packed(kIotaTransposePerm, sharding.iota_transpose_perm);
  }
  return out.take();
}

}  // namespace tercel::pjrt
