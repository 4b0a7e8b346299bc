# SPDX-License-Identifier: Apache-2.0
"""Metrics of training, and sums over replicas and restarts."""
from __future__ import annotations

import json
import math
import sys
import time
from typing import Any, Callable, Iterator, Optional

from .. import model

DECAY = 0.98  # of the measured throughput, per update: averages about 50 updates


class Reporter:
    """Measures throughput and writes metrics periodically to a file or a writer."""

    def __init__(self, log: Optional[str], writer: Any, period_s: float,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._file = open(log, "a", encoding="utf-8") if log else None
        self._writer = writer
        self._period_s = period_s
        self._clock = clock
        self._last = clock()
        self._since: Optional[float] = None
        self._samples = 0.0
        self._seconds = 0.0

    def updated(self, samples: int) -> None:
        """An update of `samples` samples has ended."""
        now = self._clock()
        if self._since is not None:
            self._samples = DECAY * self._samples + samples
            self._seconds = DECAY * self._seconds + now - self._since
        self._since = now

    def pause(self) -> None:
        """Stop the clock: the program does something other than training."""
        self._since = None

    def throughput(self) -> Optional[float]:
        return self._samples / self._seconds if self._seconds > 0 else None

    def metrics(self, session: Any, grad: tuple[float, float]) -> dict[str, Any]:
        """See pollux.torch.metrics."""
        status, begun, known = session.status(), session.advice.batch.m > 0, grad != (1.0, 0.0)
        batch = status.batch  # the job's: the next update may be a probe, which divides it
        samples = session.samples_of(batch) if begun else None
        throughput, efficiency = self.throughput(), None
        if begun and samples >= session.init_batch:
            efficiency = session.efficiency()
        made = session.made
        return {
            "epoch": session.epoch,
            "progress": session.progress,
            "replicas": session.world.replicas,
            "batch": samples,
            "local_batch": batch.m if begun else None,
            "accumulation": batch.s if begun else None,
            "throughput": throughput,
            "efficiency": efficiency,
            "goodput": throughput * efficiency if throughput and efficiency else None,
            "noise_scale": _finite(model.noise_scale(grad, session.init_batch)) if known else None,
            "noise_unbiased": _finite(status.noise_unbiased),
            "gain": made.gain if made else 0.0,
            "lr_factor": made.factors if made else session.factors(),
        }

    def report(self, metrics: Callable[[], dict[str, Any]], last: bool = False) -> None:
        """Write the metrics if the period is over, or if they are the last."""
        now = self._clock()
        if self._file is None and self._writer is None:
            return
        if not last and now - self._last < self._period_s:
            return
        self._last = now
        values = metrics()
        if self._file is not None:
            self._write(json.dumps({"time": time.time(), **values}))
        if self._writer is not None:
            for name, value in _scalars(values):
                self._writer.add_scalar(f"pollux/{name}", value, int(values["progress"]))

    def _write(self, line: str) -> None:
        file = self._file
        try:
            file.write(line + "\n")  # type: ignore[union-attr]
            file.flush()             # type: ignore[union-attr]
        except OSError as error:
            print(f"pollux: {file.name}: {error.strerror}; no more metrics are "  # type: ignore
                  "written", file=sys.stderr, flush=True)
            self._file = None

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def _finite(value: float) -> Optional[float]:
    return value if math.isfinite(value) else None


def _scalars(values: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Names and values for add_scalar(); lists give one per parameter group."""
    for name, value in values.items():
        if isinstance(value, list) and len(value) > 1:
            yield from ((f"{name}/{group}", each) for group, each in enumerate(value))
        elif value is not None and name != "progress":
            yield name, value[0] if isinstance(value, list) else value


# ---- Sums ---------------------------------------------------------------------------------------


class Accumulator:
    """Sums of numbers by name, over batches, replicas and restarts:

        seen = px.Accumulator()
        for x, y in loader:
            ...
            seen.add(loss=loss.item() * len(x), count=len(x))
        sums = seen.totals()
        print(sums["loss"] / sums["count"])

    Each replica adds to its own sums; totals() adds them up over the replicas, and all replicas
    must call it.  Checkpoints keep the sums until the end of the epoch, or, if the accumulator was
    made before px.epochs(), until the end of training.  They are found again by name (default: file
    and line of the call).  Sums made during px.evaluation() are not kept: an evaluation starts
    again.  """

    def __init__(self, name: Optional[str] = None) -> None:
        caller = sys._getframe(1)
        file = caller.f_code.co_filename.rsplit("/", 1)[-1]
        self.name = name or f"{file}:{caller.f_lineno}"
        self._values: dict[str, float] = {}
        self._evaluates = False
        from . import session
        session().saver.sums.register(session(), self)

    def add(self, **values: float) -> None:
        from . import session
        self._evaluates |= session().evaluations > 0
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
        self._evaluates = False

    def totals(self) -> dict[str, float]:
        """The sums over all replicas."""
        from . import session
        return total(session().collectives.gather(self._values))


class Sums:
    """The accumulators of a session, and their sums from a checkpoint."""

    def __init__(self) -> None:
        # By name, with the epoch in which it was made.  References, because a program that resumes
        # in the middle of the epoch makes the same accumulators again.
        self._all: dict[str, tuple[Optional[int], Accumulator]] = {}
        self._found: dict[str, dict[str, float]] = {}

    def register(self, session: Any, accumulator: Accumulator) -> None:
        epoch = session.epoch if session.restored else None
        self._all[accumulator.name] = epoch, accumulator
        self._give(session, accumulator)

    def state(self, session: Any) -> dict[str, dict[str, float]]:
        """The sums of this replica for a checkpoint."""
        state = dict(self._found) if session.leads else {}
        for name, (epoch, accumulator) in self._all.items():
            if epoch in (None, session.epoch) and not accumulator._evaluates:
                state[name] = dict(accumulator._values)
        return state

    def restore(self, session: Any, found: dict[str, dict[str, float]]) -> None:
        """Replica 0 takes over the sums of all earlier replicas."""
        self._found = found
        for _epoch, accumulator in self._all.values():
            self._give(session, accumulator)

    def forget(self) -> None:
        """Drop the saved sums that no accumulator has asked for."""
        self._found = {}

    def _give(self, session: Any, accumulator: Accumulator) -> None:
        found = self._found.pop(accumulator.name, None)
        if found is not None and session.leads:
            accumulator._values.update(found)


def total(parts: list[dict[str, float]]) -> dict[str, float]:
    sums: dict[str, float] = {}
    for part in parts:
        for name, value in part.items():
            sums[name] = sums.get(name, 0.0) + value
    return sums
