"""The library's C interface for making artifacts, src/program/tercel_aot.h, in ctypes."""

import ctypes
import functools
import weakref

from tercel import abi

_NUMBERS = ctypes.POINTER(ctypes.c_int32)


class GlobalSpec(abi.Sized):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p),
                ("dtype", ctypes.c_int), ("rank", ctypes.c_int32),
                ("dims", ctypes.POINTER(ctypes.c_int64)), ("data", ctypes.c_void_p),
                ("is_mutable", ctypes.c_int32)]


class ValueSpec(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_int32),
                ("dims", ctypes.POINTER(ctypes.c_int64))]


class ShapeSpec(ctypes.Structure):
    _fields_ = [("rank", ctypes.c_int32), ("dims", ctypes.POINTER(ctypes.c_int64))]


class ProcedureSpec(abi.Sized):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p),
                ("signature", ctypes.c_char_p), ("module", ctypes.c_char_p),
                ("module_size", ctypes.c_size_t), ("num_used", ctypes.c_size_t),
                ("used", _NUMBERS), ("num_stored", ctypes.c_size_t), ("stored", _NUMBERS),
                ("num_arguments", ctypes.c_size_t), ("arguments", ctypes.POINTER(ValueSpec)),
                ("num_results", ctypes.c_size_t), ("results", ctypes.POINTER(ValueSpec)),
                ("tree", ctypes.c_char_p), ("num_shapes", ctypes.c_size_t),
                ("shapes", ctypes.POINTER(ShapeSpec)),
                ("platform", ctypes.POINTER(ctypes.c_int32))]


class LibraryOptions(abi.Sized):
    _fields_ = [("struct_size", ctypes.c_size_t), ("side_file", ctypes.c_int32),
                ("runtime_directory", ctypes.c_char_p)]


_POINTER, _TEXT = ctypes.c_void_p, ctypes.c_char_p

_FUNCTIONS = {
    "tercel_artifact_create": [_TEXT, _POINTER],
    "tercel_artifact_parse": [_TEXT, ctypes.c_size_t, _TEXT, _POINTER],
    "tercel_artifact_add_global": [_POINTER, _POINTER],
    "tercel_artifact_add_procedure": [_POINTER, _POINTER],
    "tercel_artifact_set_tree": [_POINTER, _TEXT],
    "tercel_artifact_set_optimization_level": [_POINTER, ctypes.c_int32],
    "tercel_artifact_set_num_threads": [_POINTER, ctypes.c_int32],
    "tercel_artifact_compile": [_POINTER, _TEXT],
    "tercel_artifact_serialize": [_POINTER, _POINTER, _POINTER],
    "tercel_artifact_save": [_POINTER, _TEXT],
    "tercel_artifact_save_apart": [_POINTER, _TEXT, _TEXT],
    "tercel_artifact_save_library": [_POINTER, _TEXT, _POINTER],
}


@functools.cache
def library():
    opened = abi.library()
    abi.declare(opened, _FUNCTIONS, ("tercel_artifact_destroy", "tercel_free"))
    return opened


class Builder:
    """A tercel_artifact."""

    def __init__(self, name):
        self.name = name
        self._make(library().tercel_artifact_create, name.encode())

    def copy(self):
        made = object.__new__(Builder)
        made.name, file = self.name, self.serialize()
        made._make(library().tercel_artifact_parse, file, len(file), None)
        return made

    def add_global(self, name, kind, data, mutable):
        """`data` is a dense array, or None where there is no first value."""
        self._call("add_global", ctypes.byref(GlobalSpec(
            name=name.encode(), dtype=abi.number(kind.dtype), rank=len(kind.shape),
            dims=_dims(kind), data=None if data is None else data.ctypes.data,
            is_mutable=mutable)), where=f"{self.name}: global {name}")

    def add_procedure(self, where, name, signature, module, used, stored, arguments, results,
                      tree):
        """`arguments` and `results` are pairs of a name and a type."""
        self._call("add_procedure", ctypes.byref(ProcedureSpec(
            name=name.encode(), signature=signature.encode(), module=module,
            module_size=len(module), num_used=len(used), used=_numbers(used),
            num_stored=len(stored), stored=_numbers(stored), num_arguments=len(arguments),
            arguments=_values(arguments), num_results=len(results), results=_values(results),
            tree=tree.encode())), where=where)

    def set_tree(self, tree):
        self._call("set_tree", tree.encode())

    def set_num_threads(self, num_threads):
        self._call("set_num_threads", abi.int32(num_threads, "num_threads"))

    def compile(self, targets, optimization_level):
        level = abi.int32(optimization_level, "optimization_level")
        self._call("set_optimization_level", level)
        self._call("compile", targets.encode())

    def serialize(self):
        data, size = ctypes.c_void_p(), ctypes.c_size_t()
        self._call("serialize", ctypes.byref(data), ctypes.byref(size))
        try:
            return ctypes.string_at(data, size.value)
        finally:
            library().tercel_free(data)

    def save(self, path, weights_path):
        if weights_path is None:
            self._call("save", path)
        else:
            self._call("save_apart", path, weights_path)

    def save_library(self, directory, side_file, runtime_directory):
        options = LibraryOptions(side_file=side_file, runtime_directory=runtime_directory)
        self._call("save_library", directory, ctypes.byref(options))

    def _make(self, function, *arguments):
        self._address = ctypes.c_void_p()
        abi.check(function(*arguments, ctypes.byref(self._address)), self.name)
        weakref.finalize(self, library().tercel_artifact_destroy, self._address)

    def _call(self, function, *arguments, where=None):
        code = getattr(library(), f"tercel_artifact_{function}")(self._address, *arguments)
        abi.check(code, where or self.name)


def _numbers(values):
    return (ctypes.c_int32 * len(values))(*values)


def _dims(kind):
    return (ctypes.c_int64 * len(kind.shape))(*kind.shape)


def _values(named):
    return (ValueSpec * len(named))(
        *(ValueSpec(name.encode(), abi.number(kind.dtype), len(kind.shape), _dims(kind))
          for name, kind in named))
