"""Callbacks of programs that leave Python: a primitive of ours in place of each.

A callback becomes a custom call to a function of its name, which whoever runs the program serves;
jax.debug.print is a custom call that the runtime itself can serve. All else stays as for CPUs.
"""

import functools
import re
import types as python_types

import jax
import jax.extend
import jax.ffi
import jax.numpy as jnp
from jax.interpreters import mlir

from tercel.aot import types

DEBUG_PRINT = "tercel_debug_print"  # src/runtime/engine/debug_print.cc
_NAMES = {"pure_callback": "jax.pure_callback", "io_callback": "jax.experimental.io_callback",
          "debug_callback": "jax.debug.callback", "debug_print": "jax.debug.print"}


def are_in(program):
    """Whether a ClosedJaxpr has any."""
    return any(equation.primitive.name in _NAMES for equation in _equations(program.jaxpr))


def leaving(function):
    """The function, of arrays, with our primitives in place of its callbacks."""
    def leaves(*operands):
        program = jax.make_jaxpr(function)(*operands)
        return jax.extend.core.jaxpr_as_fun(_replaced(program))(*operands)

    return leaves


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


def _replaced(part):
    """A jaxpr, or what else a parameter may be, with those in it."""
    if type(part) in (tuple, list):
        return type(part)(map(_replaced, part))
    if not isinstance(part, (jax.extend.core.ClosedJaxpr, jax.extend.core.Jaxpr)):
        return part
    inner = getattr(part, "jaxpr", part)  # from JAX 0.12 on the two are one, and this is itself
    if inner is not part:
        return part.replace(jaxpr=_replaced(inner))
    return part.replace(eqns=list(map(_replaced_equation, part.eqns)))


def _replaced_equation(equation):
    params, name = equation.params, equation.primitive.name
    if name not in _NAMES:
        return equation.replace(params={key: _replaced(value) for key, value in params.items()})
    target, attributes = DEBUG_PRINT, ()
    if name == "debug_print":
        kinds = [value.aval for value in equation.invars]
        attributes = (("format", _print_text(kinds, **params)),)
    else:
        target = _function_name(params["callback"])
    return equation.replace(primitive=_call, params={
        "target": target, "attributes": attributes, "effect_types": frozenset(equation.effects),
        "has_side_effect": name != "pure_callback",
        "results": tuple(value.aval for value in equation.outvars)})


_call = jax.extend.core.Primitive("tercel_call")
_call.multiple_results = True


@_call.def_effectful_abstract_eval
def _results(*operands, results, effect_types, **params):
    return results, effect_types


def _lower(context, *operands, target, attributes, has_side_effect, **params):
    rule = jax.ffi.ffi_lowering(target, has_side_effect=has_side_effect)
    return rule(context, *operands, **dict(attributes))


mlir.register_lowering(_call, _lower)


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
