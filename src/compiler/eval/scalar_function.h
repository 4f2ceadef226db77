// A region over scalars that is applied many times: a reducer, a comparator, a map.
#pragma once
#include <memory>
#include <span>

#include "compiler/eval/evaluation.h"
#include "compiler/eval/kernel.h"

namespace tercel::eval {

enum class Rounding {
  each_op,  // as the types say
  at_end,   // f16, bf16, f32 are held as f64 and c64 as c128 between arguments and results
};

// Elementwise ops, scalar constants and calls of functions made of these become a list of kernels
// on slots; any other region is evaluated op by op. `at_end` is ignored where the region looks at
// bits or rounds by itself.
class ScalarFunction {
 public:
  ScalarFunction(Evaluation& evaluation, ir::RegionId region, Rounding rounding);

  // The types of apply()'s arguments and results: those of the region, or the wider ones.
  DType argType(size_t i) const { return arg_types_[i]; }
  DType resultType(size_t i) const { return result_types_[i]; }
  // The steps of one application, for Evaluation::charge.
  int64_t cost() const { return 1 + static_cast<int64_t>(steps_.size()); }

  // Each pointer leads to one element. Results are written after all arguments are read.
  Status apply(std::span<const void* const> args, std::span<void* const> results);

 private:
  struct alignas(16) Slot {
    std::byte bytes[16];
  };
  struct Place {
    Slot* slot;
    DType dtype;
  };
  struct Step {
    Kernel kernel;
    SmallVector<const void*, 3> in;
    void* out;
  };
  using Places = std::unordered_map<uint32_t, Place>;

  DType held(DType dtype) const;
  bool compile(const ir::Region& region, std::span<const Place> args, std::vector<Place>* results,
               int depth);
  bool compileOp(const Op& op, Places& places, int depth);
  bool compileCall(const Op& op, Places& places, int depth);
  bool find(ir::Value value, Places& places, Place* place);
  Place newPlace(DType dtype);
  Place constant(const Literal& literal);
  bool compileWith(Rounding rounding);
  Status interpret(std::span<const void* const> args, std::span<void* const> results);

  Evaluation& evaluation_;
  ir::RegionId region_;
  Rounding rounding_ = Rounding::each_op;
  bool compiled_ = false;
  std::vector<DType> arg_types_, result_types_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Place> args_, results_;
  std::vector<Step> steps_;
};

}  // namespace tercel::eval
