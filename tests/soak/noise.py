# SPDX-License-Identifier: Apache-2.0
"""Whether the noise that a training measures is right.

    noise.py REPLICAS TASK...      exit 1 if too few checkpoints agree

The tasks are those of examples/pytorch/quality.py, each with the seeds SEEDS.  At checkpoints in the training, the estimate of
the agent (noise_unbiased of px.metrics) is compared with a direct measurement: the gradients of all
the data in batches of M0, at the weights and with the preconditioner of the same updates, averaged
with the same weights.  A checkpoint counts if the 90 % interval of the direct measurement is within
a factor of CERTAIN; the estimate agrees if it is within a factor of CLOSE.
"""
from __future__ import annotations

import math
import os
import sys
from pathlib import Path
from typing import Iterator, NamedTuple, Optional

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / each)
                for each in ("examples/pytorch", "tests/python", "bindings/python")]

import torch  # noqa: E402
from quality import M0, MAX_BATCH, TASKS, Clock, Setup, Task, set_up  # noqa: E402
from replicas import run  # noqa: E402
from torch import Tensor  # noqa: E402

import pollux.torch as px  # noqa: E402
from pollux.torch.norms import Preconditioner  # noqa: E402

SEEDS = range(1003, 1006)
FIRST_CHECKPOINT, CHECKPOINT_EVERY = 100, 50    # updates
DECAY = 0.999       # of a measurement's weight, per progress
BLOCKS = 8          # parts of the direct measurement, for its error
CERTAIN, CLOSE, SHARE = 1.25, 2.0, 0.95
QUANTILE = 1.645    # of a two-sided 90 % interval


class Moment(NamedTuple):
    """An update that the agent has measured."""

    progress: float
    scale: float                # its samples / M0
    weights: list[Tensor]
    divisors: list[Tensor]      # the preconditioner P of each parameter


class Direct(NamedTuple):
    """Squared norm of the gradient and variance at batch M0: of all the data, and each time without
    one of the blocks."""

    sqr: Tensor
    var: Tensor


def copy_of(it: Setup, preconditioner: Preconditioner) -> tuple[list[Tensor], list[Tensor]]:
    preconditioner.renew()
    weights, divisors = [], []
    for parameter in it.net.parameters():
        scaling = preconditioner(parameter)
        ones = torch.ones_like(parameter, dtype=torch.float64)
        divisors.append(ones if scaling is None else 1 / scaling.divide(ones))
        weights.append(parameter.detach().clone())
    return weights, divisors


def train(task: Task, it: Setup, clock: Clock, every: int) -> Iterator[Optional[Moment]]:
    """Train; yields after each update whether, and where, the agent has measured.  Of every `every`
    measurements one is returned with its weights."""
    preconditioner, seen, count, before = Preconditioner(it.optimizer), None, 0, 0.0
    for _ in px.epochs(task.epochs, by="progress"):
        for x, y in it.loader:
            it.optimizer.zero_grad()
            task.loss(it.net(x), y).backward()
            clock.call(len(x))
            weights, divisors = copy_of(it, preconditioner)
            it.optimizer.step()
            if it.schedule is not None:
                it.schedule.step()
            metrics = px.metrics()
            if metrics["progress"] == before:
                continue    # the update goes on with another micro-step
            before = metrics["progress"]
            measured, seen = metrics["noise_unbiased"] != seen, metrics["noise_unbiased"]
            count += measured
            keep = measured and count % every == 0
            yield Moment(before, metrics["batch"] / M0, weights, divisors) if keep else None


def measure(task: Task, net: torch.nn.Module, data: tuple[Tensor, ...], moment: Moment) -> Direct:
    """From products of the gradients of different batches: no batch is compared with itself."""
    for parameter, value in zip(net.parameters(), moment.weights):
        parameter.data.copy_(value)
    x, y = data
    rows = []
    for batch in torch.randperm(len(x)).split(M0):
        if len(batch) == M0:
            net.zero_grad()
            task.loss(net(x[batch]), y[batch]).backward()
            pairs = zip(net.parameters(), moment.divisors)
            rows.append(torch.cat([(each.grad / divisor).flatten() for each, divisor in pairs]))
    products = torch.stack(rows) @ torch.stack(rows).T
    block = torch.arange(len(rows)) % BLOCKS
    found = [moments(products, block != without) for without in range(-1, BLOCKS)]
    return Direct(torch.tensor([sqr for sqr, _ in found]), torch.tensor([var for _, var in found]))


def moments(products: Tensor, rows: Tensor) -> tuple[float, float]:
    chosen = products[rows][:, rows]
    count, own = len(chosen), chosen.trace().item()
    sqr = (chosen.sum().item() - own) / (count * (count - 1))
    return sqr, own / count - sqr


def noise_at(progress: float, window: list[tuple[Moment, Direct]]) -> Optional[float]:
    """The direct measurement over the window; None if it is not certain enough itself."""
    weights = torch.tensor([moment.scale * DECAY ** (progress - moment.progress)
                            for moment, _ in window])
    sqr = (weights.unsqueeze(1) * torch.stack([direct.sqr for _, direct in window])).sum(0)
    var = (weights.unsqueeze(1) * torch.stack([direct.var for _, direct in window])).sum(0)
    if not bool((sqr > 0).all()):
        return None
    scales = (M0 * var / sqr).log()
    errors = scales[1:] - scales[1:].mean()
    error = math.sqrt((BLOCKS - 1) / BLOCKS * errors.square().sum().item())
    return math.exp(scales[0].item()) if QUANTILE * error <= math.log(CERTAIN) else None


def compare(name: str, replicas: int, seed: int) -> tuple[int, int, int]:
    """Numbers of checkpoints, of those that count, and of those that agree."""
    task, clock = TASKS[name], Clock()
    it = set_up(task, seed, 0)
    data = it.loader.dataset.tensors
    torch.manual_seed(seed)
    probe = task.network()
    px.init(seed=seed, clock=clock)
    net, optimizer, loader = px.prepare(
        it.net, it.optimizer, it.loader, max_batch=MAX_BATCH, local_batch=(1, MAX_BATCH),
        scheduler=it.schedule)
    it = Setup(net, optimizer, it.schedule, loader)
    window: list[tuple[Moment, Direct]] = []
    checkpoints = certain = agreeing = 0
    # One replica measures now and then, several in every update.
    for update, moment in enumerate(train(task, it, clock, 1 if replicas == 1 else 8), 1):
        if px.rank() > 0:
            continue
        if moment is not None:
            window.append((moment, measure(task, probe, data, moment)))
        if update < FIRST_CHECKPOINT or update % CHECKPOINT_EVERY != 0:
            continue
        metrics = px.metrics()
        truth, estimate = noise_at(metrics["progress"], window), metrics["noise_unbiased"]
        checkpoints += 1
        if truth is not None:
            certain += 1
            agreeing += estimate is not None and 1 / CLOSE <= estimate / truth <= CLOSE
    px.close()
    return checkpoints, certain, agreeing


def run_tasks(replicas: int, names: list[str]) -> bool:
    """In each replica.  Whether enough checkpoints agree."""
    torch.set_num_threads(1)
    if replicas > 1:
        torch.distributed.init_process_group("gloo")
    all_certain = all_agreeing = 0
    for name in names:
        found = [compare(name, replicas, seed) for seed in SEEDS]
        checkpoints, certain, agreeing = map(sum, zip(*found))
        all_certain += certain
        all_agreeing += agreeing
        print(f"{name}, {replicas} replicas: of {checkpoints} checkpoints {certain} count, "
              f"{agreeing} agree", flush=True)
    if replicas > 1:
        torch.distributed.destroy_process_group()
    return all_certain > 0 and all_agreeing >= SHARE * all_certain


def main() -> None:
    replicas, names = int(sys.argv[1]), sys.argv[2:]
    if "RANK" in os.environ:
        sys.exit(not run_tasks(replicas, names) and os.environ["RANK"] == "0")
    ended = run(__file__, replicas, *sys.argv[1:], timeout=3600)
    print(ended.outputs[0], end="")
    sys.exit(any(ended.codes))


if __name__ == "__main__":
    main()
