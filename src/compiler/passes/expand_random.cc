// The counter-based generators of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"
// (2011). What they give, and which element gets which word, is the evaluator's (eval/random.cc).
#include "compiler/passes/expand_random.h"

#include <limits>

namespace tercel::passes {
namespace {

using ir::AttrKey;
using ir::Ints;
using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::Value;
using ir::Values;

class RandomExpansion {
 public:
  RandomExpansion(Rewriter& rw, const Op& op)
      : rw_(rw), state_(rw.shape(op.operand(0))), bits_(rw.shape(op.result(1))) {}

  bool run(const Op& op) {
    bool three_fry = op.symbol(AttrKey::rng_algorithm) == "THREE_FRY";
    if (!representable(three_fry)) return false;
    if (bits_.elements() == 0) {
      Value results[] = {op.operand(0), rw_.splat(bits_, 0)};
      rw_.replaceAll(op, results);
      return true;
    }
    readState(op.operand(0));
    Value bits = three_fry ? threeFry() : philox();
    Value results[] = {nextState(three_fry), rw_.reshape(bits, bits_.dims)};
    rw_.replaceAll(op, results);
    return true;
  }

 private:
  bool wide() const { return byteSize(bits_.dtype) == 8; }

  // Words of the state, and block numbers, are of 32 bits.
  bool representable(bool three_fry) const {
    bool words_known = state_.dtype == DType::u64 || state_.dtype == DType::u32;
    int64_t words = state_.bytes() / 8;
    return words_known && state_.rank() == 1 && state_.bytes() % 8 == 0 && words >= 2 &&
           words <= (three_fry ? 2 : 3) && !isPred(bits_.dtype) && !isComplex(bits_.dtype) &&
           bits_.elements() <= std::numeric_limits<uint32_t>::max();
  }

  Value binary(OpKind kind, Value a, Value b) { return rw_.binary(kind, a, b); }
  Value add(Value a, Value b) { return binary(OpKind::add_, a, b); }
  Value exclusiveOr(Value a, Value b) { return binary(OpKind::xor_, a, b); }
  Value add(Value a, uint32_t b) { return add(a, rw_.like(a, b)); }
  Value highWord(Value v) {
    Value high = binary(OpKind::shift_right_logical_, v, rw_.like(v, 32));
    return rw_.convert(high, DType::u32);
  }
  Value joined(Value low, Value high) {
    Value up = rw_.convert(high, DType::u64);
    return binary(OpKind::or_, rw_.convert(low, DType::u64),
                  binary(OpKind::shift_left_, up, rw_.like(up, 32)));
  }
  Value overBlocks(Value scalar) { return rw_.broadcast(scalar, blocks_, {}); }
  Value concatenate(Values parts, int64_t dimension) {
    Shape shape = rw_.shape(parts[0]);
    shape.dims[static_cast<size_t>(dimension)] *= static_cast<int64_t>(parts.size());
    return rw_.emit(OpKind::concatenate_, std::move(parts), shape,
                    {{AttrKey::dimension, dimension}});
  }

  // The state's words of 32 bits, the low half of each 64 first.
  void readState(Value state) {
    for (int64_t i = 0; i < state_.elements(); ++i) {
      Value element = rw_.reshape(rw_.slice(state, {i}, {i + 1}, {1}), {});
      words_.push_back(rw_.convert(element, DType::u32));
      if (state_.dtype == DType::u64) words_.push_back(highWord(element));
    }
  }

  // words + number, modulo 2 to the power of their bits.
  Values advanced(Values words, Value number) {
    for (Value& word : words) {
      word = add(word, number);
      number = rw_.convert(rw_.compare(word, number, "LT", "UNSIGNED"), DType::u32);
    }
    return words;
  }

  Value nextState(bool three_fry) {
    size_t carried = three_fry || words_.size() == 4 ? 2 : 4;
    Values counter;
    for (size_t i = 0; i < carried; ++i) counter.push_back(words_[2 + i]);
    int64_t used = elementCount(blocks_);
    counter = advanced(counter, rw_.splat({DType::u32, {}}, static_cast<double>(used)));
    Values elements = {words_[0], words_[1]};
    for (Value word : counter) elements.push_back(word);
    if (state_.dtype == DType::u64) {
      for (size_t i = 0; i < elements.size() / 2; ++i)
        elements[i] = joined(elements[2 * i], elements[2 * i + 1]);
      elements.resize(elements.size() / 2);
    }
    for (Value& element : elements) element = rw_.reshape(element, {1});
    return concatenate(elements, 0);
  }

  // The number of each block, row-major.
  Value blockNumbers() {
    int64_t count = elementCount(blocks_);
    Value numbers =
        rw_.emit(OpKind::iota_, {}, {DType::u32, {count}}, {{AttrKey::iota_dimension, int64_t{0}}});
    return rw_.reshape(numbers, blocks_);
  }

  // A word, or two of them, as an element of the result.
  Value element(Value word) {
    constexpr DType kUnsigned[] = {DType::u8, DType::u16, DType::u32, DType::u64};
    size_t size = byteSize(bits_.dtype);
    DType raw = kUnsigned[size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3];
    Value narrow = rw_.convert(word, raw);
    if (raw == bits_.dtype) return narrow;
    return rw_.emit(OpKind::bitcast_convert_, {narrow}, {bits_.dtype, rw_.shape(narrow).dims});
  }

  // Parts, one element of each at a time, along a dimension whose first `size` elements are kept.
  Value interleaved(Values parts, size_t dimension, int64_t size) {
    Dims pair = rw_.shape(parts[0]).dims;
    Dims merged = pair;
    pair.insert(dimension + 1, 1);
    merged[dimension] *= static_cast<int64_t>(parts.size());
    for (Value& part : parts) part = rw_.reshape(element(part), pair);
    Value all = rw_.reshape(concatenate(parts, static_cast<int64_t>(dimension) + 1), merged);
    if (merged[dimension] == size) return all;
    Ints start(merged.size(), 0), limit(merged.begin(), merged.end()), strides(merged.size(), 1);
    limit[dimension] = size;
    return rw_.slice(all, start, limit, strides);
  }

  // The dimension that results of 32 bits or fewer are halved along: the first even one, else the
  // first of the largest.
  size_t halvedDimension() const {
    size_t largest = 0;
    for (size_t d = 0; d < bits_.dims.size(); ++d) {
      if (bits_.dims[d] % 2 == 0) return d;
      if (bits_.dims[d] > bits_.dims[largest]) largest = d;
    }
    return largest;
  }

  Value threeFry() {
    blocks_ = bits_.dims;
    bool halves = !wide() && !blocks_.empty();
    size_t halved = halves ? halvedDimension() : 0;
    if (halves) blocks_[halved] = (blocks_[halved] + 1) / 2;
    Values block = threeFryBlocks();
    if (wide()) return element(joined(block[0], block[1]));
    if (!halves) return element(block[0]);
    return interleaved(block, halved, bits_.dims[halved]);
  }

  Values threeFryBlocks() {
    constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    Value parity = rw_.splat({DType::u32, {}}, 0x1BD11BDAu);
    Value keys[] = {words_[0], words_[1],
                    exclusiveOr(exclusiveOr(words_[0], words_[1]), parity)};
    Values counter =
        advanced({overBlocks(words_[2]), overBlocks(words_[3])}, blockNumbers());
    Value x = add(counter[0], overBlocks(keys[0])), y = add(counter[1], overBlocks(keys[1]));
    for (uint32_t group = 1; group <= 5; ++group) {
      for (int rotation : kRotations[(group - 1) % 2]) {
        x = add(x, y);
        y = exclusiveOr(rotated(y, rotation), x);
      }
      x = add(x, overBlocks(keys[group % 3]));
      y = add(y, overBlocks(add(keys[(group + 1) % 3], group)));
    }
    return {x, y};
  }

  Value rotated(Value v, int left) {
    return binary(OpKind::or_, binary(OpKind::shift_left_, v, rw_.like(v, left)),
                  binary(OpKind::shift_right_logical_, v, rw_.like(v, 32 - left)));
  }

  // A block gives four results of 32 bits or fewer, or two of 64.
  Value philox() {
    int64_t per_block = wide() ? 2 : 4, count = bits_.elements();
    blocks_ = {(count + per_block - 1) / per_block};
    Values w = philoxBlocks();
    if (wide()) w = {joined(w[0], w[1]), joined(w[2], w[3])};
    return interleaved(w, 0, count);
  }

  Values philoxBlocks() {
    bool key_is_high = words_.size() == 4;
    Value high[] = {words_[key_is_high ? 0 : 4], words_[key_is_high ? 1 : 5]};
    Values c = advanced({overBlocks(words_[2]), overBlocks(words_[3]), overBlocks(high[0]),
                         overBlocks(high[1])},
                        blockNumbers());
    Value key[] = {words_[0], words_[1]};
    for (int round = 0; round < 10; ++round) {
      Value a = product(c[0], 0xD2511F53u), b = product(c[2], 0xCD9E8D57u);
      c = {exclusiveOr(exclusiveOr(highWord(b), c[1]), overBlocks(key[0])),
           rw_.convert(b, DType::u32),
           exclusiveOr(exclusiveOr(highWord(a), c[3]), overBlocks(key[1])),
           rw_.convert(a, DType::u32)};
      key[0] = add(key[0], 0x9E3779B9u);
      key[1] = add(key[1], 0xBB67AE85u);
    }
    return c;
  }

  // All 64 bits of it.
  Value product(Value word, uint32_t factor) {
    Value w = rw_.convert(word, DType::u64);
    return binary(OpKind::multiply_, w, rw_.like(w, factor));
  }

  Rewriter& rw_;
  const Shape state_, bits_;
  Dims blocks_;   // a block for each element
  Values words_;  // of the state
};

}  // namespace

bool expandRandom(Rewriter& rw, OpId id) {
  const Op op = rw.op(id);
  return RandomExpansion(rw, op).run(op);
}

}  // namespace tercel::passes
