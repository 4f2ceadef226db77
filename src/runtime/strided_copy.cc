#include "runtime/strided_copy.h"

#include <algorithm>
#include <cstring>

#include "core/element_word.h"

namespace tercel::runtime {
namespace {

constexpr int64_t kTaskBytes = 256 << 10;
constexpr int64_t kTile = 16;  // elements on a side when the fast dimensions differ

// The copy as loops, outermost first, without dimensions of length 1 and with those merged that
// are one run in memory.
struct Loops {
  Dims lengths;
  Dims strides;  // of the source, bytes
};

Loops simplify(const Shape& shape, std::span<const int64_t> byte_strides) {
  Loops loops;
  for (size_t i = 0; i < shape.dims.size(); ++i) {
    if (shape.dims[i] == 1) continue;
    bool merges = !loops.lengths.empty() && loops.strides.back() == byte_strides[i] * shape.dims[i];
    if (merges) {
      loops.lengths.back() *= shape.dims[i];
      loops.strides.back() = byte_strides[i];
    } else {
      loops.lengths.push_back(shape.dims[i]);
      loops.strides.push_back(byte_strides[i]);
    }
  }
  while (loops.lengths.size() < 2) {
    loops.lengths.insert(0, 1);
    loops.strides.insert(0, 0);
  }
  return loops;
}

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));  // a host array need not be aligned
  return value;
}

template <class T>
void copyRow(const std::byte* from, int64_t stride, std::byte* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    T value = load<T>(from + i * stride);
    std::memcpy(to + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
  }
}

// [rows, columns] in tiles, so that a transposed source is read by whole cache lines.
template <class T>
void copyPlane(const std::byte* from, const int64_t* lengths, const int64_t* strides, std::byte* to,
               int64_t begin, int64_t end) {
  int64_t columns = lengths[1], size = sizeof(T);
  if (strides[1] == size) {
    for (int64_t row = begin; row < end; ++row) {
      std::memcpy(to + row * columns * size, from + row * strides[0],
                  static_cast<size_t>(columns * size));
    }
    return;
  }
  for (int64_t row = begin; row < end; row += kTile) {
    for (int64_t column = 0; column < columns; column += kTile) {
      int64_t width = std::min(kTile, columns - column);
      for (int64_t r = row; r < std::min(end, row + kTile); ++r) {
        copyRow<T>(from + r * strides[0] + column * strides[1], strides[1],
                   to + (r * columns + column) * size, width);
      }
    }
  }
}

// Offset of the source's plane number `plane`, planes being all but the two innermost loops.
int64_t planeOffset(const Loops& loops, int64_t plane) {
  int64_t offset = 0;
  for (size_t i = loops.lengths.size() - 2; i-- > 0;) {
    offset += plane % loops.lengths[i] * loops.strides[i];
    plane /= loops.lengths[i];
  }
  return offset;
}

template <class T>
void copyLoops(const std::byte* from, const Loops& loops, std::byte* to, int64_t elements,
               const kernels::Parallel& parallel) {
  size_t rank = loops.lengths.size();
  const int64_t* lengths = loops.lengths.data() + rank - 2;
  const int64_t* strides = loops.strides.data() + rank - 2;
  int64_t rows = lengths[0], row_bytes = lengths[1] * static_cast<int64_t>(sizeof(T));
  int64_t all_rows = elements / lengths[1];
  int64_t grain = std::max<int64_t>(1, kTaskBytes / row_bytes);
  parallel.forEach(all_rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end;) {
      int64_t plane = row / rows, first = row % rows;
      int64_t last = std::min(rows, first + end - row);
      copyPlane<T>(from + planeOffset(loops, plane), lengths, strides,
                   to + plane * rows * row_bytes, first, last);
      row += last - first;
    }
  });
}

}  // namespace

Dims byteStrides(const Shape& shape) {
  Dims strides = rowMajorStrides(shape.dims);
  for (int64_t& stride : strides) stride *= static_cast<int64_t>(byteSize(shape.dtype));
  return strides;
}

bool isDense(const Shape& shape, std::span<const int64_t> byte_strides) {
  if (shape.elements() == 0) return true;
  Dims dense = byteStrides(shape);
  for (size_t i = 0; i < dense.size(); ++i) {
    if (shape.dims[i] != 1 && dense[i] != byte_strides[i]) return false;
  }
  return true;
}

void copyStrided(const void* from, const Shape& shape, std::span<const int64_t> byte_strides,
                 void* to, const kernels::Parallel& parallel) {
  int64_t elements = shape.elements();
  if (elements == 0) return;
  const auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(to);
  if (isDense(shape, byte_strides)) {
    return parallel.forEach(shape.bytes(), kTaskBytes, [&](int64_t begin, int64_t end) {
      std::memcpy(target + begin, source + begin, static_cast<size_t>(end - begin));
    });
  }
  Loops loops = simplify(shape, byte_strides);
  visitWord(byteSize(shape.dtype), [&]<class Word>() {
    copyLoops<Word>(source, loops, target, elements, parallel);
  });
}

void copyToLayout(const void* from, const ArrayType& type, void* to,
                  std::span<const int64_t> layout) {
  const Dims strides = shownOrder(byteStrides(type.inMemory()), type.layout);
  copyStrided(from, ArrayType(type.shape, Dims(layout)).inMemory(), memoryOrder(strides, layout), to,
              kernels::Parallel{});
}

}  // namespace tercel::runtime
