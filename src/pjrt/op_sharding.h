// How an array is spread over devices, as xla.OpSharding says it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tercel::pjrt {

enum class ShardingType : uint8_t { replicated = 0, maximal = 1, other = 3, manual = 4 };

struct OpSharding {
  ShardingType type = ShardingType::replicated;
  // maximal: the one device.
  int64_t device = 0;
  // other: the tiles per dimension, and behind them one entry per subgroup dimension; the devices
  // are iota(product of reshape_dims), reshaped to reshape_dims, transposed by transpose_perm.
  std::vector<int64_t> tile_dims;
  std::vector<int64_t> iota_reshape_dims;
  std::vector<int64_t> iota_transpose_perm;
  bool replicate_on_last_tile_dim = false;
  std::vector<int64_t> last_tile_dims;  // types of the subgroup dimensions, as ShardingType
};

std::string writeOpSharding(const OpSharding& sharding);

}  // namespace tercel::pjrt
