// The secular equation of a diagonal matrix and one of rank one: its roots by interpolation between
// the poles beside them, as Li, LAPACK Working Note 89, 1993, and the eigenvectors of the matrix
// that has just these roots, as Gu and Eisenstat, 1994. No root is known but as its distance from
// the nearer pole.
#pragma once
#include "runtime/linalg/dense_vectors.h"

namespace tercel::linalg::dense {
namespace {

template <class R>
class SecularRoot {
  static constexpr int kL = kLanes<R>;
  static constexpr R kEpsilon = sizeof(R) == 4 ? R(0x1p-23) : R(0x1p-52);

 public:
  SecularRoot(const Secular<R>& job, int64_t root)
      : job_(job), root_(root), gaps_(job.gaps + root * job.lead), inverse_(1 / job.rho) {}

  void solve() {
    if (job_.size == 1) {
      setOrigin(0);
      x_ = job_.rho * job_.squares[0];
      return finish();
    }
    start();
    for (int step = 0; step < kMostSteps && !isExact(); ++step) improve();
    finish();
  }

 private:
  static constexpr int kMostSteps = 80;  // three or four are usual

  bool isLast() const { return root_ + 1 == job_.size; }
  R pole(int64_t j) const { return job_.poles[j]; }
  // What x stands for in the equation, less the same of y.
  TERCEL_PART Vector<R> distance(Vector<R> x, R y) const {
    return job_.is_squared ? (x - y) * (x + y) : x - y;
  }

  // From where gaps are counted.
  void setOrigin(int64_t origin) {
    origin_ = origin;
    for (int64_t j = 0; j < job_.lead; j += kL)
      kernels::storeVector(gaps_ + j, distance(kernels::loadVector(job_.poles + j), pole(origin)));
  }

  // At x beyond the origin.
  void evaluate(R x) {
    x_ = x;
    Vector<R> sum = {}, size = {}, slope = {};
    for (int64_t j = 0; j < job_.lead; j += kL) {
      const Vector<R> inverse = 1 / (kernels::loadVector(gaps_ + j) - x);
      const Vector<R> term = kernels::loadVector(job_.squares + j) * inverse;
      sum += term;
      size += term < 0 ? -term : term;
      slope += term * inverse;
    }
    value_ = inverse_ + sumOf<R>(sum);
    slope_ = sumOf<R>(slope);
    size_ = sumOf<R>(size);
    if (value_ < 0) {
      low_ = x;
    } else {
      high_ = x;
    }
  }
  bool isExact() const {
    const R terms = R(8) + R(job_.size) / kL;  // what a sum may be off by
    const R error = terms * size_ + 2 * inverse_ + __builtin_fabs(x_) * slope_;
    const R nearest = low_ > -high_ ? low_ : -high_;  // beside 0, if both are on one side
    return __builtin_fabs(value_) <= kEpsilon * error || high_ - low_ <= kEpsilon * nearest;
  }

  // The root lies between two poles, or beyond the last, no farther than all of z. The half that it
  // is in says which pole is nearer, and the equation of the two nearest alone where it is, almost.
  void start() {
    const int64_t before = firstOfTwo();
    setOrigin(root_);
    const R apart = gaps_[before + 1] - gaps_[before];
    low_ = 0;
    high_ = isLast() ? job_.rho * sumOfSquares() : apart;
    evaluate(high_ / 2);
    const R z0 = job_.squares[before], z1 = job_.squares[before + 1];
    const R others = value_ - z0 / (gaps_[before] - x_) - z1 / (gaps_[before + 1] - x_);
    R guess;
    if (isLast()) {
      guess = largerRoot(z0 + z1 - others * apart, -z1 * apart, others);
    } else if (value_ >= 0) {
      guess = smallerRoot(z0 + z1 + others * apart, z0 * apart, others);
    } else {
      setOrigin(root_ + 1);
      low_ = -apart / 2;
      high_ = 0;
      guess = -smallerRoot(z0 + z1 - others * apart, z1 * apart, -others);
    }
    evaluate(isBetween(guess) ? guess : (low_ + high_) / 2);
  }
  int64_t firstOfTwo() const { return isLast() ? root_ - 1 : root_; }
  R sumOfSquares() const {
    Vector<R> sum = {};
    for (int64_t j = 0; j < job_.lead; j += kL) sum += kernels::loadVector(job_.squares + j);
    return sumOf<R>(sum) * (1 + kEpsilon * R(job_.size));
  }
  bool isBetween(R x) const { return low_ < x && x < high_; }

  // Of c x^2 - a x + b, without a difference of equal numbers.
  static R discriminantRoot(R a, R b, R c) {
    const R square = a * a - 4 * b * c;
    return __builtin_sqrt(__builtin_fabs(square));
  }
  static R smallerRoot(R a, R b, R c) {
    const R root = discriminantRoot(a, b, c);
    return a > 0 ? 2 * b / (a + root) : (a - root) / (2 * c);
  }
  static R largerRoot(R a, R b, R c) {
    const R root = discriminantRoot(a, b, c);
    return a >= 0 ? (a + root) / (2 * c) : 2 * b / (a - root);
  }

  // To the root of a function of the same value and slope with poles at the two nearest; where that
  // gains too little, to the middle of what is left.
  void improve() {
    const R size = __builtin_fabs(value_);
    R by = step();
    if (!(by * value_ < 0)) by = -value_ / slope_;
    evaluate(isBetween(x_ + by) ? x_ + by : (low_ + high_) / 2);
    if (__builtin_fabs(value_) > size / 2 && !isExact()) evaluate((low_ + high_) / 2);
  }
  R step() const {
    const int64_t before = firstOfTwo();
    const R d0 = gaps_[before] - x_, d1 = gaps_[before + 1] - x_;
    const R a = (d0 + d1) * value_ - d0 * d1 * slope_, b = d0 * d1 * value_;
    const auto part = [&](int64_t j, R gap) { return job_.squares[j] / gap / gap; };
    if (isLast()) {
      const R of_last = part(root_, d1);
      return largerRoot(a, b, __builtin_fabs(value_ - d0 * (slope_ - of_last) - d1 * of_last));
    }
    // The nearer pole keeps its own weight.
    const R c = origin_ == root_ ? value_ - d1 * slope_ + (d1 - d0) * part(before, d0)
                                 : value_ - d0 * slope_ - (d1 - d0) * part(before + 1, d1);
    return smallerRoot(a, b, c);
  }

  // Gaps become poles less the root, or their squares' difference.
  void finish() {
    const R origin = pole(origin_);
    R beyond = x_;
    if (job_.is_squared) beyond = x_ / (origin + __builtin_sqrt(origin * origin + x_));
    const R root = origin + beyond;
    job_.roots[root_] = root;
    for (int64_t j = 0; j < job_.lead; j += kL) {
      const Vector<R> x = kernels::loadVector(job_.poles + j);
      Vector<R> gap = (x - origin) - beyond;
      if (job_.is_squared) gap *= x + root;
      kernels::storeVector(gaps_ + j, gap);
    }
  }

  const Secular<R>& job_;
  const int64_t root_;
  R* const gaps_;
  const R inverse_;
  int64_t origin_ = 0;
  R x_ = 0, value_ = 0, slope_ = 0, size_ = 0;
  R low_ = 0, high_ = 0;
};

}  // namespace

namespace TERCEL_ISA {

template <class R>
void solveSecular(const Secular<R>& job) {
  for (int64_t i = job.begin; i < job.end; ++i) SecularRoot<R>(job, i).solve();
}

template <class R>
void weighSecular(const Secular<R>& job) {
  constexpr int kL = kLanes<R>;
  for (int64_t j = job.begin; j < job.end; j += kL) {
    const Vector<R> x = kernels::loadVector(job.poles + j);
    Vector<R> product = R(-1) - Vector<R>{};
    for (int64_t i = 0; i < job.size; ++i) {
      Vector<R> apart = x - job.poles[i];
      if (job.is_squared) apart *= x + job.poles[i];
      apart = apart == 0 ? R(1) - Vector<R>{} : apart;
      product *= kernels::loadVector(job.gaps + i * job.lead + j) / apart;
    }
    for (int l = 0; l < kL; ++l)
      job.weights[j + l] = j + l < job.size && product[l] > 0 ? __builtin_sqrt(product[l]) : R(0);
  }
}

template <class R>
void makeSecularVectors(const SecularVectors<R>& job) {
  constexpr int kL = kLanes<R>;
  for (int64_t i = job.begin; i < job.end; ++i) {
    const R* gaps = job.gaps + i * job.lead;
    R* to = job.vectors + i * job.lead;
    Vector<R> squares = {};
    for (int64_t j = 0; j < job.lead; j += kL) {
      const Vector<R> number =
          kernels::loadVector(job.numerators + j) / kernels::loadVector(gaps + j);
      kernels::storeVector(to + j, number);
      squares += number * number;
    }
    R square = sumOf<R>(squares);
    if (job.has_first) {
      square += 1 - to[0] * to[0];
      to[0] = R(-1);
    }
    const R factor = 1 / __builtin_sqrt(square);
    for (int64_t j = 0; j < job.lead; j += kL)
      kernels::storeVector(to + j, kernels::loadVector(to + j) * factor);
  }
}

}  // namespace TERCEL_ISA
}  // namespace tercel::linalg::dense
