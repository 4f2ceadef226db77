"""Writes abi_dump.cc: a program that prints where our ABI headers put each field.

    abi_dump.py src/pjrt > abi_dump.cc

Its output, read by abi_check.py, has one line per enumerator, struct and field:
    enum NAME VALUE | struct NAME SIZEOF STRUCT_SIZE | field STRUCT NAME OFFSET SIZE | slot NAME INDEX
"""

import pathlib
import re
import sys


def field_names(body):
    text = re.sub(r"//.*|union \{|\}", " ", body)
    for declaration in text.split(";"):
        declaration = " ".join(declaration.split())
        if declaration == "PJRT_HEAD":
            yield from ("struct_size", "extension_start")
        elif found := re.search(r"PJRT_LAYOUTS_FUNCTION\((\w+)\)", declaration):
            yield "PJRT_" + found[1]
        elif found := re.search(r"\(\*(\w+)\)\(", declaration) or re.search(r"(\w+)$", declaration):
            yield found[1]


def api_rows(folder):
    text = (folder / "api.def").read_text()
    return re.findall(r"^PJRT_(?:ENTRY|VOID|STUB)\((\d+), (\w+),", text, re.M)


def dump_lines(folder):
    for path in sorted((folder / "abi").glob("*.h")):
        text = path.read_text()
        for body in re.findall(r"^enum \w+ : \w+ \{\n(.*?)^\};", text, re.M | re.S):
            for name in re.findall(r"^  (\w+) =", body, re.M):
                yield f'std::printf("enum {name} %lld\\n", (long long){name});'
        sized = set(re.findall(r"^PJRT_SIZE\((\w+),", text, re.M))
        for name, body in re.findall(r"^struct (\w+) \{\n(.*?)^\};", text, re.M | re.S):
            size = f"{name}_STRUCT_SIZE" if name in sized else f"sizeof({name})"
            yield f'std::printf("struct {name} %zu %zu\\n", sizeof({name}), {size});'
            names = list(field_names(body))
            if name == "PJRT_Api":
                names = ["struct_size", "extension_start", "pjrt_api_version"]
                names += ["PJRT_" + entry for _, entry in api_rows(folder)]
            for field in names:
                where = f"offsetof({name}, {field}), sizeof({name}::{field})"
                yield f'std::printf("field {name} {field} %zu %zu\\n", {where});'
    for index, name in api_rows(folder):
        yield f'std::puts("slot PJRT_{name} {index}");'


def main():
    folder = pathlib.Path(sys.argv[1])
    for path in sorted((folder / "abi").glob("*.h")):
        print(f'#include "pjrt/abi/{path.name}"')
    print("#include <cstdio>\n\nint main() {")
    for line in dump_lines(folder):
        print("  " + line)
    print("}")


main()
