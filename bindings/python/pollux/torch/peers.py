# SPDX-License-Identifier: Apache-2.0
"""A replica that dies: the others end with one sentence that names it, instead of the traceback of
the exchange that failed.  The exception itself is not changed: a program can still catch it."""
from __future__ import annotations

import os
import re
import socket
import sys
import time
from typing import Any

import torch.distributed as dist

from ..agent import World

ANSWER_S = 5.0  # replicas that live find the same error within this time, or say nothing
LINGER_S = 1.0  # replica 0 may hold the connections by which the others ask
# How gloo and NCCL say that another replica has gone.
LOST = re.compile(r"Connection (reset|closed|refused)|Broken pipe|"
                  r"gloo.*(error|[Tt]imeout|[Tt]imed out)|"
                  r"NCCL.*(remote|network|[Tt]imeout|[Tt]imed out)", re.DOTALL)


class PeerWatch:
    """Replaces the traceback that ends the program if the connection to another replica is lost."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._before = sys.excepthook
        if world.replicas > 1:
            sys.excepthook = self._hook = self._ended  # type: ignore[assignment]

    def close(self) -> None:
        if self._world.replicas > 1 and sys.excepthook is self._hook:
            sys.excepthook = self._before

    def _ended(self, kind: type, error: BaseException, trace: Any) -> None:
        if not is_lost_connection(error):
            self._before(kind, error, trace)
            return
        sys.stdout.flush()
        print(sentence(self._world.rank, lost_replicas(self._world)), file=sys.stderr, flush=True)


def is_lost_connection(error: BaseException) -> bool:
    """torch raises RuntimeError, or a subclass, for all errors of its backends."""
    return isinstance(error, RuntimeError) and LOST.search(str(error)) is not None


def sentence(rank: int, lost: list[int]) -> str:
    if not lost:
        return (f"pollux: replica {rank} ends: the connection to another replica is lost; look for "
                "the cause into the output of the others and into the network")
    names = " and ".join(map(str, lost))
    which = f"replica {names} has" if len(lost) == 1 else f"replicas {names} have"
    return (f"pollux: replica {rank} ends: {which} ended or cannot be reached; look for the cause "
            f"into the output of replica {lost[0]}")


def lost_replicas(world: World) -> list[int]:
    """The replicas that do not answer.  Each one that finds the error says so in the key-value
    store of torch.distributed.  Empty: unknown."""
    try:
        store = dist.distributed_c10d._get_default_store()
    except Exception:  # its group is destroyed, or torch has changed
        return []
    if not _store_is_open():
        return _without_store()
    deadline = time.monotonic() + ANSWER_S
    lost = list(range(world.replicas))
    try:
        store.add(_key(world.rank), 1)
        while lost and time.monotonic() < deadline:
            time.sleep(0.05)
            # add(key, 0) reads a number; wait() would make torch print lines of its own
            lost = [rank for rank in lost if store.add(_key(rank), 0) == 0]
    except Exception:
        return _without_store()
    if world.rank == 0:
        time.sleep(LINGER_S)
    return lost


def _store_is_open() -> bool:
    """Whether the store takes connections.  torch prints many lines if it has to find out."""
    try:
        address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    except (KeyError, ValueError):
        return True  # the program has made its group in another way
    try:
        socket.create_connection(address, ANSWER_S).close()
        return True
    except OSError:
        return False


def _without_store() -> list[int]:
    """Replica 0 has the store, or the program that has started the replicas, as torchrun does."""
    return [] if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True" else [0]


def _key(rank: int) -> str:
    return f"pollux/finds-a-lost-peer/{rank}"
