"""Each test runs its program on Tercel and on JAX's own CPU backend, in one process."""

import os

os.environ["JAX_PLATFORMS"] = "tercel"

import jax  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402

# Absolute and relative difference that two right implementations of a program may show.
TOLERANCE = {"float64": (1e-12, 1e-9), "complex128": (1e-12, 1e-9), "float32": (1e-5, 1e-4),
             "complex64": (1e-5, 1e-4), "float16": (1e-3, 1e-2), "bfloat16": (1e-2, 4e-2)}


def pytest_configure(config):
    config.addinivalue_line("markers", "native: more work than the evaluator should be given")
    config.addinivalue_line("markers", "long: for ./dev test --long")


def pytest_runtest_setup(item):
    if item.get_closest_marker("native") and os.environ.get("TERCEL_EVAL", "0") not in ("", "0"):
        pytest.skip("more work than the evaluator should be given")
    if item.get_closest_marker("long") and "TERCEL_LONG" not in os.environ:
        pytest.skip("./dev test --long")


@pytest.fixture(scope="session")
def tercel():
    return jax.devices("tercel")[0]


@pytest.fixture(scope="session")
def cpu():
    return jax.devices("cpu")[0]


@pytest.fixture
def x64():
    with jax.enable_x64(True):
        yield


def assert_same(got, wanted, scale=1.0):
    """Compares two trees of results: exact for integers, within rounding for the rest."""
    got_leaves, got_tree = jax.tree.flatten(got)
    wanted_leaves, wanted_tree = jax.tree.flatten(wanted)
    assert got_tree == wanted_tree
    for left, right in zip(got_leaves, wanted_leaves):
        assert left.dtype == right.dtype and left.shape == right.shape
        left, right = np.asarray(left), np.asarray(right)
        absolute, relative = TOLERANCE.get(left.dtype.name, (0, 0))
        if absolute == 0:
            np.testing.assert_array_equal(left, right)
            continue
        wide = np.complex128 if left.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(left.astype(wide), right.astype(wide),
                                   rtol=scale * relative, atol=scale * absolute)


@pytest.fixture
def agree(tercel, cpu):
    """agree(f, *arguments): jit(f) gives the same on both; returns Tercel's results."""

    def check(function, *arguments, scale=1.0, **options):
        results = []
        for device in (tercel, cpu):
            with jax.default_device(device):
                results.append(jax.jit(function, **options)(*arguments))
        for leaf in jax.tree.leaves(results[0]):
            assert leaf.devices() == {tercel}
        assert_same(*results, scale=scale)
        return results[0]

    return check


@pytest.fixture
def rng():
    return np.random.default_rng(1234)


@pytest.fixture
def matrix(rng):
    """matrix(*shape, dtype="float32"): random numbers of a real or complex type."""

    def make(*shape, dtype="float32"):
        values = rng.standard_normal(shape)
        if dtype.startswith("complex"):
            values = values + 1j * rng.standard_normal(shape)
        return values.astype(dtype)
    return make
