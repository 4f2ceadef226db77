// x86's tile registers (AMX): 8 KiB of each thread's state, which Linux keeps only for processes
// that ask for it.
#pragma once

namespace tercel {

// Asks, once; false where CPU or kernel lack them, or where the kernel refuses.
bool useTileRegisters();

}  // namespace tercel
