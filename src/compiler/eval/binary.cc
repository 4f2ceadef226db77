#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/eval/complex_math.h"
#include "compiler/eval/kernel.h"

namespace tercel::eval {
namespace {

using ir::OpKind;

template <class T>
using Function2 = T (*)(T, T);

// NaN wins, and +0 is above -0.
template <class R>
R maximumOf(R a, R b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? a : b;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

template <class R>
R minimumOf(R a, R b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? a : b;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

// clang-format off
template <class R>
Function2<R> basicFunction(OpKind kind) {
  switch (kind) {
    case OpKind::add_: return [](R a, R b) { return a + b; };
    case OpKind::divide_: return [](R a, R b) { return a / b; };
    case OpKind::maximum_: return [](R a, R b) { return maximumOf(a, b); };
    case OpKind::minimum_: return [](R a, R b) { return minimumOf(a, b); };
    case OpKind::multiply_: return [](R a, R b) { return a * b; };
    // Its sign is that of the first, also where there is no number.
    case OpKind::remainder_:
      return [](R a, R b) { return std::isnan(b) ? b : std::copysign(std::fmod(a, b), a); };
    case OpKind::subtract_: return [](R a, R b) { return a - b; };
    default: return nullptr;
  }
}

template <class W>
Function2<W> realFunction(OpKind kind) {
  switch (kind) {
    case OpKind::atan2_: return [](W a, W b) { return std::atan2(a, b); };
    case OpKind::power_: return [](W a, W b) { return std::pow(a, b); };
    default: return nullptr;
  }
}

template <class C>
Function2<C> complexFunction(OpKind kind) {
  switch (kind) {
    case OpKind::add_: return [](C a, C b) { return a + b; };
    case OpKind::atan2_: return [](C a, C b) { return atan2Complex(a, b); };
    case OpKind::divide_: return [](C a, C b) { return a / b; };
    case OpKind::maximum_: return [](C a, C b) { return lessComplex(b, a) ? a : b; };
    case OpKind::minimum_: return [](C a, C b) { return lessComplex(a, b) ? a : b; };
    case OpKind::multiply_: return [](C a, C b) { return multiplyComplex(a, b); };
    case OpKind::power_: return [](C a, C b) { return powComplex(a, b); };
    case OpKind::subtract_: return [](C a, C b) { return a - b; };
    default: return nullptr;
  }
}
// clang-format on

// x / 0 has all bits set, and the most negative number / -1 is itself.
template <class T>
T divideInts(T a, T b) {
  if (b == 0) return static_cast<T>(-1);
  if (std::is_signed_v<T> && b == T(-1)) return static_cast<T>(-uint64_t(a));
  return static_cast<T>(a / b);
}

template <class T>
T remainderInts(T a, T b) {
  if (b == 0) return a;
  if (std::is_signed_v<T> && b == T(-1)) return 0;
  return static_cast<T>(a % b);
}

// A negative exponent gives the truncated quotient: 0 but for the bases 1 and -1; 0 gives 0.
template <class T>
T powerInts(T base, T exponent) {
  if (exponent < 0) {
    bool odd = exponent & 1;
    return base == 1 ? T(1) : base == T(-1) ? (odd ? T(-1) : T(1)) : T(0);
  }
  uint64_t result = 1, square = static_cast<uint64_t>(base);
  for (auto e = static_cast<uint64_t>(exponent); e != 0; e >>= 1, square *= square)
    if (e & 1) result *= square;
  return static_cast<T>(result);
}

// Amounts count without sign; all bits leave where the amount is the width or more.
template <class T>
struct Shifts {
  using U = std::make_unsigned_t<T>;
  static constexpr U kWidth = sizeof(T) * 8;
  static T left(T a, T by) { return U(by) < kWidth ? T(uint64_t(a) << U(by)) : T(0); }
  static T logical(T a, T by) { return U(by) < kWidth ? T(U(a) >> U(by)) : T(0); }
  static T arithmetic(T a, T by) {
    using S = std::make_signed_t<T>;
    U amount = U(by) < kWidth ? U(by) : U(kWidth - 1);
    return static_cast<T>(S(a) >> amount);
  }
};

// clang-format off
template <class T>
Function2<T> integerFunction(OpKind kind) {
  switch (kind) {
    case OpKind::add_: return [](T a, T b) { return T(uint64_t(a) + uint64_t(b)); };
    case OpKind::and_: return [](T a, T b) { return T(a & b); };
    case OpKind::divide_: return divideInts<T>;
    case OpKind::maximum_: return [](T a, T b) { return a > b ? a : b; };
    case OpKind::minimum_: return [](T a, T b) { return a < b ? a : b; };
    case OpKind::multiply_: return [](T a, T b) { return T(uint64_t(a) * uint64_t(b)); };
    case OpKind::or_: return [](T a, T b) { return T(a | b); };
    case OpKind::power_: return powerInts<T>;
    case OpKind::remainder_: return remainderInts<T>;
    case OpKind::shift_left_: return Shifts<T>::left;
    case OpKind::shift_right_arithmetic_: return Shifts<T>::arithmetic;
    case OpKind::shift_right_logical_: return Shifts<T>::logical;
    case OpKind::subtract_: return [](T a, T b) { return T(uint64_t(a) - uint64_t(b)); };
    case OpKind::xor_: return [](T a, T b) { return T(a ^ b); };
    default: return nullptr;
  }
}
// clang-format on

// add and maximum are or; multiply and minimum are and.
Function2<bool> predFunction(OpKind kind) {
  switch (kind) {
    case OpKind::add_:
    case OpKind::maximum_:
    case OpKind::or_:
      return [](bool a, bool b) { return a || b; };
    case OpKind::and_:
    case OpKind::minimum_:
    case OpKind::multiply_:
      return [](bool a, bool b) { return a && b; };
    case OpKind::xor_:
      return [](bool a, bool b) { return a != b; };
    default:
      return nullptr;
  }
}

template <class T, class W>
Kernel computedIn(Function2<W> f) {
  if (!f) return {};
  return loop2<T, T>([f](T a, T b) { return narrow<T>(f(widen<W>(a), widen<W>(b))); });
}

template <class T>
Kernel floatKernel(OpKind kind) {
  if (kind == OpKind::complex_) {
    if constexpr (std::is_floating_point_v<T>)
      return loop2<T, std::complex<T>>([](T re, T im) { return std::complex<T>(re, im); });
    return {};
  }
  if (Kernel basic = computedIn<T, Basic<T>>(basicFunction<Basic<T>>(kind))) return basic;
  return computedIn<T, Wide<T>>(realFunction<Wide<T>>(kind));
}

template <class T>
Kernel clampOf() {
  return [](const void* const* in, void* out, int64_t n) {
    auto *low = static_cast<const T*>(in[0]), *x = static_cast<const T*>(in[1]),
         *high = static_cast<const T*>(in[2]);
    for (int64_t i = 0; i < n; ++i) {
      T& y = static_cast<T*>(out)[i];
      if constexpr (kIsComplex<T>) {
        T raised = lessComplex(x[i], low[i]) ? low[i] : x[i];
        y = lessComplex(high[i], raised) ? high[i] : raised;
      } else if constexpr (kIsFloat<T>) {
        using R = Basic<T>;
        R raised = maximumOf(widen<R>(low[i]), widen<R>(x[i]));
        y = narrow<T>(minimumOf(raised, widen<R>(high[i])));
      } else {
        y = std::min(std::max(x[i], low[i]), high[i]);
      }
    }
  };
}

// Rounds the product, as multiply and add would.
template <class T>
Kernel multiplyAddOf() {
  return [](const void* const* in, void* out, int64_t n) {
    auto *a = static_cast<const T*>(in[0]), *b = static_cast<const T*>(in[1]),
         *c = static_cast<const T*>(in[2]);
    for (int64_t i = 0; i < n; ++i) {
      const volatile T product = a[i] * b[i];
      static_cast<T*>(out)[i] = product + c[i];
    }
  };
}

}  // namespace

Kernel binaryKernel(const KernelRequest& request) {
  OpKind kind = request.op.kind;
  return visitDType(request.operands[0], [&]<class T>() -> Kernel {
    if constexpr (kIsBool<T>)
      return computedIn<T, T>(predFunction(kind));
    else if constexpr (kIsInt<T>)
      return computedIn<T, T>(integerFunction<T>(kind));
    else if constexpr (kIsFloat<T>)
      return floatKernel<T>(kind);
    else
      return computedIn<T, Basic<T>>(complexFunction<Basic<T>>(kind));
  });
}

Kernel selectKernel(const KernelRequest& request) {
  return visitDType(request.result, []<class T>() -> Kernel {
    return [](const void* const* in, void* out, int64_t n) {
      auto* pred = static_cast<const bool*>(in[0]);
      for (int64_t i = 0; i < n; ++i)
        static_cast<T*>(out)[i] = static_cast<const T*>(pred[i] ? in[1] : in[2])[i];
    };
  });
}

Kernel clampKernel(const KernelRequest& request) {
  return visitDType(request.result, []<class T>() { return clampOf<T>(); });
}

Kernel multiplyAddKernel(const KernelRequest& request) {
  return request.result == DType::f32 ? multiplyAddOf<float>() : multiplyAddOf<double>();
}

}  // namespace tercel::eval
