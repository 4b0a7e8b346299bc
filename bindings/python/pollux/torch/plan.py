# SPDX-License-Identifier: Apache-2.0
"""Which samples each replica takes in which micro-step: arithmetic only.

A pass over the data is a row of updates, an update s + 1 micro-steps in each of K replicas.  Every
sample of a pass is in exactly one of them, whatever K, m and s are and however often they change.
"""
from __future__ import annotations

import itertools
from typing import Iterator

from ..agent import Batch

LARGE_SHARE = 8  # samples, of which one more or less is no matter


class Update:
    """`samples` consecutive positions from `start`, dealt out to the replicas' micro-steps so that
    no two shares differ by more than one."""

    __slots__ = ("start", "samples", "replicas", "rank", "micro_steps", "full")

    def __init__(self, start: int, samples: int, batch: Batch, replicas: int, rank: int) -> None:
        self.start = start
        self.samples = samples
        self.replicas = replicas
        self.rank = rank
        wanted = -(-samples // (replicas * batch.m))             # micro-steps at most m large
        possible = max(samples // replicas, 1)                   # and none of them empty
        self.micro_steps = min(batch.s + 1, wanted, possible)
        self.full = replicas * batch.m * (batch.s + 1)

    @property
    def short(self) -> bool:
        """Whether it has other than the K m (s+1) samples that were advised."""
        return self.samples != self.full

    @property
    def even(self) -> bool:
        """Whether all shares are equal."""
        return self.samples % self._cells == 0

    @property
    def comparable(self) -> bool:
        """Whether its gradients tell the noise: it is whole, but for rounding, and its shares are
        all but equal."""
        return self.samples > self.full - self._cells and (
            self.even or self.samples // self._cells >= LARGE_SHARE)

    def share(self, micro: int) -> tuple[int, int]:
        """First position and number of samples of this replica's micro-step.  Where there are fewer
        samples than replicas, some have nothing of their own: they take the first one, with
        weight 0."""
        cell = self._cell(micro)
        size, rest = divmod(self.samples, self._cells)
        first, count = self.start + cell * size + min(cell, rest), size + (cell < rest)
        return (first, count) if count else (self.start, 1)

    def weight(self, micro: int) -> float:
        """Of the mean gradient of that share, so that the mean over the replicas of their sums is
        the mean over all samples."""
        size, rest = divmod(self.samples, self._cells)
        count = size + (self._cell(micro) < rest)
        return count * self.replicas / self.samples

    @property
    def _cells(self) -> int:
        return self.replicas * self.micro_steps

    def _cell(self, micro: int) -> int:
        return micro * self.replicas + self.rank


class Position:
    """Where training is in its data: the next sample of a pass."""

    def __init__(self) -> None:
        self.number = -1        # of the pass, counted from 0
        self.offset = 0
        self.ended = True       # the pass has been handed out
        self.begun = False      # it is that of the epoch under way
        self._resumed = False   # it was begun in an earlier generation

    def begin(self) -> None:
        """The next pass, or the rest of one that was interrupted."""
        if not self._resumed:
            self.number, self.offset, self.ended = self.number + 1, 0, False
        self._resumed = False
        self.begun = True

    def advance(self, samples: int) -> None:
        self.offset += samples

    def again(self) -> bool:
        """Back to the beginning of the pass; whether it was within."""
        within = self.begun and self.offset > 0 and not self.ended
        if within:
            self.offset = 0
        return within

    def end_epoch(self) -> None:
        """What is begun next is a new pass, also if training is interrupted before."""
        self.begun = self._resumed = False

    def state(self) -> dict[str, int]:
        return {"pass": self.number, "offset": self.offset, "ended": int(self.ended),
                "begun": int(self.begun)}

    def restore(self, state: dict[str, int]) -> None:
        self.number, self.offset = state["pass"], state["offset"]
        self.ended, self.begun = bool(state["ended"]), bool(state["begun"])
        self._resumed = self.begun


def updates(length: int, offset: int, samples: int, batch: Batch, replicas: int, rank: int,
            least: int = 1) -> Iterator[Update]:
    """The rest of a pass from an offset on, with `samples` in each update but the last ones.  Less
    than `least` samples at the end are dropped."""
    whole, last = _split(length - offset, samples, replicas, least)
    for size in itertools.chain(itertools.repeat(samples, whole), last):
        yield Update(offset, size, batch, replicas, rank)
        offset += size


def iterations(length: int, samples: int, batch: Batch, replicas: int, least: int = 1) -> int:
    """Micro-steps of a whole pass in each replica."""
    whole, last = _split(length, samples, replicas, least)

    def of(size: int) -> int:
        return Update(0, size, batch, replicas, 0).micro_steps
    return whole * of(samples) + sum(of(size) for size in last)


def _split(left: int, samples: int, replicas: int, least: int) -> tuple[int, list[int]]:
    """How many updates are whole, and the sizes of those after.  Too few samples for all replicas
    are shared with the update before."""
    whole, tail = divmod(left, samples)
    if tail < max(least, 1):
        return whole, []
    if tail >= replicas or not whole:
        return whole, [tail]
    both = samples + tail
    half = both // 2
    return whole - 1, [both - half, half] if half >= replicas else [both]
