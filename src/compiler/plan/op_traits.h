// What fusion asks of an op.
#pragma once
#include "compiler/ir/module.h"

namespace tercel::plan {

// Can be evaluated at an index inside a kernel.
bool isFusible(const ir::Module& module, const ir::Op& op);
// The memory of its operand, as it is: under another shape, or complex numbers as pairs of real ones.
bool isView(const ir::Module& module, const ir::Op& op);
// So cheap that each cluster which uses it computes it for itself.
bool isDuplicable(const ir::Module& module, const ir::Op& op);
// Cheap work on arrays that are much smaller than its result: less to make again than to read.
bool isSpreadOut(const ir::Module& module, const ir::Op& op);
// Constants, and what is broadcast to at least eight times as many elements.
bool isMuchSmaller(const ir::Module& module, ir::Value v, int64_t elements);
// A slice, at a known or unknown place, whose elements lie apart in what it is taken from.
bool isColumn(const ir::Module& module, const ir::Op& slice);
// One vector instruction for each of thousands of elements.
bool isCheapOnMany(const ir::Module& module, const ir::Op& op);
// A constant that lives in the constant pool.
bool isMemoryConstant(const ir::Op& op);
// A sum over a loop at each element: at most one in a cluster, evaluated once for each element.
bool isHeavy(ir::OpKind kind);
// Multiplications of a dot_general.
double productsOf(const ir::Module& module, const ir::Op& op);
// Reads each element of its operands many times.
bool rereadsOperands(const ir::Module& module, const ir::Op& op);
// A concatenation of so many pieces of one memory that to choose among them at each element is more
// work than to put each where it belongs.
bool isJoinedInMemory(const ir::Module& module, const ir::Op& op);
// How many rows of each operand a concatenation has beside each other.
int64_t rowsJoined(const ir::Module& module, const ir::Op& op);
// A concatenation of single elements to rows of a few, as jnp.stack writes it: in a loop over such
// rows each operand is evaluated once (kernel/nest_join.cc).
bool joinsOnes(const ir::Module& module, const ir::Op& op);
// Of so many operands that where it is one of several choices each is evaluated too often.
bool joinsManyOnes(const ir::Module& module, const ir::Op& op);
// The same of lines of several elements to rows of a few vectors, which a loop over rows makes one
// after another (kernel/nest_join_lines.cc); and whether a line is made of lines by an op, cheaply.
bool joinsManyLines(const ir::Module& module, const ir::Op& op);
bool goesInLines(const ir::Module& module, const ir::Op& op);
bool isFreeMovement(ir::OpKind kind);
bool isCallOrControl(const ir::Op& op);
// Whether nothing writes to the region's argument while the region runs: main's, where no result
// takes its memory.
bool staysAsItIs(const ir::Module& module, ir::RegionId region, ir::Value argument);
// Writes to its first operands in place, where those are not needed any more.
bool updatesInPlace(ir::OpKind kind);
// Whether a scatter computes it on the way as well as a loop ahead of it would.
bool joinsScatter(const ir::Module& module, const ir::Op& op, const ir::Op& scatter);
// The most that one kernel may hold, in the units of opWeight.
inline constexpr double kMaxClusterWeight = 160;
// How much it adds to the size of a kernel, in vector instructions.
double opWeight(const ir::Module& module, const ir::Op& op);
// Whether arrays of these sizes stay in the nearer caches from one loop to the next.
bool staysNear(const Dims& dims);
// How much an element loop over `dims` may hold. Where arrays stay in the cache and a loop is long
// beside its call, smaller kernels are as fast, and an unrolled program needs fewer different ones.
double maxLoopWeight(const Dims& dims);
// And where less would be many arrays that the next one reads. Small ones are read sooner than a
// long kernel is compiled.
double maxWideLoopWeight(const Dims& dims);
// How many arrays one such loop may leave to another, rather than that they are one.
size_t narrowCut(const Dims& dims);
// Whether a trip of its result through memory, which is beyond the nearer caches, takes as long as some
// dozens of operations.
bool isFar(const ir::Module& module, const ir::Op& op);
// How often each of its elements may be evaluated when it joins its user.
double allowedRepeats(const ir::Module& module, const ir::Op& op);

}  // namespace tercel::plan
