// Edits that keep the ops and make their arrays, constants and attributes simpler.
#include <algorithm>
#include <cstring>
#include <set>

#include "compiler/ir/infer.h"
#include "tools/edits.h"

namespace tercel::tools {
namespace {

using ir::AttrKey;
using ir::Ints;
using ir::Literal;
using ir::Module;
using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::RegionId;
using ir::Value;

std::set<int64_t, std::greater<>> sizesIn(const Module& m) {
  std::set<int64_t, std::greater<>> sizes;
  auto add = [&](Value v) {
    if (m.type(v).is_token) return;
    for (int64_t d : m.shape(v).dims)
      if (d > 1) sizes.insert(d);
  };
  for (Value v : m.region(m.main().body).args) add(v);
  for (OpId id : opsOfMain(m))
    for (Value v : m.op(id).results) add(v);
  return sizes;
}

// The corner of a literal that `shape`, nowhere larger, has room for.
Literal corner(const Literal& literal, const Shape& shape) {
  if (literal.isSplat()) return Literal::splat(shape, literal.bytes().data());
  const size_t size = byteSize(shape.dtype);
  std::vector<std::byte> bytes(static_cast<size_t>(shape.bytes()));
  for (int64_t i = 0; i < shape.elements(); ++i) {
    int64_t rest = i, from = 0, stride = 1;
    for (size_t d = shape.dims.size(); d-- > 0;) {
      from += rest % shape.dims[d] * stride;
      rest /= shape.dims[d];
      stride *= literal.shape().dims[d];
    }
    std::memcpy(bytes.data() + static_cast<size_t>(i) * size,
                literal.bytes().data() + static_cast<size_t>(from) * size, size);
  }
  return Literal(shape, std::move(bytes));
}

// Attributes that hold sizes of dimensions.
constexpr AttrKey kSizes[] = {AttrKey::limit_indices, AttrKey::slice_sizes, AttrKey::fft_length};

// Each size that is a multiple of `old` (`multiples`), or it alone, in all types and attributes.
Module resized(const Module& now, int64_t old, int64_t to, bool multiples) {
  auto size = [&](int64_t d) {
    if (d == old) return to;
    return multiples && d % old == 0 ? d / old * to : d;
  };
  Module m = now;
  for (uint32_t i = 0; i < m.valueCount(); ++i) {
    ir::Type type = m.type(Value{i});
    if (type.is_token) continue;
    for (int64_t& d : type.shape.dims) d = size(d);
    m.setType(Value{i}, type);
  }
  for (OpId id : opsOfMain(m)) {
    Op& op = m.op(id);
    if (op.kind == OpKind::constant_)
      op.set(AttrKey::value, corner(op.literal(), m.shape(op.result())));
    for (AttrKey key : kSizes) {
      if (!op.has(key)) continue;
      Ints list = op.ints(key);
      for (int64_t& n : list) n = size(n);
      op.set(key, std::move(list));
    }
  }
  return m;
}

// Result types again where they follow from what an edit has changed.
void inferAgain(Module& m) {
  for (OpId id : opsOfMain(m)) {
    const Op& op = m.op(id);
    std::vector<ir::Type> declared;
    for (Value v : op.results) declared.push_back(m.type(v));
    auto types = ir::inferTypes(m, op.kind, op.operands, op.attrs, op.regions, declared);
    if (!types.ok() || types->size() != declared.size()) continue;
    for (size_t i = 0; i < types->size(); ++i) m.setType(op.result(i), (*types)[i]);
  }
}

bool isNeutralOne(AttrKey key) {
  constexpr AttrKey kOnes[] = {AttrKey::strides,         AttrKey::window_strides,
                               AttrKey::base_dilations,  AttrKey::window_dilations,
                               AttrKey::lhs_dilation,    AttrKey::rhs_dilation,
                               AttrKey::window_dimensions};
  return std::ranges::find(kOnes, key) != std::end(kOnes);
}

bool isNeutralZero(AttrKey key) {
  constexpr AttrKey kZeros[] = {AttrKey::padding, AttrKey::edge_padding_low,
                                AttrKey::edge_padding_high, AttrKey::interior_padding,
                                AttrKey::start_indices, AttrKey::window_reversal};
  return std::ranges::find(kZeros, key) != std::end(kZeros);
}

void simplifyEntry(const Module& now, OpId id, AttrKey key, size_t entry, const Attempt& attempt) {
  const int64_t neutral = isNeutralOne(key) ? 1 : 0;
  Ints list = now.op(id).ints(key);
  if (list[entry] == neutral) return;
  list[entry] = neutral;
  Module edited = now;
  edited.op(id).set(key, std::move(list));
  inferAgain(edited);
  attempt(std::move(edited));
}

}  // namespace

void shrinkSizes(const Module& now, const Attempt& attempt) {
  for (const int64_t size : sizesIn(now)) {
    for (const int64_t to : {int64_t{1}, int64_t{2}, int64_t{3}, size / 2, size - 1}) {
      if (to < 1 || to >= size) continue;
      if (attempt(resized(now, size, to, true)) || attempt(resized(now, size, to, false))) break;
    }
  }
}

void simplifyConstants(const Module& now, const Attempt& attempt) {
  for (size_t i = 0; i < opsOfMain(now).size(); ++i) {
    const OpId id = opsOfMain(now)[i];
    if (now.op(id).kind != OpKind::constant_) continue;
    const Literal literal = now.op(id).literal();
    if (literal.shape().elements() == 0) continue;
    const Literal first = Literal::splat(literal.shape(), literal.bytes().data());
    for (const Literal& by : {Literal::splatOf(literal.shape(), 0),
                              Literal::splatOf(literal.shape(), 1), first}) {
      Module edited = now;
      edited.op(id).set(AttrKey::value, by);
      if (attempt(std::move(edited))) break;
    }
  }
}

void simplifyAttributes(const Module& now, const Attempt& attempt) {
  auto opAt = [&](size_t i) { return opsOfMain(now)[i]; };  // an edit may give it another id
  for (size_t i = 0; i < opsOfMain(now).size(); ++i)
    for (size_t a = 0; a < now.op(opAt(i)).attrs.size(); ++a) {
      const AttrKey key = now.op(opAt(i)).attrs[a].first;
      if (!isNeutralOne(key) && !isNeutralZero(key)) continue;
      for (size_t e = 0; i < opsOfMain(now).size() && e < now.op(opAt(i)).ints(key).size(); ++e)
        simplifyEntry(now, opAt(i), key, e, attempt);
      if (i >= opsOfMain(now).size()) return;
    }
}

}  // namespace tercel::tools
