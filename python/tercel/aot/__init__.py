"""Programs without Python: a class of JAX code becomes a file, or a library with a header.

    class Counter(Program):
        _count = jnp.zeros((), jnp.int32)

        def add(self, x=Program.like(jnp.int32(0))):
            self._count = self._count + x
            return self._count

    Program.get_compiled_artifact(Counter).save_library("out")
"""

from tercel.aot.artifact import Artifact
from tercel.aot.program import Program, compile

__all__ = ["Artifact", "Program", "compile"]
