"""Tercel compiles and runs JAX programs on the CPU.

    JAX_PLATFORMS=tercel python program.py        # or jax.config.update("jax_platforms", "tercel")

Where nothing is set, JAX keeps its own CPU backend as the default, and Tercel is there as
jax.devices("tercel").
"""

from tercel.library import library_path
from tercel.registration import set_options

__version__ = "0.1.0"
__all__ = ["library_path", "set_options", "__version__"]
