# SPDX-License-Identifier: Apache-2.0
"""A second implementation of the estimators of gradient noise, on lists of tensors."""
from __future__ import annotations

import math
from typing import Optional, Sequence

import torch

MEMORY = 0.999
ENOUGH, OUTLIER = 16, 10
LEAST_MOMENT = 0.01
COMPARE_EVERY = 8


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
        self.singles = 0    # updates with one micro-gradient
        self.evidence = Evidence()

    def update(self, micro: Sequence[Sequence[torch.Tensor]], scale: float,
               divisors: Optional[Sequence[torch.Tensor]] = None) -> None:
        """Add the n micro-gradients of one update of M = scale x M0 samples."""
        divisors = divisors or [torch.ones(())] * len(self.groups)
        micro = [[g.double() for g in each] for each in micro]
        if len(micro) == 1:
            now, before = micro[0], self.previous
            self.previous = now if self.singles % COMPARE_EVERY == 0 else None
            self.singles += 1
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
        self.evidence.add(sum(q for q, _u in values), sum(u for _q, u in values), scale)

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

    def group_gain(self, group: int, scale: float) -> float:
        return self.evidence.gain(*self.group(group), scale)

    def gain(self, scale: float, share: float) -> float:
        """share: of M0 in the data."""
        return self.evidence.gain(*self.evidence.bounds(share), scale)


class Evidence:
    """Keeps all values, with the progress at which they were met."""

    def __init__(self) -> None:
        self.values: list[tuple[float, float, float, float]] = []  # q, u, M/M0, progress
        self.progress = 0.0

    def add(self, q: float, u: float, scale: float) -> None:
        if self.count() >= 4:
            size = self._mean([abs(value[0]) for value in self.values])
            most = OUTLIER * self._mean([value[1] for value in self.values])
            q = math.copysign(min(abs(q), OUTLIER * size), q)
            u = min(u, most)
        self.values.append((q, u, scale, self.progress))

    def _weights(self) -> list[float]:
        return [scale * MEMORY ** (self.progress - at) for _q, _u, scale, at in self.values]

    def _mean(self, values: Sequence[float]) -> float:
        weights = self._weights()
        return sum(w * value for w, value in zip(weights, values)) / sum(weights)

    def count(self) -> float:
        weights = self._weights()
        return sum(weights) ** 2 / sum(w * w for w in weights) if weights else 0.0

    def bounds(self, share: float) -> tuple[float, float]:
        """sqr+ and var."""
        weights = self._weights()
        if not weights:
            return 1.0, 0.0
        q = self._mean([value[0] for value in self.values])
        var = max(self._mean([value[1] for value in self.values]), 0.0)
        error = math.sqrt(sum((w * (value[0] - q)) ** 2 for w, value in zip(weights, self.values)))
        return max(q, 0.0) + error / sum(weights) + share * var, var

    def gain(self, sqr: float, var: float, scale: float) -> float:
        """Progress of an update, limited by the evidence, for a training that has just begun."""
        most = 4.0 if self.count() >= ENOUGH else 1.0
        return min((var + sqr) / (var / scale + sqr), most)


def adam(optimizer: torch.optim.Optimizer) -> Optional[list[torch.Tensor]]:
    """The current preconditioner of Adam or RMSprop, per parameter; None before step 5."""
    divisors = []
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            state = optimizer.state.get(parameter, {})
            step = int(state.get("step", 0))
            if step < 5:
                return None
            average = state.get("exp_avg_sq", state.get("square_avg")).double()
            average = torch.maximum(average, LEAST_MOMENT * average.mean())
            beta2 = group["betas"][1] if "betas" in group else group["alpha"]
            divisors.append((average / (1 - beta2 ** step)).sqrt() + group["eps"])
    return divisors


def close(one: Sequence[float], other: Sequence[float], tolerance: float = 1e-6) -> bool:
    return len(one) == len(other) and all(
        math.isclose(a, b, rel_tol=tolerance, abs_tol=1e-12) for a, b in zip(one, other))
