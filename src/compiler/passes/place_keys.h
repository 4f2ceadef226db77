// What gathers and scatters have alike, by the names that each has for it.
#pragma once
#include "compiler/ir/module.h"

namespace tercel::passes {

struct PlaceKeys {
  ir::AttrKey map, dropped, windows, batching, places_batching;
};

inline const PlaceKeys& placeKeys(const ir::Op& gather_or_scatter) {
  using ir::AttrKey;
  static constexpr PlaceKeys kGather = {
      AttrKey::start_index_map, AttrKey::collapsed_slice_dims, AttrKey::offset_dims,
      AttrKey::operand_batching_dims, AttrKey::start_indices_batching_dims};
  static constexpr PlaceKeys kScatter = {
      AttrKey::scatter_dims_to_operand_dims, AttrKey::inserted_window_dims,
      AttrKey::update_window_dims, AttrKey::input_batching_dims,
      AttrKey::scatter_indices_batching_dims};
  return gather_or_scatter.kind == ir::OpKind::gather_ ? kGather : kScatter;
}

}  // namespace tercel::passes
