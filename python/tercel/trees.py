"""Trees of arrays without JAX: how arguments, results and globals are nested, as JSON.

    3                                   the array of that number
    null                                None
    {"dict": [[key, tree], ...]}        a dict, or another mapping
    {"list": [tree, ...]}               a list
    {"tuple": [tree, ...]}              a tuple
    {"fields": [[name, tree], ...], "type": "Adam"}
                                        a namedtuple or a class of a user's: here a namedtuple
"""

import collections
import collections.abc
import functools

_SEQUENCES = {"list": list, "tuple": tuple}


def build(tree, leaves):
    """The nested value with leaves[number] in the places of the numbers."""
    if isinstance(tree, int):
        return leaves[tree]
    if tree is None:
        return None
    if "dict" in tree:
        return {key: build(child, leaves) for key, child in tree["dict"]}
    if "fields" in tree:
        made = _record(tree["type"], tuple(name for name, _ in tree["fields"]))
        return made(*(build(child, leaves) for _, child in tree["fields"]))
    children = [build(child, leaves) for child in tree.get("list", tree.get("tuple"))]
    return children if "list" in tree else tuple(children)


def flatten(tree, value, path):
    """(number, leaf) for each leaf of a value that must be nested like this. Errors name the path:
    what it is of, an argument or a global, keys."""
    leaves = []
    _collect(tree, value, path, leaves)
    return leaves


def _collect(tree, value, path, leaves):
    if isinstance(tree, int):
        leaves.append((tree, value))
    elif tree is None:
        if value is not None:
            raise TypeError(f"{_place(path)}: a {type(value).__name__} in place of None")
    else:
        for key, child, part in _children(tree, value, path):
            _collect(child, part, (*path, key), leaves)


@functools.cache
def _record(name, fields):
    return collections.namedtuple(name, fields, rename=True)


def _place(path):
    return f"{path[0]}: {'.'.join(map(str, path[1:]))}"


def _children(tree, value, path):
    """The keys, the trees and the parts of a value."""
    for kind in ("list", "tuple"):
        if kind in tree:
            if isinstance(value, _SEQUENCES[kind]) and len(value) == len(tree[kind]):
                return zip(range(len(value)), tree[kind], value)
            raise TypeError(f"{_place(path)}: a {type(value).__name__} in place of a {kind} of "
                            f"{len(tree[kind])}")
    kind = "dict" if "dict" in tree else "fields"
    keys = [key for key, _ in tree[kind]]
    parts = _parts(kind, keys, value)
    if parts is not None:
        return zip(keys, [child for _, child in tree[kind]], parts)
    raise TypeError(f"{_place(path)}: a {type(value).__name__} in place of a "
                    f"{'dict' if kind == 'dict' else 'tree'} of {', '.join(map(str, keys))}")


def _parts(kind, keys, value):
    """The children of a value, in the order of the keys; None where it is something else."""
    if isinstance(value, collections.abc.Mapping):
        same = len(value) == len(keys) and all(key in value for key in keys)
        return [value[key] for key in keys] if same else None
    if kind == "fields":
        if isinstance(value, tuple) and len(value) == len(keys):
            return value
        if all(isinstance(key, str) and hasattr(value, key) for key in keys):
            return [getattr(value, key) for key in keys]
    return None
