// Permutations of dimensions where lines are short on one side, or where what moves is a word of
// several elements: turned in registers into scratch memory, of which runs are finished along the
// output. What is stored behind a line, the next one overwrites.
#include "compiler/kernel/nest_transpose.h"
#include "compiler/kernel/permute_fill.h"
#include "compiler/kernel/thin_lines.h"
#include "compiler/kernel/turned_input.h"

namespace tercel::kernel {
namespace {

using ir::Value;
using Way = PermutePlan::Way;

// Bytes that a task turns: of few lines less, which stay in the nearest cache beside what is read.
constexpr int64_t kBlock = 32 << 10, kFewLines = 8 << 10;
constexpr int64_t kLine = 256;        // of them along the input, where that is long
constexpr int64_t kStreamedFar = 8 << 20;  // for kStreamed, of lines that lie far apart

class PermuteNest {
 public:
  explicit PermuteNest(Lowering& low)
      : m_(low.module), low_(low), b_(low.builder), space_(b_),
        dims_(m_.shape(low.cluster.outputs[0]).dims) {}

  bool suits() {
    if (low_.cluster.outputs.size() != 1 || !low_.cluster.slices.empty()) return false;
    turned_ = findTurned(low_, true);
    if (!turned_.transpose.valid() || turned_.source == turned_.transpose) return false;
    dtype_ = low_.movedAs(m_.shape(turned_.source).dtype);
    if (isComplex(dtype_) || isPred(dtype_)) return false;
    loops_ = planLoops(low_, dims_, [&](Emitter& e, const Indices& i) { probeAll(e, i); });
    if (!single_ || loops_.accesses.size() < 2) return false;
    for (const auto& strides : loops_.strides)
      if (strides.empty()) return false;
    held_ = storedScalar(bitsOf(dtype_));
    auto plan = planPermutation(loops_, loads(), stores(), byteSize(held_),
                                low_.machine.vector_bytes, widestWord());
    if (!plan) return false;
    plan_ = *plan;
    fill_.emplace(low_, space_, plan_, loops_, turned_access_, turned_.source, held_);
    findRuns();
    for (size_t a = 0; a < loops_.accesses.size(); ++a)
      if (!followsRuns(loops_.strides[a]) && !addRepeated(a)) return false;
    return true;
  }

  void run() {
    chooseBlocks();
    chooseScratch();
    low_.forTasks(tasks_, [&](V task) { emitTask(task); });
  }

 private:
  const std::vector<int64_t>& loads() const { return loops_.strides[turned_access_]; }
  const std::vector<int64_t>& stores() const { return loops_.strides.back(); }
  int64_t extent(size_t group) const { return loops_.groupExtent(group); }
  int64_t wordBytes() const { return plan_.word * byteSize(held_); }
  int64_t packedRow() const { return plan_.across() * plan_.outer_size; }

  // Bytes of a word that is worth scratch memory: of what a cache holds half a vector, of what goes
  // around the caches as much as stands for the rest of a line to come.
  int64_t widestWord() const {
    const bool is_large = m_.shape(low_.cluster.outputs[0]).bytes() >= kStreamedFar;
    return is_large ? kLine : low_.machine.vector_bytes / 2;
  }

  void probeAll(Emitter& e, const Indices& i) {
    const Dims& own = m_.shape(turned_.transpose).dims;
    const Indices at = own == dims_ ? i : space(e).delinear(space(e).linear(i, dims_), own);
    turned_access_ = e.record->size();
    Elem turned = e.at(turned_.source, turned_.sourceIndices(m_, space(e), at));
    single_ = e.record->size() == turned_access_ + 1;
    e.bindElem(turned_.turned, turned);
    Elem value = e.at(low_.cluster.outputs[0], i);
    low_.storeOutput(e, 0, space(e).linear(i, dims_), value);
    e.unbind(turned_.turned);
  }
  static IndexSpace& space(Emitter& e) { return e.space(); }

  // The groups along which the output has no gaps, outermost first; what other groups there are of
  // the input's side says where a run begins.
  void findRuns() {
    std::vector<size_t> run;
    for (size_t g = 0; g < stores().size(); ++g)
      if (stores()[g] < plan_.word) run.push_back(g);
    run.insert(run.end(), plan_.inner.begin(), plan_.inner.end());
    if (plan_.outer) run.push_back(*plan_.outer);
    int64_t places = 1;
    for (size_t g : plan_.ins) {
      places *= extent(g);
      (places <= plan_.run ? run : starts_).push_back(g);
    }
    runs_.assign(run.rbegin(), run.rend());
    for (size_t g : runs_) run_extents_.push_back(extent(g));
    for (size_t g : starts_) start_extents_.insert(size_t{0}, extent(g));
    for (size_t g = 0; g < loops_.groups.size(); ++g) {
      if (std::ranges::find(runs_, g) != runs_.end() ||
          std::ranges::find(starts_, g) != starts_.end())
        continue;
      task_groups_.push_back(g);
      task_extents_.push_back(extent(g));
    }
  }

  // Whether what else is read is the same all along a run, or lies as the output does.
  bool followsRuns(const std::vector<int64_t>& strides) const {
    if (&strides == &loads()) return true;
    auto all = [&](auto&& is) { return std::ranges::all_of(runs_, is); };
    return all([&](size_t g) { return strides[g] == 0; }) ||
           all([&](size_t g) { return strides[g] == stores()[g]; });
  }

  // What is read again and again along a run, at each place of the output's inner side its own.
  struct Repeated {
    Value v;
    size_t access;
    BufferId scratch;
  };

  bool addRepeated(size_t access) {
    const Access& a = loops_.accesses[access];
    const auto& strides = loops_.strides[access];
    if (a.is_store || a.is_placed || a.param < 0 ||
        a.param >= static_cast<int32_t>(low_.cluster.inputs.size()))
      return false;
    const Value v = low_.cluster.inputs[static_cast<size_t>(a.param)];
    const DType dtype = low_.movedAs(m_.shape(v).dtype);
    auto repeats = [&](size_t g) {
      return strides[g] == (stores()[g] < plan_.across() ? stores()[g] : 0);
    };
    if (isComplex(dtype) || isPred(dtype) || !staysInside(access, v) || isReadAgain(a.param) ||
        !std::ranges::all_of(runs_, repeats) || !std::ranges::all_of(starts_, repeats))
      return false;
    repeated_.push_back({v, access, 0});
    return true;
  }

  // Whether all that it would read is there: no bound is asked before.
  bool staysInside(size_t access, Value v) const {
    int64_t last = loops_.accesses[access].index.constant;
    for (size_t g = 0; g < stores().size(); ++g) {
      if (loops_.strides[access][g] < 0) return false;
      last += loops_.strides[access][g] * (extent(g) - 1);
    }
    return loops_.accesses[access].index.constant >= 0 && last < m_.shape(v).elements();
  }

  bool isReadAgain(int32_t param) const {
    return std::ranges::count(loops_.accesses, param, &Access::param) > 1;
  }

  // A vector from each place of the inner side on.
  void repeat(const Repeated& r, const std::vector<Index>& groups) {
    const Shape& shape = m_.shape(r.v);
    Index base = loops_.accesses[r.access].index.constant;
    for (size_t g : task_groups_)
      base = space_.add(base, space_.scale(groups[g], loops_.strides[r.access][g]));
    for (int64_t at = 0; at < plan_.across() + lanes_; at += lanes_) {
      Emitter e(b_, space_, m_, lanes_);
      low_.bindInputs(e);
      std::vector<int64_t> places;
      for (int64_t lane = 0; lane < lanes_; ++lane)
        places.push_back((at + lane) % plan_.across());
      const Index from = lanes_ > 1 ? space_.known(places, plan_.across()) : Index(places[0]);
      const Elem x = e.at(r.v, space_.delinear(space_.add(base, from), shape.dims));
      b_.store(r.scratch, b_.index(at), elemWiden(b_, x, lanes_).re);
    }
  }

  void chooseBlocks() {
    const int64_t size = wordBytes(), step = plan_.words;
    const int64_t block = (isOfFewLines() ? kFewLines : kBlock) / size / plan_.inner_size;
    const int64_t packed = block / plan_.outer_size;
    auto places = [&](int64_t bytes, int64_t multiple) {
      return std::max<int64_t>(1, bytes / multiple) * multiple;
    };
    int64_t in = plan_.in_size;
    if (plan_.is_packed && plan_.run < plan_.in_size) {
      in = places(packed, plan_.run);
    } else if (plan_.is_packed) {
      in = places(packed, step);
    } else if (plan_.way == Way::tiles || plan_.way == Way::words) {
      in = places(kLine / size, step);
    }
    in_ = Side(plan_.in_size, std::max(in, step));
    if (plan_.way == Way::part) in_ = Side(plan_.in_size, plan_.in_size);
    if (plan_.in_size < step) in_ = Side(plan_.in_size, plan_.in_size);
    const int64_t outer_step = plan_.way == Way::part ? step : fill_->outerStep();
    out_ = Side(plan_.outer_size,
                plan_.is_packed ? plan_.outer_size : places(block / in_.size, outer_step));
    tasks_ = elementCount(task_extents_) * in_.blocks * out_.blocks;
  }

  bool isOfFewLines() const { return plan_.way != Way::tiles && plan_.way != Way::words; }

  // Rows lie apart by an odd number of cache lines.
  void chooseScratch() {
    lanes_ = low_.movesBits() ? low_.machine.vector_bytes / static_cast<int>(byteSize(held_))
                              : vectorLanes(m_, low_.cluster, low_.machine);
    const int64_t length = plan_.is_packed ? std::min(plan_.run, in_.size) * packedRow()
                                           : out_.size * plan_.across();
    while (lanes_ > 1 && lanes_ / 2 >= length) lanes_ /= 2;
    streaming_ = length * byteSize(held_) >= kShortestStreamed &&
                 streamsOutputs(low_, lanes_, kLineBytes,
                                isOfFewLines() ? kStreamed : kStreamedFar);
    const int64_t line = kLineBytes / byteSize(held_), behind = fill_->mostLines() * plan_.word;
    pitch_ = packedRow();
    if (!plan_.is_packed) {
      pitch_ = (length + behind + line - 1) / line * line;
      if (pitch_ / line % 2 == 0) pitch_ += line;
    }
    for (Repeated& r : repeated_)
      r.scratch = b_.addScratch(computedScalar(low_.movedAs(m_.shape(r.v).dtype)),
                                plan_.across() + 2 * lanes_);
    if (goesStraight()) return;
    scratch_ = b_.addScratch(held_, in_.size * pitch_ + behind + lanes_);
    fill_->useScratch(*scratch_, pitch_);
  }

  // Vectors whose lanes are all of one run, or are overwritten at once.
  bool goesStraight() const {
    if (!low_.movesBits() || streaming_) return false;
    const int64_t lanes = plan_.words * plan_.word;
    if (plan_.way == Way::part || plan_.way == Way::within) return true;
    return plan_.way == Way::join && plan_.run == plan_.in_size &&
           (low_.machine.hasMasks() ||
            joinedWords(plan_.inner_size, plan_.words) * plan_.word == lanes);
  }

  Index asLoop(const Index& i, int64_t count) {
    return i.isConstant() ? i : space_.loop(space_.emitScalar(i), count);
  }

  void emitTask(V task) {
    Index t = space_.loop(task, tasks_);
    Range in = in_.range(b_, space_.emitScalar(space_.remainder(t, in_.blocks)));
    t = space_.quotient(t, in_.blocks);
    Range out = out_.range(b_, space_.emitScalar(space_.remainder(t, out_.blocks)));
    const Indices at = space_.delinear(space_.quotient(t, out_.blocks), task_extents_);
    std::vector<Index> groups(loops_.groups.size());
    Index base, start;
    for (size_t i = 0; i < task_groups_.size(); ++i) {
      const size_t g = task_groups_[i];
      groups[g] = asLoop(at[i], task_extents_[i]);
      base = space_.add(base, space_.scale(groups[g], loads()[g]));
      start = space_.add(start, space_.scale(groups[g], stores()[g]));
    }
    V first = b_.iadd(space_.emitScalar(base), b_.imul(in.base, b_.index(loads()[plan_.ins[0]])));
    if (plan_.outer) first = b_.iadd(first, b_.imul(out.base, b_.index(loads()[*plan_.outer])));
    V to = b_.index(0);
    if (!scratch_) {
      V places = plan_.outer ? b_.imul(out.base, b_.index(plan_.word))
                             : b_.imul(in.base, b_.index(plan_.across()));
      to = b_.iadd(space_.emitScalar(start), places);
    }
    fill_->emit(in_, out_, in, out, first, to);
    for (const Repeated& r : repeated_) repeat(r, groups);
    if (scratch_) finish(groups, in, out);
  }

  void finish(std::vector<Index> groups, const Range& in, const Range& out) {
    const V row = b_.index(plan_.is_packed ? packedRow() : plan_.across());
    if (plan_.is_packed && plan_.run == plan_.in_size)
      return emitRun(groups, b_.imul(in.first, row), b_.imul(in.last, row),
                     b_.imul(b_.isub(in.first, in.base), b_.index(pitch_)));
    b_.forLoop(in.first, in.last, plan_.run, [&](V i) {
      const Index start = space_.quotient(space_.loop(i, plan_.in_size), plan_.run);
      const Indices at = space_.delinear(start, start_extents_);
      for (size_t k = 0; k < starts_.size(); ++k)
        groups[starts_[k]] = asLoop(at[starts_.size() - 1 - k], extent(starts_[k]));
      V begin = b_.imul(b_.isub(i, in.base), b_.index(pitch_));
      if (plan_.is_packed)
        return emitRun(groups, b_.index(0), b_.index(plan_.run * packedRow()), begin);
      begin = b_.iadd(begin, b_.imul(b_.isub(out.first, out.base), row));
      emitRun(groups, b_.imul(out.first, row), b_.imul(out.last, row), begin);
    });
  }

  // From `first` to `last` of the run's elements, which begin at `scratch`.
  void emitRun(const std::vector<Index>& groups, V first, V last, V scratch) {
    Index start;
    for (size_t g = 0; g < groups.size(); ++g)
      start = space_.add(start, space_.scale(groups[g], stores()[g]));
    V before = b_.isub(scratch, first);
    uint64_t from = 1, to = 1;
    const bool aligned = b_.isConstant(first, &from) && b_.isConstant(last, &to) &&
                         (to - from) % static_cast<uint64_t>(lanes_) == 0 && !streaming_;
    auto place = [&] { return b_.iadd(space_.emitScalar(start), first); };
    overRun(b_, first, last, lanes_, aligned, streaming_ ? std::function<V()>(place) : nullptr,
            [&](V at, V count) { emitVector(groups, start, before, at, count); });
  }

  void emitVector(std::vector<Index> groups, const Index& start, V before, V at, V count) {
    Emitter e(b_, space_, m_, lanes_);
    low_.bindInputs(e);
    V held = b_.load(*scratch_, b_.iadd(before, at), lanes_);
    e.bindElem(turned_.turned, {fromHeld(held), {}});
    for (const Repeated& r : repeated_)
      e.bindPlaced(r.v, r.scratch, [&](std::span<const Index>) {
        const V inner = b_.binary(Opcode::urem, at, b_.index(plan_.across()));
        return space_.loop(inner, plan_.across() + lanes_, lanes_ > 1);
      });
    e.streaming = streaming_;
    const Index q = space_.loop(at, elementCount(run_extents_), lanes_ > 1);
    const Indices within = space_.delinear(q, run_extents_);
    for (size_t k = 0; k < runs_.size(); ++k) groups[runs_[k]] = within[k];
    const Indices domain = domainIndices(space_, loops_, dims_.size(), groups);
    Guard guard;
    if (count.valid()) guard = firstLanes(b_, lanes_, count);
    e.guarded(guard, [&] {
      low_.storeOutput(e, 0, space_.add(start, q), e.at(low_.cluster.outputs[0], domain));
    });
  }

  V fromHeld(V x) {
    x = b_.cast(Opcode::bitcast, x, storedScalar(dtype_));
    return b_.cast(Opcode::fpext, x, computedScalar(dtype_));
  }

  const ir::Module& m_;
  Lowering& low_;
  Builder& b_;
  IndexSpace space_;
  const Dims& dims_;
  LoopPlan loops_;
  TurnedInput turned_;
  size_t turned_access_ = 0;
  bool single_ = false;
  DType dtype_ = DType::f32;
  Scalar held_ = Scalar::i32;  // of the scratch memory
  PermutePlan plan_;
  std::vector<size_t> runs_, starts_, task_groups_;
  Dims run_extents_, start_extents_, task_extents_;
  Side in_, out_;
  int64_t tasks_ = 1, pitch_ = 1;
  std::optional<BufferId> scratch_;  // none: vectors go straight to the output
  int lanes_ = 1;  // of what is stored
  bool streaming_ = false;
  std::vector<Repeated> repeated_;
  std::optional<PermuteFill> fill_;
};

}  // namespace

bool lowerPermuted(Lowering& low) { return lowerWhereSuited<PermuteNest>(low); }

}  // namespace tercel::kernel
