// Locations of the wire as texts of the Module: the name stack JAX gives an op and the innermost
// source line, `jit(f)/jit(main)/add (file.py:12:3)`, or one of them. The ops of a function that
// JAX lowers once for all its calls have no line of their own: they get the function's, which is
// the first call's, or that of the first call read.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/stablehlo/budget.h"
#include "compiler/stablehlo/wire.h"

namespace tercel::stablehlo {

struct Location {
  std::string_view name;
  std::string_view file;
  int64_t line = 0;
  int64_t column = 0;
};

class LocationTable {
 public:
  LocationTable(const WireModule& wire, Budget& budget, ir::Module& module)
      : wire_(wire), budget_(budget), module_(module), ids_(wire.attrs.size(), kNew) {}

  // What is asked for from now on is in this function, itself at `attr`.
  void enterFunction(std::string_view name, uint32_t attr);
  // A call of it, at `attr`; calls come before the functions they call.
  void noteCall(std::string_view function, uint32_t attr);
  // For a function whose ops are read again for each call: what leaveCall() is to be given.
  Location enterCall(uint32_t function, uint32_t call);
  void leaveCall(const Location& outer);
  std::string text(uint32_t attr) const;
  // One text for each attribute, however many ops have it; no valid id where nothing is known.
  Status id(uint32_t attr, ir::LocId* id);

 private:
  void forgetFunction();
  Location inFunction(uint32_t attr) const;

  static constexpr uint32_t kNew = ir::LocId::kNone - 1;

  const WireModule& wire_;
  Budget& budget_;
  ir::Module& module_;
  std::vector<uint32_t> ids_;
  Location function_;
  std::vector<uint32_t> of_function_;  // those of ids_ that hold in this function only
  std::unordered_map<std::string_view, Location> calls_;  // the first one, by function
};

}  // namespace tercel::stablehlo
