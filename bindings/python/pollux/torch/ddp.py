# SPDX-License-Identifier: Apache-2.0
"""Gradients with several replicas, averaged by DDP.

    bucket      the communication hook of DDP receives this replica's gradient over all its
                micro-steps before it is averaged: it is measured there, n = K
    finish      the backward pass is computed: the measured norms are sent to the other replicas,
                together with replica 0's decision by the updates before
    reduced     DDP has averaged its buckets.  Parameters that DDP does not know (added or unfrozen
                later), and those without a gradient in the last micro-step, are averaged here.
                Then replica 0 measures the mean
"""
from __future__ import annotations

import functools
import time
import weakref
from typing import Any, Callable, Iterable, NamedTuple, Optional

import torch
from torch import Tensor
from torch.nn import Parameter
from torch.nn.parallel import DistributedDataParallel

from .collectives import Collectives, Sum
from .gradients import Gradients, Measured, MicroStep, add_grad, at_end_of_backward, is_finite
from .norms import Norms, transfer
from .patches import Patches


ENERGY_EVERY = 8  # updates between two measurements of the gradient without preconditioner


class Piece(NamedTuple):
    """Part of a bucket: one parameter, or the whole bucket if all its parameters are in one
    group."""

    group: int
    gradient: Tensor
    parameter: Optional[Parameter]


class Sums(NamedTuple):
    """Sums over the replicas, for one update."""

    micro: list[float]  # squared norms
    stops: float        # number of replicas that were asked to stop
    rest: float         # parameters with a kept sum that DDP has not averaged
    decision: list[float]   # of replica 0
    used: list[float]   # per parameter unknown to DDP: replicas that have a gradient of it


class Ddp(Gradients):
    """The gradients of one of several replicas."""

    def __init__(self, optimizer: torch.optim.Optimizer, loss_scale: Callable[[], float],
                 collectives: Collectives, stopping: Callable[[], bool],
                 decide: Callable[[], list[float]], on_sync: Callable[[float], None]) -> None:
        self._collectives = collectives
        self._stopping = stopping
        self._decide = decide
        self._on_sync = on_sync
        self._in_ddp: Optional[set[Parameter]] = None
        self._finds_unused = False
        self._may_miss = False  # DDP accepts that a parameter is not used in the last micro-step
        self._updates = 0
        self._late: list[Parameter] = []    # parameters that DDP does not know
        self._hook_of_ddp = DdpHook(collectives)    # until attach()
        super().__init__(optimizer, loss_scale)

    def attach(self, ddp: DistributedDataParallel, patches: Patches) -> None:
        """Measure the buckets of a DDP module.  A hook that the program registers later is called
        after ours."""
        ignored = set(getattr(ddp, "parameters_to_ignore", ()))
        self._in_ddp = {parameter for name, parameter in ddp.module.named_parameters()
                        if parameter.requires_grad and name not in ignored}
        self._finds_unused = bool(ddp.find_unused_parameters)
        self._may_miss = self._finds_unused or bool(getattr(ddp, "static_graph", False))
        self._hook_of_ddp = hook_of(ddp, self._collectives)
        self._hook_of_ddp.measure = self._bucket
        patches.override(ddp, {"register_comm_hook": self._hook_of_ddp.chain})
        self._adopt(self._hooks)

    def detach(self) -> None:
        super().detach()
        self._hook_of_ddp.measure = None

    @property
    def _averaged_by_program(self) -> bool:
        return self._hook_of_ddp.own is not None

    def _watch(self) -> list[Parameter]:
        new = super()._watch()
        if self._in_ddp is not None:
            self._adopt(new)
        return new

    def _adopt(self, parameters: Iterable[Parameter]) -> None:
        """Parameters that DDP does not know: make them equal on all replicas and average them
        here."""
        for parameter in parameters:
            if parameter not in self._in_ddp:
                self._late.append(parameter)
                self._collectives.copy_from_first(parameter.data)

    # ---- One update ------------------------------------------------------------------------

    def begin_update(self, measure: bool, compare: bool) -> None:
        super().begin_update(measure, compare)
        self._others = Norms(self.groups)   # of means that our hook has not made
        self._decision: Optional[list[float]] = None
        self._sent: Optional[Sum] = None
        self._received: Optional[Sums] = None

    def begin_micro(self, micro_step: Optional[MicroStep]) -> None:
        super().begin_micro(micro_step)
        self._launched = False              # DDP has received its last bucket
        self._pieces: list[Piece] = []      # of the buckets, if this replica measures their means

    def take(self) -> Measured:
        """Whether the gradient is finite must be the same on all replicas: a mean is at most as
        large as the largest gradient, so the norms before it was taken are enough."""
        begun_s = time.monotonic()
        sums = self._sums()
        self._on_sync(time.monotonic() - begun_s)
        self.any_replica_stops = sums.stops > 0
        self.decision = sums.decision
        transfer(self._mean, self._plain, self._others)
        micro = [value / self._collectives.replicas for value in sums.micro]
        finite = is_finite(micro, self._others.values())
        return self._compared(micro, 1)._replace(finite=finite)

    # ---- A backward ------------------------------------------------------------------------

    def _begun(self) -> None:
        """DDP of torch 2.x that finds unused parameters knows which were used in earlier
        micro-steps, and wants their .grad although the last one does not use them."""
        if self._finds_unused and self._micro_step.last:
            for parameter, kept in self._kept.items():
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(kept)

    def _arrived(self, parameter: Parameter, gradient: Tensor,
                 micro_step: MicroStep) -> Optional[Tensor]:
        total = self._total(parameter, gradient, micro_step)
        if micro_step.last and parameter not in self._in_ddp:
            self._add(self._micro, parameter, gradient if total is None else total)
        return total

    def _bucket(self, bucket: Any) -> None:
        if self._micro_step is None:
            return
        if bucket.index() in self._fired:
            self._mixed = True
        self._fired.add(bucket.index())
        self._launched |= bucket.is_last()
        pieces = self._pieces_of(bucket)
        self._add_pieces(self._micro, pieces)
        if self._collectives.rank == 0 or self._averaged_by_program:
            self._pieces += pieces

    def _pieces_of(self, bucket) -> list[Piece]:
        parameters = bucket.parameters()
        groups = [self._group_of.get(parameter) for parameter in parameters]
        first = groups[0]
        alike = first is not None and groups.count(first) == len(groups)
        if alike and not self._precondition.active and not self._averaged_by_program:
            return [Piece(first, bucket.buffer(), None)]
        return [Piece(group, gradient, parameter) for group, gradient, parameter
                in zip(groups, bucket.gradients(), parameters) if group is not None]

    def _add_pieces(self, norms: Norms, pieces: list[Piece]) -> None:
        for group, gradient, parameter in pieces:
            scaling = self._precondition(parameter) if parameter is not None else None
            norms.add(group, gradient, scaling)

    def _reduced_pieces(self) -> list[Piece]:
        """The pieces with the mean.  The program's own hook may return it in another tensor than
        the bucket's; DDP copies it to .grad."""
        if not self._averaged_by_program:
            return self._pieces
        return [Piece(group, parameter.grad, parameter) for group, _gradient, parameter
                in self._pieces if parameter.grad is not None]

    def _finish(self) -> None:
        self._computed_s = time.monotonic()
        if self._launched:
            self._send()
        # DDP has queued its own callback already, so this one comes after it
        at_end_of_backward(self._reduced)

    def _reduced(self) -> None:
        if self._micro_step is None or not self._launched:
            return  # the end of a nested backward pass
        self._launched = False
        self._done = True
        self.times.reduced()
        if self._may_miss or self._late:
            self._average_here(self._sums())
        self._on_sync(time.monotonic() - self._computed_s)
        pieces = self._reduced_pieces()
        if self._averaged_by_program:
            self._add_pieces(self._others, pieces)
        if self._collectives.rank == 0:
            self._add_pieces(self._mean, pieces)
            self._add_grads(self._mean, self._late)
            self._updates += 1
            if self._precondition.active and self._updates % ENERGY_EVERY == 1:
                for group, gradient, _parameter in pieces:
                    self._plain.add(group, gradient)
        self._pieces = []

    def _average_here(self, sums: Sums) -> None:
        """Average what DDP does not."""
        if sums.rest:
            self._mixed = True
            for parameter in self._hooks:
                # on all replicas: which of them have one is unknown
                self._average(parameter, self._rest(parameter))
            self._add_grads(self._others, self._hooks)
        for parameter, users in zip(self._late, sums.used):
            if users:
                gradient, parameter.grad = parameter.grad, None
                self._average(parameter, gradient)

    def _average(self, parameter: Parameter, gradient: Optional[Tensor]) -> None:
        """Add the mean over the replicas.  A replica without a gradient counts as 0."""
        if gradient is None:
            gradient = torch.zeros_like(parameter)
        self._collectives.mean(gradient)
        if parameter.grad is not None or gradient.any():
            add_grad(parameter, gradient)

    # ---- Sums over the replicas ------------------------------------------------------------

    def _send(self) -> None:
        used = [float(parameter.grad is not None) for parameter in self._late]
        if self._decision is None:
            self._decision = self._decide()
        words = [float(self._stopping()), float(len(self._kept)), *self._decision]
        self._sent = self._collectives.sum_later(self._micro.values() + words + used)
        self._received = None

    def _sums(self) -> Sums:
        if self._sent is None:
            self._send()
        if self._received is None:
            values, groups = self._sent.values(), self.groups
            used = groups + 2 + len(self._decision)
            self._received = Sums(values[:groups], *values[groups:groups + 2],
                                  values[groups + 2:used], values[used:])
        return self._received


class DdpHook:
    """The communication hook of a DDP module.  DDP takes one and never lets it go, so it must not
    refer to a session: the next one uses it again."""

    def __init__(self, collectives: Collectives) -> None:
        self.collectives = collectives
        self.measure: Optional[Callable[[Any], None]] = None    # of the open session
        self.own: Optional[Callable[..., Any]] = None   # of the program: averages

    def call(self, _state, bucket):  # no annotations: torch checks them and does not accept text
        if self.measure is not None:
            self.measure(bucket)
        if self.own is not None:
            return self.collectives.called_later(self.own(bucket))
        return self.collectives.mean_later(bucket.buffer())

    def chain(self, _original: Callable[..., None], state: Any, hook: Callable[..., Any]) -> None:
        """Replaces DDP's register_comm_hook()."""
        if self.own is not None:
            raise RuntimeError("register_comm_hook() was called before: DDP takes one hook")
        self.own = functools.partial(hook, state)


_HOOKS: "weakref.WeakKeyDictionary[DistributedDataParallel, DdpHook]" = weakref.WeakKeyDictionary()


def hook_of(ddp: DistributedDataParallel, collectives: Collectives) -> DdpHook:
    """Our hook of this module, which may be that of an earlier session."""
    hook = _HOOKS.get(ddp)
    if hook is None:
        hook = DdpHook(collectives)
        try:
            _register_unlisted(ddp, hook.call)
        except RuntimeError as error:
            raise RuntimeError(
                "px.prepare(): DDP has a communication hook already and takes one only; call "
                "register_comm_hook() after px.prepare(), then both are called") from error
        _HOOKS[ddp] = hook
    hook.collectives = collectives
    return hook


def _register_unlisted(ddp: DistributedDataParallel, hook: Callable[..., Any]) -> None:
    """Register a communication hook.  torch 2.x also lists it in an attribute of the module.  There
    it would become part of copies, such as that of AveragedModel, and of torch.save(ddp)."""
    before = list(getattr(ddp, "_comm_hooks", ()))
    try:
        ddp.register_comm_hook(None, hook)
    finally:
        if hasattr(ddp, "_comm_hooks"):
            ddp._comm_hooks = before
