"""Each test runs its program on Tercel and on JAX's own CPU backend, in one process."""

import importlib.metadata
import os
import zlib

# XLA:CPU gives the values to compare with: what it would take to optimise is most of a run's time.
# With --long it compiles as it does for its users.
QUICK_XLA = ("--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true "
             "--xla_cpu_parallel_codegen_split_count=1")
if importlib.metadata.version("jaxlib").startswith(("0.8.", "0.9.", "0.10.")):
    QUICK_XLA += " --xla_cpu_use_fusion_emitters=false"  # a later one ends at a flag it has not

os.environ["JAX_PLATFORMS"] = "tercel"
if "TERCEL_LONG" not in os.environ:
    os.environ.setdefault("XLA_FLAGS", QUICK_XLA)

import jax  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402

# Absolute and relative difference that two right implementations of a program may show.
TOLERANCE = {"float64": (1e-12, 1e-9), "complex128": (1e-12, 1e-9), "float32": (1e-5, 1e-4),
             "complex64": (1e-5, 1e-4), "float16": (1e-3, 1e-2), "bfloat16": (1e-2, 4e-2)}

# The ways of running a program besides that of the process, as compiler options.
EVALUATOR = {"eval": True}
LESSER_CPUS = [{"cpu": "x86-64-v2"}, {"cpu": "x86-64-v3"}]
EVALUATES = os.environ.get("TERCEL_EVAL", "0") not in ("", "0")
SHARE = 3  # of the cases of a thorough test one is run, but for --long


def pytest_configure(config):
    config.addinivalue_line("markers", "native: more work than the evaluator should be given")
    config.addinivalue_line("markers", "lesser_cpus: also as CPUs without AVX-512 run it")
    config.addinivalue_line("markers", "agree: by the fixture, which runs the evaluator, too")
    config.addinivalue_line("markers", "long: for ./dev test --long")
    config.addinivalue_line("markers", "thorough: has many cases, all of them for --long only")


def is_for_long(item):
    return item.get_closest_marker("long") or (
        item.get_closest_marker("thorough") and zlib.crc32(item.nodeid.encode()) % SHARE != 0)


def pytest_collection_modifyitems(config, items):
    for item in items:
        if "agree" in item.fixturenames:
            item.add_marker("agree")
    if "TERCEL_LONG" not in os.environ:
        config.hook.pytest_deselected(items=[item for item in items if is_for_long(item)])
        items[:] = [item for item in items if not is_for_long(item)]


def pytest_runtest_setup(item):
    if EVALUATES and item.get_closest_marker("native"):
        pytest.skip("more work than the evaluator should be given")


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


def ways_besides(item):
    """The compiler options with which a test's programs are run besides the process's own."""
    if EVALUATES:
        return []
    evaluator = [] if item.get_closest_marker("native") else [EVALUATOR]
    return evaluator + (LESSER_CPUS if item.get_closest_marker("lesser_cpus") else [])


@pytest.fixture
def agree(request, tercel, cpu):
    """agree(f, *arguments): jit(f) gives the same on Tercel, by native code and by the evaluator,
    and on cpu; returns the results of the native code."""

    def run(device, function, arguments, options):
        with jax.default_device(device):
            results = jax.jit(function, **options)(*arguments)
        for leaf in jax.tree.leaves(results):
            assert leaf.devices() == {device}
        return results

    def check(function, *arguments, scale=1.0, **options):
        wanted = run(cpu, function, arguments, options)
        results = run(tercel, function, arguments, options)
        assert_same(results, wanted, scale=scale)
        for way in ways_besides(request.node):
            got = run(tercel, function, arguments, options | {"compiler_options": way})
            assert_same(got, wanted, scale=scale)
        return results

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
