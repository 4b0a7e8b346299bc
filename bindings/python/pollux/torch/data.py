# SPDX-License-Identifier: Apache-2.0
"""Loaders: the elastic one that trains, and shares of others for evaluation.

The elastic loader hands out one micro-batch per iteration.  Which samples these are is arithmetic
(plan.py) on a position that moves when an update is done, not when its data is fetched; so workers
may fetch ahead, and what they fetched for nothing is fetched again by whoever goes on.
"""
from __future__ import annotations

import itertools
from typing import Any, Iterable, Iterator, Optional

import torch
from torch.utils.data import DataLoader, IterableDataset, RandomSampler, SequentialSampler
from torch.utils.data.distributed import DistributedSampler

from ..agent import Batch
from ..checkpoint import indices
from .plan import Update, updates

COPIED = ("num_workers", "collate_fn", "pin_memory", "timeout", "worker_init_fn",
          "multiprocessing_context", "persistent_workers")


class Order:
    """In which order a pass takes the samples."""

    def __init__(self, loader: DataLoader, session: Any) -> None:
        self.length = len(loader.sampler) if _custom(loader.sampler) else len(loader.dataset)
        self._session = session
        self._sampler = loader.sampler if _custom(loader.sampler) else None
        shuffled = getattr(loader.sampler, "shuffle", isinstance(loader.sampler, RandomSampler))
        self._shuffled = bool(shuffled)
        self._drawn: Optional[list[int]] = None
        self._drawn_for = -1

    def prepare(self, number: int) -> None:
        """All replicas, before a pass: a sampler of the user's is asked once, by replica 0."""
        if self._sampler is None or self._drawn_for == number:
            return
        drawn = [int(index) for index in self._sampler] if self._session.leads else None
        self._drawn = self._session.collectives.gather(drawn)[0]
        self._drawn_for = number
        self.length = len(self._drawn)

    def take(self, number: int, start: int, count: int) -> list[int]:
        if self._drawn is not None:
            return self._drawn[start:start + count]
        if not self._shuffled:
            return list(range(start, start + count))
        return indices(self._session.seed, self.length, number, start, count).tolist()

    def state(self) -> Optional[dict[str, Any]]:
        if self._drawn is None:
            return None
        return {"drawn": torch.tensor(self._drawn, dtype=torch.int64), "pass": self._drawn_for}

    def restore(self, state: Optional[dict[str, Any]]) -> None:
        if state is not None:
            self._drawn, self._drawn_for = state["drawn"].tolist(), int(state["pass"])
            self.length = len(self._drawn)


class Ahead:
    """The batch sampler of torch's loader: index lists of the micro-steps to come."""

    def __init__(self) -> None:
        self.row: Iterable[list[int]] = ()

    def __iter__(self) -> Iterator[list[int]]:
        return iter(self.row)


class ElasticLoader:
    """Iterating begins a pass over the data, or goes on with one that was interrupted; within
    px.steps() passes follow each other without end."""

    def __init__(self, loader: DataLoader, session: Any) -> None:
        self._session = session
        self.dataset = loader.dataset
        self.drop_last = loader.drop_last
        self._rows: Rows = Streamed(loader, session) if isinstance(loader.dataset, IterableDataset) \
            else Indexed(loader, session)

    @property
    def batch_size(self) -> int:
        """Samples of a replica's micro-batch, as things stand."""
        return self._session.advice.batch.m

    def __len__(self) -> int:
        """Iterations of a whole pass, as things stand."""
        return self._rows.iterations()

    def __iter__(self) -> Iterator[Any]:
        session = self._session
        session.restore()
        session.position.begin()
        session.begin_pass(choose=not session.endless)
        try:
            while not session.position.ended or session.endless:
                if session.position.ended:
                    session.position.begin()
                yield from self._stretch()
        finally:
            session.abandon()
            session.reporter.pause()

    def _stretch(self) -> Iterator[Any]:
        """Updates of one batch, until the pass ends or another batch is advised."""
        session = self._session
        batch = session.advice.batch
        row = self._rows.updates(batch)
        batches = None
        for update in row:
            session.begin_update(update)
            if batches is None:
                batches = self._rows.fetch(batch)
            for micro in range(update.micro_steps):
                session.resume_random_state()
                data = next(batches)
                session.begin_micro(micro)
                yield data
            session.settle()
            session.boundary()
            if session.done:
                break
            if session.advice.batch != batch:
                return
        session.position.ended = True

    def state(self) -> Any:
        return self._rows.state()

    def restore(self, state: Any) -> None:
        self._rows.restore(state)


class Rows:
    """Where micro-batches come from."""

    def updates(self, batch: Batch) -> Iterator[Update]:
        """The rest of the pass."""
        raise NotImplementedError

    def fetch(self, batch: Batch) -> Iterator[Any]:
        """The micro-batches of updates(batch) in this replica."""
        raise NotImplementedError

    def iterations(self) -> int:
        raise NotImplementedError

    def state(self) -> Any:
        return None

    def restore(self, state: Any) -> None:
        pass


class Indexed(Rows):
    """A dataset whose samples have numbers."""

    def __init__(self, loader: DataLoader, session: Any) -> None:
        self._session = session
        self._drop_last = loader.drop_last
        self.order = Order(loader, session)
        self._ahead = Ahead()
        self._generator = torch.Generator()
        options = {name: getattr(loader, name) for name in COPIED}
        if loader.num_workers > 0:
            options["prefetch_factor"] = loader.prefetch_factor
        self._loader = DataLoader(loader.dataset, batch_sampler=self._ahead,  # type: ignore[arg-type]
                                  generator=loader.generator or self._generator, **options)

    def updates(self, batch: Batch) -> Iterator[Update]:
        session, world = self._session, self._session.world
        self.order.prepare(session.position.number)
        return updates(self.order.length, session.position.offset, session.samples_of(batch), batch,
                       world.replicas, world.rank, self._drop_last)

    def fetch(self, batch: Batch) -> Iterator[Any]:
        self._ahead.row = self._indices(batch, self._session.position.number)
        # Seeds of workers are those of the pass, and nobody else's random numbers are used up.
        self._generator.manual_seed(self._session.seed * 1_000_003 + self._session.position.number)
        return iter(self._loader)

    def _indices(self, batch: Batch, number: int) -> Iterator[list[int]]:
        for update in self.updates(batch):
            for micro in range(update.micro_steps):
                yield self.order.take(number, *update.share(micro))

    def iterations(self) -> int:
        session, world = self._session, self._session.world
        batch = session.advice.batch
        return sum(update.micro_steps for update in updates(
            self.order.length, 0, session.samples_of(batch), batch, world.replicas, world.rank, self._drop_last))

    def state(self) -> Any:
        return self.order.state()

    def restore(self, state: Any) -> None:
        self.order.restore(state)


class Streamed(Rows):
    """A dataset that is a stream.  Each replica has its own, which the dataset must see to; its samples are put
    into batches here.  A stream with state_dict() and load_state_dict() goes on where it stopped; another begins
    anew."""

    def __init__(self, loader: DataLoader, session: Any) -> None:
        self._session = session
        self._collate = loader.collate_fn if loader.batch_size is not None else _as_it_is
        self._dataset = loader.dataset
        options = {name: getattr(loader, name) for name in COPIED if name != "collate_fn"}
        if loader.num_workers > 0:
            options["prefetch_factor"] = loader.prefetch_factor
        self._loader = DataLoader(loader.dataset, batch_size=None, collate_fn=_as_it_is, **options)
        self._stream: Optional[Iterator[Any]] = None
        self._next: list[Any] = []

    def updates(self, batch: Batch) -> Iterator[Update]:
        session, world = self._session, self._session.world
        if self._stream is None:
            self._stream = iter(self._loader)
        while self._filled(batch):
            samples = world.replicas * batch.m * (batch.s + 1)
            yield Update(session.position.offset, samples, batch, world.replicas, world.rank)
        self._stream = None

    def _filled(self, batch: Batch) -> bool:
        """Whether all replicas have the samples of another update; what is left over at the end is dropped."""
        wanted = batch.m * (batch.s + 1)
        self._next += itertools.islice(self._stream, wanted - len(self._next))
        short = self._session.collectives.sum([float(len(self._next) < wanted)])[0]
        return short == 0

    def fetch(self, batch: Batch) -> Iterator[Any]:
        while True:
            micro, self._next = self._next[:batch.m], self._next[batch.m:]
            yield self._collate(micro)

    def iterations(self) -> int:
        raise TypeError("a stream has no length")

    def state(self) -> Any:
        states = getattr(self._dataset, "state_dict", None)
        return states() if states is not None else None

    def restore(self, state: Any) -> None:
        if state is not None:
            self._dataset.load_state_dict(state)


class EvaluationLoader:
    """This replica's share of a loader: every sample in exactly one replica, in order."""

    def __init__(self, loader: DataLoader, session: Any, stoppable: bool) -> None:
        self._session = session
        self._stoppable = stoppable
        self.dataset = loader.dataset
        self._rounds = 0
        world = session.world
        if world.replicas == 1 or isinstance(loader.dataset, IterableDataset):
            self._loader = loader
            return
        options = {name: getattr(loader, name) for name in COPIED}
        if loader.num_workers > 0:
            options["prefetch_factor"] = loader.prefetch_factor
        share = range(world.rank, len(loader.dataset), world.replicas)
        self._loader = DataLoader(loader.dataset, batch_size=loader.batch_size or 1, sampler=share,  # type: ignore
                                  **options)
        longest = -(-len(loader.dataset) // world.replicas)
        self._rounds = -(-longest // (loader.batch_size or 1))

    def __len__(self) -> int:
        return len(self._loader)

    def __iter__(self) -> Iterator[Any]:
        session = self._session
        session.reporter.pause()
        session.sync_buffers()
        if not self._stoppable:
            yield from self._loader
            return
        batches = iter(self._loader)
        for _round in itertools.count() if not self._rounds else range(self._rounds):
            session.stop_if_asked()
            try:
                yield next(batches)
            except StopIteration:
                if not self._rounds:
                    return


def check(loader: Any) -> None:
    """Whether a loader can be made elastic; a sentence if not."""
    if not isinstance(loader, DataLoader):
        raise TypeError(f"px.prepare() takes a torch.utils.data.DataLoader, not {type(loader).__name__}")
    if loader.batch_size is None:
        raise ValueError("the loader has no batch_size of its own (a batch_sampler, or batch_size=None), so its batch "
                         "cannot be changed; give it batch_size, or use px.observe()")


def _custom(sampler: Any) -> bool:
    return not isinstance(sampler, (RandomSampler, SequentialSampler, DistributedSampler)) \
        and not type(sampler).__name__.startswith("_Infinite") \
        or isinstance(sampler, RandomSampler) and (sampler.replacement or sampler.num_samples != len(sampler.data_source))


def _as_it_is(thing: Any) -> Any:
    return thing
