"""JAX over the door: what JAX itself calls of the C API, on programs as small as they come.

    jax_smoke.py path/to/pjrt_plugin_tercel.so

Is about the plugin's door, not about ops: results are compared with NumPy's.
"""

import os
import sys
import traceback

LIBRARY = os.path.abspath(sys.argv[1])
os.environ["PJRT_NAMES_AND_LIBRARY_PATHS"] = f"tercel:{LIBRARY}"
os.environ["JAX_PLATFORMS"] = "tercel"
os.environ.setdefault("TERCEL_NUM_DEVICES", "2")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

jax.config.update("jax_enable_x64", True)
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def same(got, wanted):
    np.testing.assert_array_equal(np.asarray(got), np.asarray(wanted))


@check
def devices():
    assert jax.default_backend() == "cpu"
    assert len(jax.devices()) == 2 and jax.process_index() == 0
    device = jax.devices()[0]
    assert "ercel" in device.device_kind, device.device_kind
    assert "Tercel" in device.client.platform_version
    assert sorted(m.kind for m in device.addressable_memories()) == [
        "device", "pinned_host", "unpinned_host"]
    assert device.default_memory().kind == "device"
    assert device.memory_stats()["bytes_limit"] > 0
    repr(device), str(device.default_memory())


@check
def device_put_of_every_dtype():
    for dtype in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
                  "uint64", "float16", "bfloat16", "float32", "float64", "complex64",
                  "complex128"):
        x = np.arange(12).reshape(3, 4).astype(jnp.dtype(dtype))
        y = jax.device_put(x)
        assert y.dtype == x.dtype
        same(y, x)


@check
def device_put_of_strided_arrays():
    x = np.arange(24.0).reshape(4, 6)
    for view in (x.T, x[::2, ::-1], x[:, 2:2], np.broadcast_to(x[0], (3, 6)), x[1, 1]):
        same(jax.device_put(view), view)


@check
def a_host_array_may_change_after_device_put():
    x = np.arange(1024.0)
    y = jnp.array(x)  # a copy, by JAX's contract
    x[:] = -1
    same(y, np.arange(1024.0))


@check
def jit():
    f = jax.jit(lambda a, b: (a + b, a * b))
    a, b = np.arange(4.0, dtype=np.float32), np.float32(2)
    for got, wanted in zip(f(a, b), (a + b, a * b)):
        same(got, wanted)
    same(jnp.ones((2, 0)) + 1, np.ones((2, 0)))
    assert f(a, b)[0].block_until_ready().is_ready()


@check
def donation():
    f = jax.jit(lambda x: x + 1, donate_argnums=0)
    x = jnp.arange(8.0)
    y = f(x)
    assert x.is_deleted()
    same(y, np.arange(8.0) + 1)
    try:
        f(x)
    except (RuntimeError, ValueError) as error:
        assert "deleted" in str(error), error
    else:
        raise AssertionError("a deleted array was accepted")


@check
def delete():
    x = jnp.arange(4.0)
    x.delete()
    assert x.is_deleted()


@check
def between_devices_and_memories():
    x = jnp.arange(5.0)
    y = jax.device_put(x, jax.devices()[1])
    assert y.device == jax.devices()[1]
    same(y, x)
    same(jax.jit(lambda v: v * 2)(y), np.arange(5.0) * 2)
    for kind in ("pinned_host", "unpinned_host", "device"):
        sharding = jax.sharding.SingleDeviceSharding(jax.devices()[0], memory_kind=kind)
        z = jax.device_put(x, sharding)
        assert z.sharding.memory_kind == kind
        same(z, x)


@check
def zero_copy_views():
    x = jnp.arange(6.0)
    view = np.asarray(x)
    assert not view.flags.writeable
    assert x.unsafe_buffer_pointer() == view.ctypes.data
    del x
    same(view, np.arange(6.0))


@check
def dlpack():
    x = jnp.arange(6.0)
    same(np.from_dlpack(x), np.arange(6.0))


@check
def executable_facts():
    compiled = jax.jit(lambda a: jnp.sum(a)).lower(jnp.ones((4, 4), jnp.float32)).compile()
    compiled.cost_analysis()
    stats = compiled.memory_analysis()
    assert stats.argument_size_in_bytes == 64 and stats.output_size_in_bytes == 4, stats
    same(compiled(np.ones((4, 4), np.float32)), 16)


@check
def compiler_options():
    lowered = jax.jit(lambda a: a + 1).lower(1.0)
    for options, message in (({"no_such_thing": True}, "No such compile option: 'no_such_thing'"),
                             ({"cpu": "abacus"}, "option cpu = 'abacus'")):
        try:
            lowered.compile(compiler_options=options)
        except Exception as error:
            assert message in str(error), error
        else:
            raise AssertionError(f"{options} were accepted")
    same(lowered.compile(compiler_options={"check": False, "cpu": "x86-64-v2"})(1.0), 2.0)
    same(lowered.compile(compiler_options={"xla_embed_ir_in_executable": True})(1.0), 2.0)


@check
def a_bad_call_is_an_exception():
    compiled = jax.jit(lambda a: a + 1).lower(jnp.ones(4)).compile()
    try:
        compiled(jnp.ones(5))
    except TypeError:
        pass


@check
def typed_keys():
    jax.random.uniform(jax.random.key(0), (3,)).block_until_ready()


def main():
    failed = 0
    only = sys.argv[2:]
    for function in CHECKS:
        if only and function.__name__ not in only:
            continue
        try:
            function()
            print("ok  ", function.__name__)
        except Exception:
            failed += 1
            print("FAIL", function.__name__)
            traceback.print_exc()
    print(f"{len(CHECKS) - failed} ok, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
