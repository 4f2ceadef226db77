// The ops of a random module that have many attributes: windows, gathers, scatters, convolutions in
// two dimensions, types of few bits. Sums here may be grouped in any way.
#include <algorithm>
#include <numeric>

#include "compiler/ir/infer.h"
#include "random_module.h"

namespace tercel::passes {
using namespace ir;

// Adds the op where its types can be inferred: attributes are drawn without regard to that.
void RandomModule::addInferred(B& b, OpKind kind, Values operands, Attrs attrs,
                               std::vector<RegionId> regions) {
  auto types = inferTypes(b.module(), kind, operands, attrs, regions, {});
  if (!types.ok()) return;
  for (const Type& type : *types)
    if (type.shape.elements() > 4000) return;
  const OpId id = b.append(kind, std::move(operands), *types, std::move(attrs));
  for (RegionId region : regions) b.module().op(id).regions.push_back(region);
  for (Value v : Values(b.module().op(id).results)) add(v);
}

DType RandomModule::number() {
  constexpr DType kTypes[] = {DType::f32, DType::f32, DType::s32, DType::u8, DType::bf16,
                              DType::f64, DType::s64, DType::c64, DType::f16};
  return kTypes[pick(std::size(kTypes))];
}

Ints RandomModule::between(size_t count, int64_t low, int64_t high) {
  Ints list;
  for (size_t i = 0; i < count; ++i) list.push_back(low + pick(high - low + 1));
  return list;
}

Value RandomModule::numbers(DType dtype, size_t rank, int64_t largest, B& b) {
  const Ints sizes = between(rank, 1, largest);
  return anyOf({dtype, Dims(std::span<const int64_t>(sizes))}, b);
}

RegionId RandomModule::combiner(B& b, DType dtype, std::span<const OpKind> kinds) {
  Module& m = b.module();
  const RegionId id = m.addRegion();
  const Value x = m.addArg(id, Type{Shape{dtype, {}}}), y = m.addArg(id, Type{Shape{dtype, {}}});
  const auto choice = static_cast<size_t>(pick(static_cast<int64_t>(kinds.size())));
  m.region(id).results = {B(m, id).binary(kinds[choice], x, y)};
  return id;
}

void RandomModule::window(B& b) {
  const DType dtype = number();
  const size_t rank = static_cast<size_t>(1 + pick(3));
  const Value x = numbers(dtype, rank, 9, b);
  constexpr OpKind kKinds[] = {OpKind::add_, OpKind::maximum_, OpKind::minimum_};
  const RegionId body = combiner(b, dtype, std::span(kKinds).first(isComplex(dtype) ? 1 : 3));
  addInferred(b, OpKind::reduce_window_, {x, b.splat({dtype, {}}, static_cast<double>(pick(3)))},
              {{AttrKey::window_dimensions, between(rank, 1, 4)},
               {AttrKey::window_strides, between(rank, 1, 3)},
               {AttrKey::base_dilations, between(rank, 1, chance(70) ? 1 : 2)},
               {AttrKey::window_dilations, between(rank, 1, chance(70) ? 1 : 2)},
               {AttrKey::padding, between(2 * rank, 0, 3)}},
              {body});
}

void RandomModule::pooledGradient(B& b) {
  const DType dtype = chance(50) ? DType::f32 : DType::s32;
  const size_t rank = static_cast<size_t>(1 + pick(3));
  const Value x = numbers(dtype, rank, 8, b);
  const Ints sizes = between(rank, 1, 3), strides = between(rank, 1, 3);
  const Ints padding = between(2 * rank, 0, 1);
  Dims pooled = b.shape(x).dims;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t whole = pooled[d] + padding[2 * d] + padding[2 * d + 1];
    if (whole < sizes[d]) return;
    pooled[d] = (whole - sizes[d]) / strides[d] + 1;
  }
  Module& m = b.module();
  const RegionId choose = m.addRegion();
  const Type scalar{Shape{dtype, {}}};
  const Value p = m.addArg(choose, scalar), q = m.addArg(choose, scalar);
  m.region(choose).results = {B(m, choose).compare(p, q, chance(50) ? "GE" : "LT")};
  constexpr OpKind kAdd[] = {OpKind::add_};
  const Value source = anyOf({dtype, pooled}, b);
  addInferred(b, OpKind::select_and_scatter_, {x, source, b.splat({dtype, {}}, 0)},
              {{AttrKey::window_dimensions, sizes},
               {AttrKey::window_strides, strides},
               {AttrKey::padding, padding}},
              {choose, combiner(b, dtype, kAdd)});
}

// Which dimensions of an array of `rank` the indices name, in which order.
Ints RandomModule::someDimensions(size_t rank) {
  Ints all(rank);
  std::iota(all.begin(), all.end(), 0);
  std::shuffle(all.begin(), all.end(), random_);
  all.resize(static_cast<size_t>(1 + pick(static_cast<int64_t>(rank))));
  return all;
}

void RandomModule::gather(B& b) {
  const size_t rank = static_cast<size_t>(1 + pick(3));
  const Value x = numbers(number(), rank, 5, b);
  const Dims dims = b.shape(x).dims;
  const Ints named = someDimensions(rank);
  Dims places = numbersOf(1 + pick(2), 4);
  places.push_back(static_cast<int64_t>(named.size()));
  Ints sizes, collapsed, offset;
  for (size_t d = 0; d < rank; ++d) {
    sizes.push_back(1 + pick(dims[d]));
    if (chance(50)) sizes[d] = 1, collapsed.push_back(static_cast<int64_t>(d));
  }
  const int64_t batch = static_cast<int64_t>(places.size()) - 1;
  const bool first = chance(50);
  for (size_t k = 0; k + collapsed.size() < rank; ++k)
    offset.push_back(static_cast<int64_t>(k) + (first ? 0 : batch));
  addInferred(b, OpKind::gather_, {x, anyOf({DType::s32, places}, b)},
              {{AttrKey::offset_dims, offset},
               {AttrKey::collapsed_slice_dims, collapsed},
               {AttrKey::operand_batching_dims, Ints{}},
               {AttrKey::start_indices_batching_dims, Ints{}},
               {AttrKey::start_index_map, named},
               {AttrKey::index_vector_dim, batch},
               {AttrKey::slice_sizes, sizes}},
              {});
}

Dims RandomModule::numbersOf(int64_t count, int64_t largest) {
  const Ints list = between(static_cast<size_t>(count), 1, largest);
  return Dims(std::span<const int64_t>(list));
}

void RandomModule::scatter(B& b) {
  const DType dtype = number();
  const size_t rank = static_cast<size_t>(1 + pick(3));
  const Value x = numbers(dtype, rank, 5, b);
  const Ints named = someDimensions(rank);
  const Dims batch = numbersOf(1, 5);
  Ints windows, inserted;
  Dims update = batch;
  for (size_t d = 0; d < rank; ++d) {
    if (chance(50)) {
      inserted.push_back(static_cast<int64_t>(d));
    } else {
      windows.push_back(static_cast<int64_t>(update.size()));
      update.push_back(1 + pick(b.shape(x).dims[d]));
    }
  }
  Dims places = batch;
  places.push_back(static_cast<int64_t>(named.size()));
  constexpr OpKind kKinds[] = {OpKind::add_, OpKind::maximum_, OpKind::minimum_, OpKind::multiply_};
  const RegionId body = combiner(b, dtype, std::span(kKinds).first(isComplex(dtype) ? 1 : 4));
  addInferred(b, OpKind::scatter_, {x, anyOf({DType::s32, places}, b), anyOf({dtype, update}, b)},
              {{AttrKey::update_window_dims, windows},
               {AttrKey::inserted_window_dims, inserted},
               {AttrKey::input_batching_dims, Ints{}},
               {AttrKey::scatter_indices_batching_dims, Ints{}},
               {AttrKey::scatter_dims_to_operand_dims, named},
               {AttrKey::index_vector_dim, int64_t{1}}},
              {body});
}

// Of images, with groups of features or of images.
void RandomModule::imageConvolution(B& b) {
  const int64_t groups = chance(70) ? 1 : 2 + pick(2), per_group = 1 + pick(3);
  const bool batch_groups = groups > 1 && chance(40);
  const int64_t images = (batch_groups ? groups : 1) * (1 + pick(2));
  const int64_t features = (batch_groups ? 1 : groups) * per_group;
  const DType dtype = number();
  const Dims in{images, 2 + pick(6), 2 + pick(6), features};
  const Dims kernel{1 + pick(3), 1 + pick(3), per_group, groups * (1 + pick(3))};
  addInferred(b, OpKind::convolution_, {anyOf({dtype, in}, b), anyOf({dtype, kernel}, b)},
              {{AttrKey::window_strides, between(2, 1, 2)},
               {AttrKey::padding, between(4, chance(80) ? 0 : -1, 2)},
               {AttrKey::lhs_dilation, between(2, 1, chance(70) ? 1 : 2)},
               {AttrKey::rhs_dilation, between(2, 1, chance(70) ? 1 : 2)},
               {AttrKey::window_reversal, between(2, 0, 1)},
               {AttrKey::input_batch_dimension, int64_t{0}},
               {AttrKey::input_feature_dimension, int64_t{3}},
               {AttrKey::input_spatial_dimensions, Ints{1, 2}},
               {AttrKey::kernel_input_feature_dimension, int64_t{2}},
               {AttrKey::kernel_output_feature_dimension, int64_t{3}},
               {AttrKey::kernel_spatial_dimensions, Ints{0, 1}},
               {AttrKey::output_batch_dimension, int64_t{0}},
               {AttrKey::output_feature_dimension, int64_t{3}},
               {AttrKey::output_spatial_dimensions, Ints{1, 2}},
               {AttrKey::feature_group_count, batch_groups ? int64_t{1} : groups},
               {AttrKey::batch_group_count, batch_groups ? groups : int64_t{1}}},
              {});
}

// There and back, with arithmetic on the way.
void RandomModule::fewBits(B& b) {
  constexpr DType kTypes[] = {DType::s4, DType::u4, DType::s2, DType::u2, DType::f8e4m3fn,
                              DType::f8e5m2, DType::f8e4m3b11fnuz, DType::f4e2m1fn};
  const DType few = kTypes[pick(std::size(kTypes))];
  const DType wide = isFloat(few) ? DType::f32 : DType::s32;
  const Value x = numbers(wide, static_cast<size_t>(pick(3)), 40, b);
  Value v = b.convert(x, few), w = b.convert(anyOf(b.shape(x), b), few);
  constexpr OpKind kKinds[] = {OpKind::add_, OpKind::subtract_, OpKind::multiply_,
                               OpKind::maximum_, OpKind::minimum_};
  v = b.binary(kKinds[pick(std::size(kKinds))], v, w);
  add(chance(50) ? b.convert(v, wide) : b.select(b.compare(v, w, "LT"), x, b.convert(w, wide)));
}

void RandomModule::attributed(B& b) {
  switch (pick(6)) {
    case 0: return window(b);
    case 1: return pooledGradient(b);
    case 2: return gather(b);
    case 3: return scatter(b);
    case 4: return imageConvolution(b);
    default: return fewBits(b);
  }
}

}  // namespace tercel::passes
