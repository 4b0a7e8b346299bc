# SPDX-License-Identifier: Apache-2.0
"""The adaptive batch by the rules of the published system (OSDI'21), for one replica: quality.py
compares with them.

- The noise is estimated from the gradients of two successive updates with the same batch.  It is
  averaged over about 1000 updates with batch M0 and used from the first estimate on.
- For Adam, gradients are divided by sqrt(exp_avg_sq) + eps as they were before the update.
- The batch with the highest goodput is chosen at the begin of each pass over the data, if it has
  5 % more than the present one.
- The factor on the learning rate is the gain for SGD, and its square root for Adam.
- Adam's averages are reset when the batch changes.
"""
from __future__ import annotations

import math
from typing import Iterator, Optional

import torch
from torch import Tensor

from pollux.model import Grad, Limits, Model, best_batch, gain, goodput

SMOOTHING = 0.999   # per M0 samples
IMPROVEMENT = 1.05
ADAM = (torch.optim.Adam, torch.optim.AdamW)


class Published:
    """The batch, the rate and the progress of one training.  model: the declared time of a step."""

    def __init__(self, optimizer: torch.optim.Optimizer, model: Model, init_batch: int,
                 max_batch: int) -> None:
        self._optimizer = optimizer
        self._adam = isinstance(optimizer, ADAM)
        self._model = model
        self._limits = Limits(init_batch, max_batch, 1, max_batch, False)
        self._before: Optional[tuple[int, Tensor]] = None   # the last update: samples, gradient
        self._weight = self._sqr = self._var = 0.0          # sums that decay
        self.batch = init_batch
        self.progress = 0.0

    def choose(self) -> None:
        """At the begin of a pass."""
        if not self._weight:
            return
        grad, m0 = self._grad(), self._limits.init_batch
        best = best_batch(self._model, grad, self._limits, 1)
        if best.goodput > IMPROVEMENT * goodput(self._model, grad, m0, 1, self.batch):
            self.batch = best.batch.m
            if self._adam:
                self._optimizer.state.clear()

    def measure(self, samples: int) -> None:
        """The gradient is computed and not clipped yet."""
        now = torch.cat([part.flatten() for part in self._gradients()])
        before, self._before = self._before, (samples, now)
        if before is None or before[0] != samples:
            return
        old, scale = before[1], samples / self._limits.init_batch
        keep = SMOOTHING ** (2 * scale)
        sqr, var = torch.dot(old, now).item(), scale * torch.dot(old - now, old - now).item() / 2
        self._weight = keep * self._weight + 1 - keep
        self._sqr = keep * self._sqr + (1 - keep) * sqr
        self._var = keep * self._var + (1 - keep) * var

    def step(self) -> None:
        """Replaces optimizer.step()."""
        scale = max(self._before[0] / self._limits.init_batch, 1.0)
        worth = gain(self._grad(), scale) if self._weight else 1.0
        factor = math.sqrt(worth) if self._adam else worth
        rates = [group["lr"] for group in self._optimizer.param_groups]
        for group in self._optimizer.param_groups:
            group["lr"] *= factor
        self._optimizer.step()
        for group, rate in zip(self._optimizer.param_groups, rates):
            group["lr"] = rate
        self.progress += worth

    def _grad(self) -> Grad:
        return Grad(max(self._sqr / self._weight, 0.0), max(self._var / self._weight, 1e-6))

    def _gradients(self) -> Iterator[Tensor]:
        """Of all parameters, divided by the preconditioner."""
        for group in self._optimizer.param_groups:
            for parameter in group["params"]:
                state = self._optimizer.state.get(parameter, {})
                gradient = parameter.grad.double()
                if self._adam and "exp_avg_sq" in state:
                    unbiased = 1 - group["betas"][1] ** float(state["step"])
                    gradient /= (state["exp_avg_sq"].double() / unbiased).sqrt() + group["eps"]
                yield gradient
