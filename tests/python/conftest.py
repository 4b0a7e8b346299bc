# SPDX-License-Identifier: Apache-2.0
"""Tests of the Python package.  They run in any Python that has torch, numpy and pytest:

    $(tools/find-python torch numpy pytest) -m pytest tests/python/test_base.py

Each test prints one line for tools/test: `ok NAME`, `not ok NAME` or `ok NAME # SKIP`.  The package
under test is that of this tree; $POLLUX_BUILD is the build directory of libpollux and the commands.
POLLUX_SOAK raises the repetitions of tests that use soak().
"""
from __future__ import annotations

import importlib.util
import os
import signal
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "bindings" / "python"

# A background job of a shell ignores Ctrl-C, and so would all its children.
signal.signal(signal.SIGINT, signal.default_int_handler)

# For this process and for its children.
sys.path.insert(0, str(PACKAGE))
sys.dont_write_bytecode = True
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(PACKAGE), *filter(None, [os.environ.get("PYTHONPATH")])]
)
os.environ.setdefault("POLLUX_BUILD", str(ROOT / "build"))
# Variables of a launcher that started pytest must not affect the tests.
for name in list(os.environ):
    if name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "POLLUX_CHECKPOINT_DIR"):
        del os.environ[name]

# The adapters need packages of PyPI that `make test` does without; `make test-torch` installs them.
if not all(map(importlib.util.find_spec, ("transformers", "lightning", "accelerate"))):
    collect_ignore = ["test_adapters.py"]


@pytest.fixture
def root() -> Path:
    """The root of the repository."""
    return ROOT


@pytest.fixture
def build() -> Path:
    """The directory of libpollux.so, pollux and polluxd."""
    return Path(os.environ["POLLUX_BUILD"])


@pytest.fixture
def soak():
    """soak(few, many): the number of repetitions; many in `make soak`, otherwise few."""
    return lambda few, many: many if os.environ.get("POLLUX_SOAK") else few


@pytest.fixture
def golden() -> Path:
    """Values of the published implementation."""
    return ROOT / "tests" / "data" / "golden"


# ---- A line per test --------------------------------------------------------------------------


class Lines:
    """Prints one line per test for tools/test, instead of pytest's dots."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    @property
    def writer(self):
        return self.config.get_terminal_writer()

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report):
        return report.outcome if report.when == "call" or not report.passed else "", "", ""

    def pytest_runtest_logreport(self, report):
        name = report.nodeid.split("/")[-1].replace(".py::", ": ")
        if report.failed:
            self.writer.line(f"not ok {name}" + (f" ({report.when})" * (report.when != "call")))
            for title, text in [("", report.longreprtext), *report.sections]:
                for line in [*filter(None, [title]), *text.splitlines()]:
                    self.writer.line(f"    {line}")
        elif report.skipped:
            reason = report.longrepr[2] if report.longrepr else "no reason is given"
            reason = " ".join(reason.removeprefix("Skipped: ").split())
            self.writer.line(f"ok {name}: {reason} # SKIP")
        elif report.when == "call":
            self.writer.line(f"ok {name}")
        self.writer.flush()

    def pytest_collectreport(self, report):
        if report.failed:
            self.writer.line(f"not ok {report.nodeid}: cannot be collected")


def pytest_configure(config):
    config.pluginmanager.register(Lines(config), "pollux-lines")
