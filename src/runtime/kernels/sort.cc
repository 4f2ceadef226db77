#include "runtime/kernels/sort.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>

#include "core/element_word.h"
#include "core/integers.h"
#include "runtime/kernels/kept_memory.h"

namespace tercel::kernels {
namespace {

// Bottom-up merge sort of a permutation (Knuth 5.2.4) over insertion-sorted blocks. A long row is
// first sorted in kLongBlock pieces, so that pieces and merges are tasks.
constexpr int64_t kShortBlock = 16;
constexpr int64_t kLongBlock = 4096;
constexpr int64_t kManyRows = 16;   // from here on rows are the tasks
constexpr int64_t kRowTask = 2048;  // elements that make a task worth its start

// One row's elements, and the comparator on them; one for each concurrent user.
class Row {
 public:
  Row(const Sort& sort, void* const* params, void* scratch)
      : compare_(sort.compare), params_(params), scratch_(static_cast<uint8_t*>(scratch)) {}
  bool less(int64_t a, int64_t b) const {
    compare_(params_, a, b, scratch_);
    return scratch_[0] != 0;
  }

 private:
  Comparator compare_;
  void* const* params_;
  uint8_t* scratch_;
};

template <class Index>
void insertionSort(const Row& row, Index* items, int64_t n) {
  for (int64_t i = 1; i < n; ++i) {
    Index item = items[i];
    int64_t j = i;
    for (; j > 0 && row.less(item, items[j - 1]); --j) items[j] = items[j - 1];
    items[j] = item;
  }
}

// Merges [0, middle) and [middle, n); the right one goes first only where it is less.
template <class Index>
void merge(const Row& row, const Index* from, Index* to, int64_t middle, int64_t n) {
  int64_t left = 0, right = middle;
  bool in_order = middle >= n || !row.less(from[middle], from[middle - 1]);
  if (!in_order) {
    // Without branches on the outcome: it is a coin toss, and a wrong guess costs more than a call.
    while (left < middle && right < n) {
      Index first = from[left], second = from[right];
      bool takes_right = row.less(second, first);
      *to++ = takes_right ? second : first;
      left += !takes_right;
      right += takes_right;
    }
  }
  to = std::copy(from + left, from + middle, to);
  std::copy(from + right, from + n, to);
}

// Merges all pairs of neighbouring runs of `width` whose numbers are in [begin, end).
template <class Index>
void mergePairs(const Row& row, const Index* from, Index* to, int64_t n, int64_t width,
                int64_t begin, int64_t end) {
  for (int64_t pair = begin; pair < end; ++pair) {
    int64_t first = pair * 2 * width;
    int64_t last = std::min(n, first + 2 * width);
    merge(row, from + first, to + first, std::min(width, last - first), last - first);
  }
}

int64_t pairCount(int64_t n, int64_t width) { return (n + 2 * width - 1) / (2 * width); }

// Sorts items; `other` is as long. The result ends in items.
template <class Index>
void sortSerially(const Row& row, Index* items, Index* other, int64_t n) {
  for (int64_t i = 0; i < n; i += kShortBlock) {
    insertionSort(row, items + i, std::min(kShortBlock, n - i));
  }
  Index* from = items;
  Index* to = other;
  for (int64_t width = kShortBlock; width < n; width *= 2, std::swap(from, to)) {
    mergePairs(row, from, to, n, width, 0, pairCount(n, width));
  }
  if (from != items) std::copy(from, from + n, items);
}

template <class Element, class Index>
void permute(const std::byte* from, std::byte* to, const Index* order, int64_t n, int64_t stride) {
  const auto* source = reinterpret_cast<const Element*>(from);
  auto* target = reinterpret_cast<Element*>(to);
  for (int64_t i = 0; i < n; ++i) target[i * stride] = source[order[i]];
}

template <class Element>
void gather(const std::byte* from, std::byte* to, int64_t n, int64_t stride) {
  const auto* source = reinterpret_cast<const Element*>(from);
  auto* target = reinterpret_cast<Element*>(to);
  for (int64_t i = 0; i < n; ++i) target[i] = source[i * stride];
}

bool sharesMemory(const Sort& sort) {
  int64_t elements = sort.outer * sort.length * sort.inner;
  size_t n = sort.element_bytes.size();
  for (size_t r = 0; r < n; ++r) {
    const auto* result = static_cast<const std::byte*>(sort.results[r]);
    for (size_t o = 0; o < n; ++o) {
      const auto* operand = static_cast<const std::byte*>(sort.operands[o]);
      if (result < operand + elements * sort.element_bytes[o] &&
          operand < result + elements * sort.element_bytes[r]) {
        return true;
      }
    }
  }
  return false;
}

// What the rows of one group of tasks share: permutations, gathered rows, comparator scratch.
template <class Index>
class Worker {
 public:
  Worker(const Sort& sort, bool gathered) : sort_(sort), gathered_(gathered) {
    size_t n = sort.element_bytes.size();
    int64_t row_bytes = 0;
    for (int64_t bytes : sort.element_bytes) row_bytes += rowBytes(bytes);
    ok_ = order_.tryTake(2 * sort.length) && scratch_.tryTake(sort.scratch_bytes) &&
          params_.tryTake(static_cast<int64_t>(n)) && (!gathered || rows_.tryTake(row_bytes));
  }
  bool ok() const { return ok_; }

  // Sorts the row at (outer, inner), its pieces and merges as tasks of `parallel`.
  bool run(int64_t row, const Parallel& parallel) {
    int64_t first = row / sort_.inner * sort_.length * sort_.inner + row % sort_.inner;
    bind(first);
    Index* items = order_.get();
    for (int64_t i = 0; i < sort_.length; ++i) items[i] = static_cast<Index>(i);
    if (sort_.length > kLongBlock) {
      if (!sortInTasks(parallel)) return false;
    } else {
      sortSerially(Row(sort_, params_.get(), scratch_.get()), items, items + sort_.length,
                   sort_.length);
    }
    for (size_t i = 0; i < sort_.element_bytes.size(); ++i) store(i, first);
    return true;
  }

 private:
  int64_t rowBytes(int64_t element_bytes) const {
    return roundUp(sort_.length * element_bytes, 64);
  }

  void bind(int64_t first) {
    std::byte* gathered = rows_.get();
    for (size_t i = 0; i < sort_.element_bytes.size(); ++i) {
      int64_t bytes = sort_.element_bytes[i];
      auto* from = static_cast<std::byte*>(sort_.operands[i]) + first * bytes;
      params_.get()[i] = from;
      if (!gathered_) continue;
      visitWord(bytes, [&]<class Element>() {
        gather<Element>(from, gathered, sort_.length, sort_.inner);
      });
      params_.get()[i] = gathered;
      gathered += rowBytes(bytes);
    }
  }

  void store(size_t i, int64_t first) {
    int64_t bytes = sort_.element_bytes[i];
    auto* to = static_cast<std::byte*>(sort_.results[i]) + first * bytes;
    visitWord(bytes, [&]<class Element>() {
      permute<Element>(static_cast<std::byte*>(params_.get()[i]), to, order_.get(), sort_.length,
                       sort_.inner);
    });
  }

  // Calls f(row, begin, end) in tasks; each group has a comparator scratch of its own.
  template <class F>
  bool inTasks(const Parallel& parallel, int64_t tasks, F&& f) {
    std::atomic<bool> failed{false};
    parallel.forEach(tasks, 1, [&](int64_t begin, int64_t end) {
      KeptMemory<std::byte> memory;
      void* scratch = memory.tryTake(sort_.scratch_bytes);
      if (!scratch) return failed.store(true, std::memory_order_relaxed);
      f(Row(sort_, params_.get(), scratch), begin, end);
    });
    return !failed.load(std::memory_order_relaxed);
  }

  bool sortInTasks(const Parallel& parallel) {
    int64_t n = sort_.length;
    Index* from = order_.get();
    Index* to = order_.get() + n;
    bool ok =
        inTasks(parallel, (n + kLongBlock - 1) / kLongBlock,
                [=](const Row& row, int64_t begin, int64_t end) {
                  for (int64_t block = begin; block < end; ++block) {
                    int64_t first = block * kLongBlock;
                    sortSerially(row, from + first, to + first, std::min(kLongBlock, n - first));
                  }
                });
    for (int64_t width = kLongBlock; ok && width < n; width *= 2, std::swap(from, to)) {
      ok = inTasks(parallel, pairCount(n, width), [=](const Row& row, int64_t begin, int64_t end) {
        mergePairs(row, from, to, n, width, begin, end);
      });
    }
    if (ok && from != order_.get()) std::copy(from, from + n, order_.get());
    return ok;
  }

  const Sort& sort_;
  const bool gathered_;
  bool ok_ = false;
  KeptMemory<Index> order_;
  KeptMemory<std::byte> scratch_, rows_;
  KeptMemory<void*> params_;
};

template <class Index>
bool sortRows(const Sort& sort, const Parallel& parallel) {
  int64_t rows = sort.outer * sort.inner;
  bool gathered = sort.inner > 1 || sharesMemory(sort);
  std::atomic<bool> failed{false};
  auto run = [&](int64_t begin, int64_t end, const Parallel& within) {
    Worker<Index> worker(sort, gathered);
    bool ok = worker.ok();
    for (int64_t row = begin; ok && row < end; ++row) ok = worker.run(row, within);
    if (!ok) failed.store(true, std::memory_order_relaxed);
  };
  if (rows < kManyRows && sort.length > kLongBlock) {
    run(0, rows, parallel);
  } else {
    int64_t grain = std::max<int64_t>(1, kRowTask / sort.length);
    parallel.forEach(rows, grain, [&](int64_t begin, int64_t end) { run(begin, end, Parallel()); });
  }
  return !failed.load(std::memory_order_relaxed);
}

}  // namespace

Status sort(const Sort& sort, const Parallel& parallel) {
  if (sort.outer * sort.length * sort.inner == 0) return Status();
  bool ok = sort.length <= std::numeric_limits<uint32_t>::max()
                ? sortRows<uint32_t>(sort, parallel)
                : sortRows<uint64_t>(sort, parallel);
  return ok ? Status() : resourceExhausted("no memory to sort rows of ", sort.length, " elements");
}

}  // namespace tercel::kernels
