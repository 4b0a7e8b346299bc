# SPDX-License-Identifier: Apache-2.0
"""Loaders like the user's, whose workers live through a request to stop.

polluxd sends the signal to stop to the whole process group of a replica.  Torch's workers would die
of it, and with them the replica, of an error, before it has saved.  So they have groups of their
own, and end when the replica has no more use for them, or is gone.
"""
from __future__ import annotations

import contextlib
import os
import signal
from typing import Any, Callable, Iterator, Optional

from torch.utils.data import DataLoader

from .collectives import Collectives

COPIED = ("num_workers", "collate_fn", "pin_memory", "pin_memory_device", "timeout",
          "multiprocessing_context", "persistent_workers", "in_order")


class Apart:
    """A worker_init_fn around the user's, for workers that are started within spared()."""

    def __init__(self, given: Optional[Callable[[int], None]]) -> None:
        self._given = given

    def __call__(self, number: int) -> None:
        os.setpgid(0, 0)
        signal.sigtimedwait({signal.SIGTERM}, 0)  # what was meant for the group until now
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        if self._given is not None:
            self._given(number)


@contextlib.contextmanager
def spared(collectives: Collectives) -> Iterator[None]:
    """Workers that are started within are spared SIGTERM until they are apart; this process hears
    of it afterwards.  They are forked when no thread of torch's is in Python."""
    collectives.let_go()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def like(loader: DataLoader, **changed: Any) -> DataLoader:
    """A loader of the same data with the same options, but for some."""
    options = {name: getattr(loader, name) for name in COPIED if hasattr(loader, name)}
    if loader.num_workers > 0:
        options["prefetch_factor"] = loader.prefetch_factor
        options["worker_init_fn"] = Apart(loader.worker_init_fn)
    return DataLoader(loader.dataset, **{**options, **changed})
