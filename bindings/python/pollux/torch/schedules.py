# SPDX-License-Identifier: Apache-2.0
"""The steps of learning-rate schedulers: not while gradients are accumulated, and by progress for
those that count updates."""
from __future__ import annotations

import inspect
import math
import weakref
from typing import Any, Callable, Optional

from .loop import TOLERANCE
from .misuse import Misuse


class ProgressClock:
    """Steps a scheduler by progress: one step per `every` updates with batch M0, so one call may
    make several steps or none."""

    def __init__(self, scheduler: Any, progress: Callable[[], float], begin: float = 0.0) -> None:
        self.steps = 0
        self.begin = begin      # the progress at which it counts from 0
        self.every = 1
        self.end = math.inf     # steps that the scheduler allows
        total = getattr(scheduler, "total_steps", None)  # of OneCycleLR
        if total:
            self.end = total - max(scheduler.last_epoch, 0)
        self._progress = progress

    def step(self, original: Callable[..., Any], *args: Any, **options: Any) -> None:
        due = min(int((self._progress() - self.begin + TOLERANCE) / self.every), self.end)
        while self.steps < due:
            self.steps += 1
            original(*args, **options)


class Stepper:
    """Replaces step() of one scheduler.  Two calls in successive updates show that it counts
    updates: it is then put on the progress clock."""

    def __init__(self, scheduler: Any, all_of_them: "Steppers") -> None:
        self.scheduler = weakref.ref(scheduler)
        self.clock: Optional[ProgressClock] = None
        self._all = all_of_them
        self._takes_metric = takes_metric(scheduler)
        self._last: Optional[int] = None    # the update of the last call
        self._progress = 0.0                # at the last call

    def step(self, original: Callable[..., Any], *args: Any, **options: Any) -> Any:
        of_all = self._all
        if of_all.accumulating():
            return None
        if of_all.running:  # a scheduler of schedulers steps this one
            return original(*args, **options)
        of_all.misuse.rate_explained()
        if self.clock is None and not self._takes_metric:
            self._notice()
        of_all.running = True
        try:
            return (self.clock.step if self.clock is not None else _call)(
                original, *args, **options)
        finally:
            of_all.running = False

    def _notice(self) -> None:
        update = self._all.update()
        if update is not None and self._last is not None and update == self._last + 1:
            self.clock = ProgressClock(self.scheduler(), self._all.progress, self._progress)
            self._all.misuse.scheduler_noticed()
        self._last, self._progress = update, self._all.progress()


class Steppers:
    """Those of all schedulers.  update() is the number of the current update, None outside of
    updates."""

    def __init__(self, accumulating: Callable[[], bool], progress: Callable[[], float],
                 update: Callable[[], Optional[int]], misuse: Misuse) -> None:
        self.accumulating = accumulating
        self.progress = progress
        self.update = update
        self.misuse = misuse
        self.running = False    # a scheduler is being stepped
        self._all: list[Stepper] = []

    def add(self, scheduler: Any) -> Stepper:
        self._all.append(Stepper(scheduler, self))
        return self._all[-1]

    def put_on_clock(self, scheduler: Any) -> ProgressClock:
        """The program says that this scheduler counts updates."""
        clock = ProgressClock(scheduler, self.progress)
        for stepper in self._alive():
            if stepper.scheduler() is scheduler:
                stepper.clock = clock
        return clock

    def state(self) -> list[Any]:
        """For each scheduler: steps, begin and end of its clock, or None."""
        return [[clock.steps, clock.begin, clock.end] if clock is not None else None
                for clock in (stepper.clock for stepper in self._alive())]

    def restore(self, states: list[Any]) -> None:
        """An old checkpoint has none: then schedulers are noticed again."""
        for stepper, state in zip(self._alive(), states):
            if state is not None and stepper.clock is None:
                stepper.clock = ProgressClock(stepper.scheduler(), self.progress)
            if state is not None and stepper.clock is not None:
                stepper.clock.steps, stepper.clock.begin, stepper.clock.end = state

    def _alive(self) -> list[Stepper]:
        return [stepper for stepper in self._all if stepper.scheduler() is not None]


def takes_metric(scheduler: Any) -> bool:
    """Whether step() needs an argument, as that of ReduceLROnPlateau: such a scheduler is stepped
    after an evaluation and has no progress to follow."""
    return any(each.default is each.empty and each.kind not in (
        each.VAR_POSITIONAL, each.VAR_KEYWORD)
        for each in inspect.signature(scheduler.step).parameters.values())


def _call(original: Callable[..., Any], *args: Any, **options: Any) -> Any:
    return original(*args, **options)
