# SPDX-License-Identifier: Apache-2.0
"""px.updating() and averages of weights: average_program.py, whose number of replicas changes."""
from __future__ import annotations

import math
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

import pollux.torch as px  # noqa: E402
import replicas  # noqa: E402

PROGRAM = Path(__file__).with_name("average_program.py")


@pytest.fixture(autouse=True)
def closed():
    yield
    px.close()


@pytest.mark.parametrize("counts", [(1, 2, 1), (2, 1)])
def test_an_average_survives_a_change_of_replicas(tmp_path, counts):
    *stopped, last = counts
    for count in stopped:
        ended = replicas.run(PROGRAM, count, tmp_path, 9)
        assert ended.codes == [143] * count, ended.outputs
    outputs = replicas.run(PROGRAM, last, tmp_path, 0).check()
    assert all("\nsame\n" in "\n" + output for output in outputs), outputs


def test_a_skipped_update_is_no_update():
    px.init()
    with pytest.raises(RuntimeError, match=r"px\.prepare\(\)"):
        px.updating()
    model = torch.nn.Linear(4, 1)
    loader = DataLoader(TensorDataset(torch.randn(32, 4)), batch_size=8)
    model, optimizer, loader = px.prepare(
        model, torch.optim.SGD(model.parameters(), lr=0.1), loader, local_batch=(1, 4))
    found = []
    for _epoch in px.epochs(1):
        for (x,) in loader:
            model(x * math.nan).mean().backward()
            before = px.updating()
            optimizer.step()
            found.append((before, px.updating()))
    assert found == [(False, False), (True, False)] * 4


def test_an_observed_program_updates_in_every_step():
    px.init()
    model = torch.nn.Linear(4, 1)
    px.observe(model, torch.optim.SGD(model.parameters(), lr=0.1),
               DataLoader(TensorDataset(torch.randn(32, 4)), batch_size=8))
    assert px.updating()
