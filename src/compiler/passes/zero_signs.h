// Which arrays have no element -0.
#pragma once
#include <unordered_map>
#include <vector>

#include "compiler/passes/rewriter.h"

namespace tercel::passes {

class ZeroSigns {
 public:
  // What a loop carries is looked up by these.
  void enterLoop(const Rewriter& rw, const ir::Op& loop);
  bool isNeverNegative(const Rewriter& rw, ir::Value v) { return visit(rw, v, kDepth); }

 private:
  static constexpr int kDepth = 8;  // ops back from the one asked for
  struct Carried {
    ir::Value start, next;
  };

  bool visit(const Rewriter& rw, ir::Value v, int depth);
  bool visitCarried(const Rewriter& rw, ir::Value v, int depth);

  std::unordered_map<uint32_t, Carried> carried_;  // by the body's argument
  std::vector<uint32_t> assumed_;                  // arguments that are being looked at
};

}  // namespace tercel::passes
