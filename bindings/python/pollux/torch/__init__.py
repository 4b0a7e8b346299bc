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
batch.  See docs/pytorch.md.
"""
from __future__ import annotations

import sys
import warnings
from typing import Any, Callable, Iterable, Iterator, Optional, Tuple

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from ..agent import Agent, Batch
from ..model import split_batch
from .arguments import batch_size_of, check_methods, check_objects, check_scheduler, \
    init_batch_of, local_batch_of, max_batch_of, note_of_other_parameters
from .data import ElasticLoader, check
from .evaluation import EvaluationLoader
from .loop import epochs as _epochs, steps as _steps
from .loop_loader import LoopLoader
from .rebatched import rebatched
from .optimizers import beta2_of, note_of_no_rule, rule_of
from .report import Accumulator
from .batches import samples_in, updates_in
from .session import STOPPED, Session
from .states import ddp_of, is_compiled, unwrapped

__all__ = ["Accumulator", "STOPPED", "close", "epochs", "evaluation", "init", "load_state_dict",
           "loader", "metrics", "observe", "prepare", "rank", "replicas", "save", "session",
           "state_dict", "steps", "track", "updating"]

_session: Optional[Session] = None


def session() -> Session:
    """The session that px.init() has made."""
    if _session is None:
        raise RuntimeError("call px.init() first")
    return _session


def init(checkpoint: Optional[str] = None, *, backend: Optional[str] = None,
         log: Optional[str] = None, writer: Any = None, save_every: float = 300.0,
         report_every: float = 30.0, adapt: bool = True, seed: int = 0,
         clock: Optional[Callable[[], float]] = None) -> None:
    """Start a session.  The environment variables of polluxd, torchrun, Open MPI or Slurm say which
    replica this process is; without them there is one replica.

    checkpoint    directory for checkpoints (default: POLLUX_CHECKPOINT_DIR; without either, no
                  checkpoints are written)
    backend       of torch.distributed (default: nccl with CUDA, otherwise gloo)
    log, writer   where metrics are written every report_every seconds: the path of a file of JSON
                  lines; an object with add_scalar()
    save_every    seconds between checkpoints; a request to stop writes one in any case
    adapt         False: measure, save and stop, but do not change batch and learning rate
    seed          of the order of the samples
    clock         seconds by which steps, throughput and report_every are measured (default: the
                  monotonic clock)
    """
    global _session
    if _session is not None:
        raise RuntimeError("px.init() was called before")
    _session = Session(checkpoint, backend=backend, log=log, writer=writer, save_every=save_every,
                       report_every=report_every, adapt=adapt, seed=seed, clock=clock)


def close() -> None:
    """End the session without writing a checkpoint, and remove all patches from the program's
    objects.  px.init() may be called again afterwards, for example in a notebook.  The process
    group of torch.distributed stays open for the next session."""
    global _session
    if _session is not None:
        _session.close()
        _session = None


def prepare(model: torch.nn.Module, optimizer: torch.optim.Optimizer, loader: Any, *,
            max_batch: Optional[int] = None, local_batch: Optional[Tuple[int, int]] = None,
            batch_size: Optional[int] = None, accumulation: bool = True,
            rule: Optional[str] = None, scheduler: Any = None, scaler: Any = None,
            ddp: Optional[dict] = None, warmup_epochs: float = 0.0
            ) -> Tuple[torch.nn.Module, torch.optim.Optimizer, Any]:
    """Make training adaptive.  Returns the model (wrapped in DDP if there are several replicas),
    the same optimizer, and an elastic loader; that of px.loader() is returned as it is.

    max_batch     largest total batch (default: M0)
    local_batch   smallest and largest batch of one replica's micro-step (default: 1 and M0)
    batch_size    M0, for a loader that has no batch_size of its own (default: the loader's)
    accumulation  whether an update may have several micro-steps
    rule          learning-rate rule: adascale, adamscale, linear, sqrt, legw (default: adascale
                  for SGD, adamscale for Adam, AdamW and RMSprop; others keep M0)
    scheduler     a learning-rate scheduler that the program steps after every update.  It is put
                  on the progress clock: one step per update with batch M0
    scaler        a gradient scaler that was made before px.init() or is not a class of torch
    ddp           options for DistributedDataParallel
    warmup_epochs for legw
    """
    it = session()
    it.check_not_prepared()
    own_loop = loader if isinstance(loader, LoopLoader) else None
    if own_loop is not None:
        loader = own_loop.given
    check_objects("px.prepare()", model, optimizer, loader)
    of_program = loader
    if batch_size is not None:
        loader = rebatched(loader, init_batch_of(batch_size), it.collectives)
    check_scheduler(scheduler)
    check_methods("px.prepare(scaler=...)", scaler, ("state_dict", "load_state_dict"))
    check(loader)
    init_batch = int(loader.batch_size)  # type: ignore[arg-type]
    most = max_batch_of(max_batch, init_batch)
    low, high = local_batch_of(local_batch, init_batch)
    it.pass_samples = samples_in(loader)
    it.pass_updates = updates_in(loader, it.pass_samples)
    if it.pass_samples:
        most = max(min(most, it.pass_samples), init_batch)
    known_rule = rule_of(optimizer)
    if rule is None and known_rule is None:
        it.adapt = False
        if most > init_batch and it.leads:
            print(note_of_no_rule(optimizer, init_batch), file=sys.stderr, flush=True)
    if not it.adapt:
        most = init_batch  # larger batches would be promised to the scheduler
    only = split_batch(init_batch, it.world.replicas, high)
    if it.adapt and rule is None and known_rule == "adamscale":
        it.without_moments = only
    own_ddp = ddp_of(model)
    static_graph = getattr(own_ddp, "static_graph", (ddp or {}).get("static_graph"))
    indivisible = _why_indivisible(optimizer, static_graph)
    accumulation = accumulation and not indivisible
    if indivisible and high * it.world.replicas < init_batch:
        raise ValueError(f"{indivisible}, so a batch cannot be split into micro-steps: local_batch "
                         f"must reach {-(-init_batch // it.world.replicas)}, not {high}")
    agent = Agent(
        init_batch, max_batch=most, local_batch=(low, high), accumulation=accumulation,
        groups=len(optimizer.param_groups) + 1, rule=rule or known_rule,
        observe=not it.adapt, fixed=None if it.adapt else only, warmup_epochs=warmup_epochs,
        few_sizes=is_compiled(model),
        dataset_size=it.pass_samples, beta2=beta2_of(optimizer), period_s=it.period_s,
        world=it.world, clock=it.clock)
    module = unwrapped(model)
    it.open(module, optimizer, agent, init_batch=init_batch, observe=False)
    if it.world.replicas > 1 and own_ddp is None:
        model = own_ddp = DistributedDataParallel(model, **(ddp or {}))
    it.ddp = own_ddp  # also with one replica: it must not synchronise in every micro-step
    if it.world.replicas > 1:
        it.gradients.attach(own_ddp, it.patches)
    if scheduler is not None:
        it.patches.scheduler(scheduler, by_progress=True)
    if scaler is not None:
        it.patches.scaler(scaler)
    it.patches.warn_of_unknown_scheduler(optimizer, it.leads)
    if accumulation and it.leads:
        note = note_of_other_parameters(module, optimizer)
        if note:
            print(note, file=sys.stderr, flush=True)
    it.loader = ElasticLoader(loader, it, of_program)
    if own_loop is not None:
        own_loop.attach(it.loader)
    return model, optimizer, own_loop or it.loader


def observe(model: torch.nn.Module, optimizer: torch.optim.Optimizer, loader: DataLoader, *,
            batch_size: Optional[int] = None
            ) -> Tuple[torch.nn.Module, torch.optim.Optimizer, DataLoader]:
    """Measure gradient noise and step times and report them.  Batch, learning rate, data and DDP
    are not changed.

    batch_size    samples of a batch of one replica (default: that of the loader or of its
                  batch_sampler)
    """
    it = session()
    it.check_not_prepared()
    check_objects("px.observe()", model, optimizer, loader)
    local = batch_size_of(batch_size, loader)
    init_batch = local * it.world.replicas
    agent = Agent(init_batch, max_batch=init_batch, local_batch=(1, init_batch), observe=True,
                  groups=len(optimizer.param_groups) + 1, rule=rule_of(optimizer),
                  fixed=Batch(local, 0), dataset_size=samples_in(loader),
                  beta2=beta2_of(optimizer), period_s=it.period_s, world=it.world, clock=it.clock)
    it.open(model, optimizer, agent, init_batch=init_batch, observe=True)
    agent.pass_begin()
    it.advise()
    it.begin_observing()
    return model, optimizer, loader


def epochs(count: int, by: Optional[str] = None) -> Iterator[int]:
    """The epochs that are left to train, `count` in all.

    by="progress"   an epoch is the progress of a pass over the data with batch M0: as many updates
                    as with M0, or fewer that count more.  A larger batch makes less progress per
                    sample, so the next pass may begin within an epoch.  The next epoch continues
                    with the samples after its last one
    by="passes"     an epoch is a pass over the data

    The default is progress; passes for a dataset without a length and with px.init(adapt=False).
    """
    return _epochs(session(), count, by)


def steps(count: int) -> Iterator[int]:
    """Train until progress reaches `count` updates with batch M0; yields the progress so far.  Take
    the data by next() from one iter(loader), which never ends."""
    return _steps(session(), count)


def loader(dataset: Any, batch: int, *, epochs: Optional[int] = None, **options: Any) -> LoopLoader:
    """A loader for a program whose loop is elsewhere, for example in a framework.  Give it to
    px.prepare() before it is iterated; batch is M0.  Each iteration is an epoch, as of px.epochs().

    epochs        how many there are; then the final state is saved at the end of the last one
    options       of torch.utils.data.DataLoader
    """
    return LoopLoader(DataLoader(dataset, batch, **options), session(), epochs)


def evaluation(loader: DataLoader, stoppable: bool = False) -> Iterable[Any]:
    """This replica's share of a loader for validation: every sample is in exactly one replica.
    px.Accumulator sums over the replicas.  A request to stop takes effect after the evaluation, or,
    with stoppable=True, during it."""
    return EvaluationLoader(loader, session(), stoppable)


def save() -> None:
    """Ask for a checkpoint after one of the next updates, at the latest at the end of the epoch.
    Only the call of replica 0 has an effect."""
    it = session()
    if it.saver.directory is None:
        warnings.warn("px.save(): there is no checkpoint directory; set px.init(checkpoint=...)",
                      stacklevel=2)
    it.save_asked = True


def track(name: str, thing: Any) -> Any:
    """Save and restore one more object, which has state_dict() and load_state_dict().  Returns
    it."""
    session().saver.track(name, thing)
    session().patches.average(thing)
    return thing


def updating() -> bool:
    """Whether this micro-step is the last one of its update, in which opt.step() changes the
    parameters.  After opt.step() it says whether that has changed them: an update with an inf or a
    NaN is skipped.  For what belongs to updates, such as averages of the weights, counters and
    logs."""
    it = session()
    it.misuse.updating_asked()
    return it.updating


def state_dict() -> dict[str, Any]:
    """What Pollux needs to go on, for a checkpoint of the program's own: measurements, noise,
    progress, position in the data.  Not the model, the optimizer, schedulers and random states.
    After px.prepare(), between two updates or after opt.step().  If the dataset is iterable, all
    replicas must call it."""
    it = session()
    it.check_prepared()
    return it.saver.state(it)


def load_state_dict(state: dict[str, Any]) -> None:
    """Go on from px.state_dict(), with any number of replicas.  All replicas call it, after
    px.prepare() and before the loop.  A checkpoint in the session's own directory replaces it."""
    it = session()
    it.check_prepared()
    it.saver.load(it, state)


def metrics() -> dict[str, Any]:
    """epoch, progress, replicas, batch (total), local_batch, accumulation, throughput, efficiency,
    goodput, noise_scale, noise_unbiased, gain (of the last update) and lr_factor (per parameter
    group).  A value that is not known yet is None."""
    it = session()
    it.misuse.rate_explained()
    return it.metrics()


def rank() -> int:
    """The rank of this replica, 0 to replicas() - 1."""
    return session().world.rank


def replicas() -> int:
    return session().world.replicas


def _why_indivisible(optimizer: torch.optim.Optimizer, static_graph: Optional[bool]) -> str:
    """Why a replica's batch cannot be split into micro-steps; "" if it can."""
    if isinstance(optimizer, torch.optim.LBFGS):
        return "LBFGS evaluates the same batch several times"
    if static_graph:
        return "DDP with static_graph must sum the gradients of every backward"
    return ""
