"""One op in one type on both backends, in one process."""

import os
import time

os.environ["JAX_PLATFORMS"] = "tercel"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jaxlib import xla_client  # noqa: E402

jax.config.update("jax_enable_x64", True)

BACKENDS = ("tercel", "cpu")
WORDS = {"pred": "bool", "bf16": "bfloat16", "c64": "complex64", "c128": "complex128"}
# What two right implementations of an op may differ by, in units of the largest value.
TOLERANCE = {"f64": 1e-9, "c128": 1e-9, "f32": 1e-3, "c64": 1e-3, "f16": 3e-2, "bf16": 8e-2}


def numpy_type(dtype):
    if dtype.startswith("f8") or dtype.startswith("f4"):
        return jnp.dtype(f"float{dtype[1]}_{dtype[2:].lower()}")
    if dtype[0] in "su" and dtype[1:].isdigit():
        return jnp.dtype(("int" if dtype[0] == "s" else "uint") + dtype[1:])
    return jnp.dtype(WORDS.get(dtype, "float" + dtype[1:]))


def reals(maker, shape, generator):
    if maker == "unit":
        return generator.uniform(-0.9, 0.9, shape)
    if maker == "above_one":
        return generator.uniform(1, 9, shape)
    drawn = generator.normal(size=shape)
    return np.abs(drawn) + 0.25 if maker == "positive" else drawn * 2


def integers(maker, shape, dtype, generator):
    info = jnp.iinfo(dtype)
    low, high = {"normal": (-9, 9), "positive": (1, 9), "unit": (-2, 3), "low": (0, 1),
                 "shift": (0, info.bits - 1), "index": (0, 10000)}[maker]
    drawn = generator.integers(max(low, int(info.min)), min(high, int(info.max)) + 1, shape)
    if maker == "index" and len(shape) == 2 and shape[1] == 2:
        drawn[:, 1] %= 32
    return drawn


def values(maker, shape, dtype, generator):
    if dtype == bool:
        return generator.random(shape) < 0.5
    if jnp.issubdtype(dtype, jnp.integer):
        return np.asarray(integers(maker, shape, dtype, generator)).astype(dtype)
    parts = np.asarray(reals("normal" if maker == "definite" else maker, shape, generator))
    if jnp.issubdtype(dtype, jnp.complexfloating):
        parts = parts + 1j * reals("normal", shape, generator)
    if maker == "definite":
        parts = parts @ np.swapaxes(parts.conj(), -1, -2) + shape[-1] * np.eye(shape[-1])
    if maker == "low":
        parts = parts * 0
    if dtype == jnp.float8_e8m0fnu:  # which has no sign
        parts = np.abs(parts) + 0.01
    return parts.astype(np.float32).astype(dtype) if dtype.itemsize == 1 else parts.astype(dtype)


class Candidate:
    """A program on one backend; error says why there is none."""

    def __init__(self, backend, text, arguments):
        self.device = jax.devices(backend)[0]
        self.seconds, self.error = float("inf"), None
        self.arguments = [jax.device_put(x, self.device) for x in arguments]
        devices = xla_client.DeviceList((self.device,))
        try:
            self.program = self.device.client.compile_and_load(
                text, devices, xla_client.CompileOptions())
            self.results = self.run()
        except Exception as error:
            self.error = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]

    def run(self):
        begin = time.perf_counter()
        shards = self.program.execute_sharded(self.arguments)
        results = [x[0] for x in shards.disassemble_into_single_device_arrays()]
        jax.block_until_ready(results)
        self.seconds = min(self.seconds, time.perf_counter() - begin)
        return results

    def answer(self):
        return {"error": self.error} if self.error else {"run": self.seconds}


def take_turns(candidates, seconds):
    """Slices of runs, two at least, while there is time for both."""
    end = time.perf_counter() + 2 * seconds
    for turn in range(100):
        for candidate in candidates:
            slice_end = time.perf_counter() + seconds / 4
            for _ in range(10):
                candidate.run()
                if time.perf_counter() > slice_end:
                    break
        if turn and time.perf_counter() > end:
            return


def difference(left, right):
    """Of two results, in units of the right one's largest value; NaN and infinities must agree."""
    worst = 0.0
    for a, b in zip(left, right):
        wide = np.complex128 if np.asarray(b).dtype.kind == "c" else np.float64
        a, b = np.asarray(a).astype(wide), np.asarray(b).astype(wide)
        if (np.isnan(a) != np.isnan(b)).any() or (np.isinf(a) != np.isinf(b)).any():
            return float("inf")
        finite = np.isfinite(a)
        a, b = a[finite], b[finite]
        scale = np.max(np.abs(b), initial=0) or 1.0
        worst = max(worst, float(np.max(np.abs(a - b), initial=0) / scale))
    return worst


def measure(case, dtype, seconds):
    generator = np.random.default_rng(0)
    arguments = []
    for word in case.operands:
        tensor, maker = word.split()
        shape, element = case.element(tensor, dtype)
        arguments.append(values(maker, tuple(shape), numpy_type(element), generator))
    candidates = [Candidate(b, case.text(dtype), arguments) for b in BACKENDS]
    answer = {}
    if not any(c.error for c in candidates):
        answer["difference"] = difference(*(c.results for c in candidates))
        answer["tolerance"] = TOLERANCE.get(dtype, 0.25 if dtype.startswith("f") else 0)
    running = [c for c in candidates if not c.error]
    take_turns(running, seconds)
    return {**{b: c.answer() for b, c in zip(BACKENDS, candidates)}, **answer}
