#include "compiler/ir/layout_modes.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "core/layout.h"

namespace tercel::ir {
namespace {

constexpr std::string_view kAuto = "auto";

// "0,1" up to what may end it; false where a number is missing.
bool readDims(std::string_view& rest, Ints& layout) {
  while (!rest.empty() && rest.front() != '}' && rest.front() != ':') {
    if (!layout.empty()) {
      if (rest.front() != ',') return false;
      rest.remove_prefix(1);
    }
    int64_t dim = 0;
    auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), dim);
    if (error != std::errc()) return false;
    layout.push_back(dim);
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
  }
  return true;
}

Result<Ints> readLayout(std::string_view mode, const Type& type) {
  const size_t rank = type.is_token ? 0 : type.shape.dims.size();
  if (mode == "default" || mode == kAuto) return Ints();
  std::string_view rest = mode;
  Ints layout;
  bool good = rest.starts_with('{');
  rest.remove_prefix(good);
  good = good && readDims(rest, layout);
  // How many bits an element of less than a byte has.
  if (const std::string size = cat(":E(", bitWidth(type.shape.dtype), ")}"); rest == size)
    rest = "}";
  if (good && rest.starts_with(':'))
    return unimplemented("the layout ", mode, ": Tercel's have an order of the dimensions only, ",
                         "neither tiles nor a memory space");
  if (!good || rest != "}" || !isLayout(layout, rank))
    return invalidArgument("mhlo.layout_mode is ", mode, " for ", rank, " dimensions");
  return isRowMajor(layout) ? Ints() : layout;
}

class Boundary {
 public:
  Boundary(Module& module, Function& main)
      : module_(module), main_(main), body_(module.region(main.body)) {}

  Status apply() {
    TERCEL_TRY(turnArguments());
    for (size_t i = 0; i < main_.results.size(); ++i) {
      const bool is_free = main_.results[i].layout_mode == kAuto;
      TERCEL_ASSIGN(const bool is_other, resolve(main_.results[i], body_.results[i], "result", i));
      if (is_free) chooseLayout(i);
      if (is_other) turnResult(i);
    }
    parkAliases();
    return {};
  }

 private:
  // Whether it asks for a layout that is not row-major.
  template <class Info>
  Result<bool> resolve(Info& info, Value v, std::string_view what, size_t i) {
    if (info.layout_mode.empty()) return false;
    Result<Ints> layout = readLayout(info.layout_mode, module_.type(v));
    if (!layout.ok()) return layout.status().within(cat(what, ' ', i));
    info.layout_mode.clear();
    info.layout = std::move(*layout);
    return !info.layout.empty();
  }

  // An argument keeps its value, which gets the type of the memory; all that used it takes the
  // transposed one.
  Status turnArguments() {
    const size_t op_count = module_.opCount();
    std::vector<OpId> transposes;
    std::map<Value, Value> turned;
    for (size_t i = 0; i < main_.args.size(); ++i) {
      const Value argument = body_.args[i];
      TERCEL_ASSIGN(const bool is_other, resolve(main_.args[i], argument, "argument", i));
      if (!is_other) continue;
      const Ints& layout = main_.args[i].layout;
      const Shape shown = module_.shape(argument);
      transposes.push_back(addTranspose(argument, shown.dims, fromMemory(layout)));
      turned[argument] = module_.op(transposes.back()).result();
      module_.setType(argument, Type{Shape{shown.dtype, memoryOrder(shown.dims, layout)}});
    }
    if (turned.empty()) return {};
    auto replaceIn = [&](Values& values) {
      for (Value& v : values)
        if (auto at = turned.find(v); at != turned.end()) v = at->second;
    };
    for (uint32_t i = 0; i < op_count; ++i) replaceIn(module_.op(OpId{i}).operands);
    for (uint32_t i = 0; i < module_.regionCount(); ++i)
      replaceIn(module_.region(RegionId{i}).results);
    body_.ops.insert(body_.ops.begin(), transposes.begin(), transposes.end());
    return {};
  }

  void turnResult(size_t i) {
    const Ints& layout = main_.results[i].layout;
    const Value result = body_.results[i];
    Dims dims = memoryOrder(module_.shape(result).dims, layout);
    OpId id = addTranspose(result, std::move(dims), toMemory(layout));
    body_.ops.push_back(id);
    body_.results[i] = module_.op(id).result();
  }

  // What a transpose makes is given out as it lay before.
  void chooseLayout(size_t i) {
    const Op* transpose = module_.def(body_.results[i]);
    if (!transpose || transpose->kind != OpKind::transpose_) return;
    const Ints& permutation = transpose->ints(AttrKey::permutation);
    // Nothing has been verified yet.
    if (transpose->operands.size() != 1 || !isLayout(permutation, rankOf(body_.results[i])) ||
        permutation.size() != rankOf(transpose->operand(0)))
      return;
    Ints& layout = main_.results[i].layout;
    layout.resize(permutation.size());
    for (size_t dim = 0; dim < permutation.size(); ++dim)
      layout[permutation.size() - 1 - static_cast<size_t>(permutation[dim])] =
          static_cast<int64_t>(dim);
    if (isRowMajor(layout)) return layout.clear();
    body_.results[i] = transpose->operand(0);
  }

  size_t rankOf(Value v) const { return module_.shape(v).dims.size(); }

  OpId addTranspose(Value v, Dims dims, Ints permutation) {
    const Type type{Shape{module_.shape(v).dtype, std::move(dims)}};
    OpId id = module_.addOp(OpKind::transpose_, {v}, {&type, 1});
    module_.op(id).set(AttrKey::permutation, std::move(permutation));
    return id;
  }

  // An argument is donated all the same where its result's memory has another shape by now.
  void parkAliases() {
    for (size_t i = 0; i < main_.args.size(); ++i) {
      ArgInfo& info = main_.args[i];
      if (info.aliasing_output < 0) continue;
      const auto result = static_cast<size_t>(info.aliasing_output);
      if (result >= body_.results.size()) continue;  // for the verifier to say
      if (info.layout.empty() && main_.results[result].layout.empty()) continue;
      if (module_.type(body_.args[i]) == module_.type(body_.results[result])) continue;
      info.aliasing_output = -1;
      info.buffer_donor = true;
    }
  }

  Module& module_;
  Function& main_;
  Region& body_;
};

}  // namespace

Status applyLayoutModes(Module& module) {
  auto main = std::ranges::find(module.functions, "main", &Function::name);
  return main == module.functions.end() ? Status() : Boundary(module, *main).apply();
}

}  // namespace tercel::ir
