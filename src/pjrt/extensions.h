// The extensions that we advertise.
#pragma once
#include "pjrt/abi/ext_ffi.h"
#include "pjrt/abi/ext_layouts.h"
#include "pjrt/abi/ext_memory_descriptions.h"
#include "pjrt/abi/ext_shardings.h"

namespace tercel::pjrt {

// The list of them all.
PJRT_Extension_Base* extensions();

// Each one's table, with `base.next` not yet set.
PJRT_Layouts_Extension layoutsExtension();
PJRT_Shardings_Extension shardingsExtension();
PJRT_MemoryDescriptions_Extension memoryDescriptionsExtension();
PJRT_FFI_Extension ffiExtension();

}  // namespace tercel::pjrt
