# SPDX-License-Identifier: Apache-2.0
"""What training is worth, in numbers; and sums over replicas and restarts."""
from __future__ import annotations

import json
import sys
import time
import weakref
from typing import Any, Callable, Iterator, Optional

from .. import model

MEMORY = 0.98  # of the measured rate: about the last fifty updates


class Reporter:
    """Measures throughput, and writes metrics down now and then where that is asked for."""

    def __init__(self, log: Optional[str], writer: Any, period_s: float) -> None:
        self._file = open(log, "a", encoding="utf-8") if log else None
        self._writer = writer
        self._period_s = period_s
        self._last = time.monotonic()
        self._since: Optional[float] = None
        self._samples = 0.0
        self._seconds = 0.0

    def updated(self, samples: int) -> None:
        """An update with so many samples has ended."""
        now = time.monotonic()
        if self._since is not None:
            self._samples = MEMORY * self._samples + samples
            self._seconds = MEMORY * self._seconds + now - self._since
        self._since = now

    def pause(self) -> None:
        """What comes now is not training."""
        self._since = None

    def throughput(self) -> Optional[float]:
        return self._samples / self._seconds if self._seconds > 0 else None

    def metrics(self, session: Any, grad: tuple[float, float]) -> dict[str, Any]:
        advice, replicas = session.advice, session.world.replicas
        total = replicas * advice.batch.m * (advice.batch.s + 1)
        known = grad != (1.0, 0.0)
        efficiency = None
        if known and total >= session.init_batch:
            efficiency = model.efficiency(grad, session.init_batch, total)
        throughput = self.throughput()
        goodput = throughput * efficiency if throughput and efficiency else None
        groups = range(len(session.optimizer.param_groups))
        return {
            "epoch": session.epoch,
            "progress": advice.progress,
            "replicas": replicas,
            "batch": total,
            "local_batch": advice.batch.m,
            "accumulation": advice.batch.s,
            "throughput": throughput,
            "efficiency": efficiency,
            "goodput": goodput,
            "noise_scale": _finite(model.noise_scale(grad, session.init_batch)) if known else None,
            "gain": advice.gain,
            "lr_factor": [session.agent.factor(group) for group in groups],
        }

    def report(self, metrics: Callable[[], dict[str, Any]]) -> None:
        """Write them down if it is time."""
        now = time.monotonic()
        if (self._file is None and self._writer is None) or now - self._last < self._period_s:
            return
        self._last = now
        values = metrics()
        if self._file is not None:
            try:
                self._file.write(json.dumps({"time": time.time(), **values}) + "\n")
                self._file.flush()
            except OSError as error:
                print(f"pollux: {self._file.name}: {error.strerror}; no more metrics are written", file=sys.stderr)
                self._file = None
        if self._writer is not None:
            for name, value in values.items():
                scalar = value[0] if isinstance(value, list) else value
                if scalar is not None and name != "progress":
                    self._writer.add_scalar(f"pollux/{name}", scalar, int(values["progress"]))


def _finite(value: float) -> Optional[float]:
    return value if value == value and abs(value) != float("inf") else None


class Accumulator:
    """Sums of numbers by name, over batches, replicas and restarts:

        seen = px.Accumulator()
        for x, y in px.evaluation(loader):
            seen.add(loss=loss.item() * len(x), count=len(x))
        sums = seen.totals()
        print(sums["loss"] / sums["count"])

    Each replica adds to its own; totals() sums them over the replicas, and all must call it.  Sums are saved
    with a checkpoint and found again by the name, which by default is the line that made the accumulator.
    """

    def __init__(self, name: Optional[str] = None) -> None:
        caller = sys._getframe(1)
        self.name = name or f"{caller.f_code.co_filename.rsplit('/', 1)[-1]}:{caller.f_lineno}"
        self._values: dict[str, float] = {}
        from . import session
        _register(session(), self)

    def add(self, **values: float) -> None:
        for name, value in values.items():
            self._values[name] = self._values.get(name, 0.0) + float(value)

    def __getitem__(self, name: str) -> float:
        """This replica's sum so far."""
        return self._values.get(name, 0.0)

    def __setitem__(self, name: str, value: float) -> None:
        self._values[name] = float(value)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def reset(self) -> None:
        self._values.clear()

    def totals(self) -> dict[str, float]:
        """The sums over all replicas."""
        from . import session
        return total(session().collectives.gather(self._values))


def total(parts: list[dict[str, float]]) -> dict[str, float]:
    sums: dict[str, float] = {}
    for part in parts:
        for name, value in part.items():
            sums[name] = sums.get(name, 0.0) + value
    return sums


def _register(session: Any, accumulator: Accumulator) -> None:
    session.saver.accumulators[accumulator.name] = weakref.ref(accumulator)
    saved = session.saver.saved_sums.pop(accumulator.name, None)
    if saved and session.leads:
        accumulator._values.update(saved)
