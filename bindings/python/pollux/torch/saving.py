# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of a session: copied between two updates, written in the background.

    model.pt, optimizer.pt       their state_dict()
    extra.pt                     schedulers, scalers, tracked objects, sums, position, random state
    pollux-agent                 the state of the agent

Training continues while the copy is written.  libpollux makes the checkpoint atomic.  Replica 0
writes; all replicas read.
"""
from __future__ import annotations

import os
import sys
import threading
import time
import weakref
from errno import ESTALE
from typing import Any, Optional

import torch

from .._library import PolluxError
from ..checkpoint import Checkpoint
from .report import Sums, total
from .states import (copied, load_plain_state, plain_state, random_state, revived, without_code,
                     write_file)

KEEP = 3
FORMAT = 1


class Saver:
    """Saves and restores one session."""

    def __init__(self, directory: Optional[str], period_s: float) -> None:
        self.directory = directory
        self.sums = Sums()
        self.replaced = False               # a newer generation of this job runs: training must end
        self._period_s = period_s
        self._last = time.monotonic()
        self._tracked: dict[str, Any] = {}
        self._found: dict[str, Any] = {}    # states from a checkpoint for objects not yet tracked
        self._writer: Optional[threading.Thread] = None
        self._error = ""                    # why the last checkpoint could not be written
        self._saved: Any = None     # in replica 0: the progress that the newest checkpoint holds

    def due(self, asked: bool) -> bool:
        """Whether to write a checkpoint now: one was asked for, or the period is over.  False while
        the last one is being written, so that training does not wait."""
        if self.directory is None or self._writer is not None and self._writer.is_alive():
            return False
        return asked or time.monotonic() - self._last >= self._period_s

    # ---- Saving ----------------------------------------------------------------------------

    def save(self, session: Any, wait: bool) -> bool:
        """Save, between updates; a collective operation.  wait: return when it is on disk, False if
        it could not be written.  Without wait a failure is printed once and training continues."""
        if self.directory is None:
            return True
        own = {"rng": session.random_state or random_state(), "sums": self.sums.state(session),
               "data": session.loader.state() if session.loader is not None else None}
        parts = session.collectives.gather(own)
        self._last = time.monotonic()
        if not session.leads:
            return True
        progress = _progress_of(session)
        files = {
            "model.pt": copied(plain_state(session.model)),
            "optimizer.pt": copied(session.optimizer.state_dict()),
            "extra.pt": copied(self._extra(session, parts)),
        }
        agent = session.agent.save_state()
        self.join()
        if wait:
            self._error = ""
            return self._write(files, agent, progress)
        self._writer = threading.Thread(target=self._write, args=(files, agent, progress),
                                        name="pollux-checkpoint")
        self._writer.start()
        return True

    def save_at_end(self, session: Any) -> None:
        """Save and wait, unless the newest checkpoint holds this state already.  A collective
        operation: replica 0 knows whether that was written."""
        if self.directory is None:
            return
        self.join()
        if session.collectives.broadcast([self._saved != _progress_of(session)])[0]:
            self.save(session, wait=True)

    def join(self) -> None:
        """Wait until the current checkpoint is written."""
        if self._writer is not None:
            self._writer.join()
            self._writer = None

    def state(self, session: Any) -> dict[str, Any]:
        """The state for a checkpoint of the program's own: see pollux.torch.state_dict()."""
        agent = torch.frombuffer(bytearray(session.agent.save_state()), dtype=torch.uint8)
        return copied({**_own_state(session, session.loader.states()), "agent": agent})

    def load(self, session: Any, state: dict[str, Any]) -> None:
        _check_format(state, "this state")
        session.agent.restore_state(bytes(state["agent"].tolist()))
        _restore_own_state(session, state)

    def _extra(self, session: Any, parts: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            **_own_state(session, [part["data"] for part in parts]),
            "rng": [part["rng"] for part in parts],
            "sums": {name: total([part["sums"].get(name, {}) for part in parts])
                     for name in parts[0]["sums"]},
            "schedulers": [without_code(scheduler.state_dict())
                           for scheduler in alive(session.patches.schedulers)],
            "scalers": [scaler.state_dict() for scaler in alive(session.patches.scalers)],
            "tracked": {**self._found, **{name: plain_state(thing)
                                          for name, thing in self._tracked.items()}},
        }

    def _write(self, files: dict[str, Any], agent: bytes, progress: Any) -> bool:
        """Write the files, which hold this progress.  A failure is printed unless it is the same
        as the last one."""
        try:
            os.makedirs(self.directory, exist_ok=True)  # type: ignore[arg-type]
            with Checkpoint.begin(self.directory) as checkpoint:  # type: ignore[arg-type]
                for name, content in files.items():
                    write_file(os.path.join(checkpoint.path, name), content)
                checkpoint.write("pollux-agent", agent)
                checkpoint.commit(KEEP)
        except Exception as error:  # of any kind: tracked objects may raise anything
            self.replaced |= isinstance(error, PolluxError) and error.code == ESTALE
            self._print_once(str(error) or type(error).__name__)
            return False
        self._error = ""
        self._saved = progress
        return True

    def _print_once(self, error: str) -> None:
        if self._error != error:
            print(f"pollux: no checkpoint could be written to {self.directory}: {error}; "
                  "earlier checkpoints are unchanged", file=sys.stderr, flush=True)
        self._error = error

    # ---- Restoring -------------------------------------------------------------------------

    def restore(self, session: Any) -> None:
        """Restore the newest checkpoint, if there is one.  A collective operation."""
        if self.directory is None:
            return
        checkpoint, note = _newest(session, self.directory)
        if note and session.leads:
            print(f"pollux: {note}", file=sys.stderr, flush=True)
        if checkpoint is not None:
            with checkpoint:
                try:
                    self._restore(session, checkpoint)
                except Exception as error:
                    raise RuntimeError(
                        f"training cannot resume from {checkpoint.path}: {error}.  Make all "
                        "objects that are saved, such as parameter groups, before px.epochs() or "
                        "px.steps(); give another program another checkpoint directory"
                    ) from error
                if session.leads:
                    print(f"pollux: training resumes from {checkpoint.path}", file=sys.stderr,
                          flush=True)

    def _restore(self, session: Any, checkpoint: Checkpoint) -> None:
        extra = _load(checkpoint, "extra.pt")
        _check_format(extra, checkpoint.path)
        load_plain_state(session.model, _load(checkpoint, "model.pt"))
        session.optimizer.load_state_dict(_load(checkpoint, "optimizer.pt"))
        session.agent.restore_state(checkpoint.read("pollux-agent"))
        _give("schedulers", alive(session.patches.schedulers), extra["schedulers"])
        _give("scalers", alive(session.patches.scalers), extra["scalers"])
        _restore_own_state(session, extra)
        if len(extra["rng"]) == session.world.replicas:
            session.random_state = extra["rng"][session.world.rank]
        self._found = extra["tracked"]
        for name, thing in self._tracked.items():
            self._give_found(name, thing)
        self.sums.restore(session, extra["sums"])
        self._saved = _progress_of(session)

    def track(self, name: str, thing: Any) -> None:
        """Save this object too.  If the checkpoint has one of that name, restore it now."""
        if not (hasattr(thing, "state_dict") and hasattr(thing, "load_state_dict")):
            raise TypeError(f"px.track({name!r}): an object must have state_dict() and "
                            f"load_state_dict(); a {type(thing).__name__} has not")
        if self._tracked.get(name, thing) is not thing:
            raise ValueError(f"px.track({name!r}): another object is tracked under this name")
        self._tracked[name] = thing
        self._give_found(name, thing)

    def _give_found(self, name: str, thing: Any) -> None:
        if name in self._found:
            load_plain_state(thing, self._found.pop(name))


def _own_state(session: Any, data: list[Any]) -> dict[str, Any]:
    """What Pollux itself needs to go on, except for the agent."""
    clock = session.patches.by_progress
    return {
        "format": FORMAT,
        "epoch": session.epoch,
        "epochs": session.epochs.state(),
        "position": session.position_after_update(),
        "data": data,
        "clock": clock.steps if clock is not None else None,
        "clocks": session.patches.steppers.state(),
    }


def _restore_own_state(session: Any, state: dict[str, Any]) -> None:
    if session.patches.by_progress is not None and state["clock"] is not None:
        session.patches.by_progress.steps = state["clock"]
    session.patches.steppers.restore(state.get("clocks", []))
    session.epoch = state["epoch"]
    session.position.restore(state["position"])
    session.epochs.restore(state.get("epochs"))
    if session.loader is not None:
        session.loader.restore(state["data"])


def _check_format(state: dict[str, Any], what: str) -> None:
    if state.get("format") != FORMAT:
        raise RuntimeError(f"{what} was written by another version of pollux: this one reads "
                           f"format {FORMAT}, not {state.get('format')}")


def alive(references: list[weakref.ref]) -> list[Any]:
    return [thing for thing in (reference() for reference in references) if thing is not None]


def _progress_of(session: Any) -> Any:
    return session.epoch, session.position.state(), session.agent.status().progress


def _newest(session: Any, directory: str) -> tuple[Optional[Checkpoint], str]:
    """The newest checkpoint, and a sentence about newer ones that are damaged.  If a replica cannot
    read it, or finds another one, all replicas raise an error."""
    checkpoint, note, error = None, "", ""
    try:
        checkpoint, note = Checkpoint.newest(directory)
    except PolluxError as found:
        error = str(found)
    number = checkpoint.number if checkpoint is not None else 0
    found_by_all = session.collectives.gather((number, error))
    for _number, error in found_by_all:
        if error:
            raise RuntimeError(f"training cannot resume from {directory}: {error}")
    numbers = [number for number, _error in found_by_all]
    if len(set(numbers)) > 1:
        raise RuntimeError(f"replicas see different checkpoints in {directory}: {numbers}; the "
                           "directory must be on a file system that all replicas share")
    return checkpoint, note


def _give(what: str, things: list[Any], states: list[Any]) -> None:
    if len(things) != len(states):
        raise RuntimeError(f"the checkpoint has {len(states)} {what} and the program "
                           f"{len(things)}: make all of them before px.epochs() or px.steps()")
    for thing, state in zip(things, states):
        if state:  # a disabled scaler has an empty state
            thing.load_state_dict(revived(thing, state))


def _load(checkpoint: Checkpoint, name: str) -> Any:
    # Tracked objects may need pickled classes.  Only load checkpoints that you trust.
    return torch.load(os.path.join(checkpoint.path, name), map_location="cpu", weights_only=False)
