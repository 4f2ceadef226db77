// Parts of arrays that loops read by slices.
#pragma once
#include <optional>

#include "compiler/kernel/cluster.h"

namespace tercel::plan {

// Whether the loop's op is a slice of an input, as large as what the loop makes.
bool isPart(const ir::Module& m, const kernel::Cluster& loop, const ir::Op& op);

// Elements of an array as it lies.
struct Span {
  int64_t first = 0, last = 0;
};
// From the first to the last one that such slices have of v; none where none is of it.
std::optional<Span> partsOf(const ir::Module& m, const kernel::Cluster& loop, ir::Value v);
// Whether most of one is in the other.
bool lieTogether(Span a, Span b);
// Whether rows of results begin where cache lines do. Several that do not are stored sooner one
// array after another.
bool storesLines(const ir::Module& m, const kernel::Cluster& loop);

}  // namespace tercel::plan
