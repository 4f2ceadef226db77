"""The library's C interface for running programs, src/program/tercel_program.h, in ctypes."""

import ctypes
import functools
import operator

import numpy as np

from tercel.library import library_path

VERSION = 2
ALIGNMENT = 64  # of results that need no copy

# In the order of tercel_dtype: the library's names, and numpy's or those of ml_dtypes.
DTYPES = {
    "pred": "bool", "s8": "int8", "s16": "int16", "s32": "int32", "s64": "int64",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
    "c64": "complex64", "c128": "complex128",
    "s2": "int2", "s4": "int4", "u2": "uint2", "u4": "uint4",
    "f4E2M1FN": "float4_e2m1fn", "f6E2M3FN": "float6_e2m3fn", "f6E3M2FN": "float6_e3m2fn",
    "f8E3M4": "float8_e3m4", "f8E4M3": "float8_e4m3", "f8E4M3B11FNUZ": "float8_e4m3b11fnuz",
    "f8E4M3FN": "float8_e4m3fn", "f8E4M3FNUZ": "float8_e4m3fnuz", "f8E5M2": "float8_e5m2",
    "f8E5M2FNUZ": "float8_e5m2fnuz", "f8E8M0FNU": "float8_e8m0fnu"}
_NUMBERED = tuple(DTYPES.values())

OK, UNKNOWN, UNIMPLEMENTED = 0, 2, 12
_INVALID_ARGUMENT, _NOT_FOUND = 3, 5


class ProgramError(RuntimeError):
    """An error of the library; `code` is a tercel_code."""

    def __init__(self, message, code):
        super().__init__(message)
        self.code = code


class InvalidArgument(ProgramError, ValueError):
    pass


class NotFound(ProgramError, LookupError):
    pass


class Unimplemented(ProgramError, NotImplementedError):
    pass


_ERRORS = {_INVALID_ARGUMENT: InvalidArgument, _NOT_FOUND: NotFound,
           UNIMPLEMENTED: Unimplemented}


class Sized(ctypes.Structure):
    """A struct whose first field is its size, as this file knows it."""

    def __init__(self, **fields):
        super().__init__(struct_size=ctypes.sizeof(self), **fields)


class ValueInfo(Sized):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p),
                ("dtype", ctypes.c_int), ("rank", ctypes.c_int32),
                ("dims", ctypes.POINTER(ctypes.c_int64)), ("bytes", ctypes.c_int64),
                ("is_initialized", ctypes.c_int32), ("is_mutable", ctypes.c_int32)]


class ProcedureInfo(Sized):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p),
                ("signature", ctypes.c_char_p), ("tree", ctypes.c_char_p),
                ("num_arguments", ctypes.c_size_t), ("num_results", ctypes.c_size_t)]


class ProgramInfo(Sized):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p),
                ("target", ctypes.c_char_p), ("num_procedures", ctypes.c_size_t),
                ("num_globals", ctypes.c_size_t), ("arena_bytes", ctypes.c_int64),
                ("globals_bytes", ctypes.c_int64), ("tree", ctypes.c_char_p),
                ("num_threads", ctypes.c_int32)]


class Buffer(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]


class CustomCall(Sized):
    _fields_ = [("struct_size", ctypes.c_size_t), ("target", ctypes.c_char_p),
                ("configuration", ctypes.c_char_p), ("num_operands", ctypes.c_size_t),
                ("operands", ctypes.POINTER(ctypes.c_void_p)),
                ("operand_bytes", ctypes.POINTER(ctypes.c_int64)),
                ("num_results", ctypes.c_size_t), ("results", ctypes.POINTER(ctypes.c_void_p)),
                ("result_bytes", ctypes.POINTER(ctypes.c_int64)),
                ("operand_types", ctypes.POINTER(ValueInfo)),
                ("result_types", ctypes.POINTER(ValueInfo))]


CustomCallFunction = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(CustomCall))


class LoadOptions(Sized):
    _fields_ = [("struct_size", ctypes.c_size_t), ("weights_path", ctypes.c_char_p),
                ("borrow_bytes", ctypes.c_int32)]


class InstanceOptions(Sized):
    _fields_ = [("struct_size", ctypes.c_size_t), ("num_threads", ctypes.c_int32),
                ("parallel_for", ctypes.c_void_p), ("parallel_for_data", ctypes.c_void_p),
                ("arena", ctypes.c_void_p), ("arena_bytes", ctypes.c_size_t),
                ("allocate", ctypes.c_void_p), ("release", ctypes.c_void_p),
                ("allocator_data", ctypes.c_void_p), ("custom_call", CustomCallFunction),
                ("custom_call_data", ctypes.c_void_p)]


_POINTER, _SIZE, _TEXT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p
_OUT = ctypes.c_void_p  # the address of what is filled in

_FUNCTIONS = {
    "tercel_program_load": [_POINTER, _SIZE, _OUT, _OUT],
    "tercel_program_open": [_TEXT, _OUT, _OUT],
    "tercel_program_describe": [_POINTER, _OUT],
    "tercel_program_global": [_POINTER, _SIZE, _OUT],
    "tercel_program_procedure": [_POINTER, _SIZE, _OUT],
    "tercel_program_argument": [_POINTER, _SIZE, _SIZE, _OUT],
    "tercel_program_result": [_POINTER, _SIZE, _SIZE, _OUT],
    "tercel_instance_create": [_POINTER, _OUT, _OUT],
    "tercel_instance_call": [_POINTER, _SIZE, _OUT, _SIZE, _OUT, _SIZE],
    "tercel_instance_get_global": [_POINTER, _SIZE, _POINTER, _SIZE],
    "tercel_instance_set_global": [_POINTER, _SIZE, _POINTER, _SIZE],
    "tercel_instance_save_state": [_POINTER, _TEXT],
    "tercel_instance_load_state": [_POINTER, _TEXT],
}
_RELEASES = ("tercel_program_destroy", "tercel_instance_destroy")


@functools.cache
def library():
    """The plugin's library, with its functions declared."""
    opened = ctypes.CDLL(library_path())
    declare(opened, _FUNCTIONS, _RELEASES)
    opened.tercel_error_message.argtypes, opened.tercel_error_message.restype = [], _TEXT
    opened.tercel_api_version.argtypes, opened.tercel_api_version.restype = [], ctypes.c_int32
    found = opened.tercel_api_version()
    if found != VERSION:
        raise RuntimeError(f"{library_path()} has version {found} of the interface for programs, "
                           f"this package needs {VERSION}")
    return opened


def declare(opened, functions, releases):
    for name, types in functions.items():
        getattr(opened, name).argtypes, getattr(opened, name).restype = types, ctypes.c_int
    for name in releases:
        getattr(opened, name).argtypes, getattr(opened, name).restype = [_POINTER], None


def check(code, where=""):
    """Raises what a function of the library returned, where that is an error."""
    if code:
        message = library().tercel_error_message().decode(errors="replace")
        raise _ERRORS.get(code, ProgramError)(f"{where}: {message}" if where else message, code)


def int32(value, what):
    """The number itself: ctypes would drop its upper bits."""
    given = operator.index(value)
    if not -2**31 <= given < 2**31:
        raise ValueError(f"{what}={given} is out of range")
    return given


def number(dtype):
    return _NUMBERED.index(np.dtype(dtype).name)


def dtype(number):
    return _dtype(_NUMBERED[number])


def dtype_named(name):
    """Of the library's name, as f32."""
    return _dtype(DTYPES[name])


def _dtype(name):
    if hasattr(np, name):
        return np.dtype(name)
    import ml_dtypes  # only programs with such types need it
    return np.dtype(getattr(ml_dtypes, name))


def kind(dtype):
    """NumPy's letter, of bool to complex; it has none for the types of ml_dtypes."""
    if dtype.kind != "V":
        return dtype.kind
    return dtype.name[0] if "int" in dtype.name else "f"


def type_text(shape, kind):
    """float32[8,64]."""
    return f"{kind}[{','.join(map(str, shape))}]"
