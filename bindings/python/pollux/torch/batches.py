# SPDX-License-Identifier: Apache-2.0
"""Where the micro-batches of training come from: samples with numbers, or a stream.

Both give a row: the updates that are left of a pass, and their micro-batches in this replica.  A
row ends with its pass, or is dropped for another one when the batch changes.
"""
from __future__ import annotations

import functools
import itertools
import operator
import sys
from typing import Any, Callable, Iterable, Iterator, Optional

import torch
from torch.utils.data import DataLoader, IterableDataset, RandomSampler, SequentialSampler
from torch.utils.data.distributed import DistributedSampler

from ..agent import Batch
from ..checkpoint import indices
from .plan import Update, iterations, updates
from .workers import like, spared

Row = Iterator["tuple[Update, Iterator[Any]]"]


class Rows:
    """What both have in common.  A state is that of one replica; restore() is given those of all
    replicas there were."""

    def row(self, batch: Batch) -> Row:
        """What is left of the pass, each update with the iterator of its micro-batches."""
        raise NotImplementedError

    def iterations(self, batch: Batch, samples: int) -> int:
        """Of the user's loop in a whole pass."""
        raise NotImplementedError

    def state(self) -> Any:
        raise NotImplementedError

    def restore(self, states: list[Any]) -> None:
        raise NotImplementedError


# ---- Samples with numbers -----------------------------------------------------------------------


class Order:
    """In which order a pass takes the samples: all of them in turn, or shuffled by seed and pass;
    or as a sampler of the user's says, which replica 0 asks once per pass."""

    def __init__(self, loader: DataLoader, session: Any) -> None:
        self._session = session
        self._sampler = None if takes_all(loader.sampler) else loader.sampler
        self._shuffled = isinstance(loader.sampler, RandomSampler) \
            or getattr(loader.sampler, "shuffle", False)
        self._drawn: Optional[list[int]] = None
        self._drawn_for = -1
        self.length = samples_in(loader)

    def prepare(self, number: int) -> None:
        """All replicas, before a pass."""
        if self._sampler is None or self._drawn_for == number:
            return
        drawn = [_integer(index) for index in self._sampler] if self._session.leads else None
        self._remember(self._session.collectives.gather(drawn)[0], number)

    def take(self, number: int, start: int, count: int) -> list[int]:
        """The samples at `count` positions of a pass."""
        if self._drawn is not None:
            return self._drawn[start:start + count]
        if not self._shuffled:
            return list(range(start, start + count))
        return indices(self._session.seed, self.length, number, start, count).tolist()

    def state(self) -> Any:
        if not self._session.leads:
            return None
        if self._drawn is None:
            return self._rule()
        return {"drawn": torch.tensor(self._drawn, dtype=torch.int64), "pass": self._drawn_for}

    def restore(self, state: Any) -> None:
        """In another order an offset says nothing: a pass that was interrupted begins anew."""
        if self._sampler is not None and "drawn" in state:
            self._remember(state["drawn"].tolist(), state["pass"])
        elif state != self._rule() and self._session.position.again() and self._session.leads:
            print("pollux: the data, its order or the seed is not that of the checkpoint: the "
                  "epoch begins anew", file=sys.stderr, flush=True)

    def _rule(self) -> dict[str, Any]:
        """What the order of a pass depends on, if no sampler draws it."""
        return {"length": self.length, "seed": self._session.seed if self._shuffled else None}

    def _remember(self, drawn: list[int], number: int) -> None:
        self._drawn, self._drawn_for, self.length = drawn, number, len(drawn)


class Ahead:
    """The batch sampler of torch's loader: index lists of the micro-steps to come."""

    def __init__(self) -> None:
        self.lists: Iterable[list[int]] = ()

    def __iter__(self) -> Iterator[list[int]]:
        return iter(self.lists)


class Indexed(Rows):
    """A dataset whose samples have numbers.  Workers may fetch ahead: the position moves when an
    update is done, and what was fetched for nothing is fetched again by whoever goes on."""

    def __init__(self, loader: DataLoader, session: Any) -> None:
        self._session = session
        self._least = int(loader.batch_size) if loader.drop_last else 1  # type: ignore[arg-type]
        self._order = Order(loader, session)
        self._ahead = Ahead()
        self._generator = torch.Generator()
        self._loader = like(loader, batch_sampler=self._ahead, generator=self._generator)

    def row(self, batch: Batch) -> Row:
        session, position = self._session, self._session.position
        self._order.prepare(position.number)
        samples = session.samples_of(batch)
        plan = functools.partial(
            updates, self._order.length, position.offset, samples, batch, session.world.replicas,
            session.world.rank, min(self._least, samples))
        batches = self._fetch(plan, position.number, position.offset)
        for update in plan():
            yield update, batches

    def _fetch(self, plan: Callable[[], Iterator[Update]], number: int,
               offset: int) -> Iterator[Any]:
        self._ahead.lists = (self._order.take(number, *update.share(micro))
                             for update in plan() for micro in range(update.micro_steps))
        # Workers draw other numbers in every replica and pass, and use up nobody else's.
        seed = hash((self._session.seed, number, offset, self._session.world.rank))
        self._generator.manual_seed(seed & (1 << 63) - 1)
        with spared(self._session.collectives):
            batches = iter(self._loader)
        yield from batches

    def iterations(self, batch: Batch, samples: int) -> int:
        return iterations(self._order.length, samples, batch, self._session.world.replicas,
                          min(self._least, samples))

    def state(self) -> Any:
        return self._order.state()

    def restore(self, states: list[Any]) -> None:
        if states[0] is not None:
            self._order.restore(states[0])


def samples_in(loader: DataLoader) -> int:
    """Samples in a pass; 0 for a stream, and for a sampler that does not say."""
    if isinstance(loader.dataset, IterableDataset):
        return 0
    if takes_all(loader.sampler):
        return len(_source(loader.sampler))
    sampler: Any = loader.sampler
    return len(sampler) if hasattr(sampler, "__len__") else 0


def takes_all(sampler: Any) -> bool:
    """Whether it takes every sample once, or is there to divide them among replicas."""
    iterate = type(sampler).__iter__
    if iterate is RandomSampler.__iter__:
        return not sampler.replacement and sampler.num_samples == len(sampler.data_source)
    return iterate in (SequentialSampler.__iter__, DistributedSampler.__iter__)


def _source(sampler: Any) -> Any:
    return sampler.dataset if isinstance(sampler, DistributedSampler) else sampler.data_source


def _integer(index: Any) -> int:
    try:
        return operator.index(index)
    except TypeError:
        raise TypeError(f"the loader's sampler yields {index!r}: px.prepare() takes samplers of "
                        "integers, that can be saved and shared") from None


# ---- A stream -----------------------------------------------------------------------------------


class Streamed(Rows):
    """A dataset that is a stream.  Each replica has its own, which the dataset must see to; its
    samples are put into batches here.  What not every replica has at the end is dropped.

    A stream with state_dict() and load_state_dict() goes on where it stopped, unless workers read
    it, whose state nobody sees; another begins anew."""

    def __init__(self, loader: DataLoader, session: Any) -> None:
        self._session = session
        self._collate = loader.collate_fn
        self._drop_last = loader.drop_last
        self._dataset = loader.dataset
        self._loader = like(loader, batch_size=None, collate_fn=as_it_is)
        self._stateful = loader.num_workers == 0 and hasattr(loader.dataset, "state_dict") \
            and hasattr(loader.dataset, "load_state_dict")
        self._stream: Iterator[Any] = iter(())
        self._stream_of = -1
        self._waiting: list[Any] = []   # samples of the coming update

    def row(self, batch: Batch) -> Row:
        position, world = self._session.position, self._session.world
        if self._stream_of != position.number:
            self._begin(position.number)
        wanted = batch.m * (batch.s + 1)
        have = wanted
        while have == wanted:
            have = self._gather(wanted)
            if have < (wanted if self._drop_last else 1):
                break
            update = Update(position.offset, world.replicas * have, batch, world.replicas,
                            world.rank)
            yield update, self._micro_batches(update)
        self._waiting = []

    def _begin(self, number: int) -> None:
        self._stream_of = number
        self._waiting = []
        with spared(self._session.collectives):
            self._stream = iter(self._loader)

    def _gather(self, wanted: int) -> int:
        """Read what an update takes.  Returns how many samples every replica has."""
        self._waiting += itertools.islice(self._stream, wanted - len(self._waiting))
        world = self._session.world
        counts = [0.0] * world.replicas
        counts[world.rank] = len(self._waiting)
        return int(min(self._session.collectives.sum(counts)))

    def _micro_batches(self, update: Update) -> Iterator[Any]:
        for micro in range(update.micro_steps):
            _start, count = update.share(micro)
            samples, self._waiting = self._waiting[:count], self._waiting[count:]
            yield self._collate(samples)

    def iterations(self, batch: Batch, samples: int) -> int:
        return -(-len(self._dataset) // batch.m)  # type: ignore[arg-type]

    def state(self) -> Any:
        return self._dataset.state_dict() if self._stateful else None  # type: ignore[attr-defined]

    def restore(self, states: list[Any]) -> None:
        """At another number of replicas, as near as can be."""
        state = states[self._session.world.rank % len(states)]
        if self._stateful and state is not None:
            self._dataset.load_state_dict(state)  # type: ignore[attr-defined]


def as_it_is(thing: Any) -> Any:
    return thing
