// Control flow with everything inside it as one function: single elements live in registers, arrays
// in the outputs' memory or in scratch.
#include <algorithm>
#include <unordered_map>

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

bool isElement(const ir::Module& m, Value v) { return m.shape(v).elements() == 1; }

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
    for (Value v : cluster.inputs) {
      if (auto elem = places_.elems.find(v.index); elem != places_.elems.end())
        e.bindElem(v, elem->second);
      else
        e.bindMemory(v, places_.buffers.at(v.index));
    }
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
  }

  Status run() {
    Status status;
    low_.forTasks(1, [&](V) { status = emitAll(); });
    return status;
  }

 private:
  Status emitAll() {
    IndexSpace space(b_);
    Emitter e(b_, space, m_, 1);
    low_.bindInputs(e);
    const Op& op = m_.op(low_.cluster.ops[0]);
    for (size_t i = 0; i < low_.cluster.inputs.size(); ++i) {
      Value v = low_.cluster.inputs[i];
      if (isElement(m_, v))
        places_.elems[v.index] = e.at(v, Indices(m_.shape(v).dims.size()));
      else
        places_.buffers[v.index] = static_cast<BufferId>(i);  // the params are the inputs, in order
    }
    for (size_t o = 0; o < op.results.size(); ++o)
      if (!isElement(m_, op.result(o))) own_[op.result(o).index] = low_.output_buffers[o];
    TERCEL_TRY(emitControl(op));
    for (size_t o = 0; o < op.results.size(); ++o)
      if (isElement(m_, op.result(o)))
        low_.storeOutput(e, o, Index(0), places_.elems.at(op.result(o).index));
    return Status();
  }

  Status emitControl(const Op& op) {
    if (op.kind == OpKind::while_) return emitWhile(op);
    Elem selector = places_.elems.at(op.operand(0).index);
    for (Value v : op.results)
      if (!isElement(m_, v)) places_.buffers[v.index] = memoryFor(v);
    if (op.kind == OpKind::if_) return emitBranch(op, selector.re, 0);
    return emitCase(op, selector.re, 0);
  }

  // The memory a control op's result must be in, else new scratch memory.
  BufferId memoryFor(Value v) {
    if (auto at = own_.find(v.index); at != own_.end()) return at->second;
    const Shape& shape = m_.shape(v);
    return b_.addScratch(storedScalar(shape.dtype), shape.elements() * (isComplex(shape.dtype) ? 2 : 1));
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
      if (isElement(m_, v)) flatten(places_.elems.at(v.index), flat);
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
          return status.ok() ? places_.elems.at(cond.results[0].index).re
                             : b_.constant({Scalar::i1, 1}, 0);
        },
        [&](std::span<const V> now) {
          unflatten(now, body.args);
          if (status.ok()) status = emitUnits(op.regions[1]);
          if (!status.ok()) return Builder::Values(now);
          deliver(body);
          return elementsOf(body.results);
        });
    TERCEL_TRY(status);
    unflatten(last, op.results);
    return Status();
  }

  // The body's arrays into the memory they are carried in; those that come from another carried
  // array are set aside first.
  void deliver(const ir::Region& body) {
    std::vector<std::pair<BufferId, BufferId>> moves;
    std::vector<Shape> shapes;
    for (size_t i = 0; i < body.results.size(); ++i) {
      if (isElement(m_, body.results[i])) continue;
      BufferId from = places_.buffers.at(body.results[i].index);
      BufferId to = places_.buffers.at(body.args[i].index);
      if (from == to) continue;
      bool carried = false;
      for (Value arg : body.args)
        carried |= !isElement(m_, arg) && places_.buffers.at(arg.index) == from;
      const Shape& shape = m_.shape(body.results[i]);
      if (carried) {
        BufferId aside = memoryFor(body.results[i]);
        copy(from, aside, shape);
        from = aside;
      }
      moves.emplace_back(from, to);
      shapes.push_back(shape);
    }
    for (size_t i = 0; i < moves.size(); ++i) copy(moves[i].first, moves[i].second, shapes[i]);
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
    for (size_t i = 0; i < op.results.size(); ++i)
      if (!isElement(m_, op.result(i)))
        copy(places_.buffers.at(region.results[i].index), places_.buffers.at(op.result(i).index),
             m_.shape(op.result(i)));
    return elementsOf(region.results);
  }

  void copy(BufferId from, BufferId to, const Shape& shape) {
    if (from == to) return;
    IndexSpace space(b_);
    int64_t elements = shape.elements() * (isComplex(shape.dtype) ? 2 : 1);
    int lanes = low_.machine.vector_bytes /
                static_cast<int>(std::max<int64_t>(4, byteSize(storedScalar(shape.dtype))));
    int64_t whole = elements / lanes * lanes;
    b_.forLoop(b_.index(0), b_.index(whole), lanes,
               [&](V i) { b_.store(to, i, b_.load(from, i, lanes)); });
    for (int64_t i = whole; i < elements; ++i)
      b_.store(to, b_.index(0), b_.load(from, b_.index(0), 1, i), i);
  }

  Status emitUnits(ir::RegionId region) {
    const ir::Region& r = m_.region(region);
    for (const Unit& unit : *units_.at(region.index)) TERCEL_TRY(emitUnit(r, unit));
    return bindConstants(r);
  }

  // Results that no unit makes: constants.
  Status bindConstants(const ir::Region& r) {
    for (Value v : r.results) {
      if (places_.elems.contains(v.index) || places_.buffers.contains(v.index)) continue;
      const Op* op = m_.def(v);
      TERCEL_CHECK(op && op->kind == OpKind::constant_ && isElement(m_, v), "value %", v.index,
                   " of a region has no place");
      places_.elems[v.index] = elemConstant(b_, m_.shape(v).dtype, op->literal(), 0);
    }
    return Status();
  }

  Status emitUnit(const ir::Region& region, const Unit& unit) {
    if (!unit.is_cluster) {
      const Op& op = m_.op(unit.op);
      if (!op.regions.empty()) return emitControl(op);
      for (size_t i = 0; i < op.results.size(); ++i) alias(op.operand(i), op.result(i));
      return Status();
    }
    for (size_t o = 0; o < unit.cluster.outputs.size(); ++o) {
      Value v = unit.cluster.outputs[o];
      if (unit.cluster.nest == Nest::update) {
        placeUpdate(region, v);
      } else if (!isElement(m_, v)) {
        places_.buffers[v.index] = scratchFor(v);
      }
    }
    for (Value v : unit.cluster.inputs) bindIfConstant(v);
    InnerLowering inner(low_, unit.cluster, places_);
    return lowerNest(inner);
  }

  void bindIfConstant(Value v) {
    if (places_.elems.contains(v.index) || places_.buffers.contains(v.index)) return;
    const Op* op = m_.def(v);
    if (op && op->kind == OpKind::constant_ && isElement(m_, v))
      places_.elems[v.index] = elemConstant(b_, m_.shape(v).dtype, op->literal(), 0);
  }

  void alias(Value from, Value to) {
    bindIfConstant(from);
    if (isElement(m_, from))
      places_.elems[to.index] = places_.elems.at(from.index);
    else
      places_.buffers[to.index] = places_.buffers.at(from.index);
  }

  // In place where nobody else reads the operand and it belongs to this loop.
  void placeUpdate(const ir::Region& region, Value v) {
    Value before = m_.def(v)->operand(0);
    int uses = 0;
    for (ir::OpId o : region.ops)
      for (Value operand : m_.op(o).operands) uses += operand == before;
    bool ours = std::find(region.args.begin(), region.args.end(), before) != region.args.end();
    bool returned = std::find(region.results.begin(), region.results.end(), before) !=
                    region.results.end();
    if (uses == 1 && ours && !returned) {
      places_.buffers[v.index] = places_.buffers.at(before.index);
      return;
    }
    places_.buffers[v.index] = scratchFor(v);
    if (isElement(m_, before)) return;
    copy(places_.buffers.at(before.index), places_.buffers.at(v.index), m_.shape(v));
  }

  BufferId scratchFor(Value v) {
    const Shape& shape = m_.shape(v);
    return b_.addScratch(storedScalar(shape.dtype),
                         shape.elements() * (isComplex(shape.dtype) ? 2 : 1));
  }

  Lowering& low_;
  const ir::Module& m_;
  Builder& b_;
  Places places_;
  std::unordered_map<uint32_t, BufferId> own_;  // results of the outermost op
  std::unordered_map<uint32_t, const std::vector<Unit>*> units_;
};

}  // namespace

Status lowerRegion(Lowering& low) { return RegionNest(low).run(); }

}  // namespace tercel::kernel
