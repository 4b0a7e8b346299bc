# SPDX-License-Identifier: Apache-2.0
"""Gradients of a program under px.observe(), with its own DDP and its own accumulation.  Nothing is
changed.  Every backward pass of an update is one part in each replica: n = K x parts."""
from __future__ import annotations

from typing import Callable

import torch
from torch import Tensor
from torch.nn import Parameter

from .single import Differences
from .collectives import Collectives
from .gradients import Gradients, Measured, MicroStep, at_end_of_backward
from .norms import Norms, transfer


class Observed(Gradients):
    """The gradients of a program that is only observed."""

    def __init__(self, optimizer: torch.optim.Optimizer, loss_scale: Callable[[], float],
                 collectives: Collectives) -> None:
        self._collectives = collectives
        self._single = collectives.replicas == 1
        self._differences = Differences(len(optimizer.param_groups) + 1)
        super().__init__(optimizer, loss_scale)

    def begin_update(self, measure: bool, compare: bool) -> None:
        super().begin_update(measure, compare)
        self._differences.begin(measure, compare)
        self._parts = 1     # backward passes so far

    def _begun(self) -> None:
        self._differences.rescale(self._loss_scale())

    def _arrived(self, parameter: Parameter, gradient: Tensor, micro_step: MicroStep) -> None:
        if parameter in self._fired:
            self._fired.clear()  # another backward pass has begun
            self._parts += 1
        self._fired.add(parameter)
        self._add(self._micro, parameter, gradient)
        if self._single and self._parts == 1:
            self._differences.add(parameter, self._group_of[parameter], gradient,
                                  self._precondition(parameter))

    def _finish(self) -> None:
        at_end_of_backward(self._reduced)  # after the program's DDP has reduced

    def _reduced(self) -> None:
        if self._micro_step is None:
            return
        self._done = True
        if self._collectives.rank == 0 and (self._parts > 1 or not self._single):
            self._mean = Norms(self.groups)
            self._add_grads(self._mean, self._hooks)

    def take(self) -> Measured:
        """The program sums its backward passes, so their mean is the gradient / parts."""
        transfer(self._micro, self._mean, self._plain, *self._differences.norms)
        parts, sums = self._parts, self._collectives.sum(self._micro.values())
        if not self._single or parts > 1:
            self._differences.forget()
            share = parts / self._collectives.replicas
            return self._compared([value * share for value in sums], parts)
        measured = self._differences.measured(self._done)
        if not measured.complete:
            self._differences.forget()
        return measured
