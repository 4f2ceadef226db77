"""A session of 30 small jnp calls in a fresh process: python eager.py PLATFORM. Prints JSON."""

import json
import os
import sys
import time

os.environ["JAX_PLATFORMS"] = sys.argv[1]

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

CALLS = [
    lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: x / y,
    lambda x, y: x ** 2, lambda x, y: jnp.exp(x), lambda x, y: jnp.sin(x), lambda x, y: -x,
    lambda x, y: jnp.abs(x), lambda x, y: jnp.maximum(x, y), lambda x, y: x > y,
    lambda x, y: jnp.where(x > 0, x, y), lambda x, y: x.sum(), lambda x, y: x.mean(0),
    lambda x, y: x.max(1), lambda x, y: x.argmax(1), lambda x, y: x.T, lambda x, y: x @ y.T,
    lambda x, y: x[3], lambda x, y: x[:, 2:5], lambda x, y: x.reshape(-1),
    lambda x, y: jnp.concatenate([x, y]), lambda x, y: jnp.zeros((4, 4)),
    lambda x, y: jnp.arange(10), lambda x, y: jnp.linspace(0, 1, 50),
    lambda x, y: jnp.sqrt(jnp.abs(x)), lambda x, y: x.astype(jnp.int32), lambda x, y: x.std(),
    lambda x, y: jnp.clip(x, -1, 1), lambda x, y: jnp.tanh(x),
]
COMPILE_EVENT = "/jax/core/compile/backend_compile_duration"


def main():
    compiling = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, seconds, **_: compiling.append(seconds) if event == COMPILE_EVENT else None)
    x = jax.device_put(np.random.default_rng(0).normal(size=(16, 32)).astype(np.float32))
    y = jax.device_put(np.ones((16, 32), np.float32))
    begin = time.perf_counter()
    failed = []
    for i, call in enumerate(CALLS):
        try:
            jax.block_until_ready(call(x, y))
        except Exception as error:
            failed.append(f"call {i}: {str(error).splitlines()[0]}")
    seconds = time.perf_counter() - begin
    print(json.dumps({"compile": sum(compiling), "programs": len(compiling), "run": seconds,
                      "error": "; ".join(failed[:2]) or None}))


if __name__ == "__main__":
    main()
