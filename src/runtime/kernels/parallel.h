// How a library kernel reaches the threads of whoever runs it.
#pragma once
#include <cstdint>
#include <type_traits>

namespace tercel::kernels {

// Runs the tasks [begin, end), on threads with the IsaScope of the one that has them run. Must not
// throw, and must not depend on how tasks are grouped.
using TaskFn = void (*)(void* context, int64_t begin, int64_t end);

struct Parallel {
  void* pool = nullptr;  // null: the calling thread runs all tasks at once
  void (*run)(void* pool, int64_t tasks, int64_t grain, TaskFn fn, void* context) = nullptr;

  // Every task in [0, tasks) has run when it returns; a group lacks no more than one of
  // `grain` tasks.
  void operator()(int64_t tasks, int64_t grain, TaskFn fn, void* context) const {
    if (tasks <= 0) return;
    if (pool && tasks > grain) return run(pool, tasks, grain, fn, context);
    fn(context, 0, tasks);
  }
  // The same for anything callable as f(begin, end).
  template <class F>
  void forEach(int64_t tasks, int64_t grain, F&& f) const {
    (*this)(tasks, grain,
            [](void* context, int64_t begin, int64_t end) {
              (*static_cast<std::remove_reference_t<F>*>(context))(begin, end);
            },
            &f);
  }
};

}  // namespace tercel::kernels
