#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The overhead of pollux.torch: step time with it divided by step time without it.

Both train the same network on the same data with the same batch in the same processes.  They
alternate every few updates, so that other load on the machine affects both equally.  The result is
the median of the ratios.  Adaptation is on, but M0 is the only batch allowed.

    PYTHONPATH=bindings/python bench/torch_overhead.py [--seconds S] [NAME...]

NAME is a network and a number of processes, for example mlp-1 or resnet18-2.

It prints lines for tools/bench; names contain the version of torch.  Targets are 3 % for the
ResNet-18 and 10 % for the MLP.
"""
from __future__ import annotations

import argparse
import os
import socket
import statistics
import subprocess
import sys
import time
from typing import Callable, Iterable, Iterator

import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

import pollux.torch as px

LIMITS = {"resnet18": 1.03, "mlp": 1.10}
TURN = {"resnet18": 1, "mlp": 10}           # updates before the other one continues
BUDGET_FACTOR = {"resnet18": 3, "mlp": 1}   # slow updates are measured for a longer time
EPOCHS = 10 ** 9                            # more than a measurement needs
CASES = ("mlp-1", "mlp-2", "resnet18-1", "resnet18-2")


class Block(nn.Module):
    """The basic block of a ResNet."""

    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(
            nn.Conv2d(inside, outside, 3, stride, 1, bias=False), nn.BatchNorm2d(outside),
            nn.ReLU(),
            nn.Conv2d(outside, outside, 3, 1, 1, bias=False), nn.BatchNorm2d(outside))
        self.shortcut = nn.Identity() if inside == outside else nn.Sequential(
            nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (self.inner(x) + self.shortcut(x)).relu()


def resnet18() -> nn.Module:
    """For images of 32 x 32: 11.2 million parameters."""
    blocks = [Block(inside, outside, stride) for inside, outside, stride in (
        (64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1),
        (128, 256, 2), (256, 256, 1), (256, 512, 2), (512, 512, 1))]
    return nn.Sequential(nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
                         *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def mlp() -> nn.Module:
    """For images of 28 x 28: 0.7 million parameters."""
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512),
                         nn.ReLU(), nn.Linear(512, 10))


def samples_of(name: str) -> tuple[TensorDataset, int]:
    """The data, and the samples of one replica in an update."""
    shape, local = ((3, 32, 32), 16) if name == "resnet18" else ((1, 28, 28), 128)
    return TensorDataset(torch.randn(64 * local, *shape), torch.randint(10, (64 * local,))), local


def updates(model: nn.Module, optimizer: torch.optim.Optimizer, loader,
            epochs: Iterable[int]) -> Iterator[None]:
    """Train: each next() makes one update."""
    for _epoch in epochs:
        for x, y in loader:
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            optimizer.step()
            yield


def seconds_of(training: Iterator[None], count: int) -> float:
    start_s = time.perf_counter()
    for _ in range(count):
        next(training)
    return time.perf_counter() - start_s


def measure(name: str, budget_s: float) -> tuple[float, float]:
    """Seconds of a plain update, and the ratio.  All replicas call it."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    px.init()
    data, local = samples_of(name)
    build: Callable[[], nn.Module] = {"resnet18": resnet18, "mlp": mlp}[name]
    replicas = px.replicas()

    plain = build()
    if replicas > 1:
        plain = nn.parallel.DistributedDataParallel(plain)
    plain_training = updates(plain, torch.optim.SGD(plain.parameters(), 1e-3, momentum=0.9),
                             DataLoader(data, local, shuffle=True, drop_last=True), range(EPOCHS))
    model = build()
    optimizer = torch.optim.SGD(model.parameters(), 1e-3, momentum=0.9)
    loader = DataLoader(data, local * replicas, shuffle=True, drop_last=True)
    pollux_training = updates(*px.prepare(model, optimizer, loader), px.epochs(EPOCHS))

    turn, ratios, plain_s = TURN[name], [], []
    seconds_of(plain_training, turn), seconds_of(pollux_training, turn)  # warm up
    begin_s = time.perf_counter()
    while not over(begin_s, BUDGET_FACTOR[name] * budget_s) or len(ratios) < 5:
        # In this order a drift of the machine's speed affects both equally.
        order = (plain_training, pollux_training, pollux_training, plain_training)
        four_s = [seconds_of(training, turn) for training in order]
        ratios.append((four_s[1] + four_s[2]) / (four_s[0] + four_s[3]))
        plain_s += [four_s[0] / turn, four_s[3] / turn]
    return statistics.median(plain_s), statistics.median(ratios)


def over(begin_s: float, budget_s: float) -> bool:
    """Whether the budget is used up, by the clock of replica 0."""
    ended = torch.tensor(float(time.perf_counter() - begin_s > budget_s))
    if px.replicas() > 1:
        torch.distributed.broadcast(ended, 0)
    return bool(ended)


def start(case: str, budget_s: float) -> None:
    """Run one case in its own processes.  Replica 0 prints."""
    name, replicas = case.rsplit("-", 1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    environment = dict(os.environ, WORLD_SIZE=replicas, LOCAL_WORLD_SIZE=replicas,
                       MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), OMP_NUM_THREADS="1")
    command = [sys.executable, __file__, "--replica", "--seconds", str(budget_s), case]
    running = [
        subprocess.Popen(command, env=dict(environment, RANK=str(rank), LOCAL_RANK=str(rank)))
        for rank in range(int(replicas))]
    if any([process.wait() for process in running]):
        sys.exit(f"torch_overhead: {case} failed")


def replica(case: str, budget_s: float) -> None:
    name = case.rsplit("-", 1)[0]
    plain_s, ratio = measure(name, budget_s)
    if px.rank() == 0:
        met = "met" if ratio <= LIMITS[name] else "missed"
        version = ".".join(torch.__version__.split(".")[:2])
        print(f"torch-{version}-{case}-plain {1e3 * plain_s:.4g} ms")
        print(f"torch-{version}-{case}-ratio {ratio:.4g} times")
        print(f"target torch-{version}-{case}-ratio {ratio:.4g} {LIMITS[name]:g} {met}", flush=True)
    os._exit(0)  # replicas need not wait for each other at the end


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Step time with pollux.torch divided by step time without it.")
    parser.add_argument("--seconds", type=float, default=10, help="budget per case")
    parser.add_argument("--replica", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("cases", nargs="*", metavar="NAME", default=CASES, help=" ".join(CASES))
    args = parser.parse_args()
    unknown = [case for case in args.cases if case not in CASES]
    if unknown:
        parser.error(f"no case {unknown[0]}; there are {', '.join(CASES)}")
    for case in args.cases:
        (replica if args.replica else start)(case, args.seconds)


if __name__ == "__main__":
    main()
