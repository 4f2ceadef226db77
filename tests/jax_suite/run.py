"""Runs JAX's own tests on Tercel and on XLA:CPU and compares.

Each test file runs in a process of its own. One that dies or hangs is started again after the test
that broke it. What has run is kept in the folder of --out, so a run that was stopped goes on.
expected.json beside this file lists the tests that XLA:CPU passes and Tercel does not, each with its
reason; any other such test makes the run fail, and so does a listed one that passes by now.
"""

import argparse
import collections
import concurrent.futures
import fnmatch
import json
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent
EXPECTED = HERE / "expected.json"
FOLDERS = [".", "pallas"]  # of the checkout's tests
PLATFORMS = {"tercel": "tercel,cpu", "cpu": "cpu"}
BETTER = "detected success in regions"  # of a test that passes where XLA:CPU is wrong


def arguments():
    parser = argparse.ArgumentParser(prog="./dev jax-tests", description=__doc__.split("\n")[0])
    parser.add_argument("checkout", type=pathlib.Path, help="of jax, at the installed version's tag")
    parser.add_argument("files", nargs="*", help="names or patterns under tests/ (default: all)")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/jax_tests"),
                        help="where results are kept between runs (%(default)s)")
    parser.add_argument("--cases", type=int, default=1,
                        help="JAX_NUM_GENERATED_CASES (%(default)s; JAX's own default is 10)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (%(default)s)")
    parser.add_argument("--test-seconds", type=float, default=300,
                        help="a test that takes longer hangs (%(default)s)")
    parser.add_argument("--only", choices=PLATFORMS, help="run one side, compare with what is kept")
    parser.add_argument("-k", dest="select", help="pytest's expression; nothing is kept")
    parser.add_argument("--again", action="store_true",
                        help="run Tercel's side from the start, keeping XLA:CPU's")
    parser.add_argument("--bless", action="store_true",
                        help="take out of expected.json what passes by now")
    return parser.parse_intermixed_args()


def test_files(checkout, patterns):
    """The files that match, in the order of the patterns; by default all that are not skipped."""
    folder = checkout / "tests"
    names = sorted(p.relative_to(folder).as_posix()
                   for under in FOLDERS for p in folder.glob(f"{under}/*_test.py"))
    if patterns:
        return list(dict.fromkeys(n for p in patterns for n in names
                                  if fnmatch.fnmatch(n, p) or n == p + ".py"))
    skipped = [line.split()[0] for line in (HERE / "skipped_files.txt").read_text().splitlines()
               if line and not line.startswith("#")]
    return [n for n in names if not any(fnmatch.fnmatch(n, pattern) for pattern in skipped)]


def read(path):
    """Of each test its outcome, a pair of word and text; and whether the file's run is complete."""
    results, started, finished = {}, {}, False
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    for row in rows:
        finished |= row.get("finished", False)
        if "start" in row:
            started[row["test"]] = row["start"]
        elif "outcome" in row and results.get(row["test"], ("",))[0] != "failed":
            results[row["test"]] = (row["outcome"], row["text"], row["seconds"])
    return results, started, finished


class File:
    """One test file on one platform."""

    def __init__(self, args, name, platform):
        self.args, self.name, self.platform = args, name, platform
        self.record = args.out / platform / f"{name}.jsonl"

    def environment(self):
        return dict(os.environ, JAX_SUITE_RECORD=str(self.record.absolute()),
                    JAX_PLATFORMS=PLATFORMS[self.platform],
                    JAX_NUM_GENERATED_CASES=str(self.args.cases),
                    PYTHONPATH=os.pathsep.join(
                        [str(HERE.absolute())] + os.environ.get("PYTHONPATH", "").split(os.pathsep)))

    def run(self):
        self.record.parent.mkdir(parents=True, exist_ok=True)
        if self.args.select or (self.args.again and self.platform == "tercel"):
            self.record.unlink(missing_ok=True)
        begin = time.monotonic()
        while not read(self.record)[2]:
            why = self.run_once()
            if why and not self.blame(why):
                break
        return time.monotonic() - begin

    def run_once(self):
        """Runs what is left of the file; what broke the process, None where nothing did."""
        command = [sys.executable, "-m", "pytest", "-q", "-p", "recorder", "-p", "no:cacheprovider",
                   f"tests/{self.name}"] + (["-k", self.args.select] if self.args.select else [])
        self.record.touch()  # idle() counts from now
        with open(self.record.with_suffix(".log"), "ab") as log:
            process = subprocess.Popen(command, cwd=self.args.checkout, env=self.environment(),
                                       stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            while process.poll() is None:
                time.sleep(0.2)
                if self.idle() > self.args.test_seconds:
                    process.kill()
                    process.wait()
                    return "hang"
        if read(self.record)[2]:
            return None
        return f"crash: exit status {process.returncode}"

    def idle(self):
        """Seconds since the test that runs now has started."""
        try:
            return time.time() - self.record.stat().st_mtime
        except FileNotFoundError:
            return 0

    def blame(self, why):
        """Writes down that the test which was running broke the process; False if there was none."""
        results, started, _ = read(self.record)
        broken = [test for test in started if test not in results]
        with open(self.record, "a") as record:
            for test in broken or ["(collecting)"]:
                row = {"test": test, "outcome": "failed", "seconds": 0, "text": why}
                record.write(json.dumps(row) + "\n")
            if not broken:
                record.write(json.dumps({"test": "(session)", "finished": True}) + "\n")
        return bool(broken)


def run_all(args, files):
    sides = [args.only] if args.only else list(PLATFORMS)
    work = [File(args, name, side) for name in files for side in sides]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        pending = {pool.submit(file.run): file for file in work}
        for done in concurrent.futures.as_completed(pending):
            file = pending[done]
            counts = collections.Counter(r[0] for r in read(file.record)[0].values())
            print(f"{done.result():7.0f} s  {file.platform:7} {file.name:44} "
                  + ", ".join(f"{n} {word}" for word, n in sorted(counts.items())), flush=True)


def compare(args, files):
    """The tests that XLA:CPU passes: how many, Tercel's failures among them, and both times."""
    passed, failures, seconds = 0, {}, collections.Counter()
    for name in files:
        ours = read(args.out / "tercel" / f"{name}.jsonl")[0]
        theirs = read(args.out / "cpu" / f"{name}.jsonl")[0]
        for test, (outcome, _, took) in theirs.items():
            if outcome != "passed":
                continue
            passed += 1
            word, text, our_time = ours.get(test, ("missing", "", 0))
            if word == "passed" or (word == "skipped" and BETTER in text):
                seconds["cpu"] += took
                seconds["tercel"] += our_time
            else:
                failures[f"{name}::{test}"] = text if word == "failed" else word
    return passed, failures, seconds


def judge(args, files, failures):
    """Prints what is not as expected.json says; whether anything is worse than that."""
    expected = json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}
    mine = {t for t in expected if t.split("::")[0] in files}
    worse = sorted(set(failures) - mine)
    better = sorted(mine - set(failures)) if not args.select else []
    for test in worse:
        last = [line for line in failures[test].splitlines() if line.strip()][-1:]
        print(f"FAILED {test}: {''.join(last)[:200]}")
    for test in better:
        print(f"passes by now: {test}")
    if better and args.bless:
        kept = {t: why for t, why in expected.items() if t not in better}
        EXPECTED.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
        better = []
    return bool(worse or better)


def main():
    args = arguments()
    if not (args.checkout / "tests").is_dir():
        sys.exit(f"{args.checkout} is no checkout of jax: it has no tests/")
    args.out = args.out.absolute()
    files = test_files(args.checkout, args.files)
    if not files:
        sys.exit(f"no test file matches {' '.join(args.files)}")
    run_all(args, files)
    passed, failures, seconds = compare(args, files)
    bad = judge(args, files, failures)
    share = 100 * (passed - len(failures)) / max(1, passed)
    broken = sum(text.startswith(("crash", "hang")) for text in failures.values())
    print(f"{passed} tests pass on XLA:CPU, {passed - len(failures)} of them on Tercel: {share:.2f} %; "
          f"{broken} crashes and hangs; those both pass took {seconds['tercel']:.0f} s on Tercel, "
          f"{seconds['cpu']:.0f} s on XLA:CPU")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
