# SPDX-License-Identifier: Apache-2.0
"""Whether adaptive training is as good as plain training, and how much time it saves.

    quality.py [--seeds FIRST-LAST] [--quick] [--check] [--json FILE] [TASK...]

Seven tasks on generated data.  For each seed a task is trained four times from the same initial
weights, for equal progress:

    plain       batch M0, without Pollux
    again       the same in another order of the data: what chance alone does
    adaptive    with Pollux and its defaults, up to 32 M0
    published   the same by the rules of the published system, see published.py

Time is declared, not measured, so that the result does not depend on the machine: every forward and
backward pass costs CALL_S + SAMPLE_S per sample.  Differences are adaptive minus plain in points of
accuracy, or in per cent of the validation loss; positive is better.  The last column names the
criteria that a task misses; LIMITS has them.  --check exits with 1 if there is one.
"""
from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from typing import Any, Callable, Iterable, NamedTuple, Optional

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, mse_loss
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, TensorDataset

import image
import pollux.torch as px
import text
from generated import CLASSES, clusters, curve, digits, images, sentences
from pollux.model import Model
from published import Published

M0 = 32
MAX_BATCH = 32 * M0
HELD_OUT = 10_000   # samples to validate with: with 2000, chance in these is most of a difference
CALL_S, SAMPLE_S = 0.010, 0.00005
MODEL = Model(CALL_S, SAMPLE_S, 0.0, 0.0, 0.0, 0.0, 1.0)
QUICK = ("digits", "cnn")
# Two-sided 95 % quantiles of Student's t for 1, 2, ... degrees of freedom.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179,
           2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
           2.060, 2.056, 2.052, 2.048, 2.045, 2.042)


class Limits(NamedTuple):
    """What a task has to reach: see missed()."""

    mean: float         # lowest mean difference
    interval: float     # lowest end of its 95 % interval
    beyond: float = 1.0     # how much worse than the worst of plain against plain a seed may be
    time: float = 1.05      # largest share of plain's time


LIMITS = {"accuracy": Limits(-0.3, -0.8), "loss": Limits(-1.0, -3.0)}
MEAN_TIME = 0.7     # largest geometric mean over the tasks of the share of plain's time


def of_letters(out: Tensor, y: Tensor) -> Tensor:
    return cross_entropy(out.flatten(0, 1), y.flatten())


def perceptron(inputs: int, outputs: int) -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(inputs, 64), nn.ReLU(), nn.Linear(64, 64),
                         nn.ReLU(), nn.Linear(64, outputs))


def convolutions() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 8, 3, 1, 1), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU(),
                         nn.Flatten(), nn.Linear(256, CLASSES))


def adam(net: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.Adam(net.parameters(), 1e-3)


def adamw(rate: float) -> Callable[[nn.Module], torch.optim.Optimizer]:
    return lambda net: torch.optim.AdamW(net.parameters(), rate, weight_decay=0.01)


def sgd(rate: float) -> Callable[[nn.Module], torch.optim.Optimizer]:
    return lambda net: torch.optim.SGD(net.parameters(), rate, momentum=0.9)


def warm_up(step: int, _total: int) -> float:
    return min(1.0, (step + 1) / 100)


def cosine(step: int, total: int) -> float:
    return (1 + math.cos(math.pi * min(step / total, 1.0))) / 2


class Task(NamedTuple):
    network: Callable[[], nn.Module]
    data: Callable[[int], TensorDataset]        # of a seed, to train with
    held_out: Callable[[int], TensorDataset]    # of a seed, to validate with
    optimizer: Callable[[nn.Module], torch.optim.Optimizer]
    epochs: int
    loss: Callable[[Tensor, Tensor], Tensor] = cross_entropy
    kind: str = "accuracy"      # or "loss": what is compared
    schedule: Optional[Callable[[int, int], float]] = None  # of the update and their total
    clip: float = math.inf      # norm of the gradient


TASKS = {
    "digits": Task(lambda: perceptron(64, CLASSES), lambda seed: digits(1437, seed),
                   lambda seed: digits(HELD_OUT, seed), adam, 20),
    "clusters": Task(lambda: perceptron(32, CLASSES), lambda seed: clusters(2048, seed),
                     lambda seed: clusters(HELD_OUT, seed), adamw(1e-3), 15),
    "wrong": Task(lambda: perceptron(64, CLASSES), lambda seed: digits(1437, seed, wrong=0.1),
                  lambda seed: digits(HELD_OUT, seed), adam, 20),
    "cnn": Task(convolutions, lambda seed: digits(1437, seed), lambda seed: digits(HELD_OUT, seed),
                sgd(0.02), 20),
    "text": Task(lambda: text.Transformer(16, 2, 1, 16), lambda seed: sentences(4096, seed, 16),
                 lambda seed: sentences(1024, seed, 16), adamw(4e-3), 6, of_letters, "loss",
                 warm_up, 1.0),
    "image": Task(image.network, lambda seed: images(2048, seed),
                  lambda seed: images(HELD_OUT, seed), sgd(0.05), 12, schedule=cosine),
    "regression": Task(lambda: perceptron(16, 1), lambda seed: curve(2048, seed),
                       lambda seed: curve(HELD_OUT, seed), adam, 20, mse_loss, "loss"),
}


class Clock:
    """Declared time.  The agent reads it instead of the clock of the machine."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds

    def call(self, samples: int) -> None:
        """A forward and backward pass."""
        self.seconds += CALL_S + SAMPLE_S * samples


class Result(NamedTuple):
    value: float    # accuracy in per cent, or validation loss
    seconds: float  # declared


class Setup(NamedTuple):
    """What plain and adaptive training of a seed have in common."""

    net: nn.Module
    optimizer: torch.optim.Optimizer
    schedule: Optional[LambdaLR]
    loader: DataLoader


def set_up(task: Task, seed: int, order: int) -> Setup:
    torch.manual_seed(seed)
    net = task.network()
    optimizer = task.optimizer(net)
    loader = DataLoader(task.data(2 * seed), M0, shuffle=True,
                        generator=torch.Generator().manual_seed(order))
    total, schedule = task.epochs * len(loader), task.schedule
    follow = schedule and LambdaLR(optimizer, lambda step: schedule(step, total))
    return Setup(net, optimizer, follow, loader)


def train_plain(task: Task, seed: int, order: int) -> Result:
    it, clock = set_up(task, seed, order), Clock()
    for _ in range(task.epochs):
        train_epoch(task, it, clock)
    return Result(validate(task, it.net, seed), clock.seconds)


def train_adaptive(task: Task, seed: int) -> Result:
    it, clock = set_up(task, seed, 0), Clock()
    px.init(seed=seed, clock=clock)
    try:
        net, optimizer, loader = px.prepare(
            it.net, it.optimizer, it.loader, max_batch=MAX_BATCH, local_batch=(1, MAX_BATCH),
            scheduler=it.schedule)
        it = Setup(net, optimizer, it.schedule, loader)
        for _ in px.epochs(task.epochs):
            train_epoch(task, it, clock)
    finally:
        px.close()
    return Result(validate(task, it.net, seed), clock.seconds)


def train_published(task: Task, seed: int) -> Result:
    it, clock = set_up(task, seed, 0), Clock()
    published = Published(it.optimizer, MODEL, M0, MAX_BATCH)
    total = task.epochs * len(it.loader)
    while published.progress < total:
        published.choose()
        for x, y in DataLoader(it.loader.dataset, published.batch, shuffle=True):
            compute_gradient(task, it, clock, x, y)
            published.measure(len(x))
            clip(task, it.net)
            published.step()
            while it.schedule is not None and it.schedule.last_epoch < published.progress - 0.5:
                it.schedule.step()
            if published.progress >= total:
                break
    return Result(validate(task, it.net, seed), clock.seconds)


def train_epoch(task: Task, it: Setup, clock: Clock) -> None:
    for x, y in it.loader:
        compute_gradient(task, it, clock, x, y)
        clip(task, it.net)
        it.optimizer.step()
        if it.schedule is not None:
            it.schedule.step()


def compute_gradient(task: Task, it: Setup, clock: Clock, x: Tensor, y: Tensor) -> None:
    it.optimizer.zero_grad()
    task.loss(it.net(x), y).backward()
    clock.call(len(x))


def clip(task: Task, net: nn.Module) -> None:
    if task.clip < math.inf:
        nn.utils.clip_grad_norm_(net.parameters(), task.clip)


def validate(task: Task, net: nn.Module, seed: int) -> float:
    x, y = task.held_out(2 * seed + 1).tensors
    with torch.no_grad():
        out = net(x)
    if task.kind == "loss":
        return task.loss(out, y).item()
    return 100 * (out.argmax(1) == y).float().mean().item()


class Row(NamedTuple):
    """The results of a task, by seed."""

    kind: str
    plain: list[Result]
    again: list[Result]
    adaptive: list[Result]
    published: list[Result]

    def better(self, results: list[Result]) -> list[float]:
        """How much better than plain these results are: points, or per cent of the loss."""
        pairs = [(before.value, after.value) for before, after in zip(self.plain, results)]
        if self.kind == "accuracy":
            return [after - before for before, after in pairs]
        return [100 * (before - after) / before for before, after in pairs]

    def time(self, results: list[Result]) -> float:
        """The share of plain's time that these trainings take."""
        return sum(each.seconds for each in results) / sum(each.seconds for each in self.plain)


def half_interval(values: list[float]) -> float:
    """Half the width of the two-sided 95 % interval of the mean."""
    if len(values) < 2 or not all(map(math.isfinite, values)):
        return math.inf
    quantile = STUDENT[min(len(values) - 1, len(STUDENT)) - 1]
    return quantile * statistics.stdev(values) / math.sqrt(len(values))


def missed(row: Row) -> list[str]:
    """The criteria that a task misses.  A result that is not a number misses them."""
    limits, differences = LIMITS[row.kind], row.better(row.adaptive)
    mean = statistics.mean(differences)
    met = {"mean": mean >= limits.mean,
           "interval": mean - half_interval(differences) > limits.interval,
           "worst seed": all(each >= min(row.better(row.again)) - limits.beyond
                             for each in differences),
           "time": row.time(row.adaptive) <= limits.time}
    return [name for name, good in met.items() if not good]


def geometric_mean(values: Iterable[float]) -> float:
    return math.exp(statistics.mean(math.log(value) for value in values))


def compare(task: Task, seeds: range) -> Row:
    return Row(task.kind, [train_plain(task, seed, 2 * seed) for seed in seeds],
               [train_plain(task, seed, 2 * seed + 1) for seed in seeds],
               [train_adaptive(task, seed) for seed in seeds],
               [train_published(task, seed) for seed in seeds])


def show(name: str, row: Row) -> None:
    plain = statistics.mean(each.value for each in row.plain)
    unit = "points" if row.kind == "accuracy" else "% of loss"
    cells = [name, f"{plain:.2f}{'' if row.kind == 'loss' else ' %'}", unit]
    for results in (row.adaptive, row.again, row.published):
        differences = row.better(results)
        cells += [f"{statistics.mean(differences):+.2f} ± {half_interval(differences):.2f}",
                  f"{min(differences):+.2f}"]
        if results is not row.again:
            cells.append(f"{row.time(results):.2f}")
    print(f"| {' | '.join(cells)} | {', '.join(missed(row)) or 'none'} |", flush=True)


def seeds_of(words: str) -> range:
    first, _, last = words.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    if len(seeds) < 2:
        raise ValueError
    return seeds


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Whether adaptive training is as good as plain training.")
    parser.add_argument("--seeds", metavar="FIRST-LAST", default="",
                        help="two or more (default: 80-99; --quick: 100-101)")
    parser.add_argument("--quick", action="store_true",
                        help=f"{' and '.join(QUICK)}, a fifth of their epochs: does it run?")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a criterion is missed")
    parser.add_argument("--json", metavar="FILE", help="write the results of every seed, too")
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=", ".join(TASKS))
    args = parser.parse_args()
    try:
        args.seeds = seeds_of(args.seeds or ("100-101" if args.quick else "80-99"))
    except ValueError:
        parser.error(f"--seeds {args.seeds}: give the first and the last of two or more seeds, "
                     "for example 80-99")
    for name in args.tasks:
        if name not in TASKS:
            parser.error(f"no task {name}; there are {', '.join(TASKS)}")
    args.tasks = args.tasks or list(QUICK if args.quick else TASKS)
    return args


def main() -> None:
    args = arguments()
    torch.set_num_threads(1)
    print(f"seeds {args.seeds[0]} to {args.seeds[-1]}, M0 = {M0}, at most {MAX_BATCH}; "
          f"a call costs {1000 * CALL_S:g} ms + {1000 * SAMPLE_S:g} ms per sample\n\n"
          "| task | plain | unit | adaptive - plain | worst | time / plain's | again - plain "
          "| worst | published - plain | worst | time / plain's | missed |\n"
          "|---|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|---|", flush=True)
    rows: dict[str, Row] = {}
    for name in args.tasks:
        task = TASKS[name]
        if args.quick:
            task = task._replace(epochs=-(-task.epochs // 5))
        rows[name] = compare(task, args.seeds)
        show(name, rows[name])
    time = geometric_mean(row.time(row.adaptive) for row in rows.values())
    print(f"\ngeometric mean of time / plain's: {time:.2f} (at most {MEAN_TIME})")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(report(args.seeds, rows), file, indent=1)
    if args.check and (time > MEAN_TIME or any(missed(row) for row in rows.values())):
        sys.exit("a criterion is missed")


def report(seeds: range, rows: dict[str, Row]) -> dict[str, Any]:
    """All results, for --json."""
    return {"seeds": list(seeds), "batch": M0, "max_batch": MAX_BATCH, "call_s": CALL_S,
            "sample_s": SAMPLE_S,
            "tasks": {name: {"kind": row.kind, "time": row.time(row.adaptive),
                             "missed": missed(row), "differences": row.better(row.adaptive),
                             **{way: [each._asdict() for each in getattr(row, way)]
                                for way in ("plain", "again", "adaptive", "published")}}
                      for name, row in rows.items()}}


if __name__ == "__main__":
    main()
