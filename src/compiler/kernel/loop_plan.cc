// Which loops suit a domain: found by evaluating it on symbols.
#include <algorithm>

#include "compiler/kernel/nest.h"

namespace tercel::kernel {
namespace {

struct Probe {
  std::vector<Access> accesses;
  std::vector<std::vector<int64_t>> strides;  // access x loop; empty where irregular
  std::vector<std::vector<int64_t>> bare;     // of what is used other than in a linear access
  std::vector<std::vector<int64_t>> bounds;   // of what is compared with bounds
  std::vector<std::pair<size_t, int64_t>> splits;
  std::vector<bool> bounded_last;  // loop whose last index alone takes an element out of bounds
};

// Whether all bounds are kept while the atom is not at its last value.
bool boundsOnlyLast(const IndexSpace& space, std::span<const Bound> bounds, uint32_t atom) {
  return !bounds.empty() && std::ranges::all_of(bounds, [&](const Bound& bound) {
    int64_t factor = 0;
    for (const Term& t : bound.index.terms)
      if (t.atom == atom) factor = t.factor;
    return factor > 0 && space.lowest(bound.index) >= 0 &&
           space.highest(bound.index) - factor < bound.extent;
  });
}

Indices indicesOf(const IndexSpace& space, std::span<const Loop> loops,
                  std::span<const Index> variables, size_t rank) {
  Indices indices(rank);
  for (size_t i = 0; i < loops.size(); ++i)
    indices[loops[i].dim] =
        space.add(indices[loops[i].dim], space.scale(variables[i], loops[i].stride));
  return indices;
}

// How far an index goes with each loop, by the terms that are loops.
std::vector<int64_t> linearStrides(const Index& index, std::span<const size_t> loop_of_atom,
                                   size_t loops) {
  std::vector<int64_t> strides(loops, 0);
  for (Term t : index.terms)
    if (t.atom < loop_of_atom.size()) strides[loop_of_atom[t.atom]] = t.factor;
  return strides;
}

// The same; empty where it is irregular.
std::vector<int64_t> stridesOf(const IndexSpace& space, const Index& index,
                               std::span<const size_t> loop_of_atom, size_t loops) {
  for (Term t : index.terms) {
    const Atom& atom = space.atom(t.atom);
    if (!atom.is_loop && atom.kind != Atom::Kind::scalar) return {};
  }
  return linearStrides(index, loop_of_atom, loops);
}

// Whether a value may be another one from turn to turn of a loop, whose variables nothing defines.
bool mayVary(const Kernel& kernel, V v, int depth = 16) {
  const Inst* def = kernel.def(v);
  if (!def || depth == 0) return true;
  return std::ranges::any_of(def->operands, [&](V of) { return mayVary(kernel, of, depth - 1); });
}

// Runs `evaluate` on symbols alone, into a kernel that is thrown away.
Probe probe(const Lowering& lowering, std::span<const Loop> loops, size_t rank,
            const Evaluate& evaluate) {
  KernelLowering scratch(lowering.module, lowering.cluster, lowering.machine);
  IndexSpace space(scratch.builder);
  std::vector<Index> variables;
  std::vector<size_t> loop_of_atom;
  for (size_t i = 0; i < loops.size(); ++i) {
    V v = scratch.builder.opaque({Scalar::i64, 1});
    variables.push_back(space.loop(v, loops[i].extent));
    if (loops[i].extent > 1) loop_of_atom.push_back(i);
  }
  Emitter emitter(scratch.builder, space, lowering.module, 1);
  scratch.bindInputs(emitter);
  Probe result;
  std::vector<Bound> bounds;
  emitter.record = &result.accesses;
  emitter.bounds = &bounds;
  evaluate(emitter, indicesOf(space, loops, variables, rank));
  result.bounded_last.assign(loops.size(), false);
  for (size_t a = 0; a < loop_of_atom.size(); ++a)
    result.bounded_last[loop_of_atom[a]] = boundsOnlyLast(space, bounds, static_cast<uint32_t>(a));
  for (const Index& use : space.bareUses())
    result.bare.push_back(stridesOf(space, use, loop_of_atom, loops.size()));
  for (const Index& use : space.boundUses())
    result.bounds.push_back(stridesOf(space, use, loop_of_atom, loops.size()));
  for (Access& access : result.accesses) {
    result.strides.push_back(stridesOf(space, access.index, loop_of_atom, loops.size()));
    if (result.strides.back().empty())
      result.bare.push_back(linearStrides(access.index, loop_of_atom, loops.size()));
    for (Term t : access.index.terms) {
      const Atom& atom = space.atom(t.atom);
      if (atom.is_loop || atom.kind != Atom::Kind::scalar) continue;
      access.is_placed = true;
      access.places_vary |= mayVary(scratch.kernel, atom.value);
    }
  }
  for (const auto& split : space.wantedSplits())
    if (split.atom < loop_of_atom.size())
      result.splits.emplace_back(loop_of_atom[split.atom], split.divisor);
  return result;
}

// Splits the first wanted loop; false where none is wanted.
bool splitLoop(std::vector<Loop>& loops, const Probe& found) {
  for (auto [at, divisor] : found.splits) {
    Loop loop = loops[at];
    if (divisor <= 1 || divisor >= loop.extent || loop.extent % divisor) continue;
    loops[at] = {loop.dim, loop.extent / divisor, loop.stride * divisor};
    loops.insert(loops.begin() + static_cast<int64_t>(at) + 1, {loop.dim, divisor, loop.stride});
    return true;
  }
  return false;
}

// thin: that a vector has more lanes than the inner loop and those within it have turns.
bool mergeable(const std::vector<Loop>& loops, const Probe& found, size_t outer, size_t inner,
               const std::vector<bool>& classes, bool thin) {
  if (!classes.empty() && classes[loops[outer].dim] != classes[loops[inner].dim]) return false;
  auto merges = [&](const std::vector<int64_t>& strides) {
    return strides.empty() || strides[outer] == strides[inner] * loops[inner].extent;
  };
  return std::ranges::all_of(found.strides, merges) &&  // irregular ones show as bare uses
         std::ranges::all_of(found.bare, merges) &&
         std::ranges::all_of(found.bounds, [&](const std::vector<int64_t>& strides) {
           return merges(strides) || (thin && strides[inner] == 0);
         });
}

}  // namespace

int64_t LoopPlan::groupExtent(size_t group) const {
  int64_t extent = 1;
  for (size_t loop : groups[group]) extent *= loops[loop].extent;
  return extent;
}

LoopPlan planLoops(const Lowering& lowering, std::span<const int64_t> domain,
                   const Evaluate& evaluate, const std::vector<bool>& classes) {
  LoopPlan plan;
  for (size_t d = 0; d < domain.size(); ++d)
    if (domain[d] != 1) plan.loops.push_back({d, domain[d], 1});
  Probe found = probe(lowering, plan.loops, domain.size(), evaluate);
  for (int round = 0; round < 8 && splitLoop(plan.loops, found); ++round)
    found = probe(lowering, plan.loops, domain.size(), evaluate);
  const int lanes = vectorLanes(lowering.module, lowering.cluster, lowering.machine);
  for (size_t i = 0; i < plan.loops.size(); ++i) {
    int64_t turns = 1;
    for (size_t k = i; k < plan.loops.size(); ++k) turns *= plan.loops[k].extent;
    const bool thin = turns < lanes;
    if (i > 0 && mergeable(plan.loops, found, i - 1, i, classes, thin))
      plan.groups.back().push_back(i);
    else
      plan.groups.push_back({i});
  }
  for (const auto& group : plan.groups)
    plan.bounded_last.push_back(group.size() == 1 && found.bounded_last[group[0]]);
  for (const auto& strides : found.strides) {
    std::vector<int64_t> of_groups;
    if (!strides.empty())
      for (const auto& group : plan.groups) of_groups.push_back(strides[group.back()]);
    plan.strides.push_back(std::move(of_groups));
  }
  plan.accesses = std::move(found.accesses);
  return plan;
}

Indices domainIndices(IndexSpace& space, const LoopPlan& plan, size_t rank,
                      std::span<const Index> groups) {
  std::vector<Index> variables(plan.loops.size());
  for (size_t g = 0; g < plan.groups.size(); ++g) {
    Index rest = groups[g];
    for (size_t i = plan.groups[g].size(); i-- > 0;) {
      size_t loop = plan.groups[g][i];
      if (i == 0) {
        variables[loop] = rest;
      } else {
        variables[loop] = space.remainder(rest, plan.loops[loop].extent);
        rest = space.quotient(rest, plan.loops[loop].extent);
      }
    }
  }
  return indicesOf(space, plan.loops, variables, rank);
}

}  // namespace tercel::kernel
