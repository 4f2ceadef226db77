// The plugin as a whole.
#pragma once
#include "pjrt/abi/base.h"

struct PJRT_Plugin_Initialize_Args {
  PJRT_HEAD;
};
PJRT_SIZE(PJRT_Plugin_Initialize_Args, extension_start);

struct PJRT_Plugin_Attributes_Args {
  PJRT_HEAD;
  const PJRT_NamedValue* attributes;  // out
  size_t num_attributes;              // out
};
PJRT_SIZE(PJRT_Plugin_Attributes_Args, num_attributes);
