"""Runs StableHLO's text on a device: ops that JAX itself never emits on platform cpu."""

import jax
import numpy as np
from jaxlib import xla_client


def run(device, text, *arguments):
    options = xla_client.CompileOptions()
    devices = xla_client.DeviceList((device,))
    program = device.client.compile_and_load(text, devices, options)
    placed = [jax.device_put(x, device) for x in arguments]
    results = program.execute_sharded(placed).disassemble_into_single_device_arrays()
    return [np.asarray(shards[0]) for shards in results]


def function(body, arguments, results):
    """A module of one function: `body` with %0, %1, ... for the arguments."""
    signature = ", ".join(f"%{i}: {t}" for i, t in enumerate(arguments))
    return (f"module @m {{ func.func public @main({signature}) -> ({', '.join(results)}) {{\n"
            f"{body}\n}} }}")
