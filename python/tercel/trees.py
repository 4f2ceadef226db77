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
import operator

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


class Reader:
    """Takes values apart that must be nested like a tree; errors name the path, first what it is of,
    an argument or a global."""

    def __init__(self, tree, *path):
        self._read = _reader(tree)
        self._path = path

    def __call__(self, value, leaves):
        """leaves[number] = leaf, for each leaf of the value."""
        try:
            self._read(value, leaves)
        except _Mismatch as mismatch:
            program, *keys = (*self._path, *reversed(mismatch.keys))
            raise TypeError(f"{program}: {'.'.join(map(str, keys))}: {mismatch}") from None


class _Mismatch(Exception):
    def __init__(self, value, wanted):
        size = f" of {len(value)}" if isinstance(value, (list, tuple)) else ""
        super().__init__(f"a {type(value).__name__}{size} in place of {wanted}")
        self.keys = []  # to the part that does not match, the last one first


def _reader(tree):
    """A function of a value and of where its leaves go."""
    if isinstance(tree, int):
        def read(value, leaves):
            leaves[tree] = value
    elif tree is None:
        def read(value, leaves):
            if value is not None:
                raise _Mismatch(value, "None")
    else:
        keys, children, parts = _children(tree)
        if _are_in_a_row(children):
            return _row_reader(children, parts)
        readers = [_reader(child) for child in children]

        def read(value, leaves):
            for key, child, part in zip(keys, readers, parts(value)):
                try:
                    child(part, leaves)
                except _Mismatch as mismatch:
                    mismatch.keys.append(key)
                    raise
    return read


def _are_in_a_row(children):
    return all(isinstance(child, int) and child == children[0] + i
               for i, child in enumerate(children))


def _row_reader(children, parts):
    """Of a node all of whose children are leaves with numbers in a row, as most are."""
    row = slice(children[0], children[0] + len(children)) if children else slice(0)

    def read(value, leaves):
        leaves[row] = parts(value)
    return read


def _children(tree):
    """The keys, the trees, and a function that gives a value's parts."""
    for kind, sequence in _SEQUENCES.items():
        if kind in tree:
            children = tree[kind]
            return range(len(children)), children, _sequence_parts(sequence, len(children))
    kind = "dict" if "dict" in tree else "fields"
    keys, children = zip(*tree[kind]) if tree[kind] else ((), ())
    return keys, children, (_mapping_parts if kind == "dict" else _field_parts)(keys)


def _sequence_parts(sequence, length):
    def parts(value):
        if isinstance(value, sequence) and len(value) == length:
            return value
        raise _Mismatch(value, f"a {sequence.__name__} of {length}")
    return parts


def _mapping_parts(keys):
    known, length = set(keys), len(keys)
    take = operator.itemgetter(*keys) if length > 1 else lambda value: [value[key] for key in keys]

    def parts(value):
        """The children in the order of the keys."""
        if type(value) is dict:
            if len(value) == length:
                try:
                    return take(value)
                except KeyError:
                    pass
        elif isinstance(value, collections.abc.Mapping) and value.keys() == known:
            return take(value)
        if not isinstance(value, collections.abc.Mapping):
            raise _Mismatch(value, f"a dict of {_listed(keys)}")
        lacking = [key for key in keys if key not in value]
        others = [key for key in value if key not in known]
        raise _Mismatch(value, f"one of {_listed(keys)}: it " + " and ".join(
            f"{what} {_listed(some)}" for what, some in (("lacks", lacking), ("has also", others))
            if some))
    return parts


def _listed(keys):
    return ", ".join(map(str, keys[:8])) + (", ..." if len(keys) > 8 else "")


def _field_parts(keys):
    def parts(value):
        if isinstance(value, tuple):
            if len(value) == len(keys):
                return value
        elif isinstance(value, collections.abc.Mapping):
            if value.keys() == set(keys):
                return [value[key] for key in keys]
        elif all(isinstance(key, str) and hasattr(value, key) for key in keys):
            return [getattr(value, key) for key in keys]
        raise _Mismatch(value, f"a tree of {_listed(keys)}")
    return parts


@functools.cache
def _record(name, fields):
    return collections.namedtuple(name, fields, rename=True)
