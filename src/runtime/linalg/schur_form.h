// Hessenberg's and Schur's forms of square matrices.
#pragma once
#include "runtime/linalg/eigen.h"

namespace tercel::linalg {

// a = Q h Q^H: h in place, and below it Q as reflectors on the rows [low + 1, high).
template <class T>
void hessenberg(MatrixRef<T> a, Index low, Index high, Eigen::Ref<VectorX<T>> taus);

template <class T>
struct Schur {
  MatrixX<T> t;  // upper triangular but for blocks [a b; c a] of real matrices, where b c < 0
  MatrixX<T> u;  // the matrix was u t u^H
  VectorX<Complex<T>> values;
  bool converged = false;
};

enum class SchurParts { values, form, all };

// Of a matrix of finite numbers, not empty: what is asked for, and what is found before.
template <class T>
Schur<T> schurForm(MatrixX<T> a, SchurParts parts);

// The rows and columns in an order that brings eigenvalues that stand alone to the ends, as
// LAPACK's gebal: a = (old a)(order, order).
template <class T>
VectorX<Index> isolate(MatrixX<T>& a);

}  // namespace tercel::linalg
