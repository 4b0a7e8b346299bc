# SPDX-License-Identifier: Apache-2.0
"""A training with an average of its weights, for test_average.py.  It stops after some updates, or
trains to its end.

    average_program.py FOLDER UPDATES       UPDATES 0: to the end; prints `same` if the average is
                                            the mean of the weights after all updates so far
"""
from __future__ import annotations

import os
import signal
import sys
from typing import Any

import torch
from torch.optim.swa_utils import AveragedModel
from torch.utils.data import DataLoader, TensorDataset

import pollux.torch as px


class Mean:
    """The mean of the weights after each update, by its definition."""

    def __init__(self) -> None:
        self.sum, self.count = torch.zeros(5), 0

    def add(self, model: torch.nn.Module) -> None:
        self.sum += torch.cat([each.detach().flatten() for each in model.parameters()])
        self.count += 1

    def state_dict(self) -> dict[str, Any]:
        return {"sum": self.sum, "count": self.count}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.sum, self.count = state["sum"].clone(), state["count"]


def main(folder: str, stop: int) -> None:
    px.init(f"{folder}/saved")
    torch.manual_seed(0)
    x = torch.randn(96, 4)
    loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8, shuffle=True)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    model, optimizer, loader = px.prepare(model, optimizer, loader, local_batch=(1, 2))
    average = px.track("average", AveragedModel(model))
    mean = px.track("mean", Mean())
    updates = 0
    for _epoch in px.epochs(3):
        for x, y in loader:
            before = [each.clone() for each in model.parameters()]
            loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward()
            expected = px.updating()
            optimizer.step()
            optimizer.zero_grad()
            changed = any(not torch.equal(*pair) for pair in zip(before, model.parameters()))
            assert expected == px.updating() == changed
            if px.updating():
                average.update_parameters(model)
                mean.add(model)
                updates += 1
                if updates == stop:
                    os.kill(os.getpid(), signal.SIGTERM)
    assert not px.updating()
    found = torch.cat([each.detach().flatten() for each in average.parameters()])
    assert int(average.n_averaged) == mean.count == 3 * 12, (average.n_averaged, mean.count)
    assert torch.allclose(found, mean.sum / mean.count, atol=1e-5), (found, mean.sum / mean.count)
    print("same", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
