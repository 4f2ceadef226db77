"""Calls of a saved program's procedures."""

import ctypes
import weakref

import numpy as np

from tercel import abi, trees

# Bytes of an array that is copied to a place of known address sooner than NumPy tells its own or
# makes one there.
_SMALL = 1 << 15
# And of one whose memory is kept for the next result.
_MOST_RECYCLED = 1 << 28


class Procedure:
    """A procedure of a saved program; prints its signatures."""

    def __init__(self, handle, signatures):
        self._handle = handle
        self._name = f"{handle.program.name}.{signatures[0].name}"
        self._signatures = signatures
        self._parameters = [name for name, _ in signatures[0].parameters]
        self._read = trees.Reader({"fields": signatures[0].parameters}, self._name)
        self._shapes = [value.shape for value in signatures[0].arguments]
        self._calls = {}

    def __repr__(self):
        return "\n".join(map(str, self._signatures))

    def __call__(self, *args, **kwargs):
        """Takes trees of arrays, nested as in the class, and gives its results as NumPy arrays.

        Arrays have the argument's shape and dtype, which are not converted; numbers of Python's
        take the dtype of a scalar argument. Of several signatures the first of these shapes is
        called. TypeError: the number, names or nesting of arguments; ValueError: a shape or dtype;
        OverflowError: a number out of the dtype's range; RuntimeError: an error of running. What a
        custom call raises is raised here.
        """
        if kwargs or len(args) != len(self._parameters):
            args = self._bind(args, kwargs)
        signature = self._signatures[0]
        leaves = [None] * len(signature.arguments)
        self._read(args, leaves)
        leaves = [leaf if type(leaf) is np.ndarray and leaf.dtype is value.dtype
                  else as_array(leaf, value, self._name)
                  for leaf, value in zip(leaves, signature.arguments)]
        if len(self._signatures) > 1:
            signature = self._dispatch(leaves)
        elif [leaf.shape for leaf in leaves] != self._shapes:
            self._refuse(leaves, signature)
        return trees.build(signature.result_tree, self._run(signature, leaves))

    def _bind(self, args, kwargs):
        names = self._parameters
        if len(args) > len(names):
            raise TypeError(f"{self._name} takes {len(names)} arguments but {len(args)} were given")
        given = dict(zip(names, args))
        for name, value in kwargs.items():
            if name not in names:
                raise TypeError(f"{self._name} got an unexpected argument {name!r}")
            if name in given:
                raise TypeError(f"{self._name} got multiple values for argument {name!r}")
            given[name] = value
        for name, tree in self._signatures[0].parameters:
            if name not in given:
                given[name] = self._default(name, tree)
        return tuple(given[name] for name in names)

    def _default(self, name, tree):
        try:
            return trees.build(tree, [])
        except IndexError:  # it has arrays
            raise TypeError(f"{self._name}: missing a required argument: {name!r}") from None

    def _dispatch(self, leaves):
        for signature in self._signatures:
            if all(leaf.shape == value.shape for leaf, value in zip(leaves, signature.arguments)):
                return signature
        given = ", ".join(f"{value.name} {list(leaf.shape)}"
                          for leaf, value in zip(leaves, self._signatures[0].arguments))
        listed = ", ".join(signature.text for signature in self._signatures)
        raise ValueError(f"{self._name}: no signature for {given}: there are {listed}")

    def _refuse(self, leaves, signature):
        for leaf, value in zip(leaves, signature.arguments):
            if leaf.shape != value.shape:
                refuse(leaf, value, self._name)

    def _run(self, signature, leaves):
        with self._handle as handle:
            call = self._calls.get(signature.number)
            if call is None:
                call = self._calls[signature.number] = _Call(handle.address, signature)
            code = call.run(leaves)
            if code:
                handle.check(code, self._name)
            return call.results.take()


class _Call:
    """What the library is told of the calls of one signature."""

    def __init__(self, address, signature):
        self._arguments, self.results = _Arguments(signature.arguments), _Results(signature.results)
        self._function = abi.library().tercel_instance_call
        self._parameters = (address, ctypes.c_size_t(signature.number),
                            *self._arguments.parameters, *self.results.parameters)

    def run(self, leaves):
        held = self._arguments.store(leaves)
        self.results.renew()
        code = self._function(*self._parameters)
        del held
        return code


class _Places:
    """Where the arrays of a call lie. Small ones always lie in the same memory."""

    def __init__(self, values):
        self._kept = [aligned(value) if value.bytes <= _SMALL else None for value in values]
        places = (abi.Buffer * max(1, len(values)))()
        self.parameters = ctypes.c_void_p(ctypes.addressof(places)), ctypes.c_size_t(len(values))
        self._places = list(places)[:len(values)]  # which keep the memory
        for place, value, array in zip(self._places, values, self._kept):
            place.bytes = value.bytes
            place.data = None if array is None else array.ctypes.data


class _Arguments(_Places):
    def store(self, arrays):
        """Makes them the values; what it gives back must live as long as they are used."""
        held = []
        for place, kept, array in zip(self._places, self._kept, arrays):
            if kept is not None:
                kept[...] = array
            else:
                flags, place.data = _where(array)
                if flags & _DENSE != _DENSE:
                    held.append(np.array(array, order="C"))
                    place.data = _where(held[-1])[1]
        return held


class _Results(_Places):
    def __init__(self, values):
        super().__init__(values)
        self._large = {i: _Recycled(value) for i, value in enumerate(values)
                       if self._kept[i] is None}
        self._new = {}

    def renew(self):
        """New arrays for what is large."""
        for i, memory in self._large.items():
            self._new[i], self._places[i].data = memory.array()

    def take(self):
        new, self._new = self._new, {}
        return [new[i] if kept is None else kept.copy() for i, kept in enumerate(self._kept)]


class _Recycled:
    """Arrays of one type, in memory that no array uses any more where there is such: fresh pages
    cost more than most elementwise programs."""

    def __init__(self, value):
        self._value = value
        # What an array and its views hold on to; its end is known.
        self._hold = type("Memory", (ctypes.c_char * value.bytes,), {})
        self._known = []  # [memory, its address, a reference to who holds it]

    def array(self):
        """One more, and its address."""
        value = self._value
        known = next((known for known in self._known if known[2]() is None), None)
        if known is None:
            memory = _room(value.bytes)
            known = [memory, memory.ctypes.data, None]
            if value.bytes <= _MOST_RECYCLED:
                self._known = [*self._known[-1:], known]
        holder = self._hold.from_buffer(known[0])
        known[2] = weakref.ref(holder)
        return np.ndarray(value.shape, value.dtype, holder), known[1]


def as_array(leaf, value, where):
    """The leaf as an array of the value's type; Python's numbers take it where they can."""
    if isinstance(leaf, (bool, int, float, complex)):
        leaf = _number(leaf, value, where)
    array = np.asarray(leaf)
    if array.dtype != value.dtype:
        refuse(array, value, where)
    return array


def _number(leaf, value, where):
    kind = abi.kind(value.dtype)
    given = np.dtype(type(leaf)).kind
    if "biufc".find(kind) < "biufc".find(given) or given == "b" != kind:
        raise ValueError(f"{where}: {value.name}: a Python {type(leaf).__name__} in place of "
                         f"{value}")
    try:
        array = np.asarray(leaf, value.dtype)
        fits = kind not in "iu" or int(array) == leaf  # ml_dtypes drops upper bits
    except OverflowError:
        fits = False
    if not fits:
        raise OverflowError(f"{where}: {value.name}: {leaf} is out of the range of {value}")
    return array


def refuse(array, value, where):
    raise ValueError(f"{where}: {value.name}: {abi.type_text(array.shape, array.dtype)} in place of "
                     f"{value}")


def dense(array):
    """As the library reads it."""
    flags = array.flags
    return array if flags.c_contiguous and flags.aligned else np.array(array, order="C")


def aligned(value):
    """New memory for a value, where the library need not copy what it writes."""
    return np.ndarray(value.shape, value.dtype, _room(value.bytes))


def _room(size):
    memory = np.empty(size + abi.ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % abi.ALIGNMENT
    return memory[start:start + size]


class _ArrayInterface(ctypes.Structure):
    """NumPy's __array_struct__, which tells where an array lies in a third of the time that its
    other ways take."""

    _fields_ = [("two", ctypes.c_int), ("rank", ctypes.c_int), ("kind", ctypes.c_char),
                ("item_bytes", ctypes.c_int), ("flags", ctypes.c_int),
                ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                ("data", ctypes.c_void_p), ("description", ctypes.py_object)]


_DENSE = 0x101  # C contiguous, aligned
_interface = _ArrayInterface.from_address
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))


def _where(array):
    """An array's flags and its address."""
    capsule = array.__array_struct__
    interface = _interface(_pointer(capsule, None))
    return interface.flags, interface.data
