# SPDX-License-Identifier: Apache-2.0
"""Loops with accelerate.Accelerator, with Pollux: two lines of a script change.

    from pollux.torch.accelerate import Accelerator     # instead of: from accelerate import ...
    accelerator = Accelerator(max_batch=1024, local_batch=(8, 256))
    model, opt, loader, schedule = accelerator.prepare(model, opt, loader, schedule)
    for epoch in px.epochs(30):                          # instead of: range(30)

An iteration of the loop is a micro-step; accelerator.sync_gradients is True in the last one of an
update, also within accelerator.accumulate(model).
"""
from __future__ import annotations

import contextlib
from typing import Any, Iterator

import accelerate
import torch
from accelerate.utils import DDPCommunicationHookType, send_to_device
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

import pollux.torch as px

from .adapters import PREPARE, start, take_over_step, taken
from .data import ElasticLoader
from .delegating import Delegating


class Accelerator(accelerate.Accelerator):
    """accelerate.Accelerator with the options of px.init() and px.prepare().

    M0 is the batch_size of the training loader x gradient_accumulation_steps, whatever the number
    of processes.  local_batch is (1, batch_size) unless it is given.  The training loader is the
    first one in a call of prepare() that has an optimizer; other loaders are accelerate's."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self._prepare_options = taken(options, PREPARE)
        self._session = start(options)
        super().__init__(*args, **options)
        self._parts = self.gradient_accumulation_steps
        self.gradient_accumulation_steps = 1  # Pollux accumulates

    def prepare(self, *args: Any, **options: Any) -> Any:
        is_training = any(isinstance(each, torch.optim.Optimizer) for each in args)
        loader = next((each for each in args if isinstance(each, DataLoader)), None)
        if not is_training or loader is None:
            return super().prepare(*args, **options)
        rest = [each for each in args if each is not loader]
        if options.get("device_placement") is not None:
            options["device_placement"] = [placed for each, placed in zip(
                args, options["device_placement"]) if each is not loader]
        with self._without_hook():
            result = super().prepare(*rest, **options)
        done = iter(result if isinstance(result, tuple) else (result,))
        prepared = [None if each is loader else next(done) for each in args]
        elastic = self._make_elastic(loader, prepared)
        return tuple(elastic if given is loader else each for given, each in zip(args, prepared))

    def _make_elastic(self, loader: DataLoader, prepared: list[Any]) -> "SyncedLoader":
        def first(*kinds: type) -> Any:
            return next((each for each in prepared if isinstance(each, kinds)), None)

        if loader.batch_size is None:
            raise ValueError("Accelerator.prepare(): the training loader must have a batch_size")
        for each in prepared:
            if isinstance(each, accelerate.scheduler.AcceleratedScheduler):
                # Whether it counts updates or epochs is seen when it is stepped.
                self._session.patches.scheduler(each.scheduler)
                each.split_batches = True   # one step per call, whatever the number of processes
        model = first(torch.nn.Module)
        optimizer = first(accelerate.optimizer.AcceleratedOptimizer)
        options = {"local_batch": (1, loader.batch_size), **self._prepare_options}
        _model, _optimizer, elastic = px.prepare(
            model, optimizer.optimizer, loader,
            batch_size=loader.batch_size * self._parts if self._parts > 1 else None,
            scaler=self.scaler, **options)
        take_over_step(optimizer)
        if isinstance(model, DistributedDataParallel) and self.ddp_handler is not None:
            self.ddp_handler.register_comm_hook(model)  # after that of Pollux
        self.register_for_checkpointing(State())
        return SyncedLoader(elastic, self)

    @contextlib.contextmanager
    def _without_hook(self) -> Iterator[None]:
        """DDP takes one communication hook, which must be that of Pollux: do not register the one
        of DistributedDataParallelKwargs(comm_hook=...)."""
        handler = self.ddp_handler
        if handler is None:
            yield
            return
        hook, handler.comm_hook = handler.comm_hook, DDPCommunicationHookType.NO
        try:
            yield
        finally:
            handler.comm_hook = hook

    def _do_sync(self) -> None:
        """Called by accumulate()."""
        self.gradient_state._set_sync_gradients(not self._session.accumulating)


class SyncedLoader(Delegating):
    """The elastic loader, with its batches on the accelerator's device.  Other attributes are those
    of the elastic loader."""

    def __init__(self, elastic: ElasticLoader, accelerator: Accelerator) -> None:
        super().__init__(elastic)
        self._elastic = elastic
        self._accelerator = accelerator

    def __len__(self) -> int:
        return len(self._elastic)

    def __iter__(self) -> Iterator[Any]:
        accelerator = self._accelerator
        try:
            for batch in self._elastic:
                accelerator._do_sync()
                yield send_to_device(batch, accelerator.device,
                                     non_blocking=accelerator.non_blocking)
        finally:
            accelerator.gradient_state._set_sync_gradients(True)


class State:
    """The state of Pollux in accelerator.save_state() and load_state()."""

    def state_dict(self) -> dict[str, Any]:
        return px.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        px.load_state_dict(state)
