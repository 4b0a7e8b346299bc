# SPDX-License-Identifier: Apache-2.0
"""Accumulate and measure the gradients of one optimizer.

All of it happens during the backward pass, before the program can clip gradients:

    arrived     the hook of a parameter receives its gradient.  In the last micro-step it adds the
                sum of the earlier ones, so that .grad is the mean over the samples of the update
    computed    all gradients of the backward pass are computed.  They are moved to self._kept, or,
                in the last micro-step, completed

Measuring and completing differ for one replica (single.py), several replicas (ddp.py) and
px.observe() (observed.py).  There is one squared norm per parameter group; groups that the program
adds later share the last one.  Nothing here changes a parameter.
"""
from __future__ import annotations

import math
import sys
from typing import Callable, Iterable, NamedTuple, Optional

import torch
from torch import Tensor
from torch.nn import Parameter
from torch.utils.hooks import RemovableHandle

from .norms import Norms, Preconditioner, transfer
from .timing import Times

ROUNDING = 1.01  # the computed norm of a mean may exceed the mean of norms by this factor


class MicroStep(NamedTuple):
    """The role of one iteration of the user's loop in its update."""

    last: bool      # the last one: the optimizer steps
    weight: float   # of this replica's gradient in the mean over the update
    uneven: bool    # micro-steps of the update have different weights
    parts: int      # micro-steps of the update


class Measured(NamedTuple):
    """Statistics of one update, on replica 0.  micro and mean are None if there is no earlier
    gradient to compare with."""

    micro: Optional[list[float]]    # mean squared norms of the micro-gradients; dots if single
    mean: Optional[list[float]]     # squared norms of their mean; of differences if single
    parts: int                      # micro-gradients per replica that were measured
    single: bool                    # one micro-gradient, compared with the last update's
    complete: bool                  # the noise can be estimated from them
    finite: bool
    energy: float = 0.0             # squared norm of the mean without preconditioner; 0: unknown


class Gradients:
    """The gradients of an optimizer's trainable parameters, in one replica."""

    any_replica_stops = False   # whether a replica was asked to stop; set by take()
    decision: Optional[list[float]] = None  # of replica 0 on this update, if it came with take()
    times = Times()             # of an accelerator; set by the session
    _idle = False               # gradients need neither a change nor a measurement

    def __init__(self, optimizer: torch.optim.Optimizer, loss_scale: Callable[[], float]) -> None:
        self.optimizer = optimizer
        self.groups = len(optimizer.param_groups) + 1
        self._read_loss_scale = loss_scale
        self._precondition = Preconditioner(optimizer)
        self._hooks: dict[Parameter, RemovableHandle] = {}
        self._group_of: dict[Parameter, int] = {}
        self._kept: dict[Parameter, Tensor] = {}    # sums of earlier micro-steps
        self._passes = Passes()
        self._micro_step: Optional[MicroStep] = None
        self.begin_update(False, False)

    # ---- Which parameters ------------------------------------------------------------------

    def detach(self) -> None:
        """Remove all hooks of parameters."""
        for handle in self._hooks.values():
            handle.remove()
        self._hooks.clear()

    def _watch(self) -> list[Parameter]:
        """Add hooks to new trainable parameters and return these."""
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
        """Whether our hook is the last one.  A later hook of the program would change the sum
        again."""
        hooks = parameter._backward_hooks  # type: ignore[attr-defined]
        return bool(hooks) and next(reversed(hooks)) == self._hooks[parameter].id

    def _hook(self, parameter: Parameter) -> Callable[[Tensor], Optional[Tensor]]:
        def arrived(gradient: Tensor) -> Optional[Tensor]:
            micro_step = self._micro_step
            if micro_step is None or (self._idle and self._queued) \
                    or not self._passes.accumulates(parameter):
                return None
            if not self._queued:
                self._queued = self.begun = True
                at_end_of_backward(self._computed)
                self._begun()
            return None if self._idle else self._arrived(parameter, gradient, micro_step)
        return arrived

    # ---- One update ------------------------------------------------------------------------

    def begin_update(self, measure: bool, compare: bool) -> None:
        """measure: the parts have equal sizes, so that the noise can be estimated.  compare: with
        the gradient of the update before, if there is a single micro-gradient."""
        self._watch()
        self._precondition.renew()
        self._measure = measure
        self._micro = Norms(self.groups)
        self._mean = Norms(self.groups)
        self._plain = Norms(self.groups)    # of the mean, without preconditioner
        self._scale: Optional[float] = None
        self._done = False          # a backward pass has ended
        self._mixed = False         # several backward passes in a micro-step: not measurable
        self.begin_micro(None)

    def begin_micro(self, micro_step: Optional[MicroStep]) -> None:
        """None: between updates; gradients are ignored."""
        self._micro_step = micro_step
        self._fired: set = set()    # parameters whose gradient has arrived
        self.begun = False          # a backward pass of this micro-step
        self._queued = False

    @property
    def finds_moments(self) -> bool:
        """Whether the optimizer has second moments by which gradients are measured."""
        return self._precondition.finds_any

    @property
    def computed(self) -> bool:
        """Whether a backward pass of the last micro-step has ended."""
        return self._done

    def end(self) -> None:
        """The update has ended or was given up."""
        self.begin_micro(None)
        self._kept.clear()

    def take(self) -> Measured:
        """The statistics of the update.  A collective operation."""
        raise NotImplementedError

    # ---- A backward ------------------------------------------------------------------------

    def _begun(self) -> None:
        """Called before the first gradient of a backward pass."""

    def _arrived(self, parameter: Parameter, gradient: Tensor,
                 micro_step: MicroStep) -> Optional[Tensor]:
        """Returns the tensor that replaces the gradient; None: no change."""
        raise NotImplementedError

    def _finish(self) -> None:
        """The gradients of the last micro-step are computed."""
        raise NotImplementedError

    def _computed(self) -> None:
        self._queued = False
        if self._micro_step is None:
            return
        if self._micro_step.last:
            self.times.computed()
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
        """The weighted sum with the earlier micro-steps; None: the gradient needs no change."""
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
        """The sum of a parameter that had no gradient in the last micro-step."""
        kept = self._kept.pop(parameter, None)
        if kept is not None and not self._micro_step.uneven:
            kept.mul_(self._micro_step.weight)
        return kept

    # ---- Measuring -------------------------------------------------------------------------

    def _loss_scale(self) -> float:
        """Read once per update: on a device it has to be waited for.  A scaler changes it between
        updates."""
        if self._scale is None:
            self._scale = self._read_loss_scale()
        return self._scale

    def _add(self, norms: Norms, parameter: Parameter, gradient: Tensor) -> None:
        norms.add(self._group_of[parameter], gradient, self._precondition(parameter))

    def _add_mean(self, parameter: Parameter, gradient: Tensor) -> None:
        self._add(self._mean, parameter, gradient)
        if self._precondition.active:
            self._plain.add(self._group_of[parameter], gradient)

    def _add_grads(self, norms: Norms, parameters: Iterable[Parameter]) -> None:
        for parameter in parameters:
            if parameter.grad is not None:
                self._add(norms, parameter, parameter.grad)

    def _compared(self, micro: list[float], parts: int) -> Measured:
        """Compare micro-gradients with their mean.  Both are still multiplied by the loss scale."""
        transfer(self._mean, self._plain)
        mean = self._mean.values()
        finite = is_finite(micro, mean)
        complete = self._measure and self._done and not self._mixed and finite \
            and all(b <= a * ROUNDING for a, b in zip(micro, mean))
        scale = self._loss_scale() ** 2
        return Measured([a / scale for a in micro],
                        [min(a, b) / scale for a, b in zip(micro, mean)],
                        parts, False, complete, finite, sum(self._plain.values()) / scale)


def is_finite(*lists: list[float]) -> bool:
    return all(math.isfinite(value) for values in lists for value in values)


def at_end_of_backward(callback: Callable[[], None]) -> None:
    """Call it at the end of the running backward pass, after the callbacks queued before."""
    torch.autograd.Variable._execution_engine.queue_callback(callback)


class Passes:
    """Tells backward passes that add to .grad from torch.autograd.grad(): from torch 2.0 on that
    calls hooks of parameters, too, and its results are not for the optimizer."""

    _current = getattr(torch._C, "_current_graph_task_id", None)
    _will_execute = getattr(torch._C, "_will_engine_execute_node", None)

    def __init__(self) -> None:
        self._tells = self._current is not None and self._will_execute is not None
        self._pass = -1             # the number of the pass that was looked at last
        self._accumulates = True

    def accumulates(self, parameter: Parameter) -> bool:
        """Whether the running pass, which has called a hook of this parameter, adds to .grad."""
        if self._tells:
            current = Passes._current()
            if current != self._pass:
                self._pass, self._accumulates = current, self._ask(parameter)
        return self._accumulates

    @staticmethod
    def _ask(parameter: Parameter) -> bool:
        with torch.enable_grad():
            node = parameter.view_as(parameter).grad_fn.next_functions[0][0]
        try:
            Passes._will_execute(node)
        except RuntimeError:  # "... currently running autograd.grad().  This is ... not supported"
            return False
        return True


def is_nested_backward() -> bool:
    """Whether this backward pass runs inside another one, as with torch.utils.checkpoint."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code is _STEP:
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


_STEP = getattr(torch.autograd.function.BackwardCFunction.apply, "__code__", None)


def add_grad(parameter: Parameter, gradient: Tensor) -> None:
    parameter.grad = gradient if parameter.grad is None else parameter.grad + gradient
