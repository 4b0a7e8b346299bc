# SPDX-License-Identifier: Apache-2.0
"""Loaders for evaluation: every sample is in exactly one replica."""
from __future__ import annotations

from typing import Any, Iterator

from torch.utils.data import DataLoader, IterableDataset, Sampler

from .batches import samples_in, takes_all
from .delegating import Delegating
from .workers import like, sigterm_blocked


class EvaluationLoader(Delegating):
    """This replica's share of a loader, in batches of the same size.  Each sample is in one
    replica.  With an iterable dataset each replica reads its own stream; the dataset must divide
    the data.  Other attributes are those of the given loader."""

    def __init__(self, loader: DataLoader, session: Any, stoppable: bool) -> None:
        super().__init__(loader)
        self._given = loader
        self._session = session
        self._stoppable = stoppable
        self._share = Share()
        self._divided = session.world.replicas > 1 \
            and not isinstance(loader.dataset, IterableDataset)
        if isinstance(loader.dataset, IterableDataset):
            self._loader = like(loader, batch_size=loader.batch_size, drop_last=loader.drop_last)
        elif loader.batch_sampler is None:
            self._loader = like(loader, batch_size=None,
                                sampler=self._share if self._divided else loader.sampler)
        else:
            self._loader = like(loader, batch_sampler=self._share if self._divided
                                else loader.batch_sampler)

    def __len__(self) -> int:
        """Iterations in this replica; others may have one more or less."""
        if not self._divided:
            return len(self._given)
        size = self._given.batch_size
        if size is None:
            return len(self._own(range(len(self._given))))
        return -(-len(self._own(range(self._kept(samples_in(self._given))))) // size)

    def __iter__(self) -> Iterator[Any]:
        with self._session.evaluating(self._stoppable):
            if self._divided:
                self._divide()
            with sigterm_blocked(self._session.collectives):
                batches = iter(self._loader)
            until = self._until_stopped if self._stoppable else self._until_interrupted
            yield from until(batches)

    def _divide(self) -> None:
        """Divide the samples; batches of a batch_sampler are not split."""
        given, size = self._given, self._given.batch_size
        if size is None:
            self._share.items = self._own(self._agreed(given.batch_sampler or given.sampler))
            return
        if takes_all(given.sampler):
            samples: Any = range(samples_in(given))
        else:
            samples = self._agreed(given.sampler)
        own = self._own(samples[:self._kept(len(samples))])
        self._share.items = [list(own[at:at + size]) for at in range(0, len(own), size)]

    def _agreed(self, sampler: Any) -> list[Any]:
        """The indices that replica 0 draws, on all replicas."""
        drawn = list(sampler) if self._session.leads else None
        return self._session.collectives.from_first(drawn)

    def _own(self, items: Any) -> Any:
        return items[self._session.world.rank::self._session.world.replicas]

    def _kept(self, samples: int) -> int:
        """The number of samples without those that drop_last drops."""
        return samples - samples % self._given.batch_size if self._given.drop_last else samples

    def _until_stopped(self, batches: Iterator[Any]) -> Iterator[Any]:
        """All replicas check for a stop equally often: as often as the one with most batches."""
        nothing = object()
        while True:
            batch = next(batches, nothing)
            if not self._session.any_replica_evaluates(batch is not nothing):
                return
            if batch is not nothing:
                yield batch

    def _until_interrupted(self, batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            self._session.leave_if_interrupted()
            yield batch


class Share(Sampler):
    """A sampler over a given list of samples or batches."""

    def __init__(self) -> None:
        self.items: list[Any] = []

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)
