"""What memory gives: bytes that libc's memchr looks through, all threads at once, without finding any."""

import concurrent.futures
import ctypes
import math
import os

import numpy as np

_memchr = ctypes.CDLL(None).memchr
_memchr.restype = ctypes.c_void_p
_memchr.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t)


class Probe:
    """Reads so many bytes; seconds is the least time that it took."""

    def __init__(self, size):
        self.bytes = np.ones(size, np.uint8)
        self.threads = len(os.sched_getaffinity(0))
        self.pool = concurrent.futures.ThreadPoolExecutor(self.threads)
        self.seconds = math.inf

    def run(self):
        part = self.bytes.size // self.threads
        list(self.pool.map(lambda i: _memchr(self.bytes.ctypes.data + i * part, 0, part),
                           range(self.threads)))
