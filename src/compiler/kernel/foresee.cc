#include "compiler/kernel/foresee.h"

#include <algorithm>
#include <optional>

namespace tercel::kernel {
namespace {

// smin(smax(wrapped, 0), most), where wrapped is x, or x + n of x below zero; each may lack. What
// lies from 0 to most stays as it is.
struct Limited {
  V x;
  std::optional<V> most;
  std::vector<InstId> chain;  // what makes it of x, in order
};

class Foreseer {
 public:
  explicit Foreseer(Kernel& kernel) : k_(kernel), users_(kernel.values.size()) {
    for (InstId id = 0; id < k_.insts.size(); ++id)
      for (V v : k_.insts[id].operands) users_[v.index].push_back(id);
    yielded_.resize(k_.values.size());
    for (const Block& block : k_.blocks)
      for (V v : block.yields) yielded_[v.index] = true;
  }

  void run() { visit(0, false); }

 private:
  void visit(BlockId block, bool in_loop) {
    const std::vector<InstId> insts = k_.blocks[block].insts;
    std::vector<InstId> out;
    for (InstId id : insts) {
      const SmallVector<BlockId, 2> inner = k_.insts[id].blocks;
      const bool loops = in_loop || k_.insts[id].op == Opcode::while_;
      for (BlockId b : inner) visit(b, loops);
      const auto limited = in_loop ? limitedBy(id) : std::nullopt;
      if (limited) branch(id, *limited, block, out);
      else out.push_back(id);
    }
    k_.blocks[block].insts = std::move(out);
  }

  bool isNumber(V v, std::optional<int64_t> value = {}) const {
    const Inst* def = k_.def(v);
    return def && def->op == Opcode::constant && (!value || def->imm == *value);
  }

  const Inst* stepOf(V v, Opcode op) const {
    const Inst* def = k_.def(v);
    return def && def->op == op ? def : nullptr;
  }

  std::optional<Limited> limitedBy(InstId id) const {
    const Inst& last = k_.insts[id];
    if (last.results.size() != 1 || last.type.isVector() || bitWidth(last.type.scalar) < 32)
      return {};
    const bool is_limit = last.op == Opcode::smin || last.op == Opcode::smax ||
                          last.op == Opcode::umin || last.op == Opcode::select;
    if (!is_limit || !isAddress(last.results[0])) return {};
    Limited limited{last.results[0]};
    if ((last.op == Opcode::smin || last.op == Opcode::umin) && isNumber(last.operands[1])) {
      limited.most = last.operands[1];
      take(limited, last.operands[0]);
    }
    if (const Inst* floored = stepOf(limited.x, Opcode::smax);
        floored && isNumber(floored->operands[1], 0))
      take(limited, floored->operands[0]);
    if (const Inst* chosen = stepOf(limited.x, Opcode::select)) takeWrapped(limited, *chosen);
    // Before the loops it is waited for once.
    const bool is_early = isNumber(limited.x) || k_.values[limited.x.index].block == 0;
    if (limited.chain.empty() || is_early) return {};
    std::ranges::reverse(limited.chain);
    return limited;
  }

  void take(Limited& limited, V before) const {
    limited.chain.push_back(k_.values[limited.x.index].def);
    limited.x = before;
  }

  // select(x < 0, x + n, x)
  void takeWrapped(Limited& limited, const Inst& select) const {
    const V x = select.operands[2];
    const Inst* test = stepOf(select.operands[0], Opcode::icmp);
    const Inst* sum = stepOf(select.operands[1], Opcode::iadd);
    if (!test || !sum || test->imm != static_cast<int64_t>(Predicate::slt) ||
        test->operands[0] != x || !isNumber(test->operands[1], 0) || sum->operands[0] != x ||
        !isNumber(sum->operands[1]))
      return;
    limited.chain.push_back(k_.values[limited.x.index].def);
    limited.chain.push_back(k_.values[select.operands[1].index].def);
    limited.chain.push_back(k_.values[select.operands[0].index].def);
    limited.x = x;
  }

  // Whether nothing but addresses are made of it.
  bool isAddress(V v, int depth = 4) const {
    if (depth == 0 || yielded_[v.index] || users_[v.index].empty()) return false;
    return std::ranges::all_of(users_[v.index], [&](InstId id) {
      const Inst& user = k_.insts[id];
      if (instClass(user.op) == InstClass::memory)
        return user.operands[0] == v && std::ranges::count(user.operands, v) == 1;
      const bool goes_on = user.op == Opcode::zext || user.op == Opcode::sext ||
                           user.op == Opcode::imul || user.op == Opcode::iadd;
      return goes_on && isAddress(user.results[0], depth - 1);
    });
  }

  InstId add(Inst inst, BlockId block) {
    const auto id = static_cast<InstId>(k_.insts.size());
    k_.values.push_back({inst.type, block, id});
    inst.results = {V{static_cast<uint32_t>(k_.values.size() - 1)}};
    k_.insts.push_back(std::move(inst));
    return id;
  }

  // `id` becomes the branch, and its result the branch's.
  void branch(InstId id, const Limited& limited, BlockId block, std::vector<InstId>& out) {
    const V result = k_.insts[id].results[0], x = limited.x;
    const Type type = k_.type(x), flag{Scalar::i1, 1};
    const Predicate outside = limited.most ? Predicate::ugt : Predicate::slt;
    const V limit = limited.most ? *limited.most : zero(limited);
    const InstId test = add({.op = Opcode::icmp, .type = flag, .operands = {x, limit},
                             .imm = static_cast<int64_t>(outside)}, block);
    out.push_back(test);
    Inst choice{.op = Opcode::if_, .type = type, .operands = {k_.insts[test].results[0]},
                .results = {result}, .imm = 1};
    for (bool is_outside : {true, false}) {
      choice.blocks.push_back(static_cast<BlockId>(k_.blocks.size()));
      k_.blocks.push_back({.parent = block, .depth = k_.blocks[block].depth + 1, .guarded = true});
      k_.blocks.back().yields = {is_outside ? copyOf(limited, choice.blocks[0]) : x};
    }
    out.push_back(id);
    k_.insts[id] = std::move(choice);
  }

  V zero(const Limited& limited) const {
    const Inst& test = k_.insts[limited.chain.front()];  // of the wrapping, or the lower limit
    return test.operands[1];
  }

  // The chain once more, in a block of its own.
  V copyOf(const Limited& limited, BlockId block) {
    std::vector<std::pair<V, V>> instead;
    for (InstId old : limited.chain) {
      Inst inst = k_.insts[old];
      const V was = inst.results[0];
      for (V& v : inst.operands)
        for (auto [from, to] : instead)
          if (v == from) v = to;
      const InstId id = add(std::move(inst), block);
      k_.blocks[block].insts.push_back(id);
      instead.emplace_back(was, k_.insts[id].results[0]);
    }
    return instead.back().second;
  }

  Kernel& k_;
  std::vector<std::vector<InstId>> users_;  // by V
  std::vector<bool> yielded_;               // by V
};

}  // namespace

void foreseePlaces(Kernel& kernel) {
  Foreseer(kernel).run();
}

}  // namespace tercel::kernel
