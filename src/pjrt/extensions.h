// The extensions that we advertise.
#pragma once
#include "pjrt/abi/ext_layouts.h"
#include "pjrt/abi/ext_memory_descriptions.h"
#include "pjrt/abi/ext_shardings.h"

namespace tercel::pjrt {

// The list of them all. FFI (abi/ext_ffi.h) joins it when custom calls do: while it is absent the
// client creates no execute contexts and hands over no handlers.
PJRT_Extension_Base* extensions();

// Each one's table, with `base.next` not yet set.
PJRT_Layouts_Extension layoutsExtension();
PJRT_Shardings_Extension shardingsExtension();
PJRT_MemoryDescriptions_Extension memoryDescriptionsExtension();

}  // namespace tercel::pjrt
