// The threads that work on one matrix: its call's, where that has no others.
#pragma once
#include <cstdint>
#include <type_traits>
#include <utility>

#include "runtime/kernels/parallel.h"

namespace tercel::linalg {

// Those of what the calling thread does while the object lives; null: itself alone.
class Team {
 public:
  explicit Team(const kernels::Parallel* threads) : before_(std::exchange(current(), threads)) {}
  ~Team() { current() = before_; }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // fn(context, begin, end) of parts of [0, size) that begin at multiples of `step`, where a thread
  // gets no less of all `operations` than its start is worth. Results must not depend on the parts;
  // no memory in one is std::bad_alloc here.
  static void share(int64_t size, int64_t step, double operations, kernels::TaskFn fn,
                    void* context);
  // The same of anything callable as f(begin, end).
  template <class F>
  static void share(int64_t size, int64_t step, double operations, F&& f) {
    share(
        size, step, operations,
        [](void* context, int64_t begin, int64_t end) {
          (*static_cast<std::remove_reference_t<F>*>(context))(begin, end);
        },
        &f);
  }

 private:
  static const kernels::Parallel*& current();

  const kernels::Parallel* before_;
};

}  // namespace tercel::linalg
