#include "program/call_signature.h"

namespace tercel::program {
namespace {

constexpr int64_t kToken = -1;

void append(std::vector<int64_t>& numbers, const CallValue& value) {
  numbers.push_back(value.is_token ? kToken : static_cast<int64_t>(value.shape.dtype));
  numbers.push_back(value.is_token ? 0 : value.shape.rank());
  if (!value.is_token) {
    numbers.insert(numbers.end(), value.shape.dims.begin(), value.shape.dims.end());
  }
}

// Takes one value off the front of `numbers`; false where there is none.
bool take(std::span<const int64_t>& numbers, CallValue& value) {
  if (numbers.size() < 2) return false;
  int64_t dtype = numbers[0], rank = numbers[1];
  numbers = numbers.subspan(2);
  if (rank < 0 || static_cast<uint64_t>(rank) > numbers.size()) return false;
  value.is_token = dtype == kToken;
  if (value.is_token) return rank == 0;
  if (dtype < 0 || dtype >= static_cast<int64_t>(kDTypeCount)) return false;
  auto dims = numbers.first(static_cast<size_t>(rank));
  value.shape = {static_cast<DType>(dtype), Dims(dims.begin(), dims.end())};
  numbers = numbers.subspan(static_cast<size_t>(rank));
  return sizeIsRepresentable(value.shape.dims, byteSize(value.shape.dtype));
}

std::string listText(std::span<const CallValue> values) {
  std::string text;
  for (const CallValue& value : values) {
    text += text.empty() ? "" : ", ";
    text += toString(value);
  }
  return text;
}

}  // namespace

std::vector<int64_t> encode(const CallSignature& signature) {
  std::vector<int64_t> numbers = {static_cast<int64_t>(signature.operands.size()),
                                  static_cast<int64_t>(signature.results.size()),
                                  signature.api_version, signature.has_side_effect};
  for (const CallValue& value : signature.operands) append(numbers, value);
  for (const CallValue& value : signature.results) append(numbers, value);
  return numbers;
}

Result<CallSignature> decodeCallSignature(std::span<const int64_t> values) {
  const Status bad = invalidArgument("custom_call with an impossible signature");
  if (values.size() < 4 || (values[3] != 0 && values[3] != 1)) return bad;
  std::span<const int64_t> rest = values.subspan(4);
  // Every value takes two numbers or more, so that a damaged count cannot ask for much memory.
  for (int64_t count : values.first(2)) {
    if (count < 0 || static_cast<uint64_t>(count) > rest.size() / 2) return bad;
  }
  CallSignature signature;
  signature.operands.resize(static_cast<size_t>(values[0]));
  signature.results.resize(static_cast<size_t>(values[1]));
  signature.api_version = values[2];
  signature.has_side_effect = values[3] == 1;
  for (auto* list : {&signature.operands, &signature.results}) {
    for (CallValue& value : *list) {
      if (!take(rest, value)) return bad;
    }
  }
  if (!rest.empty()) return bad;
  return signature;
}

std::string toString(const CallValue& value) {
  return value.is_token ? "token" : tercel::toString(value.shape);
}

std::string toString(const CallSignature& signature) {
  return cat('(', listText(signature.operands), ") -> (", listText(signature.results), ')');
}

}  // namespace tercel::program
