// Which parts of a kernel's scratch memory can be values.
#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "compiler/kernel/kernel.h"

namespace tercel::kernel {

// Elements [first, end) of a buffer, a value of their own where loops and branches carry them; the
// other lanes of its type are any.
struct Slot {
  int64_t first, end;
  Type type;
};

// Of the buffers that are only loaded and stored at places known now.
struct ScratchSlots {
  std::vector<Slot> slots;
  std::vector<int> of_inst;  // the slot that an instruction loads or stores, or -1
};
ScratchSlots findSlots(const Kernel& kernel);

// The elements of its buffer that an instruction loads or stores; none where they are not known now.
using ElementRange = std::pair<int64_t, int64_t>;
std::optional<ElementRange> rangeOf(const Kernel& kernel, const Inst& inst);

}  // namespace tercel::kernel
