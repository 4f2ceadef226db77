// Recognises functions by their expansions: rows of ops whose hashes stand in expansions.def.
#include "compiler/passes/recognise.h"

#include <array>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <unordered_map>

#include "compiler/passes/constants.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/structure.h"

namespace tercel::passes {
using namespace ir;
namespace {

struct Expansion {
  OpKind function;
  uint32_t ops;
  uint64_t start, hash;
};
constexpr Expansion kExpansions[] = {
#define EXPANSION(function, ops, start, hash) {OpKind::function##_, ops, start, hash},
#include "compiler/passes/expansions.def"
};
constexpr uint32_t kStart = 2;  // ops whose hash is a row's start

uint64_t hashText(std::string_view text) {
  uint64_t h = 0xcbf29ce484222325;
  for (char c : text) h = (h ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return h;
}

uint64_t hashElement(std::span<const std::byte> bytes) {
  return hashText({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// The one element of a constant, or of what is broadcast from one; null for anything else.
const Literal* elementOf(const Module& module, Value v) {
  const Op* op = module.def(v);
  if (op && op->kind == OpKind::broadcast_in_dim_) op = module.def(op->operand(0));
  if (!op || op->kind != OpKind::constant_) return nullptr;
  const Literal& literal = std::get<Literal>(*op->find(AttrKey::value));
  return literal.isSplat() || literal.shape().dims.empty() ? &literal : nullptr;
}

// A row of elementwise ops as a function of one value, hashed as it grows.
class Row {
 public:
  // `places`: of an op's result in its region, counted from 1; 0 for arguments.
  Row(const Module& module, const std::vector<uint32_t>& places, uint32_t begin)
      : module_(module), places_(places), begin_(begin) {}

  // False where the op is none of a row's.
  bool add(const Op& op) {
    if (!isElementwise(op.kind) || op.results.size() != 1 || !op.regions.empty()) return false;
    if (op.kind != OpKind::compare_ && !op.attrs.empty()) return false;
    hash_ = combine(hash_, hashText(opName(op.kind)));
    for (const AttrKey key : {AttrKey::comparison_direction, AttrKey::compare_type})
      if (op.has(key)) hash_ = combine(hash_, hashText(op.symbol(key)));
    for (Value v : op.operands)
      if (!addOperand(v)) return false;
    const Shape& shape = module_.shape(op.result());
    hash_ = combine(hash_, hashText(dtypeName(shape.dtype)));
    ++ops_;
    return !x_.valid() || shape.dims == module_.shape(x_).dims;
  }

  Value x() const { return x_; }
  uint64_t hash() const { return hash_; }
  uint32_t ops() const { return ops_; }

 private:
  bool addOperand(Value v) {
    if (const Literal* element = elementOf(module_, v)) {
      hash_ = combine(combine(hash_, 1), hashElement(element->bytes()));
      return true;
    }
    const uint32_t place = places_[v.index];
    if (place >= begin_) {
      hash_ = combine(combine(hash_, 2), place - begin_);
      return true;
    }
    hash_ = combine(hash_, 3);
    if (!x_.valid()) x_ = v;
    return x_ == v;
  }

  const Module& module_;
  const std::vector<uint32_t>& places_;
  uint32_t begin_, ops_ = 0;
  Value x_;
  uint64_t hash_ = 0;
};

// A region's ops but for what constants are made of, with the places of their results.
class Rows {
 public:
  explicit Rows(const Module& module) : module_(module) {}

  void enter(RegionId region) {
    ops_.clear();
    first_ = next_;
    places_.resize(module_.valueCount());
    for (OpId id : module_.region(region).ops) {
      const Op& op = module_.op(id);
      if (op.results.size() == 1 && elementOf(module_, op.result())) continue;
      for (Value v : op.results) places_[v.index] = next_;
      ops_.push_back(id);
      ++next_;
    }
  }

  size_t size() const { return ops_.size(); }
  OpId op(size_t i) const { return ops_[i]; }
  Row rowAt(size_t i) const {
    return Row(module_, places_, first_ + static_cast<uint32_t>(i));
  }
  // The row of `count` ops from the i-th on; nothing where they are none.
  std::optional<Row> row(size_t i, size_t count) const {
    Row row = rowAt(i);
    if (i + count > ops_.size()) return std::nullopt;
    for (size_t k = 0; k < count; ++k)
      if (!row.add(module_.op(ops_[i + k]))) return std::nullopt;
    return row;
  }

 private:
  const Module& module_;
  std::vector<OpId> ops_;
  std::vector<uint32_t> places_;  // by value
  uint32_t first_ = 1, next_ = 1;  // over all regions: what was placed before is outside of a row
};

class Recogniser : public Rewriter {
 public:
  explicit Recogniser(Module& module) : Rewriter(module), rows_(module) {
    for (const Function& function : module.functions) findIn(function.body);
  }

 protected:
  bool visit(OpId id) override {
    const auto found = found_.find(id.index);
    if (found == found_.end()) return false;
    const auto [function, x] = found->second;
    const Value y = unary(function, now(x));
    const bool has_pole = function == OpKind::digamma_ && isInfiniteAtZero(op(id));
    replace(op(id).result(), has_pole ? select(compare(now(x), like(x, 0), "EQ"),
                                               like(y, -INFINITY), y)
                                      : y);
    return true;
  }

 private:
  // JAX 0.12 has digamma(0) be -inf, where it was NaN before: a choice at the end of its row, by its
  // last op or before it is narrowed.
  bool isInfiniteAtZero(const Op& last) const {
    const Op* choice = last.kind == OpKind::convert_ ? def(last.operand(0)) : &last;
    if (!choice || choice->kind != OpKind::select_) return false;
    const Literal* chosen = elementOf(module(), choice->operand(1));
    return chosen && chosen->number(0) == -INFINITY;
  }

  void findIn(RegionId region) {
    rows_.enter(region);
    for (size_t i = 0; i < rows_.size();) i += find(i);
    for (OpId id : module().region(region).ops)
      for (RegionId inner : op(id).regions) findIn(inner);
  }

  // How many ops to go on by.
  size_t find(size_t i) {
    const std::optional<Row> start = rows_.row(i, kStart);
    if (!start) return 1;
    for (const Expansion& expansion : kExpansions) {
      if (expansion.start != start->hash()) continue;
      const std::optional<Row> row = rows_.row(i, expansion.ops);
      if (!row || row->hash() != expansion.hash || !row->x().valid()) continue;
      found_.try_emplace(rows_.op(i + expansion.ops - 1).index, expansion.function, row->x());
      return expansion.ops;
    }
    return 1;
  }

  Rows rows_;
  std::unordered_map<uint32_t, std::pair<OpKind, Value>> found_;  // by a row's last op
};

}  // namespace

PassResult recogniseFunctions(Module& module) { return Recogniser(module).run(); }

std::string expansionRow(const Module& module) {
  const Function* main = module.find("main");
  if (!main) return "";
  Rows rows(module);
  rows.enter(main->body);
  const size_t count = rows.size();
  const std::optional<Row> start = rows.row(0, kStart), row = rows.row(0, count);
  if (!start || !row || module.region(main->body).results.size() != 1) return "";
  std::array<char, 80> text;
  std::snprintf(text.data(), text.size(), "%zu, 0x%016" PRIx64 ", 0x%016" PRIx64, count,
                start->hash(), row->hash());
  return text.data();
}

}  // namespace tercel::passes
