"""Stands in for JAX's module of this name, which its wheels lack: hypothesis, and no shards."""

import os

import hypothesis
from jax._src import test_util

HypothesisShardedTestCase = test_util.JaxTestCase


def hypothesis_is_thread_safe():
    return True


def setup_hypothesis(max_examples=30):
    """Fewer examples where fewer cases are wanted of JAX's other generated tests."""
    cases = int(os.environ.get("JAX_NUM_GENERATED_CASES", "10"))
    hypothesis.settings.register_profile(
        "suite", database=None, deadline=None, derandomize=True,
        max_examples=min(max_examples, 10 * cases),
        suppress_health_check=list(hypothesis.HealthCheck))
    hypothesis.settings.load_profile("suite")
