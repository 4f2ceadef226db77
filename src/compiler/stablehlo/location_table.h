// Locations of the wire as texts of the Module: the name stack JAX gives an op and the innermost
// source line, `jit(f)/jit(main)/add (file.py:12:3)`, or one of them.
#pragma once
#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/stablehlo/budget.h"
#include "compiler/stablehlo/wire.h"

namespace tercel::stablehlo {

std::string locationText(const WireModule& wire, uint32_t attr);

class LocationTable {
 public:
  LocationTable(const WireModule& wire, Budget& budget, ir::Module& module)
      : wire_(wire), budget_(budget), module_(module), ids_(wire.attrs.size(), kNew) {}

  // One text for each attribute, however many ops have it; no valid id where nothing is known.
  Status id(uint32_t attr, ir::LocId* id);

 private:
  static constexpr uint32_t kNew = ir::LocId::kNone - 1;

  const WireModule& wire_;
  Budget& budget_;
  ir::Module& module_;
  std::vector<uint32_t> ids_;
};

}  // namespace tercel::stablehlo
