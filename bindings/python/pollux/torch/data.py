# SPDX-License-Identifier: Apache-2.0
"""The elastic loader, that training takes its data from.

It hands out one micro-batch per iteration of the user's loop, and tells the session where updates
begin and end.  Which samples these are is arithmetic (plan.py); where they come from is in batches.py.
"""
from __future__ import annotations

from typing import Any, Iterator

from torch.utils.data import DataLoader, IterableDataset

from ..agent import Batch
from .batches import Indexed, Rows, Streamed


class ElasticLoader:
    """Iterating begins a pass over the data, or goes on with one that was interrupted; within
    px.steps() passes follow each other without end.  Other attributes are those of the loader that
    it was made of."""

    def __init__(self, loader: DataLoader, session: Any) -> None:
        self._given = loader
        self._session = session
        self._turn = 0  # which iteration is the current one
        self._rows: Rows = Streamed(loader, session) \
            if isinstance(loader.dataset, IterableDataset) else Indexed(loader, session)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._given, name)

    @property
    def batch_size(self) -> int:
        """Samples of a replica's micro-batch, as things stand."""
        return self._batch().m

    def __len__(self) -> int:
        """Iterations of a whole pass: as things stand, and before training begins as with M0 on one
        replica, which is what learning-rate schedules are made for."""
        session = self._session
        if self._begun():
            return self._rows.iterations(self._batch(), session.samples_of(self._batch()))
        if not session.pass_samples:
            return len(self._given)
        whole, rest = divmod(session.pass_samples, session.init_batch)
        return whole + (rest > 0 and not self._given.drop_last)

    def _begun(self) -> bool:
        return self._session.advice.batch.m > 0

    def _batch(self) -> Batch:
        session = self._session
        if self._begun():
            return session.advice.batch
        return Batch(-(-session.init_batch // session.world.replicas), 0)

    def __iter__(self) -> Iterator[Any]:
        session, position = self._session, self._session.position
        self._turn = turn = self._turn + 1
        session.restore()
        session.abandon()
        position.begin()
        session.begin_pass(choose=not session.endless)
        session.go_on()
        try:
            while not session.done and (session.endless or not position.ended):
                if position.ended:
                    position.begin()
                yield from self._stretch(turn)
                if session.endless and position.ended and position.offset == 0:
                    raise RuntimeError("the loader has no batch: px.steps() would never end")
        finally:
            if self._turn == turn:
                session.abandon()
                session.reporter.pause()

    def _stretch(self, turn: int) -> Iterator[Any]:
        """Updates of one batch, until the pass ends or another batch is advised."""
        session = self._session
        batch = session.advice.batch
        for update, batches in self._rows.row(batch):
            session.begin_update(update)
            for micro in range(update.micro_steps):
                data = next(batches)
                session.begin_micro(micro)
                yield data
                if self._turn != turn:
                    raise RuntimeError("another iteration of the loader has begun: there can be "
                                       "one at a time")
            session.settle()
            session.boundary()
            if session.done:
                break
            if session.advice.batch != batch:
                return
        session.position.ended = True

    def state(self) -> Any:
        """What a replica needs to know, besides the position."""
        return self._rows.state()

    def restore(self, states: list[Any]) -> None:
        """From those of all replicas there were."""
        self._rows.restore(states)


def check(loader: DataLoader) -> None:
    """Whether a loader can be made elastic; a sentence if not."""
    if loader.batch_size is None:
        raise ValueError("the loader has no batch_size of its own (a batch_sampler, or "
                         "batch_size=None), so its batch cannot be changed; give it batch_size, or "
                         "use px.observe()")
