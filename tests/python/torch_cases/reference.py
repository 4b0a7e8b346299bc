# SPDX-License-Identifier: Apache-2.0
"""A second implementation of the estimators of gradient noise, on lists of tensors."""
from __future__ import annotations

import math
from typing import Optional, Sequence

import torch

MEMORY = 0.999


def square(tensors: Sequence[torch.Tensor]) -> float:
    return sum(float((each.double() ** 2).sum()) for each in tensors)


class Reference:
    """Averages per parameter group.  A gradient is a list of tensors, one per parameter; groups
    has the group of each parameter."""

    def __init__(self, groups: Sequence[int]) -> None:
        self.groups = groups
        self.count = max(groups) + 1
        self.sqr = [0.0] * self.count
        self.var = [0.0] * self.count
        self.weight = 0.0
        self.previous: Optional[list[torch.Tensor]] = None

    def update(self, micro: Sequence[Sequence[torch.Tensor]], scale: float,
               divisors: Optional[Sequence[torch.Tensor]] = None) -> None:
        """Add the n micro-gradients of one update of M = scale x M0 samples."""
        divisors = divisors or [torch.ones(())] * len(self.groups)
        micro = [[g.double() for g in each] for each in micro]
        if len(micro) == 1:
            now, before = micro[0], self.previous
            self.previous = now
            if before is not None:
                self._difference([g / p for g, p in zip(before, divisors)],
                                 [g / p for g, p in zip(now, divisors)], scale)
            return
        self.previous = None
        micro = [[g / p for g, p in zip(each, divisors)] for each in micro]
        n = len(micro)
        mean = [sum(each) / n for each in zip(*micro)]
        values = []
        for group in range(self.count):
            s = sum(square(self._of(each, group)) for each in micro) / n
            t = square(self._of(mean, group))
            values.append(((n * t - s) / (n - 1), (s - t) * scale / (n - 1)))
        self._average(values, scale)

    def _difference(self, before: list, now: list, scale: float) -> None:
        values = []
        for group in range(self.count):
            pairs = list(zip(self._of(before, group), self._of(now, group)))
            dot = sum(float((a * b).sum()) for a, b in pairs)
            values.append((dot, scale * sum(float(((a - b) ** 2).sum()) for a, b in pairs) / 2))
        self._average(values, 2 * scale)

    def _of(self, gradient: Sequence[torch.Tensor], group: int) -> list[torch.Tensor]:
        return [each for each, its in zip(gradient, self.groups) if its == group]

    def _average(self, values: list[tuple[float, float]], scale: float) -> None:
        theta = MEMORY ** scale
        self.weight = theta * self.weight + 1 - theta
        for group, (sqr, var) in enumerate(values):
            self.sqr[group] = theta * self.sqr[group] + (1 - theta) * sqr
            self.var[group] = theta * self.var[group] + (1 - theta) * var

    def group(self, group: int) -> tuple[float, float]:
        if not self.weight:
            return 1.0, 0.0
        sqr = max(self.sqr[group] / self.weight, 0.0)
        var = max(self.var[group] / self.weight, 0.0)
        return sqr, max(var, 1e-12 * (sqr + var))

    def total(self) -> tuple[float, float]:
        if not self.weight:
            return 1.0, 0.0
        pairs = [self.group(group) for group in range(self.count)]
        return sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)

    def gain(self, group: int, scale: float) -> float:
        sqr, var = self.group(group)
        return (var + sqr) / (var / scale + sqr)

    def total_gain(self, scale: float) -> float:
        sqr, var = self.total()
        return (var + sqr) / (var / scale + sqr)


def adam(optimizer: torch.optim.Optimizer) -> Optional[list[torch.Tensor]]:
    """The current preconditioner of an Adam optimizer, per parameter; None before step 5."""
    divisors = []
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            state = optimizer.state.get(parameter, {})
            step = int(state.get("step", 0))
            if step < 5:
                return None
            average = state["exp_avg_sq"].double() / (1 - group["betas"][1] ** step)
            divisors.append(average.sqrt() + group["eps"])
    return divisors


def close(one: Sequence[float], other: Sequence[float], tolerance: float = 1e-6) -> bool:
    return len(one) == len(other) and all(
        math.isclose(a, b, rel_tol=tolerance, abs_tol=1e-12) for a, b in zip(one, other))
