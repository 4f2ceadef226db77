#include "compiler/eval/kernel.h"

namespace tercel::eval {
namespace {

using ir::AttrKey;

template <class R>
using Comparison = bool (*)(R, R);

template <class R>
Comparison<R> comparison(std::string_view direction) {
  if (direction == "EQ") return [](R a, R b) { return a == b; };
  if (direction == "NE") return [](R a, R b) { return a != b; };
  if constexpr (!kIsComplex<R>) {
    if (direction == "GE") return [](R a, R b) { return a >= b; };
    if (direction == "GT") return [](R a, R b) { return a > b; };
    if (direction == "LE") return [](R a, R b) { return a <= b; };
    if (direction == "LT") return [](R a, R b) { return a < b; };
  }
  return nullptr;
}

template <class T, class R, class F>
Kernel comparing(std::string_view direction, F key) {
  Comparison<R> compare = comparison<R>(direction);
  if (!compare) return {};
  return loop2<T, bool>([compare, key](T a, T b) { return compare(key(a), key(b)); });
}

}  // namespace

Kernel compareKernel(const KernelRequest& request) {
  std::string_view direction = request.op.symbol(AttrKey::comparison_direction);
  bool total = request.op.symbol(AttrKey::compare_type) == "TOTALORDER";
  return visitDType(request.operands[0], [&]<class T>() -> Kernel {
    if constexpr (kIsFloat<T>) {
      using Key = decltype(totalOrderKey(T()));
      if (total) return comparing<T, Key>(direction, [](T x) { return totalOrderKey(x); });
      return comparing<T, Basic<T>>(direction, [](T x) { return widen<Basic<T>>(x); });
    } else {
      return comparing<T, T>(direction, [](T x) { return x; });
    }
  });
}

}  // namespace tercel::eval
