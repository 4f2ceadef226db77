#include "pjrt/extensions.h"

namespace tercel::pjrt {

PJRT_Extension_Base* extensions() {
  static PJRT_Layouts_Extension layouts = layoutsExtension();
  static PJRT_Shardings_Extension shardings = shardingsExtension();
  static PJRT_MemoryDescriptions_Extension memory_descriptions = memoryDescriptionsExtension();
  static PJRT_FFI_Extension ffi = ffiExtension();
  layouts.base.next = &shardings.base;
  shardings.base.next = &memory_descriptions.base;
  memory_descriptions.base.next = &ffi.base;
  return &layouts.base;
}

}  // namespace tercel::pjrt
