// Movement that turns a few long lines into as many lanes of one, or back: colours of pixels kept
// together or apart. As many vectors as there are lines are exchanged in registers; memory is read
// and written by whole vectors.
#include <algorithm>

#include "compiler/kernel/line_tasks.h"
#include "compiler/kernel/nest_transpose.h"
#include "compiler/kernel/thin_lines.h"

namespace tercel::kernel {
namespace {

constexpr int64_t kTaskVectors = 32;  // of each line

class InterleaveNest {
 public:
  explicit InterleaveNest(Lowering& low)
      : m_(low.module), low_(low), b_(low.builder), space_(b_) {}

  bool suits() {
    if (!onlyReorders()) return false;
    output_ = low_.cluster.outputs[0];
    dims_ = m_.shape(output_).dims;
    dtype_ = low_.movedAs(m_.shape(output_).dtype);
    if (isComplex(dtype_) || isPred(dtype_)) return false;
    plan_ = planLoops(low_, dims_, [&](Emitter& e, const Indices& i) { storeOutputs(low_, e, dims_, i); });
    if (plan_.accesses.size() != 2 || plan_.strides[0].empty() || plan_.strides[1].empty())
      return false;
    const std::vector<int64_t>&load = plan_.strides[0], &store = plan_.strides[1];
    lanes_ = low_.machine.vector_bytes / static_cast<int>(byteSize(storedScalar(dtype_)));
    return find(load, store, false) || find(store, load, true);
  }

  void run() {
    for (size_t g = 0; g < plan_.groups.size(); ++g)
      if (g != few_ && g != long_) outer_.push_back(g);
    const LineTasks tasks{plan_, long_, outer_, lanes_, kTaskVectors * lanes_};
    tasks.run(low_, space_, [&](const std::vector<Index>& groups, V i) {
      Emitter e(b_, space_, m_, lanes_);
      low_.bindInputs(e);
      e.streaming = extent(long_) % lanes_ == 0 && wholeLines() &&
                    streamsOutputs(low_, lanes_, lanes_, kStreamed);
      joins_ ? emitJoined(e, groups, i) : emitParted(e, groups, i);
    });
  }

 private:
  bool onlyReorders() const {
    const Cluster& c = low_.cluster;
    return low_.movesBits() && c.outputs.size() == 1 && c.inputs.size() == 1 && c.slices.empty() &&
           std::ranges::all_of(c.ops, [&](ir::OpId id) {
             ir::OpKind kind = m_.op(id).kind;
             return kind == ir::OpKind::transpose_ || kind == ir::OpKind::reshape_;
           });
  }

  // `apart` is how the side lies whose lines are long, `together` the other one.
  bool find(const std::vector<int64_t>& together, const std::vector<int64_t>& apart, bool joins) {
    const int64_t most = byteSize(storedScalar(dtype_)) <= 2 ? 6 : 3;
    for (size_t f = 0; f < together.size(); ++f)
      for (size_t l = 0; l < together.size(); ++l)
        if (together[f] == 1 && apart[l] == 1 && together[l] == extent(f) && extent(f) > 1 &&
            extent(f) <= most && extent(l) >= 2 * lanes_) {
          few_ = f;
          long_ = l;
          joins_ = joins;
          return true;
        }
    return false;
  }

  int64_t extent(size_t group) const { return plan_.groupExtent(group); }

  // Whether all stores begin where a vector's multiple does.
  bool wholeLines() const {
    auto whole = [&](size_t g) { return plan_.strides[1][g] % lanes_ == 0; };
    return std::ranges::all_of(outer_, whole) && (joins_ || whole(few_));
  }

  // Where the element is in the output: of a long line's i, and line f.
  Index placeOf(std::vector<Index> groups, const Index& i, int64_t f) {
    groups[long_] = i;
    groups[few_] = Index(f);
    return space_.linear(domainIndices(space_, plan_, dims_.size(), groups), dims_);
  }

  // Lanes from a place on.
  Index lanesFrom(V place, int64_t beyond) {
    int64_t all = elementCount(dims_);
    return space_.add(space_.loop(place, all - beyond, true), Index(beyond));
  }

  void emitJoined(Emitter& e, std::vector<Index> groups, V i) {
    const int64_t few = extent(few_);
    std::vector<V> lines;
    groups[long_] = space_.loop(i, extent(long_), true);
    for (int64_t f = 0; f < few; ++f) {
      groups[few_] = Index(f);
      lines.push_back(e.at(output_, domainIndices(space_, plan_, dims_.size(), groups)).re);
    }
    V place = space_.emitScalar(placeOf(groups, space_.loop(i, extent(long_)), 0));
    for (int64_t r = 0; r < few; ++r) {
      V joined = gathered(b_, lines, {1, lanes_}, [&](int64_t l) {
        int64_t at = r * lanes_ + l;
        return From(at % few, at / few);
      });
      low_.storeOutput(e, 0, lanesFrom(place, r * lanes_), {joined, {}});
    }
  }

  void emitParted(Emitter& e, std::vector<Index> groups, V i) {
    const int64_t few = extent(few_);
    const ir::Value input = low_.cluster.inputs[0];
    V place = placeInInput(groups, i);
    std::vector<V> vectors;
    for (int64_t p = 0; p < few; ++p)
      vectors.push_back(
          e.at(input, space_.delinear(lanesFrom(place, p * lanes_), m_.shape(input).dims)).re);
    for (int64_t f = 0; f < few; ++f) {
      V line = gathered(b_, vectors, {1, lanes_}, [&](int64_t l) {
        int64_t at = l * few + f;
        return From(at / lanes_, at % lanes_);
      });
      low_.storeOutput(e, 0, placeOf(groups, space_.loop(i, extent(long_), true), f), {line, {}});
    }
  }

  V placeInInput(const std::vector<Index>& groups, V i) {
    Index sum = space_.scale(space_.loop(i, extent(long_)), plan_.strides[0][long_]);
    for (size_t g : outer_) sum = space_.add(sum, space_.scale(groups[g], plan_.strides[0][g]));
    return space_.emitScalar(sum);
  }

  const ir::Module& m_;
  Lowering& low_;
  Builder& b_;
  IndexSpace space_;
  ir::Value output_;
  Dims dims_;
  DType dtype_ = DType::f32;
  LoopPlan plan_;
  size_t few_ = kNoGroup, long_ = kNoGroup;
  bool joins_ = false;  // lines that lie apart in the input
  std::vector<size_t> outer_;
  int lanes_ = 1;
};

}  // namespace

bool lowerInterleaved(Lowering& low) { return lowerWhereSuited<InterleaveNest>(low); }

}  // namespace tercel::kernel
