"""Hands the handlers of custom calls to Tercel: LAPACK's, which jaxlib brings, users' own
(jax.ffi), and our own for callbacks into Python."""

import atexit
import ctypes
import logging
import os
import time

from tercel import callbacks

_STAGES = ("instantiate", "prepare", "initialize", "execute")
_UNTYPED = 0  # JAX's number for handlers without a call frame

_log = logging.getLogger(__name__)
_python = None  # the trampoline: alive as long as the process

_capsule_name = ctypes.pythonapi.PyCapsule_GetName
_capsule_name.argtypes, _capsule_name.restype = [ctypes.py_object], ctypes.c_char_p
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_capsule_pointer.restype = ctypes.c_void_p


def address(capsule):
    return capsule and _capsule_pointer(capsule, _capsule_name(capsule))


@ctypes.CFUNCTYPE(None)
def _initialize_lapack():
    """JAX does so when it lowers a call of LAPACK, not for programs that come from elsewhere."""
    from jaxlib import lapack
    lapack._lapack.initialize()


class Library:
    """The plugin's functions of tercel_ffi.h."""

    def __init__(self, path):
        library = ctypes.CDLL(path)
        self._handler = library.tercel_ffi_register_handler
        self._handler.argtypes = [ctypes.c_char_p] + [ctypes.c_void_p] * 4
        self._untyped = library.tercel_ffi_register_untyped
        self._untyped.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
        self._type = library.tercel_ffi_register_type
        self._type.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p]
        for function in (self._handler, self._untyped, self._type):
            function.restype = ctypes.c_char_p
        self._failed = library.tercel_ffi_python_failed
        self._failed.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
        self._failed.restype = None
        self._set_python = library.tercel_ffi_set_python
        self._set_python.argtypes, self._set_python.restype = [ctypes.c_void_p], None
        self._set_lapack = library.tercel_ffi_set_lapack
        self._set_lapack.argtypes, self._set_lapack.restype = [ctypes.c_void_p], None

        self._last_work = library.tercel_ffi_last_work
        self._last_work.argtypes, self._last_work.restype = [], ctypes.c_int64
        self._is_unfinished = library.tercel_ffi_is_unfinished
        self._is_unfinished.argtypes, self._is_unfinished.restype = [ctypes.c_int64], ctypes.c_int

    def finish_at_exit(self):
        """The interpreter waits for what is queued: it may call Python, and threads that find the
        interpreter gone are ended where they are."""
        def finish():
            last = self._last_work()
            while self._is_unfinished(last):
                time.sleep(0.001)
        atexit.register(finish)
        # Queues' threads do not exist in a forked process, whose queues do not go on.
        os.register_at_fork(after_in_child=lambda: atexit.unregister(finish))

    def set_python(self):
        global _python
        _python = callbacks.trampoline(self._failed)
        self._set_python(ctypes.cast(_python, ctypes.c_void_p))
        self._set_lapack(ctypes.cast(_initialize_lapack, ctypes.c_void_p))

    def register_handler(self, name, function, platform, api_version=0, traits=None):
        """As jaxlib's register_custom_call_target."""
        del platform, traits
        stages = function if isinstance(function, dict) else {"execute": function}
        addresses = [address(stages.get(stage)) for stage in _STAGES]
        target = name if isinstance(name, bytes) else name.encode()
        if api_version == _UNTYPED:
            self._report(self._untyped(target, addresses[-1]))
        else:
            self._report(self._handler(target, *addresses))

    def register_type(self, name, registration):
        """As jaxlib's register_custom_type: a capsule of the id, or a dict with type_info too."""
        known = registration if isinstance(registration, dict) else {"type_id": registration}
        self._report(self._type(name.encode(), address(known["type_id"]),
                                address(known.get("type_info"))))

    def _report(self, error):
        # Not raised: JAX's own CPU backend has taken it, and who calls the target is told.
        if error:
            _log.warning("Tercel: %s", error.decode(errors="replace"))


def both(first, second):
    """A function that calls two with the same arguments."""

    def call(*arguments, **options):
        first(*arguments, **options)
        second(*arguments, **options)

    return call
