"""Callbacks of programs that leave Python: a lowering of ours for each.

They are registered for a platform of our own. A callback becomes a custom call to a function of
its name, which whoever runs the program serves; jax.debug.print is a custom call that the runtime
itself can serve.
"""

import functools
import re
import types as python_types

import jax
import jax.ffi
import jax.numpy as jnp

from tercel.aot import types

PLATFORM = "tercel"
DEBUG_PRINT = "tercel_debug_print"  # src/runtime/engine/debug_print.cc
_NAMES = {"pure_callback": "jax.pure_callback", "io_callback": "jax.experimental.io_callback",
          "debug_callback": "jax.debug.callback", "debug_print": "jax.debug.print"}


def are_in(program):
    """Whether a ClosedJaxpr has any."""
    return any(equation.primitive.name in _NAMES for equation in _equations(program.jaxpr))


def register(program):
    """Registers the lowerings of those that are in it."""
    from jax.interpreters import mlir
    jax.devices()  # JAX takes rules for platforms that are there
    rules = {"pure_callback": functools.partial(_call, effect=False),
             "io_callback": functools.partial(_call, effect=True), "debug_print": _debug_print}
    for primitive in {equation.primitive for equation in _equations(program.jaxpr)}:
        if primitive.name in rules:
            mlir.register_lowering(primitive, rules[primitive.name], platform=PLATFORM)


def obstacles(program, where, known):
    """Those that cannot be custom calls, by JAX's names. `known`: name -> the function that is
    called by it, and `where` that was first."""
    for equation in _equations(program.jaxpr):
        name = equation.primitive.name
        if name not in _NAMES:
            continue
        if name == "debug_callback":
            yield _NAMES[name]
        elif equation.params.get("ordered"):
            yield f"an ordered {_NAMES[name]}"
        elif name == "debug_print":
            try:
                _print_text([value.aval for value in equation.invars], **equation.params)
            except (AttributeError, TypeError, ValueError) as error:
                yield f"{_NAMES[name]} of {equation.params['fmt']!r}: {error}"
        else:
            reason = _function_obstacle(equation.params["callback"], where, known)
            if reason:
                yield f"{_NAMES[name]} of {reason}"


def _equations(jaxpr):
    for equation in jaxpr.eqns:
        yield equation
        for value in equation.params.values():
            for inner in value if isinstance(value, (tuple, list)) else [value]:
                inner = getattr(inner, "jaxpr", inner)
                if hasattr(inner, "eqns"):
                    yield from _equations(inner)


def _function_obstacle(callback, where, known):
    """Its name must say all of a function."""
    function, bound = _function(callback)
    name = _function_name(callback)
    if not name:
        return "a function without a name"
    if bound:
        return f"a functools.partial of {name}, which binds arguments"
    first, place = known.setdefault(name, (function, where))
    if not _are_same(function, first):
        return f"{name}, by which name {place} calls another function"
    return None


def _function(callback):
    """And whether it binds arguments."""
    function, bound = getattr(callback, "callback_func", callback), False
    while isinstance(function, functools.partial):
        bound = bound or bool(function.args or function.keywords)
        function = function.func
    return function, bound


def _function_name(callback):
    """As a custom call's target; None for a lambda and the like."""
    name = getattr(_function(callback)[0], "__name__", "")
    return name if name.isidentifier() else None


def _are_same(function, other):
    """Also where a procedure defines it anew each time that it is traced."""
    plain = all(isinstance(each, python_types.FunctionType) for each in (function, other))
    return function == other or plain and _parts(function) == _parts(other)


def _parts(function):
    held = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values(),
            *(cell.cell_contents for cell in function.__closure__ or ())]
    return function.__code__, list(map(id, held))


def _call(context, *operands, callback, effect, **options):
    del options
    rule = jax.ffi.ffi_lowering(_function_name(callback), has_side_effect=effect)
    return rule(context, *operands)


def _debug_print(context, *operands, **options):
    rule = jax.ffi.ffi_lowering(DEBUG_PRINT, has_side_effect=True)
    return rule(context, *operands, format=_print_text(context.avals_in, **options))


def _print_text(kinds, *, fmt, in_tree, static_args, has_placeholders, **options):
    del options
    fixed, places = dict(static_args), map(_Place, range(len(kinds)), kinds)
    leaves = [str(fixed[i]) if i in fixed else next(places)
              for i in range(in_tree.num_leaves)]
    args, kwargs = jax.tree.unflatten(in_tree, leaves)
    text = fmt.format(*args, **kwargs) if has_placeholders else " ".join(map(str, [fmt, *args]))
    return text.replace("{", "{{").replace("}", "}}").replace(_OPEN, "{").replace(_CLOSE, "}")


_OPEN, _CLOSE = "\ue000", "\ue001"


class _Place:
    """An operand's place in a text: {0}, or {0:.3f}."""

    def __init__(self, number, kind):
        self._number = number
        self._kind = kind

    def __format__(self, spec):
        if spec and not re.fullmatch(_specs(self._kind.dtype), spec):
            raise ValueError(f"no {{:{spec}}} for {types.text(self._kind)}")
        return f"{_OPEN}{self._number}{':' + spec if spec else ''}{_CLOSE}"

    def __repr__(self):
        return format(self)


def _specs(dtype):
    """What the runtime writes as Python does: fewer than 512 characters."""
    if jnp.issubdtype(dtype, jnp.complexfloating):
        return r"(\.\d\d?)?[eEfFgG]"
    if jnp.issubdtype(dtype, jnp.floating) and dtype.itemsize > 1:
        return r"[+ ]?0?\d?\d?(\.\d\d?)?[eEfFgG]"
    if jnp.issubdtype(dtype, jnp.integer) and dtype != jnp.uint64:
        return r"[+ ]?0?\d?\d?d"
    return ""
