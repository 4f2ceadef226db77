"""A simulation whose state lives in the library: python orbit.py FOLDER

A planet around a star, by leapfrog in double precision. The last line is what orbit.c prints.
"""

import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)

from tercel.aot import Program  # noqa: E402

STEPS = 1000


def acceleration(position):
    return -position / jnp.sum(position * position) ** 1.5


class OrbitProgram(Program):
    _state = {"position": np.array([1.0, 0.0]), "velocity": np.array([0.0, 1.2])}

    def simulate(self, dt=Program.like(np.float64(0))):
        """A thousand steps; the place after each, and the energy at the end."""

        def step(state, _):
            half = state["velocity"] + dt / 2 * acceleration(state["position"])
            position = state["position"] + dt * half
            velocity = half + dt / 2 * acceleration(position)
            return {"position": position, "velocity": velocity}, position

        self._state, places = jax.lax.scan(step, self._state, None, length=STEPS)
        speed = jnp.sum(self._state["velocity"] ** 2)
        distance = jnp.sqrt(jnp.sum(self._state["position"] ** 2))
        return {"places": places, "energy": speed / 2 - 1 / distance}


def main(folder):
    Program.get_compiled_artifact(OrbitProgram).save_library(folder)
    orbit = OrbitProgram()
    for _ in range(20):
        result = orbit.simulate(0.001)
    x, y = result["places"][-1]
    print(f"{float(x):.6f} {float(y):.6f} energy {float(result['energy']):.9f}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
