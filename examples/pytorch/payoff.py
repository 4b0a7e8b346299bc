# SPDX-License-Identifier: Apache-2.0
"""What an adaptive batch is worth: updates, samples and progress until a loss is reached.

    payoff.py [--quick] [--seeds N] [TASK...]

Two tasks on generated data, the networks of image.py (SGD with momentum) and text.py (AdamW with
warm-up and clipping), each trained until its validation loss is reached,

    M0                with the user's batch and rate;
    16 M0, RULE       with 16 times the batch, and the rate by a rule; linear is naive scaling;
    adaptive, RULE    with the batch of most goodput, by the noise as it is measured.

Throughput is declared and not measured, so that the result does not depend on the machine: two
replicas with the step times of MODEL.  One process computes what the two would, m samples in each
of 2 (s + 1) micro-steps.  The seconds are the model's; gradients, noise, factors and progress are
real.  The table has means over the seeds; a training that did not get there is marked.
"""
from __future__ import annotations

import argparse
import statistics
from typing import Callable, Iterator, NamedTuple

import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, TensorDataset

import image
import pollux.torch as px
import text
from generated import images, sentences
from pollux.model import Batch, Limits, Model, best_batch, step_time

M0 = 8
LARGE = 16 * M0
REPLICAS = 2
LIMITS = Limits(M0, 32 * M0, 4, 64, True)
# Milliseconds: a micro-step of m samples takes 10 + m/2, the exchange of gradients 20.
MODEL = Model(0.010, 0.0005, alpha_node=0.020, beta_node=1e-8, alpha_local=0.020, beta_local=1e-8,
              gamma=1.0)
LOOK = 10       # progress between two looks at the validation loss
CHOOSE = 100    # progress between two choices of the batch; it begins with M0


class Task(NamedTuple):
    network: Callable[[], nn.Module]
    data: Callable[[int, int], TensorDataset]
    optimizer: Callable[[nn.Module], torch.optim.Optimizer]
    warmup: int         # progress
    clip: float         # norm of the gradient
    target: float       # validation loss
    rules: tuple[str, ...]


TASKS = {
    "image": Task(image.network, images,
                  lambda net: torch.optim.SGD(net.parameters(), 0.02, momentum=0.9),
                  1, float("inf"), 0.4, ("adascale", "sqrt", "linear")),
    "text": Task(text.Transformer, sentences,
                 lambda net: torch.optim.AdamW(net.parameters(), 2e-3, weight_decay=0.01),
                 100, 1.0, 0.9, ("adamscale", "adascale", "sqrt", "linear")),
}


class Way(NamedTuple):
    batch: str  # "M0", "16 M0" or "adaptive"
    rule: str

    def __str__(self) -> str:
        return self.batch if self.batch == "M0" else f"{self.batch}, {self.rule}"


class Result(NamedTuple):
    reached: bool
    updates: int
    samples: int
    progress: float
    seconds: float


def first_batch(way: Way) -> Batch:
    total = LARGE if way.batch == "16 M0" else M0
    micro_steps = REPLICAS * -(-total // (REPLICAS * LIMITS.max_local))
    return Batch(total // micro_steps, micro_steps - 1)


def best_now() -> Batch:
    """As the agent would choose it on REPLICAS replicas, for the noise as it is."""
    m, s = best_batch(MODEL, px.session().status().grad, LIMITS, REPLICAS).batch
    return Batch(m, REPLICAS * (s + 1) - 1)


def use(batch: Batch) -> None:
    """Train with this batch from the next update on."""
    px.session().agent.set_fixed(batch)
    px.session().advise()


def train(task: Task, way: Way, seed: int, limit: float) -> Result:
    """One training, to the target or to the limit of progress."""
    torch.manual_seed(seed)
    px.init(seed=seed)
    net = task.network()
    held_out = task.data(512, 2000 + seed).tensors
    updates, samples, seconds, look, choose = 0, 0, 0.0, LOOK, CHOOSE
    loss = float("inf")
    for batch in each_update(task, net, way, task.data(16384, 1000 + seed), limit):
        updates += 1
        samples += batch.m * (batch.s + 1)
        seconds += step_time(MODEL, REPLICAS, batch.m, (batch.s + 1) // REPLICAS - 1)
        progress = px.session().progress
        if progress >= look:
            look = progress + LOOK
            loss = mean_loss(net, *held_out)
            if loss <= task.target:
                break
        if way.batch == "adaptive" and progress >= choose:
            choose = progress + CHOOSE
            use(best_now())
    px.close()
    return Result(loss <= task.target, updates, samples, progress, seconds)


def each_update(task: Task, net: nn.Module, way: Way, data: TensorDataset,
                limit: float) -> Iterator[Batch]:
    """Trains, and yields the batch of every update when it is done."""
    optimizer = task.optimizer(net)
    schedule = LambdaLR(optimizer, lambda step: min(1, (step + 1) / task.warmup))
    net, optimizer, loader = px.prepare(
        net, optimizer, DataLoader(data, M0, shuffle=True, drop_last=True), rule=way.rule,
        max_batch=LIMITS.max_batch, local_batch=(1, LIMITS.max_local), scheduler=schedule)
    use(first_batch(way))
    batch, done, batches = px.session().advice.batch, 0.0, iter(loader)
    for _ in px.steps(int(limit)):
        if px.session().progress > done:
            done = px.session().progress
            yield batch
            batch = px.session().advice.batch
        optimizer.zero_grad()
        x, y = next(batches)
        cross_entropy(net(x).flatten(0, -2), y.flatten()).backward()
        nn.utils.clip_grad_norm_(net.parameters(), task.clip)
        optimizer.step()
        schedule.step()


def mean_loss(net: nn.Module, x: torch.Tensor, y: torch.Tensor) -> float:
    with torch.no_grad():
        return cross_entropy(net(x).flatten(0, -2), y.flatten()).item()


def ways(task: Task, quick: bool) -> list[Way]:
    if quick:
        return [Way("M0", task.rules[0]), Way("adaptive", task.rules[0])]
    return [Way("M0", task.rules[0]), *(Way("16 M0", rule) for rule in task.rules),
            *(Way("adaptive", rule) for rule in task.rules)]


def compare(name: str, seeds: int, quick: bool) -> None:
    """The table of one task.  A way is given up at three times the progress of M0."""
    task, first = TASKS[name], {}
    print(f"\n{name}: until the validation loss is {task.target}\n\n"
          "| batch, rule | reached | updates | samples | progress | seconds | progress / M0's |\n"
          "|---|--:|--:|--:|--:|--:|--:|", flush=True)
    for way in ways(task, quick):
        results = []
        for seed in range(seeds):
            limit = 3 * first[seed].progress if seed in first else 6000
            results.append(train(task, way, seed, limit))
            first.setdefault(seed, results[-1])
        ratio = statistics.mean(result.progress for result in results) / \
            statistics.mean(result.progress for result in first.values())
        more = "" if all(result.reached for result in results) else "> "
        numbers = [f"{statistics.mean(column):.0f}" for column in list(zip(*results))[1:]]
        print(f"| {way} | {sum(result.reached for result in results)} of {seeds} | "
              + " | ".join(more + number for number in numbers) + f" | {more}{ratio:.2f} |",
              flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="What an adaptive batch is worth.")
    parser.add_argument("--quick", action="store_true", help="M0 and the adaptive batch, one seed")
    parser.add_argument("--seeds", type=int, default=0, help="how many (3; with --quick 1)")
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=" or ".join(TASKS))
    args = parser.parse_args()
    torch.set_num_threads(1)
    names = args.tasks or list(TASKS)
    for name in names:
        if name not in TASKS:
            parser.error(f"no task {name}; there are {', '.join(TASKS)}")
    for name in names:
        compare(name, args.seeds or (1 if args.quick else 3), args.quick)


if __name__ == "__main__":
    main()
