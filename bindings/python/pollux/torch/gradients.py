# SPDX-License-Identifier: Apache-2.0
"""Gradients of one optimizer: kept aside between micro-steps, and measured.

Hooks see every gradient on its way, and two callbacks the end of each backward:

    hook of a parameter    what was kept is added in the last micro-step; micro-gradients are
                           measured where there is one replica
    hook of a DDP bucket   a replica's gradient is measured before it is summed (K > 1)
    computed               the backward is computed: in all but the last micro-step the gradients
                           are moved aside; sums for the noise set off to the other replicas
    reduced                DDP has finished: the mean gradient is measured, before it is clipped

Norms are squared, one per parameter group, and those of a group that was added late are in the
last one.  Nothing here changes a parameter.
"""
from __future__ import annotations

import time
from typing import Callable, Iterator, Optional

import torch
from torch import Tensor
from torch.nn import Parameter

from .norms import Norms, Preconditioner, difference
from .collectives import Collectives


class MicroStep:
    """What the gradients of one iteration of the user's loop are for."""

    __slots__ = ("last", "weight", "uneven", "parts")

    def __init__(self, last: bool, weight: float, uneven: bool, parts: int) -> None:
        self.last = last        # the one that updates
        self.weight = weight    # of this replica's gradient in the mean over the update
        self.uneven = uneven    # whether micro-steps of the update have different weights
        self.parts = parts      # micro-steps of the update


class Measured:
    """Statistics of one update.  `micro` is None where there is nothing to compare with."""

    __slots__ = ("micro", "mean", "parts", "single", "complete")

    def __init__(self, micro, mean, parts: int, single: bool, complete: bool) -> None:
        self.micro = micro          # mean squared norms of micro-gradients; dots if single
        self.mean = mean            # squared norms of the mean gradient; of differences if single
        self.parts = parts
        self.single = single
        self.complete = complete    # False: no backward, or several in one micro-step


class Gradients:
    """The gradients of an optimizer's trainable parameters, in one replica of several."""

    def __init__(self, optimizer: torch.optim.Optimizer, collectives: Collectives, *,
                 measures: bool, observe: bool, loss_scale: Callable[[], float],
                 stopping: Callable[[], bool], on_sync: Callable[[float], None]) -> None:
        self.optimizer = optimizer
        self.collectives = collectives
        self.measures = measures    # whether this replica hears of the mean: replica 0
        self.observe = observe
        self.loss_scale = loss_scale
        self.stopping = stopping
        self.on_sync = on_sync
        self.groups = len(optimizer.param_groups) + 1
        self.anybody_stops = False
        self.in_ddp: set[Parameter] = set()
        self.precondition = Preconditioner(optimizer)
        self.hooks: dict[Parameter, object] = {}
        self.group_of: dict[Parameter, int] = {}
        self.kept: dict[Parameter, Tensor] = {}
        self.previous: dict[Parameter, Tensor] = {}
        self.previous_scale = 0.0
        self.micro_step: Optional[MicroStep] = None
        self._compare = False
        self._measure = True
        self._clear()
        self.watch()

    # ---- Which parameters ------------------------------------------------------------------

    def watch(self) -> None:
        """Hook trainable parameters that are new; cheap if there is none."""
        late = self.groups - 1
        for index, group in enumerate(self.optimizer.param_groups):
            for parameter in group["params"]:
                if parameter.requires_grad and parameter not in self.hooks:
                    self.group_of[parameter] = min(index, late)
                    self.hooks[parameter] = parameter.register_hook(self._hook(parameter))

    def attach(self, ddp: torch.nn.parallel.DistributedDataParallel) -> None:
        """Measure what a DDP module sums, and know what it sums."""
        ignored = set(getattr(ddp, "parameters_to_ignore", ()))
        self.in_ddp = {parameter for name, parameter in ddp.module.named_parameters()
                       if parameter.requires_grad and name not in ignored}
        ddp.register_comm_hook(None, self._bucket_hook)

    def detach(self) -> None:
        """Take all hooks of parameters back."""
        for handle in self.hooks.values():
            handle.remove()
        self.hooks.clear()

    # ---- One update ------------------------------------------------------------------------

    def begin_update(self, measure: bool, compare: bool) -> None:
        """measure: its parts are equal, so that they tell the noise.  compare: with the gradient
        kept from the update before, which is there and alike."""
        self.watch()
        self._clear()
        self._measure = measure
        self._compare = compare and bool(self.previous)

    def begin_micro(self, micro_step: MicroStep) -> None:
        self.micro_step = micro_step
        self._fired.clear()

    def end(self) -> None:
        """No update is under way: gradients are nobody's business."""
        self.micro_step = None
        self.kept.clear()

    def take(self) -> Measured:
        """The statistics of the update, summed over the replicas."""
        scale = self.loss_scale() ** 2
        single, parts = self._single(), self._parts()
        mean: Optional[list[float]] = self._mean.values(scale)
        micro: Optional[list[float]]
        if single:
            micro = self._dots.values(scale)
            if not self._compared:
                micro = mean = None
        else:
            self.previous.clear()
            sums = self._micro.values(scale) if self.collectives.replicas == 1 else self._sums(scale)
            # An observed program's backwards add up to its gradient: each is a part of it.
            share = parts if self.observe else 1 / parts
            micro = [value * share / self.collectives.replicas for value in sums]
        complete = self._measure and self._backwards > 0 and not self._several
        return Measured(micro, mean, parts, single, complete)

    def _clear(self) -> None:
        self._micro = Norms(self.groups)
        self._mean = Norms(self.groups)
        self._dots = Norms(self.groups)
        self._backwards = 0
        self._several = False
        self._compared = False
        self._queued = False
        self._fired: set = set()
        self._sent = None
        self.anybody_stops = False

    def _parts(self) -> int:
        """Micro-gradients of a replica that are told apart."""
        if self.observe:
            return max(self._backwards, 1)
        return self.micro_step.parts if self.collectives.replicas == 1 and self.micro_step else 1

    def _single(self) -> bool:
        return self.collectives.replicas == 1 and self._parts() == 1

    # ---- Hooks -----------------------------------------------------------------------------

    def _hook(self, parameter: Parameter) -> Callable[[Tensor], Optional[Tensor]]:
        def arrived(gradient: Tensor) -> Optional[Tensor]:
            micro_step = self.micro_step
            if micro_step is None:
                return None
            if not self._queued:
                self._queued = True
                torch.autograd.Variable._execution_engine.queue_callback(self._computed)
            return self._arrived(parameter, gradient, micro_step)
        return arrived

    def _arrived(self, parameter: Parameter, gradient: Tensor,
                 micro_step: MicroStep) -> Optional[Tensor]:
        if self.observe:
            self._add_micro(parameter, gradient)
            return None
        if self.collectives.replicas == 1 and micro_step.parts > 1:
            if parameter in self._fired:
                self._several = True
            self._fired.add(parameter)
            if self._measure:
                self._add_micro(parameter, gradient)
        if not micro_step.last:
            return gradient * micro_step.weight if micro_step.uneven else None
        kept = self.kept.pop(parameter, None)
        if micro_step.uneven:
            gradient = gradient * micro_step.weight
            return gradient if kept is None else kept.add_(gradient)
        if kept is not None:
            return kept.add_(gradient).mul_(micro_step.weight)
        return gradient * micro_step.weight if micro_step.weight != 1.0 else None

    def _bucket_hook(self, _state, bucket):  # torch reads annotations, but not as text
        buffer = bucket.buffer()
        if self.micro_step is not None and self._measure:
            if bucket.index() in self._fired:
                self._several = True
            self._fired.add(bucket.index())
            self._add_bucket(bucket, buffer)
        return self.collectives.mean_later(buffer)

    def _add_micro(self, parameter: Parameter, gradient: Tensor) -> None:
        self._micro.add(self.group_of[parameter], gradient, self.precondition(parameter))

    def _add_bucket(self, bucket, buffer: Tensor) -> None:
        parameters = bucket.parameters()
        groups = {self.group_of.get(parameter) for parameter in parameters}
        if len(groups) == 1 and None not in groups and not self.precondition.active:
            self._micro.add(groups.pop(), buffer, None)  # all at once
            return
        for parameter, gradient in zip(parameters, bucket.gradients()):
            if parameter in self.group_of:
                self._add_micro(parameter, gradient)

    # ---- The end of a backward -------------------------------------------------------------

    def _computed(self) -> None:
        self._queued = False
        micro_step = self.micro_step
        if micro_step is None:
            return
        if self.observe or micro_step.last:
            self._backwards += 1
            self._finish_backward()
        else:
            self._move_aside()

    def _move_aside(self) -> None:
        for parameter, gradient in self._with_gradient():
            kept = self.kept.get(parameter)
            if kept is None:
                self.kept[parameter] = gradient
            else:
                kept.add_(gradient)
            parameter.grad = None

    def _finish_backward(self) -> None:
        if self.collectives.replicas == 1:
            self._restore_rest()
            self._measure_mean()
            return
        if not self.observe:
            for parameter in self._late():
                if parameter.grad is not None and self._measure:
                    self._add_micro(parameter, parameter.grad)
        if not self.observe:
            self._send_sums()
        computed = time.monotonic()

        def reduced() -> None:
            self._reduced(computed)
        # DDP's own callback was queued by now, so this one comes after it.
        torch.autograd.Variable._execution_engine.queue_callback(reduced)

    def _reduced(self, computed: float) -> None:
        if not self.observe:
            if self.kept:
                raise RuntimeError(
                    "a parameter had a gradient in an earlier micro-step of the update, but none in the last: "
                    "with several replicas that cannot be summed; say accumulation=False to px.prepare()")
            for parameter in self._late():
                if parameter.grad is not None:
                    self.collectives.mean(parameter.grad)
        if self._sent is not None:
            self._sent.wait()
        self.on_sync(time.monotonic() - computed)
        self._measure_mean()

    def _restore_rest(self) -> None:
        """Parameters that had a gradient before, but none in this backward."""
        micro_step = self.micro_step
        for parameter, kept in self.kept.items():
            if not micro_step.uneven:
                kept.mul_(micro_step.weight)
            parameter.grad = kept if parameter.grad is None else parameter.grad + kept
        self.kept.clear()

    def _measure_mean(self) -> None:
        self._mean = Norms(self.groups)
        if not self._measure:
            return
        if self._single():
            self._measure_difference()
        elif self.measures:
            for parameter, gradient in self._with_gradient():
                self._mean.add(self.group_of[parameter], gradient, self.precondition(parameter))

    def _measure_difference(self) -> None:
        """Against the gradient of the update before; then this one is kept."""
        self._dots = Norms(self.groups)
        scale = self.loss_scale()
        compare = self._compare and scale == self.previous_scale
        for parameter, gradient in self._with_gradient():
            before = self.previous.get(parameter)
            if compare and before is not None:
                difference(self._dots, self._mean, self.group_of[parameter], before, gradient,
                           self.precondition(parameter))
            if before is None or gradient.is_sparse:
                self.previous[parameter] = gradient.detach().clone()
            else:
                before.copy_(gradient)
        self._compared = compare
        self.previous_scale = scale

    def _with_gradient(self) -> Iterator[tuple[Parameter, Tensor]]:
        for parameter in self.hooks:
            if parameter.grad is not None:
                yield parameter, parameter.grad

    def _late(self) -> Iterator[Parameter]:
        """Trainable parameters that DDP does not know, in the order of the optimizer."""
        return (parameter for parameter in self.hooks if parameter not in self.in_ddp)

    # ---- Sums over the replicas ------------------------------------------------------------

    def _send_sums(self) -> None:
        values = self._micro.values(1.0) + [float(self.stopping())]
        self._sent = self.collectives.sum_later(values)

    def _sums(self, scale: float) -> list[float]:
        """Of the squared norms, and whether anybody was asked to stop."""
        if self._sent is None:
            self._send_sums()
        *sums, stops = self._sent.values()
        self.anybody_stops = stops > 0
        return [value / scale for value in sums]
