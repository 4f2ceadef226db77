"""Makes Tercel known to JAX. Everything that depends on JAX's version is in this file."""

import atexit
import ctypes
import functools
import inspect
import os

import jax
import numpy as np
from jax._src import dlpack, xla_bridge
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jax.extend.core import primitives

from tercel import handlers
from tercel.library import library_path

NAME = "tercel"
# Below JAX's own CPU backend (0): being installed must not change what a program runs on.
PRIORITY = -10

_options = {}


def set_options(**options):
    """Options of the client, named as in `TERCEL_<NAME>` (num_threads=4); before JAX's first use."""
    if xla_bridge.backends_are_initialized():
        raise RuntimeError("set Tercel's options before the first use of JAX's devices")
    _options.update(options)


def initialize():
    """Registers the backend; JAX calls this once, before it creates any."""
    library = _library_in_environment()
    if library:  # JAX registers the backend itself
        _share_handlers(library)
        atexit.register(_keep_made)  # it runs before JAX drops what it made
        return
    _let_cpu_in()
    if _platforms()[0] == NAME:  # the default
        _take_dlpack()
        for name in ("erf", "erfc", "bessel_i1e"):
            _widen(name)
    try:
        c_api = _load()
    except Exception as error:  # told to those who ask for Tercel, and to nobody else
        factory, c_api = functools.partial(_fail, error), None
    else:
        factory = _make_client
    wanted = {
        "priority": PRIORITY,
        # Where JAX_PLATFORMS names Tercel, JAX reports a failure whatever this says.
        "fail_quietly": True,
        "experimental": False,
        "make_topology": c_api and functools.partial(_topology, c_api),
        "c_api": c_api,
    }
    known = inspect.signature(xla_bridge.register_backend_factory).parameters
    xla_bridge.register_backend_factory(
        NAME, factory, **{key: value for key, value in wanted.items() if key in known})


def _make_client():
    client = xla_bridge.make_pjrt_c_api_client(NAME, lambda: dict(_options))
    _keep(client)
    return client


def _keep(client):
    """Never destroyed: NumPy's views of arrays call it when they go, and do not hold it."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(client))


def _keep_made():
    if client := getattr(xla_bridge, "_backends", {}).get(NAME):
        _keep(client)


def _library_in_environment():
    """The library that PJRT_NAMES_AND_LIBRARY_PATHS names, as whom we register only once."""
    for entry in os.environ.get("PJRT_NAMES_AND_LIBRARY_PATHS", "").split(","):
        name, _, path = entry.partition(":")
        if name.strip() == NAME:
            return path.strip()
    return None


def _platforms():
    return (jax.config.jax_platforms or "").split(",")


def _let_cpu_in():
    """Adds JAX's CPU backend to a list without it: its callbacks into Python need that."""
    platforms = _platforms()
    if NAME in platforms and "cpu" not in platforms:
        jax.config.update("jax_platforms", ",".join(platforms + ["cpu"]))


def _take_dlpack():
    """What lies in the host's memory becomes an array of Tercel's by `from_dlpack`."""
    platforms = getattr(dlpack, "_DL_DEVICE_TO_PLATFORM", {})
    for device_type, platform in platforms.items():
        if platform == "cpu":
            platforms[device_type] = NAME
    names = [name for name in ("_jax", "_xla") if hasattr(dlpack, name)]
    if platforms and names:
        setattr(dlpack, names[0], _CopyingImport(getattr(dlpack, names[0])))


class _CopyingImport:
    """jaxlib's module, but that tensors which must be copied come in by way of JAX's CPU backend.

    jaxlib copies what is not aligned to 64 bytes in a way that no plugin of the C API has.
    """

    def __init__(self, module):
        self._module = module

    def __getattr__(self, name):
        return getattr(self._module, name)

    def dlpack_managed_tensor_to_buffer(self, capsule, device, stream, *rest):
        take = self._module.dlpack_managed_tensor_to_buffer
        try:
            return take(capsule, device, stream, *rest)
        except xla_client.XlaRuntimeError as error:
            if "HostBufferSemantics" not in str(error):
                raise
        host = xla_bridge.get_backend("cpu").local_devices()[0]
        return jax.device_put(np.asarray(take(capsule, host, stream, *rest)), device)


def _widen(name):
    """jaxlib cannot write this function of floats of 8 bits and less: they are widened first."""
    function = getattr(primitives, name + "_p")
    lower = getattr(mlir, "_lowerings", {}).get(function)
    if lower is None:
        return

    def rule(context, x, **options):
        if context.avals_in[0].dtype.itemsize > 1:
            return getattr(lower, "rule", lower)(context, x, **options)
        return mlir.lower_fun(
            lambda x: function.bind(x.astype("float32"), **options).astype(x.dtype),
            multiple_results=False)(context, x)

    mlir.register_lowering(function, rule)


def _load():
    path = library_path()
    c_api = xla_bridge.xla_client.load_pjrt_plugin_dynamically(NAME, path)
    profiler = getattr(xla_bridge, "_profiler", None)
    if profiler is not None:
        profiler.register_plugin_profiler(c_api)
    _share_handlers(path)
    return c_api


def _share_handlers(path):
    """Custom calls registered for JAX's CPU backend, before or later, run on Tercel too.

    JAX keeps the first function that asks for them, so ours passes them on to jaxlib's own: that
    first, since it gives the types their ids.
    """
    ours, theirs = handlers.Library(path), xla_client._xla
    ours.set_python()
    ours.finish_at_exit()
    # Until 0.8.0 a type was its id alone.
    for name, take in (("register_custom_type", ours.register_type),
                       ("register_custom_type_id", ours.register_type),
                       ("register_custom_call_target", ours.register_handler)):
        listen = getattr(xla_client, name.removesuffix("_target") + "_handler", None)
        if listen:
            listen("cpu", handlers.both(getattr(theirs, name), take))


def _topology(c_api, *arguments, **options):
    return xla_bridge.xla_client.make_c_api_device_topology(c_api, *arguments, **options)


def _fail(error):
    raise RuntimeError(f"Tercel cannot be used: {error}") from error
