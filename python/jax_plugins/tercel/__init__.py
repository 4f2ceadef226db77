"""JAX finds Tercel here: jax_plugins is the namespace package that it searches for plugins."""

from tercel.registration import initialize

__all__ = ["initialize"]
