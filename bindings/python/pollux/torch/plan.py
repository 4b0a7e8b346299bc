# SPDX-License-Identifier: Apache-2.0
"""Which samples each replica takes in which micro-step: arithmetic only.

A pass over the data is a sequence of updates; an update has s + 1 micro-steps in each of K
replicas.  Every sample of a pass is in exactly one micro-step, also if K, m and s change during the
pass.  """
from __future__ import annotations

import itertools
from typing import Callable, Iterator

from ..agent import Batch

LARGE_SHARE = 8  # samples; shares of at least this size may differ by one and count as equal


class Update:
    """`samples` consecutive positions from `start`, divided among the micro-steps of all replicas
    so that the sizes of two shares differ by at most one."""

    __slots__ = ("start", "samples", "batch", "replicas", "rank", "micro_steps", "full")

    def __init__(self, start: int, samples: int, batch: Batch, replicas: int, rank: int) -> None:
        self.start = start
        self.batch = batch
        self.samples = samples
        self.replicas = replicas
        self.rank = rank
        wanted = -(-samples // (replicas * batch.m))             # micro-steps of at most m samples
        possible = max(samples // replicas, 1)                   # without empty ones
        self.micro_steps = min(batch.s + 1, wanted, possible)
        self.full = replicas * batch.m * (batch.s + 1)

    @property
    def short(self) -> bool:
        """Whether it has fewer or more than the advised K m (s+1) samples."""
        return self.samples != self.full

    @property
    def even(self) -> bool:
        """Whether all shares are equal."""
        return self.samples % self._cells == 0

    @property
    def comparable(self) -> bool:
        """Whether the noise can be estimated from its gradients: it is whole, except for rounding,
        and its shares are equal or nearly so."""
        return self.samples > self.full - self._cells and (
            self.even or self.samples // self._cells >= LARGE_SHARE)

    def share(self, micro: int) -> tuple[int, int]:
        """First position and number of samples of this replica's micro-step.  If there are
        fewer samples than replicas, a replica without a sample takes the first one, with weight
        0."""
        cell = self._cell(micro)
        size, rest = divmod(self.samples, self._cells)
        first, count = self.start + cell * size + min(cell, rest), size + (cell < rest)
        return (first, count) if count else (self.start, 1)

    def weight(self, micro: int) -> float:
        """The weight of the share's mean gradient, such that averaging the weighted sums over the
        replicas gives the mean over all samples."""
        size, rest = divmod(self.samples, self._cells)
        count = size + (self._cell(micro) < rest)
        return count * self.replicas / self.samples

    @property
    def _cells(self) -> int:
        return self.replicas * self.micro_steps

    def _cell(self, micro: int) -> int:
        return micro * self.replicas + self.rank


class Position:
    """The position of training in its data: pass and offset of the next sample."""

    def __init__(self) -> None:
        self.number = -1        # of the pass, counted from 0
        self.offset = 0
        self.ended = True       # all samples of the pass were returned
        self.begun = False      # the pass belongs to the current epoch
        self.resumed = False    # the epoch was begun in an earlier generation
        self.continuous = False     # a pass may go on in the next epoch

    def begin(self) -> None:
        """Begin the next pass, or continue an interrupted one."""
        if not self.resumed and (self.ended or not self.continuous):
            self.number, self.offset, self.ended = self.number + 1, 0, False
        self.resumed = False
        self.begun = True

    def advance(self, samples: int) -> None:
        self.offset += samples

    def again(self) -> bool:
        """Return to the beginning of the pass.  Returns whether it would have been continued
        elsewhere."""
        within = self.offset > 0 and not self.ended
        if within:
            self.offset = 0
        return within and (self.begun or self.continuous)

    def end_epoch(self) -> None:
        """The next begin() starts a new pass, also after a restart, unless passes are
        continuous."""
        self.begun = self.resumed = False

    def state(self) -> dict[str, int]:
        return {"pass": self.number, "offset": self.offset, "ended": int(self.ended),
                "begun": int(self.begun)}

    def restore(self, state: dict[str, int]) -> None:
        self.number, self.offset = state["pass"], state["offset"]
        self.ended, self.begun = bool(state["ended"]), bool(state["begun"])
        self.resumed = self.begun


def updates(length: int, offset: int, advised: Callable[[int], tuple[int, Batch]], replicas: int,
            rank: int, least: int = 1) -> Iterator[Update]:
    """The updates of a pass from an offset on.  advised(k) is the size and the batch of the k-th of
    them; the last ones may have fewer samples.  Fewer than `least` samples at the end are
    dropped."""
    for k in itertools.count():
        samples, batch = advised(k)
        whole, last = _split(length - offset, samples, replicas, min(least, samples))
        for size in ([samples] if whole else last):
            yield Update(offset, size, batch, replicas, rank)
            offset += size
        if not whole:
            return


def iterations(length: int, samples: int, batch: Batch, replicas: int, least: int = 1) -> int:
    """Micro-steps of a whole pass in each replica."""
    whole, last = _split(length, samples, replicas, min(least, samples))

    def of(size: int) -> int:
        return Update(0, size, batch, replicas, 0).micro_steps
    return whole * of(samples) + sum(of(size) for size in last)


def _split(left: int, samples: int, replicas: int, least: int) -> tuple[int, list[int]]:
    """The number of whole updates, and the sizes of the last ones.  If the rest has fewer samples
    than there are replicas, it is merged with the update before and divided anew."""
    whole, tail = divmod(left, samples)
    if tail < max(least, 1):
        return whole, []
    if tail >= replicas or not whole:
        return whole, [tail]
    both = samples + tail
    half = both // 2
    return whole - 1, [both - half, half] if half >= replicas else [both]
