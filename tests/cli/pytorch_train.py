# SPDX-License-Identifier: Apache-2.0
"""The training program of pytorch.sh and pytorch_types.sh: a small network on generated data, slowed down by sleeps.  It
trains until FOLDER has a file named `end`.

    pytorch_train.py FOLDER BUILD       uses the libpollux in the build directory BUILD
    WORKERS=0                           in the environment: samples are made by the replica itself
    FAST_TYPE=TYPE                      in the environment: steps take a quarter of the time on nodes of this type

    FOLDER/updates.RANK     a line per update: time, generation, replicas, batch, epoch, loss
    FOLDER/samples.RANK     a line per update: generation, pass, the samples of this replica
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
workers = int(os.environ.get("WORKERS", "1"))
fast = os.environ.get("FAST_TYPE", "-") == os.environ.get("POLLUX_NODE_TYPE")


class Waves(Dataset):
    """Index, input and target of a sample.  The targets are noisy, so that batches differ."""

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
loader = DataLoader(Waves(), batch_size=12, shuffle=True, num_workers=workers,
                    persistent_workers=workers > 0)
model, optimizer, loader = px.prepare(model, optimizer, loader, max_batch=48, local_batch=(1, 24))
updates = open(f"{folder}/updates.{px.rank()}", "a", buffering=1)
samples = open(f"{folder}/samples.{px.rank()}", "a", buffering=1)
generation = os.environ["POLLUX_GENERATION"]
print(f"generation {generation}, replica {px.rank()} of {px.replicas()}", flush=True)

for epoch in px.epochs(100000):
    end = px.Accumulator("end")
    taken, losses = [], []
    for index, x, y in loader:
        time.sleep((0.01 + 0.0005 * len(x)) / (4 if fast else 1))
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        session = px.session()
        if session.update.weight(session.micro) > 0:
            taken += index.tolist()
        losses.append(loss.item())
        if not session.accumulating:  # the last micro-step of an update
            print(generation, session.position.number, *taken, file=samples)
            print(time.time(), generation, px.replicas(), px.metrics()["batch"], epoch,
                  sum(losses) / len(losses), file=updates)
            taken, losses = [], []
    end.add(requested=os.path.exists(f"{folder}/end"))
    if end.totals()["requested"]:
        break
print(f"ended after epoch {epoch}", flush=True)
