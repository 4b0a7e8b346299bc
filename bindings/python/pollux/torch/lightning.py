# SPDX-License-Identifier: Apache-2.0
"""lightning.pytorch with Pollux: a strategy.

    from pollux.torch.lightning import ElasticStrategy
    trainer = Trainer(strategy=ElasticStrategy(max_batch=1024, local_batch=(8, 256)), max_epochs=30)

One batch of the Trainer is one update: the strategy runs training_step() for its other
micro-batches before the optimizer steps.  global_step counts updates; epochs, the scheduler with
interval "step" and the end of training follow progress.  ElasticCallback, which the strategy adds
to the Trainer, puts the state of Pollux into the Trainer's checkpoints.
"""
from __future__ import annotations

import contextlib
import math
import signal
from typing import Any, Callable, Optional

import lightning.pytorch as pl
import torch
import torch.distributed as dist
from lightning.pytorch.plugins.environments import ClusterEnvironment
from lightning.pytorch.strategies import ParallelStrategy
from lightning.pytorch.trainer.connectors.signal_connector import _HandlersCompose
from lightning.pytorch.trainer.states import TrainerFn
from lightning.pytorch.utilities.rank_zero import rank_zero_only
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

import pollux.torch as px

from ..agent import World
from .adapters import PREPARE, counts_updates, start, taken
from .loop import TOLERANCE
from .loop_loader import LoopLoader, Updates

NAME = "pollux"     # of the state in the Trainer's checkpoints


class ElasticStrategy(ParallelStrategy):
    """DDP with Pollux; with one replica, neither DDP nor a process group.  polluxd, torchrun, Slurm
    or Open MPI starts the replicas; `devices` and `num_nodes` of the Trainer are ignored.

    The options are those of px.init() and px.prepare().  M0 is the batch_size of the training
    loader."""

    strategy_name = NAME

    def __init__(self, **options: Any) -> None:
        self._prepare_options = taken(options, PREPARE)
        self._session = start(options)  # before schedulers are made
        if options:
            raise TypeError(f"ElasticStrategy(): there is no option {next(iter(options))}")
        self._world = self._session.world
        super().__init__(cluster_environment=Replicas(self._world))
        self._callback = ElasticCallback(self)
        self._updates: Any = None
        self.begun = False
        self._later: Any = None     # the micro-batch that replaces the one of the closure

    # ---- Replicas --------------------------------------------------------------------------

    @property
    def root_device(self) -> torch.device:
        devices = self.parallel_devices or [torch.device("cpu")]
        return devices[self._world.local_rank % len(devices)]

    @property
    def is_distributed(self) -> bool:
        """Whether the Trainer divides a loader by a DistributedSampler.  Not the training loader,
        which Pollux divides."""
        loads_training = self._trainer.training and self._trainer.train_dataloader is None
        return self._world.replicas > 1 and not loads_training

    @property
    def distributed_sampler_kwargs(self) -> dict[str, Any]:
        return {"num_replicas": self._world.replicas, "rank": self._world.rank}

    def set_world_ranks(self) -> None:
        rank_zero_only.rank = self._world.rank

    @property
    def _trainer(self) -> Any:
        return self.lightning_module.trainer

    def barrier(self, *_args: Any, **_options: Any) -> None:
        if self._world.replicas > 1:
            dist.barrier()

    def broadcast(self, obj: Any, src: int = 0) -> Any:
        collectives = self._session.collectives
        return collectives.from_first(obj) if src == 0 else collectives.gather(obj)[src]

    def reduce(self, tensor: Any, group: Any = None, reduce_op: Any = "mean") -> Any:
        if self._world.replicas == 1 or not isinstance(tensor, torch.Tensor):
            return tensor
        mean = reduce_op in ("mean", "avg", dist.ReduceOp.AVG)
        if mean or reduce_op is None:
            operation = dist.ReduceOp.SUM
        elif isinstance(reduce_op, str):
            operation = getattr(dist.ReduceOp, reduce_op.upper())
        else:
            operation = reduce_op
        result = tensor.clone()
        dist.all_reduce(result, operation, group)
        return result / self._world.replicas if mean else result

    # ---- Begin and end ---------------------------------------------------------------------

    def connect(self, model: pl.LightningModule) -> None:
        super().connect(model)
        callbacks = model.trainer.callbacks
        if self._callback not in callbacks:
            callbacks.insert(0, self._callback)

    def setup(self, trainer: pl.Trainer) -> None:
        if trainer.state.fn == TrainerFn.FITTING:
            check(trainer)
        super().setup(trainer)

    def model_to_device(self) -> None:
        self.model.to(self.root_device)

    def _setup_model(self, model: torch.nn.Module) -> torch.nn.Module:
        if self._trainer.state.fn != TrainerFn.FITTING or self._world.replicas == 1:
            return model
        if self._layer_sync:
            model = self._layer_sync.apply(model)
        devices = None if self.root_device.type == "cpu" else [self.root_device.index]
        return DistributedDataParallel(model, device_ids=devices,
                                       **self._prepare_options.get("ddp", {}))

    def process_dataloader(self, dataloader: Any) -> Any:
        if not self._trainer.training:
            return dataloader
        if not isinstance(dataloader, DataLoader):
            raise TypeError("ElasticStrategy: the training data must be one DataLoader of torch, "
                            f"not a {type(dataloader).__name__}")
        self._updates = Updates(LoopLoader(dataloader, self._session, None), self._session)
        return self._updates

    def begin(self) -> None:
        """The Trainer has made and restored all its objects: make them elastic."""
        trainer, updates = self._trainer, self._updates
        handler = take_handler(trainer)
        schedule = self._schedule_of_updates()
        px.prepare(self.model, self.optimizers[0], updates.loader,
                   scheduler=schedule.scheduler if schedule is not None else None,
                   **self._prepare_options)
        if schedule is not None:
            # An epoch of larger batches may have fewer updates than the frequency.
            self._session.patches.by_progress.every, schedule.frequency = schedule.frequency, 1
        if callable(handler):
            signal.signal(signal.SIGTERM, self._stop_and(handler))
        updates.loader.set_epochs(self._epochs_of(trainer, len(updates)))
        px.track(f"{NAME}.lightning", TrainerCounters(trainer))
        if trainer.val_check_interval == 1.0:
            trainer.val_check_batch = float("inf")  # at the end of the epoch, wherever that is
        self.begun = True
        self._callback.give_state()
        self._session.restore()

    def _stop_and(self, handler: Callable[..., Any]) -> Callable[..., Any]:
        def both(number: int, frame: Any) -> None:
            self._session.agent.stop()
            handler(number, frame)
        return both

    def _schedule_of_updates(self) -> Any:
        """The configuration of the first scheduler that counts updates.  counts_updates() prepares
        those that take a metric, so it is called for all."""
        counting = [each for each in self.lr_scheduler_configs if each.interval == "step"
                    and counts_updates(self._session, each.scheduler) is not None
                    and not each.reduce_on_plateau]
        return counting[0] if counting else None

    @staticmethod
    def _epochs_of(trainer: Any, updates: int) -> Any:
        steps, count = trainer.max_steps, trainer.max_epochs
        count = math.inf if count is None or count < 0 else count
        return count if steps < 0 else min(count, math.ceil(steps / updates))

    def end(self) -> None:
        self._updates.loader.finish()

    def teardown(self) -> None:
        if isinstance(self.model, DistributedDataParallel):
            self.model = self.lightning_module
        super().teardown()

    # ---- One update ------------------------------------------------------------------------

    def optimizer_step(self, optimizer: Any, closure: Callable[[], Any], model: Any = None,
                       **options: Any) -> Any:
        """The closure runs training_step() and backward() for the first micro-batch.  The others
        follow; the optimizer calls the closure for the last one."""
        rest = self._updates.rest()
        while self._session.accumulating:
            closure()
            more = self.precision_plugin.convert_input(next(rest))
            more = self.lightning_module._on_before_batch_transfer(more, dataloader_idx=0)
            self._later = self.batch_to_device(more, dataloader_idx=0)
        result = super().optimizer_step(optimizer, closure, model, **options)
        self._later = None
        self._end_epoch_or_training()
        return result

    def training_step(self, batch: Any, *args: Any, **options: Any) -> Any:
        if self._later is not None:
            batch = self._later
        return super().training_step(batch, *args, **options)

    def _end_epoch_or_training(self) -> None:
        trainer, session = self._trainer, self._session
        batches = trainer.fit_loop.epoch_loop.batch_progress
        batches.is_last_batch |= session.loader.ends_now()
        if 0 <= trainer.max_steps <= session.progress + TOLERANCE:
            trainer.should_stop = True


class ElasticCallback(pl.Callback):
    """Begins and ends elastic training, and saves the state of Pollux in the Trainer's
    checkpoints."""

    def __init__(self, strategy: ElasticStrategy) -> None:
        self._strategy = strategy
        self._found: Optional[dict[str, Any]] = None    # in a checkpoint

    @property
    def state_key(self) -> str:
        return NAME

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._strategy.begin()

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._strategy.end()

    def state_dict(self) -> dict[str, Any]:
        return px.state_dict() if self._strategy.begun else {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._found = state

    def give_state(self) -> None:
        """The objects are prepared: go on from the Trainer's checkpoint, if there was one."""
        if self._found is not None:
            px.load_state_dict(self._found)
            self._found = None


class TrainerCounters:
    """The counters of a Trainer and the states of its callbacks, for the checkpoints of Pollux."""

    def __init__(self, trainer: Any) -> None:
        self._trainer = trainer

    def _callbacks(self) -> list[Any]:
        return [each for each in self._trainer.callbacks if not isinstance(each, ElasticCallback)]

    def state_dict(self) -> dict[str, Any]:
        return {"loop": self._trainer.fit_loop.state_dict(),
                "callbacks": {each.state_key: each.state_dict() for each in self._callbacks()}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        loop = self._trainer.fit_loop
        loop.load_state_dict(state["loop"])
        loop.reset()
        loop.epoch_progress.current.completed = loop.epoch_progress.current.processed
        for each in self._callbacks():
            if state["callbacks"].get(each.state_key):
                each.load_state_dict(state["callbacks"][each.state_key])


class Replicas(ClusterEnvironment):
    """This replica among all, as Pollux sees it."""

    def __init__(self, world: World) -> None:
        self._world = world

    @property
    def creates_processes_externally(self) -> bool:
        return True

    @property
    def main_address(self) -> str:
        return "127.0.0.1"  # not used: Pollux has made the process group

    @property
    def main_port(self) -> int:
        return 0

    @staticmethod
    def detect() -> bool:
        return False

    def world_size(self) -> int:
        return self._world.replicas

    def set_world_size(self, size: int) -> None:
        pass

    def global_rank(self) -> int:
        return self._world.rank

    def set_global_rank(self, rank: int) -> None:
        pass

    def local_rank(self) -> int:
        return self._world.local_rank

    def node_rank(self) -> int:
        return self._world.rank * self._world.nodes // self._world.replicas


def take_handler(trainer: pl.Trainer) -> Any:
    """Remove the Trainer's handler of SIGTERM, which would end training without saving.  Returns
    the one that the script had before.  In another thread than the main one there are none."""
    if not isinstance(signal.getsignal(signal.SIGTERM), _HandlersCompose):
        return None
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        return trainer._signal_connector._original_handlers.get(signal.SIGTERM)
    return None


def check(trainer: pl.Trainer) -> None:
    """Raise an error for what the strategy does not support."""
    if not trainer.lightning_module.automatic_optimization:
        raise ValueError("ElasticStrategy: manual optimization is not supported; use px.prepare() "
                         "and a loop of your own")
    if trainer.accumulate_grad_batches != 1:
        raise ValueError("ElasticStrategy: remove accumulate_grad_batches: the batch_size of the "
                         "loader is the whole batch, and Pollux accumulates")
    if trainer.reload_dataloaders_every_n_epochs:
        raise ValueError("ElasticStrategy: reload_dataloaders_every_n_epochs is not supported: the "
                         "position in the data would be lost")
