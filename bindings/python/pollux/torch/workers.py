# SPDX-License-Identifier: Apache-2.0
"""Loaders whose worker processes survive a request to stop.

polluxd sends SIGTERM to the process group of a replica.  It would kill torch's workers, and the
replica would fail with an error before it could save.  Therefore each worker gets a process group
of its own.  It still ends when the replica stops using it or dies.  """
from __future__ import annotations

import contextlib
import os
import signal
from typing import Any, Callable, Iterator, Optional

from torch.utils.data import DataLoader

from .collectives import Collectives

COPIED = ("num_workers", "collate_fn", "pin_memory", "pin_memory_device", "timeout",
          "multiprocessing_context", "persistent_workers", "in_order")


class OwnProcessGroup:
    """A worker_init_fn around the user's, for workers that are started within sigterm_blocked()."""

    def __init__(self, given: Optional[Callable[[int], None]]) -> None:
        self._given = given

    def __call__(self, number: int) -> None:
        os.setpgid(0, 0)
        signal.sigtimedwait({signal.SIGTERM}, 0)  # drop a signal that was sent to the old group
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        if self._given is not None:
            self._given(number)


@contextlib.contextmanager
def sigterm_blocked(collectives: Collectives) -> Iterator[None]:
    """Block SIGTERM while workers start, until they have left the process group.  This process gets
    the signal afterwards.  Waits first until no thread of torch runs Python code, for the fork."""
    collectives.let_go()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def like(loader: DataLoader, **changed: Any) -> DataLoader:
    """A loader of the same data with the same options, except the changed ones."""
    options = {name: getattr(loader, name) for name in COPIED if hasattr(loader, name)}
    if loader.num_workers > 0:
        options["prefetch_factor"] = loader.prefetch_factor
        options["worker_init_fn"] = OwnProcessGroup(loader.worker_init_fn)
    return DataLoader(loader.dataset, **{**options, **changed})
