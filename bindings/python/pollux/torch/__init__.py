# SPDX-License-Identifier: Apache-2.0
"""Pollux for PyTorch: three lines make a training script adaptive, elastic and resumable.

    import pollux.torch as px
    px.init()
    model, opt, loader = px.prepare(model, opt, loader, max_batch=4096, local_batch=(32, 256))
    for epoch in px.epochs(30):
        for x, y in loader:
            ...                     # unchanged

The loader's batch_size is M0: the total batch that the learning rate was chosen for.  From then on
the batch follows the gradient noise and the number of replicas, and the learning rate follows the
batch.  docs/pytorch.md tells the rest.
"""
from __future__ import annotations

import sys
import warnings
from typing import Any, Iterable, Iterator, Optional, Tuple

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from ..agent import Agent, Batch
from .arguments import check_methods, check_objects, local_batch_of, max_batch_of, note_of_others
from .data import ElasticLoader, check
from .evaluation import EvaluationLoader
from .loop import epochs as _epochs, steps as _steps
from .report import Accumulator
from .batches import samples_in
from .session import STOPPED, Session

__all__ = ["Accumulator", "STOPPED", "close", "epochs", "evaluation", "init", "metrics", "observe",
           "prepare", "rank", "replicas", "save", "session", "steps", "track"]

_session: Optional[Session] = None


def session() -> Session:
    """That of px.init()."""
    if _session is None:
        raise RuntimeError("call px.init() first")
    return _session


def init(checkpoint: Optional[str] = None, *, backend: Optional[str] = None,
         log: Optional[str] = None, writer: Any = None, save_every: float = 300.0,
         report_every: float = 30.0, adapt: bool = True, seed: int = 0) -> None:
    """Begin: find the other replicas, by the variables of polluxd, torchrun, Open MPI or Slurm, or
    be alone.

    checkpoint    directory for checkpoints; by default POLLUX_CHECKPOINT_DIR; neither: none are
                  written
    backend       of torch.distributed; by default nccl with CUDA and gloo without
    log, writer   write metrics every report_every seconds: a file of JSON lines; anything with
                  add_scalar()
    save_every    seconds between checkpoints, besides that of a stop
    adapt         False: measure, save and stop, but leave batch and learning rate alone
    seed          of the order of the samples
    """
    global _session
    if _session is not None:
        raise RuntimeError("px.init() was called before")
    _session = Session(checkpoint, backend=backend, log=log, writer=writer, save_every=save_every,
                       report_every=report_every, adapt=adapt, seed=seed)


def close() -> None:
    """End the session, without a checkpoint: the program's objects are its own again, and px.init()
    may be called again, in a notebook say.  A process group stays, for the next session to use."""
    global _session
    if _session is not None:
        _session.close()
        _session = None


def prepare(model: torch.nn.Module, optimizer: torch.optim.Optimizer, loader: DataLoader, *,
            max_batch: Optional[int] = None, local_batch: Optional[Tuple[int, int]] = None,
            accumulation: bool = True, rule: Optional[str] = None, scheduler: Any = None,
            scaler: Any = None, ddp: Optional[dict] = None, warmup_epochs: float = 0.0
            ) -> Tuple[torch.nn.Module, torch.optim.Optimizer, Any]:
    """Make them adaptive.  Returns the model, in DDP if there are several replicas, the same
    optimizer, and an elastic loader.

    max_batch     largest total batch; by default M0
    local_batch   smallest and largest batch of one replica's micro-step; by default 1 and M0
    accumulation  whether an update may have several micro-steps
    rule          learning-rate rule: adascale, adamscale, linear, sqrt, legw; by default adamscale
                  for optimizers like Adam, else adascale
    scheduler     one that is stepped with every update: its clock will be progress, in updates
                  with M0
    scaler        a gradient scaler that was made before px.init(), or is not torch's
    ddp           options for DistributedDataParallel
    warmup_epochs for legw
    """
    it = session()
    it.must_be_new()
    check_objects("px.prepare()", model, optimizer, loader)
    check_methods("px.prepare(scheduler=...)", scheduler, ("step", "state_dict"))
    check_methods("px.prepare(scaler=...)", scaler, ("state_dict", "load_state_dict"))
    check(loader)
    init_batch = int(loader.batch_size)  # type: ignore[arg-type]
    most = max_batch_of(max_batch, init_batch)
    low, high = local_batch_of(local_batch, init_batch)
    it.pass_samples = samples_in(loader)
    if it.pass_samples:
        most = max(min(most, it.pass_samples), init_batch)
    fixed = None if it.adapt else it.fixed(init_batch, high)
    whole = _whole(optimizer, getattr(model, "static_graph", (ddp or {}).get("static_graph")))
    accumulation = accumulation and not whole
    if whole and high * it.world.replicas < init_batch:
        raise ValueError(f"{whole}, so a batch has no micro-steps: local_batch must reach "
                         f"{-(-init_batch // it.world.replicas)}, not {high}")
    agent = Agent(
        init_batch, max_batch=most, local_batch=(low, high), accumulation=accumulation,
        groups=len(optimizer.param_groups) + 1, rule=rule or _rule_of(optimizer),
        observe=not it.adapt, fixed=fixed, warmup_epochs=warmup_epochs,
        dataset_size=it.pass_samples, period_s=it.period_s, world=it.world)
    module = model.module if isinstance(model, DistributedDataParallel) else model
    it.open(module, optimizer, agent, init_batch=init_batch, observe=False)
    if it.world.replicas > 1 and not isinstance(model, DistributedDataParallel):
        model = DistributedDataParallel(model, **(ddp or {}))
    if isinstance(model, DistributedDataParallel):
        it.ddp = model  # also one of one replica, which must not sum in every micro-step
    if it.world.replicas > 1:
        it.gradients.attach(model)
    if scheduler is not None:
        it.patches.scheduler(scheduler, by_progress=True)
    if scaler is not None:
        it.patches.scaler(scaler)
    it.patches.warn_of_strangers(optimizer, it.leads)
    if accumulation and it.leads:
        note = note_of_others(module, optimizer)
        if note:
            print(note, file=sys.stderr, flush=True)
    it.loader = ElasticLoader(loader, it)
    return model, optimizer, it.loader


def observe(model: torch.nn.Module, optimizer: torch.optim.Optimizer, loader: DataLoader
            ) -> Tuple[torch.nn.Module, torch.optim.Optimizer, DataLoader]:
    """Measure noise and times and report them, and change nothing: batch, rate and data stay the
    program's own, and so does DDP.  The loader's batch_size is taken for that of one replica."""
    it = session()
    it.must_be_new()
    check_objects("px.observe()", model, optimizer, loader)
    local = int(loader.batch_size or 1)
    init_batch = local * it.world.replicas
    agent = Agent(init_batch, max_batch=init_batch, local_batch=(1, init_batch), observe=True,
                  groups=len(optimizer.param_groups) + 1, rule=_rule_of(optimizer),
                  fixed=Batch(local, 0), period_s=it.period_s, world=it.world)
    it.open(model, optimizer, agent, init_batch=init_batch, observe=True)
    agent.pass_begin()
    it.advise()
    it.begin_observing()
    return model, optimizer, loader


def epochs(count: int, by: str = "passes") -> Iterator[int]:
    """Epochs, from where training stopped: `count` passes over the data; by="progress": as many
    passes as it takes to get as far as `count` passes with M0 would."""
    return _epochs(session(), count, by)


def steps(count: int) -> Iterator[int]:
    """Iterations until `count` updates with M0, or what is worth as much, are done; yields how many
    are.  Data is taken by next() from one iter(loader), which does not end."""
    return _steps(session(), count)


def evaluation(loader: DataLoader, stoppable: bool = False) -> Iterable[Any]:
    """This replica's share of a loader for validation: every sample in exactly one replica.  Sum
    over the replicas by px.Accumulator.  A request to stop waits until training goes on, unless it
    is stoppable."""
    return EvaluationLoader(loader, session(), stoppable)


def save() -> None:
    """Write a checkpoint between two of the next updates, or at the end of the epoch.  Replica 0 is
    heard."""
    it = session()
    if it.saver.directory is None:
        warnings.warn("px.save(): there is no directory; say px.init(checkpoint=...)", stacklevel=2)
    it.save_asked = True


def track(name: str, thing: Any) -> Any:
    """Save and restore something with state_dict() and load_state_dict() as well.  Returns it."""
    session().saver.track(name, thing)
    return thing


def metrics() -> dict[str, Any]:
    """epoch, progress, replicas, batch (total), local_batch, accumulation, throughput, efficiency,
    goodput, noise_scale, gain (of the last update) and lr_factor (per parameter group).  None: not
    known yet."""
    return session().metrics()


def rank() -> int:
    """Of this replica, 0 to replicas() - 1."""
    return session().world.rank


def replicas() -> int:
    return session().world.replicas


def _rule_of(optimizer: torch.optim.Optimizer) -> str:
    return "adamscale" if all("betas" in group for group in optimizer.param_groups) else "adascale"


def _whole(optimizer: torch.optim.Optimizer, static_graph: Optional[bool]) -> str:
    """Why a replica's batch cannot be split into micro-steps; empty if it can."""
    if isinstance(optimizer, torch.optim.LBFGS):
        return "LBFGS evaluates the same batch several times"
    if static_graph:
        return "DDP with static_graph must sum the gradients of every backward"
    return ""
