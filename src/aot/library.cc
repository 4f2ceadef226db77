#include "aot/library.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>

#include "aot/linker.h"
#include "aot/pack.h"
#include "compiler/codegen/library_code.h"
#include "program/files.h"
#include "program/format.h"
#include "runtime/engine/debug_print.h"
#include "runtime/kernels/isa.h"
#include "runtime/linalg/functions.h"

namespace tercel::aot {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCMake = R"(# include() this file, then link to tercel::@ (shared) or tercel::@_static.
if(TARGET tercel::@)
  return()
endif()
add_library(tercel::@ SHARED IMPORTED)
set_target_properties(tercel::@ PROPERTIES
  IMPORTED_LOCATION "${CMAKE_CURRENT_LIST_DIR}/@.so"
  INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_LIST_DIR}")
find_package(Threads REQUIRED)
add_library(tercel::@_static STATIC IMPORTED)
set_target_properties(tercel::@_static PROPERTIES
  IMPORTED_LOCATION "${CMAKE_CURRENT_LIST_DIR}/@.a"
  INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_LIST_DIR}"
  INTERFACE_LINK_LIBRARIES "Threads::Threads;m;dl")
)";

// A folder in which files are made before they take their places; gone with it is what is left.
class Draft {
 public:
  static Result<Draft> make(const fs::path& folder, const std::string& name) {
    std::error_code error;
    fs::create_directories(folder, error);
    static std::atomic<int64_t> drafts{0};  // two threads may save one library at once
    const fs::path draft = folder / cat(".", name, ".", static_cast<int64_t>(getpid()), ".",
                                        drafts.fetch_add(1), ".part");
    if (!error) fs::create_directory(draft, error);
    if (error) return Status(Code::permission_denied,
                             cat("cannot make folder ", folder.string(), ": ", error.message()));
    return Draft(folder, draft);
  }
  Draft(Draft&& other) noexcept
      : folder_(std::move(other.folder_)), draft_(std::move(other.draft_)) {
    other.draft_.clear();
  }
  Draft& operator=(Draft&&) = delete;
  ~Draft() {
    std::error_code ignored;
    if (!draft_.empty()) fs::remove_all(draft_, ignored);
  }

  std::string path(const std::string& file) const { return (draft_ / file).string(); }
  Status write(const std::string& file, std::span<const std::byte> bytes) const {
    return program::writeFile(path(file), bytes);
  }
  Status write(const std::string& file, const std::string& text) const {
    return write(file, std::as_bytes(std::span(text)));
  }
  // What stands in the way of one stops all.
  Status publish(const std::vector<std::string>& files) const {
    std::error_code error;
    auto failed = [&](const std::string& file) {
      return internalError("cannot write ", (folder_ / file).string(), ": ", error.message());
    };
    for (const std::string& file : files) {
      if (!fs::is_directory(folder_ / file)) continue;
      error = std::make_error_code(std::errc::is_a_directory);
      return failed(file);
    }
    for (const std::string& file : files) {
      fs::rename(draft_ / file, folder_ / file, error);
      if (error) return failed(file);
    }
    return Status();
  }

 private:
  Draft(fs::path folder, fs::path draft) : folder_(std::move(folder)), draft_(std::move(draft)) {}
  fs::path folder_, draft_;
};

// Each kernel's object has headers and tables that are longer than its code: one object has them
// once.
Status joinKernels(program::Program& code, const std::string& linker_folder, const Draft& draft) {
  if (code.objects.size() < 2) return Status();
  std::vector<std::string> paths;
  for (const std::vector<std::byte>& object : code.objects) {
    const std::string file = cat("kernel", paths.size(), ".o");
    TERCEL_TRY(draft.write(file, object));
    paths.push_back(draft.path(file));
  }
  const std::string joined = draft.path("kernels.o");
  TERCEL_TRY(joinObjects(paths, linker_folder, joined));
  TERCEL_ASSIGN(const program::HeldBytes file, program::mapFile(joined));
  code.objects = {{file.bytes.begin(), file.bytes.end()}};
  for (program::Kernel& kernel : code.kernels) kernel.object = 0;
  return Status();
}

// The programs of each procedure.
using Codes = std::vector<std::vector<program::Program>>;

Result<Codes> codesOf(const program::Artifact& artifact) {
  Codes codes;
  for (const program::Procedure& procedure : artifact.procedures) {
    std::vector<program::Program>& list = codes.emplace_back();
    for (const program::Packed& packed : procedure.codes) {
      TERCEL_ASSIGN(const std::vector<std::byte> file, program::unpack(packed));
      TERCEL_ASSIGN(list.emplace_back(), program::deserialize(file));
    }
  }
  return codes;
}

// A library is compiled already: what it was compiled from stays behind.
Status packProcedures(program::Artifact& artifact, Codes codes, const std::string& linker_folder,
                      const Draft& draft) {
  for (size_t p = 0; p < codes.size(); ++p) {
    program::Procedure& procedure = artifact.procedures[p];
    procedure.module.clear();
    for (size_t t = 0; t < codes[p].size(); ++t) {
      TERCEL_TRY(joinKernels(codes[p][t], linker_folder, draft));
      procedure.codes[t] = pack(program::serialize(codes[p][t]));
    }
  }
  return Status();
}

// What its code asks for: of the machine, and of the engine's parts, as runtime/library/embedded.h
// calls them; and where that is any, the instruction sets that they are wanted for.
struct Needs {
  std::set<Architecture> architectures;
  std::set<std::string> parts, isas;
};

void addParts(const program::Step& step, std::set<std::string>& parts) {
  if (step.kind == program::StepKind::fft) parts.insert(step.values[1] == 4 ? "fft_f32" : "fft_f64");
  if (step.kind == program::StepKind::sort) parts.insert("sort");
  if (step.kind != program::StepKind::custom_call) return;
  if (step.name == engine::kDebugPrint) parts.insert("debug_print");
  if (linalg::find(step.name)) parts.insert(step.name);
}

Needs needsOf(const Codes& codes) {
  Needs needs;
  for (const std::vector<program::Program>& list : codes) {
    for (const program::Program& code : list) {
      needs.architectures.insert(code.architecture);
      for (const program::Sequence& sequence : code.sequences) {
        for (const program::Step& step : sequence) addParts(step, needs.parts);
      }
    }
  }
  if (needs.parts.empty()) return needs;
  for (const std::vector<program::Program>& list : codes) {
    for (const program::Program& code : list) {
      if (code.architecture != Architecture::x86_64) continue;
      const kernels::Isa isa = kernels::isaOf(code.target_features);
      needs.isas.insert(kernels::kIsaNames[static_cast<int>(isa)]);
    }
  }
  return needs;
}

// Of a library there is one for each.
Result<Architecture> architectureOf(const program::Artifact& artifact, const Needs& needs) {
  if (needs.architectures.empty()) return kHostArchitecture;
  if (needs.architectures.size() == 1) return *needs.architectures.begin();
  std::string names;
  for (Architecture architecture : needs.architectures) {
    names += cat(names.empty() ? "" : " and ", toString(architecture));
  }
  return invalidArgument("a library is for one architecture, and ", artifact.name, " has code for ",
                         names, ": choose `targets` of one of them");
}

// The runtime's objects for it.
Result<std::vector<std::string>> runtimeObjects(const std::string& runtime_folder,
                                                Architecture architecture, const Needs& needs,
                                                bool has_linalg) {
  const std::string folder = cat(runtime_folder, "/", toString(architecture), "/tercel_");
  std::vector<std::string> paths = {folder + (has_linalg ? "runtime_linalg.o" : "runtime.o")};
  for (const std::string& isa : needs.isas) paths.push_back(cat(folder, isa, ".o"));
  if (fs::exists(paths[0]) || architecture == kHostArchitecture) return paths;
  return failedPrecondition("there is no ", paths[0],
                            ": this Tercel was built without a compiler for ",
                            toString(architecture), "; build it where there is one (Debian's "
                            "package g++-", toString(architecture), "-linux-gnu)");
}

Result<codegen::ObjectCode> libraryObject(const program::Artifact& artifact,
                                          Architecture architecture,
                                          const std::string& weights_name, const Needs& needs) {
  const std::vector<std::byte> bytes = program::serializeArtifact(artifact);
  codegen::LibraryCode code{artifact.name, bytes, weights_name, {},
                            {needs.parts.begin(), needs.parts.end()}};
  code.parts.insert(code.parts.end(), needs.isas.begin(), needs.isas.end());
  for (const program::Procedure& procedure : artifact.procedures) {
    code.procedures.push_back({program::fullName(procedure), procedure.arguments.size(),
                               procedure.results.size()});
  }
  return codegen::compileLibraryCode(code, architecture);
}

Status writeHeaders(const program::Artifact& artifact, const std::string& runtime_folder,
                    const Draft& draft) {
  TERCEL_TRY(draft.write(artifact.name + ".h", headerForC(artifact)));
  TERCEL_TRY(draft.write(artifact.name + ".hpp", headerForCpp(artifact)));
  TERCEL_TRY(draft.write(artifact.name + ".cmake", replaced(kCMake, artifact.name)));
  TERCEL_ASSIGN(auto header, program::mapFile(runtime_folder + "/tercel_program.h"));
  return draft.write("tercel_program.h", header.bytes);
}

// <name> is a type in the headers, and <name>_ begins the names of all functions.
Status checkNames(const program::Artifact& artifact) {
  const std::string& name = artifact.name;
  if (isReserved(name) || isOfCLibrary(name)) {
    return invalidArgument("a library cannot be called ", name, ", which means something else in C "
                           "or C++: give the program another `export_name`");
  }
  if (name.starts_with("tercel_")) {
    return invalidArgument("a library cannot be called ", name, ": names with tercel_ in front are "
                           "those of tercel_program.h");
  }
  for (const program::Procedure& procedure : artifact.procedures) {
    const std::string full = program::fullName(procedure);
    const bool is_namespace = full == "program";
    if (!is_namespace && !codegen::isLibraryFunction(full)) continue;
    return invalidArgument("a library has a ", is_namespace ? "namespace " : "function ", name, "_",
                           full, " of its own: the procedure ", procedure.name,
                           " must have another name");
  }
  return Status();
}

// Code that is linked statically reaches 2 GB, and that without what else the executable has.
Status checkSize(const program::Artifact& artifact, const LibraryOptions& options) {
  constexpr size_t kMost = (size_t{1} << 31) - (size_t{1} << 26);
  const size_t bytes = artifact.data.bytes.size();
  if (options.side_file || bytes <= kMost) return Status();
  return invalidArgument("the values of ", artifact.name, " take ", bytes, " bytes, and a library "
                         "has room for ", kMost, ": save them in a side file");
}

Status saveChecked(program::Artifact artifact, const std::string& folder,
                   const LibraryOptions& options) {
  const std::string& name = artifact.name;
  TERCEL_TRY(checkSize(artifact, options));
  TERCEL_ASSIGN(Codes codes, codesOf(artifact));
  const Needs needs = needsOf(codes);
  TERCEL_ASSIGN(const Architecture architecture, architectureOf(artifact, needs));
  auto objectsOf = [&](bool has_linalg) {
    return runtimeObjects(options.runtime_folder, architecture, needs, has_linalg);
  };
  const bool has_linalg = std::ranges::any_of(needs.parts, linalg::find);
  TERCEL_ASSIGN(std::vector<std::string> shared, objectsOf(has_linalg));
  // Of several archives in one program the first one's runtime is that of all.
  TERCEL_ASSIGN(std::vector<std::string> archived, objectsOf(true));
  TERCEL_ASSIGN(const Draft draft, Draft::make(folder, name));
  std::vector<std::string> files = {name + ".so", name + ".a", name + ".h", name + ".hpp",
                                    name + ".cmake", "tercel_program.h"};
  std::string weights;
  if (options.side_file) {
    artifact.has_side_file = true;
    weights = name + ".weights";
    TERCEL_TRY(draft.write(weights, artifact.data.bytes));
    files.insert(files.begin(), weights);
  }
  TERCEL_TRY(packProcedures(artifact, std::move(codes), options.runtime_folder, draft));
  TERCEL_ASSIGN(codegen::ObjectCode object, libraryObject(artifact, architecture, weights, needs));
  for (auto* objects : {&shared, &archived})
    objects->insert(objects->begin(), draft.path(name + ".o"));
  TERCEL_TRY(draft.write(name + ".o", object.bytes));
  TERCEL_TRY(linkShared({name, shared, architecture, options.runtime_folder,
                         draft.path(name + ".so")}));
  TERCEL_ASSIGN(const std::vector<std::byte> archive, codegen::archiveOf(archived));
  TERCEL_TRY(draft.write(name + ".a", archive));
  TERCEL_TRY(writeHeaders(artifact, options.runtime_folder, draft));
  return draft.publish(files);
}

}  // namespace

Status saveLibrary(program::Artifact artifact, const std::string& folder,
                   const LibraryOptions& options) try {
  TERCEL_TRY(program::validateArtifact(artifact));
  TERCEL_TRY(checkNames(artifact));
  return saveChecked(std::move(artifact), folder, options);
} catch (const std::bad_alloc&) {
  return resourceExhausted("no memory to save library ", folder);
} catch (const fs::filesystem_error& error) {
  return internalError("cannot save library ", folder, ": ", error.what());
}

}  // namespace tercel::aot
