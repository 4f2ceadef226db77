// einsum, unary_einsum and torch_index_select, which StableHLO keeps from older programs.
#include <algorithm>

#include "compiler/ir/builder.h"
#include "compiler/ir/region_builder.h"
#include "compiler/stablehlo/module_builder.h"
#include "compiler/stablehlo/wire_access.h"

namespace tercel::stablehlo {
namespace {

using ir::AttrKey;
using ir::Builder;
using ir::Ints;
using ir::OpKind;
using ir::Value;

// A letter a dimension; digits stand for the dimensions of "...", the last one being '0'.
struct Operand {
  Value value;
  std::string labels;
};

bool contains(std::string_view labels, char label) { return labels.find(label) != labels.npos; }

// "ab", "...ab" or "ab..." for `rank` dimensions; false where it does not fit.
bool spellOut(std::string_view text, int64_t rank, std::string& labels) {
  const size_t dots = text.find("...");
  const auto letters = static_cast<int64_t>(text.size()) - (dots == text.npos ? 0 : 3);
  const int64_t hidden = rank - letters;
  if (hidden < 0 || hidden > 10 || (dots == text.npos && hidden != 0)) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i == dots) {
      for (int64_t d = hidden; d-- > 0;) labels += static_cast<char>('0' + d);
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(text[i]))) {
      labels += text[i];
    } else {
      return false;
    }
  }
  return true;
}

class Einsum {
 public:
  explicit Einsum(Builder& b) : b_(b) {}

  // Of dimensions with one label the diagonal, and the sum of those whose labels nobody asks for.
  Operand simplified(Operand x, std::string_view wanted) {
    for (size_t i = 0; i < x.labels.size();) {
      const size_t next = x.labels.find(x.labels[i], i + 1);
      if (next == x.labels.npos) {
        ++i;
      } else {
        x.value = offDiagonalZero(x.value, i, next);
        x = summed(std::move(x), {static_cast<int64_t>(next)});
      }
    }
    Ints dropped;
    for (size_t i = 0; i < x.labels.size(); ++i)
      if (!contains(wanted, x.labels[i])) dropped.push_back(static_cast<int64_t>(i));
    return summed(std::move(x), dropped);
  }

  Operand product(const Operand& x, const Operand& y, std::string_view wanted) {
    Ints batch[2], contracted[2];
    std::string labels;
    for (const char label : x.labels) {
      if (!contains(y.labels, label)) continue;
      const bool stays = contains(wanted, label);
      (stays ? batch : contracted)[0].push_back(place(x.labels, label));
      (stays ? batch : contracted)[1].push_back(place(y.labels, label));
      if (stays) labels += label;
    }
    for (const Operand* side : {&x, &y})
      for (const char label : side->labels)
        if (!contains(side == &x ? y.labels : x.labels, label)) labels += label;
    Value dot = b_.build(OpKind::dot_general_, {x.value, y.value},
                         {{AttrKey::lhs_batching_dimensions, batch[0]},
                          {AttrKey::rhs_batching_dimensions, batch[1]},
                          {AttrKey::lhs_contracting_dimensions, contracted[0]},
                          {AttrKey::rhs_contracting_dimensions, contracted[1]}});
    return {dot, labels};
  }

  // In the order of `wanted`, which has the same labels.
  Value ordered(const Operand& x, std::string_view wanted) {
    Ints permutation;
    for (const char label : wanted) permutation.push_back(place(x.labels, label));
    return std::ranges::is_sorted(permutation) ? x.value : b_.transpose(x.value, permutation);
  }

 private:
  static int64_t place(std::string_view labels, char label) {
    return static_cast<int64_t>(labels.find(label));
  }
  Operand summed(Operand x, const Ints& dimensions) {
    if (dimensions.empty()) return x;
    x.value = ir::sumOver(b_, x.value, dimensions);
    for (size_t i = dimensions.size(); i-- > 0;)
      x.labels.erase(static_cast<size_t>(dimensions[i]), 1);
    return x;
  }
  Value offDiagonalZero(Value v, size_t i, size_t k) {
    const Shape index{DType::s32, b_.shape(v).dims};
    Value same = b_.compare(b_.iota(index, static_cast<int64_t>(i)),
                            b_.iota(index, static_cast<int64_t>(k)), "EQ");
    return b_.select(same, v, b_.splat(b_.shape(v), 0));
  }

  Builder& b_;
};

// Labels that name dimensions of one size each.
bool agree(const ir::Module& m, std::span<const Operand> operands) {
  std::vector<std::pair<char, int64_t>> sizes;
  for (const Operand& x : operands)
    for (size_t i = 0; i < x.labels.size(); ++i) {
      const int64_t size = m.shape(x.value).dims[i];
      for (const auto& [label, known] : sizes)
        if (label == x.labels[i] && known != size) return false;
      sizes.emplace_back(x.labels[i], size);
    }
  return true;
}

}  // namespace

Status ModuleBuilder::buildEinsum(const WireOp& op, const OpRow& row, const OpAttrs& attrs,
                                  Block& block) {
  const ir::Values values = operandsOf(op);
  TERCEL_TRY(takeResults(op));
  std::string config;
  TERCEL_TRY(readText(attrNamed(row, attrs, "einsum_config"), config));
  std::erase(config, ' ');
  const Status wrong = invalidArgument("einsum_config \"", config, "\" of these operands");
  const size_t arrow = config.find("->");
  if (arrow == config.npos || values.empty() || values.size() > 2 || result_types_.size() != 1)
    return wrong;
  std::vector<Operand> operands;
  std::string_view rest = std::string_view(config).substr(0, arrow);
  for (Value v : values) {
    const size_t end = std::min(rest.find(','), rest.size());
    operands.push_back({v, {}});
    if (module_.type(v).is_token ||
        !spellOut(rest.substr(0, end), module_.shape(v).rank(), operands.back().labels))
      return wrong;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  std::string wanted;
  const bool fits = spellOut(std::string_view(config).substr(arrow + 2),
                             result_types_[0].shape.rank(), wanted);
  if (!fits || !rest.empty() || !agree(module_, operands)) return wrong;
  std::string all = operands[0].labels + (operands.size() > 1 ? operands[1].labels : "");
  for (const char label : wanted)
    if (!contains(all, label) || std::ranges::count(wanted, label) != 1) return wrong;
  Builder b(module_, block.region);
  Einsum einsum(b);
  const std::string other = operands.size() > 1 ? operands[1].labels : "";
  Operand sum = einsum.simplified(operands[0], wanted + other);
  if (operands.size() > 1)
    sum = einsum.product(sum, einsum.simplified(operands[1], wanted + sum.labels), wanted);
  return bind(op.results, {einsum.ordered(sum, wanted)});
}

// Slices of `operand`, whole but for one dimension, at the places that `index` gives.
Status ModuleBuilder::buildIndexSelect(const WireOp& op, const OpRow& row, const OpAttrs& attrs,
                                       Block& block) {
  const ir::Values operands = operandsOf(op);
  const std::optional<int64_t> dim = integerOf(wire_, attrNamed(row, attrs, "dim"));
  const std::optional<int64_t> batches = integerOf(wire_, attrNamed(row, attrs, "batch_dims"));
  if (operands.size() != 2 || !dim || !batches) return invalidArgument("a wrong torch_index_select");
  const Shape from = module_.shape(operands[0]), index = module_.shape(operands[1]);
  const int64_t rank = from.rank(), fresh = index.rank() - *batches;
  if (*batches < 0 || fresh < 0 || *dim < *batches || *dim >= rank)
    return invalidArgument("a torch_index_select of dimensions that are not there");
  ir::OpId id;
  TERCEL_TRY(append(op, OpKind::gather_, operands, block, &id));
  Ints batch, offset, sizes(from.dims.begin(), from.dims.end());
  for (int64_t d = 0; d < *batches; ++d) batch.push_back(d), sizes[static_cast<size_t>(d)] = 1;
  for (int64_t d = *batches; d < rank; ++d)
    if (d != *dim) offset.push_back(d < *dim ? d : d - 1 + fresh);
  sizes[static_cast<size_t>(*dim)] = 1;
  ir::Op& gather = module_.op(id);
  gather.set(AttrKey::offset_dims, std::move(offset));
  gather.set(AttrKey::collapsed_slice_dims, Ints{*dim});
  gather.set(AttrKey::operand_batching_dims, batch);
  gather.set(AttrKey::start_indices_batching_dims, batch);
  gather.set(AttrKey::start_index_map, Ints{*dim});
  gather.set(AttrKey::index_vector_dim, index.rank());
  gather.set(AttrKey::slice_sizes, std::move(sizes));
  return {};
}

}  // namespace tercel::stablehlo
