// The eigenvectors of a diagonal matrix and one of rank one, by the kernels of dense_steps.h.
#pragma once
#include <limits>

#include "runtime/linalg/dense_steps.h"
#include "runtime/linalg/eigen.h"
#include "runtime/linalg/team.h"

namespace tercel::linalg {

// Of diag(poles)^2 + z z^T where is_squared, else of diag(poles) + rho z z^T. The poles rise, and
// all are as far apart and all numbers as large as deflation leaves them.
template <class R>
class SecularEquation {
 public:
  SecularEquation(const VectorX<R>& poles, const VectorX<R>& z, R rho, bool is_squared)
      : size_(poles.size()),
        lead_((size_ + dense::kSecularLanes - 1) / dense::kSecularLanes * dense::kSecularLanes),
        poles_(VectorX<R>::Constant(lead_, std::numeric_limits<R>::infinity())),
        squares_(VectorX<R>::Zero(lead_)),
        weights_(VectorX<R>::Zero(lead_)),
        roots_(size_),
        gaps_(lead_, size_) {
    poles_.head(size_) = poles;
    squares_.head(size_) = z.cwiseAbs2();
    dense::Secular<R> job{.size = size_,
                          .lead = lead_,
                          .poles = poles_.data(),
                          .squares = squares_.data(),
                          .rho = rho,
                          .is_squared = is_squared,
                          .roots = roots_.data(),
                          .gaps = gaps_.data(),
                          .weights = weights_.data()};
    run(1, 4, job, dense::solveSecular<R>);
    run(dense::kSecularLanes, 1, job, dense::weighSecular<R>);
    weights_.head(size_) = weights_.head(size_).cwiseProduct(z.cwiseSign());
  }

  const VectorX<R>& roots() const { return roots_; }
  // Eigenvectors, or right singular ones; and left ones, of z^T, which is row 0, above diag(poles).
  // Rows beyond the equation's are of no meaning.
  MatrixX<R> vectors() const { return quotients(weights_, false); }
  MatrixX<R> leftVectors() const {
    VectorX<R> numerators = weights_;
    numerators.head(size_).array() *= poles_.head(size_).array();
    return quotients(numerators, true);
  }

 private:
  MatrixX<R> quotients(const VectorX<R>& numerators, bool has_first) const {
    MatrixX<R> vectors(lead_, size_);
    run(1, 1,
        dense::SecularVectors<R>{.lead = lead_,
                                 .gaps = gaps_.data(),
                                 .numerators = numerators.data(),
                                 .has_first = has_first,
                                 .vectors = vectors.data()},
        dense::makeSecularVectors<R>);
    return vectors;
  }
  // `passes` over all gaps, each of which costs about so many operations.
  template <class Job>
  void run(Index step, Index passes, const Job& job, void (*kernel)(const Job&)) const {
    constexpr double kOperations = 4;
    Team::share(size_, step, kOperations * double(passes) * double(lead_) * double(size_),
                [&](Index begin, Index end) {
                  Job part = job;
                  part.begin = begin;
                  part.end = end;
                  kernel(part);
                });
  }

  const Index size_, lead_;
  VectorX<R> poles_, squares_;
  VectorX<R> weights_;  // with the signs of z, and 0 beyond them
  VectorX<R> roots_;
  MatrixX<R> gaps_;
};

}  // namespace tercel::linalg
