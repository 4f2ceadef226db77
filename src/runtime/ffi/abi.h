// The C ABI of XLA's foreign function interface: our own transcription of its facts (names, types,
// order, numbers), for versions 0.1 to 0.5. tests/ffi/abi_check.py compares it with a header.
//
// A struct starts with its size as its maker knew it. Versions rename and append; where the same
// size means different fields, the version of the handler decides (StateSet).
#pragma once
#include <cstddef>
#include <cstdint>

inline constexpr int XLA_FFI_API_MAJOR = 0;
inline constexpr int XLA_FFI_API_MINOR = 5;  // of which all entries exist

// A size counts up to the end of a struct's last field, without the padding behind it.
#define FFI_SIZE(S, last_field) \
  inline constexpr size_t S##_STRUCT_SIZE = offsetof(S, last_field) + sizeof(S::last_field)

#define FFI_HEAD      \
  size_t struct_size; \
  XLA_FFI_Extension_Base* extension_start

enum XLA_FFI_Extension_Type : int32_t { XLA_FFI_Extension_Metadata = 1 };

struct XLA_FFI_Extension_Base {
  size_t struct_size;
  XLA_FFI_Extension_Type type;
  XLA_FFI_Extension_Base* next;
};
FFI_SIZE(XLA_FFI_Extension_Base, next);

struct XLA_FFI_Api_Version {
  FFI_HEAD;
  int major_version;
  int minor_version;
};
FFI_SIZE(XLA_FFI_Api_Version, minor_version);

struct XLA_FFI_Api;
struct XLA_FFI_Error;             // defined in error.h
struct XLA_FFI_Future;            // in future.h
struct XLA_FFI_ExecutionContext;  // in context.h; XLA_FFI_InvokeContext since 0.4

using XLA_FFI_Error_Code = int32_t;  // numbers of core/status.h's Code
using XLA_FFI_DataType = int32_t;    // data_type.h

// Arguments and results.
enum XLA_FFI_ArgType : int32_t { XLA_FFI_ArgType_BUFFER = 1 };
enum XLA_FFI_RetType : int32_t { XLA_FFI_RetType_BUFFER = 1 };

struct XLA_FFI_Buffer {
  FFI_HEAD;
  XLA_FFI_DataType dtype;
  void* data;
  int64_t rank;
  const int64_t* dims;
};
FFI_SIZE(XLA_FFI_Buffer, dims);

struct XLA_FFI_Args {
  FFI_HEAD;
  int64_t size;
  const XLA_FFI_ArgType* types;
  void** args;
};
FFI_SIZE(XLA_FFI_Args, args);

struct XLA_FFI_Rets {
  FFI_HEAD;
  int64_t size;
  const XLA_FFI_RetType* types;
  void** rets;
};
FFI_SIZE(XLA_FFI_Rets, rets);

// Attributes.
enum XLA_FFI_AttrType : int32_t {
  XLA_FFI_AttrType_ARRAY = 1,
  XLA_FFI_AttrType_DICTIONARY = 2,
  XLA_FFI_AttrType_SCALAR = 3,
  XLA_FFI_AttrType_STRING = 4,
};

struct XLA_FFI_ByteSpan {
  const char* ptr;
  size_t len;
};

struct XLA_FFI_Scalar {
  XLA_FFI_DataType dtype;
  void* value;
};

struct XLA_FFI_Array {
  XLA_FFI_DataType dtype;
  size_t size;
  void* data;
};

struct XLA_FFI_Attrs {  // sorted by name
  FFI_HEAD;
  int64_t size;
  const XLA_FFI_AttrType* types;
  const XLA_FFI_ByteSpan* const* names;
  void* const* attrs;
};
FFI_SIZE(XLA_FFI_Attrs, attrs);

// A call. Handlers want exactly this struct_size, to which `future` does not count.
enum XLA_FFI_ExecutionStage : int32_t {
  XLA_FFI_ExecutionStage_INSTANTIATE = 0,
  XLA_FFI_ExecutionStage_PREPARE = 1,
  XLA_FFI_ExecutionStage_INITIALIZE = 2,
  XLA_FFI_ExecutionStage_EXECUTE = 3,
  XLA_FFI_ExecutionStage_RECORD = 4,  // 0.4, of command buffers: never on a CPU
};
inline constexpr int kFfiStages = 4;  // that we run

struct XLA_FFI_CallFrame {
  FFI_HEAD;
  const XLA_FFI_Api* api;
  XLA_FFI_ExecutionContext* ctx;
  XLA_FFI_ExecutionStage stage;
  XLA_FFI_Args args;
  XLA_FFI_Rets rets;
  XLA_FFI_Attrs attrs;
  XLA_FFI_Future* future;  // out
};
FFI_SIZE(XLA_FFI_CallFrame, attrs);

using XLA_FFI_Handler = XLA_FFI_Error*(XLA_FFI_CallFrame* frame);

// By stage; 0.5 appends `record`. Only execute must be there.
struct XLA_FFI_Handler_Bundle {
  XLA_FFI_Handler* instantiate;
  XLA_FFI_Handler* prepare;
  XLA_FFI_Handler* initialize;
  XLA_FFI_Handler* execute;
};

using XLA_FFI_Handler_Traits = uint32_t;

struct XLA_FFI_TypeId {
  int64_t type_id;  // 0: unknown
};

struct XLA_FFI_TypeInfo {
  FFI_HEAD;
  void (*deleter)(void* object);
};
FFI_SIZE(XLA_FFI_TypeInfo, deleter);

struct XLA_FFI_Metadata {
  size_t struct_size;
  XLA_FFI_Api_Version api_version;
  XLA_FFI_Handler_Traits traits;
  XLA_FFI_TypeId state_type_id;  // 0.2
};
FFI_SIZE(XLA_FFI_Metadata, state_type_id);

struct XLA_FFI_Metadata_Extension {
  XLA_FFI_Extension_Base base;
  XLA_FFI_Metadata* metadata;
};
FFI_SIZE(XLA_FFI_Metadata_Extension, metadata);

// Arguments of the entries of XLA_FFI_Api.
struct XLA_FFI_Error_Create_Args {
  FFI_HEAD;
  const char* message;
  XLA_FFI_Error_Code errc;
};

struct XLA_FFI_Error_GetMessage_Args {
  FFI_HEAD;
  XLA_FFI_Error* error;
  const char* message;      // out
  XLA_FFI_Error_Code errc;  // out, 0.4: then it is Error_GetDetails
};

struct XLA_FFI_Error_Destroy_Args {
  FFI_HEAD;
  XLA_FFI_Error* error;
};

struct XLA_FFI_Handler_Register_Args {
  FFI_HEAD;
  XLA_FFI_ByteSpan name;
  XLA_FFI_ByteSpan platform;
  XLA_FFI_Handler_Bundle bundle;  // of any length; what follows it lies elsewhere in each
};

struct XLA_FFI_Stream_Get_Args {
  FFI_HEAD;
  XLA_FFI_ExecutionContext* ctx;
  void* stream;  // out
};

struct XLA_FFI_Type_Register_Args {
  FFI_HEAD;
  XLA_FFI_ByteSpan name;
  XLA_FFI_TypeId* type_id;           // in/out
  const XLA_FFI_TypeInfo* type_info;  // 0.2; no struct_size ever counts it
};

struct XLA_FFI_ExecutionContext_Get_Args {
  FFI_HEAD;
  XLA_FFI_ExecutionContext* ctx;
  XLA_FFI_TypeId* type_id;
  void* data;  // out
};

struct XLA_FFI_State_Set_Args {  // 0.3
  FFI_HEAD;
  XLA_FFI_ExecutionContext* ctx;
  XLA_FFI_ExecutionStage stage;
  XLA_FFI_TypeId* type_id;
  void* state;
};

struct XLA_FFI_State_Set_Args_0_1 {  // 0.2: without deleter
  FFI_HEAD;
  XLA_FFI_ExecutionContext* ctx;
  XLA_FFI_TypeId* type_id;
  void* state;
  void (*deleter)(void* state);
};

struct XLA_FFI_State_Get_Args {  // 0.3
  FFI_HEAD;
  XLA_FFI_ExecutionContext* ctx;
  XLA_FFI_ExecutionStage stage;
  XLA_FFI_TypeId* type_id;
  void* state;  // out
};

struct XLA_FFI_State_Get_Args_0_1 {
  FFI_HEAD;
  XLA_FFI_ExecutionContext* ctx;
  XLA_FFI_TypeId* type_id;
  void* state;  // out
};

struct XLA_FFI_DeviceMemory_Allocate_Args {
  FFI_HEAD;
  XLA_FFI_ExecutionContext* ctx;
  size_t size;
  size_t alignment;
  void* data;  // out
};

struct XLA_FFI_DeviceMemory_Free_Args {
  FFI_HEAD;
  XLA_FFI_ExecutionContext* ctx;
  size_t size;
  void* data;
};

using XLA_FFI_Task = void(void* data);

struct XLA_FFI_ThreadPool_Schedule_Args {
  FFI_HEAD;
  XLA_FFI_ExecutionContext* ctx;
  XLA_FFI_Task* task;
  void* data;
};

struct XLA_FFI_ThreadPool_NumThreads_Args {
  FFI_HEAD;
  XLA_FFI_ExecutionContext* ctx;
  int64_t* num_threads;  // out
};

struct XLA_FFI_Future_Create_Args {
  FFI_HEAD;
  XLA_FFI_Future* future;  // out
};

struct XLA_FFI_Future_SetAvailable_Args {
  FFI_HEAD;
  XLA_FFI_Future* future;
};

struct XLA_FFI_Future_SetError_Args {
  FFI_HEAD;
  XLA_FFI_Future* future;
  XLA_FFI_Error* error;  // ours from now on
};

struct XLA_FFI_RunId_Get_Args {
  FFI_HEAD;
  XLA_FFI_ExecutionContext* ctx;
  int64_t run_id;  // out
};

struct XLA_FFI_DeviceOrdinal_Get_Args {
  FFI_HEAD;
  XLA_FFI_ExecutionContext* ctx;
  int32_t device_ordinal;  // out
};

struct XLA_FFI_InvokeContext_FindExtension_Args {
  FFI_HEAD;
  XLA_FFI_ExecutionContext* ctx;
  int64_t extension_type;
  const void* extension;  // out
};

struct XLA_FFI_CustomOptions_Get_Args {
  FFI_HEAD;
  XLA_FFI_ExecutionContext* ctx;
  const XLA_FFI_Attrs* attrs;  // out
};

struct XLA_FFI_Api {
  FFI_HEAD;
  XLA_FFI_Api_Version api_version;
  const void* internal_api;
#define FFI_ENTRY(name, since, last_field) XLA_FFI_Error* (*name)(XLA_FFI_##name##_Args*);
#define FFI_BARE(name, since, result) result (*name)(XLA_FFI_##name##_Args*);
#include "runtime/ffi/api.def"
};
FFI_SIZE(XLA_FFI_Api, CustomOptions_Get);
