#include "tools/open_sizes.h"

#include <algorithm>
#include <charconv>

#include "tools/size_expression.h"

namespace tercel::tools {
namespace {

constexpr size_t kMaxArguments = 10000;
constexpr size_t kMaxSignatures = 1000;

struct Choices {
  std::string name;
  std::vector<std::string> choices;
};

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (size_t end; (end = text.find(at)) != text.npos; text.remove_prefix(end + 1)) {
    parts.emplace_back(text.substr(0, end));
  }
  parts.emplace_back(text);
  return parts;
}

Result<std::vector<Choices>> readChoices(const std::vector<std::string>& words, const char* flag) {
  std::vector<Choices> all;
  for (const std::string& word : words) {
    const size_t at = word.find('=');
    if (at == 0 || at == word.npos) {
      return invalidArgument("write --", flag, "=NAME=", flag == std::string_view("size") ? "8" :
                             "8x4", ", not --", flag, "=", word);
    }
    all.push_back({word.substr(0, at), split(std::string_view(word).substr(at + 1), ',')});
    if (std::ranges::count(all, all.back().name, &Choices::name) > 1) {
      return invalidArgument("--", flag, "=", all.back().name, " stands twice: list with commas");
    }
  }
  return all;
}

Result<int64_t> sizeOf(const std::string& text) {
  int64_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error == std::errc() && end == text.data() + text.size() && size >= 0) return size;
  return invalidArgument("'", text, "' is no size");
}

// 8x4; nothing for a scalar.
Result<Dims> dimsOf(const std::string& text) {
  Dims dims;
  if (text.empty()) return dims;
  for (const std::string& part : split(text, 'x')) {
    TERCEL_ASSIGN(const int64_t size, sizeOf(part));
    dims.push_back(size);
  }
  return dims;
}

// argument3, as the library's header calls it.
Result<size_t> numberOf(const std::string& name) {
  constexpr std::string_view kPrefix = "argument";
  if (name.starts_with(kPrefix)) {
    const Result<int64_t> number = sizeOf(name.substr(kPrefix.size()));
    if (number.ok() && *number < static_cast<int64_t>(kMaxArguments)) {
      return static_cast<size_t>(*number);
    }
  }
  return invalidArgument("--shape=", name, ": the arguments are argument0, argument1, ...");
}

void addText(std::string& text, std::string_view part) {
  text += cat(text.empty() ? "" : "_", part);
}

Status checkNamed(const std::vector<std::vector<std::string>>& arguments, std::string_view name) {
  for (const std::vector<std::string>& dims : arguments) {
    for (const std::string& dim : dims) {
      if (names(dim, name)) return Status();
    }
  }
  return invalidArgument("--size=", name, ": no argument has a dimension with ", name, " in it");
}

// The arguments of which the sizes are computed, where no shape is given.
Status addComputed(const std::vector<std::vector<std::string>>& arguments, const Sizes& sizes,
                   Signature& signature) {
  if (signature.dims.size() < arguments.size()) signature.dims.resize(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (signature.dims[i]) continue;
    std::string list;
    for (const std::string& dim : arguments[i]) list += cat(list.empty() ? "" : ", ", dim);
    Dims dims;
    for (const std::string& dim : arguments[i]) {
      Result<int64_t> size = evaluateSize(dim, sizes);
      if (!size.ok()) {
        return size.status().within(cat("argument", i, "[", list, "]"));
      }
      dims.push_back(*size);
    }
    signature.dims[i] = std::move(dims);
  }
  return Status();
}

Status addShapes(const std::vector<Choices>& shapes, size_t place, Signature& signature) {
  for (const Choices& shape : shapes) {
    TERCEL_ASSIGN(const size_t number, numberOf(shape.name));
    const std::string& text = shape.choices[shape.choices.size() == 1 ? 0 : place];
    const Result<Dims> dims = dimsOf(text);
    if (!dims.ok()) return dims.status().within(cat("--shape=", shape.name));
    if (signature.dims.size() <= number) signature.dims.resize(number + 1);
    signature.dims[number] = *dims;
    if (shape.choices.size() > 1) addText(signature.text, text.empty() ? "scalar" : text);
  }
  return Status();
}

// How many shapes the lists have, which go together.
Result<size_t> lengthOf(const std::vector<Choices>& shapes) {
  size_t length = 1;
  for (const Choices& shape : shapes) {
    const size_t own = shape.choices.size();
    if (own != 1 && length != 1 && own != length) {
      return invalidArgument("--shape=", shape.name, " lists ", own, " shapes, another ", length);
    }
    length = std::max(length, own);
  }
  return length;
}

}  // namespace

SizeFlags sizeFlags(CommandLine& line) { return {line.values("size"), line.values("shape")}; }

Result<std::vector<Signature>> signaturesOf(
    const std::vector<std::vector<std::string>>& arguments, const SizeFlags& flags) {
  TERCEL_ASSIGN(const std::vector<Choices> sizes, readChoices(flags.sizes, "size"));
  TERCEL_ASSIGN(const std::vector<Choices> shapes, readChoices(flags.shapes, "shape"));
  if (!sizes.empty() && arguments.empty()) {
    return invalidArgument("the file has no names of sizes, as jax.export's do: use --shape");
  }
  for (const Choices& size : sizes) TERCEL_TRY(checkNamed(arguments, size.name));
  TERCEL_ASSIGN(const size_t places, lengthOf(shapes));
  size_t count = places;
  for (const Choices& size : sizes) count *= std::min(size.choices.size(), kMaxSignatures + 1);
  if (count > kMaxSignatures) return invalidArgument("more than ", kMaxSignatures, " signatures");
  std::vector<Signature> signatures;
  for (size_t i = 0; i < count; ++i) {
    Signature signature;
    Sizes chosen;
    size_t rest = i / places, repeats = count / places;
    for (const Choices& size : sizes) {
      repeats /= size.choices.size();
      const std::string& text = size.choices[rest / repeats];
      rest %= repeats;
      const Result<int64_t> value = sizeOf(text);
      if (!value.ok()) return value.status().within(cat("--size=", size.name));
      chosen[size.name] = *value;
      if (size.choices.size() > 1) addText(signature.text, cat(size.name, *value));
    }
    TERCEL_TRY(addShapes(shapes, i % places, signature));
    TERCEL_TRY(addComputed(arguments, chosen, signature));
    signatures.push_back(std::move(signature));
  }
  return signatures;
}

}  // namespace tercel::tools
