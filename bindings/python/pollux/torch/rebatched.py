# SPDX-License-Identifier: Apache-2.0
"""A loader with the batch size that px.prepare(batch_size=...) says, for loaders that have none:
those with batch_size=None, and those with a batch_sampler."""
from __future__ import annotations

from typing import Any, Iterator, Optional

from torch.utils.data import BatchSampler, DataLoader, IterableDataset
from torch.utils.data._utils.collate import default_convert
from torch.utils.data.dataloader import default_collate

from .workers import like


class Flattened:
    """The samples of a batch sampler, one by one, in the order of its batches.  Its length is that
    of the first pass, which replica 0 draws at once: a batch sampler knows only the number of its
    batches.  Making it is a collective operation."""

    def __init__(self, batches: Any, collectives: Any) -> None:
        self._batches = batches
        self._first: Optional[list[Any]] = None     # samples of the first pass, until it begins
        if collectives.rank == 0:
            self._first = [sample for batch in batches for sample in batch]
        self._length = collectives.from_first(len(self._first or ()))

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Any]:
        first, self._first = self._first, None
        if first is not None:
            yield from first
            return
        for batch in self._batches:
            yield from batch


def rebatched(loader: DataLoader, batch_size: int, collectives: Any) -> DataLoader:
    """A loader of the same samples in the same order.  Samples of a loader with batch_size=None,
    which torch does not collate, are collated as torch does by default, unless the loader has a
    collate_fn of its own."""
    collate = loader.collate_fn
    if collate is default_convert:
        collate = default_collate
    options: dict[str, Any] = {"batch_size": batch_size, "collate_fn": collate,
                               "generator": loader.generator}
    if isinstance(loader.dataset, IterableDataset):
        return like(loader, drop_last=loader.drop_last, **options)
    batches = loader.batch_sampler
    if batches is None:
        return like(loader, sampler=loader.sampler, **options)
    if type(batches) is BatchSampler:
        return like(loader, sampler=batches.sampler, drop_last=batches.drop_last, **options)
    return like(loader, sampler=Flattened(batches, collectives), **options)
