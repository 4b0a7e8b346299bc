# SPDX-License-Identifier: Apache-2.0
"""The elastic loader: the source of training data.

It returns one micro-batch per iteration of the user's loop, and tells the session where updates
begin and end.  plan.py computes which samples these are, batches.py fetches them.
"""
from __future__ import annotations

from typing import Any, Callable, Iterator

from torch.utils.data import DataLoader, IterableDataset

from ..agent import Batch
from .batches import IndexedSource, Source, StreamSource
from .delegating import Delegating


class ElasticLoader(Delegating):
    """Iterating begins a pass over the data, or continues an interrupted one.  Within px.steps(),
    and within an epoch that is counted by progress, the next pass follows at once.  Other
    attributes are those of the given loader."""

    def __init__(self, loader: DataLoader, session: Any, of_program: DataLoader) -> None:
        """of_program: the loader that px.prepare() got; another one if px.prepare(batch_size=...)
        has made this one of it."""
        super().__init__(loader)
        self._given = loader
        self._session = session
        self._turn = 0  # number of the current iteration
        self._source: Source = StreamSource(loader, session) \
            if isinstance(loader.dataset, IterableDataset) else IndexedSource(loader, session)

        def noted(original: Callable[[], Any]) -> Any:
            session.misuse.given_loader_iterated()
            return original()
        session.patches.override(of_program, {"__iter__": noted})

    @property
    def batch_size(self) -> int:
        """Samples of a replica's micro-batch, with the current advice."""
        return self._batch().m

    def __len__(self) -> int:
        """Iterations of an epoch with the current batch; by progress, an estimate.  Before training
        begins: those with batch M0 on one replica, which learning-rate schedules need."""
        session = self._session
        if self._begun():
            batch = self._batch()
            samples = session.samples_of(batch)
            if session.epochs.by_progress and samples > session.init_batch:
                return session.epochs.updates(session.expected_gain(samples)) * (batch.s + 1)
            return self._source.iterations(batch, samples)
        if not session.pass_samples:
            return len(self._given)
        return session.pass_updates

    def _begun(self) -> bool:
        return self._session.advice.batch.m > 0

    def _batch(self) -> Batch:
        session = self._session
        if self._begun():
            return session.status().batch
        return Batch(-(-session.init_batch // session.world.replicas), 0)

    def __iter__(self) -> Iterator[Any]:
        session, position = self._session, self._session.position
        self._turn = turn = self._turn + 1
        session.misuse.iterated(session.endless or session.epochs.by is not None)
        session.restore()
        session.abandon()
        session.epochs.begin_iteration()
        position.begin()
        session.begin_pass(choose=not session.endless)
        session.before_data()
        passes_follow = session.passes_follow
        try:
            while not session.done and (passes_follow or not position.ended):
                if position.ended:
                    position.begin()
                    if not session.endless:
                        session.agent.pass_begin()
                yield from self._updates_of_batch(turn)
                if passes_follow and position.ended and position.offset == 0:
                    raise RuntimeError("the loader has no batch: training would never end")
        finally:
            if self._turn == turn:
                session.abandon()
                session.reporter.pause()

    def _updates_of_batch(self, turn: int) -> Iterator[Any]:
        """Updates as advised, until the pass or the epoch ends or the advice changes."""
        session = self._session
        for update, batches in self._source.rest_of_pass(session.advised_from_now()):
            if update.batch != session.advice.batch:
                return  # data that was fetched in advance is fetched again in the new sizes
            session.begin_update(update)
            for micro in range(update.micro_steps):
                data = next(batches)
                session.begin_micro(micro)
                yield data
                if self._turn != turn:
                    raise RuntimeError("the loader is being iterated twice at the same time; "
                                       "finish one iteration before the next")
            session.settle()
            session.boundary()
            if session.done:
                return
        session.position.ended = True

    def state(self) -> Any:
        """What a checkpoint keeps of this replica's data, besides the position."""
        return self._source.state()

    def states(self) -> list[Any]:
        """That of each replica.  A collective operation for a stream only: all replicas have the
        same order."""
        state = self._source.state()
        if isinstance(self._source, StreamSource):
            return self._session.collectives.gather(state)
        return [state]

    def ends_now(self) -> bool:
        """Whether this iteration ends with the current update, which was made.  False for a
        stream: its end is not known before it is read."""
        session = self._session
        if session.update is None or not session.finished:
            return False
        return session.done or not session.passes_follow and self._source.ends_at(
            session.position.offset + session.update.samples)

    def restore(self, states: list[Any]) -> None:
        """states: those of all replicas that wrote the checkpoint."""
        self._source.restore(states)


def check(loader: DataLoader) -> None:
    """Raise ValueError if the loader cannot be made elastic."""
    if loader.batch_size is None:
        raise ValueError("the loader has no batch_size of its own (a batch_sampler, or "
                         "batch_size=None): say it by px.prepare(batch_size=...), or use "
                         "px.observe()")
