// Rotations of two numbers or columns; those of a matrix's columns are kept until there are enough
// to be done at once.
#pragma once
#include "runtime/linalg/dense.h"
#include "runtime/linalg/eigen.h"
#include "runtime/linalg/team.h"

namespace tercel::linalg {

template <class R>
struct Rotation {
  R c = 1, s = 0, size = 0;
  // c f + s g = size, c g - s f = 0. Beside elements of the order of 1, tiny ones are 0.
  Rotation(R f, R g) {
    const R both = lengthOf(f, g);
    if (both < kExact<R>) return;
    size = both;
    c = f / size;
    s = g / size;
  }
  // The same with c >= 0, the size having f's sign, as LAPACK's lartg has it.
  static Rotation withSignOf(R f, R g) {
    Rotation turn(f, g);
    if (turn.c >= 0) return turn;
    return {-turn.c, -turn.s, -turn.size};
  }

 private:
  Rotation(R of_c, R of_s, R of_size) : c(of_c), s(of_s), size(of_size) {}
  static R lengthOf(R f, R g) {
    const R squares = f * f + g * g;
    return squares > kExact<R> && squares < 1 / kExact<R> ? std::sqrt(squares) : std::hypot(f, g);
  }
};

// Columns x and y become c x + s y and c y - s x.
template <class T>
void turnColumns(MatrixRef<T> matrix, Index x, Index y, Real<T> c, Real<T> s) {
  const VectorX<T> old = matrix.col(x);
  matrix.col(x) = old * c + matrix.col(y) * s;
  matrix.col(y) = matrix.col(y) * c - old * s;
}

template <class T>
class ColumnRotations {
 public:
  using R = Real<T>;
  explicit ColumnRotations(MatrixX<T>& matrix)
      : matrix_(matrix), turns_(2 * kMostSweeps * matrix.cols()) {}

  Index columns() const { return matrix_.cols(); }
  // The next rotations turn columns `first` and `first` + 1, and so on, one after the other. In
  // reverse, columns count from the last one.
  void begin(Index first, bool in_reverse = false) {
    if (sweeps_ == kMostSweeps || in_reverse != in_reverse_) flush();
    in_reverse_ = in_reverse;
    first_[sweeps_] = first;
    count_[sweeps_++] = 0;
  }
  // (x, y) = (c x + s y, c y - s x)
  void add(R c, R s) {
    turns_[2 * used_] = c;
    turns_[2 * used_++ + 1] = s;
    ++count_[sweeps_ - 1];
  }
  // At once, of any two columns.
  void turn(Index x, Index y, R c, R s) {
    flush();
    turnColumns<T>(matrix_, x, y, c, s);
  }
  // Nothing has happened to the matrix before.
  void flush() {
    constexpr Index kRows = dense::kStripBytes / sizeof(R);
    if (sweeps_ == 0) return;
    const Index rows = matrix_.rows() * kParts<T>;
    const Index column = matrix_.outerStride() * kParts<T>;
    const Index first_column = in_reverse_ ? matrix_.cols() - 1 : 0;
    R* start = reinterpret_cast<R*>(matrix_.data()) + first_column * column;
    Team::share(rows, kRows, kOperations * double(rows) * used_, [&](Index begin, Index end) {
      kernels::KeptMemory<std::byte> scratch;
      dense::rotate<R>({.rows = end - begin,
                        .columns = matrix_.cols(),
                        .matrix = start + begin,
                        .column = in_reverse_ ? -column : column,
                        .scratch = scratch.take(matrix_.cols() * dense::kStripBytes),
                        .sweeps = sweeps_,
                        .first = first_.data(),
                        .count = count_.data(),
                        .turns = turns_.data()});
    });
    sweeps_ = used_ = 0;
  }

 private:
  static constexpr Index kMostSweeps = 32;
  static constexpr double kOperations = 4;  // of a rotation of two numbers

  MatrixX<T>& matrix_;
  VectorX<R> turns_;
  std::array<int64_t, kMostSweeps> first_, count_;
  Index sweeps_ = 0, used_ = 0;
  bool in_reverse_ = false;
};

}  // namespace tercel::linalg
