// An Artifact with the code for this machine's CPU in memory.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "program/artifact.h"
#include "runtime/engine/loaded_program.h"

namespace tercel::engine {

class LoadedArtifact {
 public:
  // Takes the first target whose instruction sets this CPU has; FAILED_PRECONDITION where none is.
  // `file`: of an Artifact or of a Program, which becomes an artifact with the procedure `main` and
  // no globals. weights_path: of the side file of an artifact that has one.
  static Result<std::shared_ptr<const LoadedArtifact>> load(program::HeldBytes file,
                                                            const std::string& weights_path);

  struct Procedure {
    std::string full_name;  // with its signature, for messages
    std::shared_ptr<LoadedProgram> code;
  };

  const program::Artifact& artifact() const { return artifact_; }
  const std::string& target() const { return artifact_.targets[target_]; }
  const std::vector<Procedure>& procedures() const { return procedures_; }
  // Of an instance: working memory, and the values of the mutable globals.
  int64_t arenaBytes() const { return arena_bytes_ + scratch_bytes_; }
  int64_t scratchBytes() const { return scratch_bytes_; }  // the arena's last, of who calls
  int64_t globalsBytes() const { return globals_bytes_; }
  // Of a mutable global, in an instance's values.
  int64_t offsetOf(size_t global) const { return offsets_[global]; }

 private:
  Status wrapProgram(program::HeldBytes file);
  Status loadCode();
  Status loadProcedures(size_t target);
  Status checkInterface(const program::Procedure& procedure, const program::Program& code) const;
  Status placeGlobals();

  program::Artifact artifact_;
  size_t target_ = 0;
  std::vector<Procedure> procedures_;
  std::vector<int64_t> offsets_;
  int64_t arena_bytes_ = 0, scratch_bytes_ = 0;
  int64_t globals_bytes_ = 0;
};

// A Program file's program; of an artifact's file that of its only procedure, for this CPU.
Result<program::Program> readProgram(std::span<const std::byte> file);

// The globals' values of an artifact that keeps them in the file `path`; empty for others.
Status readWeights(program::Artifact& artifact, const std::string& path);

}  // namespace tercel::engine
