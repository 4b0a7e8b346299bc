# SPDX-License-Identifier: Apache-2.0
"""The outer loop of training: px.epochs() and px.steps()."""
from __future__ import annotations

from typing import Any, Iterator

BY = ("passes", "progress")


def epochs(session: Any, count: int, by: str) -> Iterator[int]:
    if by not in BY:
        raise ValueError(f"px.epochs(by={by!r}): by is one of {', '.join(BY)}")
    if by == "progress" and not session.pass_samples:
        raise ValueError("px.epochs(by=\"progress\"): a stream has no length; "
                         "use px.steps()")
    session.begin_loop()
    if by == "progress":
        yield from _epochs_of_progress(session, count)
    else:
        yield from _epochs_of_passes(session, count)
    session.end()


def _epochs_of_passes(session: Any, count: int) -> Iterator[int]:
    while session.epoch < count:
        session.agent.set_total(_expected_total(session, count))
        yield session.epoch
        session.end_epoch()
        if session.epoch < count:
            session.advise()
            session.boundary()


def _epochs_of_progress(session: Any, count: int) -> Iterator[int]:
    session.aim(count * session.pass_updates)
    while not session.done:
        yield session.epoch
        session.end_epoch()
        session.advise()
        session.boundary()


def _expected_total(session: Any, count: int) -> float:
    """The progress at the end of training if the efficiency does not change; 0: unknown."""
    if not session.pass_samples:
        return 0.0
    begun = session.position.offset / session.pass_samples if session.position.begun else 0.0
    left = (count - session.epoch - begun) * session.pass_updates
    return session.progress + max(left, 0.0) * session.efficiency()


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
        yield int(session.progress + 1e-6)
    session.end()
