// What LLVM and the emitter need to know of each architecture.
#pragma once
#include <llvm/IR/CallingConv.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/MC/TargetRegistry.h>

#include "core/architecture.h"

namespace tercel::codegen {

struct Backend {
  const char* triple;
  const llvm::Target* target;
  // Functions of it keep half of the vector registers, and so what the caller's loop has in them.
  llvm::CallingConv::ID rare_convention;
  // Makes streaming stores visible before what the thread writes next; none where they are.
  llvm::Intrinsic::ID streaming_fence;
  bool has_own_pipeline;  // pipeline.h's, else LLVM's
};

const Backend& backendOf(Architecture architecture);

}  // namespace tercel::codegen
