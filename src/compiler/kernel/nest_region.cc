// Control flow with everything inside it as one function: single elements live in registers, arrays
// in the outputs' memory or in scratch.
#include <algorithm>
#include <optional>
#include <unordered_map>

#include "compiler/ir/parallel_loop.h"
#include "compiler/kernel/copy_array.h"
#include "compiler/kernel/nest.h"
#include "compiler/kernel/tasks.h"

namespace tercel::kernel {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

// Where the values of a region nest are.
struct Places {
  std::unordered_map<uint32_t, Elem> elems;
  std::unordered_map<uint32_t, BufferId> buffers;
};

// A result up to here is made in scratch memory, which may become registers, and moved at the end.
constexpr int64_t kMovedBytes = 4096;
// The same of complex numbers, whose parts lie apart there.
constexpr int64_t kMovedComplexBytes = 128 << 10;
// Loops of so few trips are none: arrays of so few vectors are then read at places known now.
constexpr int64_t kInlineTrips = 4;

bool isElement(const ir::Module& m, Value v) { return m.shape(v).elements() == 1; }

// Reductions of so few elements that each lane reads all it needs: vectors then hold several rows, and
// stay in registers from one turn to the next.
constexpr int64_t kMostReduced = 8, kMostWrittenVectors = 3;

bool reducesInLanes(const ir::Module& m, const Cluster& cluster, const Machine& machine) {
  const int64_t most = kMostWrittenVectors * vectorLanes(m, cluster, machine);
  Dims kept;
  for (size_t d = 0; d < cluster.domain.size(); ++d)
    if (!cluster.reduced[d]) kept.push_back(cluster.domain[d]);
  const Dims& all = m.shape(cluster.outputs[0]).dims;
  auto isWhole = [&](Value v) { return m.shape(v).dims == all; };
  auto isShort = [&](ir::OpId id) {
    const Op& op = m.op(id);
    if (op.kind != OpKind::reduce_) return op.regions.empty();
    return m.shape(op.operand(0)).elements() <=
           kMostReduced * m.shape(op.result(0)).elements();
  };
  return cluster.nest == Nest::rows && cluster.domain.size() > 1 &&
         elementCount(cluster.domain) <= most && (all == cluster.domain || all == kept) &&
         std::ranges::all_of(cluster.outputs, isWhole) &&
         std::ranges::all_of(cluster.ops, isShort);
}

// A cluster inside a region nest.
class InnerLowering : public Lowering {
 public:
  InnerLowering(const Lowering& outer, const Cluster& cluster, Places& places)
      : Lowering(outer.module, cluster, outer.machine, outer.builder), places_(places) {
    for (Value v : cluster.outputs) {
      auto at = places_.buffers.find(v.index);
      output_buffers.push_back(at == places_.buffers.end() ? 0 : at->second);
    }
  }

  void bindInputs(Emitter& e) const override {
    e.cluster = &cluster;
    for (Value v : cluster.inputs) {
      if (auto elem = places_.elems.find(v.index); elem != places_.elems.end())
        e.bindElem(v, elem->second);
      else if (auto buffer = places_.buffers.find(v.index); buffer != places_.buffers.end())
        e.bindMemory(v, buffer->second);
    }  // what remains are numbers
  }

  void storeOutput(Emitter& e, size_t output, const Index& linear, const Elem& elem) override {
    Value v = cluster.outputs[output];
    if (isElement(module, v))
      places_.elems[v.index] = elem;
    else
      Lowering::storeOutput(e, output, linear, elem);
  }

 private:
  Places& places_;
};

class RegionNest {
 public:
  explicit RegionNest(Lowering& low) : low_(low), m_(low.module), b_(low.builder) {
    for (const RegionUnits& r : low.cluster.regions) units_[r.region.index] = &r.units;
    for (auto [value, owner] : low.cluster.shares) shares_[value.index] = owner;
  }

  Status run() {
    Status status;
    b_.setInlineTrips(kInlineTrips);
    const Op& op = m_.op(low_.cluster.ops.back());
    if (low_.cluster.is_parallel) parallel_ = ir::parallelLoop(m_, op);
    low_.forTasks(parallel_ ? parallel_->turns : 1, [&](V task) { status = emitAll(op, task); });
    return status;
  }

 private:
  Status emitAll(const Op& op, V task) {
    IndexSpace space(b_);
    Emitter e(b_, space, m_, 1);
    low_.bindInputs(e);
    for (size_t i = 0; i < low_.cluster.inputs.size(); ++i) {
      Value v = low_.cluster.inputs[i];
      if (isElement(m_, v))
        places_.elems[v.index] = e.at(v, Indices(m_.shape(v).dims.size()));
      else
        places_.buffers[v.index] = static_cast<BufferId>(i);  // the params are the inputs, in order
    }
    for (size_t o = 0; o < op.results.size(); ++o) {
      const Shape& shape = m_.shape(op.result(o));
      if (parallel_ ||
          shape.bytes() > (isComplex(shape.dtype) ? kMovedComplexBytes : kMovedBytes))
        own_[op.result(o).index] = low_.output_buffers[o];
    }
    TERCEL_TRY(parallel_ ? emitTurn(op, e, task) : emitControl(op));
    for (size_t o = 0; o < op.results.size(); ++o) {
      Value v = op.result(o);
      if (isElement(m_, v))
        low_.storeOutput(e, o, Index(0), elementOf(v));
      else
        copy(places_.buffers.at(v.index), low_.output_buffers[o], m_.shape(v));
    }
    return Status();
  }

  // The arrays are where they were before the loop; nothing but their lines changes hands.
  Status emitTurn(const Op& op, Emitter& e, V task) {
    const ir::Region& body = m_.region(op.regions[1]);
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const Value v = body.args[i];
      if (isElement(m_, v))
        places_.elems[v.index] = elementOf(op.operand(i));
      else
        places_.buffers[v.index] = places_.buffers[op.result(i).index] = memoryFor(op.result(i));
    }
    auto count = [&](const Index& turn) {
      const Index scaled = e.space().add(e.space().scale(turn, parallel_->step), parallel_->first);
      return e.iotaAt(scaled, m_.shape(op.operand(parallel_->counter)).dtype, INT64_MAX);
    };
    places_.elems[body.args[parallel_->counter].index] =
        count(e.space().loop(task, parallel_->turns));
    TERCEL_TRY(emitUnits(op.regions[1]));
    deliver(body.results, body.args);
    for (size_t i = 0; i < op.operands.size(); ++i)
      if (isElement(m_, op.result(i)))
        places_.elems[op.result(i).index] = elementOf(body.args[i]);
    places_.elems[op.result(parallel_->counter).index] = count(parallel_->turns);
    return Status();
  }

  Status emitControl(const Op& op) {
    if (op.kind == OpKind::while_) return emitWhile(op);
    Elem selector = elementOf(op.operand(0));
    for (Value v : op.results)
      if (!isElement(m_, v)) places_.buffers[v.index] = memoryFor(v);
    if (op.kind == OpKind::if_) return emitBranch(op, selector.re, 0);
    return emitCase(op, selector.re, 0);
  }

  // The memory an array is to be in, else new scratch memory.
  BufferId memoryFor(Value v) {
    if (auto shared = shares_.find(v.index); shared != shares_.end())
      return places_.buffers.at(shared->second.index);
    auto at = own_.find(v.index);
    return at != own_.end() ? at->second : scratchFor(v);
  }

  void flatten(const Elem& x, Builder::Values& to) {
    to.push_back(x.re);
    if (x.im.valid()) to.push_back(x.im);
  }

  // Takes the elements of `like` back out of a flat list.
  void unflatten(std::span<const V> flat, std::span<const Value> values) {
    size_t at = 0;
    for (Value v : values) {
      if (!isElement(m_, v)) continue;
      Elem x{flat[at++], {}};
      if (isComplex(m_.shape(v).dtype)) x.im = flat[at++];
      places_.elems[v.index] = x;
    }
  }

  Builder::Values elementsOf(std::span<const Value> values) {
    Builder::Values flat;
    for (Value v : values)
      if (isElement(m_, v)) flatten(elementOf(v), flat);
    return flat;
  }

  Status emitWhile(const Op& op) {
    const ir::Region &cond = m_.region(op.regions[0]), &body = m_.region(op.regions[1]);
    for (size_t i = 0; i < op.operands.size(); ++i) {
      if (isElement(m_, op.operand(i))) continue;
      BufferId home = memoryFor(op.result(i));
      copy(places_.buffers.at(op.operand(i).index), home, m_.shape(op.operand(i)));
      for (Value v : {op.result(i), cond.args[i], body.args[i]}) places_.buffers[v.index] = home;
    }
    Status status;
    auto last = b_.whileLoop(
        elementsOf(op.operands),
        [&](std::span<const V> now) {
          unflatten(now, cond.args);
          status = emitUnits(op.regions[0]);
          return status.ok() ? elementOf(cond.results[0]).re
                             : b_.constant({Scalar::i1, 1}, 0);
        },
        [&](std::span<const V> now) {
          unflatten(now, body.args);
          if (status.ok()) status = emitUnits(op.regions[1]);
          if (!status.ok()) return Builder::Values(now);
          deliver(body.results, body.args);
          return elementsOf(body.results);
        });
    TERCEL_TRY(status);
    unflatten(last, op.results);
    return Status();
  }

  struct Move {
    BufferId from, to;
    Value value;
  };

  // Arrays into the places where others expect them, all at once: each before its own place is taken;
  // of those in a ring one is set aside.
  void deliver(std::span<const Value> from, std::span<const Value> to) {
    std::vector<Move> moves;
    for (size_t i = 0; i < from.size(); ++i) {
      if (isElement(m_, from[i])) continue;
      Move move{places_.buffers.at(from[i].index), places_.buffers.at(to[i].index), from[i]};
      if (move.from != move.to) moves.push_back(move);
    }
    while (!moves.empty()) {
      const auto next = std::ranges::find_if(moves, [&](const Move& move) {
        return std::ranges::find(moves, move.to, &Move::from) == moves.end();
      });
      if (next != moves.end()) {
        copy(next->from, next->to, m_.shape(next->value));
        moves.erase(next);
      } else {
        setAside(moves);
      }
    }
  }

  // What the first of the moves takes the place of.
  void setAside(std::vector<Move>& moves) {
    const BufferId taken = moves.front().to;
    const Value value = std::ranges::find(moves, taken, &Move::from)->value;
    const BufferId aside = scratchFor(value);
    copy(taken, aside, m_.shape(value));
    for (Move& move : moves)
      if (move.from == taken) move.from = aside;
  }

  Status emitBranch(const Op& op, V condition, size_t first) {
    Status status;
    auto branch = [&](size_t region) {
      return [&, region] {
        if (status.ok()) status = emitUnits(op.regions[region]);
        if (!status.ok()) return Builder::Values{};
        return branchResults(op, m_.region(op.regions[region]));
      };
    };
    auto last = b_.ifElse(condition, branch(first), branch(first + 1));
    TERCEL_TRY(status);
    unflatten(last, op.results);
    return Status();
  }

  // A chain of ifs; an index out of range takes the last branch.
  Status emitCase(const Op& op, V index, size_t first) {
    if (first + 1 == op.regions.size()) {
      TERCEL_TRY(emitUnits(op.regions[first]));
      unflatten(branchResults(op, m_.region(op.regions[first])), op.results);
      return Status();
    }
    Status status;
    V here = b_.compare(Opcode::icmp, Predicate::eq, index,
                        b_.integer(b_.type(index), static_cast<int64_t>(first)));
    auto last = b_.ifElse(
        here,
        [&] {
          status = emitUnits(op.regions[first]);
          return status.ok() ? branchResults(op, m_.region(op.regions[first])) : Builder::Values{};
        },
        [&] {
          if (status.ok()) status = emitCase(op, index, first + 1);
          return status.ok() ? elementsOf(op.results) : Builder::Values{};
        });
    TERCEL_TRY(status);
    unflatten(last, op.results);
    return Status();
  }

  Builder::Values branchResults(const Op& op, const ir::Region& region) {
    deliver(region.results, op.results);
    return elementsOf(region.results);
  }

  void copy(BufferId from, BufferId to, const Shape& shape) {
    copyArray(b_, m_, from, to, shape);
  }

  Status emitUnits(ir::RegionId region) {
    for (const Unit& unit : *units_.at(region.index)) TERCEL_TRY(emitUnit(unit));
    return Status();
  }

  Status emitUnit(const Unit& unit) {
    if (unit.is_cluster) return emitCluster(unit.cluster);
    const Op& op = m_.op(unit.op);
    if (!op.regions.empty()) return emitControl(op);
    for (size_t i = 0; i < op.results.size(); ++i) alias(op.operand(i), op.result(i));
    return Status();
  }

  Status emitCluster(const Cluster& cluster) {
    const bool in_place = isInPlace(cluster.nest);
    for (size_t o = 0; o < cluster.outputs.size(); ++o) {
      Value v = cluster.outputs[o];
      if (isElement(m_, v)) continue;
      places_.buffers[v.index] = memoryFor(v);
      if (in_place)
        copy(places_.buffers.at(m_.def(v)->operand(o).index), places_.buffers.at(v.index),
             m_.shape(v));
    }
    if (!reducesInLanes(m_, cluster, low_.machine)) {
      InnerLowering inner(low_, cluster, places_);
      return lowerNest(inner);
    }
    Cluster loop = cluster;
    loop.nest = Nest::loop;
    InnerLowering inner(low_, loop, places_);
    b_.setInlineTrips(kMostReduced);
    Status status = lowerNest(inner);
    b_.setInlineTrips(kInlineTrips);
    return status;
  }

  // Numbers need no place.
  Elem elementOf(Value v) {
    if (auto at = places_.elems.find(v.index); at != places_.elems.end()) return at->second;
    const Op* op = m_.def(v);
    TERCEL_CHECK(op && op->kind == OpKind::constant_ && isElement(m_, v), "value %", v.index,
                 " of a region has no place");
    return elemConstant(b_, m_.shape(v).dtype, op->literal(), 0);
  }

  void alias(Value from, Value to) {
    if (isElement(m_, from))
      places_.elems[to.index] = elementOf(from);
    else
      places_.buffers[to.index] = places_.buffers.at(from.index);
  }

  BufferId scratchFor(Value v) {
    const Shape& shape = m_.shape(v);
    const Scalar stored = storedScalar(shape.dtype);
    const BufferId scratch = isComplex(shape.dtype)
                                 ? b_.addComplexScratch(stored, shape.elements())
                                 : b_.addScratch(stored, shape.elements());
    b_.clearSlack(scratch);
    if (const auto imaginary = b_.imaginaryOf(scratch)) b_.clearSlack(*imaginary);
    return scratch;
  }

  Lowering& low_;
  const ir::Module& m_;
  Builder& b_;
  Places places_;
  std::optional<ir::CountedLoop> parallel_;
  std::unordered_map<uint32_t, BufferId> own_;  // results of the outermost op
  std::unordered_map<uint32_t, Value> shares_;
  std::unordered_map<uint32_t, const std::vector<Unit>*> units_;
};

}  // namespace

Status lowerRegion(Lowering& low) { return RegionNest(low).run(); }

}  // namespace tercel::kernel
