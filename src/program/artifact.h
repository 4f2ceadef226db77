// An Artifact: a program of several procedures that share globals, with code for one or more CPU
// levels. What tercel.aot saves, and what an instance is made of.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/shape.h"
#include "core/status.h"
#include "program/packed.h"
#include "program/program.h"

namespace tercel::program {

// A value by its place in a tree, as params.dense.kernel.
struct NamedValue {
  std::string name;
  Shape shape;
};

struct Global {
  std::string name;
  Shape shape;
  bool is_mutable = false;
  bool is_initialized = false;
  int64_t offset = 0;  // of its value in Artifact::data, 64-byte aligned, where initialized
};

// Its code takes the globals of `used`, then the arguments, and gives the results, then the new
// values of `stored`.
struct Procedure {
  std::string name;
  std::string signature;  // tells apart procedures of one name; "" where there is one
  std::string tree;       // how values are nested: words for whoever saved it
  std::vector<uint32_t> used;
  std::vector<uint32_t> stored;
  std::vector<NamedValue> arguments;
  std::vector<NamedValue> results;
  std::vector<std::byte> module;              // StableHLO, as a portable artifact
  int32_t platform = -1;  // what the module's main takes first where it is for several; -1: one
  std::vector<Packed> codes;  // a Program file for each of Artifact::targets
};

// With its signature, as predict_batch8: one of a kind in its artifact.
std::string fullName(const Procedure& procedure);

// Bytes and what keeps them where they are.
struct HeldBytes {
  std::shared_ptr<const void> holder;
  std::span<const std::byte> bytes;
};

struct Artifact {
  std::string name;                  // a C identifier
  std::string tree;                  // how globals are nested: words for whoever saved it
  std::vector<std::string> targets;  // CPU levels, the most demanding first
  std::vector<Global> globals;
  std::vector<Procedure> procedures;
  bool has_side_file = false;  // `data` stands in a file of its own
  uint64_t data_bytes = 0;
  uint64_t data_hash = 0;
  HeldBytes data;  // the globals' values, then from shared_offset on what is Place::shared
  uint64_t shared_offset = 0;
  int32_t num_threads = 1;  // of instances that do not say, the caller's included
};

inline constexpr uint32_t kArtifactVersion = 5;
inline constexpr size_t kDataAlignment = 64;

// `bytes`, rounded up to whole steps of the alignment.
constexpr size_t alignedSize(size_t bytes) {
  return (bytes + kDataAlignment - 1) / kDataAlignment * kDataAlignment;
}

// The data stands at the end of the file, aligned, and is left out where there is a side file.
std::vector<std::byte> serializeArtifact(const Artifact& artifact);

bool isArtifact(std::span<const std::byte> bytes);

// The data is not copied: it stays in `file`, whose start is aligned to kDataAlignment; a side
// file's is to be set by the caller and checked by checkData. INVALID_ARGUMENT, DATA_LOSS as for a
// Program. The Program files inside are not looked at.
Result<Artifact> deserializeArtifact(HeldBytes file);

// What its programs share, where the data is there.
std::span<const std::byte> sharedOf(const Artifact& artifact);
// Makes what a program shares its own.
void takeShared(std::span<const std::byte> shared, Program& program);

// DATA_LOSS where `artifact.data` is not what was saved.
Status checkData(const Artifact& artifact);

// 1 to 1024.
Status checkNumThreads(int32_t num_threads);

// Numbers out of range, names that are no C identifiers or not unique.
Status validateArtifact(const Artifact& artifact);

}  // namespace tercel::program
