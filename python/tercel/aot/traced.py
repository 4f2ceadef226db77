"""A procedure as a pure function of the globals that it uses and its arguments."""

import functools
import re

import jax
import jax.export
import jax.numpy as jnp

from tercel.aot import callbacks, types
from tercel.aot.values import Values, tracing


class Traced:
    """One signature of a procedure. `function` takes the values of `used`, then the arguments'
    leaves, and gives the results' leaves, then the new values of `stored`."""

    def __init__(self, declaration, procedure, signature):
        self.declaration = declaration
        self.procedure = procedure
        self.signature = signature
        self.where = f"{declaration.class_name}.{procedure.name}"
        self._explore()

    @property
    def operand_types(self):
        kinds = [self.declaration.globals[i].type for i in self.used] + self.signature.types
        return list(map(types.strong, kinds))

    @functools.cached_property
    def jitted(self):
        donated = tuple(place for place, i in enumerate(self.used) if i in self.stored)
        return jax.jit(self.function, donate_argnums=donated)

    def call(self, values, leaves):
        """On an instance's values."""
        if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            raise TypeError(f"{self.where} has a state, which cannot be kept inside of jit, grad "
                            "or vmap of other functions")
        with values.lock:
            values.flush()
            used = [values.take(i) if i in self.stored else values.values[i] for i in self.used]
            outputs = self.jitted(*used, *leaves)
            for i, value in zip(self.stored, outputs[self.result_tree.num_leaves:]):
                values.put(i, value)
        return jax.tree.unflatten(self.result_tree, outputs[:self.result_tree.num_leaves])

    @functools.cached_property
    def exported(self):
        """jax.export's view of the function, as for CPUs but for its callbacks."""
        if not callbacks.are_in(self._program):
            return self._export("cpu")
        found = callbacks.obstacles(self._program, self.where, self.declaration.callbacks)
        obstacles = ", ".join(dict.fromkeys(found))
        if obstacles:
            raise NotImplementedError(f"{self.where}: cannot leave Python: {obstacles}")
        callbacks.register(self._program)
        return self._export(callbacks.PLATFORM)

    def stablehlo(self):
        return self._lowered(self.exported.platforms).as_text()

    def _export(self, platform):
        function = jax.jit(self.function, keep_unused=True)
        export = functools.partial(jax.export.export, function, platforms=[platform])
        try:
            return export()(*self.operand_types)
        except ValueError:
            # Custom calls: whoever runs the program serves them.
            text = self._lowered((platform,)).as_text()
            checks = [jax.export.DisabledSafetyCheck.custom_call(name)
                      for name in set(re.findall(r'custom_call @"?([\w.$]+)', text))]
            return export(disabled_checks=checks)(*self.operand_types)

    def _lowered(self, platforms):
        function = jax.jit(self.function, keep_unused=True)
        return function.trace(*self.operand_types).lower(lowering_platforms=platforms)

    @functools.cached_property
    def function(self):
        def function(*operands):
            values = [None] * len(self.declaration.globals)
            for i, value in zip(self.used, operands):
                values[i] = value
            given = self.procedure.unflatten(operands[len(self.used):])
            results, after = self._run(values, given)
            if after.stored != set(self.stored) or not after.read <= set(self.used):
                raise RuntimeError(f"{self.where} is not the same when it is traced again")
            inputs = set(map(id, operands))
            # No result is memory that a later call may overwrite.
            leaves = [jnp.copy(leaf) if id(leaf) in inputs else leaf
                      for leaf in jax.tree.leaves(results)]
            return tuple(leaves + [after.values[i] for i in self.stored])

        function.__name__ = self.procedure.name
        return function

    def _explore(self):
        def explore(values, arguments):  # JAX's messages name its parameters
            results, after = self._run(values, arguments)
            self.used = sorted(after.read)
            self.stored = sorted(after.stored)
            return results, [after.values[i] for i in self.stored]

        explore.__name__ = self.where
        try:
            self._program, (self.results, _) = jax.make_jaxpr(explore, return_shape=True)(
                [known.type for known in self.declaration.globals], self.signature.arguments)
        except Exception as error:
            error.add_note(f"while tracing {self.where}")
            raise
        if any(isinstance(constant, jax.core.Tracer) for constant in self._program.consts):
            raise TypeError(
                f"{self.where} stores into a global what comes from inside of jit, grad, scan, "
                "cond or vmap: return it from there, and store that")
        self.result_tree = jax.tree.structure(self.results)

    def _run(self, values, arguments):
        after = Values(self.declaration, self.where, values)
        arguments = jax.tree.map(types.as_declared, arguments, self.signature.arguments)
        program = object.__new__(self.declaration.cls)
        object.__setattr__(program, "_tercel_values", after)
        with tracing(after):
            results = self.procedure.call(program, arguments)
        after.flush()
        for path, leaf in jax.tree_util.tree_flatten_with_path(results)[0]:
            if not (types.is_array(leaf) or types.is_number(leaf)):
                raise TypeError(f"{self.where}: {types.place('result', path)} is a "
                                f"{type(leaf).__name__}, not an array")
        return results, after
