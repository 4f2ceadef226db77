#include "runtime/ffi/attributes.h"

#include <bit>
#include <charconv>
#include <cstring>

#include "core/dtype.h"
#include "runtime/ffi/data_type.h"

namespace tercel::ffi {

// A recursive descent over the text, which attr_text.cc has written or a file has brought.
class AttributeParser {
 public:
  explicit AttributeParser(std::string_view text) : rest_(text) {}

  Result<std::unique_ptr<Attributes>> run() {
    auto attributes = std::make_unique<Attributes>();
    if (rest_.empty()) {
      attributes->finish();
      return attributes;
    }
    TERCEL_TRY(dictionary(*attributes, 0));
    if (!rest_.empty()) return wrong("the end");
    return attributes;
  }

 private:
  static constexpr int kMaxDepth = 32;
  static constexpr std::string_view kWordEnds = " ,:=()[]{}";

  Status wrong(std::string_view expected) const {
    return invalidArgument("custom call attributes: expected ", expected, " at '",
                           rest_.substr(0, 20), "'");
  }

  bool eat(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  std::string_view word() {
    std::string_view taken = rest_.substr(0, rest_.find_first_of(kWordEnds));
    rest_.remove_prefix(taken.size());
    return taken;
  }

  Status dictionary(Attributes& to, int depth) {
    if (depth > kMaxDepth) return invalidArgument("custom call attributes nested too deeply");
    if (!eat("{")) return wrong("{");
    while (!eat("}")) {
      std::string name;
      if (rest_.starts_with('"')) {
        TERCEL_TRY(string(name));
      } else {
        name = word();
      }
      if (!eat(" = ")) return wrong("=");
      TERCEL_TRY(value(to.values_[name], depth).within(name));
      if (!eat(", ") && !rest_.starts_with('}')) return wrong("}");
    }
    to.finish();
    return Status();
  }

  Status value(Attributes::Value& to, int depth) {
    if (rest_.starts_with('{')) {
      to.type = XLA_FFI_AttrType_DICTIONARY;
      to.dictionary = std::make_unique<Attributes>();
      return dictionary(*to.dictionary, depth + 1);
    }
    if (rest_.starts_with('"')) {
      to.type = XLA_FFI_AttrType_STRING;
      return string(to.bytes);
    }
    if (rest_.starts_with('[')) return list(to);
    std::string_view first = word();
    if (first == "true" || first == "false") return scalar(to, first, "pred");
    if (eat(" : ")) return scalar(to, first, word());
    if (rest_.starts_with('[')) return array(to, first);
    return unimplemented("an attribute ", first, " cannot be given to a handler");
  }

  // What quoted() of attr_text.cc has written.
  Status string(std::string& to) {
    for (rest_.remove_prefix(1); !rest_.empty(); rest_.remove_prefix(1)) {
      char c = rest_[0];
      if (c == '"') {
        rest_.remove_prefix(1);
        return Status();
      }
      if (c != '\\') {
        to += c;
        continue;
      }
      rest_.remove_prefix(1);
      if (rest_.empty()) break;
      if (!rest_.starts_with('x')) {
        to += rest_.substr(0, 1);
        continue;
      }
      uint8_t code = 0;
      const char* digits = rest_.data() + 1;
      if (rest_.size() < 3 || std::from_chars(digits, digits + 2, code, 16).ptr != digits + 2)
        return wrong("two hexadecimal digits");
      to += static_cast<char>(code);
      rest_.remove_prefix(2);
    }
    return wrong("\"");
  }

  Status scalar(Attributes::Value& to, std::string_view number, std::string_view type) {
    std::optional<DType> dtype = dtypeFromName(type == "index" ? "s64" : type);
    if (!dtype) return unimplemented("a number of type ", type);
    to.type = XLA_FFI_AttrType_SCALAR;
    to.view.scalar.dtype = dataTypeOf(*dtype);
    return element(number, *dtype, to.bytes);
  }

  // s64[3](1, 2, 3)
  Status array(Attributes::Value& to, std::string_view type) {
    std::optional<DType> dtype = dtypeFromName(type);
    if (!dtype) return unimplemented("an array of ", type);
    if (!eat("[") || word().empty() || !eat("](")) return wrong("a number of elements");
    size_t count = 0;
    for (; !eat(")"); ++count) {
      TERCEL_TRY(element(word(), *dtype, to.bytes));
      if (!eat(", ") && !rest_.starts_with(')')) return wrong(")");
    }
    to.type = XLA_FFI_AttrType_ARRAY;
    to.view.array = {dataTypeOf(*dtype), count, nullptr};
    return Status();
  }

  // [1 : s64, 2 : s64] of one type: an array.
  Status list(Attributes::Value& to) {
    to.type = XLA_FFI_AttrType_ARRAY;
    to.view.array = {kInvalidType, 0, nullptr};
    for (eat("["); !eat("]"); ++to.view.array.size) {
      Attributes::Value item;
      if (rest_.starts_with('[') || rest_.starts_with('{')) return unimplemented("a list of lists");
      TERCEL_TRY(value(item, kMaxDepth));
      XLA_FFI_DataType dtype = item.view.scalar.dtype;
      bool fits = item.type == XLA_FFI_AttrType_SCALAR &&
                  (to.view.array.size == 0 || dtype == to.view.array.dtype);
      if (!fits) return unimplemented("a list that is no array of numbers of one type");
      to.view.array.dtype = dtype;
      to.bytes += item.bytes;
      if (!eat(", ") && !rest_.starts_with(']')) return wrong("]");
    }
    return Status();
  }

  template <class T>
  static void put(T value, std::string& bytes) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }

  template <class T>
  Status parsed(std::string_view text, T& number, int base = 10) {
    const char* end = text.data() + text.size();
    std::from_chars_result result;
    if constexpr (std::is_floating_point_v<T>) {
      result = std::from_chars(text.data(), end, number);
    } else {
      result = std::from_chars(text.data(), end, number, base);
    }
    bool whole = result.ptr == end && result.ec == std::errc() && !text.empty();
    return whole ? Status() : invalidArgument("'", text, "' is no number");
  }

  // Appends one element of this type.
  Status element(std::string_view text, DType dtype, std::string& bytes) {
    if (text == "true" || text == "false") text = text == "true" ? "1" : "0";
    size_t size = byteSize(dtype);
    if (isFloat(dtype) && !text.starts_with("0x")) {
      double number = 0;
      TERCEL_TRY(parsed(text, number));
      return floatElement(number, dtype, bytes);
    }
    if (isComplex(dtype)) return unimplemented("a complex number");
    uint64_t bits = 0;
    if (text.starts_with("0x")) {
      TERCEL_TRY(parsed(text.substr(2), bits, 16));
    } else if (text.starts_with('-')) {
      int64_t number = 0;
      TERCEL_TRY(parsed(text, number));
      bits = std::bit_cast<uint64_t>(number);
    } else {
      TERCEL_TRY(parsed(text, bits));
    }
    bytes.append(reinterpret_cast<const char*>(&bits), size);  // little-endian
    return Status();
  }

  static Status floatElement(double number, DType dtype, std::string& bytes) {
    switch (dtype) {
      case DType::f64: put(number, bytes); return Status();
      case DType::f32: put(static_cast<float>(number), bytes); return Status();
      case DType::f16: put(doubleToHalf(number), bytes); return Status();
      case DType::bf16: put(doubleToBFloat16(number), bytes); return Status();
      default: return unimplemented("a number of type ", dtypeName(dtype));
    }
  }

  std::string_view rest_;
};

Result<std::unique_ptr<Attributes>> Attributes::parse(std::string_view text) {
  return AttributeParser(text).run();
}

void Attributes::finish() {
  for (auto& [name, value] : values_) {
    types_.push_back(value.type);
    names_.push_back({name.data(), name.size()});
    char* bytes = value.bytes.data();
    switch (value.type) {
      case XLA_FFI_AttrType_DICTIONARY:
        pointers_.push_back(&value.dictionary->frame_);
        continue;
      case XLA_FFI_AttrType_STRING: value.view.string = {bytes, value.bytes.size()}; break;
      case XLA_FFI_AttrType_SCALAR: value.view.scalar.value = bytes; break;
      case XLA_FFI_AttrType_ARRAY: value.view.array.data = bytes; break;
    }
    pointers_.push_back(&value.view);
  }
  for (const XLA_FFI_ByteSpan& name : names_) name_pointers_.push_back(&name);
  frame_ = {XLA_FFI_Attrs_STRUCT_SIZE,      nullptr,       static_cast<int64_t>(names_.size()),
            types_.data(), name_pointers_.data(), pointers_.data()};
}

const uint64_t* Attributes::number(std::string_view name) const {
  auto found = values_.find(name);
  bool is_number = found != values_.end() && found->second.type == XLA_FFI_AttrType_SCALAR &&
                   found->second.bytes.size() == sizeof(uint64_t);
  return is_number ? reinterpret_cast<const uint64_t*>(found->second.bytes.data()) : nullptr;
}

}  // namespace tercel::ffi
