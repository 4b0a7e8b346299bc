# SPDX-License-Identifier: Apache-2.0
"""examples/pytorch/quality.py runs, and its verdicts follow its criteria.  Whether training is as
good as plain training is decided by many seeds, with --check."""
from __future__ import annotations

import json
import sys

import pytest
from conftest import ROOT
from replicas import run

EXAMPLES = ROOT / "examples" / "pytorch"


@pytest.fixture
def quality():
    """quality.py as a module."""
    sys.path.insert(0, str(EXAMPLES))
    import quality as module
    yield module
    sys.path.pop(0)


def test_quick(tmp_path):
    """Two tasks and two seeds.  The clock counts declared time only: plain training takes exactly
    the time of its calls."""
    file = tmp_path / "quality.json"
    output = run(EXAMPLES / "quality.py", 1, "--quick", "--json", file, timeout=600).check()[0]
    tasks = json.loads(file.read_text())["tasks"]
    assert tasks.keys() == {"digits", "cnn"}
    for name, epochs in (("digits", 4), ("cnn", 4)):
        assert f"| {name} |" in output
        task = tasks[name]
        seconds = epochs * (45 * 0.010 + 1437 * 0.00005)
        assert [each["seconds"] for each in task["plain"]] == pytest.approx(2 * [seconds])
        assert all(each["seconds"] > 0 for each in task["adaptive"] + task["published"])
        assert all(30 < each["value"] <= 100 for each in task["plain"] + task["adaptive"])


@pytest.mark.parametrize("kind, plain, again, adaptive, seconds, expected", [
    ("accuracy", [90, 90, 90], [90, 90, 90], [90, 90, 90], 0.5, []),
    ("accuracy", [90, 90, 90], [90, 90, 90], [90, 90, 90], 1.06, ["time"]),
    ("accuracy", [90, 90, 90], [90, 90, 90], [89.6, 89.6, 89.6], 0.5, ["mean"]),
    ("accuracy", [90, 90, 90], [90, 90, 90], [89.5, 90, 90.5], 0.5, ["interval"]),
    ("accuracy", [90, 90, 90], [90, 90, 90], [88.9, 91, 91], 0.5, ["interval", "worst seed"]),
    ("accuracy", [90, 90, 90], [89.8, 90, 90], [88.9, 91, 91], 0.5, ["interval"]),
    ("loss", [2, 2, 2], [2, 2, 2], [2.01, 2.01, 2.01], 0.5, []),
    ("loss", [2, 2, 2], [2, 2, 2], [1, 1, 1], 0.5, []),
    ("loss", [2, 2, 2], [2, 1.9, 2], [2.03, 2.03, 2.03], 0.5, ["mean", "worst seed"]),
    ("loss", [2, 2, 2], [2, 2.1, 2], [2.03, 2.03, 2.03], 0.5, ["mean"]),
    ("loss", [2, 2], [2, 2], [float("nan"), 2], 0.5, ["mean", "interval", "worst seed"]),
])
def test_verdict(quality, kind, plain, again, adaptive, seconds, expected):
    plain, again, adaptive = ([quality.Result(value, time) for value in values]
                              for values, time in ((plain, 1), (again, 1), (adaptive, seconds)))
    assert quality.missed(quality.Row(kind, plain, again, adaptive, [])) == expected


def test_half_interval(quality):
    assert quality.half_interval([1.0, 2.0, 3.0]) == pytest.approx(4.303 / 3 ** 0.5)
    assert quality.half_interval([1.0]) == float("inf")
