"""Types of arrays in trees: what is declared, what is given, how messages name both."""

import dataclasses
import itertools
import numbers
import operator
import os
import re

import jax
import jax.numpy as jnp
import numpy as np

from tercel import abi


@dataclasses.dataclass(frozen=True)
class SizedType:
    """An array type with dimensions that are expressions of names, each of a list of sizes."""

    dims: tuple  # of int and str
    dtype: np.dtype
    weak_type: bool
    sizes: dict  # name -> tuple of sizes

    def at(self, values):
        shape = tuple(dim if isinstance(dim, int) else _evaluate(dim, values) for dim in self.dims)
        return jax.ShapeDtypeStruct(shape, self.dtype, weak_type=self.weak_type)


@dataclasses.dataclass(frozen=True)
class ExportedGlobal:
    """What Program.export_global leaves in the body of a class."""

    tree: object
    initialize: bool
    mutable: bool


def like(tree, dims=None, /, **sizes):
    """The types of a tree's leaves, for the signature of a procedure.

    `dims` gives names to dimensions, as "batch, ..." or "batch, 2*length"; the keywords list the
    sizes that each name may have: like(images, "batch, ...", batch=(1, 8, 64)). `_` keeps a
    dimension, `...` keeps as many as there are. A name's sizes may be listed once for all of a
    procedure's parameters.
    """
    if isinstance(tree, ExportedGlobal):
        tree = tree.tree
    leaves, treedef = jax.tree_util.tree_flatten_with_path(tree)
    types = [type_of(leaf, f"Program.like: {place('tree', path)}") for path, leaf in leaves]
    if dims is not None:
        if not isinstance(dims, str):
            raise TypeError(f"Program.like: {dims!r} are no names of dimensions, as "
                            '"batch, ..."')
        listed = {name: _listed(name, values) for name, values in sizes.items()}
        types = [_sized(kind, dims, listed) for kind in types]
    elif sizes:
        raise TypeError(f"Program.like: sizes of {', '.join(sizes)}, but no dimension has a name: "
                        f'say which, as in like(tree, "{next(iter(sizes))}, ...")')
    return jax.tree.unflatten(treedef, types)


def is_array(leaf):
    return isinstance(leaf, (jax.Array, np.ndarray, np.generic))


def is_type(leaf):
    return isinstance(leaf, (jax.ShapeDtypeStruct, SizedType))


def is_number(leaf):
    return isinstance(leaf, numbers.Number)


def place(root, path):
    """A leaf's place in a tree, as params.dense.kernel."""
    if not path:
        return root
    inner = jax.tree_util.keystr(path, simple=True, separator=".")
    return f"{root}.{inner}" if root else inner


def physical(kind):
    """What the memory of an array of this type holds: a key of jax.random is integers."""
    if jnp.issubdtype(kind.dtype, jax.dtypes.prng_key):
        return jax.eval_shape(jax.random.key_data, kind)
    return kind


def text(kind):
    """float32[8,64]."""
    return abi.type_text(kind.shape, kind.dtype)


def matches(tree, treedef, names, where):
    """The leaves of a tree that must have this structure; TypeError says where it differs."""
    root = names.root
    try:
        leaves, found = jax.tree.flatten(tree)
    except ValueError as error:
        raise TypeError(f"{where}: {root} is no tree for JAX: {error.__cause__ or error}") from None
    if found == treedef:
        return leaves
    if names == (root,):
        raise TypeError(f"{where}: {root}: a {type(tree).__name__} in place of an array")
    given = [place(root, path) for path, _ in jax.tree_util.tree_flatten_with_path(tree)[0]]
    missing = [name for name in names if name not in given]
    extra = [name for name in given if name not in names]
    words = [f"{what} {', '.join(some[:4])}{' ...' if len(some) > 4 else ''}"
             for what, some in (("lacks", missing), ("has also", extra)) if some]
    reason = " and ".join(words) or "is {} in place of {}".format(*_apart(found, treedef))
    raise TypeError(f"{where}: the tree of {root} {reason}")


class Names(tuple):
    """The places of a tree's leaves; `root` is the tree's own name."""

    def __new__(cls, root, tree):
        paths = jax.tree_util.tree_flatten_with_path(tree)[0]
        names = super().__new__(cls, (place(root, path) for path, _ in paths))
        names.root = root
        return names


def converted(value, kind, where):
    """The value as an array of exactly this type; Python's numbers take it where they can."""
    value = fitting(value, kind, where)
    return jnp.asarray(value, kind.dtype) if getattr(value, "weak_type", False) else value


def fitting(value, kind, where):
    """As converted, but that the array may be of a weak type."""
    if is_number(value) and not isinstance(value, np.generic):
        if kind.shape != () or not _holds(kind.dtype, value):
            raise ValueError(f"{where}: a Python {type(value).__name__} in place of {text(kind)}")
        if jnp.issubdtype(kind.dtype, np.integer) and not _is_in_range(value, kind.dtype):
            raise OverflowError(f"{where}: {value} is out of the range of {text(kind)}")
        return jnp.asarray(value, kind.dtype)
    if not hasattr(value, "shape") or not hasattr(value, "dtype"):
        raise TypeError(f"{where}: a {type(value).__name__} in place of {text(kind)}")
    dtype = _canonical(value.dtype)
    if tuple(value.shape) != kind.shape or dtype != kind.dtype:
        given = jax.ShapeDtypeStruct(value.shape, dtype)
        raise ValueError(f"{where}: {text(given)} in place of {text(kind)}")
    return value


def as_declared(value, kind):
    """An array of this type, weak where that is: those that come in and are stored are not."""
    if not kind.weak_type or getattr(value, "weak_type", False):
        return value
    return jax.lax.convert_element_type_p.bind(value, new_dtype=kind.dtype, weak_type=True,
                                               sharding=None)


def strong(kind):
    return jax.ShapeDtypeStruct(kind.shape, kind.dtype) if kind.weak_type else kind


def refinements(types):
    """One (text, sizes) for each choice of sizes of the names in these types, as (batch8, ...)."""
    listed = {}
    for kind in types:
        for name, sizes in getattr(kind, "sizes", {}).items():
            if listed.setdefault(name, sizes) != sizes:
                raise ValueError(f"dimension {name} has sizes {listed[name]} and {sizes}")
    used = {word for kind in types for dim in getattr(kind, "dims", ())
            for word in re.findall(r"\w+", str(dim))}
    unused = [name for name in listed if name not in used]
    if unused:
        raise ValueError(f"sizes of {unused[0]} are listed, and no dimension has it")
    for values in itertools.product(*listed.values()):
        chosen = dict(zip(listed, values))
        yield "_".join(f"{name}{size}" for name, size in chosen.items()), chosen


def refined(kind, sizes):
    return kind.at(sizes) if isinstance(kind, SizedType) else kind


def type_of(leaf, where):
    """The leaf's type; `where` it is, for messages."""
    if isinstance(leaf, SizedType):
        return leaf
    if isinstance(leaf, jax.ShapeDtypeStruct):
        if all(isinstance(size, int) for size in leaf.shape):
            return leaf
        raise TypeError(f"{where} has symbolic dimensions, {leaf.shape}: give them names and "
                        'their sizes, as in like(tree, "batch, ...", batch=(1, 8))')
    if not is_array(leaf) and not is_number(leaf):
        raise TypeError(f"{where} is a {type(leaf).__name__}, not an array, a number or a "
                        "jax.ShapeDtypeStruct")
    weak = getattr(leaf, "weak_type", not is_array(leaf) and not isinstance(leaf, bool))
    try:
        return jax.ShapeDtypeStruct(np.shape(leaf), _canonical(jnp.result_type(leaf)),
                                    weak_type=weak)
    except TypeError:
        raise TypeError(f"{where} has the dtype {leaf.dtype}, which JAX lacks") from None


def _canonical(dtype):
    extended = jnp.issubdtype(dtype, jax.dtypes.extended)
    return dtype if extended else np.dtype(jax.dtypes.canonicalize_dtype(dtype))


def _holds(dtype, value):
    if isinstance(value, bool):
        return dtype == bool
    kinds = {int: (np.integer, np.inexact), float: (np.inexact,), complex: (np.complexfloating,)}
    return any(jnp.issubdtype(dtype, kind) for kind in kinds.get(type(value), ()))


def _is_in_range(value, dtype):
    return jnp.iinfo(dtype).min <= value <= jnp.iinfo(dtype).max


def _listed(name, sizes):
    try:
        listed = tuple(sorted(set(map(operator.index, sizes))))
    except TypeError:
        raise TypeError(f"Program.like: {name}={sizes!r} is no list of sizes, as "
                        f"{name}=(1, 8)") from None
    if not listed:
        raise ValueError(f"Program.like: no sizes are listed for {name}")
    return listed


def _sized(kind, dims, sizes):
    rank = len(kind.shape)
    words = [word.strip() for word in dims.split(",")]
    if "..." in words:
        at = words.index("...")
        words[at:at + 1] = ["_"] * max(0, rank - len(words) + 1)
    if len(words) != rank:
        raise ValueError(f'Program.like: "{dims}" does not fit {text(kind)}')
    parsed = tuple(shape if word == "_" else int(word) if word.isdigit() else word
                   for word, shape in zip(words, kind.shape))
    return SizedType(parsed, kind.dtype, kind.weak_type, sizes)


def _evaluate(dim, values):
    try:
        size = eval(dim, {"__builtins__": {}}, dict(values))
    except NameError as error:
        raise ValueError(f"dimension {dim}: no sizes are given for {error.name}") from None
    except Exception as error:
        raise ValueError(f"dimension {dim}: {error}") from None
    if not isinstance(size, int) or size < 0:
        raise ValueError(f"dimension {dim} is {size}")
    return size


def _apart(*treedefs):
    """Their words, from a little before where they differ."""
    words = [str(treedef).removeprefix("PyTreeDef(").removesuffix(")") for treedef in treedefs]
    begin = max(0, len(os.path.commonprefix(words)) - 80)
    return ["..." * (begin > 0) + text[begin:begin + 200] + "..." * (len(text) > begin + 200)
            for text in words]
