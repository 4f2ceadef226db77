"""The plugin exports GetPjrtApi and what tercel.h declares: exports_test.py PLUGIN TERCEL_H"""

import pathlib
import re
import subprocess
import sys

plugin, header = sys.argv[1:]
declared = re.findall(r"^TERCEL_EXPORT [\w\s*]*?(\w+)\(", pathlib.Path(header).read_text(), re.M)
table = subprocess.run(["nm", "-D", "--defined-only", plugin], check=True, text=True,
                       stdout=subprocess.PIPE).stdout
exported = {line.split()[-1].split("@")[0] for line in table.splitlines()}
wanted = {"GetPjrtApi", *declared}
assert len(declared) > 5, declared
assert exported == wanted, f"missing {wanted - exported}, too many {exported - wanted}"
