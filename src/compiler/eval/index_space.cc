#include "compiler/eval/index_space.h"

#include "core/element_word.h"

namespace tercel::eval {
namespace {

template <class T>
void copyLevel(std::span<const int64_t> dims, const T* from, const int64_t* from_strides, T* to,
               const int64_t* to_strides) {
  if (dims.empty()) {
    *to = *from;
    return;
  }
  int64_t from_step = from_strides[0], to_step = to_strides[0];
  for (int64_t i = 0; i < dims[0]; ++i, from += from_step, to += to_step) {
    if (dims.size() == 1)
      *to = *from;
    else
      copyLevel(dims.subspan(1), from, from_strides + 1, to, to_strides + 1);
  }
}

template <class T>
void copyTyped(std::span<const int64_t> dims, const std::byte* from, const View& from_view,
               std::byte* to, const View& to_view) {
  copyLevel(dims, reinterpret_cast<const T*>(from) + from_view.offset, from_view.strides.data(),
            reinterpret_cast<T*>(to) + to_view.offset, to_view.strides.data());
}

}  // namespace

void copyView(std::span<const int64_t> dims, size_t element_size, const std::byte* from,
              const View& from_view, std::byte* to, const View& to_view) {
  if (elementCount(dims) == 0) return;
  visitWord(element_size,
            [&]<class Word>() { copyTyped<Word>(dims, from, from_view, to, to_view); });
}

}  // namespace tercel::eval
