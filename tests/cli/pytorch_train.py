# SPDX-License-Identifier: Apache-2.0
"""The training program of pytorch.sh: a small network on generated data, paced by naps, that trains
until a file named `end` is in its folder.

    pytorch_train.py FOLDER BUILD       with the libpollux of that build

    FOLDER/updates.RANK     a line per update: time, generation, replicas, batch, epoch, loss
    FOLDER/samples.RANK     and another: generation, epoch, and the samples of this replica in it
"""
from __future__ import annotations

import os
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset

folder, os.environ["POLLUX_BUILD"] = sys.argv[1:]
import pollux.torch as px  # noqa: E402

SAMPLES = 300


class Waves(Dataset):
    """Sample i, and what is to be learned of it; with noise, so that batches differ."""

    def __init__(self) -> None:
        random = torch.Generator().manual_seed(0)
        self.x = torch.randn(SAMPLES, 8, generator=random)
        self.y = torch.sin(self.x).sum(1, keepdim=True)
        self.y += torch.randn(SAMPLES, 1, generator=random)

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> tuple:
        return index, self.x[index], self.y[index]


px.init(report_every=1)
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
loader = DataLoader(Waves(), batch_size=12, shuffle=True, num_workers=1, persistent_workers=True)
model, optimizer, loader = px.prepare(model, optimizer, loader, max_batch=48, local_batch=(1, 24))
updates = open(f"{folder}/updates.{px.rank()}", "a", buffering=1)
samples = open(f"{folder}/samples.{px.rank()}", "a", buffering=1)
generation = os.environ["POLLUX_GENERATION"]
print(f"generation {generation}, replica {px.rank()} of {px.replicas()}", flush=True)

for epoch in px.epochs(100000):
    ends = px.Accumulator("ends")
    taken, losses = [], []
    for index, x, y in loader:
        time.sleep(0.01 + 0.0005 * len(x))
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        it = px.session()
        if it.update.weight(it.micro) > 0:
            taken += index.tolist()
        losses.append(loss.item())
        if not it.accumulating:  # that was an update, and it counts
            print(generation, epoch, *taken, file=samples)
            print(time.time(), generation, px.replicas(), px.metrics()["batch"], epoch,
                  sum(losses) / len(losses), file=updates)
            taken, losses = [], []
    ends.add(wanted=os.path.exists(f"{folder}/end"))
    if ends.totals()["wanted"]:
        break
print(f"ended after epoch {epoch}", flush=True)
