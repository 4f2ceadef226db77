// Extension 19, Shardings: per parameter or output a serialized xla.OpSharding (size 0: none).
#pragma once
#include "pjrt/abi/error.h"

struct PJRT_Shardings_PJRT_Executable_ParameterShardings_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  size_t num_parameters;         // out
  const char* const* shardings;  // out
  const size_t* sharding_sizes;  // out
};
PJRT_SIZE(PJRT_Shardings_PJRT_Executable_ParameterShardings_Args, sharding_sizes);

struct PJRT_Shardings_PJRT_Executable_OutputShardings_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  size_t num_outputs;            // out
  const char* const* shardings;  // out
  const size_t* sharding_sizes;  // out
};
PJRT_SIZE(PJRT_Shardings_PJRT_Executable_OutputShardings_Args, sharding_sizes);

struct PJRT_Shardings_Extension {
  PJRT_Extension_Base base;
  PJRT_Error* (*PJRT_Shardings_PJRT_Executable_ParameterShardings)(
      PJRT_Shardings_PJRT_Executable_ParameterShardings_Args* args);
  PJRT_Error* (*PJRT_Shardings_PJRT_Executable_OutputShardings)(
      PJRT_Shardings_PJRT_Executable_OutputShardings_Args* args);
};
PJRT_SIZE(PJRT_Shardings_Extension, PJRT_Shardings_PJRT_Executable_OutputShardings);
