"""Calls Python functions on arrays that lie in a running program's memory."""

import ctypes
import functools
import traceback
from typing import NamedTuple

import numpy as np

from tercel import abi


class ArrayType(NamedTuple):
    shape: tuple
    dtype: np.dtype
    memory: type  # a ctypes array of its bytes

    def view(self, address):
        """The array at this address, as long as the call lasts."""
        if self.memory is None:
            return np.empty(self.shape, self.dtype)
        return np.ndarray(self.shape, self.dtype, self.memory.from_address(address))

    def copy(self, address):
        """A read-only copy: functions may keep what they are given, the memory is used again."""
        if self.memory is None:
            return np.empty(self.shape, self.dtype)
        data = ctypes.string_at(address, ctypes.sizeof(self.memory))
        return np.ndarray(self.shape, self.dtype, data)


def _array_type(text):
    """Of f32[2,3]; None for a token."""
    if text == "token":
        return None
    name, dims = text[:-1].split("[")
    shape = tuple(int(dim) for dim in dims.split(",") if dim)
    dtype = abi.dtype_named(name)
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    return ArrayType(shape, dtype, ctypes.c_char * size if size else None)


@functools.lru_cache(maxsize=4096)
def signature(text):
    """The types in "f32[2,3] token > f32[]": of the operands, of the results."""
    operands, results = text.decode().split(">")
    return (tuple(map(_array_type, operands.split())), tuple(map(_array_type, results.split())),
            ctypes.c_void_p * (len(text.split()) - 1))


def call(function, types, addresses):
    """function(operands...) gives the results; a token is None."""
    operands, results, pointers = signature(types)
    where = pointers.from_address(addresses) if addresses else ()
    arguments = [kind and kind.copy(at) for kind, at in zip(operands, where)]
    values = function(*arguments)
    if len(values) != len(results):
        raise RuntimeError(f"a callback returned {len(values)} results instead of {len(results)}")
    for kind, value, at in zip(results, values, where[len(operands):]):
        if kind is None:
            continue
        value = np.asarray(value)
        if value.shape != kind.shape or value.dtype != kind.dtype:
            raise RuntimeError(f"a callback returned {value.dtype}{list(value.shape)} instead of "
                               f"{kind.dtype}{list(kind.shape)}")
        if kind.memory:
            kind.view(at)[...] = value


class Buffer:
    """What jax.experimental.buffer_callback gives to functions: an array in place."""

    def __init__(self, kind, address, writeable):
        self._array = kind.view(address)
        self._array.flags.writeable = writeable

    shape = property(lambda self: self._array.shape)
    dtype = property(lambda self: self._array.dtype)
    ndim = property(lambda self: self._array.ndim)
    writeable = property(lambda self: self._array.flags.writeable)

    def __array__(self, dtype=None, copy=None):
        if dtype is not None and np.dtype(dtype) != self.dtype:
            if copy is False:
                raise ValueError("another dtype needs a copy")
            return self._array.astype(dtype)
        return self._array.copy() if copy else self._array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class ExecutionContext:
    """The first argument of such functions."""

    @property
    def stage(self):
        from jax._src.lib import ffi
        return ffi.ExecutionStage.EXECUTE

    @property
    def stream(self):
        from jax.errors import JaxRuntimeError
        raise JaxRuntimeError("UNIMPLEMENTED: XLA FFI GPU context is not available")


def call_in_place(function, types, addresses):
    """function(context, operands..., results...) writes the results itself."""
    operands, results, pointers = signature(types)
    where = pointers.from_address(addresses) if addresses else ()
    buffers = [kind and Buffer(kind, at, i >= len(operands))
               for i, (kind, at) in enumerate(zip(operands + results, where))]
    function(ExecutionContext(), *buffers)


def trampoline(failed):
    """The C function for tercel_ffi_set_python; failed(call, message, size) is told of errors."""

    def run(function, types, in_place, addresses, running):
        try:
            (call_in_place if in_place else call)(function, types, addresses)
            return 0
        except BaseException:  # whatever it is, it goes to whoever waits for the program
            message = traceback.format_exc().strip().encode(errors="replace")
            failed(running, message, len(message))
            return 1

    return ctypes.CFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p, ctypes.c_int,
                            ctypes.c_void_p, ctypes.c_void_p)(run)
