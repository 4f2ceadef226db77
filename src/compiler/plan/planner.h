// Turns the units of regions into steps over storages.
#pragma once
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/plan/captures.h"
#include "compiler/plan/fuse.h"
#include "compiler/plan/plan.h"
#include "compiler/plan/storage.h"

namespace tercel::plan {

// The operand whose memory a custom_call's result shares, or -1.
int64_t aliasedOperand(const ir::Op& op, size_t result);

class Planner {
 public:
  Planner(const ir::Module& module, const CanCall& can_call) : m_(module), can_call_(can_call) {}
  Result<Plan> run();

 private:
  // A region being planned. last_use: the last unit that reads a storage, region results included.
  struct Scope {
    ir::RegionId region;
    std::vector<Unit> units;
    std::unordered_map<uint32_t, size_t> last_use;    // by root value
    std::unordered_map<uint32_t, StorageId> wanted;   // root value -> where it should be made
    std::vector<ir::Value> pinned;  // live on after the region
    std::unordered_set<uint32_t> own;  // values the region makes, its arguments included
    size_t unit = 0;
    uint32_t sequence = 0;
  };

  void bindArguments();
  void bindResults(Scope& scope);
  void openRegion(Scope& scope);
  void want(Scope& scope, ir::Value result, StorageId there);
  Status planRegion(Scope& scope);
  void noteOwn(Scope& scope) const;
  void findLastUses(Scope& scope);
  void wantBefore(Scope& scope);
  void wantPieces(Scope& scope, const ir::Op& op, size_t unit);
  void noteReads(const ir::Op& op, size_t unit, Scope& scope);
  void noteReads(const kernel::Cluster& cluster, size_t unit, Scope& scope);

  Status planUnit(Scope& scope, Unit& unit);
  Status planCluster(Scope& scope, kernel::Cluster cluster);
  StorageId storageInPlace(Scope& scope, const kernel::Cluster& cluster, size_t output);
  Status planInPlace(Scope& scope, kernel::Cluster cluster);
  Status planOp(Scope& scope, const ir::Op& op);
  Status planWhile(Scope& scope, const ir::Op& op);
  StorageId placeCarried(Scope& scope, const ir::Op& op, size_t i,
                         std::span<const StorageId> taken);
  Status planCondition(ir::RegionId region, const std::vector<StorageId>& carried,
                       StorageId predicate, uint32_t* sequence);
  Status planBody(ir::RegionId region, const std::vector<StorageId>& carried, uint32_t* sequence);
  uint32_t newSequence();
  Status planParallelLoop(Scope& scope, const ir::Op& op);
  Status planTurn(const ir::Op& op, std::span<const StorageId> carried, Scope& turn);
  bool runsInTurns(const ir::Op& op) const;
  void noteUnread(const ir::Region& region);
  bool isUnread(const kernel::Cluster& cluster) const;
  Status planBranch(Scope& scope, const ir::Op& op);
  Status planFork(Scope& scope, const ir::Op& op);
  // A sequence that makes the region's results in those storages; to `sequences`.
  Status planInto(ir::RegionId region, std::span<const StorageId> results,
                  std::vector<uint32_t>& sequences);
  Status planConcatenate(Scope& scope, const ir::Op& op);
  StorageId placeJoined(Scope& scope, const ir::Op& op);
  Status joinRows(Scope& scope, const ir::Op& op, int64_t rows, StorageId to);
  Status planSort(Scope& scope, const ir::Op& op);
  Status planFft(Scope& scope, const ir::Op& op);
  Status planCustomCall(Scope& scope, const ir::Op& op);
  Status decideAssertion(const ir::Op& op) const;
  StorageId placeResult(Scope& scope, const ir::Op& op, ir::Value result);
  StorageId shareOperand(Scope& scope, const ir::Op& op, size_t o, ir::Value result);

  ir::Value root(ir::Value v) const;
  StorageId storageOf(ir::Value v);
  StorageId constantStorage(const ir::Literal& literal);
  StorageId sliceStorage(ir::Value slice);
  StorageId pieceOf(StorageId whole, int64_t offset, int64_t bytes);
  StorageId numbersStorage(const kernel::Cluster& cluster);
  StorageId poolStorage(std::span<const std::byte> bytes);
  StorageId newStorage(ir::Value v);
  // Puts the arena storages from `first` on together in one that lives for as long as all of them.
  StorageId packStorages(StorageId first);
  // What was there before `begin` and has been touched since is needed until now.
  void keepUntilNow(int64_t begin);
  // These, which were set aside, and what has been touched since.
  void touchedBefore(std::vector<StorageId> earlier);
  // From now on the value is kept there.
  StorageId keep(uint32_t value, StorageId there);
  // The storage whose memory it is, or may be at run time.
  StorageId holder(StorageId id) const;
  // That it lies in.
  StorageId whole(StorageId id) const;
  // The values that lie in its memory by now.
  std::vector<uint32_t> heldIn(StorageId id) const;
  bool diesHere(const Scope& scope, ir::Value v) const;
  // Where `maker` makes a value: the place wanted for it, else a new one.
  StorageId place(Scope& scope, ir::Value v, const kernel::Cluster& maker,
                  ir::Value copied = {});
  bool isToBeMoved(const Scope& scope, uint32_t value, StorageId there) const;
  bool mayWrite(const Scope& scope, StorageId target, const kernel::Cluster& cluster,
                ir::Value output, ir::Value copied = {});
  bool pieceIsFree(const Scope& scope, StorageId piece) const;
  void copy(Scope& scope, StorageId from, StorageId to, int64_t bytes);
  void copyAll(Scope& scope, std::vector<std::pair<StorageId, StorageId>> moves);
  // The value into exactly that storage.
  void deliver(Scope& scope, ir::Value v, StorageId to);
  void reuseInputs(const Scope& scope, kernel::Cluster& cluster);
  void noteShared(kernel::Cluster& cluster);
  std::vector<std::pair<uint32_t, StorageId>> enterLoop(Scope& scope, kernel::Cluster& cluster);
  void startTurns(Scope& scope, const kernel::Cluster& cluster);

  program::Step& addStep(Scope& scope, program::StepKind kind);
  void addKernelStep(Scope& scope, kernel::Cluster& cluster);
  uint32_t slot(StorageId id);
  void touch(StorageId id);
  uint32_t kernelFor(const kernel::Cluster& cluster);
  std::string nameOf(const kernel::Cluster& cluster) const;
  Status unsupported(const ir::Op& op) const;
  void finish();

  const ir::Module& m_;
  const CanCall& can_call_;
  Plan plan_;
  std::vector<Storage> storages_;
  std::unordered_map<uint32_t, StorageId> storage_of_;  // by root value
  std::unordered_map<uint32_t, ir::Value> view_of_;
  std::unordered_map<const void*, StorageId> constants_;
  std::unordered_map<std::string, uint32_t> kernels_;
  std::vector<uint32_t> slot_of_;
  std::vector<StorageId> touched_;  // since the innermost loop began
  std::unordered_set<uint32_t> unread_;  // what parallel loops start from
  bool in_turn_ = false;            // of a parallel loop
  int64_t time_ = 0;
};

}  // namespace tercel::plan
