#include <algorithm>
#include <unordered_map>

#include "compiler/kernel/cluster.h"
#include "compiler/kernel/contraction.h"

namespace tercel::kernel {
namespace {

class KeyWriter {
 public:
  KeyWriter(const ir::Module& m, const Cluster& cluster) : m_(m), cluster_(cluster) {}

  void number(int64_t n) { key.append(reinterpret_cast<const char*>(&n), sizeof n); }
  void text(std::string_view s) {
    number(static_cast<int64_t>(s.size()));
    key += s;
  }
  void define(ir::Value v) { ids_.emplace(v.index, static_cast<int64_t>(ids_.size())); }
  void value(ir::Value v) {
    auto at = ids_.find(v.index);
    number(at == ids_.end() ? -1 : at->second);
  }
  void shape(ir::Value v) {
    const Shape& s = m_.shape(v);
    number(static_cast<int64_t>(s.dtype) | s.rank() << 8);
    for (int64_t d : s.dims) number(d);
  }

  void op(const ir::Op& o) {
    number(static_cast<int64_t>(o.kind));
    number(static_cast<int64_t>(o.operands.size()));
    for (ir::Value v : o.operands) value(v);
    bool is_param = isParam(o);
    number(is_param);
    for (const auto& [attr_key, attr] : o.attrs) {
      if (is_param && attr_key != ir::AttrKey::strides) continue;
      number(static_cast<int64_t>(attr_key) << 8 | static_cast<int64_t>(attr.index()));
      attribute(attr);
    }
    if (o.kind == ir::OpKind::gather_ && isKnownStart(m_, o.operand(1)))
      attribute(m_.def(o.operand(1))->literal());
    for (const ZeroEdge& edge : zeroEdges(m_, o)) {
      number(static_cast<int64_t>(edge.sum));
      number(edge.low);
      number(edge.high);
    }
    for (ir::RegionId r : o.regions) region(r);
    for (ir::Value v : o.results) {
      define(v);
      shape(v);
    }
  }

  std::string key;

 private:
  // What is left of such an op in the code: of a slice the strides, of a constant nothing.
  bool isParam(const ir::Op& o) const {
    auto has = [&](const std::vector<ir::Value>& list) {
      return std::find(list.begin(), list.end(), o.result()) != list.end();
    };
    return (o.kind == ir::OpKind::constant_ && has(cluster_.numbers)) ||
           (o.kind == ir::OpKind::slice_ && has(cluster_.slices));
  }

  void region(ir::RegionId id) {
    const ir::Region& r = m_.region(id);
    number(static_cast<int64_t>(r.args.size()));
    for (ir::Value v : r.args) {
      define(v);
      shape(v);
    }
    for (ir::OpId o : r.ops) op(m_.op(o));
    number(-2);
    for (ir::Value v : r.results) value(v);
  }

  void attribute(const ir::Attr& attr) {
    if (auto* b = std::get_if<bool>(&attr)) number(*b);
    if (auto* i = std::get_if<int64_t>(&attr)) number(*i);
    if (auto* d = std::get_if<double>(&attr)) number(std::bit_cast<int64_t>(*d));
    if (auto* s = std::get_if<std::string>(&attr)) text(*s);
    if (auto* list = std::get_if<ir::Ints>(&attr)) {
      number(static_cast<int64_t>(list->size()));
      for (int64_t i : *list) number(i);
    }
    if (auto* literal = std::get_if<ir::Literal>(&attr)) {
      auto bytes = literal->bytes();
      text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
    if (auto* strings = std::get_if<std::vector<std::string>>(&attr))
      for (const auto& s : *strings) text(s);
  }

  const ir::Module& m_;
  const Cluster& cluster_;
  std::unordered_map<uint32_t, int64_t> ids_;
};

}  // namespace

bool isKnownStart(const ir::Module& module, ir::Value start) {
  constexpr int64_t kMostKnown = 64;
  const ir::Op* op = module.def(start);
  return op && op->kind == ir::OpKind::constant_ && !op->literal().isSplat() &&
         op->literal().shape().elements() <= kMostKnown;
}

std::string structureKey(const ir::Module& module, const Cluster& cluster) {
  KeyWriter w(module, cluster);
  w.number(static_cast<int64_t>(cluster.nest) * 4 + 2 * cluster.is_alone + cluster.is_parallel);
  for (ir::Value v : cluster.inputs) {
    w.define(v);
    w.shape(v);
  }
  w.number(-3);
  for (ir::OpId id : cluster.ops) w.op(module.op(id));
  w.number(-4);
  for (size_t i = 0; i < cluster.outputs.size(); ++i) {
    w.value(cluster.outputs[i]);
    w.number(i < cluster.alias.size() ? cluster.alias[i] : -1);
    w.number(i < cluster.may_alias.size() ? cluster.may_alias[i] : -1);
  }
  for (size_t d = 0; d < cluster.domain.size(); ++d)
    w.number(cluster.domain[d] * 2 + (d < cluster.reduced.size() && cluster.reduced[d]));
  return std::move(w.key);
}

}  // namespace tercel::kernel
