# SPDX-License-Identifier: Apache-2.0
"""Times of updates on an accelerator.

A program queues kernels and goes on; the accelerator runs them later.  So events are queued between
the kernels, and read once the accelerator has reached them:

    begin   micro_end ...   computed       reduced            end
    |-- micro --|-- micro --|-- micro --|-- averaging --|-- optimizer --|

An update is read when its gradients are known.  Its optimizer has not stepped then: the time of the
optimizer is that of the update before.
"""
from __future__ import annotations

import functools
from typing import Any, Callable, Optional

import torch


class Times:
    """On a CPU: nothing is recorded, the clock of the agent is right."""

    def begin(self) -> None:
        """An update begins."""

    def micro_end(self) -> None:
        """A micro-step without synchronisation ends."""

    def computed(self) -> None:
        """The gradients of the last micro-step are computed, in this replica."""

    def reduced(self) -> None:
        """The mean over the replicas is computed."""

    def end(self) -> None:
        """The optimizer has stepped."""

    def read(self) -> Optional[tuple[float, float]]:
        """Seconds of a micro-step without synchronisation, and of the last one with synchronisation
        and the optimizer's step.  None: unknown."""
        return None


class EventTimes(Times):
    """By events with synchronize() and elapsed_time() in milliseconds, as those of torch.cuda.
    record() queues an event and returns it."""

    def __init__(self, record: Callable[[], Any]) -> None:
        self._record = record
        self._marks: list[Any] = []     # begin, and the ends of micro-steps without synchronisation
        self._computed: Any = None
        self._reduced: Any = None
        self._stepped: Optional[tuple[Any, Any]] = None     # begin and end of the last step

    def begin(self) -> None:
        self._marks = [self._record()]
        self._computed = self._reduced = None

    def micro_end(self) -> None:
        self._marks.append(self._record())

    def computed(self) -> None:
        self._computed = self._reduced = self._record()

    def reduced(self) -> None:
        self._reduced = self._record()

    def end(self) -> None:
        self._stepped = None
        if self._reduced is not None:
            self._stepped = self._reduced, self._record()

    def read(self) -> Optional[tuple[float, float]]:
        if self._computed is None or not self._marks:
            return None
        self._reduced.synchronize()
        micro_steps = len(self._marks) - 1
        stepped = _seconds(*self._stepped) if self._stepped is not None else 0.0
        last = _seconds(self._marks[-1], self._reduced) + stepped
        if micro_steps:
            return _seconds(self._marks[0], self._marks[-1]) / micro_steps, last
        return _seconds(self._marks[0], self._computed) + stepped, last


def times_of(model: torch.nn.Module) -> Times:
    """For the device of the model's parameters."""
    for parameter in model.parameters():
        if parameter.is_cuda:
            return EventTimes(functools.partial(_record, parameter.device))
    return Times()


def _record(device: torch.device) -> torch.cuda.Event:
    """Queue an event on this device, which need not be the current one."""
    event = torch.cuda.Event(enable_timing=True)
    event.record(torch.cuda.current_stream(device))
    return event


def _seconds(begin: Any, end: Any) -> float:
    return begin.elapsed_time(end) / 1000.0
