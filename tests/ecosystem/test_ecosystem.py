"""Each program of programs.py gives the same on Tercel as on JAX's own CPU backend."""

import os

os.environ["JAX_PLATFORMS"] = "tercel,cpu"

import jax  # noqa: E402
import numpy as np  # noqa: E402
import programs  # noqa: E402
import pytest  # noqa: E402


def run_on(platform, program):
    jax.config.update("jax_default_device", jax.devices(platform)[0])
    try:
        result = program()
        rough = isinstance(result, programs.Roughly)
        return jax.tree.map(np.asarray, result.means if rough else result), rough
    finally:
        jax.config.update("jax_default_device", None)


@pytest.mark.parametrize("program", programs.PROGRAMS, ids=lambda program: program.__name__)
def test_agrees(program):
    ours, rough = run_on("tercel", program)
    theirs, _ = run_on("cpu", program)
    tolerance = 0.1 if rough else 2e-3
    assert jax.tree.leaves(ours)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance / 100),
                 ours, theirs)
