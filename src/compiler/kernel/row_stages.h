// What a rows cluster computes, in order. Stage s goes over the rows and accumulates the reductions
// that need those of earlier stages; the last one makes the outputs that have the domain's shape.
#pragma once
#include <unordered_map>

#include "compiler/kernel/nest.h"

namespace tercel::kernel {

class RowStages {
 public:
  RowStages(const ir::Module& module, const Cluster& cluster);

  int count() const { return stages_; }
  const ir::Op& op(size_t i) const { return m_.op(cluster_.ops[i]); }
  // Positions among the ops, of all reductions or of those of a stage.
  const std::vector<size_t>& reductions() const { return reductions_; }
  const std::vector<size_t>& reductionsOf(int stage) const {
    return by_stage_[static_cast<size_t>(stage)];
  }
  bool isFullOutput(size_t output) const { return full_output_[output]; }
  int outputStage(size_t output) const;
  size_t accumulators() const;  // that a stage carries, at most
  bool sumsProducts(int stage) const;  // of f32, which may be far apart: not squares
  bool sumsProducts() const;
  bool computesCostly(int stage) const;  // for its reductions, what no earlier stage has

  Indices operandIndices(size_t reduction, const Indices& domain) const;
  Indices mappedIndices(size_t i, const Indices& domain) const;
  Indices outputIndices(size_t output, const Indices& domain) const;

  // Ops whose values, one for each place of the domain, are made in `stage` and used later again,
  // where making them is costly.
  struct Reused {
    size_t op;
    int stage;
  };
  std::vector<Reused> reused() const;

 private:
  std::vector<bool> costlyPlaces() const;
  bool isReshaped(ir::Value v) const;
  int depthOf(ir::Value v) const;
  int stageOf(size_t reduction) const { return depthOf(op(reduction).result()) - 1; }
  bool isFull(size_t i) const;
  bool needs(ir::Value v, ir::Value what, int level) const;

  const ir::Module& m_;
  const Cluster& cluster_;
  std::unordered_map<uint32_t, int> depth_;  // how many reductions one after another a value needs
  std::vector<size_t> reductions_;
  std::vector<std::vector<size_t>> by_stage_;
  std::vector<bool> full_output_;
  int stages_ = 0;
};

}  // namespace tercel::kernel
