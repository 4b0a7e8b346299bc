# SPDX-License-Identifier: Apache-2.0
"""Gradients of one optimizer: kept aside between micro-steps, and measured.

All of it happens while a backward runs:

    a parameter's hook     sees its gradient first.  In all but the last micro-step it lets it pass;
                           in the last it adds what was kept, so that the gradient is the mean over
                           the samples of the update.  One replica measures here: every
                           micro-gradient, and their mean.
    hook of a DDP bucket   sees a replica's gradient before it is summed: measured if there are
                           several replicas
    computed               the backward is computed: gradients are moved aside, or, in the last
                           micro-step, what was measured sets off to the other replicas
    reduced                DDP has finished: the mean over the replicas is measured

So all is measured before the program can clip anything.  Norms are squared, one per parameter
group; groups that the program adds later share the last one.  Nothing here changes a parameter.
"""
from __future__ import annotations

import math
import sys
import time
from typing import Callable, NamedTuple, Optional

import torch
from torch import Tensor
from torch.nn import Parameter

from .collectives import Collectives, Sum
from .norms import Norms, Preconditioner, difference

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
    """The gradients of an optimizer's trainable parameters, in one replica of several."""

    def __init__(self, optimizer: torch.optim.Optimizer, collectives: Collectives, *,
                 observe: bool, loss_scale: Callable[[], float], stopping: Callable[[], bool],
                 on_sync: Callable[[float], None]) -> None:
        self.optimizer = optimizer
        self.collectives = collectives
        self.observe = observe
        self.loss_scale = loss_scale
        self.stopping = stopping
        self.on_sync = on_sync
        self.groups = len(optimizer.param_groups) + 1
        self.anybody_stops = False
        self._alone = collectives.replicas == 1
        self._precondition = Preconditioner(optimizer)
        self._hooks: dict[Parameter, object] = {}
        self._group_of: dict[Parameter, int] = {}
        self._in_ddp: set[Parameter] = set()
        self._late: list[Parameter] = []            # those that DDP does not know
        self._kept: dict[Parameter, Tensor] = {}    # sums of earlier micro-steps
        self._previous: dict[Parameter, Tensor] = {}  # gradients of the update before, if alone
        self._previous_scale = 1.0
        self._micro_step: Optional[MicroStep] = None
        self.begin_update(False, False)

    # ---- Which parameters ------------------------------------------------------------------

    def attach(self, ddp: torch.nn.parallel.DistributedDataParallel) -> None:
        """Measure what a DDP module sums, and know what it sums."""
        ignored = set(getattr(ddp, "parameters_to_ignore", ()))
        self._in_ddp = {parameter for name, parameter in ddp.module.named_parameters()
                        if parameter.requires_grad and name not in ignored}
        ddp.register_comm_hook(None, self._bucket)
        self._late = []
        self._adopt(self._hooks)

    def detach(self) -> None:
        """Take all hooks of parameters back; that of a DDP module stays, and only sums."""
        for handle in self._hooks.values():
            handle.remove()  # type: ignore[attr-defined]
        self._hooks.clear()
        self._previous.clear()

    def _watch(self) -> None:
        """Hook trainable parameters that are new; cheap if there is none."""
        new = []
        for index, group in enumerate(self.optimizer.param_groups):
            for parameter in group["params"]:
                if parameter.requires_grad and parameter not in self._hooks:
                    self._group_of[parameter] = min(index, self.groups - 1)
                    self._hooks[parameter] = parameter.register_hook(self._hook(parameter))
                    new.append(parameter)
        if self._in_ddp:
            self._adopt(new)

    def _adopt(self, parameters) -> None:
        """Do for parameters that DDP does not know what it would: begin equal, and be summed."""
        for parameter in parameters:
            if parameter not in self._in_ddp:
                self._late.append(parameter)
                self.collectives.give(parameter.data)

    # ---- One update ------------------------------------------------------------------------

    def begin_update(self, measure: bool, compare: bool) -> None:
        """measure: its parts are equal, so that they tell the noise.  compare: with the gradient
        of the update before, if it was kept."""
        self._watch()
        self._precondition.renew()
        self._measure = measure
        self._compare = compare and bool(self._previous)
        self._micro = Norms(self.groups)
        self._mean = Norms(self.groups)
        self._dots = Norms(self.groups)
        self._parts = 1                 # of an observed program: backwards so far
        self._measured = False          # there was a backward
        self._torn = False              # ... or several in a micro-step
        self._sent: Optional[Sum] = None
        self._buckets: list[tuple[int, Tensor, Optional[Parameter]]] = []
        self._restored: set[Parameter] = set()
        self.begin_micro(None)

    def begin_micro(self, micro_step: Optional[MicroStep]) -> None:
        """None: no update is under way, and gradients are nobody's business."""
        self._micro_step = micro_step
        self._fired: set = set()        # parameters, or buckets, that have had their gradient
        self._queued = False
        self._launched = False          # DDP has all buckets

    def end(self) -> None:
        """The update is over, or given up."""
        self.begin_micro(None)
        self._kept.clear()
        self._buckets = []

    def take(self) -> Measured:
        """The statistics of the update.  All replicas together."""
        scale = self.loss_scale() ** 2
        if self._alone:
            if self._measured:
                self._restore_rest()  # the backward may have had no end that could be noticed
            sums = self._micro.values()
        else:
            sums, stops, _rest, _used = self._sums()
            self.anybody_stops = stops > 0
        mean, dots = self._mean.values(), self._dots.values()
        parts = self._parts if self.observe or not self._alone else self._micro_step.parts
        single = self._alone and parts == 1
        finite = all(map(math.isfinite, [*sums, *mean, *dots]))
        complete = self._measure and self._measured and not self._torn and finite
        if not single or self._measure and not complete:
            self._previous.clear()  # or it was overwritten by a part of something
        if single:
            if not self._compare:
                return Measured(None, None, 1, True, complete, finite)
            return Measured(_over(dots, scale), _over(mean, scale), 1, True, complete, finite)
        # An observed program's backwards add up to its gradient; others are meant to be means.
        share = parts if self.observe else 1 / parts
        micro = [value * share / self.collectives.replicas for value in sums]
        complete &= all(b <= a * ROUNDING for a, b in zip(micro, mean))
        mean = [min(each) for each in zip(micro, mean)]
        return Measured(_over(micro, scale), _over(mean, scale), parts, False, complete, finite)

    # ---- A parameter's gradient ------------------------------------------------------------

    def _hook(self, parameter: Parameter) -> Callable[[Tensor], Optional[Tensor]]:
        def arrived(gradient: Tensor) -> Optional[Tensor]:
            micro_step = self._micro_step
            if micro_step is None:
                return None
            if not self._queued:
                self._queued = True
                self._begin_backward()
            if self.observe:
                return self._observed(parameter, gradient)
            if self._alone:
                return self._arrived_alone(parameter, gradient, micro_step)
            total = self._total(parameter, gradient, micro_step)
            if micro_step.last and self._measure and parameter not in self._in_ddp:
                self._add(self._micro, parameter, gradient if total is None else total)
            return total
        return arrived

    def _begin_backward(self) -> None:
        _at_the_end(self._computed)
        if not self._alone or self._micro_step.parts > 1:
            return
        scale = self.loss_scale()
        if scale != self._previous_scale:
            for previous in self._previous.values():
                previous.mul_(scale / self._previous_scale)
            self._previous_scale = scale

    def _total(self, parameter: Parameter, gradient: Tensor,
               micro_step: MicroStep) -> Optional[Tensor]:
        """What is to be added to .grad; None: the gradient as it is."""
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

    def _arrived_alone(self, parameter: Parameter, gradient: Tensor,
                       micro_step: MicroStep) -> Optional[Tensor]:
        if parameter in self._fired or parameter in self._restored:
            self._torn = True
        self._fired.add(parameter)
        if self._measure and micro_step.parts > 1:
            self._add(self._micro, parameter, gradient)
        total = self._total(parameter, gradient, micro_step)
        if micro_step.last:
            mean = gradient if total is None else total
            if micro_step.parts == 1 and self._measure:
                self._add_difference(parameter, mean)
            else:
                self._add(self._mean, parameter, mean)
        return total

    def _observed(self, parameter: Parameter, gradient: Tensor) -> None:
        if parameter in self._fired:
            self._fired.clear()  # another backward has begun
            self._parts += 1
        self._fired.add(parameter)
        self._add(self._micro, parameter, gradient)
        if self._alone and self._parts == 1:
            self._add_difference(parameter, gradient)

    def _add(self, norms: Norms, parameter: Parameter, gradient: Tensor) -> None:
        norms.add(self._group_of[parameter], gradient, self._precondition(parameter))

    def _add_difference(self, parameter: Parameter, gradient: Tensor) -> None:
        """Against the gradient of the update before; then this one is kept."""
        before = self._previous.get(parameter)
        if not self._compare:
            self._add(self._mean, parameter, gradient)  # to know whether it is finite
        elif before is not None:
            difference(self._dots, self._mean, self._group_of[parameter], before, gradient,
                       self._precondition(parameter))
        if before is None or before.is_sparse or gradient.is_sparse:
            self._previous[parameter] = gradient.detach().clone()
        else:
            before.copy_(gradient)

    # ---- A bucket of DDP's -----------------------------------------------------------------

    def _bucket(self, _state, bucket):  # torch reads annotations, but not as text
        if self._micro_step is not None:
            if bucket.index() in self._fired:
                self._torn = True
            self._fired.add(bucket.index())
            self._launched |= bucket.is_last()
            pieces = self._pieces(bucket)
            if self._measure:
                self._add_pieces(self._micro, pieces)
            if self.collectives.rank == 0:
                self._buckets += pieces
        return self.collectives.mean_later(bucket.buffer())

    def _pieces(self, bucket) -> list[tuple[int, Tensor, Optional[Parameter]]]:
        """What to measure of it: all at once if all of it is alike."""
        parameters = bucket.parameters()
        groups = [self._group_of.get(parameter) for parameter in parameters]
        first = groups[0]
        alike = first is not None and groups.count(first) == len(groups)
        if alike and not self._precondition.active:
            return [(first, bucket.buffer(), None)]
        return [(group, gradient, parameter) for group, gradient, parameter
                in zip(groups, bucket.gradients(), parameters) if group is not None]

    def _add_pieces(self, norms: Norms,
                    pieces: list[tuple[int, Tensor, Optional[Parameter]]]) -> None:
        for group, gradient, parameter in pieces:
            if parameter is None:
                norms.add(group, gradient)
            else:
                self._add(norms, parameter, gradient)

    # ---- The end of a backward -------------------------------------------------------------

    def _computed(self) -> None:
        """With torch.utils.checkpoint this may be the end of a backward within another."""
        self._queued = False
        micro_step = self._micro_step
        if micro_step is None:
            return
        if not micro_step.last:
            self._move_aside()
        elif self.observe:
            _at_the_end(self._measure_observed)  # when the program's DDP, if any, has finished
        elif self._alone:
            self._measured = True
            if self._kept and not _within_another():
                self._restore_rest()
        else:
            self._computed_s = time.monotonic()
            if self._launched:
                self._send()
            _at_the_end(self._reduced)  # DDP has queued what it has to do, so this comes after it

    def _move_aside(self) -> None:
        for parameter in self._hooks:
            gradient = parameter.grad
            if gradient is None:
                continue
            kept = self._kept.get(parameter)
            self._kept[parameter] = gradient.detach() if kept is None else kept.add_(gradient)
            parameter.grad = None

    def _rest(self, parameter: Parameter) -> Optional[Tensor]:
        """What was kept of a parameter that had no gradient in the last micro-step."""
        kept = self._kept.pop(parameter, None)
        if kept is not None and not self._micro_step.uneven:
            kept.mul_(self._micro_step.weight)
        return kept

    def _restore_rest(self) -> None:
        for parameter in list(self._kept):
            kept = self._rest(parameter)
            self._restored.add(parameter)
            self._add(self._mean, parameter, kept)
            _add_grad(parameter, kept)

    def _measure_observed(self) -> None:
        if self._micro_step is None:
            return
        self._measured = True
        if self._parts > 1 or not self._alone:
            self._mean = Norms(self.groups)
            self._measure_grads(self._hooks)

    def _measure_grads(self, parameters) -> None:
        if self.collectives.rank == 0:
            for parameter in parameters:
                if parameter.grad is not None:
                    self._add(self._mean, parameter, parameter.grad)

    def _reduced(self) -> None:
        if self._micro_step is None or not self._launched:
            return  # of a backward within another: the end is to come
        self._launched = False
        self._measured = True
        _sums, _stops, rest, used = self._sums()
        if rest:
            self._torn = True
            for parameter in self._hooks:
                self._average(parameter, self._rest(parameter))  # who has what, nobody knows
        for parameter, users in zip(self._late, used):
            if users:
                gradient, parameter.grad = parameter.grad, None
                self._average(parameter, gradient)
        self.on_sync(time.monotonic() - self._computed_s)
        self._add_pieces(self._mean, self._buckets)
        self._buckets = []
        self._measure_grads(self._late)

    def _average(self, parameter: Parameter, gradient: Optional[Tensor]) -> None:
        """Add the mean over the replicas, of which some may have none."""
        if gradient is None:
            gradient = torch.zeros_like(parameter)
        self.collectives.mean(gradient)
        if parameter.grad is not None or gradient.any():
            _add_grad(parameter, gradient)

    # ---- Sums over the replicas ------------------------------------------------------------

    def _send(self) -> None:
        """What this replica has measured; whether it was asked to stop; how much it has kept that
        DDP has not summed; and which of the parameters that DDP does not know it has used."""
        used = [float(parameter.grad is not None) for parameter in self._late]
        words = [float(self.stopping()), float(len(self._kept))]
        self._sent = self.collectives.sum_later(self._micro.values() + words + used)

    def _sums(self) -> tuple[list[float], float, float, list[float]]:
        if self._sent is None:
            self._send()
        values = self._sent.values()
        groups = self.groups
        return values[:groups], values[groups], values[groups + 1], values[groups + 2:]


def _at_the_end(callback: Callable[[], None]) -> None:
    """Of the backward that is running, after what was queued before."""
    torch.autograd.Variable._execution_engine.queue_callback(callback)


def _within_another() -> bool:
    """Whether this is the end of a backward that was begun by a step of another one."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code is _STEP:
            return True
        frame = frame.f_back
    return False


_STEP = torch.autograd.function.BackwardCFunction.apply.__code__


def _add_grad(parameter: Parameter, gradient: Tensor) -> None:
    parameter.grad = gradient if parameter.grad is None else parameter.grad + gradient


def _over(values: list[float], scale: float) -> list[float]:
    return values if scale == 1.0 else [value / scale for value in values]
