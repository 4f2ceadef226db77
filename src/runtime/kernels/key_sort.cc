#include "runtime/kernels/key_sort.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <utility>

#include "core/element_word.h"
#include "runtime/kernels/kept_memory.h"
#include "runtime/kernels/key_ranks.h"

namespace tercel::kernels {
namespace {

constexpr int64_t kInsertionSort = 48;  // rows up to here cost less without counting digits
constexpr int64_t kSelect = 8;          // rows of which so small a part is wanted are not sorted
constexpr int64_t kRowTask = 4096;      // elements that make a task worth its start

// A key as an unsigned number of the same order, and the place in the row that it came from.
struct WideItem {
  uint64_t key = 0;
  uint64_t from = 0;
  uint64_t getKey() const { return key; }
  int64_t place() const { return static_cast<int64_t>(from); }
  void setKey(uint64_t k) { key = k; }
  bool before(const WideItem& b) const { return key != b.key ? key < b.key : from < b.from; }
  static WideItem at(int64_t place) { return {0, static_cast<uint64_t>(place)}; }
};

// Keys of up to 32 bits in rows as short: half the memory, which is what sorting costs.
struct PackedItem {
  uint64_t bits = 0;
  uint64_t getKey() const { return bits >> 32; }
  int64_t place() const { return static_cast<uint32_t>(bits); }
  void setKey(uint64_t k) { bits = k << 32 | static_cast<uint32_t>(bits); }
  bool before(const PackedItem& b) const { return bits < b.bits; }
  static PackedItem at(int64_t place) { return {static_cast<uint64_t>(place)}; }
};

template <class T>
T load(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

// A row of keys, read where they lie.
template <class U>
struct KeyRow {
  const std::byte* row;
  int64_t stride;
  KeyMasks<U> masks;
  U at(int64_t place) const { return keyOf(load<U>(row + place * stride)); }
  U keyOf(U bits) const { return masks.order(bits); }
  // The elements [from, from + count) themselves.
  void copy(int64_t from, int64_t count, U* to) const {
    if (stride == sizeof(U)) {
      std::memcpy(to, row + from * stride, static_cast<size_t>(count) * sizeof(U));
      return;
    }
    for (int64_t i = 0; i < count; ++i) to[i] = load<U>(row + (from + i) * stride);
  }
};

// Which of a row's elements may come before a key, for many of them in a few instructions each. It
// may name others too: zeros of both signs, NaN.
template <class U>
class Sieve {
  using S = std::make_signed_t<U>;
  static constexpr U kSign = static_cast<U>(U{1} << KeyMasks<U>::kTop);

 public:
  static constexpr int64_t kBlock = 64;

  explicit Sieve(const KeyMasks<U>& masks)
      : turned_(masks.turned), infinity_(masks.infinity),
        flipped_(static_cast<S>(masks.flipped ^ kSign ^ masks.reversed)) {}

  // Fills hits[0, count); false where there is none.
  bool sift(const U* bits, int64_t count, U key, S* hits) const {
    const S limit = static_cast<S>(key ^ kSign);
    S any = 0;
    for (int64_t i = 0; i < count; ++i) {
      const S x = static_cast<S>(bits[i]);
      const S ordered = static_cast<S>(x ^ ((x >> KeyMasks<U>::kTop) & turned_) ^ flipped_);
      hits[i] = static_cast<S>(-static_cast<S>(ordered < limit) |
                               -static_cast<S>((x & KeyMasks<U>::kMagnitude) > infinity_));
      any |= hits[i];
    }
    return any != 0;
  }

 private:
  S turned_, infinity_, flipped_;
};

// The first `kept` of n, in order: a heap of the best so far, the last of them on top.
template <class U, class Item>
void selectFirst(const KeyRow<U>& keys, Item* heap, int64_t kept, int64_t n) {
  auto before = [](const Item& a, const Item& b) { return a.before(b); };
  for (int64_t i = 0; i < kept; ++i) {
    heap[i] = Item::at(i);
    heap[i].setKey(keys.at(i));
  }
  std::make_heap(heap, heap + kept, before);
  const Sieve<U> sieve(keys.masks);
  U block[Sieve<U>::kBlock];
  std::make_signed_t<U> hits[Sieve<U>::kBlock];
  // The first ones are short: what they hold tells what is wanted of the others.
  for (int64_t from = kept, count; from < n; from += count) {
    count = std::min({Sieve<U>::kBlock, n - from, std::max<int64_t>(8, from / 2)});
    keys.copy(from, count, block);
    if (!sieve.sift(block, count, static_cast<U>(heap[0].getKey()), hits)) continue;
    for (int64_t i = 0; i < count; ++i) {
      if (!hits[i]) continue;
      const U key = keys.keyOf(block[i]);
      if (key >= heap[0].getKey()) continue;
      std::pop_heap(heap, heap + kept, before);
      heap[kept - 1] = Item::at(from + i);
      heap[kept - 1].setKey(key);
      std::push_heap(heap, heap + kept, before);
    }
  }
  std::sort_heap(heap, heap + kept, before);
}

template <class Item>
void insertionSort(Item* items, int64_t n) {
  for (int64_t i = 1; i < n; ++i) {
    Item item = items[i];
    int64_t j = i;
    for (; j > 0 && item.getKey() < items[j - 1].getKey(); --j) items[j] = items[j - 1];
    items[j] = item;
  }
}

// Least significant digit first (Knuth 5.2.5), digits of eight bits; digits that are all the same
// move nothing. The result is in the returned one of the two.
template <class Item>
Item* radixSort(Item* items, Item* other, int64_t n, size_t key_bytes) {
  std::array<std::array<int64_t, 256>, 8> counts;
  for (size_t d = 0; d < key_bytes; ++d) counts[d].fill(0);
  for (int64_t i = 0; i < n; ++i) {
    uint64_t key = items[i].getKey();
    for (size_t d = 0; d < key_bytes; ++d, key >>= 8) ++counts[d][key & 255];
  }
  for (size_t d = 0; d < key_bytes; ++d) {
    std::array<int64_t, 256>& count = counts[d];
    if (count[items[0].getKey() >> (8 * d) & 255] == n) continue;
    int64_t begin = 0;
    for (int64_t& c : count) begin += std::exchange(c, begin);
    for (int64_t i = 0; i < n; ++i) other[count[items[i].getKey() >> (8 * d) & 255]++] = items[i];
    std::swap(items, other);
  }
  return items;
}

// What the rows of one group of tasks share.
template <class Item>
class RowSorter {
 public:
  RowSorter(const Sort& sort, std::span<const SortKey> keys) : sort_(sort), keys_(keys) {
    size_t widest = 0, kept = static_cast<size_t>(sort.kept);
    for (int64_t bytes : sort.element_bytes) widest = std::max(widest, static_cast<size_t>(bytes));
    selects_ = keys.size() == 1 && sort.kept > 0 && sort.kept <= sort.length / kSelect;
    size_t items = selects_ ? kept : 2 * static_cast<size_t>(sort.length);
    ranks_ = keys.size() == 1 && byteSize(keys[0].dtype) <= 4 &&
             sort.length <= keyRanks().longest_selected;
    ok_ = items_.tryTake(static_cast<int64_t>(items)) &&
          row_.tryTake(static_cast<int64_t>(kept * widest)) &&
          (!ranks_ || (ranked_keys_.tryTake(sort.length + kKeySlack) &&
                       ranked_.tryTake(std::max(keyRanks().longest, keyRanks().most))));
  }
  bool ok() const { return ok_; }

  void run(int64_t row) {
    int64_t first = row / sort_.inner * sort_.length * sort_.inner + row % sort_.inner;
    const Item* order = rank(first) ? items_.get() : selects_ ? select(first) : sortKeys(first);
    for (size_t i = 0; i < sort_.element_bytes.size(); ++i) {
      visitWord(sort_.element_bytes[i], [&]<class Word>() { store<Word>(i, first, order); });
    }
  }

 private:
  std::byte* operand(size_t i, int64_t first) const {
    return static_cast<std::byte*>(sort_.operands[i]) + first * sort_.element_bytes[i];
  }

  bool rank(int64_t first) {
    if (!ranks_) return false;
    const int64_t stride = sort_.inner * sort_.element_bytes[0];
    uint32_t* places = ranked_.get();
    if (!keyRanks().order(form_, operand(0, first), stride, sort_.length, sort_.kept,
                          ranked_keys_.get(), places))
      return false;
    for (int64_t k = 0; k < sort_.kept; ++k) items_.get()[k] = Item::at(places[k]);
    return true;
  }

  // The least significant key first: each stable sort keeps the order that those before it made.
  const Item* sortKeys(int64_t first) {
    Item* items = items_.get();
    Item* other = items + sort_.length;
    for (int64_t i = 0; i < sort_.length; ++i) items[i] = Item::at(i);
    for (size_t k = keys_.size(); k-- > 0;) {
      visitKeys(k, first, [&](const auto& keys) {
        for (int64_t i = 0; i < sort_.length; ++i) items[i].setKey(keys.at(items[i].place()));
      });
      if (sort_.length <= kInsertionSort) {
        insertionSort(items, sort_.length);
        continue;
      }
      Item* sorted = radixSort(items, other, sort_.length, byteSize(keys_[k].dtype));
      if (sorted != items) std::swap(items, other);
    }
    return items;
  }

  const Item* select(int64_t first) {
    visitKeys(0, first, [&](const auto& keys) {
      selectFirst(keys, items_.get(), sort_.kept, sort_.length);
    });
    return items_.get();
  }

  template <class F>
  void visitKeys(size_t k, int64_t first, F&& f) const {
    int64_t bytes = sort_.element_bytes[k], stride = sort_.inner * bytes;
    const std::byte* row = operand(k, first);
    const KeyForm form = formOf(keys_[k]);
    switch (bytes) {
      case 1:
        return f(KeyRow<uint8_t>{row, stride, KeyMasks<uint8_t>(form)});
      case 2:
        return f(KeyRow<uint16_t>{row, stride, KeyMasks<uint16_t>(form)});
      case 4:
        return f(KeyRow<uint32_t>{row, stride, KeyMasks<uint32_t>(form)});
      default:
        return f(KeyRow<uint64_t>{row, stride, KeyMasks<uint64_t>(form)});
    }
  }

  // Through a row of its own: the result may be the memory of the same operand.
  template <class T>
  void store(size_t i, int64_t first, const Item* order) {
    const std::byte* from = operand(i, first);
    auto* row = reinterpret_cast<T*>(row_.get());
    const int64_t stride = sort_.inner * static_cast<int64_t>(sizeof(T));
    for (int64_t k = 0; k < sort_.kept; ++k) {
      row[k] = load<T>(from + order[k].place() * stride);
    }
    std::byte* to = static_cast<std::byte*>(sort_.results[i]) + first * sort_.element_bytes[i];
    for (int64_t k = 0; k < sort_.kept; ++k) std::memcpy(to + k * stride, &row[k], sizeof(T));
  }

  const Sort& sort_;
  std::span<const SortKey> keys_;
  const KeyForm form_ = formOf(keys_[0]);
  bool selects_, ranks_, ok_;
  KeptMemory<int32_t> ranked_keys_;
  KeptMemory<uint32_t> ranked_;
  KeptMemory<Item> items_;
  KeptMemory<std::byte> row_;
};

// Whether storing one result may overwrite what another one still needs.
bool mixesMemory(const Sort& sort) {
  int64_t elements = sort.outer * sort.length * sort.inner;
  size_t n = sort.element_bytes.size();
  for (size_t r = 0; r < n; ++r) {
    const auto* result = static_cast<const std::byte*>(sort.results[r]);
    for (size_t o = r + 1; o < n; ++o) {
      const auto* operand = static_cast<const std::byte*>(sort.operands[o]);
      if (result < operand + elements * sort.element_bytes[o] &&
          operand < result + elements * sort.element_bytes[r]) {
        return true;
      }
    }
  }
  return false;
}

template <class Item>
bool sortRows(const Sort& sort, std::span<const SortKey> keys, const Parallel& parallel) {
  std::atomic<bool> failed{false};
  int64_t grain = std::max<int64_t>(1, kRowTask / sort.length);
  parallel.forEach(sort.outer * sort.inner, grain, [&](int64_t begin, int64_t end) {
    RowSorter<Item> sorter(sort, keys);
    if (!sorter.ok()) return failed.store(true, std::memory_order_relaxed);
    for (int64_t row = begin; row < end; ++row) sorter.run(row);
  });
  return !failed.load(std::memory_order_relaxed);
}

}  // namespace

Status keySort(const Sort& sort, std::span<const SortKey> keys, const Parallel& parallel) {
  if (sort.outer * sort.length * sort.inner == 0) return Status();
  if (mixesMemory(sort)) return kernels::sort(sort, parallel);
  bool packs = sort.length <= std::numeric_limits<uint32_t>::max() &&
               std::all_of(keys.begin(), keys.end(),
                           [](const SortKey& key) { return byteSize(key.dtype) <= 4; });
  bool ok =
      packs ? sortRows<PackedItem>(sort, keys, parallel) : sortRows<WideItem>(sort, keys, parallel);
  return ok ? Status() : resourceExhausted("no memory to sort rows of ", sort.length, " elements");
}

}  // namespace tercel::kernels
