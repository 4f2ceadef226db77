#include "compiler/ir/parse_attr.h"

#include "compiler/ir/element_text.h"
#include "compiler/ir/syntax.h"

namespace tercel::ir {
namespace {

template <class T>
constexpr bool is_complex = requires(T v) {
  v.imag();
};

template <class T>
Status parseOne(Scanner& in, T* value) {
  if constexpr (is_complex<T>) {
    typename T::value_type real, imag;
    TERCEL_TRY(in.expect("("));
    TERCEL_TRY(parseOne(in, &real));
    TERCEL_TRY(in.expect(","));
    TERCEL_TRY(parseOne(in, &imag));
    *value = T(real, imag);
    return in.expect(")");
  } else {
    std::string_view text = in.element();
    if (parseElement(text, value)) return {};
    return in.errorAtLast("'", text, "' is not a ", dtypeName(DTypeOf<T>::value));
  }
}

template <class T>
void appendBytes(std::vector<std::byte>& bytes, const T& value) {
  auto* raw = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), raw, raw + sizeof(T));
}

// Memory grows with the text, whatever size the type claims.
template <class T>
Result<Literal> parseElements(Scanner& in, Shape shape) {
  int64_t count = shape.elements(), found = 0;
  std::vector<std::byte> bytes;
  if (!in.accept(")")) {
    do {
      T value;
      TERCEL_TRY(parseOne(in, &value));
      if (++found > count) return in.errorAtLast("more than ", count, " elements");
      appendBytes(bytes, value);
    } while (in.accept(","));
    TERCEL_TRY(in.expect(")"));
  }
  if (found != count) return in.errorAtLast("found ", found, " of ", count, " elements");
  return Literal(std::move(shape), std::move(bytes));
}

Result<Literal> parseHex(Scanner& in, Shape shape) {
  TERCEL_TRY(in.expect("("));
  TERCEL_ASSIGN(std::string digits, in.quoted());
  if (static_cast<int64_t>(digits.size() / 2) != shape.bytes() || digits.size() % 2)
    return in.errorAtLast("found ", digits.size() / 2, " of ", shape.bytes(), " bytes");
  std::vector<std::byte> bytes;
  bytes.reserve(digits.size() / 2);
  for (size_t i = 0; i < digits.size(); i += 2) {
    int high = hexDigit(digits[i]), low = hexDigit(digits[i + 1]);
    if (high < 0 || low < 0) return in.errorAtLast("expected hexadecimal digits");
    if (isPred(shape.dtype) && high * 16 + low > 1)
      return in.errorAtLast("a pred byte is neither 00 nor 01");
    bytes.push_back(static_cast<std::byte>(high * 16 + low));
  }
  TERCEL_TRY(in.expect(")"));
  return Literal(std::move(shape), std::move(bytes));
}

template <class T>
Result<Literal> parseSplat(Scanner& in, Shape shape) {
  T value;
  TERCEL_TRY(in.expect("("));
  TERCEL_TRY(parseOne(in, &value));
  TERCEL_TRY(in.expect(")"));
  return Literal::splat(std::move(shape), &value);
}

Result<Literal> parseLiteral(Scanner& in) {
  TERCEL_ASSIGN(Type type, parseType(in));
  if (type.is_token) return in.errorAtLast("a token has no elements");
  if (in.acceptWord("hex")) return parseHex(in, std::move(type.shape));
  bool is_splat = in.acceptWord("splat");
  if (!is_splat) TERCEL_TRY(in.expect("("));
  return visitDType(type.shape.dtype, [&]<class T>() -> Result<Literal> {
    if (is_splat) return parseSplat<T>(in, std::move(type.shape));
    return parseElements<T>(in, std::move(type.shape));
  });
}

// [a, b, ...] of what `one` reads.
template <class T, class ParseOne>
Result<std::vector<T>> parseList(Scanner& in, ParseOne&& one) {
  std::vector<T> list;
  TERCEL_TRY(in.expect("["));
  if (in.accept("]")) return list;
  do {
    TERCEL_ASSIGN(T element, one());
    list.push_back(std::move(element));
  } while (in.accept(","));
  TERCEL_TRY(in.expect("]"));
  return list;
}

template <class T>
Result<Attr> asAttr(Result<T> value) {
  if (!value.ok()) return value.status();
  return Attr(std::move(*value));
}

template <class T>
Result<Attr> parseScalarAttr(Scanner& in) {
  T value;
  TERCEL_TRY(parseOne(in, &value));
  return Attr(value);
}

}  // namespace

Result<Type> parseType(Scanner& in) {
  TERCEL_ASSIGN(std::string_view name, in.word());
  if (name == "token") return Type::token();
  auto dtype = dtypeFromName(name);
  if (!dtype) return in.errorAtLast("unknown type '", name, "'");
  TERCEL_ASSIGN(Ints dims, parseList<int64_t>(in, [&] { return in.integer(); }));
  if (!sizeIsRepresentable(dims, byteSize(*dtype)))
    return in.errorAtLast("a type too large, or with a negative dimension");
  return Type{Shape{*dtype, Dims(std::span<const int64_t>(dims))}};
}

Result<Attr> parseAttr(Scanner& in, AttrKind kind) {
  switch (kind) {
    case AttrKind::boolean:
      return parseScalarAttr<bool>(in);
    case AttrKind::integer:
      return asAttr(in.integer());
    case AttrKind::number:
      return parseScalarAttr<double>(in);
    case AttrKind::symbol:
      return asAttr(in.wordOrQuoted());
    case AttrKind::integers:
      return asAttr(parseList<int64_t>(in, [&] { return in.integer(); }));
    case AttrKind::literal:
      return asAttr(parseLiteral(in));
    case AttrKind::strings:
      return asAttr(parseList<std::string>(in, [&] { return in.quoted(); }));
  }
  __builtin_unreachable();
}

}  // namespace tercel::ir
