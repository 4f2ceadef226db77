#include "program.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <stdexcept>

#include "compiler/eval/numeric.h"
#include "compiler/ir/text.h"
#include "compiler/ir/verifier.h"

namespace tercel::eval {
namespace {

using ir::Literal;

std::string typeOf(std::string_view literal_text) {
  return std::string(literal_text.substr(0, literal_text.find(']') + 1));
}

// "%r0, %r1" for the types "f32[2], s32[2]".
std::string names(std::string_view types) {
  std::string text;
  int count = 0;
  for (size_t at = 0; at != std::string_view::npos && !types.empty();
       at = types.find("], ", at + 1))
    text += cat(count == 0 ? "" : ", ", "%r", count), ++count;
  return text;
}

std::string moduleText(std::string_view op, const Texts& args, std::string_view functions) {
  size_t colon = op.rfind(" : ");
  std::string_view types = op.substr(colon + 3);
  std::string params;
  for (size_t i = 0; i < args.size(); ++i)
    params += cat(i == 0 ? "" : ", ", "%", i, ": ", typeOf(args[i]));
  std::string results = names(types);
  return cat("module @test {\nfunc @main(", params, ") -> (", types, ") {\n", results, " = ", op,
             "\nreturn ", results, "\n}\n", functions, "\n}\n");
}

ir::Module parsed(const std::string& text) {
  Result<ir::Module> module = ir::parse(text);
  if (!module.ok()) throw std::runtime_error(cat(module.status().message(), "\n", text));
  Status status = ir::verify(*module);
  if (!status.ok()) throw std::runtime_error(cat(status.message(), "\n", text));
  return std::move(*module);
}

// The text form spells NaN with its bits; the tests mean the usual one.
std::string withNaNBits(std::string_view text) {
  std::string_view dtype = text.substr(0, text.find('['));
  bool is_64 = dtype == "f64" || dtype == "c128";
  std::string_view bits = dtype == "f16"    ? "0x7e00"
                          : dtype == "bf16" ? "0x7fc0"
                          : is_64           ? "0x7ff8000000000000"
                                            : "0x7fc00000";
  std::string spelled;
  for (size_t at = 0; at < text.size(); ++at) {
    bool is_nan = text.substr(at, 3) == "nan" && text.substr(at, 4) != "nan:";
    if (is_nan)
      spelled += cat("nan:", bits), at += 2;
    else
      spelled += text[at];
  }
  return spelled;
}

// NaNs become one NaN.
template <class T>
T plain(T x) {
  if constexpr (kIsComplex<T>) {
    return T(plain(x.real()), plain(x.imag()));
  } else if constexpr (kIsFloat<T>) {
    double wide = widen<double>(x);
    return std::isnan(wide) ? static_cast<T>(std::nan("")) : x;
  } else {
    return x;
  }
}

bool same(const Literal& a, const Literal& b) {
  if (!(a.shape() == b.shape())) return false;
  return visitDType(a.shape().dtype, [&]<class T>() {
    for (int64_t i = 0; i < a.shape().elements(); ++i) {
      T x = plain(a.at<T>(i)), y = plain(b.at<T>(i));
      if (std::memcmp(&x, &y, sizeof(T)) != 0) return false;
    }
    return true;
  });
}

// One unit in the last place at x.
double ulp(double x, DType dtype) {
  int digits = dtype == DType::f64 ? 53 : dtype == DType::f32 ? 24 : dtype == DType::f16 ? 11 : 8;
  return std::ldexp(1.0, std::ilogb(x) + 1 - digits);
}

template <class T>
bool isNear(T got, T want, double ulps) {
  if constexpr (kIsComplex<T>) {
    using R = typename T::value_type;
    R size = std::max(std::abs(want.real()), std::abs(want.imag()));
    double allowed = ulps * ulp(size, DTypeOf<R>::value);
    return std::abs(got.real() - want.real()) <= allowed &&
           std::abs(got.imag() - want.imag()) <= allowed;
  } else if constexpr (kIsFloat<T>) {
    double x = widen<double>(got), y = widen<double>(want);
    return x == y || std::abs(x - y) <= ulps * ulp(y, DTypeOf<T>::value);
  } else {
    return got == want;
  }
}

}  // namespace

Literal literal(std::string_view text) {
  std::string type = typeOf(text);
  ir::Module module = parsed(cat("module @test {\nfunc @main() -> (", type,
                                 ") {\n%0 = constant() {value = ", withNaNBits(text), "} : ", type,
                                 "\nreturn %0\n}\n}\n"));
  return module.op(module.region(module.main().body).ops[0]).literal();
}

std::string show(const Literal& literal) {
  ir::Module module;
  ir::Type type{literal.shape()};
  ir::OpId id = module.addOp(ir::OpKind::constant_, {}, {&type, 1});
  module.op(id).set(ir::AttrKey::value, literal);
  return ir::printOp(module, id);
}

Result<Literals> evaluateText(std::string_view op, const Texts& args, const EvalOptions& options,
                              std::string_view functions) {
  ir::Module module = parsed(moduleText(op, args, functions));
  Literals literals;
  for (const std::string& arg : args) literals.push_back(literal(arg));
  return evaluate(module, module.main(), literals, options);
}

void expectOp(std::string_view op, const Texts& args, const Texts& results,
              std::string_view functions) {
  Result<Literals> got = evaluateText(op, args, {}, functions);
  ASSERT_TRUE(got.ok()) << op << ": " << got.status().message();
  ASSERT_EQ(got->size(), results.size()) << op;
  for (size_t i = 0; i < results.size(); ++i)
    EXPECT_TRUE(same((*got)[i], literal(results[i])))
        << op << "\ngot " << show((*got)[i]) << "\nwant " << results[i];
}

void expectNear(std::string_view op, const Texts& args, std::string_view result, double ulps) {
  Result<Literals> got = evaluateText(op, args);
  ASSERT_TRUE(got.ok()) << op << ": " << got.status().message();
  Literal want = literal(result), x = (*got)[0];
  ASSERT_EQ(x.shape(), want.shape()) << op;
  visitDType(want.shape().dtype, [&]<class T>() {
    for (int64_t i = 0; i < want.shape().elements(); ++i)
      EXPECT_TRUE(isNear(x.at<T>(i), want.at<T>(i), ulps))
          << op << " element " << i << "\ngot " << show(x) << "\nwant " << result;
  });
}

std::string combineWith(std::string_view op, std::string_view dtype) {
  return cat("body(%a: ", dtype, "[], %b: ", dtype, "[]) {\n%c = ", op, "(%a, %b) : ", dtype,
             "[]\nreturn %c\n}");
}

}  // namespace tercel::eval
