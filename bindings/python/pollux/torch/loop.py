# SPDX-License-Identifier: Apache-2.0
"""The outer loop of training: epochs, or steps."""
from __future__ import annotations

from typing import Any, Iterator

BY = ("passes", "progress")


def epochs(session: Any, count: int, by: str) -> Iterator[int]:
    if by not in BY:
        raise ValueError(f"px.epochs(by={by!r}): by is one of {', '.join(BY)}")
    session.restore()
    session.until_progress = by == "progress"
    per_epoch = session.dataset_size / session.init_batch
    if session.until_progress:
        session.agent.set_total(count * per_epoch)
        session.advise()
    while not session.done if session.until_progress else session.epoch < count:
        if not session.until_progress:
            left = count - session.epoch
            session.agent.set_total(session.progress + left * per_epoch * session.efficiency())
        yield session.epoch
        session.epoch += 1
        if session.save_wanted:
            session.save_wanted = False
            session.saver.save(session, wait=False, between=True)
    session.end()


def steps(session: Any, count: int) -> Iterator[int]:
    session.restore()
    session.until_progress = session.endless = True
    session.agent.set_total(count)
    session.advise()
    while True:
        if session.update is not None and not session.accumulating:
            session.settle()
            session.boundary()
        if session.done:
            break
        yield int(session.progress + 1e-6)
    session.end()
