// A visitor for std::visit, of one function for each type.
#pragma once

namespace tercel {

template <class... Cases>
struct Overload : Cases... {
  using Cases::operator()...;
};

}  // namespace tercel
