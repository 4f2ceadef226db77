// What instruction set extensions there are, and which of them this CPU has.
#pragma once
#include <string_view>

namespace tercel {

// Whether generated code may be told of an extension of x86-64: whether a machine that lacks it can
// refuse the code.
bool isCpuFeature(std::string_view name);

// Whether this machine has it. Of what is no such extension it has none. Code for others than
// x86-64 asks for nothing that one of their CPUs may lack.
bool cpuHas(std::string_view name);

}  // namespace tercel
