// Programs on native code, judged by the evaluator.
#pragma once
#include <string>
#include <string_view>

#include "compile/closeness.h"
#include "compile/values.h"
#include "compiler/eval/evaluator.h"
#include "compiler/ir/module.h"
#include "compiler/kernel/cluster.h"

namespace tercel::compiler {

// The module of one text: the functions' text without `module @... {}` around it.
ir::Module moduleOf(std::string_view functions);

// "" where native code computes what the evaluator does, else what is wrong. An argument that
// shares a result's memory is passed both ways: apart from it, and in it. The arena is full of
// garbage before; what lies around the results is untouched afterwards.
std::string nativeError(const ir::Module& module, Numbers numbers, Closeness closeness);

// The same as an expectation, with the text in the message.
void expectNative(std::string_view functions, Numbers numbers = Numbers::small,
                  Closeness closeness = Closeness::sums());

// How often the text of the module's first kernel has `what`.
int64_t countInKernel(const ir::Module& module, std::string_view what,
                      const kernel::Machine& machine = {});

}  // namespace tercel::compiler
