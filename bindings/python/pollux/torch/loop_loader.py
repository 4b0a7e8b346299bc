# SPDX-License-Identifier: Apache-2.0
"""Loaders for programs whose training loop is elsewhere, for example in a framework.

    LoopLoader      px.loader(): each iteration is an epoch of px.epochs()
    Updates         yields one batch per update, for frameworks that count updates by batches
"""
from __future__ import annotations

import math
from typing import Any, Iterator, Optional

from torch.utils.data import DataLoader

from .batches import samples_in, updates_in
from .delegating import Delegating
from .loop import epochs


class LoopLoader(Delegating):
    """Iterating begins an epoch, or continues an interrupted one.  After a restart the epochs that
    are done are not repeated, nor is one that has no batch left: the iteration is the next epoch.
    Iterations after the last epoch are empty.  Other attributes are those of torch's loader."""

    def __init__(self, given: DataLoader, session: Any, count: Optional[int]) -> None:
        super().__init__(given)
        self.given = given
        self._session = session
        self._count = math.inf if count is None else count
        self._elastic: Any = None
        self._loop: Any = None      # the generator of px.epochs()
        self._finished = False

    def attach(self, elastic: Any) -> None:
        """px.prepare() has made the elastic loader."""
        self._elastic = self._attributes_of = elastic

    def set_epochs(self, count: int) -> None:
        """How many epochs there are, for a program that did not know it before."""
        self._count = count

    def __len__(self) -> int:
        """As of the loader that px.prepare() returns.  Before that: updates with batch M0."""
        if self._elastic is not None:
            return len(self._elastic)
        samples = samples_in(self.given)
        return updates_in(self.given, samples) if samples else len(self.given)

    def __iter__(self) -> Iterator[Any]:
        session = self._session
        if self._elastic is None:
            raise RuntimeError("px.loader(): call px.prepare(model, opt, loader) before you "
                               "iterate it")
        if self._loop is None:
            self._loop = epochs(session, self._count, None)
        empty = True
        while empty and not self._finished and next(self._loop, None) is not None:
            resumed = session.position.resumed
            for batch in self._elastic:
                empty = False
                yield batch
            if session.epoch + 1 >= self._count:
                self.finish()
            if not resumed:
                break

    def finish(self) -> None:
        """Training has ended, perhaps early: save the final state."""
        if self._finished or self._loop is None:
            return
        self._finished = True
        session = self._session
        session.abandon()
        if session.epoch + 1 < self._count:
            self._loop.close()
            session.end()
        else:
            next(self._loop, None)  # ends the last epoch, and the loop


class Updates(Delegating):
    """Yields the first micro-batch of each update.  The program must take the others from rest()
    before it asks for the next one."""

    def __init__(self, loader: LoopLoader, session: Any) -> None:
        super().__init__(loader)
        self.loader = loader
        self._session = session
        self._batches: Iterator[Any] = iter(())

    def __len__(self) -> int:
        """Updates of an epoch with batch M0.  Larger batches take fewer."""
        return self._session.pass_updates or len(self.loader)

    def __iter__(self) -> Iterator[Any]:
        self._batches = iter(self.loader)
        for first in self._batches:
            yield first
            if self._session.accumulating:
                raise RuntimeError("an update has more micro-batches, which were not used")

    def rest(self) -> Iterator[Any]:
        """The other micro-batches of the current update."""
        while self._session.accumulating:
            yield next(self._batches)
