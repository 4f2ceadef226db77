"""What a benchmark is: a name, a goal, and a function that makes a program and its arguments."""

import dataclasses
import importlib
import math
import time
from typing import Callable

MODULES = ("elementwise", "products", "training", "loops", "unrolled", "indexing", "linear_algebra")
ALL = {}


def load_all():
    """Fills ALL."""
    for module in MODULES:
        importlib.import_module(module)


@dataclasses.dataclass
class Workload:
    name: str
    group: str
    make: Callable  # () -> (function, arguments)
    goal: float | None = None  # how many times as fast as XLA:CPU a run is to be
    compile_goal: float | None = None  # the same of the compilation
    moved: int = 0  # bytes that any implementation reads and writes
    variants: int = 1  # programs of which the compile times' minimum is taken
    donated: int = 0  # so many arguments, which the first results take the places of
    slow: bool = False  # left out of --quick: XLA:CPU takes many seconds


def workload(group, name=None, **facts):
    """Registers make(); with variants, make(i) gives programs that differ in shape."""

    def register(make):
        entry = Workload(name or make.__name__, group, make, **facts)
        if entry.name in ALL:
            raise ValueError(f"two workloads are called {entry.name}")
        ALL[entry.name] = entry
        return make

    return register


def least_time(run, seconds):
    """The least time of runs, which go on for so many seconds."""
    least, end = math.inf, time.perf_counter() + seconds
    while True:
        begin = time.perf_counter()
        run()
        now = time.perf_counter()
        least = min(least, now - begin)
        if now >= end:
            return least


def normal(*shape, dtype="float32", seed=0):
    """Numbers whose products stay of moderate size."""
    import jax.numpy as jnp
    import numpy as np

    return np.random.default_rng(seed).normal(size=shape).astype(np.float32).astype(
        jnp.dtype(dtype))
