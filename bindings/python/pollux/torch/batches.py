# SPDX-License-Identifier: Apache-2.0
"""The micro-batches of training, from a dataset with indices or from a stream.

A source yields the remaining updates of a pass, each with an iterator over this replica's
micro-batches.  When the batch size changes, the caller drops that iteration and starts another.
"""
from __future__ import annotations

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
from .workers import like, sigterm_blocked

Updates = Iterator["tuple[Update, Iterator[Any]]"]
Advised = Callable[[int], "tuple[int, Batch]"]  # samples and batch of the k-th update from now on


class Source:
    """The interface of both.  state() is that of one replica; restore() takes the states of all
    replicas that wrote the checkpoint."""

    def rest_of_pass(self, advised: Advised) -> Updates:
        """The remaining updates of the pass, each with an iterator over its micro-batches."""
        raise NotImplementedError

    def iterations(self, batch: Batch, samples: int) -> int:
        """Iterations of the user's loop in a whole pass."""
        raise NotImplementedError

    def ends_at(self, offset: int) -> bool:
        """Whether a pass has no update after this offset; False if that is not known."""
        return False

    def state(self) -> Any:
        raise NotImplementedError

    def restore(self, states: list[Any]) -> None:
        raise NotImplementedError


# ---- A dataset with indices ---------------------------------------------------------------------


class Order:
    """The order of the samples in a pass: sequential; shuffled, by seed and number of the pass; or
    drawn from the user's sampler, once per pass, by replica 0."""

    def __init__(self, loader: DataLoader, session: Any) -> None:
        self._session = session
        self._sampler = None if takes_all(loader.sampler) else loader.sampler
        self._shuffled = isinstance(loader.sampler, RandomSampler) \
            or getattr(loader.sampler, "shuffle", False)
        self._drawn: Optional[list[int]] = None
        self._drawn_for = -1
        self.length = samples_in(loader)

    def prepare(self, number: int) -> None:
        """Called on all replicas before a pass."""
        if self._sampler is None or self._drawn_for == number:
            return
        drawn = [_integer(index) for index in self._sampler] if self._session.leads else None
        self._set_drawn(self._session.collectives.from_first(drawn), number)

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
        """If the order has changed, the offset means nothing: an interrupted pass starts again."""
        if self._sampler is not None and "drawn" in state:
            self._set_drawn(state["drawn"].tolist(), state["pass"])
        elif state != self._rule() and self._session.position.again():
            self._session.epochs.again()
            if self._session.leads:
                print("pollux: the data, its order or the seed is not that of the checkpoint: the "
                      "pass over the data starts again", file=sys.stderr, flush=True)

    def _rule(self) -> dict[str, Any]:
        """What the order of a pass depends on, without a sampler of the user's."""
        return {"length": self.length, "seed": self._session.seed if self._shuffled else None}

    def _set_drawn(self, drawn: list[int], number: int) -> None:
        self._drawn, self._drawn_for, self.length = drawn, number, len(drawn)


class IndexLists:
    """The batch sampler of torch's loader: the index lists of the next micro-steps."""

    def __init__(self) -> None:
        self.lists: Iterable[list[int]] = ()

    def __iter__(self) -> Iterator[list[int]]:
        return iter(self.lists)


class IndexedSource(Source):
    """A dataset whose samples have indices.  Workers may fetch in advance.  The position moves only
    when an update has ended, so samples that were fetched and not used are fetched again later."""

    def __init__(self, loader: DataLoader, session: Any) -> None:
        self._session = session
        # type: ignore[arg-type]
        self._min_samples = int(loader.batch_size) if loader.drop_last else 1
        self._order = Order(loader, session)
        self._index_lists = IndexLists()
        self._generator = torch.Generator()
        self._loader = like(loader, batch_sampler=self._index_lists, generator=self._generator)

    def rest_of_pass(self, advised: Advised) -> Updates:
        session, position = self._session, self._session.position
        self._order.prepare(position.number)
        # Workers fetch ahead of the loop.  Both must see the same updates, also if the advice
        # changes in between, so they are planned once.
        plan, ahead = itertools.tee(updates(
            self._order.length, position.offset, advised, session.world.replicas,
            session.world.rank, self._min_samples))
        batches = self._fetch(ahead, position.number, position.offset)
        for update in plan:
            yield update, batches

    def _fetch(self, plan: Iterator[Update], number: int, offset: int) -> Iterator[Any]:
        self._index_lists.lists = (self._order.take(number, *update.share(micro))
                                   for update in plan for micro in range(update.micro_steps))
        # The workers' random numbers differ by replica and pass, and do not touch the global state.
        seed = hash((self._session.seed, number, offset, self._session.world.rank))
        self._generator.manual_seed(seed & (1 << 63) - 1)
        with sigterm_blocked(self._session.collectives):
            batches = iter(self._loader)
        yield from batches

    def iterations(self, batch: Batch, samples: int) -> int:
        return iterations(self._order.length, samples, batch, self._session.world.replicas,
                          self._min_samples)

    def ends_at(self, offset: int) -> bool:
        return self._order.length - offset < self._min_samples

    def state(self) -> Any:
        return self._order.state()

    def restore(self, states: list[Any]) -> None:
        if states[0] is not None:
            self._order.restore(states[0])


def samples_in(loader: DataLoader) -> int:
    """Samples in a pass; 0 for a stream and for a sampler without a length."""
    if isinstance(loader.dataset, IterableDataset):
        return 0
    if takes_all(loader.sampler):
        return len(_source(loader.sampler))
    sampler: Any = loader.sampler
    return len(sampler) if hasattr(sampler, "__len__") else 0


def updates_in(loader: DataLoader, samples: int) -> int:
    """Updates of a pass of so many samples with batch M0, as without Pollux."""
    whole, rest = divmod(samples, int(loader.batch_size))  # type: ignore[arg-type]
    return whole + (rest > 0 and not loader.drop_last)


def takes_all(sampler: Any) -> bool:
    """Whether the sampler takes every sample once, or only divides the samples among replicas."""
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
                        "integers only, because they are saved in checkpoints") from None


# ---- A stream -----------------------------------------------------------------------------------


class StreamSource(Source):
    """An iterable dataset.  Each replica reads a stream of its own (the dataset must divide the
    data); this class makes batches of it.  At the end, samples that not every replica has are
    dropped.

    A stream with state_dict() and load_state_dict() resumes where it stopped, unless worker
    processes read it: their state is not accessible.  Any other stream starts again."""

    def __init__(self, loader: DataLoader, session: Any) -> None:
        self._session = session
        self._collate = loader.collate_fn
        self._drop_last = loader.drop_last
        self._dataset = loader.dataset
        self._loader = like(loader, batch_size=None, collate_fn=identity)
        self._stateful = loader.num_workers == 0 and hasattr(loader.dataset, "state_dict") \
            and hasattr(loader.dataset, "load_state_dict")
        self._stream: Iterator[Any] = iter(())
        self._stream_of = -1
        self._pending: list[Any] = []   # samples of the next update

    def rest_of_pass(self, advised: Advised) -> Updates:
        position, world = self._session.position, self._session.world
        if self._stream_of != position.number:
            self._begin(position.number)
        for k in itertools.count():
            _samples, batch = advised(k)
            wanted = batch.m * (batch.s + 1)
            have = self._gather(wanted)
            if have < (wanted if self._drop_last else 1):
                break
            update = Update(position.offset, world.replicas * have, batch, world.replicas,
                            world.rank)
            yield update, self._micro_batches(update)
            if have < wanted:
                break
        self._pending = []

    def _begin(self, number: int) -> None:
        self._stream_of = number
        self._pending = []
        with sigterm_blocked(self._session.collectives):
            self._stream = iter(self._loader)

    def _gather(self, wanted: int) -> int:
        """Read the samples of an update.  Returns the number that every replica has."""
        self._pending += itertools.islice(self._stream, wanted - len(self._pending))
        world = self._session.world
        counts = [0.0] * world.replicas
        counts[world.rank] = len(self._pending)
        return int(min(self._session.collectives.sum(counts)))

    def _micro_batches(self, update: Update) -> Iterator[Any]:
        for micro in range(update.micro_steps):
            _start, count = update.share(micro)
            samples, self._pending = self._pending[:count], self._pending[count:]
            yield self._collate(samples)

    def iterations(self, batch: Batch, samples: int) -> int:
        return -(-len(self._dataset) // batch.m)  # type: ignore[arg-type]

    def state(self) -> Any:
        return self._dataset.state_dict() if self._stateful else None  # type: ignore[attr-defined]

    def restore(self, states: list[Any]) -> None:
        """With another number of replicas, states are reused in turn: an approximation."""
        state = states[self._session.world.rank % len(states)]
        if self._stateful and state is not None:
            self._dataset.load_state_dict(state)  # type: ignore[attr-defined]


def identity(thing: Any) -> Any:
    return thing
