// One array element as text and back: bit-exact both ways, NaN payloads included.
#pragma once
#include <string>
#include <string_view>

#include "core/dtype.h"

namespace tercel::ir {

// true 1 -0.5 inf nan:0x7fc00001; the parts of complex numbers are printed one by one.
void appendElement(std::string& out, bool value);
template <class T>
void appendElement(std::string& out, T value);

// False where `text` is not a T or is out of its range.
bool parseElement(std::string_view text, bool* value);
template <class T>
bool parseElement(std::string_view text, T* value);

}  // namespace tercel::ir
