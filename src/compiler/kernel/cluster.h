// A cluster: the ops that one kernel computes together, and how it is lowered.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/kernel/kernel.h"
#include "compiler/kernel/machine.h"
#include "core/status.h"

namespace tercel::kernel {

// The shape of a cluster's loops.
enum class Nest : uint8_t {
  loop,      // each output element on its own
  rows,      // reductions over rows (or columns), with what comes before and after them
  scan,      // a running reduction along one dimension, with what comes before and after it
  contract,  // a dot_general or convolution with its epilogue
  update,    // dynamic_update_slice in place
  scatter,
  select_and_scatter,
  comparator,  // of a sort
  region,      // control flow with everything inside it
};
std::string_view nestName(Nest nest);
// The outputs take the memory of the operands that they are updates of.
inline bool isInPlace(Nest nest) { return nest == Nest::update || nest == Nest::scatter; }

struct Cluster {
  Nest nest = Nest::loop;
  // In order; none of a region inside. Of a region nest: numbers that it knows, then the control op.
  std::vector<ir::OpId> ops;
  std::vector<ir::Value> inputs;   // in memory before
  std::vector<ir::Value> outputs;  // in memory after
  // alias[i] = the input whose memory output i takes, or -1. The kernel then reads that input only
  // at places not yet written.
  std::vector<int32_t> alias;
  // may_alias[i] = the input that output i may share memory with at run time (donation), or -1.
  std::vector<int32_t> may_alias;
  // What differs between the steps of an unrolled program is no part of the code, so that they share
  // a kernel: slices of inputs, each a param that points at its first element, and splat constants,
  // which the kernel reads from an array of f64.
  std::vector<ir::Value> slices;
  std::vector<ir::Value> numbers;
  // Of a rows nest: the dimensions of the operands of its reductions, and which of them are reduced.
  Dims domain;
  std::vector<bool> reduced;
  // For each op: the domain dimension that indexes each dimension of its result, -1 for one of size
  // 1; empty where it is indexed in another way.
  std::vector<std::vector<int32_t>> maps;
  // Of a region nest: what its regions compute, in order, those of nested ops included.
  std::vector<struct RegionUnits> regions;
  // Of a region nest: values made in the memory of others, which nothing reads afterwards.
  std::vector<std::pair<ir::Value, ir::Value>> shares;
  // Runs on one thread, others being busy with the same: nothing is gained by many tasks.
  bool is_alone = false;
  // Of a region nest: the turns of its loop are tasks (ir/parallel_loop.h).
  bool is_parallel = false;
};

// A unit of work in order: a cluster, or one op that is a step of its own (while, if, sort ...).
struct Unit {
  bool is_cluster = true;
  Cluster cluster;
  ir::OpId op;
};

struct RegionUnits {
  ir::RegionId region;
  std::vector<Unit> units;
};

// The kernel's params are the inputs, the outputs that alias no input, the slices, and the numbers if
// there are any.
// UNIMPLEMENTED names an op that cannot be lowered.
Result<Kernel> lower(const ir::Module& module, const Cluster& cluster, const Machine& machine);

// Bytes of the widest element that the cluster computes with, which decides the vectors' lanes.
size_t widestElement(const ir::Module& module, const Cluster& cluster);

// Whether code may depend on the numbers of what says where a gather begins.
bool isKnownStart(const ir::Module& module, ir::Value start);

// Two clusters with the same key lower to the same kernel. Constants that are not in `numbers`
// are part of it.
std::string structureKey(const ir::Module& module, const Cluster& cluster);

}  // namespace tercel::kernel
