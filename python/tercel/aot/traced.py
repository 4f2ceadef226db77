"""A procedure as a pure function of the globals that it uses and its arguments."""

import functools
import re

import jax
import jax.export
import jax.numpy as jnp

from tercel.aot import callbacks, types
from tercel.aot.values import Values, tracing

_PLATFORM = "cpu"


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
    def may_fail(self):
        return callbacks.are_in(self._program)

    @functools.cached_property
    def jitted(self):
        donated = () if self.may_fail else tuple(
            place for place, i in enumerate(self.used) if i in self.stored)
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
            if self.may_fail:
                jax.block_until_ready(outputs)
            for i, value in zip(self.stored, outputs[self.result_tree.num_leaves:]):
                values.put(i, value)
        return jax.tree.unflatten(self.result_tree, outputs[:self.result_tree.num_leaves])

    @functools.cached_property
    def exported(self):
        """jax.export's view of the function, for CPUs."""
        found = callbacks.obstacles(self._program, self.where, self.declaration.callbacks)
        obstacles = ", ".join(dict.fromkeys(found))
        if obstacles:
            raise NotImplementedError(f"{self.where}: cannot leave Python: {obstacles}")
        export = functools.partial(jax.export.export, self._leaving, platforms=[_PLATFORM])
        try:
            return export()(*self.operand_types)
        except ValueError:
            # Custom calls: whoever runs the program serves them.
            checks = [jax.export.DisabledSafetyCheck.custom_call(name)
                      for name in set(re.findall(r'custom_call @"?([\w.$]+)', self._text()))]
            return export(disabled_checks=checks)(*self.operand_types)

    def stablehlo(self):
        return self.exported and self._text()

    def _text(self):
        traced = self._leaving.trace(*self.operand_types)
        return traced.lower(lowering_platforms=(_PLATFORM,)).as_text()

    @functools.cached_property
    def _leaving(self):
        function = self.function
        if self.may_fail:
            function = callbacks.leaving(function)
            function.__name__ = self.procedure.name
        return jax.jit(function, keep_unused=True)

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
            # No result is memory that a later call may overwrite.
            taken, outputs = set(map(id, operands)), []
            for leaf in jax.tree.leaves(results) + self._values_of(after):
                outputs.append(jnp.copy(leaf) if id(leaf) in taken else leaf)
                taken.add(id(leaf))
            return tuple(outputs)

        function.__name__ = self.procedure.name
        return function

    def _explore(self):
        def explore(values, arguments):  # JAX's messages name its parameters
            results, after = self._run(values, arguments)
            self.used = sorted(after.read)
            self.stored = sorted(after.stored)
            return results, self._values_of(after)

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

    def _values_of(self, after):
        """The new values of the globals that are stored."""
        known = self.declaration.globals
        return [types.converted(after.values[i], known[i].type, self.where) for i in self.stored]

    def _run(self, values, arguments):
        values = [value if value is None else types.as_declared(value, known.type)
                  for value, known in zip(values, self.declaration.globals)]
        after = Values(self.declaration, self.where, values)
        arguments = jax.tree.map(types.as_declared, arguments, self.signature.arguments)
        program = object.__new__(self.declaration.cls)
        object.__setattr__(program, "_tercel_values", after)
        with tracing(after):
            results = self.procedure.call(program, arguments)
        after.flush()
        self.declaration.check_constants(self.where)
        for path, leaf in jax.tree_util.tree_flatten_with_path(results)[0]:
            if not (types.is_array(leaf) or types.is_number(leaf)):
                raise TypeError(f"{self.where}: {types.place('result', path)} is a "
                                f"{type(leaf).__name__}, not an array")
        return results, after
