# SPDX-License-Identifier: Apache-2.0
"""The agent inside a training program: pollux/agent.h, which documents every call.

It measures steps and gradient noise, reports to its supervisor, and advises: which batch, which
learning rate, and when to stop.  The caller must broadcast the numbers of decide() from
replica 0 to the other replicas; pollux.torch does that.
"""
from __future__ import annotations

import ctypes
import os
import weakref
from enum import IntEnum
from errno import EDOM
from typing import Any, Callable, NamedTuple, Optional, Sequence, Tuple

from ._library import (
    CAdvice,
    CBatch,
    CClock,
    CError,
    CLimits,
    CSetup,
    CShape,
    CStatus,
    CWorld,
    check,
    closed,
    library,
)
from .model import Batch, Best, Fit, Grad

__all__ = ["Advice", "Agent", "Batch", "Status", "Verdict", "World", "world"]


class World(NamedTuple):
    """This replica's place among all replicas, from the launcher's variables."""

    rank: int
    local_rank: int
    nodes: int
    replicas: int
    generation: int


class Verdict(IntEnum):
    GO = 0
    STOP = 1  # save a checkpoint after this update and leave
    DONE = 2  # progress has reached the total


_VERDICTS = tuple(Verdict)


class Advice(NamedTuple):
    """Equal on all replicas.  batch is for the next update; gain is the progress of this one."""

    batch: Batch
    verdict: Verdict
    skip: bool  # this update holds an inf or a NaN: no optimizer step
    gain: float
    progress: float


class Status(NamedTuple):
    """The state of the agent.  Only replica 0 measures.  fit and best are None before the first
    fit."""

    batch: Batch  # the choice; a probe divides it
    updates: int  # since the training began
    progress: float
    total: float  # 0: unknown
    grad: Grad  # averages of what was measured
    decision_grad: Grad  # the estimate that decides: batch, gain, progress and reports
    noise_scale: float  # samples, by grad; NaN: unknown
    noise_weight: float
    noise_biased: bool
    noise_unbiased: float  # samples, by the measurements that decide; NaN: unknown
    fit: Optional[Fit]
    best: Optional[Best]
    samples: int  # configurations measured
    max_profiled_replicas: int
    reports_sent: int
    reports_lost: int
    report_error: int  # errno value of the last lost report; 0: none


def _world_of(c: CWorld) -> World:
    return World(c.rank, c.local_rank, c.shape.nodes, c.shape.replicas, c.generation)


def world() -> World:
    """This process among its replicas, from the variables of polluxd, torchrun, Open MPI or Slurm;
    one replica if there are none.  PolluxError names a variable that is not valid."""
    c, error = CWorld(), CError()
    check(library().pollux_world_read(ctypes.byref(c), ctypes.byref(error)), error)
    return _world_of(c)


class Agent:
    """One per process.  Defaults: max_batch M0, local_batch (1, M0), rule adascale.  total: in
    updates with batch M0 (0: unknown).  fixed: train with this batch.  observe: measure and report
    only.  period_s: seconds between fits and reports (0: 30 s).  world None: read the environment.
    few_sizes: round the micro-batches of a batch larger than M0 down to 8 x 2^k samples.
    beta2: of Adam; 0: another optimizer.  clock: seconds (default: the monotonic clock).
    Used by one thread at a time; does nothing in a child of fork."""

    def __init__(
        self,
        init_batch: int,
        *,
        max_batch: Optional[int] = None,
        local_batch: Optional[Tuple[int, int]] = None,
        accumulation: bool = True,
        groups: int = 1,
        rule: Optional[str] = None,
        total: float = 0.0,
        warmup_epochs: float = 0.0,
        dataset_size: int = 0,
        beta2: float = 0.0,
        fixed: Optional[Batch] = None,
        observe: bool = False,
        few_sizes: bool = False,
        period_s: float = 0.0,
        world: Optional[World] = None,
        clock: Optional[Callable[[], float]] = None,
    ) -> None:
        lib = library()
        low, high = local_batch or (1, init_batch)
        limits = CLimits(init_batch, max_batch or init_batch, low, high, accumulation)
        setup = CSetup(
            limits=limits,
            groups=groups,
            rule=rule.encode() if rule is not None else None,
            total=total,
            warmup_epochs=warmup_epochs,
            dataset_size=dataset_size,
            beta2=beta2,
            fixed=CBatch(*fixed) if fixed else CBatch(0, 0),
            observe=observe,
            few_sizes=few_sizes,
            period_s=period_s,
        )
        if world:
            shape = CShape(world.nodes, world.replicas)
            setup.world = CWorld(world.rank, world.local_rank, shape, world.generation)
        if clock is not None:
            self._clock = setup.clock_s = CClock(lambda _context: clock())  # kept as long as self
        self._library = lib
        self._error = CError()
        self._err = ctypes.byref(self._error)
        handle = ctypes.c_void_p()
        code = lib.pollux_agent_open(ctypes.byref(setup), ctypes.byref(handle), self._err)
        check(code, self._error)
        self._handle: Any = handle
        # Runs at close(), at garbage collection or at the end of the interpreter, so that the last
        # report has the final progress.
        self._finalizer = weakref.finalize(self, lib.pollux_agent_close, handle)
        self._world = _world_of(lib.pollux_agent_world(handle))
        directory = lib.pollux_agent_checkpoint_dir(handle)
        self._checkpoint_dir = os.fsdecode(directory) if directory else None
        self._bind(groups)

    def _bind(self, groups: int) -> None:
        """Look up once what every step needs."""
        lib = self._library
        self.groups = groups
        self._c_step_begin = lib.pollux_agent_step_begin
        self._c_step_end = lib.pollux_agent_step_end
        self._c_micro_end = lib.pollux_agent_micro_end
        self._c_sync_time = lib.pollux_agent_sync_time
        self._c_gradients = lib.pollux_agent_gradients
        self._c_gradients_single = lib.pollux_agent_gradients_single
        self._c_paired = lib.pollux_agent_paired
        self._c_stopping = lib.pollux_agent_stopping
        self._c_decide = lib.pollux_agent_decide
        self._c_follow = lib.pollux_agent_follow
        self._c_factor = lib.pollux_agent_factor
        self._first: Any = (ctypes.c_double * groups)()
        self._second: Any = (ctypes.c_double * groups)()
        self._advice = CAdvice()
        self._advice_ref = ctypes.byref(self._advice)
        self._count = ctypes.c_size_t()
        self._count_ref = ctypes.byref(self._count)
        self._status = CStatus()
        self._status_ref = ctypes.byref(self._status)
        self._c_status = lib.pollux_agent_status
        self._numbers: Any = None
        self._numbers_at = 0

    def close(self) -> None:
        """Send a last report and restore the signal handler.  May be called again."""
        self._handle = closed("agent")
        self._numbers = None
        self._finalizer()

    def world(self) -> World:
        """This process among its replicas."""
        return self._world

    def checkpoint_dir(self) -> Optional[str]:
        """The value of POLLUX_CHECKPOINT_DIR when the agent was opened; None: not set."""
        return self._checkpoint_dir

    # ---- Stopping -----------------------------------------------------------------------------

    def catch(self, signal: int) -> None:
        """Turn a signal, such as SIGTERM, into advice to stop.  An earlier handler is still
        called."""
        check(self._library.pollux_agent_catch(self._handle, signal, self._err), self._error)

    def stopping(self) -> bool:
        """Whether this replica was asked to stop."""
        return self._c_stopping(self._handle)

    def stop(self) -> None:
        """Ask to stop.  On replica 0 the next decision is to stop."""
        self._library.pollux_agent_stop(self._handle)

    def set_total(self, total: float) -> None:
        """Set the total work, in updates with batch M0; 0: unknown."""
        self._library.pollux_agent_set_total(self._handle, total)

    def set_fixed(self, batch: Optional[Batch]) -> None:
        """Train with this batch; None: let the agent choose again."""
        c = CBatch(*batch) if batch else CBatch(0, 0)
        check(self._library.pollux_agent_set_fixed(self._handle, c, self._err), self._error)

    # ---- Measuring ----------------------------------------------------------------------------

    def pass_begin(self) -> None:
        """A pass over the data begins, or continues after a restart: its first step is not
        measured."""
        self._library.pollux_agent_pass_begin(self._handle)

    def step_begin(self) -> None:
        """An update begins."""
        self._c_step_begin(self._handle)

    def step_end(self) -> None:
        """The update was made or skipped."""
        self._c_step_end(self._handle)

    def step_drop(self) -> None:
        """The update is given up before its advice is followed: it is neither counted nor
        measured."""
        self._library.pollux_agent_step_drop(self._handle)

    def sync_time(self, seconds: float) -> None:
        """Add to the time that this update has waited for other replicas."""
        self._c_sync_time(self._handle, seconds)

    def micro_end(self) -> None:
        """One of the s micro-steps without synchronisation has ended."""
        self._c_micro_end(self._handle)

    def step_times(self, grad_s: float, step_s: float) -> None:
        """The times of this update by another clock: of a micro-step without synchronisation, and
        of the last one with synchronisation and the optimizer's step."""
        self._library.pollux_agent_step_times(self._handle, grad_s, step_s)

    def samples(self, total: int) -> None:
        """This update has `total` samples over all replicas instead of K m (s+1)."""
        check(self._library.pollux_agent_samples(self._handle, total, self._err), self._error)

    def gradients(
        self, parts: int, micro_sqr: Sequence[float], mean_sqr: Sequence[float]
    ) -> bool:
        """The statistics of this update, one number per group: mean over replicas x parts
        micro-gradients of their squared norms, and squared norm of the mean.  False: not finite,
        and the advice will be to skip this update.  Does nothing except on replica 0."""
        self._first[:] = micro_sqr
        self._second[:] = mean_sqr
        code = self._c_gradients(self._handle, parts, self._first, self._second, self._err)
        return code == 0 or self._not_finite(code)

    def gradients_single(
        self, dot: Optional[Sequence[float]], diff_sqr: Optional[Sequence[float]]
    ) -> bool:
        """The same for a single micro-gradient, compared with that of the update before; None, None
        if there is none."""
        first = second = None
        if dot is not None:
            first = self._first
            first[:] = dot
        if diff_sqr is not None:
            second = self._second
            second[:] = diff_sqr
        code = self._c_gradients_single(self._handle, first, second, self._err)
        return code == 0 or self._not_finite(code)

    def _not_finite(self, code: int) -> bool:
        if code != -EDOM:
            check(code, self._error)
        return False

    def skip(self) -> None:
        """Skip this update; call it instead of gradients(): before decide() on replica 0, or
        between decide() and follow() on every replica."""
        self._library.pollux_agent_skip(self._handle)

    def energy(self, mean_sqr: float) -> None:
        """For Adam: the squared norm of this update's mean gradient as it is, without Adam's
        preconditioner."""
        self._library.pollux_agent_energy(self._handle, mean_sqr)

    @property
    def paired(self) -> bool:
        """Whether the gradient of the update before can be used for a comparison."""
        return self._c_paired(self._handle)

    # ---- Advice -------------------------------------------------------------------------------

    def decide(self) -> Any:
        """Replica 0 decides.  Returns the doubles to broadcast from replica 0, in place: a ctypes
        array in the agent's own memory, the same one each time, not to be used after close."""
        at = self._c_decide(self._handle, self._count_ref)
        if at != self._numbers_at:
            self._numbers = (ctypes.c_double * self._count.value).from_address(at)
            self._numbers_at = at
        return self._numbers

    def receive(self, numbers: Sequence[float]) -> None:
        """The numbers of replica 0's decision, for follow().  decide() was called before."""
        self._numbers[:] = numbers

    def batch_at(self, update: int) -> Batch:
        """The batch of an update, counted from 0 since the training began, if the present choice
        stays."""
        return Batch.of(self._library.pollux_agent_batch_at(self._handle, update))

    def follow(self) -> Advice:
        """Take over the broadcast numbers, on every replica.  PolluxError if they are not valid."""
        code = self._c_follow(self._handle, self._advice_ref, self._err)
        if code < 0:
            check(code, self._error)
        c = self._advice
        batch = c.batch
        return Advice(
            Batch(batch.m, batch.s), _VERDICTS[c.verdict], c.skip, c.gain, c.progress
        )

    def factor(self, group: int) -> float:
        """The factor on the learning rate of a group, for this update."""
        return self._c_factor(self._handle, group)

    # ---- State and saving ---------------------------------------------------------------------

    def status(self) -> Status:
        """The state of the agent."""
        c = CStatus()
        self._library.pollux_agent_status(self._handle, ctypes.byref(c))
        return Status(
            Batch.of(c.batch),
            c.updates,
            c.progress,
            c.total,
            Grad.of(c.grad),
            Grad.of(c.decision_grad),
            c.noise_scale,
            c.noise_weight,
            c.noise_biased,
            c.noise_unbiased,
            Fit.of(c.fit) if c.fitted else None,
            Best.of(c.best) if c.fitted else None,
            c.samples,
            c.max_profiled_replicas,
            c.reports_sent,
            c.reports_lost,
            c.report_error,
        )

    def grads(self) -> Tuple[Tuple[float, float], Grad]:
        """Only grad, without gain_max, and decision_grad of status(); cheap enough for every
        update."""
        self._c_status(self._handle, self._status_ref)
        grad = self._status.grad
        return (grad.sqr, grad.var), Grad.of(self._status.decision_grad)

    def save_state(self) -> bytes:
        """Progress, noise averages, measured times and the model, in a portable format."""
        size = self._library.pollux_agent_state_size(self._handle)
        data = ctypes.create_string_buffer(size)
        code = self._library.pollux_agent_state_save(self._handle, data, size, self._err)
        check(code, self._error)
        return data.raw

    def restore_state(self, data: bytes) -> None:
        """Restore the state of an agent with the same groups and M0, from any number of replicas.
        PolluxError if the bytes are not valid; the agent is then unchanged."""
        code = self._library.pollux_agent_state_restore(
            self._handle, data, len(data), self._err
        )
        check(code, self._error)
