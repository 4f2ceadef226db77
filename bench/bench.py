"""Measures Tercel against JAX's own CPU backend and prints a markdown table.

./dev bench                   all workloads
./dev bench --quick           a short time each, without those that XLA:CPU compiles for long
./dev bench matmul conv3x3    those whose name or group contains a word
./dev bench --ops [ARGS]      every op in every type, to docs/ops.md (--help lists ARGS)
"""

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys

import workload

HERE = pathlib.Path(__file__).resolve().parent
HEADER = ("| work | run: Tercel | XLA:CPU | ratio | goal | compile: Tercel | XLA:CPU | ratio "
          "| goal | |\n|---|---|---|---|---|---|---|---|---|---|")

MEMORY_BOUND = 1.15  # times the time that memory takes: who is within it has reached the goal


def run_child(*arguments, timeout):
    """What a child process printed and, where it did not come to its end, why."""
    try:
        done = subprocess.run([sys.executable, *arguments], cwd=HERE, text=True, timeout=timeout,
                              capture_output=True, env={**os.environ})
    except subprocess.TimeoutExpired as late:
        return (late.stdout or b"").decode(), f"more than {timeout:.0f} s"
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return done.stdout, f"exit status {done.returncode}: {last}"
    return done.stdout, None


def child(*arguments, timeout):
    """A child process's JSON, or a dictionary with an error: a crash is a row, not the end."""
    output, error = run_child(*arguments, timeout=timeout)
    return {"error": error} if error else json.loads(output.strip().splitlines()[-1])


def milliseconds(seconds):
    if seconds is None or not math.isfinite(seconds):
        return "-"
    value = seconds * 1e3
    return f"{value:.4f}" if value < 0.1 else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def ratio(ours, theirs):
    good = all(v is not None and math.isfinite(v) and v > 0 for v in (ours, theirs))
    return theirs / ours if good else None


def text(value, form="{:.2f}x"):
    return "" if value is None else form.format(value)


def row(entry, answer):
    """The table's line and the two ratios."""
    ours, theirs = answer.get("tercel", {}), answer.get("cpu", {})
    run = ratio(ours.get("run"), theirs.get("run"))
    compiled = ratio(ours.get("compile"), theirs.get("compile"))
    notes = [f"{who}: {error}" for who, error in (
        ("failed", answer.get("error")), ("Tercel", ours.get("error")),
        ("XLA:CPU", theirs.get("error"))) if error]
    if answer.get("difference", 0) > 2e-2 or math.isnan(answer.get("difference", 0)):
        notes.append(f"results differ by {answer['difference']:.1e}")
    bound = answer.get("memory", 0)
    if bound and run:
        notes.append(f"{entry.moved / ours['run'] / 1e9:.1f} of {entry.moved / bound / 1e9:.1f} GB/s")
    if entry.goal and run and run < entry.goal and ours["run"] > MEMORY_BOUND * bound:
        notes.append("below goal")
    note = "; ".join(notes).replace("|", "/")[:160]
    return (f"| {entry.name} | {milliseconds(ours.get('run'))} | {milliseconds(theirs.get('run'))}"
            f" | {text(run)} | {text(entry.goal)} | {milliseconds(ours.get('compile'))} "
            f"| {milliseconds(theirs.get('compile'))} | {text(compiled)} "
            f"| {text(entry.compile_goal)} | {note} |"), run, compiled


def eager_row():
    """The session of eager calls, twice on each backend in turn, the better of each."""
    entry = workload.Workload("eager_session_of_30", "overheads", None, compile_goal=6)
    best = {}
    for _ in range(2):
        for platform in ("tercel", "cpu"):
            result = child("eager.py", platform, timeout=300)
            if platform not in best or result.get("compile", 9e9) < best[platform]["compile"]:
                best[platform] = {"compile": math.inf, "run": math.inf, "error": None, **result}
    return row(entry, best)


def mean(ratios):
    """Geometric."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None


def chosen(options):
    entries = [e for e in workload.ALL.values() if not (options.quick and e.slow)]
    if options.names:
        entries = [e for e in entries
                   if any(word in e.name or word == e.group for word in options.names)]
    return entries


def main():
    if sys.argv[1:2] == ["--ops"]:
        import ops

        ops.main(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of names, or groups")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--list", action="store_true", help="list the workloads")
    parser.add_argument("--seconds", type=float, help="time to run each workload")
    parser.add_argument("--timeout", type=float, default=300, help="for one workload")
    options = parser.parse_args()
    workload.load_all()
    entries = chosen(options)
    if options.list:
        print("\n".join(f"{e.group:14} {e.name}" for e in entries))
        return
    seconds = options.seconds or (0.4 if options.quick else 2.0)
    print("Times in ms, the least of many runs that take turns; ratio: XLA:CPU's time / Tercel's.\n")
    print(HEADER, flush=True)
    runs, compiles = [], []
    rows = (row(e, child("measure.py", e.name, str(seconds), timeout=options.timeout))
            for e in entries)
    for line, run, compiled in rows:
        print(line, flush=True)
        runs += [run] if run else []
        compiles += [compiled] if compiled else []
    if not options.names or any(n in ("overheads", "eager") for n in options.names):
        print(eager_row()[0], flush=True)
    print(f"| geometric mean of {len(runs)} | | | {text(mean(runs))} | | | | "
          f"{text(mean(compiles))} | | |")


if __name__ == "__main__":
    main()
