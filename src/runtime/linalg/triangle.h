#pragma once

namespace tercel::linalg {

// Of a triangular matrix: which it is, and what is solved with it.
struct Triangle {
  bool left = true;  // a x = b, else x a = b
  bool lower = true;
  bool transposed = false;
  bool conjugate = false;
  bool unit = false;
};

}  // namespace tercel::linalg
