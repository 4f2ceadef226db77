// What the handler of a custom_call step is shown: the step's `values` in readable form.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/shape.h"
#include "core/status.h"

namespace tercel::program {

struct CallValue {
  Shape shape;
  bool is_token = false;

  int64_t bytes() const { return is_token ? 0 : shape.bytes(); }
};

struct CallSignature {
  int64_t api_version = 0;  // StableHLO's number; 4: typed FFI
  std::vector<CallValue> operands;
  std::vector<CallValue> results;
  bool has_side_effect = false;
};

// Number of operands, of results, api_version, has_side_effect; then of each value its dtype (-1: a
// token), its rank and its dims.
std::vector<int64_t> encode(const CallSignature& signature);
Result<CallSignature> decodeCallSignature(std::span<const int64_t> values);
// "f32[2,3]" or "token"
std::string toString(const CallValue& value);
// "(f32[2,3], token) -> (f32[3])"
std::string toString(const CallSignature& signature);

}  // namespace tercel::program
