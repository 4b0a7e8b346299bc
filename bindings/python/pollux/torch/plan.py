# SPDX-License-Identifier: Apache-2.0
"""Which samples each replica takes in which micro-step: arithmetic only.

A pass over the data is a row of updates, an update s + 1 micro-steps in each of K replicas.  Every
sample of a pass is in exactly one of them, whatever K, m and s are and however often they change.
"""
from __future__ import annotations

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
        return self.samples % (self.replicas * self.micro_steps) == 0

    @property
    def comparable(self) -> bool:
        """Whether its gradients tell the noise: it is whole, but for rounding, and its shares are all but equal."""
        cells = self.replicas * self.micro_steps
        return self.samples > self.full - cells and (self.even or self.samples // cells >= LARGE_SHARE)

    def share(self, micro: int) -> tuple[int, int]:
        """First position and number of samples of this replica's micro-step.  Where there are fewer samples than
        replicas, some have nothing of their own: they take the first one, with weight 0."""
        cells = self.replicas * self.micro_steps
        cell = micro * self.replicas + self.rank
        size, rest = divmod(self.samples, cells)
        count = size + (cell < rest)
        return (self.start + cell * size + min(cell, rest), count) if count else (self.start, 1)

    def weight(self, micro: int) -> float:
        """Of the mean gradient of that share, so that the mean over the replicas of their sums is the mean over
        all samples."""
        cells = self.replicas * self.micro_steps
        size, rest = divmod(self.samples, cells)
        count = size + (micro * self.replicas + self.rank < rest)
        return count * self.replicas / self.samples


class Position:
    """Where training is in its data: the next sample of a pass."""

    def __init__(self) -> None:
        self.number = -1        # of the pass, counted from 0
        self.offset = 0
        self.ended = True       # the pass has been handed out
        self.resumed = False    # restored in the middle, or at the end, of a pass

    def begin(self) -> None:
        """The next pass, or the rest of one that was interrupted."""
        if self.resumed:
            self.resumed = False
        else:
            self.number, self.offset, self.ended = self.number + 1, 0, False

    def advance(self, samples: int) -> None:
        self.offset += samples

    def state(self) -> dict[str, int]:
        return {"pass": self.number, "offset": self.offset, "ended": int(self.ended)}

    def restore(self, state: dict[str, int], between: bool) -> None:
        self.number, self.offset = int(state["pass"]), int(state["offset"])
        self.ended = bool(state["ended"])
        self.resumed = not between


def updates(length: int, offset: int, samples: int, batch: Batch, replicas: int, rank: int,
            drop_last: bool) -> Iterator[Update]:
    """The rest of a pass from an offset on, with `samples` in each update but the last ones."""
    full, tail = divmod(length - offset, samples)
    sizes = [samples] * full
    if tail and not drop_last:
        sizes += _with_tail(sizes, tail, replicas)
    for size in sizes:
        yield Update(offset, size, batch, replicas, rank)
        offset += size


def _with_tail(sizes: list[int], tail: int, replicas: int) -> list[int]:
    """What ends the pass.  Too few samples for all replicas are shared with the update before, which is then taken
    from `sizes`."""
    if tail >= replicas or not sizes:
        return [tail]
    both = sizes.pop() + tail
    half = both // 2
    return [both - half, half] if half >= replicas else [both]
