# SPDX-License-Identifier: Apache-2.0
"""Gradients of one optimizer: kept aside between micro-steps, and measured.

All of it happens while a backward runs, so before the program can clip anything:

    arrived     a parameter's hook sees its gradient first.  In all but the last micro-step it lets
                it pass; in the last it adds what was kept, so that the gradient is the mean over
                the samples of the update
    computed    the backward is computed: gradients are moved aside or, in the last micro-step,
                finished

What is measured, and how the rest is finished, is different for one replica (single.py), for
several (ddp.py) and for a program that is only observed (observed.py).  Norms are squared, one
per parameter group; groups that the program adds later share the last one.  Nothing here changes a
parameter.
"""
from __future__ import annotations

import math
import sys
from typing import Callable, Iterable, NamedTuple, Optional

import torch
from torch import Tensor
from torch.nn import Parameter
from torch.utils.hooks import RemovableHandle

from .norms import Norms, Preconditioner

ROUNDING = 1.01  # by which a mean of rounded gradients may seem larger than all of them


class MicroStep(NamedTuple):
    """What the gradients of one iteration of the user's loop are for."""

    last: bool      # it is the one that updates
    weight: float   # of this replica's gradient in the mean over the update
    uneven: bool    # micro-steps of the update have different weights
    parts: int      # micro-steps of the update


class Measured(NamedTuple):
    """Statistics of one update, on replica 0.  micro and mean are None where there is nothing yet
    to compare with."""

    micro: Optional[list[float]]    # mean squared norms of the micro-gradients; dots if single
    mean: Optional[list[float]]     # squared norms of their mean; of differences if single
    parts: int                      # micro-gradients of a replica that were told apart
    single: bool                    # one in all: compared with that of the update before
    complete: bool                  # they tell the noise
    finite: bool


class Gradients:
    """The gradients of an optimizer's trainable parameters, in one replica."""

    anybody_stops = False   # whether a replica was asked to, as of take()

    def __init__(self, optimizer: torch.optim.Optimizer, loss_scale: Callable[[], float]) -> None:
        self.optimizer = optimizer
        self.groups = len(optimizer.param_groups) + 1
        self._loss_scale = loss_scale
        self._precondition = Preconditioner(optimizer)
        self._hooks: dict[Parameter, RemovableHandle] = {}
        self._group_of: dict[Parameter, int] = {}
        self._kept: dict[Parameter, Tensor] = {}    # sums of earlier micro-steps
        self._micro_step: Optional[MicroStep] = None
        self.begin_update(False, False)

    # ---- Which parameters ------------------------------------------------------------------

    def detach(self) -> None:
        """Take all hooks of parameters back."""
        for handle in self._hooks.values():
            handle.remove()
        self._hooks.clear()

    def _watch(self) -> list[Parameter]:
        """Hook trainable parameters that are new, and return them; cheap if there is none."""
        new = []
        for index, group in enumerate(self.optimizer.param_groups):
            for parameter in group["params"]:
                if not parameter.requires_grad:
                    continue
                if parameter not in self._hooks:
                    self._group_of[parameter] = min(index, self.groups - 1)
                    new.append(parameter)
                elif not self._is_last(parameter):
                    self._hooks[parameter].remove()
                else:
                    continue
                self._hooks[parameter] = parameter.register_hook(self._hook(parameter))
        return new

    def _is_last(self, parameter: Parameter) -> bool:
        """Whether the program has hooked it after us: its hook would change again what was kept."""
        hooks = parameter._backward_hooks  # type: ignore[attr-defined]
        return bool(hooks) and next(reversed(hooks)) == self._hooks[parameter].id

    def _hook(self, parameter: Parameter) -> Callable[[Tensor], Optional[Tensor]]:
        def arrived(gradient: Tensor) -> Optional[Tensor]:
            micro_step = self._micro_step
            if micro_step is None:
                return None
            if not self._queued:
                self._queued = True
                at_the_end(self._computed)
                self._begun()
            return self._arrived(parameter, gradient, micro_step)
        return arrived

    # ---- One update ------------------------------------------------------------------------

    def begin_update(self, measure: bool, compare: bool) -> None:
        """measure: its parts are equal, so that they tell the noise.  compare: with the gradient
        of the update before, if there is one in all and it was kept."""
        self._watch()
        self._precondition.renew()
        self._measure = measure
        self._micro = Norms(self.groups)
        self._mean = Norms(self.groups)
        self._done = False          # there was a backward
        self._torn = False          # ... or several in a micro-step, which cannot be told apart
        self.begin_micro(None)

    def begin_micro(self, micro_step: Optional[MicroStep]) -> None:
        """None: no update is under way, and gradients are nobody's business."""
        self._micro_step = micro_step
        self._fired: set = set()    # what has had its gradient
        self._queued = False

    def end(self) -> None:
        """The update is over, or given up."""
        self.begin_micro(None)
        self._kept.clear()

    def take(self) -> Measured:
        """The statistics of the update.  All replicas together."""
        raise NotImplementedError

    # ---- A backward ------------------------------------------------------------------------

    def _begun(self) -> None:
        """The first gradient is about to arrive."""

    def _arrived(self, parameter: Parameter, gradient: Tensor,
                 micro_step: MicroStep) -> Optional[Tensor]:
        """Returns what is to be added to .grad; None: the gradient as it is."""
        raise NotImplementedError

    def _finish(self) -> None:
        """The last micro-step's gradients are computed."""
        raise NotImplementedError

    def _computed(self) -> None:
        self._queued = False
        if self._micro_step is None:
            return
        if self._micro_step.last:
            self._finish()
        else:
            self._move_aside()

    def _move_aside(self) -> None:
        for parameter in self._hooks:
            gradient = parameter.grad
            if gradient is None:
                continue
            kept = self._kept.get(parameter)
            self._kept[parameter] = gradient.detach() if kept is None else kept.add_(gradient)
            parameter.grad = None

    def _total(self, parameter: Parameter, gradient: Tensor,
               micro_step: MicroStep) -> Optional[Tensor]:
        """With what was kept, and weighted; None: the gradient as it is."""
        last, weight, uneven, _parts = micro_step
        if uneven:
            gradient = gradient * weight
        kept = self._kept.pop(parameter, None) if last else None
        if kept is None:
            if uneven:
                return gradient
            return gradient * weight if last and weight != 1.0 else None
        kept.add_(gradient)
        return kept if uneven else kept.mul_(weight)

    def _rest(self, parameter: Parameter) -> Optional[Tensor]:
        """What was kept of a parameter that had no gradient in the last micro-step."""
        kept = self._kept.pop(parameter, None)
        if kept is not None and not self._micro_step.uneven:
            kept.mul_(self._micro_step.weight)
        return kept

    # ---- Measuring -------------------------------------------------------------------------

    def _add(self, norms: Norms, parameter: Parameter, gradient: Tensor) -> None:
        norms.add(self._group_of[parameter], gradient, self._precondition(parameter))

    def _add_grads(self, norms: Norms, parameters: Iterable[Parameter]) -> None:
        for parameter in parameters:
            if parameter.grad is not None:
                self._add(norms, parameter, parameter.grad)

    def _compared(self, micro: list[float], parts: int) -> Measured:
        """Micro-gradients with their mean, both still larger by the loss scale."""
        mean = self._mean.values()
        finite = is_finite(micro, mean)
        complete = self._measure and self._done and not self._torn and finite \
            and all(b <= a * ROUNDING for a, b in zip(micro, mean))
        scale = self._loss_scale() ** 2
        return Measured([a / scale for a in micro],
                        [min(a, b) / scale for a, b in zip(micro, mean)],
                        parts, False, complete, finite)


def is_finite(*lists: list[float]) -> bool:
    return all(math.isfinite(value) for values in lists for value in values)


def at_the_end(callback: Callable[[], None]) -> None:
    """Of the backward that is running, after what was queued before."""
    torch.autograd.Variable._execution_engine.queue_callback(callback)


def within_another() -> bool:
    """Whether this is the end of a backward that a step of another one has begun, as
    torch.utils.checkpoint does."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code is _STEP:
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


_STEP = getattr(torch.autograd.function.BackwardCFunction.apply, "__code__", None)


def add_grad(parameter: Parameter, gradient: Tensor) -> None:
    parameter.grad = gradient if parameter.grad is None else parameter.grad + gradient
