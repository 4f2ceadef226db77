// The edits of a reduction. Each changes a copy of the module; one that breaks it is found out by the
// verifier, so that none needs to know all rules.
#pragma once
#include <functional>

#include "compiler/ir/module.h"

namespace tercel::tools {

// Takes an edited copy: true where it is kept, and the edits go on from there.
using Attempt = std::function<bool(ir::Module)>;

// Each goes once through the module that `now` is, which an attempt that is kept changes.
void dropResults(const ir::Module& now, const Attempt& attempt);
void dropArguments(const ir::Module& now, const Attempt& attempt);
void replaceOps(const ir::Module& now, const Attempt& attempt);    // by operands, arguments, zeros
void dropOperands(const ir::Module& now, const Attempt& attempt);  // of sorts and concatenations
void takeBranches(const ir::Module& now, const Attempt& attempt);
void shrinkSizes(const ir::Module& now, const Attempt& attempt);
void simplifyConstants(const ir::Module& now, const Attempt& attempt);
void simplifyAttributes(const ir::Module& now, const Attempt& attempt);

// The ops of main, those of its regions among them, in order.
std::vector<ir::OpId> opsOfMain(const ir::Module& module);

}  // namespace tercel::tools
