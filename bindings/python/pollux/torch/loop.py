# SPDX-License-Identifier: Apache-2.0
"""The outer loop of training: px.epochs() and px.steps()."""
from __future__ import annotations

import math
import sys
from typing import Any, Iterator, Optional

BY = ("passes", "progress")
TOLERANCE = 1e-6  # rounding errors of progress, which is a long sum


class EpochClock:
    """How px.epochs() counts, and where the current epoch ends.

    by="passes": an epoch is a pass over the data.  by="progress": an epoch is the progress of a
    pass with batch M0, and the data goes on where the epoch before has stopped.  The last update of
    an epoch may exceed its end; the next one is then shorter by as much, so that n epochs end where
    they would with M0."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self.by: Optional[str] = None       # None: no loop of epochs runs
        self.idle = 0       # updates without progress since the loader was iterated
        self._loop = 0      # number of the loop
        self._count = 0     # its epochs
        self._end: Optional[float] = None   # by progress: where the current or last epoch ends
        self._goal = math.inf               # where the running iteration of the loader ends
        self._found: Optional[str] = None   # how the loop of the checkpoint counts
        self._found_is_old = False          # it was written when all loops counted passes

    @property
    def by_progress(self) -> bool:
        return self.by == "progress"

    @property
    def ended(self) -> bool:
        """Whether an epoch by progress has ended.  Updates that make no progress, because they are
        skipped, must not extend it for ever: it has at most as many of them as updates with M0."""
        return self._session.progress + TOLERANCE >= self._goal \
            or self.by_progress and self.idle >= max(self._session.pass_updates, 1)

    def begin(self, count: int, by: Optional[str]) -> int:
        """A loop begins, or continues as it was begun.  Returns its number."""
        session, self._count, self._goal = self._session, count, math.inf
        self._loop += 1
        wanted = by or ("progress" if session.adapt and session.pass_samples else "passes")
        self.by, self._found = self._found or wanted, None
        session.position.continuous = self.by_progress
        if self.by != wanted and session.leads:
            self._say_why(by)
        return self._loop

    def _say_why(self, by: Optional[str]) -> None:
        """Say why the loop counts otherwise than the program asks for."""
        if self._found_is_old:
            print("pollux: the checkpoint was written when an epoch was a pass over the data: "
                  "epochs stay passes until this loop ends", file=sys.stderr, flush=True)
        elif by is not None:
            print(f"pollux: the checkpoint counts epochs by {self.by}: this goes on until its loop "
                  f"ends, whatever px.epochs(by={by!r}) says", file=sys.stderr, flush=True)

    def leave(self, loop: int) -> None:
        """The loop has ended or was left.  Another one may have begun since."""
        if loop == self._loop:
            self.by, self._goal = None, math.inf
            self._session.position.continuous = False

    def begin_iteration(self) -> None:
        """The loader is iterated: an epoch begins or goes on."""
        self.idle = 0
        if self.by_progress:
            self._end = self._goal = self._aim()

    def expect_total(self) -> None:
        """Tell the agent where the loop will end; by passes, if the efficiency does not change."""
        session = self._session
        if not self.by_progress:
            session.agent.set_total(self._expected_of_passes())
        else:
            self._aim()

    def again(self) -> None:
        """The epoch begins again, because its data has changed."""
        self._end = None

    def updates(self, gain: float) -> int:
        """Updates of an epoch by progress if each has this gain."""
        return math.ceil(self._session.pass_updates / gain)

    def _aim(self) -> float:
        """Train until the end of the loop.  Returns where the epoch that begins or goes on ends."""
        session, end = self._session, self._end
        if end is None or not session.position.resumed:
            end = self._next_end()
        session.aim(end + self._left_after_this() * session.pass_updates)
        return end

    def _next_end(self) -> float:
        progress = self._session.progress
        begin = progress if self._end is None else min(self._end, progress)
        return begin + self._session.pass_updates

    def _left_after_this(self) -> int:
        return max(self._count - self._session.epoch - 1, 0)

    def _expected_of_passes(self) -> float:
        """0: unknown."""
        session = self._session
        if not session.pass_samples:
            return 0.0
        begun = session.position.offset / session.pass_samples if session.position.begun else 0.0
        left = (self._count - session.epoch - begun) * session.pass_updates
        return session.progress + max(left, 0.0) * session.efficiency()

    def state(self) -> dict[str, Any]:
        return {"by": self.by, "end": self._end}

    def restore(self, state: Optional[dict[str, Any]]) -> None:
        """None: the checkpoint is of a version in which all loops counted passes."""
        self._found_is_old = state is None
        state = state or {"by": "passes", "end": None}
        self._found, self._end = state["by"], state["end"]
        self._session.position.continuous = self._found == "progress"


def epochs(session: Any, count: int, by: Optional[str]) -> Iterator[int]:
    if by not in (None, *BY):
        raise ValueError(f"px.epochs(by={by!r}): by is one of {', '.join(BY)}")
    session.check_prepared()
    if by == "progress" and not session.pass_samples:
        raise ValueError("px.epochs(by=\"progress\"): a stream has no length; "
                         "use px.steps()")
    session.begin_loop()
    loop = session.epochs.begin(count, by)
    try:
        while session.epoch < count:
            session.epochs.expect_total()
            yield session.epoch
            session.end_epoch()
            if session.epoch < count:
                session.advise()
                session.boundary()
    finally:
        session.epochs.leave(loop)
    session.end()


def steps(session: Any, count: int) -> Iterator[int]:
    session.begin_loop()
    session.endless = True
    session.aim(count)
    while True:
        if session.update is not None and not session.accumulating:
            session.settle()
            session.boundary()
        if session.done:
            break
        session.misuse.rate_explained()     # the program gets the progress
        yield int(session.progress + TOLERANCE)
    session.end()
