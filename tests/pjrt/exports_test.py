"""The plugin exports GetPjrtApi and what our C headers declare: exports_test.py PLUGIN HEADER..."""

import pathlib
import re
import subprocess
import sys

plugin, *headers = sys.argv[1:]
declared = [name for header in headers for name in re.findall(
    r"^TERCEL_EXPORT [\w\s*]*?(\w+)\(", pathlib.Path(header).read_text(), re.M)]
table = subprocess.run(["nm", "-D", "--defined-only", plugin], check=True, text=True,
                       stdout=subprocess.PIPE).stdout
exported = {line.split()[-1].split("@")[0] for line in table.splitlines()}
wanted = {"GetPjrtApi", *declared}
assert len(declared) > 5, declared
assert exported == wanted, f"missing {wanted - exported}, too many {exported - wanted}"
