"""Custom calls of a program that is run without JAX, as functions of Python's."""

import ctypes

import numpy as np

from tercel import abi


class CustomCalls:
    """Target -> function(configuration, *operands) that gives an array, or a tuple of them."""

    def __init__(self, functions):
        self._calls = _Calls(functions)
        self.function = abi.CustomCallFunction(self._calls.run) if functions else None

    def raise_error(self):
        """Raises what the last function that failed has raised, once."""
        error, self._calls.error = self._calls.error, None
        if error is None:
            return
        try:
            raise error
        finally:
            del error  # which knows this frame


class _Calls:
    def __init__(self, functions):
        self._functions = functions
        self.error = None

    def run(self, user_data, address):
        del user_data
        call = address.contents
        try:
            function = self._functions.get(call.target.decode())
            if function is None:
                return abi.UNIMPLEMENTED
            operands = [_array(call.operands[i], call.operand_types[i]).copy()
                        for i in range(call.num_operands)]
            values = function(call.configuration.decode(), *operands)
            self._store(call, values if isinstance(values, tuple) else (values,))
            return abi.OK
        except BaseException as error:  # no exception may pass through the library
            self.error = error
            return abi.UNKNOWN

    def _store(self, call, values):
        target = call.target.decode()
        if len(values) != call.num_results:
            raise ValueError(f"{target} gave {len(values)} results in place of {call.num_results}")
        for i, value in enumerate(map(np.asarray, values)):
            place = _array(call.results[i], call.result_types[i])
            if value.shape != place.shape or value.dtype != place.dtype:
                raise ValueError(
                    f"{target}: result {i}: {abi.type_text(value.shape, value.dtype)} in place of "
                    f"{abi.type_text(place.shape, place.dtype)}")
            place[...] = value


def _array(address, info):
    """The array that lies there, as long as the call lasts."""
    shape = tuple(info.dims[:info.rank])
    if info.bytes == 0:
        return np.empty(shape, abi.dtype(info.dtype))
    memory = (ctypes.c_char * info.bytes).from_address(address)
    return np.ndarray(shape, abi.dtype(info.dtype), memory)
