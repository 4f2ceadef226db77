// Small random modules that verify, from a seed: every op the passes have rules for, loops,
// branches and calls, on values full of NaN, infinities and signed zeros.
#pragma once
#include <cstdint>
#include <random>
#include <vector>

#include "compiler/ir/builder.h"
#include "compiler/ir/module.h"

namespace tercel::passes {

class RandomModule {
 public:
  // `attributed`: ops with many attributes too, whose sums a pass may group in another way.
  explicit RandomModule(uint64_t seed, bool attributed = false)
      : random_(seed), attributed_(attributed) {}

  // A module of about `ops` ops in main.
  ir::Module make(int ops);
  // Arguments for its main.
  enum class Numbers { all, finite };
  std::vector<ir::Literal> arguments(const ir::Module& module, Numbers numbers = Numbers::all);
  ir::Literal literal(const Shape& shape, Numbers numbers = Numbers::all);

 private:
  using B = ir::Builder;
  int64_t pick(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  bool chance(int percent) { return pick(100) < percent; }
  DType dtype();
  Dims dims();
  ir::Value oneOf(const std::vector<ir::Value>& values) {
    return values[static_cast<size_t>(pick(static_cast<int64_t>(values.size())))];
  }
  ir::Value any();
  ir::Value anyOf(const Shape& shape, B& b);
  ir::Value anyDType(DType dtype, B& b);
  ir::Value scalar(DType dtype, B& b) { return anyOf({dtype, {}}, b); }
  void add(ir::Value v) { pool_.push_back(v); }

  void ops(B& b, int count, int depth);
  void op(B& b, int depth);
  void elementwise(B& b);
  void arithmetic(B& b, ir::Value x);
  void selection(B& b);
  void conversion(B& b);
  void movement(B& b);
  void cut(B& b);
  void join(B& b);
  void indexed(B& b);
  void reduction(B& b);
  void sort(B& b);
  void contraction(B& b);
  void convolution(B& b);
  void branch(B& b, int depth);
  void loop(B& b, int depth);
  void call(B& b);
  // random_attributed.cc
  void attributed(B& b);
  void window(B& b);
  void pooledGradient(B& b);
  void gather(B& b);
  void scatter(B& b);
  void imageConvolution(B& b);
  void fewBits(B& b);
  void addInferred(B& b, ir::OpKind kind, ir::Values operands, ir::Attrs attrs,
                   std::vector<ir::RegionId> regions);
  DType number();
  ir::Ints between(size_t count, int64_t low, int64_t high);
  Dims numbersOf(int64_t count, int64_t largest);
  ir::Value numbers(DType dtype, size_t rank, int64_t largest, B& b);
  ir::Ints someDimensions(size_t rank);
  ir::RegionId combiner(B& b, DType dtype, std::span<const ir::OpKind> kinds);
  ir::RegionId reducer(ir::Module& m, DType dtype, int lanes);
  ir::RegionId branchRegion(B& b, std::span<const Shape> shapes, int depth);

  std::mt19937_64 random_;
  bool attributed_;
  std::vector<ir::Value> pool_;  // what is visible where ops are being added
};

}  // namespace tercel::passes
