"""A pytest plugin: one line of JSON for each test that starts and for each that ends, written at once.

So a process that dies or is killed leaves what it did, and the next one goes on after it.
JAX_SUITE_RECORD names the file; tests that it says have started are not run again.
"""

import importlib.util
import json
import os
import pathlib
import sys
import time

import pytest

_STAND_INS = {"jax._src.hypothesis_test_util", "jax._src.pallas.pallas_test_util"}

_path = os.environ["JAX_SUITE_RECORD"]


class _StandIn:
    @staticmethod
    def find_spec(name, path=None, target=None):
        file = pathlib.Path(__file__).parent / "stand_ins" / (name.rpartition(".")[2] + ".py")
        return importlib.util.spec_from_file_location(name, file) if name in _STAND_INS else None


sys.meta_path.append(_StandIn)  # last: JAX's own is taken where it has it


def _write(**row):
    with open(_path, "a") as record:
        record.write(json.dumps(row) + "\n")


def _known():
    if not os.path.exists(_path):
        return set()
    with open(_path) as record:
        return {json.loads(line).get("test") for line in record}


def _name(nodeid):
    return nodeid.split("::", 1)[1]


@pytest.hookimpl(tryfirst=True)
def pytest_make_collect_report(collector):
    # Not before, since JAX's test tools keep the stdout that there is when they are imported.
    if isinstance(collector, pytest.File):
        from jax._src import test_util

        # Tercel has one device, and is compared with one of XLA:CPU's.
        test_util.request_cpu_devices = lambda count: None


def pytest_collection_modifyitems(config, items):
    known = _known()
    items[:] = [item for item in items if _name(item.nodeid) not in known]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    _write(test=_name(item.nodeid), start=time.time())


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        text = "" if report.outcome == "passed" else str(report.longrepr)[-2000:]
        _write(test=_name(report.nodeid), outcome=report.outcome, seconds=report.duration, text=text)


def pytest_collectreport(report):
    if report.failed:
        _write(test="(collecting)", outcome="failed", seconds=0, text=str(report.longrepr)[-2000:])


def pytest_sessionfinish(session, exitstatus):
    if exitstatus != pytest.ExitCode.INTERNAL_ERROR:  # then there are tests left
        _write(test="(session)", finished=True)
