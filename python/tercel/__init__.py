"""Tercel compiles and runs JAX programs on the CPU.

    JAX_PLATFORMS=tercel python program.py        # or jax.config.update("jax_platforms", "tercel")

Where nothing is set, JAX keeps its own CPU backend as the default, and Tercel is there as
jax.devices("tercel"). tercel.aot takes programs out of Python; tercel.load runs them again,
without JAX.
"""

import importlib

from tercel.library import library_path
from tercel.load import load

__version__ = "0.1.0"
__all__ = ["aot", "library_path", "load", "set_options", "__version__"]


def __getattr__(name):
    # What needs JAX is imported when it is used: load does without.
    if name == "aot":
        return importlib.import_module("tercel.aot")
    if name == "set_options":
        return importlib.import_module("tercel.registration").set_options
    raise AttributeError(f"module 'tercel' has no attribute {name!r}")
