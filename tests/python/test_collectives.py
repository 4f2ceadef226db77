"""Collectives of one device: what JAX writes where a program is for a mesh or an axis of one."""

import functools

import jax
import numpy as np
import pytest
from jax import lax
from jax.sharding import Mesh, PartitionSpec

COLLECTIVES = {
    "psum": lambda v: lax.psum(v, "x"), "pmean": lambda v: lax.pmean(v, "x"),
    "pmax": lambda v: lax.pmax(v, "x"), "pmin": lambda v: lax.pmin(v, "x"),
    "all_gather": lambda v: lax.all_gather(v, "x"),
    "all_gather_tiled": lambda v: lax.all_gather(v, "x", tiled=True),
    "all_to_all": lambda v: lax.all_to_all(v, "x", 0, 1, tiled=True),
    "psum_scatter": lambda v: lax.psum_scatter(v, "x", tiled=True),
    "ppermute": lambda v: lax.ppermute(v, "x", [(0, 0)]),
    "ppermute_of_none": lambda v: lax.ppermute(v, "x", []),
    "pshuffle": lambda v: lax.pshuffle(v, "x", [0]),
    "axis_index": lambda v: v + lax.axis_index("x"),
    "axis_size": lambda v: v * lax.psum(1, "x"),
}


def on_mesh(device, function, x):
    mapped = functools.partial(jax.shard_map, in_specs=PartitionSpec(), out_specs=PartitionSpec(),
                               mesh=Mesh(np.array([device]), ("x",)), check_vma=False)
    return np.asarray(jax.jit(mapped(function))(jax.device_put(x, device)))


def on_axis(device, function, x):
    return np.asarray(jax.pmap(function, axis_name="x", devices=[device])(x[None]))


@pytest.mark.parametrize("name", COLLECTIVES)
@pytest.mark.parametrize("way", [on_mesh, on_axis])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_one_device(tercel, cpu, name, way, dtype):
    x = np.arange(12).reshape(4, 3).astype(dtype)
    got, wanted = (way(device, COLLECTIVES[name], x) for device in (tercel, cpu))
    assert got.dtype == wanted.dtype
    np.testing.assert_array_equal(got, wanted)
