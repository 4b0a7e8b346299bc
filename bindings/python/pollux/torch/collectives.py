# SPDX-License-Identifier: Apache-2.0
"""The numbers that replicas exchange by torch.distributed.  With one replica nothing is sent.

A thread of torch that runs Python code during a fork (for example of a data worker) leaves the
child hanging, and at the end of the interpreter it aborts the process.  Therefore tensors are
referenced here until those threads no longer use them, and let_go() waits for the threads before a
fork and at the end.  """
from __future__ import annotations

import atexit
import pickle
import time
import weakref
from collections import deque
from typing import Any, Sequence

import torch
import torch.distributed as dist
from torch import Tensor

HELD = 16  # tensors that are referenced; a thread uses only the one that it sent last
TIMEOUT_S = 5.0  # for let_go(): a thread may wait for a replica that has died
END_S = 0.05     # at the end: a thread that has dropped its last object still runs Python code


class Sum:
    """An asynchronous sum of numbers over the replicas."""

    def __init__(self, tensor: Tensor, work) -> None:
        self._tensor = tensor
        self._work = work

    def wait(self) -> None:
        if self._work is not None:
            self._work.wait()
            self._work = None

    def values(self) -> list[float]:
        self.wait()
        return self._tensor.tolist()


class Collectives:
    """Replica `rank` among `replicas`."""

    def __init__(self, rank: int, replicas: int) -> None:
        self.rank = rank
        self.replicas = replicas
        self._called_later: weakref.WeakSet = weakref.WeakSet()
        self._held: deque[Tensor] = deque(maxlen=HELD)
        self._device = torch.device("cpu")
        if replicas > 1 and "nccl" in str(dist.get_backend()):
            self._device = torch.device("cuda", torch.cuda.current_device())
        if replicas > 1:
            atexit.register(self._end)

    def let_go(self) -> None:
        """Wait until torch's threads have finished the callbacks of DDP's hook, at most
        TIMEOUT_S."""
        deadline = time.monotonic() + TIMEOUT_S
        while self._called_later and time.monotonic() < deadline:
            time.sleep(0.001)

    def _end(self) -> None:
        self.let_go()
        time.sleep(END_S)

    def sum_later(self, values: Sequence[float]) -> Sum:
        tensor = self._tensor(values)
        work = dist.all_reduce(tensor, async_op=True) if self.replicas > 1 else None
        return Sum(tensor, work)

    def sum(self, values: Sequence[float]) -> list[float]:
        return self.sum_later(values).values()

    def mean_later(self, tensor: Tensor) -> "torch.futures.Future[Tensor]":
        """Start averaging in place over the replicas.  Returns a future, as DDP's hook must."""
        tensor.div_(self.replicas)
        return self.called_later(dist.all_reduce(tensor, async_op=True).get_future())

    def called_later(self, future: "torch.futures.Future[Any]") -> "torch.futures.Future[Tensor]":
        """The tensor of this future.  let_go() waits for it, and for the callbacks before it."""
        def result(done: "torch.futures.Future[Any]") -> Tensor:
            value = done.value()
            return value if isinstance(value, Tensor) else value[0]
        self._called_later.add(result)
        return future.then(result)

    def mean(self, tensor: Tensor) -> None:
        """Average in place over the replicas, and wait."""
        dist.all_reduce(tensor.div_(self.replicas))

    def copy_from_first(self, tensor: Tensor) -> None:
        """Copy replica 0's tensor to all replicas, in place."""
        if self.replicas > 1:
            dist.broadcast(tensor, 0)

    def broadcast(self, values: Sequence[float]) -> list[float]:
        """Replica 0's numbers, on all replicas.  All must pass lists of equal length."""
        if self.replicas == 1:
            return list(values)
        tensor = self._tensor(values)
        dist.broadcast(tensor, 0)
        return tensor.tolist()

    def gather(self, thing: Any) -> list[Any]:
        """The objects of all replicas, by rank, on every replica."""
        if self.replicas == 1:
            return [thing]
        own = pickle.dumps(thing)
        sizes = [0] * self.replicas
        sizes[self.rank] = len(own)
        sizes = [int(size) for size in self.sum(sizes)]
        rows = torch.zeros(self.replicas, max(sizes), dtype=torch.uint8)
        rows[self.rank, :len(own)] = torch.frombuffer(bytearray(own), dtype=torch.uint8)
        rows = self._hold(rows.to(self._device))
        dist.all_reduce(rows)  # each row is 0 on all replicas except one
        return [pickle.loads(bytes(row[:size].tolist())) for row, size in zip(rows, sizes)]

    def from_first(self, thing: Any) -> Any:
        """Replica 0's object, on all replicas.  Those of the others are not sent."""
        if self.replicas == 1:
            return thing
        content = bytearray(pickle.dumps(thing) if self.rank == 0 else b"")
        size = int(self.broadcast([len(content)])[0])
        content = content or bytearray(size)
        row = torch.frombuffer(content, dtype=torch.uint8)  # its memory is that of content
        sent = self._hold(row.to(self._device))
        dist.broadcast(sent, 0)
        row.copy_(sent)
        return thing if self.rank == 0 else pickle.loads(content)

    def _tensor(self, values: Sequence[float]) -> Tensor:
        return self._hold(torch.tensor(values, dtype=torch.float64, device=self._device))

    def _hold(self, tensor: Tensor) -> Tensor:
        self._held.append(tensor)
        return tensor
