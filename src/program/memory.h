// Which slots may lie in the same memory.
#pragma once
#include "program/program.h"

namespace tercel::program {

// Whether there are several of it: a slot's index says which.
constexpr bool isNumbered(Place place) {
  return place == Place::argument || place == Place::result;
}

// The slot by the memory it lies in: a donated argument in its result's.
inline Slot memoryOf(const Program& program, Slot slot) {
  if (!isNumbered(slot.place)) slot.index = 0;
  if (slot.place != Place::argument) return slot;
  int32_t result = program.arguments[slot.index].aliased_result;
  if (result >= 0) slot.place = Place::result, slot.index = static_cast<uint32_t>(result);
  return slot;
}

}  // namespace tercel::program
