# SPDX-License-Identifier: Apache-2.0
"""Patches of the user's objects, so that an unchanged loop can have micro-steps.

In all but the last micro-step of an update, opt.step(), scheduler.step(), a scaler's unscale_(),
step() and update(), and update_parameters() of torch's AveragedModel do nothing.  Objects of these
classes that are made after px.init() are patched when they are made; give others to px.prepare(),
or an AveragedModel to px.track().
"""
from __future__ import annotations

import contextlib
import copyreg
import functools
import sys
import types
import weakref
from typing import Any, Callable, ContextManager, Iterator, Optional

import torch
from torch.optim.swa_utils import AveragedModel

from .misuse import Misuse
from .optimizers import averages_gradients, decays_apart, sums_gradients
from .schedules import ProgressClock, Steppers

SCHEDULED = ("_with_counter", "_wrapped_by_lr_sched")  # how torch marks a scheduled opt.step


class Patches:
    """The patched objects of one session.  close() restores them."""

    def __init__(self, accumulating: Callable[[], bool], progress: Callable[[], float],
                 update: Callable[[], Optional[int]], step_called: Callable[[], None],
                 misuse: Misuse) -> None:
        self._accumulating = accumulating
        self._step_called = step_called
        self._undo: list[Callable[[], None]] = []
        self.schedulers: list[weakref.ref] = []
        self.steppers = Steppers(accumulating, progress, update, misuse)
        self.scalers: list[weakref.ref] = []
        self.by_progress: Optional[ProgressClock] = None
        for cls in _scheduler_classes():
            self._undo.append(_call_when_made(cls, self.scheduler))
        for cls in _scaler_classes():
            self._undo.append(_call_when_made(cls, self.scaler))
        self._averages: list[weakref.ref] = []
        self._undo.append(_call_when_made(AveragedModel, self.average))

    def close(self) -> None:
        """Undo all patches, the last one first."""
        while self._undo:
            self._undo.pop()()

    def optimizer(self, optimizer: torch.optim.Optimizer, step: Callable[..., Any]) -> None:
        """Replace opt.step() by step(original, closure)."""
        original = optimizer.step
        before = vars(optimizer).get("step")
        opened = True

        @functools.wraps(original)
        def wrapped(_self: torch.optim.Optimizer, closure: Optional[Callable] = None,
                    **options: Any) -> Any:
            inner = functools.partial(original, **options) if options else original
            if opened:
                return step(inner, closure)
            return inner(closure) if closure is not None else inner()

        def undo() -> None:
            nonlocal opened
            opened = False  # a scheduler may have wrapped this method; that wrapper stays
            if vars(optimizer).get("step") is method:
                del optimizer.step
                if before is not None:
                    optimizer.step = before  # type: ignore[method-assign]
        method = types.MethodType(wrapped, optimizer)
        optimizer.step = method  # type: ignore[method-assign]
        self._undo.append(undo)

    def scheduler(self, scheduler: Any, by_progress: bool = False) -> None:
        """Skip scheduler.step() while gradients are accumulated.  by_progress: step it by
        progress."""
        if not _known(scheduler, self.schedulers):
            self.schedulers.append(weakref.ref(scheduler))
            self.override(scheduler, {"step": self.steppers.add(scheduler).step})
        if by_progress:
            self.by_progress = self.steppers.put_on_clock(scheduler)

    def warn_of_unknown_scheduler(self, optimizer: torch.optim.Optimizer, tell: bool) -> None:
        """Warn if a scheduler was made before px.init().  It cannot be found: torch only marks its
        optimizer."""
        marked = any(hasattr(optimizer.step, mark) for mark in SCHEDULED)
        known = [scheduler() for scheduler in self.schedulers]
        if tell and marked and not any(
                getattr(scheduler, "optimizer", None) is optimizer for scheduler in known):
            print("pollux: a learning-rate scheduler was made before px.init(): it is not saved, "
                  "and it steps in every micro-step; make it after px.init(), or pass it to "
                  "px.prepare(scheduler=...)", file=sys.stderr, flush=True)

    def scaler(self, scaler: Any) -> None:
        """Skip the methods of a GradScaler, or of a similar object, while gradients are
        accumulated."""
        if not _known(scaler, self.scalers):
            self.scalers.append(weakref.ref(scaler))
            methods = {"unscale_": self._unless_accumulating, "step": self._scaler_step,
                       "update": self._unless_accumulating}
            self.override(scaler, {name: method for name, method in methods.items()
                                   if hasattr(scaler, name)})

    def average(self, thing: Any) -> None:
        """Skip the updates of an average of weights while gradients are accumulated.  Other objects
        than torch's AveragedModel are not changed."""
        if isinstance(thing, AveragedModel) and not _known(thing, self._averages):
            self._averages.append(weakref.ref(thing))
            self.override(thing, {"update_parameters": self._unless_accumulating})

    def override(self, thing: Any, methods: dict[str, Callable[..., Any]]) -> None:
        """Replace thing.name(...) by method(original, ...)."""
        self._undo.append(_override(thing, methods))

    def loss_scale(self) -> float:
        """The factor on all gradients that the last enabled scaler applies."""
        for reference in reversed(self.scalers):
            scaler = reference()
            if scaler is not None and getattr(scaler, "is_enabled", lambda: True)():
                return float(scaler.get_scale()) or 1.0
        return 1.0

    def _unless_accumulating(self, original: Callable[..., Any], *args: Any, **options: Any) -> Any:
        return None if self._accumulating() else original(*args, **options)

    def _scaler_step(self, original: Callable[..., Any], *args: Any, **options: Any) -> Any:
        if self._accumulating():
            self._step_called()
        return self._unless_accumulating(original, *args, **options)


def scaled(optimizer: torch.optim.Optimizer, factor: Callable[[int], float],
           gain: float) -> ContextManager[Any]:
    """Rates and decays of an update, for a while.  With M0 nothing has to be changed."""
    groups = optimizer.param_groups
    if gain == 1.0 and all(factor(index) == 1.0 for index in range(len(groups))):
        return contextlib.nullcontext()
    all_of_them = contextlib.ExitStack()
    all_of_them.enter_context(scaled_rates(groups, factor))
    all_of_them.enter_context(scaled_decay(optimizer, factor, gain))
    all_of_them.enter_context(scaled_memory(optimizer, gain))
    return all_of_them


@contextlib.contextmanager
def scaled_decay(optimizer: torch.optim.Optimizer, factor: Callable[[int], float],
                 gain: float) -> Iterator[None]:
    """Let the weights of AdamW decay as in `gain` updates with M0, whatever the factor of the
    learning rate, by which AdamW multiplies the decay, is."""
    groups = optimizer.param_groups
    before = {index: groups[index]["weight_decay"] for index in decays_apart(optimizer)}
    try:
        for index, decay in before.items():
            if factor(index) > 0:
                groups[index]["weight_decay"] = decay * gain / factor(index)
        yield
    finally:
        for index, decay in before.items():
            groups[index]["weight_decay"] = decay


@contextlib.contextmanager
def scaled_memory(optimizer: torch.optim.Optimizer, gain: float) -> Iterator[None]:
    """Let Adam's average of gradients, and the momentum of SGD, forget as much as in `gain` updates
    with M0.  Otherwise they reach further back with larger batches, and training oscillates.  Not
    where the rate is a tensor: a compiled step would be compiled again for every value."""
    changes = [(group, changed) for group, changed in forgetting(optimizer, gain)
               if not isinstance(group["lr"], torch.Tensor)]
    before = [(group, {name: group[name] for name in changed}) for group, changed in changes]
    try:
        for group, changed in changes:
            group.update(changed)
        yield
    finally:
        for group, original in before:
            group.update(original)


def forgetting(optimizer: torch.optim.Optimizer,
               gain: float) -> Iterator[tuple[dict, dict[str, Any]]]:
    """Groups and their options for an update that forgets as much as `gain` updates with M0.

    The momentum of SGD is a sum, momentum x sum + (1 - dampening) x gradient.  In `gain` updates
    with the same gradient it would take up (1 - momentum^gain) / (1 - momentum) times as much of
    it, so its size does not depend on the batch."""
    for index in averages_gradients(optimizer):
        group = optimizer.param_groups[index]
        beta1, *others = group["betas"]
        yield group, {"betas": (beta1 ** gain, *others)}
    for index in sums_gradients(optimizer):
        group = optimizer.param_groups[index]
        momentum = group["momentum"]
        taken = (1.0 - group["dampening"]) * (1.0 - momentum ** gain) / (1.0 - momentum)
        yield group, {"momentum": momentum ** gain, "dampening": 1.0 - taken}


@contextlib.contextmanager
def scaled_rates(groups: list[dict], factor: Callable[[int], float]) -> Iterator[None]:
    """Multiply the learning rate of group i by factor(i), for a while.  A rate that is a tensor is
    changed in place, where a compiled step reads it.  Groups may share one tensor: all but the
    first get another one for that while."""
    rates = [group["lr"] for group in groups]
    tensors: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}  # by id: the tensor, its value
    try:
        for index, (group, rate) in enumerate(zip(groups, rates)):
            if isinstance(rate, torch.Tensor) and id(rate) not in tensors:
                tensors[id(rate)] = rate, rate.clone()
                rate.mul_(factor(index))
            else:
                value = tensors[id(rate)][1] if isinstance(rate, torch.Tensor) else rate
                group["lr"] = value * factor(index)
        yield
    finally:
        for rate, value in tensors.values():
            rate.copy_(value)
        for group, rate in zip(groups, rates):
            group["lr"] = rate


def _override(thing: Any, methods: dict[str, Callable[..., Any]]) -> Callable[[], None]:
    """Replace thing.name(...) by method(original, ...).  The thing gets a subclass of its own, so
    that its attributes and its saved state do not change.  Returns a function that undoes it."""
    cls = type(thing)

    def overriding(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(getattr(cls, name))
        def call(self: Any, *args: Any, **options: Any) -> Any:
            return method(functools.partial(getattr(cls, name), self), *args, **options)
        return call

    # copies and pickles are of the original class
    def __reduce_ex__(self: Any, protocol: int) -> Any:
        current = type(self)
        self.__class__ = cls
        try:
            make, args, *rest = self.__reduce_ex__(protocol)
        finally:
            self.__class__ = current
        # pickle requires that copyreg.__newobj__ makes an object of the class of self.
        return (cls.__new__ if make is copyreg.__newobj__ else make, args, *rest)
    body: dict[str, Any] = {name: overriding(name, method) for name, method in methods.items()}
    body.update(__reduce_ex__=__reduce_ex__, __module__=cls.__module__, __doc__=cls.__doc__,
                __qualname__=cls.__qualname__, __slots__=())
    thing.__class__ = type(cls.__name__, (cls,), body)
    reference = weakref.ref(thing)

    def undo() -> None:
        alive = reference()
        if alive is not None:
            alive.__class__ = cls
    return undo


def _known(thing: Any, references: list[weakref.ref]) -> bool:
    return any(reference() is thing for reference in references)


def _scheduler_classes() -> list[type]:
    module = torch.optim.lr_scheduler
    return [thing for thing in vars(module).values()
            if isinstance(thing, type) and thing.__module__ == module.__name__
            and hasattr(thing, "step") and hasattr(thing, "state_dict")]


def _scaler_classes() -> list[type]:
    found = [getattr(getattr(torch, "amp", None), "GradScaler", None), torch.cuda.amp.GradScaler]
    return [scaler for scaler in found if scaler is not None]


def _call_when_made(cls: type, notice: Callable[[Any], None]) -> Callable[[], None]:
    """Call notice(object) for every new object of a class.  Returns a function that undoes it."""
    if "__init__" not in vars(cls):
        return lambda: None  # inherited: the base class is patched
    original = cls.__init__  # type: ignore[misc]

    @functools.wraps(original)
    def made(self: Any, *args: Any, **options: Any) -> None:
        original(self, *args, **options)
        notice(self)

    def undo() -> None:
        cls.__init__ = original  # type: ignore[misc]
    cls.__init__ = made  # type: ignore[misc]
    return undo
