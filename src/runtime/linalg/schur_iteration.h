// The QR iteration that makes Hessenberg matrices triangular.
#pragma once
#include "runtime/linalg/eigen.h"

namespace tercel::linalg {

// h, whose elements are of the order of 1, becomes its Schur form, of real matrices with blocks of
// two rows; z, where it has columns, becomes z u for h = u t u^H. Where the form is not wanted, h's
// diagonal blocks alone are what they shall be. False where it does not converge.
template <class T>
bool iterateSchur(MatrixX<T>& h, MatrixX<T>& z, bool wants_form);

}  // namespace tercel::linalg
