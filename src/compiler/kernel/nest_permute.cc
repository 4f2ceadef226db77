// Permutations of dimensions where lines are short on one side, or where what moves is a word of
// several elements: turned in registers into scratch memory, of which runs are finished along the
// output. What is stored behind a line, the next one overwrites.
#include "compiler/kernel/nest_transpose.h"
#include "compiler/kernel/permute_plan.h"
#include "compiler/kernel/thin_lines.h"
#include "compiler/kernel/transpose_block.h"
#include "compiler/kernel/transpose_tile.h"
#include "compiler/kernel/turned_input.h"

namespace tercel::kernel {
namespace {

using Way = PermutePlan::Way;

// Bytes that a task turns: of few lines less, which stay in the nearest cache beside what is read.
constexpr int64_t kBlock = 32 << 10, kFewLines = 8 << 10;
constexpr int64_t kLine = 256;        // of them along the input, where that is long
// Bytes of an output that goes around the caches, of lines that lie far apart less; and of a run.
constexpr int64_t kStreamed = 16 << 20, kStreamedFar = 8 << 20, kShortest = 1 << 10;

class PermuteNest {
 public:
  explicit PermuteNest(Lowering& low)
      : m_(low.module), low_(low), b_(low.builder), space_(b_),
        dims_(m_.shape(low.cluster.outputs[0]).dims) {}

  bool suits() {
    if (low_.cluster.outputs.size() != 1 || !low_.cluster.slices.empty()) return false;
    turned_ = findTurned(low_);
    if (!turned_.transpose.valid() || turned_.source == turned_.transpose) return false;
    dtype_ = low_.movedAs(m_.shape(turned_.source).dtype);
    if (isComplex(dtype_) || isPred(dtype_)) return false;
    loops_ = planLoops(low_, dims_, [&](Emitter& e, const Indices& i) { probeAll(e, i); });
    if (!single_ || loops_.accesses.size() < 2) return false;
    for (const auto& strides : loops_.strides)
      if (strides.empty()) return false;
    held_ = storedScalar(bitsOf(dtype_));
    auto plan = planPermutation(loops_, loads(), stores(), byteSize(held_),
                                low_.machine.vector_bytes);
    if (!plan) return false;
    plan_ = *plan;
    findRuns();
    return std::ranges::all_of(loops_.strides, [&](const auto& a) { return followsRuns(a); });
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
  int64_t across() const { return plan_.inner_size * plan_.word; }  // elements, of one `outer`
  int64_t packedRow() const { return across() * plan_.outer_size; }

  void probeAll(Emitter& e, const Indices& i) {
    const Dims& own = m_.shape(turned_.transpose).dims;
    const Indices at = own == dims_ ? i : space(e).delinear(space(e).linear(i, dims_), own);
    turned_access_ = e.record->size();
    Elem turned = e.at(turned_.source, turned_.sourceIndices(m_, space(e), at));
    single_ = e.record->size() == turned_access_ + 1;
    e.bindElem(turned_.source, turned);
    Elem value = e.at(low_.cluster.outputs[0], i);
    low_.storeOutput(e, 0, space(e).linear(i, dims_), value);
    e.unbind(turned_.source);
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
    const int64_t outer_step = plan_.way == Way::part ? step : outerStep();
    out_ = Side(plan_.outer_size,
                plan_.is_packed ? plan_.outer_size : places(block / in_.size, outer_step));
    tasks_ = elementCount(task_extents_) * in_.blocks * out_.blocks;
  }

  bool isOfFewLines() const { return plan_.way != Way::tiles && plan_.way != Way::words; }

  // Places of `outer` that are turned at a time, in tiles.
  int64_t outerStep() const {
    if (plan_.way != Way::tiles) return 1;
    return std::clamp<int64_t>(mostLines() / plan_.inner_size, 1, plan_.outer_size);
  }

  // Rows lie apart by an odd number of cache lines.
  void chooseScratch() {
    lanes_ = low_.movesBits() ? low_.machine.vector_bytes / static_cast<int>(byteSize(held_))
                              : vectorLanes(m_, low_.cluster, low_.machine);
    const int64_t length = plan_.is_packed ? std::min(plan_.run, in_.size) * packedRow()
                                           : out_.size * across();
    while (lanes_ > 1 && lanes_ / 2 >= length) lanes_ /= 2;
    streaming_ = length * byteSize(held_) >= kShortest &&
                 streamsOutputs(low_, lanes_, kLineBytes,
                                isOfFewLines() ? kStreamed : kStreamedFar);
    const int64_t line = kLineBytes / byteSize(held_), behind = mostLines() * plan_.word;
    pitch_ = packedRow();
    if (!plan_.is_packed) {
      pitch_ = (length + behind + line - 1) / line * line;
      if (pitch_ / line % 2 == 0) pitch_ += line;
    }
    is_direct_ = goesStraight();
    if (!is_direct_) scratch_ = b_.addScratch(held_, in_.size * pitch_ + behind + lanes_);
  }

  // Vectors whose lanes are all of one run, or are overwritten at once.
  bool goesStraight() const {
    if (!low_.movesBits() || streaming_) return false;
    const int64_t lanes = plan_.words * plan_.word;
    if (plan_.way == Way::part || plan_.way == Way::within) return true;
    return plan_.way == Way::join && plan_.run == plan_.in_size &&
           (low_.machine.vector_bytes == 64 ||
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
    if (is_direct_) {
      V places = plan_.outer ? b_.imul(out.base, b_.index(plan_.word))
                             : b_.imul(in.base, b_.index(across()));
      to = b_.iadd(space_.emitScalar(start), places);
    }
    fill(in, out, first, to);
    if (!is_direct_) finish(groups, in, out);
  }

  // Where the block begins in the input, and whither it goes.
  void fill(const Range& in, const Range& out, V first, V to) {
    if (plan_.way == Way::join)
      return in_.overSteps(b_, in, plan_.words, [&](V at) { joinLines(at, first, to); });
    if (plan_.way == Way::within)
      return in_.overSteps(b_, in, plan_.words, [&](V at) { moveWithin(at, first, to); });
    if (plan_.way == Way::part)
      return out_.overSteps(b_, out, plan_.words, [&](V at) { partLines(at, first, to); });
    out_.overSteps(b_, out, outerStep(), [&](V out_at) {
      V line = first;
      if (plan_.outer) line = b_.iadd(line, b_.imul(out_at, b_.index(loads()[*plan_.outer])));
      in_.overSteps(b_, in, std::min(plan_.words, plan_.in_size), [&](V at) {
        V from = b_.iadd(line, b_.imul(at, b_.index(plan_.word)));
        V to = b_.iadd(b_.imul(at, b_.index(pitch_)), b_.imul(out_at, b_.index(across())));
        plan_.way == Way::tiles ? turnTiles(from, to) : copyWords(from, to);
      });
    });
  }

  // Where the line is of a place across: of `inner`, and beyond it of the next `outer`.
  int64_t lineAt(int64_t place) const {
    int64_t at = 0;
    for (size_t g : plan_.inner) {
      at += place % extent(g) * loads()[g];
      place /= extent(g);
    }
    return at + (plan_.outer ? place * loads()[*plan_.outer] : 0);
  }

  V load(V place, int64_t offset, int64_t words) {
    return loadLanes(place, offset, words * plan_.word);
  }

  V loadLanes(V place, int64_t offset, int64_t count, const Guard& guard = {}) {
    const auto lanes = static_cast<int>(count);
    Emitter e(b_, space_, m_, lanes);
    low_.bindInputs(e);
    e.moves_bits = true;
    const Shape& shape = m_.shape(turned_.source);
    const int64_t all = std::max<int64_t>(2, shape.elements() - offset);
    Index at = space_.add(space_.loop(place, all, lanes > 1), Index(offset));
    const Indices indices = space_.delinear(at, shape.dims);
    V bits = e.guarded(guard, [&] { return e.at(turned_.source, indices).re; });
    return b_.cast(Opcode::bitcast, bits, held_);
  }

  Words inVectors() const {
    return {static_cast<int>(plan_.word), static_cast<int>(plan_.words)};
  }

  // Of a vector that goes straight to the output, only `count` elements.
  void put(V to, int64_t offset, V vector, int64_t count) {
    if (!is_direct_) return b_.store(scratch_, to, vector, offset);
    const int lanes = b_.type(vector).lanes;
    Emitter e(b_, space_, m_, lanes);
    e.moves_bits = true;
    Guard guard;
    if (count < lanes) guard = firstLanes(b_, lanes, b_.index(count));
    const int64_t all = std::max<int64_t>(2, elementCount(dims_) - offset);
    const Index place = space_.add(space_.loop(to, all, true), Index(offset));
    e.guarded(guard, [&] { low_.storeOutput(e, 0, place, {vector, {}}); });
  }

  void joinLines(V at, V first, V to) {
    V from = b_.iadd(first, b_.imul(at, b_.index(plan_.word)));
    std::vector<V> lines;
    for (int64_t r = 0; r < plan_.inner_size; ++r)
      lines.push_back(load(from, lineAt(r), plan_.words));
    to = b_.iadd(to, b_.imul(at, b_.index(pitch_)));
    const int64_t step = joinedWords(plan_.inner_size, plan_.words) * plan_.word;
    const std::vector<V> joined = joinedLines(b_, lines, inVectors());
    for (size_t v = 0; v < joined.size(); ++v)
      put(to, static_cast<int64_t>(v) * step, joined[v],
          v + 1 < joined.size() ? plan_.words * plan_.word : step);
  }

  void partLines(V at, V first, V to) {
    V from = b_.iadd(first, b_.imul(at, b_.index(loads()[*plan_.outer])));
    const int64_t lines = plan_.in_size, step = joinedWords(lines, plan_.words);
    const int64_t count = plan_.words * lines / step, early = plan_.words - step;
    std::vector<V> vectors;
    for (int64_t v = 0; v < count; ++v)
      vectors.push_back(load(from, (v * step - (v == count - 1 ? early : 0)) * plan_.word,
                             plan_.words));
    const std::vector<V> parted = partedLines(b_, vectors, lines, inVectors(), early);
    const int64_t pitch = is_direct_ ? stores()[plan_.ins[0]] : pitch_;
    to = b_.iadd(to, b_.imul(at, b_.index(plan_.word)));
    for (size_t r = 0; r < parted.size(); ++r)
      put(to, static_cast<int64_t>(r) * pitch, parted[r], plan_.words * plan_.word);
  }

  // Vectors of the rows that a step has, the last one so that it ends with them.
  void moveWithin(V at, V first, V to) {
    const int64_t all = plan_.words * across();
    const int64_t lanes = low_.machine.vector_bytes / byteSize(held_);
    auto begin = [&](int64_t v) { return std::min(v * lanes, all - lanes); };
    V before = b_.imul(at, b_.index(across()));
    std::vector<V> vectors;
    for (int64_t v = 0; v * lanes < all; ++v)
      vectors.push_back(loadLanes(b_.iadd(first, before), begin(v), lanes));
    const Words each{1, static_cast<int>(lanes)};
    for (int64_t v = 0; v * lanes < all; ++v) {
      V moved = gathered(b_, vectors, each, [&](int64_t lane) {
        const int64_t place = begin(v) + lane, row = place / across();
        const int64_t source = row * across() + lineAt(place % across() / plan_.word) +
                               place % plan_.word;
        return From(source / lanes, source - begin(source / lanes));
      });
      put(b_.iadd(to, before), begin(v), moved, lanes);
    }
  }

  // Squares side by side in vectors; the last ones overlap their neighbours, or lack lines.
  void turnTiles(V from, V to) {
    const int64_t n = plan_.words, all = outerStep() * plan_.inner_size;
    const int64_t lines = std::min(mostLines(), powerFrom(std::max(all, n)));
    for (int64_t begin = 0; begin < all; begin += lines) {
      const int64_t first = std::max<int64_t>(0, std::min(begin, all - lines));
      std::vector<V> square;
      for (int64_t i = 0; i < n; ++i) square.push_back(sideBySide(from, first + i, lines, all));
      transposeTile(b_, square, static_cast<int>(plan_.word));
      for (int64_t i = 0; i < std::min(n, plan_.in_size); ++i)
        b_.store(scratch_, to, square[static_cast<size_t>(i)], i * pitch_ + first * plan_.word);
    }
  }

  // Lines that a step may turn: more than a square has where these fill vectors side by side.
  int64_t mostLines() const {
    return std::max(plan_.words, low_.machine.vector_bytes / wordBytes());
  }

  // Every so many-th of `lines` lines from the first on, of `all`.
  V sideBySide(V from, int64_t first, int64_t lines, int64_t all) {
    if (lines == plan_.words) return loadFew(from, lineAt(std::min(first, all - 1)));
    V low = sideBySide(from, first, lines / 2, all);
    const int64_t next = first + lines / 2;
    V high = next < all ? sideBySide(from, next, lines / 2, all) : low;
    std::vector<int16_t> list;
    for (int64_t lane = 0; lane < lines * plan_.word; ++lane)
      list.push_back(static_cast<int16_t>(lane));
    return b_.shuffle(low, high, list);
  }

  // Vectors of which only the first elements are there.
  V loadFirst(V from, int64_t offset, int64_t count, int64_t lanes) {
    return loadLanes(from, offset, lanes,
                     firstLanes(b_, static_cast<int>(lanes), b_.index(count)));
  }

  // The words that there are of a tile's line: no power of two is loaded as two that overlap.
  V loadFew(V from, int64_t offset) {
    const int64_t count = std::min(plan_.words, plan_.in_size);
    if (count == plan_.words) return load(from, offset, count);
    const int64_t half = powerFrom(count + 1) / 2;
    if (half < count && low_.machine.vector_bytes == 64)
      return loadFirst(from, offset, count * plan_.word, plan_.words * plan_.word);
    V low = load(from, offset, half);
    V high = half == count ? low : load(from, offset + (count - half) * plan_.word, half);
    std::vector<int16_t> list;
    for (int64_t lane = 0; lane < plan_.words * plan_.word; ++lane) {
      const int64_t w = lane / plan_.word, in_high = w - (count - half) + half;
      const int64_t at = w < half ? w : w < count ? in_high : -1;
      list.push_back(static_cast<int16_t>(at < 0 ? -1 : at * plan_.word + lane % plan_.word));
    }
    return b_.shuffle(low, high, list);
  }

  // In the order of the scratch memory: what is stored behind a word, the next one overwrites.
  void copyWords(V from, V to) {
    for (int64_t i = 0; i < plan_.words; ++i)
      for (int64_t r = 0; r < plan_.inner_size; ++r)
        copyWord(from, lineAt(r) + i * plan_.word, to, i * pitch_ + r * plan_.word);
  }

  void copyWord(V from, int64_t place, V to, int64_t put) {
    const int64_t whole = powerFrom(plan_.word), half = whole / 2, rest = plan_.word - half;
    if (whole == plan_.word)
      return b_.store(scratch_, to, loadLanes(from, place, whole), put);
    if (low_.machine.vector_bytes == 64) {
      V word = loadFirst(from, place, plan_.word, whole);
      if (!plan_.is_packed || !plan_.outer) return b_.store(scratch_, to, word, put);
      const Guard guard = firstLanes(b_, static_cast<int>(whole), b_.index(plan_.word));
      return b_.storeMasked(scratch_, to, word, guard.lanes, put);
    }
    b_.store(scratch_, to, loadLanes(from, place, half), put);
    b_.store(scratch_, to, loadLanes(from, place + rest, half), put + rest);
  }

  void finish(std::vector<Index> groups, const Range& in, const Range& out) {
    const V row = b_.index(plan_.is_packed ? packedRow() : across());
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
    V held = b_.load(scratch_, b_.iadd(before, at), lanes_);
    e.bindElem(turned_.source, {fromHeld(held), {}});
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
  BufferId scratch_ = 0;
  int lanes_ = 1;  // of what is stored
  bool streaming_ = false;
  bool is_direct_ = false;  // without scratch memory
};

}  // namespace

bool lowerPermuted(Lowering& low) {
  PermuteNest nest(low);
  if (!nest.suits()) return false;
  nest.run();
  return true;
}

}  // namespace tercel::kernel
