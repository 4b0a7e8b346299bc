# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of a session: collected between two updates, written in the background.

    model.pt, optimizer.pt       their state_dict()
    extra.pt                     schedulers, scaler, tracked objects, sums, position, random numbers
    pollux-agent                 what the agent knows

All of it is plain types and tensors.  libpollux makes it whole or absent.  Replica 0 writes; all read.
"""
from __future__ import annotations

import random
import sys
import threading
import time
import weakref
from typing import Any, Optional

import torch

from .._library import PolluxError
from ..checkpoint import Checkpoint
from .report import total

KEEP = 3
FORMAT = 1


class Saver:
    """Saves and restores one session."""

    def __init__(self, directory: Optional[str], period_s: float) -> None:
        self.directory = directory
        self.period_s = period_s
        self.tracked: dict[str, Any] = {}
        self.accumulators: dict[str, weakref.ref] = {}
        self.saved_sums: dict[str, dict[str, float]] = {}
        self._saved_tracked: dict[str, Any] = {}
        self._last = time.monotonic()
        self._writer: Optional[threading.Thread] = None
        self._error: Optional[str] = None

    def due(self) -> bool:
        """Whether it is time for another one, and the last is written."""
        return self.directory is not None and time.monotonic() - self._last >= self.period_s \
            and not (self._writer and self._writer.is_alive())

    # ---- Saving ----------------------------------------------------------------------------

    def save(self, session: Any, wait: bool, between: bool = False) -> None:
        """Save between updates; between: also between epochs.  All replicas together.  wait: return when it is on
        the disk, and raise if that failed; else a failure is told and training goes on."""
        if self.directory is None:
            return
        own = {"rng": _random_state(), "sums": self._sums()}
        parts = session.collectives.gather(own)
        self._last = time.monotonic()
        if not session.leads:
            return
        files = {
            "model.pt": _copied(session.model.state_dict()),
            "optimizer.pt": _copied(session.optimizer.state_dict()),
            "extra.pt": _copied(self._extra(session, parts, between)),
        }
        state = session.agent.save_state()
        self.join()
        if wait:
            self._write(files, state)
            return
        self._writer = threading.Thread(target=self._write_or_tell, args=(files, state),
                                        name="pollux-checkpoint")
        self._writer.start()

    def join(self) -> None:
        """Wait for the one that is being written."""
        if self._writer is not None:
            self._writer.join()
            self._writer = None

    def _extra(self, session: Any, parts: list[dict], between: bool) -> dict[str, Any]:
        sums: dict[str, dict[str, float]] = {}
        for name in self._sums():
            sums[name] = total([part["sums"].get(name, {}) for part in parts])
        clock = session.wraps.by_progress
        return {
            "format": FORMAT,
            "epoch": session.epoch,
            "between": int(between),
            "position": session.position.state(),
            "data": session.loader.state() if session.loader is not None else None,
            "rng": [part["rng"] for part in parts],
            "sums": sums,
            "schedulers": [_state(scheduler) for scheduler in _alive(session.wraps.schedulers)],
            "clock": clock.steps if clock is not None else None,
            "scalers": [_state(scaler) for scaler in _alive(session.wraps.scalers)],
            "tracked": {name: thing.state_dict() for name, thing in self.tracked.items()},
        }

    def _sums(self) -> dict[str, dict[str, float]]:
        alive = {name: reference() for name, reference in self.accumulators.items()}
        return {name: dict(each._values) for name, each in alive.items() if each is not None}

    def _write(self, files: dict[str, Any], state: bytes) -> None:
        with Checkpoint.begin(self.directory) as checkpoint:
            for name, content in files.items():
                torch.save(content, f"{checkpoint.path}/{name}")
            checkpoint.write("pollux-agent", state)
            checkpoint.commit(KEEP)

    def _write_or_tell(self, files: dict[str, Any], state: bytes) -> None:
        try:
            self._write(files, state)
            self._error = None
        except (PolluxError, OSError, RuntimeError) as error:
            if str(error) != self._error:
                print(f"pollux: no checkpoint: {error}; the ones before are as they were", file=sys.stderr)
            self._error = str(error)

    # ---- Restoring -------------------------------------------------------------------------

    def restore(self, session: Any) -> None:
        """Go on from the newest checkpoint, if there is one."""
        if self.directory is None:
            return
        checkpoint, note = Checkpoint.newest(self.directory)
        number = checkpoint.number if checkpoint is not None else 0
        if note and session.leads:
            print(f"pollux: {note}", file=sys.stderr)
        numbers = session.collectives.gather(number)
        if len(set(numbers)) > 1:
            raise RuntimeError(f"replicas see different checkpoints in {self.directory}: {numbers}; "
                               "it must be one directory that all of them share")
        if checkpoint is None:
            return
        with checkpoint:
            self._restore(session, checkpoint)

    def _restore(self, session: Any, checkpoint: Checkpoint) -> None:
        extra = _load(checkpoint, "extra.pt")
        if extra.get("format") != FORMAT:
            raise RuntimeError(f"{checkpoint.path}: of another version of pollux")
        session.model.load_state_dict(_load(checkpoint, "model.pt"))
        session.optimizer.load_state_dict(_load(checkpoint, "optimizer.pt"))
        session.agent.restore_state(checkpoint.read("pollux-agent"))
        _give("schedulers", _alive(session.wraps.schedulers), extra["schedulers"])
        _give("scalers", _alive(session.wraps.scalers), extra["scalers"])
        if session.wraps.by_progress is not None and extra["clock"] is not None:
            session.wraps.by_progress.steps = extra["clock"]
        session.epoch = extra["epoch"]
        session.position.restore(extra["position"], bool(extra["between"]))
        if session.loader is not None and extra["data"] is not None:
            session.loader.restore(extra["data"])
        if len(extra["rng"]) == session.world.replicas:
            session.random_state = extra["rng"][session.world.rank]
        self._saved_tracked = extra["tracked"]
        for name, thing in self.tracked.items():
            self._give_tracked(name, thing)
        self.saved_sums = extra["sums"]
        for accumulator in _alive(list(self.accumulators.values())):
            saved = self.saved_sums.pop(accumulator.name, None)
            if saved and session.leads:
                accumulator._values.update(saved)

    def track(self, name: str, thing: Any) -> None:
        """Save it too, and restore it now if there was one of that name."""
        if not (hasattr(thing, "state_dict") and hasattr(thing, "load_state_dict")):
            raise TypeError(f"{name}: only what has state_dict() and load_state_dict() can be tracked")
        self.tracked[name] = thing
        self._give_tracked(name, thing)

    def _give_tracked(self, name: str, thing: Any) -> None:
        if name in self._saved_tracked:
            thing.load_state_dict(self._saved_tracked.pop(name))


def restore_random_state(state: dict[str, Any]) -> None:
    torch.set_rng_state(state["torch"])
    random.setstate(_tuples(state["python"]))
    if state["numpy"] is not None and "numpy" in sys.modules:
        kind, keys, *rest = state["numpy"]
        sys.modules["numpy"].random.set_state((kind, keys.numpy().astype("uint32"), *rest))
    if state["cuda"] is not None and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])


def _random_state() -> dict[str, Any]:
    numpy = None
    if "numpy" in sys.modules:
        kind, keys, *rest = sys.modules["numpy"].random.get_state()
        numpy = [kind, torch.from_numpy(keys.astype("int64")), *rest]
    return {
        "torch": torch.get_rng_state(),
        "python": random.getstate(),
        "numpy": numpy,
        "cuda": torch.cuda.get_rng_state() if torch.cuda.is_initialized() else None,
    }


def _tuples(thing: Any) -> Any:
    return tuple(_tuples(each) for each in thing) if isinstance(thing, (list, tuple)) else thing


def _copied(thing: Any) -> Any:
    """As it is now, on the CPU; tensors that share memory still do in the copy."""
    memo: dict[int, torch.Tensor] = {}

    def copy(part: Any) -> Any:
        if isinstance(part, torch.Tensor):
            key = id(part)
            if key not in memo:
                memo[key] = part.detach().to("cpu", copy=True)
            return memo[key]
        if isinstance(part, dict):
            return {name: copy(each) for name, each in part.items()}
        if isinstance(part, (list, tuple)):
            return type(part)(copy(each) for each in part) if type(part) in (list, tuple) \
                else tuple(copy(each) for each in part)
        return part
    return copy(thing)


def _state(thing: Any) -> Any:
    return thing.state_dict() if hasattr(thing, "state_dict") else None


def _alive(references: list[weakref.ref]) -> list[Any]:
    return [thing for thing in (reference() for reference in references) if thing is not None]


def _give(what: str, things: list[Any], states: list[Any]) -> None:
    if len(things) != len(states):
        raise RuntimeError(f"the checkpoint has {len(states)} {what} and the program {len(things)}: make all of them "
                           "before px.epochs() or px.steps()")
    for thing, state in zip(things, states):
        if state is not None:
            thing.load_state_dict(state)


def _load(checkpoint: Checkpoint, name: str) -> Any:
    return torch.load(f"{checkpoint.path}/{name}", map_location="cpu")
