# SPDX-License-Identifier: Apache-2.0
"""What is put around the user's objects, so that an unchanged loop can have micro-steps.

In a micro-step that does not update, opt.step(), scheduler.step() and a scaler's unscale_(), step() and
update() do nothing.  Schedulers and scalers that are made after px.init() are noticed when they are made;
others can be named to px.prepare().
"""
from __future__ import annotations

import functools
import types
import weakref
from typing import Any, Callable, Optional

import torch

TOLERANCE = 1e-6  # of progress, which is a sum of rounded numbers


class Wraps:
    """The objects of one session."""

    def __init__(self, accumulating: Callable[[], bool], progress: Callable[[], float]) -> None:
        self._accumulating = accumulating
        self._progress = progress
        self.schedulers: list[weakref.ref] = []
        self.scalers: list[weakref.ref] = []
        self.by_progress: Optional[ProgressClock] = None
        for name in _scheduler_classes():
            _notice(getattr(torch.optim.lr_scheduler, name), self.scheduler)
        for scaler in _scaler_classes():
            _notice(scaler, self.scaler)

    def optimizer(self, optimizer: torch.optim.Optimizer,
                  step: Callable[[Callable[..., Any], Optional[Callable]], Any]) -> None:
        """Let opt.step() be step(original, closure).  Anything that holds the optimizer sees it."""
        original = optimizer.step

        @functools.wraps(original)
        def wrapped(_self: torch.optim.Optimizer, closure: Optional[Callable] = None) -> Any:
            return step(original, closure)
        optimizer.step = types.MethodType(wrapped, optimizer)  # type: ignore[method-assign]

    def scheduler(self, scheduler: Any, by_progress: bool = False) -> None:
        """Let it rest while gradients are accumulated; by_progress: let its clock be progress."""
        if not _known(scheduler, self.schedulers):
            self.schedulers.append(weakref.ref(scheduler))
            _override(scheduler, "step", self._rest)
        if by_progress:
            self.by_progress = ProgressClock(self._accumulating, self._progress)
            _override(scheduler, "step", self.by_progress.step)

    def scaler(self, scaler: Any) -> None:
        """Let a torch.cuda.amp.GradScaler, or what behaves like one, rest likewise."""
        if not _known(scaler, self.scalers):
            self.scalers.append(weakref.ref(scaler))
            for name in ("unscale_", "step", "update"):
                if hasattr(scaler, name):
                    _override(scaler, name, self._rest)

    def loss_scale(self) -> float:
        """By which gradients are larger than they would be."""
        for reference in reversed(self.scalers):
            scaler = reference()
            if scaler is not None and getattr(scaler, "is_enabled", lambda: True)():
                return float(scaler.get_scale()) or 1.0
        return 1.0

    def _rest(self, original: Callable[..., Any], *args: Any, **options: Any) -> Any:
        return None if self._accumulating() else original(*args, **options)


class ProgressClock:
    """A scheduler that counts updates with batch M0: each call lets it make as many steps as the update
    was worth."""

    def __init__(self, accumulating: Callable[[], bool], progress: Callable[[], float]) -> None:
        self.steps = 0
        self._accumulating = accumulating
        self._progress = progress

    def step(self, original: Callable[..., Any], *args: Any, **options: Any) -> None:
        if self._accumulating():
            return
        due = int(self._progress() + TOLERANCE)
        while self.steps < due:
            self.steps += 1
            original(*args, **options)


def _override(thing: Any, name: str, method: Callable[..., Any]) -> None:
    """Let thing.name(...) be method(original, ...).  By a class of its own, so that what the thing holds, and saves as
    its state, is as before."""
    cls = type(thing)

    @functools.wraps(getattr(cls, name, method))
    def overriding(self: Any, *args: Any, **options: Any) -> Any:
        return method(functools.partial(getattr(cls, name), self), *args, **options)
    try:
        thing.__class__ = type(cls.__name__, (cls,), {name: overriding, "__module__": cls.__module__})
    except TypeError:  # it is of a kind that cannot have another class
        original = getattr(thing, name)
        setattr(thing, name, lambda *args, **options: method(original, *args, **options))


def _known(thing: Any, references: list[weakref.ref]) -> bool:
    return any(reference() is thing for reference in references)


def _scheduler_classes() -> list[str]:
    module = torch.optim.lr_scheduler
    return [name for name, thing in vars(module).items()
            if isinstance(thing, type) and thing.__module__ == module.__name__
            and hasattr(thing, "step") and hasattr(thing, "state_dict")]


def _scaler_classes() -> list[type]:
    found = [getattr(getattr(torch, "amp", None), "GradScaler", None), torch.cuda.amp.GradScaler]
    return [scaler for scaler in found if scaler is not None]


def _notice(cls: type, notice: Callable[[Any], None]) -> None:
    """Call notice(object) for every object of a class when it has been made."""
    original = cls.__init__

    @functools.wraps(original)
    def made(self: Any, *args: Any, **options: Any) -> None:
        original(self, *args, **options)
        notice(self)
    cls.__init__ = made  # type: ignore[misc]
