# SPDX-License-Identifier: Apache-2.0
"""Gradients with one replica.  With s+1 > 1 micro-steps the micro-gradients are compared with their
mean; with one, the gradient is compared with that of the update before, from time to time.  Both
are measured in the hooks of the parameters.  In all other updates it is enough to know that the
gradient is finite."""
from __future__ import annotations

from typing import Callable, Optional

import torch
from torch import Tensor
from torch.nn import Parameter

from .gradients import Gradients, Measured, MicroStep, add_grad, is_finite, is_nested_backward
from .norms import Finite, Norms, Scaling, difference, transfer

COMPARE_EVERY = 8  # updates between two comparisons, which only inform the user


class Differences:
    """Compares gradients of successive updates: in one of `every` updates the gradient is kept, in
    the next one it is compared with."""

    def __init__(self, groups: int, every: int = 1) -> None:
        self._groups = groups
        self._every = every
        self._update = -1   # counted from 0, without those that are not measured
        self._previous: dict[Parameter, Tensor] = {}
        self._scale = 1.0
        self.begin(False, False)

    def begin(self, measure: bool, compare: bool) -> None:
        """compare: the agent has use for a comparison with the update before."""
        self._update += measure
        self._turn = self._update % self._every
        if self._every > 1 and self._turn != 1:
            self.forget()
        self._compare = measure and compare and bool(self._previous)
        self._keep = measure and self._turn == 0 and (
            compare or self._every == 1 or self._update == 0)
        self.norms = self._dots, self._squares = Norms(self._groups), Norms(self._groups)

    def rescale(self, scale: float) -> None:
        """The loss scale has changed: rescale the kept gradients.  They may be shared, so they are
        copied, not modified."""
        if scale != self._scale:
            for parameter, previous in self._previous.items():
                self._previous[parameter] = previous * (scale / self._scale)
            self._scale = scale

    def add(self, parameter: Parameter, group: int, gradient: Tensor,
            scaling: Optional[Scaling]) -> None:
        before = self._previous.get(parameter)
        if not self._compare:
            self._squares.add(group, gradient, scaling)  # only to see whether it is finite
        elif before is not None:
            difference(self._dots, self._squares, group, before, gradient, scaling)
        # A reference, no copy.  While others refer to a gradient, torch does not modify it in place
        # but makes a copy for .grad, so it is held only if it is used.
        if not self._keep:
            self._previous.pop(parameter, None)
            return
        held = gradient.detach().clone() if gradient.requires_grad else gradient
        self._previous[parameter] = held

    @property
    def wanted(self) -> bool:
        """Whether the gradients of this update are compared or kept."""
        return self._compare or self._keep

    @property
    def reported(self) -> bool:
        """Whether the agent is told of this update, also if there is nothing to compare with: it
        then knows with which batch the next comparison begins."""
        return self.wanted or self._turn == 0

    def forget(self) -> None:
        """Drop the kept gradients: they are not those of a whole update."""
        self._previous.clear()

    def measured(self, complete: bool) -> Measured:
        dots, squares = self._dots.values(), self._squares.values()
        finite = is_finite(dots, squares)
        complete = complete and finite
        if not self._compare:
            return Measured(None, None, 1, True, complete, finite)
        scale = self._scale ** 2
        return Measured([value / scale for value in dots], [value / scale for value in squares],
                        1, True, complete, finite)


class Single(Gradients):
    """The gradients of a program with one replica."""

    def __init__(self, optimizer: torch.optim.Optimizer, loss_scale: Callable[[], float]) -> None:
        self._differences = Differences(len(optimizer.param_groups) + 1, COMPARE_EVERY)
        self._is_finite = Finite()
        super().__init__(optimizer, loss_scale)

    def begin_update(self, measure: bool, compare: bool) -> None:
        super().begin_update(measure, compare)
        self._differences.begin(measure, compare)
        self._restored: set[Parameter] = set()
        self._finite = True

    def begin_micro(self, micro_step: Optional[MicroStep]) -> None:
        super().begin_micro(micro_step)
        self._idle = micro_step is not None and micro_step.parts == 1 \
            and micro_step.weight == 1.0 and not micro_step.uneven \
            and not self._differences.wanted

    def _begun(self) -> None:
        if self._micro_step.parts == 1 and not self._idle:
            self._differences.rescale(self._loss_scale())

    def _arrived(self, parameter: Parameter, gradient: Tensor,
                 micro_step: MicroStep) -> Optional[Tensor]:
        if parameter in self._fired or parameter in self._restored:
            self._mixed = True
        self._fired.add(parameter)
        if self._measure and micro_step.parts > 1:
            self._add(self._micro, parameter, gradient)
        total = self._total(parameter, gradient, micro_step)
        if micro_step.last:
            mean = gradient if total is None else total
            if micro_step.parts == 1 and self._measure:
                self._differences.add(parameter, self._group_of[parameter], mean,
                                      self._precondition(parameter))
            else:
                self._add_mean(parameter, mean)
        return total

    def _finish(self) -> None:
        self._done = True
        if self._idle:
            self._finite = self._is_finite(
                each.grad for each in self._hooks if each.grad is not None)
            return
        if self._kept and not is_nested_backward():
            self._restore_rest()

    def _restore_rest(self) -> None:
        for parameter in list(self._kept):
            kept = self._rest(parameter)
            self._restored.add(parameter)
            self._add_mean(parameter, kept)
            add_grad(parameter, kept)

    def take(self) -> Measured:
        if self._idle:
            reported = self._measure and self._done and self._differences.reported
            return Measured(None, None, 1, True, reported and self._finite, self._finite)
        if self._done:
            self._restore_rest()  # the end of a nested backward pass is not reported
        transfer(self._micro, self._mean, self._plain, *self._differences.norms)
        parts = self._micro_step.parts
        if parts > 1 or not self._measure:
            if parts > 1:
                self._differences.forget()
            return self._compared([value / parts for value in self._micro.values()], parts)
        measured = self._differences.measured(self._done and not self._mixed)
        if not measured.complete:
            self._differences.forget()
        return measured
