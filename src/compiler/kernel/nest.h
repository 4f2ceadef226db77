// What the lowerings of all nests share: parameters, domains, tasks.
#pragma once
#include "compiler/kernel/cluster.h"
#include "compiler/kernel/emitter.h"

namespace tercel::kernel {

// Of one f32 element in a vector loop, nanoseconds.
double elementCost(const ir::Module& module, const ir::Op& op);

// A cluster being lowered: where its code goes, and where its values are. The base writes one task
// after another into a builder; where the values are is for those derived from it to say.
class Lowering {
 public:
  Lowering(const ir::Module& module, const Cluster& cluster, const Machine& machine,
           Builder& builder)
      : module(module), cluster(cluster), machine(machine), builder(builder) {}
  virtual ~Lowering() = default;

  // Whether elements are only moved.
  virtual bool movesBits() const { return false; }
  // Whether they are moved or chosen, and emitters evaluate their bits.
  virtual bool keepsBits() const { return false; }
  // Whether what is stored may be made once more: it takes no input's memory.
  virtual bool mayStoreAgain() const { return false; }
  // What its memory holds for elements of a type.
  DType movedAs(DType dtype) const { return keepsBits() ? bitsOf(dtype) : dtype; }

  const ir::Module& module;
  const Cluster& cluster;
  const Machine& machine;
  Builder& builder;
  std::vector<BufferId> output_buffers;
  int64_t tasks = 1;

  virtual void bindInputs(Emitter& emitter) const = 0;
  virtual void storeOutput(Emitter& emitter, size_t output, const Index& linear, const Elem& elem);
  // `body` for each of `count` tasks.
  void forTasks(int64_t count, const std::function<void(V)>& body);
  // The same, for all of those that run together, from the first to before the last.
  virtual void forTaskRange(int64_t count, const std::function<void(V, V)>& body);
};

struct KernelHolder {
  Kernel kernel;
  Builder own{kernel};
};

// A cluster as a kernel of its own: inputs and outputs are its params, tasks its task range.
class KernelLowering : public KernelHolder, public Lowering {
 public:
  KernelLowering(const ir::Module& module, const Cluster& cluster, const Machine& machine)
      : Lowering(module, cluster, machine, own) {
    own.machine = machine;
    addParams();
  }
  std::vector<BufferId> input_buffers;
  bool movesBits() const override { return moves_bits_; }
  bool keepsBits() const override { return keeps_bits_; }
  bool mayStoreAgain() const override;
  void bindInputs(Emitter& emitter) const override;
  void forTaskRange(int64_t count, const std::function<void(V, V)>& body) override;

 private:
  void addParams();
  void addNumbers(BufferId numbers);
  void addStarts();
  bool isSingle(ir::Value v) const;
  Scalar inMemory(ir::Value v) const;
  void bindSlice(Emitter& emitter, ir::Value slice, BufferId first) const;
  std::vector<BufferId> slices_;
  std::vector<V> numbers_;
  struct Start {
    ir::Value value;
    int64_t limit;
    V clamped;
  };
  std::vector<Start> starts_;
  bool moves_bits_ = false, keeps_bits_ = false;
};

// The pad that is the output of a product with its epilogue: its domain is what is padded, which is
// stored inside of the output. Null where there is none.
const ir::Op* paddedProduct(const ir::Module& module, const Cluster& cluster);

// Evaluates all outputs at the indices of a domain whose elements they have, in its order, then
// stores them.
void storeOutputs(Lowering& low, Emitter& e, std::span<const int64_t> domain, const Indices& at);

// The input that is `v`.
size_t inputOf(const Cluster& cluster, ir::Value v);

// Lanes of a vector for the widest element.
int vectorLanes(const ir::Module& module, const Cluster& cluster, const Machine& machine);
// Whether vectors lie along the windows of a scatter, whose last dimension is then the operand's, too.
bool scattersLines(const ir::Module& module, const ir::Op& scatter);
// Multiply-adds (or windows' steps) behind one element of an op's result.
double stepsPerElement(const ir::Module& module, const ir::Op& op);
// Nanoseconds that memory takes to move so many bytes.
double memoryCost(double bytes);
// Nanoseconds that the cluster takes on one core, roughly.
double clusterCost(const ir::Module& module, const Cluster& cluster, const Machine& machine);

// Whether vectors store what is stored once more, for the machine has no masks.
bool storesOver(const Lowering& low);

// One loop of a nest over a domain; domain dimension `dim` index gets `stride` times its variable.
struct Loop {
  size_t dim;
  int64_t extent;
  int64_t stride;
};

// The loops that suit a domain: split where an index map divides, merged where all accesses are
// linear. `evaluate` emits everything the nest does at given domain indices.
using Evaluate = std::function<void(Emitter&, const Indices&)>;
struct LoopPlan {
  std::vector<Loop> loops;               // before merging, outermost first
  std::vector<std::vector<size_t>> groups;  // merged runs of loops, outermost first
  std::vector<std::vector<int64_t>> strides;  // of each access: for each group; empty if irregular
  std::vector<bool> bounded_last;  // of each group: its last index alone leaves what is padded
  std::vector<Access> accesses;
  int64_t groupExtent(size_t group) const;
};
// Loops of different `classes` (one for each domain dimension; empty: all alike) are never merged.
LoopPlan planLoops(const Lowering& lowering, std::span<const int64_t> domain,
                   const Evaluate& evaluate, const std::vector<bool>& classes = {});
// Domain indices from one index for each group.
Indices domainIndices(IndexSpace& space, const LoopPlan& plan, size_t rank,
                      std::span<const Index> groups);

// Whether vectors stored along a loop of `extent` elements should go around the caches: the outputs
// are made anew and have `large` bytes, which a consumer will not find in cache anyway, and the
// vectors, each a cache line or half of one, fill whole lines.
inline constexpr int64_t kLineBytes = 64;
bool streamsOutputs(const Lowering& low, int lanes, int64_t extent, int64_t large);
// The same of a nest that goes over its arrays once: that is only as quick as memory is, where stores
// around the caches save its reading what is written, so much must be read besides.
bool streamsOnce(const Lowering& low, int lanes, int64_t extent);
// As far ahead a loop over an array fetches what it will read.
inline constexpr int64_t kVectorsAhead = 32;

// By the cluster's nest.
Status lowerNest(Lowering& low);
Status lowerLoop(Lowering& low);
Status lowerRows(Lowering& low);
Status lowerScan(Lowering& low);
Status lowerContract(Lowering& low);
Status lowerUpdate(Lowering& low);
Status lowerScatter(Lowering& low);
Status lowerSelectAndScatter(Lowering& low);
Status lowerComparator(Lowering& low);
Status lowerRegion(Lowering& low);

}  // namespace tercel::kernel
