# SPDX-License-Identifier: Apache-2.0
"""What an adaptive batch gains: updates, samples and progress until a validation loss is reached.

    payoff.py [--quick] [--seeds N] [TASK...]

Two tasks on generated data: the networks of image.py (SGD with momentum) and text.py (AdamW with
warm-up and clipping).  Each is trained until it reaches its validation loss, with these settings:

    M0                the user's batch and learning rate
    16 M0, RULE       16 times the batch, the rate scaled by RULE (linear: in proportion)
    adaptive, RULE    the batch with the highest goodput for the measured noise

Step times are not measured but computed by MODEL for two replicas, so that the result does not
depend on the machine.  One process computes for both: m samples in each of 2 (s + 1) micro-steps.
Gradients, noise, factors and progress are real.  The table shows means over the seeds; "> " marks
rows in which a seed did not reach the loss.
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
# A micro-step of m samples takes 10 + m/2 ms, the exchange of gradients 20 ms.
MODEL = Model(0.010, 0.0005, alpha_node=0.020, beta_node=1e-8, alpha_local=0.020, beta_local=1e-8,
              gamma=1.0)
EVALUATE_EVERY = 10     # progress between two evaluations of the validation loss
CHOOSE_EVERY = 100      # progress between two choices of the batch; the first batch is M0


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


class Setting(NamedTuple):
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


def first_batch(setting: Setting) -> Batch:
    total = LARGE if setting.batch == "16 M0" else M0
    micro_steps = REPLICAS * -(-total // (REPLICAS * LIMITS.max_local))
    return Batch(total // micro_steps, micro_steps - 1)


def best_now() -> Batch:
    """The batch that the agent would choose on REPLICAS replicas for the current noise."""
    m, s = best_batch(MODEL, px.session().status().grad, LIMITS, REPLICAS).batch
    return Batch(m, REPLICAS * (s + 1) - 1)


def use(batch: Batch) -> None:
    """Train with this batch from the next update on."""
    px.session().agent.set_fixed(batch)
    px.session().advise()


def train(task: Task, setting: Setting, seed: int, limit: float) -> Result:
    """Train until the target loss or the limit of progress."""
    torch.manual_seed(seed)
    px.init(seed=seed)
    net = task.network()
    held_out = task.data(512, 2000 + seed).tensors
    updates, samples, seconds, evaluate_at, choose_at = 0, 0, 0.0, EVALUATE_EVERY, CHOOSE_EVERY
    loss = float("inf")
    for batch in each_update(task, net, setting, task.data(16384, 1000 + seed), limit):
        updates += 1
        samples += batch.m * (batch.s + 1)
        seconds += step_time(MODEL, REPLICAS, batch.m, (batch.s + 1) // REPLICAS - 1)
        progress = px.session().progress
        if progress >= evaluate_at:
            evaluate_at = progress + EVALUATE_EVERY
            loss = mean_loss(net, *held_out)
            if loss <= task.target:
                break
        if setting.batch == "adaptive" and progress >= choose_at:
            choose_at = progress + CHOOSE_EVERY
            use(best_now())
    px.close()
    return Result(loss <= task.target, updates, samples, progress, seconds)


def each_update(task: Task, net: nn.Module, setting: Setting, data: TensorDataset,
                limit: float) -> Iterator[Batch]:
    """Train; yield the batch of each update after it."""
    optimizer = task.optimizer(net)
    schedule = LambdaLR(optimizer, lambda step: min(1, (step + 1) / task.warmup))
    net, optimizer, loader = px.prepare(
        net, optimizer, DataLoader(data, M0, shuffle=True, drop_last=True), rule=setting.rule,
        max_batch=LIMITS.max_batch, local_batch=(1, LIMITS.max_local), scheduler=schedule)
    use(first_batch(setting))
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


def settings(task: Task, quick: bool) -> list[Setting]:
    if quick:
        return [Setting("M0", task.rules[0]), Setting("adaptive", task.rules[0])]
    return [Setting("M0", task.rules[0]), *(Setting("16 M0", rule) for rule in task.rules),
            *(Setting("adaptive", rule) for rule in task.rules)]


def compare(name: str, seeds: int, quick: bool) -> None:
    """Print the table of one task.  A setting ends at three times the progress of M0."""
    task, first = TASKS[name], {}
    print(f"\n{name}: until the validation loss is {task.target}\n\n"
          "| batch, rule | reached | updates | samples | progress | seconds | progress / M0's |\n"
          "|---|--:|--:|--:|--:|--:|--:|", flush=True)
    for setting in settings(task, quick):
        results = []
        for seed in range(seeds):
            limit = 3 * first[seed].progress if seed in first else 6000
            results.append(train(task, setting, seed, limit))
            first.setdefault(seed, results[-1])
        ratio = statistics.mean(result.progress for result in results) / \
            statistics.mean(result.progress for result in first.values())
        more = "" if all(result.reached for result in results) else "> "
        numbers = [f"{statistics.mean(column):.0f}" for column in list(zip(*results))[1:]]
        print(f"| {setting} | {sum(result.reached for result in results)} of {seeds} | "
              + " | ".join(more + number for number in numbers) + f" | {more}{ratio:.2f} |",
              flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="What an adaptive batch gains.")
    parser.add_argument("--quick", action="store_true", help="M0 and the adaptive batch, one seed")
    parser.add_argument("--seeds", type=int, default=0, help="how many (default: 3; --quick: 1)")
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
