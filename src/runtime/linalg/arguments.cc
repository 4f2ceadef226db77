#include "runtime/linalg/arguments.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>
#include <exception>
#include <new>
#include <optional>

#include "runtime/linalg/team.h"

namespace tercel::linalg {
namespace {

constexpr double kTaskOperations = 1e5;  // that make a task worth its start

// The text of an attribute, without its type. All attributes are numbers or truth values.
std::optional<std::string_view> textOf(std::string_view attributes, std::string_view name) {
  if (!attributes.starts_with('{') || !attributes.ends_with('}')) return std::nullopt;
  attributes = attributes.substr(1, attributes.size() - 2);
  while (!attributes.empty()) {
    const std::string_view entry = attributes.substr(0, attributes.find(", "));
    attributes.remove_prefix(std::min(attributes.size(), entry.size() + 2));
    const size_t equals = entry.find(" = ");
    if (equals == entry.npos || entry.substr(0, equals) != name) continue;
    const std::string_view value = entry.substr(equals + 3);
    return value.substr(0, value.find(" : "));
  }
  return std::nullopt;
}

}  // namespace

Arguments::Arguments(const Call& call, size_t operands, size_t results, size_t main) : call_(call) {
  const program::CallSignature& signature = *call.signature;
  require(signature.operands.size() == operands && signature.results.size() == results,
          "another number of operands or results");
  if (!status_.ok()) return;
  const Dims& dims = signature.operands[main].shape.dims;
  require(!signature.operands[main].is_token && dims.size() >= 2, "no matrices");
  if (!status_.ok()) return;
  batch_dims_ = std::span<const int64_t>(dims).first(dims.size() - 2);
  batch_ = elementCount(batch_dims_);
  rows_ = dims[dims.size() - 2];
  cols_ = dims[dims.size() - 1];
}

void Arguments::refuse(std::string_view what) {
  status_ = invalidArgument("a program calls it with ", what, ": ", toString(*call_.signature), ' ',
                            call_.attributes);
}

void Arguments::check(bool is_operand, size_t i, DType dtype, Sizes sizes) {
  if (!status_.ok()) return;
  const program::CallSignature& signature = *call_.signature;
  const auto& value = (is_operand ? signature.operands : signature.results)[i];
  const std::span<const int64_t> dims = value.shape.dims;
  const bool same = !value.is_token && value.shape.dtype == dtype &&
                    dims.size() == batch_dims_.size() + sizes.size() &&
                    std::ranges::equal(dims.first(batch_dims_.size()), batch_dims_) &&
                    std::ranges::equal(dims.subspan(batch_dims_.size()), sizes);
  require(same, is_operand ? "operand " : "result ", i, " of another type");
}

Index Arguments::operandSize(size_t i, size_t dim) const {
  if (!status_.ok()) return 0;
  const Dims& dims = call_.signature->operands[i].shape.dims;
  const size_t at = batch_dims_.size() + dim;
  return at < dims.size() ? dims[at] : 0;
}

Index Arguments::resultSize(size_t i, size_t dim) const {
  if (!status_.ok()) return 0;
  const Dims& dims = call_.signature->results[i].shape.dims;
  const size_t at = batch_dims_.size() + dim;
  return at < dims.size() ? dims[at] : 0;
}

int64_t Arguments::number(std::string_view name) {
  const std::optional<std::string_view> text = textOf(call_.attributes, name);
  if (text == "true") return 1;
  if (text == "false") return 0;
  int64_t number = 0;
  const bool is_number =
      text && !text->empty() &&
      std::from_chars(text->data(), text->data() + text->size(), number).ptr ==
          text->data() + text->size();
  require(is_number, "no number for ", name);
  return number;
}

char Arguments::letter(std::string_view name, std::string_view allowed) {
  const int64_t code = number(name);
  const char letter = static_cast<char>(code);
  require(code == letter && allowed.find(letter) != allowed.npos, "another ", name);
  return letter;
}

void Arguments::copy(size_t operand, size_t result) const {
  const void* from = call_.operands[operand];
  void* to = call_.results[result];
  const int64_t bytes = call_.signature->operands[operand].bytes();
  if (from != to && bytes > 0) std::memcpy(to, from, static_cast<size_t>(bytes));
}

Status forEachIn(const Call& call, Index batch, double cost, kernels::TaskFn run, void* context) {
  const double grain = std::min(kTaskOperations / std::max(cost, 1.0) + 1, double(batch) + 1);
  std::atomic<bool> no_memory{false}, failed{false};
  call.parallel.forEach(batch, static_cast<int64_t>(grain), [&](int64_t begin, int64_t end) {
    const Team team(batch == 1 ? &call.parallel : nullptr);
    try {
      run(context, begin, end);
    } catch (const std::bad_alloc&) {
      no_memory = true;
    } catch (const std::exception&) {
      failed = true;
    }
  });
  if (no_memory) return resourceExhausted("no memory for linear algebra");
  return failed ? internalError("linear algebra failed") : Status();
}

}  // namespace tercel::linalg
