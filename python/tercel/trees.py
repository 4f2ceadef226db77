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
    if isinstance(tree, int):
        yield tree, value
    elif tree is None:
        if value is not None:
            raise TypeError(f"{_place(path)}: a {type(value).__name__} in place of None")
    else:
        for key, child, part in _children(tree, value, path):
            yield from flatten(child, part, (*path, key))


@functools.cache
def _record(name, fields):
    return collections.namedtuple(name, fields, rename=True)


def _place(path):
    return f"{path[0]}: {'.'.join(map(str, path[1:]))}"


def _children(tree, value, path):
    kind = next(kind for kind in ("dict", "list", "tuple", "fields") if kind in tree)
    keyed = kind in ("dict", "fields")
    keys = [key for key, _ in tree[kind]] if keyed else range(len(tree[kind]))
    children = [child for _, child in tree[kind]] if keyed else tree[kind]
    given = _parts(kind, keys, value)
    if given is None:
        raise TypeError(f"{_place(path)}: a {type(value).__name__} in place of a {_words(kind, keys)}")
    return zip(keys, children, given)


def _parts(kind, keys, value):
    """The children of a value, in the order of the keys; None where it is something else."""
    if kind in ("list", "tuple"):
        wanted = list if kind == "list" else tuple
        return value if isinstance(value, wanted) and len(value) == len(keys) else None
    if isinstance(value, collections.abc.Mapping):
        return [value[key] for key in keys] if set(value) == set(keys) else None
    if kind == "fields":
        if isinstance(value, tuple) and len(value) == len(keys):
            return value
        if all(isinstance(key, str) and hasattr(value, key) for key in keys):
            return [getattr(value, key) for key in keys]
    return None


def _words(kind, keys):
    if kind in ("list", "tuple"):
        return f"{kind} of {len(keys)}"
    return f"{'dict' if kind == 'dict' else 'tree'} of {', '.join(map(str, keys))}"
