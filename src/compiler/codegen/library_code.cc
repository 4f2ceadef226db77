#include "compiler/codegen/library_code.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Object/ArchiveWriter.h>
#include <llvm/Support/Path.h>

#include <algorithm>

#include "compiler/codegen/machine.h"

namespace tercel::codegen {
namespace {

// A function of the engine that a library has under its own name. `takes_library`: the first
// parameter of the engine's is the library.
struct Forwarded {
  const char* name;
  const char* target;
  char result;             // c: a code, p: a pointer, v: nothing
  const char* parameters;  // p: a pointer, n: a size
  bool takes_library = false;
};

constexpr Forwarded kForwarded[] = {
    {"load", "tercel_embedded_load", 'c', "pp", true},
    {"create", "tercel_embedded_create", 'c', "pp", true},
    {"destroy", "tercel_instance_destroy", 'v', "p"},
    {"error_message", "tercel_error_message", 'p', ""},
    {"api", "tercel_embedded_api", 'p', "", true},
    {"get_global", "tercel_instance_get_global", 'c', "pnpn"},
    {"set_global", "tercel_instance_set_global", 'c', "pnpn"},
    {"save_state", "tercel_instance_save_state", 'c', "pp"},
    {"load_state", "tercel_instance_load_state", 'c', "pp"},
};

class LibraryEmitter {
 public:
  LibraryEmitter(const LibraryCode& library, llvm::Module& module)
      : library_(library), module_(module), b_(module.getContext()) {
    pointer_ = b_.getPtrTy();
    size_ = b_.getInt64Ty();
  }

  void emit() {
    emitArtifact();
    for (const Forwarded& f : kForwarded) emitForwarded(f);
    for (size_t p = 0; p < library_.procedures.size(); ++p) emitProcedure(p);
  }

 private:
  llvm::Constant* bytes(llvm::StringRef content, const char* name, unsigned alignment) {
    llvm::Constant* value =
        llvm::ConstantDataArray::getRaw(content, content.size(), b_.getInt8Ty());
    auto* global = new llvm::GlobalVariable(module_, value->getType(), /*isConstant=*/true,
                                            llvm::GlobalValue::PrivateLinkage, value, name);
    global->setAlignment(llvm::Align(alignment));
    return global;
  }

  // As struct tercel_embedded has it.
  void emitArtifact() {
    llvm::StringRef content(reinterpret_cast<const char*>(library_.artifact.data()),
                            library_.artifact.size());
    llvm::Constant* weights = llvm::ConstantPointerNull::get(b_.getPtrTy());
    if (!library_.weights_name.empty()) {
      weights = bytes({library_.weights_name.c_str(), library_.weights_name.size() + 1},
                      "weights_name", 1);
    }
    llvm::Constant* fields[] = {bytes(content, "artifact", 64), b_.getInt64(content.size()),
                                weights, partsList()};
    auto* type = llvm::StructType::get(pointer_, size_, pointer_, pointer_);
    embedded_ = new llvm::GlobalVariable(module_, type, /*isConstant=*/true,
                                         llvm::GlobalValue::PrivateLinkage,
                                         llvm::ConstantStruct::get(type, fields), "embedded");
  }

  // The functions of the parts, and a null pointer.
  llvm::Constant* partsList() {
    llvm::SmallVector<llvm::Constant*, 4> functions;
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), false);
    for (const std::string& part : library_.parts) {
      auto callee = module_.getOrInsertFunction(cat("tercel_part_", part), type);
      functions.push_back(llvm::cast<llvm::Function>(callee.getCallee()));
    }
    functions.push_back(llvm::ConstantPointerNull::get(b_.getPtrTy()));
    auto* list = llvm::ArrayType::get(pointer_, functions.size());
    return new llvm::GlobalVariable(module_, list, /*isConstant=*/true,
                                    llvm::GlobalValue::PrivateLinkage,
                                    llvm::ConstantArray::get(list, functions), "parts");
  }

  // Makes a function and enters it.
  llvm::Function* define(const std::string& name, llvm::Type* result,
                         llvm::ArrayRef<llvm::Type*> parameters) {
    auto* type = llvm::FunctionType::get(result, parameters, /*isVarArg=*/false);
    auto* function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                            cat(library_.name, "_", name), module_);
    function->addFnAttr(llvm::Attribute::NoUnwind);
    b_.SetInsertPoint(llvm::BasicBlock::Create(module_.getContext(), "entry", function));
    return function;
  }

  llvm::FunctionCallee engine(const char* name, llvm::Type* result,
                              llvm::ArrayRef<llvm::Value*> arguments) {
    llvm::SmallVector<llvm::Type*, 8> types;
    for (llvm::Value* argument : arguments) types.push_back(argument->getType());
    auto callee = module_.getOrInsertFunction(name, llvm::FunctionType::get(result, types, false));
    // The engine is linked into the same library.
    llvm::cast<llvm::Function>(callee.getCallee())->setVisibility(llvm::GlobalValue::HiddenVisibility);
    return callee;
  }

  void emitForwarded(const Forwarded& f) {
    llvm::SmallVector<llvm::Type*, 4> types;
    for (char c : std::string_view(f.parameters)) types.push_back(c == 'p' ? pointer_ : size_);
    llvm::Type* result = b_.getInt32Ty();
    if (f.result == 'v') result = b_.getVoidTy();
    if (f.result == 'p') result = pointer_;
    llvm::Function* function = define(f.name, result, types);
    llvm::SmallVector<llvm::Value*, 5> arguments;
    if (f.takes_library) arguments.push_back(embedded_);
    for (llvm::Argument& argument : function->args()) arguments.push_back(&argument);
    llvm::CallInst* call = b_.CreateCall(engine(f.target, result, arguments), arguments);
    if (f.result == 'v') {
      b_.CreateRetVoid();
    } else {
      b_.CreateRet(call);
    }
  }

  // int <name>_<procedure>(instance, arguments..., results...): tercel_buffers of them on the
  // stack, each taken to be large enough.
  void emitProcedure(size_t number) {
    const LibraryProcedure& procedure = library_.procedures[number];
    const size_t count = procedure.arguments + procedure.results;
    llvm::Function* function =
        define(procedure.name, b_.getInt32Ty(),
               llvm::SmallVector<llvm::Type*, 8>(count + 1, pointer_));
    auto* buffer = llvm::StructType::get(pointer_, size_);
    llvm::Value* buffers = b_.CreateAlloca(buffer, b_.getInt64(std::max<size_t>(count, 1)));
    auto at = [&](size_t i) { return b_.CreateConstInBoundsGEP1_64(buffer, buffers, i); };
    for (size_t i = 0; i < count; ++i) {
      b_.CreateStore(function->getArg(static_cast<unsigned>(i + 1)),
                     b_.CreateStructGEP(buffer, at(i), 0));
      b_.CreateStore(b_.getInt64(~0ull), b_.CreateStructGEP(buffer, at(i), 1));
    }
    llvm::Value* arguments[] = {embedded_,
                                function->getArg(0),
                                b_.getInt64(number),
                                buffers,
                                b_.getInt64(procedure.arguments),
                                at(procedure.arguments),
                                b_.getInt64(procedure.results)};
    b_.CreateRet(
        b_.CreateCall(engine("tercel_embedded_call", b_.getInt32Ty(), arguments), arguments));
  }

  const LibraryCode& library_;
  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  llvm::PointerType* pointer_;
  llvm::Type* size_;
  llvm::GlobalVariable* embedded_ = nullptr;
};

}  // namespace

bool isLibraryFunction(std::string_view name) {
  return std::ranges::any_of(kForwarded, [&](const Forwarded& f) { return f.name == name; });
}

Result<ObjectCode> compileLibraryCode(const LibraryCode& library, Architecture architecture) {
  TERCEL_ASSIGN(const Target target, Target::named(toString(architecture)));
  Machine machine(target, {}, Output::object, Selection::llvm);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = machine.newModule(context);
  LibraryEmitter(library, *module).emit();
  TERCEL_CHECK(!llvm::verifyModule(*module), "malformed code of library ", library.name);
  const llvm::StringRef object = machine.run(*module);
  ObjectCode code;
  const auto* first = reinterpret_cast<const std::byte*>(object.data());
  code.bytes.assign(first, first + object.size());
  for (const LibraryProcedure& procedure : library.procedures) {
    code.symbols.push_back(cat(library.name, "_", procedure.name));
  }
  return code;
}

Result<std::vector<std::byte>> archiveOf(const std::vector<std::string>& objects) {
  std::vector<llvm::NewArchiveMember> members;
  for (const std::string& object : objects) {
    auto member = llvm::NewArchiveMember::getFile(object, /*Deterministic=*/true);
    if (!member) return internalError("cannot read ", object, ": ", toString(member.takeError()));
    member->MemberName = llvm::sys::path::filename(object);
    members.push_back(std::move(*member));
  }
  auto archive = llvm::writeArchiveToBuffer(members, llvm::SymtabWritingMode::NormalSymtab,
                                            llvm::object::Archive::K_GNU, /*Deterministic=*/true,
                                            /*Thin=*/false);
  if (!archive) return internalError("no archive: ", toString(archive.takeError()));
  const auto* first = reinterpret_cast<const std::byte*>((*archive)->getBufferStart());
  return std::vector<std::byte>(first, first + (*archive)->getBufferSize());
}

}  // namespace tercel::codegen
