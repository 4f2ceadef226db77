"""One workload on both backends in one process: python measure.py NAME SECONDS. Prints JSON.

Runs take turns, a slice of time each, and the least time of a run counts: what else the machine
does can only add to it.
"""

import json
import os
import sys
import time

os.environ["JAX_PLATFORMS"] = "tercel"

import jax  # noqa: E402
import numpy as np  # noqa: E402

import memory  # noqa: E402
import workload  # noqa: E402

BACKENDS = ("tercel", "cpu")
SLICE = 0.05  # seconds that one backend runs before the other's turn


class Candidate:
    """One backend's side of a workload; error says why there is none."""

    def __init__(self, backend, donated):
        self.donated = donated
        self.device = jax.devices(backend)[0]
        self.compile_seconds = float("inf")
        self.run_seconds = float("inf")
        self.error = None
        self.result = None

    def attempt(self, action, *arguments):
        if self.error is None:
            try:
                action(*arguments)
            except Exception as error:
                lines = str(error).strip().splitlines() or [type(error).__name__]
                self.error = lines[0]

    def compile(self, function, arguments):
        arguments = jax.device_put(arguments, self.device)
        lowered = jax.jit(function, donate_argnums=range(self.donated)).lower(*arguments)
        begin = time.perf_counter()
        compiled = lowered.compile()
        self.compile_seconds = min(self.compile_seconds, time.perf_counter() - begin)
        self.compiled, self.arguments = compiled, arguments

    def run(self):
        results = jax.block_until_ready(self.compiled(*self.arguments))
        if self.donated:
            self.arguments = (*results[:self.donated], *self.arguments[self.donated:])
        return results

    def first_run(self):
        self.result = jax.device_get(self.run())

    def run_slice(self):
        self.run_seconds = min(self.run_seconds, workload.least_time(self.run, SLICE))


def difference(left, right):
    """The largest difference of two results, in units of the right one's largest value."""
    worst = 0.0
    for a, b in zip(jax.tree.leaves(left), jax.tree.leaves(right)):
        a, b = (np.asarray(v).astype(np.float64) for v in (a, b))
        scale = np.max(np.abs(b), initial=0) or 1.0
        worst = max(worst, float(np.max(np.abs(a - b), initial=0) / scale))
    return worst


def warm_up(candidate):
    """The first compilation in a process also starts the compiler."""
    x = jax.device_put(np.ones(3, np.float32), candidate.device)
    jax.jit(lambda v: v * 3 - 1).lower(x).compile()(x).block_until_ready()


def measure(entry, seconds):
    candidates = [Candidate(name, entry.donated) for name in BACKENDS]
    programs = [entry.make(i) if entry.variants > 1 else entry.make()
                for i in range(entry.variants)]
    for candidate in candidates:
        candidate.attempt(warm_up, candidate)
    for program in programs:
        for candidate in candidates:
            candidate.attempt(candidate.compile, *program)
    for candidate in candidates:
        candidate.attempt(candidate.first_run)
    probe = memory.Probe(entry.moved) if entry.moved else None
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds:
        for candidate in candidates:
            candidate.attempt(candidate.run_slice)
        if probe:
            probe.seconds = min(probe.seconds, workload.least_time(probe.run, SLICE))
    answer = {"memory": probe.seconds} if probe else {}
    for name, candidate in zip(BACKENDS, candidates):
        answer[name] = {"compile": candidate.compile_seconds, "run": candidate.run_seconds,
                        "error": candidate.error}
    if all(c.result is not None for c in candidates):
        answer["difference"] = difference(candidates[0].result, candidates[1].result)
    return answer


def main():
    workload.load_all()
    print(json.dumps(measure(workload.ALL[sys.argv[1]], float(sys.argv[2]))))


if __name__ == "__main__":
    main()
