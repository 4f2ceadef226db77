// The other direction of program/packed.h.
#pragma once
#include "program/packed.h"

namespace tercel::aot {

// As they are where packing does not make them fewer.
program::Packed pack(std::vector<std::byte> bytes);

}  // namespace tercel::aot
