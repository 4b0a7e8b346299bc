# SPDX-License-Identifier: Apache-2.0
"""On a real task an adaptive batch needs hardly more progress than M0 and far fewer updates.  The
bounds leave room for chance; examples/pytorch/payoff.py makes the table of docs/pytorch.md."""
from __future__ import annotations

import os
import statistics
import sys

import pytest
import torch
from conftest import ROOT

# `make soak` uses the targets of the table; otherwise an easier target saves time.
CASES = [("image", "adascale", 0.8)]
if os.environ.get("POLLUX_SOAK"):
    CASES = [("image", "adascale", None), ("text", "adamscale", None)]


@pytest.fixture
def payoff():
    """payoff.py as a module, with one thread as in the program."""
    sys.path.insert(0, str(ROOT / "examples" / "pytorch"))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    import payoff as module
    yield module
    torch.set_num_threads(threads)
    sys.path.pop(0)


@pytest.mark.parametrize("name, rule, target", CASES)
def test_fewer_updates_for_the_same_progress(payoff, soak, name, rule, target):
    task = payoff.TASKS[name]
    task = task._replace(target=target or task.target)
    seeds = range(soak(1, 5))
    fixed = [payoff.train(task, payoff.Setting("M0", rule), seed, 5000) for seed in seeds]
    adaptive = [payoff.train(task, payoff.Setting("adaptive", rule), seed, 5000) for seed in seeds]
    assert all(result.reached for result in fixed + adaptive)

    def ratio(field: str) -> float:
        return statistics.mean(getattr(result, field) for result in adaptive) / \
            statistics.mean(getattr(result, field) for result in fixed)

    results = f"{fixed} {adaptive}"
    assert ratio("progress") <= 1.2, results
    assert ratio("updates") <= 0.7, results
    assert ratio("seconds") <= 0.8, results
    assert all(result.progress == pytest.approx(result.updates) for result in fixed), results
