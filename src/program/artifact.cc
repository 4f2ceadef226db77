#include "program/artifact.h"

#include <algorithm>
#include <new>
#include <set>

#include "program/file_header.h"
#include "program/file_io.h"

namespace tercel::program {
namespace {

constexpr FileKind kArtifactFile{"TERCELAR", "artifact", kArtifactVersion};
constexpr size_t kLeastText = 8;

template <class IO, class Values>
void transferValues(IO& io, Values& values) {
  io.list(values, 2 * kLeastText, [&](auto& value) {
    io.text(value.name);
    transferShape(io, value.shape);
  });
}

template <class IO, class ProcedureT>
void transferProcedure(IO& io, ProcedureT& procedure) {
  io.text(procedure.name);
  io.text(procedure.signature);
  io.text(procedure.tree);
  transferNumbers(io, procedure.used);
  transferNumbers(io, procedure.stored);
  transferValues(io, procedure.arguments);
  transferValues(io, procedure.results);
  io.bytes(procedure.module);
  io.number(procedure.platform);
  io.list(procedure.codes, 2 * kLeastText, [&](auto& code) {
    io.number(code.size);
    io.bytes(code.bytes);
  });
}

template <class IO, class ArtifactT>
void transferArtifact(IO& io, ArtifactT& artifact) {
  io.text(artifact.name);
  io.text(artifact.tree);
  io.list(artifact.targets, kLeastText, [&](auto& target) { io.text(target); });
  io.list(artifact.globals, 2 * kLeastText, [&](auto& global) {
    io.text(global.name);
    transferShape(io, global.shape);
    io.flag(global.is_mutable);
    io.flag(global.is_initialized);
    io.number(global.offset);
  });
  io.list(artifact.procedures, 10 * kLeastText,
          [&](auto& procedure) { transferProcedure(io, procedure); });
  io.flag(artifact.has_side_file);
  io.number(artifact.data_bytes);
  io.number(artifact.data_hash);
  io.number(artifact.shared_offset);
  io.number(artifact.num_threads);
}

bool isIdentifier(const std::string& text) {
  auto isLetter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  for (char c : text)
    if (!isLetter(c) && !(c >= '0' && c <= '9')) return false;
  return !text.empty() && isLetter(text[0]);
}

Status checkShape(const std::string& name, const Shape& shape) {
  if (static_cast<size_t>(shape.dtype) >= kDTypeCount ||
      !sizeIsRepresentable(shape.dims, byteSize(shape.dtype))) {
    return invalidArgument(name, " has an impossible shape");
  }
  return Status();
}

Status checkGlobals(const Artifact& artifact) {
  std::set<std::string> names;
  for (const Global& global : artifact.globals) {
    TERCEL_TRY(checkShape(global.name, global.shape));
    if (!names.insert(global.name).second) {
      return invalidArgument("two globals are called ", global.name);
    }
    if (!global.is_initialized) continue;
    const int64_t bytes = global.shape.bytes(), all = static_cast<int64_t>(artifact.data_bytes);
    if (global.offset < 0 || global.offset % kDataAlignment != 0 || global.offset > all ||
        bytes > all - global.offset) {
      return invalidArgument("global ", global.name, " lies outside of the artifact's data");
    }
  }
  return Status();
}

Status checkGlobalNumbers(const Artifact& artifact, const Procedure& procedure) {
  std::vector<bool> seen(artifact.globals.size());
  for (uint32_t global : procedure.used) {
    if (global >= seen.size() || seen[global]) return invalidArgument("bad list of globals used");
    seen[global] = true;
  }
  seen.assign(seen.size(), false);
  for (uint32_t global : procedure.stored) {
    if (global >= seen.size() || seen[global]) return invalidArgument("bad list of globals stored");
    seen[global] = true;
    if (!artifact.globals[global].is_mutable) {
      return invalidArgument("stores global ", artifact.globals[global].name,
                             ", which is not mutable");
    }
  }
  return Status();
}

Status checkProcedure(const Artifact& artifact, const Procedure& procedure) {
  if (!isIdentifier(procedure.name)) {
    return invalidArgument("a procedure's name must be a C identifier");
  }
  for (const NamedValue& value : procedure.arguments) {
    TERCEL_TRY(checkShape(cat("argument ", value.name), value.shape));
  }
  for (const NamedValue& value : procedure.results) {
    TERCEL_TRY(checkShape(cat("result ", value.name), value.shape));
  }
  if (procedure.codes.size() != artifact.targets.size()) {
    return invalidArgument("has code for ", procedure.codes.size(), " of ",
                           artifact.targets.size(), " targets");
  }
  return checkGlobalNumbers(artifact, procedure);
}

}  // namespace

std::string fullName(const Procedure& procedure) {
  if (procedure.signature.empty()) return procedure.name;
  return cat(procedure.name, "_", procedure.signature);
}

Status checkNumThreads(int32_t num_threads) {
  if (num_threads >= 1 && num_threads <= 1024) return Status();
  return invalidArgument("the number of threads is to be 1 to 1024, not ", num_threads);
}

Status validateArtifact(const Artifact& artifact) {
  if (!isIdentifier(artifact.name)) {
    return invalidArgument("the program's name must be a C identifier, not '", artifact.name, "'");
  }
  TERCEL_TRY(checkNumThreads(artifact.num_threads));
  TERCEL_TRY(checkGlobals(artifact));
  if (artifact.shared_offset > artifact.data_bytes || artifact.shared_offset % kDataAlignment != 0)
    return invalidArgument("the shared constants lie outside of the artifact's data");
  std::set<std::string> names;
  for (const Procedure& procedure : artifact.procedures) {
    const std::string name = fullName(procedure);
    TERCEL_TRY(checkProcedure(artifact, procedure).within(cat("procedure ", procedure.name)));
    if (!isIdentifier(name)) {
      return invalidArgument("procedure ", procedure.name, " has the signature '",
                             procedure.signature, "', which cannot stand in a C identifier");
    }
    if (!names.insert(name).second) return invalidArgument("two procedures are called ", name);
  }
  return Status();
}

std::vector<std::byte> serializeArtifact(const Artifact& artifact) {
  Writer writer;
  startFile(writer.out);
  transferArtifact(writer, artifact);
  if (!artifact.has_side_file) {
    writer.out.resize(alignedSize(writer.out.size()));
    writer.out.insert(writer.out.end(), artifact.data.bytes.begin(), artifact.data.bytes.end());
  }
  sealFile(writer.out, kArtifactFile);
  return std::move(writer.out);
}

bool isArtifact(std::span<const std::byte> bytes) { return isFile(bytes, kArtifactFile); }

Result<Artifact> deserializeArtifact(HeldBytes file) try {
  TERCEL_ASSIGN(const auto content, openFile(file.bytes, kArtifactFile));
  Artifact artifact;
  Reader reader(content);
  transferArtifact(reader, artifact);
  const uint64_t inside = artifact.has_side_file ? 0 : artifact.data_bytes;
  const size_t padding = artifact.has_side_file ? 0 : kDataAlignment - 1;
  if (reader.failed() || inside > reader.remaining() ||
      reader.remaining() - inside > padding) {
    return invalidArgument("artifact file is malformed");
  }
  TERCEL_TRY(validateArtifact(artifact));
  if (!artifact.has_side_file) artifact.data = {file.holder, file.bytes.last(inside)};
  return artifact;
} catch (const std::bad_alloc&) {
  return resourceExhausted("no memory for an artifact file of ", file.bytes.size(), " bytes");
}

std::span<const std::byte> sharedOf(const Artifact& artifact) {
  const std::span<const std::byte> data = artifact.data.bytes;
  return data.subspan(std::min<size_t>(artifact.shared_offset, data.size()));
}

void takeShared(std::span<const std::byte> shared, Program& program) {
  if (program.shared_bytes == 0) return;
  const size_t begin = alignedSize(program.constants.size());
  program.constants.resize(begin);
  program.constants.insert(program.constants.end(), shared.begin(),
                           shared.begin() + program.shared_bytes);
  program.shared_bytes = 0;
  for (Slot& slot : program.slots) {
    if (slot.place != Place::shared) continue;
    slot.place = Place::constant;
    slot.offset += static_cast<int64_t>(begin);
  }
}

Status checkData(const Artifact& artifact) {
  const std::span<const std::byte> data = artifact.data.bytes;
  if (data.size() == artifact.data_bytes && hashBytes(data) == artifact.data_hash) return Status();
  return Status(Code::data_loss, cat("the weights of ", artifact.name,
                                     " are not those it was saved with"));
}

}  // namespace tercel::program
