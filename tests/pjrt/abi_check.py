"""Compares our transcription of the PJRT C ABI with the one in the PyPI package pypjrt.

    abi_check.py path/to/abi_dump [-v]

Every struct of ours must exist there with the same fields, in the same order, at the same offsets,
of the same sizes, and the same STRUCT_SIZE; every enumerator must have the same value; the table
must have the same slots. Structs that we do not have are listed with -v only.
"""

import ctypes
import importlib
import re
import subprocess
import sys

from pypjrt import _abi


def newest_tables():
    major, minor = _abi.available()[0]
    return importlib.import_module(f"pypjrt._abi.pjrt_{major}_{minor}")


def their_fields(struct):
    """(name, offset, size) of each field, looking through anonymous unions."""
    anonymous = getattr(struct, "_anonymous_", ())
    for name, kind, *_ in struct._fields_:
        offset = getattr(struct, name).offset
        if name in anonymous:
            for inner, inner_offset, size in their_fields(kind):
                yield inner, offset + inner_offset, size
        else:
            yield name, offset, ctypes.sizeof(kind)


def parse(dump):
    ours = {"enum": {}, "slot": {}, "struct": {}, "fields": {}}
    for line in dump.splitlines():
        kind, name, *rest = line.split()
        if kind in ("enum", "slot"):
            ours[kind][name] = int(rest[0])
        elif kind == "struct":
            ours["struct"][name] = (int(rest[0]), int(rest[1]))
            ours["fields"][name] = []
        elif kind == "field":
            ours["fields"][name].append((rest[0], int(rest[1]), int(rest[2])))
    return ours


def struct_faults(name, ours, theirs):
    struct = getattr(theirs, name, None)
    if struct is None:
        return [f"{name}: unknown to pypjrt"]
    faults = []
    size, struct_size = ours["struct"][name]
    if size != ctypes.sizeof(struct):
        faults.append(f"{name}: sizeof {size}, should be {ctypes.sizeof(struct)}")
    wanted_size = getattr(theirs, f"{name}_STRUCT_SIZE", ctypes.sizeof(struct))
    if struct_size != wanted_size:
        faults.append(f"{name}: STRUCT_SIZE {struct_size}, should be {wanted_size}")
    wanted = list(their_fields(struct))
    if ours["fields"][name] != wanted:
        faults.append(f"{name}: fields {ours['fields'][name]}, should be {wanted}")
    return faults


def main():
    dump = subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout
    ours, theirs = parse(dump), newest_tables()
    faults = []
    for name in ours["struct"]:
        faults += struct_faults(name, ours, theirs)
    for name, value in ours["enum"].items():
        wanted = getattr(theirs, name, None)
        if value != wanted:
            faults.append(f"{name}: {value}, should be {wanted}")
    if ours["slot"] != theirs.SLOT:
        faults.append(f"slots differ: {set(ours['slot'].items()) ^ set(theirs.SLOT.items())}")
    for fault in faults:
        print("FAIL", fault)
    print(f"{len(ours['struct'])} structs, {sum(map(len, ours['fields'].values()))} fields, "
          f"{len(ours['enum'])} enumerators, {len(ours['slot'])} slots compared with PJRT "
          f"{theirs.PJRT_API_MAJOR}.{theirs.PJRT_API_MINOR}: {len(faults)} faults")
    if "-v" in sys.argv:
        known = re.findall(r"\bPJRT_\w+_Args\b", " ".join(dir(theirs)))
        print("not transcribed:", *sorted(n for n in set(known) - set(ours["struct"])))
    return 1 if faults else 0


sys.exit(main())
