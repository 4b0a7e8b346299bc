# SPDX-License-Identifier: Apache-2.0
"""Tests of the Python package, with pytest on any Python that has torch, numpy and pytest:

    $(tools/find-python torch numpy pytest) -m pytest tests/python/test_base.py

Each test prints one line, `ok NAME`, `not ok NAME` or `ok NAME # SKIP`, which tools/test counts.
The package is that of this tree; $POLLUX_BUILD says which build of libpollux and of the commands
it is tested with.  POLLUX_SOAK raises the counts of tests that take theirs from soak().
"""
from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "bindings" / "python"

# For this process, and for those that tests start.
sys.path.insert(0, str(PACKAGE))
sys.dont_write_bytecode = True
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(PACKAGE), *filter(None, [os.environ.get("PYTHONPATH")])]
)
os.environ.setdefault("POLLUX_BUILD", str(ROOT / "build"))
# What a launcher has said to whoever runs the tests is not meant for them.
for name in list(os.environ):
    if name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "POLLUX_CHECKPOINT_DIR"):
        del os.environ[name]


@pytest.fixture
def root() -> Path:
    """The root of the repository."""
    return ROOT


@pytest.fixture
def build() -> Path:
    """Where libpollux.so, pollux and polluxd are."""
    return Path(os.environ["POLLUX_BUILD"])


@pytest.fixture
def soak():
    """soak(few, many): how often to repeat something, many times in `make soak`."""
    return lambda few, many: many if os.environ.get("POLLUX_SOAK") else few


@pytest.fixture
def golden() -> Path:
    """Values of the published implementation."""
    return ROOT / "tests" / "data" / "golden"


# ---- A line per test --------------------------------------------------------------------------


class Lines:
    """Prints what tools/test counts, in the place of pytest's dots."""

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
            self.writer.line(f"ok {name} # SKIP")
            self.writer.line(f"    {report.longrepr[2] if report.longrepr else ''}")
        elif report.when == "call":
            self.writer.line(f"ok {name}")
        self.writer.flush()

    def pytest_collectreport(self, report):
        if report.failed:
            self.writer.line(f"not ok {report.nodeid}: cannot be collected")


def pytest_configure(config):
    config.pluginmanager.register(Lines(config), "pollux-lines")
