# SPDX-License-Identifier: Apache-2.0
"""The program that saving_cases.py stops and resumes: it trains, remembers all that it saw, and can
be told to stop, or to do something else, at any moment."""
from __future__ import annotations

import os
import random
import signal
from pathlib import Path
from typing import Any, Optional

import torch
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, Dataset, RandomSampler

import pollux.torch as px

K = int(os.environ.get("WORLD_SIZE", "1"))
RANK = int(os.environ.get("RANK", "0"))
EVERYBODY = tuple(range(K))
LENGTH, BATCH, EPOCHS = 52, 8, 3     # 6 updates and a short one in each epoch


class Noisy(Dataset):
    """Samples that are a little different each time, by torch's random numbers."""

    def __init__(self, noise: float = 0.01) -> None:
        self.noise = noise

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> tuple:
        x = torch.sin(torch.arange(6.0) * (index + 1))
        return index, x + self.noise * torch.rand(6), x.sum().reshape(1)


class Moments:
    """When which replicas are asked to stop; each moment comes once."""

    def __init__(self, wanted: dict[Any, tuple] = {}) -> None:
        self.left = dict(wanted)

    def now(self, *moment: Any) -> None:
        for _time in range(2 if moment[-1] == "twice" else 1):
            if RANK in self.left.get(moment, ()):
                os.kill(os.getpid(), signal.SIGTERM)
        self.left.pop(moment, None)


class Log:
    """What a training did, over all its generations."""

    def __init__(self) -> None:
        self.losses: list[float] = []
        self.samples: dict[int, list[int]] = {}     # by epoch
        self.sums: dict[int, dict[str, float]] = {}
        self.evaluated: dict[int, dict[str, float]] = {}
        self.stops = 0


class Program:
    """The training program of most cases, as a user would write it; run() is one generation."""

    def __init__(self, folder: Any, *, optimizer: str = "sgd", scheduler: bool = True,
                 chance: bool = True, sampler: bool = False, stoppable: bool = False,
                 epochs: int = EPOCHS, moments: Optional[dict] = None, save_every: float = 300.0,
                 workers: int = 0) -> None:
        self.folder, self.epochs, self.stoppable = folder, epochs, stoppable
        self.optimizer_name, self.has_scheduler = optimizer, scheduler
        self.chance = chance    # False: nothing depends on random numbers or on the replicas
        self.data = Noisy(0.01 if chance else 0.0)
        self.has_sampler, self.save_every, self.workers = sampler, save_every, workers
        self.moments = Moments(moments or {})
        self.log = Log()

    def prepare(self) -> None:
        px.init(self.folder, adapt=False, save_every=self.save_every)
        torch.manual_seed(1)
        self.net = torch.nn.Sequential(
            torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8) if self.chance else torch.nn.Identity(),
            torch.nn.ReLU(), torch.nn.Dropout(0.2 * self.chance), torch.nn.Linear(8, 1))
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.02, momentum=0.9) \
            if self.optimizer_name == "sgd" else torch.optim.AdamW(self.net.parameters(), lr=0.01)
        sampler = RandomSampler(self.data, replacement=True) if self.has_sampler else None
        loader = DataLoader(self.data, batch_size=BATCH, shuffle=sampler is None, sampler=sampler,
                            num_workers=self.workers)
        self.model, _, self.loader = px.prepare(self.net, self.optimizer, loader,
                                                local_batch=(1, 4))
        self.scheduler = lr_scheduler.OneCycleLR(
            self.optimizer, 0.05, total_steps=len(loader) * EPOCHS + 1) \
            if self.has_scheduler else None

    def run(self) -> None:
        self.prepare()
        # A process of its own would begin with other numbers; in the first they are the same.
        torch.manual_seed(1000 * self.log.stops + RANK)
        random.seed(self.log.stops)
        self.moments.now("start")
        for epoch in px.epochs(self.epochs):
            self.train(epoch)
            self.evaluate(epoch)
            self.moments.now("between", epoch)

    def train(self, epoch: int) -> None:
        self.model.train()
        seen = px.Accumulator("train")
        for index, x, y in self.loader:
            it = px.session()
            loss = torch.nn.functional.mse_loss(self.model(x), y)
            loss.backward()
            self.moments.now("train", epoch, it.position.offset)
            self.moments.now("train", epoch, it.position.offset, "twice")
            self.optimizer.step()
            self.optimizer.zero_grad()
            if self.scheduler is not None:
                self.scheduler.step()
            weight = it.update.weight(it.micro)
            seen.add(loss=loss.item() * weight, count=len(x))
            self.log.losses.append(loss.item())
            self.log.samples.setdefault(epoch, []).extend(index.tolist())
        self.log.sums[epoch] = seen.totals()

    def evaluate(self, epoch: int) -> None:
        self.model.eval()
        seen = px.Accumulator("evaluation")
        with torch.no_grad():
            for number, (_index, x, y) in enumerate(
                    px.evaluation(DataLoader(self.data, batch_size=5), self.stoppable)):
                loss = torch.nn.functional.mse_loss(self.model(x), y)
                if number == 2:
                    self.moments.now("evaluate", epoch)
                seen.add(loss=loss.item() * len(x), count=len(x))
        self.log.evaluated[epoch] = seen.totals()


def generation(program: Program) -> bool:
    """Run it until it ends or is stopped; False: that."""
    try:
        program.run()
        return True
    except SystemExit as end:
        assert end.code == 143, end.code
        program.log.stops += 1
        return False
    finally:
        px.close()


def trained(folder: Any, **options: Any) -> Program:
    """Run one to its end, in as many generations as there are stops."""
    program = Program(folder, **options)
    while not generation(program):
        assert program.log.stops < 1000
    return program


def same(one: Any, other: Any) -> bool:
    """Bit by bit."""
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def check_same(one: Program, other: Program) -> None:
    """Two trainings were the same, whatever interrupted them."""
    assert one.log.losses == other.log.losses, first_difference(one.log.losses, other.log.losses)
    assert one.log.samples == other.log.samples
    assert one.log.evaluated == other.log.evaluated, (one.log.evaluated, other.log.evaluated)
    assert same(one.net.state_dict(), other.net.state_dict())
    assert same(one.optimizer.state_dict(), other.optimizer.state_dict())
    for epoch, sums in one.log.sums.items():
        assert other.log.sums[epoch]["count"] == sums["count"] == LENGTH
        assert abs(other.log.sums[epoch]["loss"] - sums["loss"]) < 1e-9


def first_difference(one: list, other: list) -> str:
    at = next((i for i, pair in enumerate(zip(one, other)) if pair[0] != pair[1]), -1)
    return f"{len(one)} and {len(other)} losses, different from {at} on"


def some() -> tuple:
    """Of the replicas, one or more."""
    return tuple(random.sample(EVERYBODY, random.randint(1, K)))


def numbers(folder: Path) -> list[int]:
    """Of the checkpoints there, when replica 0 has written them all; asked by all replicas."""
    px_barrier()
    return sorted(int(path.name.split("-")[1]) for path in folder.glob("checkpoint-*"))


def px_barrier() -> None:
    if K > 1:
        torch.distributed.barrier()
