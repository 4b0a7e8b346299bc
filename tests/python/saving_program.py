# SPDX-License-Identifier: Apache-2.0
"""The training program that saving_cases.py stops and resumes.  It logs samples, losses and sums,
and stops itself by a signal at given places."""
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
ALL_RANKS = tuple(range(K))
LENGTH, BATCH, EPOCHS = 52, 8, 3     # 6 updates and a short one in each epoch


class Noisy(Dataset):
    """Samples with noise from torch's random numbers, new at each access."""

    def __init__(self, noise: float = 0.01) -> None:
        self.noise = noise

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> tuple:
        x = torch.sin(torch.arange(6.0) * (index + 1))
        return index, x + self.noise * torch.rand(6), x.sum().reshape(1)


class StopPlaces:
    """The places in the program where some ranks get the stop signal; each place counts once."""

    def __init__(self, places: dict[Any, tuple] = {}) -> None:
        self.left = dict(places)

    def reached(self, *place: Any) -> None:
        for _time in range(2 if place[-1] == "twice" else 1):
            if RANK in self.left.get(place, ()):
                os.kill(os.getpid(), signal.SIGTERM)
        self.left.pop(place, None)


class Log:
    """What the program did in all its generations."""

    def __init__(self) -> None:
        self.losses: list[float] = []
        self.samples: dict[int, list[int]] = {}     # by epoch
        self.sums: dict[int, dict[str, float]] = {}
        self.evaluated: dict[int, dict[str, float]] = {}
        self.stops = 0


class Program:
    """The training program of most cases, as a user would write it; run() is one generation."""

    def __init__(self, folder: Any, *, optimizer: str = "sgd", scheduler: bool = True,
                 randomness: bool = True, sampler: bool = False, stoppable: bool = False,
                 epochs: int = EPOCHS, stop_at: Optional[dict] = None, save_every: float = 300.0,
                 workers: int = 0) -> None:
        self.folder, self.epochs, self.stoppable = folder, epochs, stoppable
        self.optimizer_name, self.has_scheduler = optimizer, scheduler
        # False: the result does not depend on random numbers or on the number of replicas.
        self.randomness = randomness
        self.data = Noisy(0.01 if randomness else 0.0)
        self.has_sampler, self.save_every, self.workers = sampler, save_every, workers
        self.stop_at = StopPlaces(stop_at or {})
        self.log = Log()

    def prepare(self) -> None:
        px.init(self.folder, adapt=False, save_every=self.save_every)
        torch.manual_seed(1)
        self.net = torch.nn.Sequential(
            torch.nn.Linear(6, 8),
            torch.nn.BatchNorm1d(8) if self.randomness else torch.nn.Identity(),
            torch.nn.ReLU(), torch.nn.Dropout(0.2 * self.randomness), torch.nn.Linear(8, 1))
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
        # Each generation is a new process with other random numbers; the first has always the same.
        torch.manual_seed(1000 * self.log.stops + RANK)
        random.seed(self.log.stops)
        self.stop_at.reached("start")
        for epoch in px.epochs(self.epochs):
            self.train(epoch)
            self.evaluate(epoch)
            self.stop_at.reached("between", epoch)

    def train(self, epoch: int) -> None:
        self.model.train()
        seen = px.Accumulator("train")
        for index, x, y in self.loader:
            session = px.session()
            loss = torch.nn.functional.mse_loss(self.model(x), y)
            # Several replicas agree on a stop at the end of the backward pass.
            self.stop_at.reached("train", epoch, session.position.offset)
            self.stop_at.reached("train", epoch, session.position.offset, "twice")
            loss.backward()
            self.stop_at.reached("step", epoch, session.position.offset)
            self.optimizer.step()
            self.optimizer.zero_grad()
            if self.scheduler is not None:
                self.scheduler.step()
            weight = session.update.weight(session.micro)
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
                    self.stop_at.reached("evaluate", epoch)
                seen.add(loss=loss.item() * len(x), count=len(x))
        self.log.evaluated[epoch] = seen.totals()


def run_generation(program: Program) -> bool:
    """Run the program until it ends (returns True) or is stopped (False)."""
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
    """Run a program to its end; after each stop a new generation resumes it."""
    program = Program(folder, **options)
    while not run_generation(program):
        assert program.log.stops < 1000
    return program


def bitwise_equal(one: Any, other: Any) -> bool:
    """Compare without a tolerance."""
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(
            bitwise_equal(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(bitwise_equal, one, other))
    return one == other


def check_same_training(one: Program, other: Program) -> None:
    """Two programs had the same samples, losses, sums and weights in spite of stops."""
    assert one.log.losses == other.log.losses, first_difference(one.log.losses, other.log.losses)
    assert one.log.samples == other.log.samples
    assert one.log.evaluated == other.log.evaluated, (one.log.evaluated, other.log.evaluated)
    assert bitwise_equal(one.net.state_dict(), other.net.state_dict())
    assert bitwise_equal(one.optimizer.state_dict(), other.optimizer.state_dict())
    for epoch, sums in one.log.sums.items():
        assert other.log.sums[epoch]["count"] == sums["count"] == LENGTH
        assert abs(other.log.sums[epoch]["loss"] - sums["loss"]) < 1e-9


def first_difference(one: list, other: list) -> str:
    at = next((i for i, pair in enumerate(zip(one, other)) if pair[0] != pair[1]), -1)
    return f"{len(one)} and {len(other)} losses, different from index {at} on"


def random_ranks() -> tuple:
    """One or more ranks."""
    return tuple(random.sample(ALL_RANKS, random.randint(1, K)))


def checkpoint_numbers(folder: Path) -> list[int]:
    """The numbers of the checkpoints in folder.  All replicas call it: it waits for replica 0."""
    barrier()
    return sorted(int(path.name.split("-")[1]) for path in folder.glob("checkpoint-*"))


def barrier() -> None:
    if K > 1:
        torch.distributed.barrier()
