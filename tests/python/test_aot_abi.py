"""The structs that Python fills in are those of the C headers."""

import ctypes
import pathlib
import re
import shutil
import subprocess

import pytest

from tercel import abi
from tercel.aot import native

HEADERS = pathlib.Path(__file__).resolve().parents[2] / "src" / "program"
STRUCTS = {
    "tercel_value_info": abi.ValueInfo, "tercel_procedure_info": abi.ProcedureInfo,
    "tercel_program_info": abi.ProgramInfo, "tercel_custom_call": abi.CustomCall,
    "tercel_buffer": abi.Buffer, "tercel_load_options": abi.LoadOptions,
    "tercel_instance_options": abi.InstanceOptions, "tercel_global_spec": native.GlobalSpec,
    "tercel_value_spec": native.ValueSpec, "tercel_procedure_spec": native.ProcedureSpec,
    "tercel_library_options": native.LibraryOptions,
}
COMPILER = shutil.which("cc") or shutil.which("gcc")


def facts_of_c(folder):
    """What a C compiler says of sizes, offsets and numbers."""
    lines = []
    for name, struct in STRUCTS.items():
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        lines += [f'printf("{name}.{field} %zu\\n", offsetof({name}, {field}));'
                  for field, _ in struct._fields_]
    lines += [f'printf("{name} code %d\\n", TERCEL_{name});'
              for name in ("OK", "UNKNOWN", "UNIMPLEMENTED")]
    lines.append('printf("version %d\\n", TERCEL_API_VERSION);')
    lines.append('printf("alignment %d\\n", TERCEL_ALIGNMENT);')
    lines.append('printf("last dtype %d\\n", TERCEL_F8E8M0FNU);')
    source = folder / "facts.c"
    source.write_text('#include <stdio.h>\n#include "program/tercel_aot.h"\nint main(void) {\n'
                      + "\n".join(lines) + "\nreturn 0; }\n")
    subprocess.run([COMPILER, "-std=c11", f"-I{HEADERS.parent}", source, "-o", folder / "facts"],
                   check=True)
    output = subprocess.run([folder / "facts"], check=True, capture_output=True, text=True).stdout
    return {name: int(value) for name, value in
            (line.rsplit(" ", 1) for line in output.splitlines())}


@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
def test_structs(tmp_path):
    facts = facts_of_c(tmp_path)
    for name, struct in STRUCTS.items():
        assert facts[name] == ctypes.sizeof(struct), name
        for field, _ in struct._fields_:
            assert facts[f"{name}.{field}"] == getattr(struct, field).offset, f"{name}.{field}"
    for name in ("OK", "UNKNOWN", "UNIMPLEMENTED"):
        assert facts[f"{name} code"] == getattr(abi, name)
    assert facts["version"] == abi.VERSION and facts["alignment"] == abi.ALIGNMENT
    assert facts["last dtype"] == len(abi.DTYPES) - 1


def test_dtypes_have_the_headers_names():
    text = (HEADERS / "tercel_program.h").read_text()
    listed = re.search(r"typedef enum tercel_dtype \{(.*?)\} tercel_dtype", text, re.DOTALL)[1]
    short = {"BOOL": "PRED", "BFLOAT16": "BF16", "COMPLEX64": "C64", "COMPLEX128": "C128"}
    ours = [short.get(name.upper(), re.sub("^UINT|^INT|^FLOAT", lambda kind: {
        "UINT": "U", "INT": "S", "FLOAT": "F"}[kind[0]], name.upper()).replace("_", ""))
        for name in abi.DTYPES.values()]
    assert ours == [name.upper() for name in abi.DTYPES]
    assert ours == [name.removeprefix("TERCEL_") for name in re.findall(r"TERCEL_\w+", listed)]
