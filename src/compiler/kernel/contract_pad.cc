// A product that is stored inside of an array with edges, and those edges.
#include "compiler/kernel/contract_nest.h"

namespace tercel::kernel {

using ir::AttrKey;
using ir::Op;

// Of some of the result's outermost elements by each task: along these there is no padding.
void ContractNest::storeEdges(V task, int64_t tasks) {
  const Op* pad = paddedProduct(m_, low_.cluster);
  if (!pad) return;
  const int64_t outer = domain_[0], share = (outer + tasks - 1) / tasks;
  auto bound = [&](V number) {
    return b_.binary(Opcode::smin, b_.imul(number, b_.index(share)), b_.index(outer));
  };
  b_.forLoop(bound(task), bound(b_.iadd(task, b_.index(1))), 1,
             [&](V i) { storeEdges(*pad, {space_.loop(i, outer)}); });
}

// Of the part at these places of the outer dimensions.
void ContractNest::storeEdges(const Op& pad, const Indices& at) {
  const Dims& dims = m_.shape(pad.result()).dims;
  const size_t d = at.size();
  if (d == dims.size()) return;
  const int64_t low = pad.ints(AttrKey::edge_padding_low)[d], extent = domain_[d];
  const int64_t line = elementCount(std::span(dims).subspan(d + 1));
  Indices corner = at;
  corner.resize(dims.size());
  const Index first = space_.linear(corner, dims);
  storeEdge(pad, first, low * line);
  const int64_t end = low + extent;
  storeEdge(pad, space_.add(first, Index(end * line)), (dims[d] - end) * line);
  if (std::ranges::equal(std::span(dims).subspan(d + 1),
                         std::span(domain_).subspan(d + 1, dims.size() - d - 1)))
    return;
  b_.forLoop(b_.index(0), b_.index(extent), 1, [&](V i) {
    Indices inside = at;
    inside.push_back(space_.add(space_.loop(i, extent), Index(low)));
    storeEdges(pad, inside);
  });
}

void ContractNest::storeEdge(const Op& pad, const Index& first, int64_t count) {
  const int lanes = vectorLanes(m_, low_.cluster, low_.machine);
  const int64_t whole = count / lanes * lanes;
  auto store = [&](const Index& i, Guard guard) {
    Emitter e = emitter(lanes);
    e.guarded(guard, [&] {
      low_.storeOutput(e, 0, space_.add(first, i), e.at(pad.operand(1), {}));
    });
  };
  b_.forLoop(b_.index(0), b_.index(whole), lanes,
             [&](V i) { store(space_.loop(i, whole, lanes > 1), {}); });
  if (whole == count) return;
  const V rest = b_.index(count - whole);
  store(space_.loop(b_.index(whole), count, true), firstLanes(b_, lanes, rest));
}

}  // namespace tercel::kernel
