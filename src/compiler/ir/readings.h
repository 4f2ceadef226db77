// How values read an array: at the element that they are of, at that of a part of it, or at any.
#pragma once
#include <span>
#include <unordered_map>

#include "compiler/ir/module.h"

namespace tercel::ir {

// Part of an array: where it starts, as numbers or else as the values that say so.
struct Window {
  Ints start;
  Values at;
  Dims dims;
  bool operator==(const Window&) const = default;
};

// What an update writes to.
Window windowOf(const Module& module, const Op& update);

enum class Read : uint8_t { none, in_place, window, elsewhere };

struct Reading {
  Read read = Read::none;
  Window window = {};
  bool operator==(const Reading&) const = default;
};

// Of one array: ops are added in their order.
class Readings {
 public:
  Readings(const Module& module, Value array) : m_(module) { of_[array.index] = {Read::in_place}; }
  void add(const Op& op);
  void add(Value v, Read read) { of_[v.index] = {read}; }
  Reading of(Value v) const;

  // Whether each element that an update takes is made of no other than the one it takes the place
  // of.
  bool updatesWhereItReads(const Op& update) const;

 private:
  Reading reading(const Op& op) const;

  const Module& m_;
  std::unordered_map<uint32_t, Reading> of_;  // of others: none
};

}  // namespace tercel::ir
