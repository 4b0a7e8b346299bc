# SPDX-License-Identifier: Apache-2.0
"""transformers.Trainer with Pollux: two lines of a script change.

    from pollux.torch.transformers import Trainer       # instead of: from transformers import ...
    trainer = Trainer(model, args, train_dataset=data, max_batch=1024, local_batch=(4, 32))

One step of the Trainer is one update: training_step() runs all its micro-batches.  global_step
counts updates; epochs, learning rate and the end of training follow progress.  Other Trainers:

    class ElasticTrainer(Elastic, SomeTrainer): ...
"""
from __future__ import annotations

import copy
import dataclasses
import json
import math
import os
from typing import Any, Optional

import torch
import transformers
from torch.utils.data import IterableDataset, Sampler

import pollux.torch as px

from .adapters import PREPARE, counts_updates, start, take_over_step, taken
from .loop import TOLERANCE
from .loop_loader import LoopLoader, Updates
from .workers import like

STATE_FILE = "pollux.pt"  # in the checkpoints of the Trainer
KEPT = ("epoch", "global_step", "num_input_tokens_seen", "total_flos", "log_history",
        "best_metric", "best_global_step", "best_model_checkpoint", "stateful_callbacks")

if not hasattr(transformers.Trainer, "_run_epoch"):
    raise ImportError(f"pollux.torch.transformers needs transformers 5, not "
                      f"{transformers.__version__}")


class Elastic:
    """Makes the Trainer after it in the list of base classes elastic.  Its options, besides those
    of the Trainer, are those of px.init() and px.prepare().

    M0 is per_device_train_batch_size x gradient_accumulation_steps, whatever the number of devices:
    the total batch of the script on one device.  local_batch is (1, per_device_train_batch_size)
    unless it is given."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self._prepare_options = taken(options, PREPARE)
        self._session = start(options)  # before the Trainer makes its scheduler
        self._updates: Any = None
        self._first_epoch = 0   # of this process
        super().__init__(*args, **options)
        # The script may use its arguments for another Trainer.
        self.args = training = copy.copy(self.args)
        if training.auto_find_batch_size:
            raise ValueError("auto_find_batch_size: not supported: Pollux chooses the batch; say "
                             "the largest that fits into memory by local_batch=(1, most)")
        local = training.per_device_train_batch_size
        self._init_batch = local * training.gradient_accumulation_steps
        training.gradient_accumulation_steps = 1  # Pollux accumulates
        self._prepare_options.setdefault("local_batch", (1, local))
        self.add_callback(ElasticCallback(self))

    # ---- Data ------------------------------------------------------------------------------

    def get_train_dataloader(self) -> Any:
        given = super().get_train_dataloader()
        if isinstance(given.dataset, IterableDataset):
            raise TypeError("pollux.torch.transformers: an iterable train_dataset is not "
                            "supported; use one with __len__() and __getitem__()")
        sampler = self._get_train_sampler(given.dataset)
        if not isinstance(sampler, Sampler) or hasattr(sampler, "dp_size"):
            raise TypeError("pollux.torch.transformers: the sampler must yield single samples, "
                            f"not a {type(sampler).__name__}: Pollux makes the batches")
        loader = like(given, batch_size=self._init_batch, sampler=sampler,
                      drop_last=self.args.dataloader_drop_last)
        self._updates = Updates(LoopLoader(loader, self._session, None), self._session)
        return self._updates

    def get_total_train_batch_size(self, args: Any) -> int:
        return self._init_batch

    # ---- Begin and end ---------------------------------------------------------------------

    def _init_training_state(self, *args: Any, **options: Any) -> tuple[int, int]:
        """The Trainer's loop begins with epoch 0, because a checkpoint of Pollux may be older than
        the Trainer's: _run_epoch() leaves out the epochs that are done."""
        super()._init_training_state(*args, **options)
        return 0, 0

    def _prepare_for_training(self, max_steps: int, train_dataloader: Any,
                              resume_from_checkpoint: Optional[str]) -> tuple[Any, Any]:
        """The Trainer has made model, optimizer and scheduler, and loaded its own checkpoint."""
        model, updates = super()._prepare_for_training(max_steps, train_dataloader,
                                                       resume_from_checkpoint)
        px.prepare(model, self.optimizer.optimizer, updates.loader,
                   scheduler=counts_updates(self._session, self.lr_scheduler),
                   scaler=self.accelerator.scaler, **self._prepare_options)
        take_over_step(self.optimizer)
        updates.loader.set_epochs(math.ceil(max_steps / len(updates)))
        px.track("transformers.Trainer", TrainerCounters(self))
        if resume_from_checkpoint is not None:
            self._go_on_from(resume_from_checkpoint)
        self._session.restore()
        self._first_epoch = self._session.epoch
        return model, updates

    def _go_on_from(self, folder: str) -> None:
        path = os.path.join(folder, STATE_FILE)
        if not os.path.exists(path):
            raise ValueError(f"{folder} was written without Pollux and cannot be resumed with it; "
                             "load its model by from_pretrained() and begin anew")
        px.load_state_dict(torch.load(path, map_location="cpu"))

    def _run_epoch(self, *args: Any, epoch: int, **options: Any) -> None:
        """Epochs that were done before a restart are not repeated.  Pollux itself continues the
        data where it stopped."""
        if epoch >= self._session.epoch:
            options.update(epochs_trained=self._first_epoch, steps_trained_in_current_epoch=0)
            super()._run_epoch(*args, epoch=epoch, **options)

    # ---- One update ------------------------------------------------------------------------

    def training_step(self, model: torch.nn.Module, inputs: Any,
                      num_items_in_batch: Any = None) -> torch.Tensor:
        """All micro-batches of an update.  The loss of each is a mean over the micro-batch, hence
        no num_items_in_batch, which is for sums."""
        losses = [super().training_step(model, inputs)]
        for more in self._updates.rest():
            losses.append(super().training_step(model, more))
            self.current_flos += float(self.floating_point_ops(more))
            self._track_num_input_tokens(more)
        return torch.stack(losses).mean()


class Trainer(Elastic, transformers.Trainer):
    """transformers.Trainer with the options of px.init() and px.prepare()."""


class ElasticCallback(transformers.TrainerCallback):
    """Puts the Trainer's clock on progress, ends its epochs, and saves the state of Pollux with its
    checkpoints."""

    def __init__(self, trainer: Elastic) -> None:
        self._trainer = trainer

    def on_step_end(self, args: Any, state: Any, control: Any, **_objects: Any) -> None:
        session = self._trainer._session
        state.epoch = session.progress / len(self._trainer._updates)
        # The Trainer expects more updates if batches are larger.
        control.should_epoch_stop |= session.loader.ends_now()
        if session.progress + TOLERANCE >= state.max_steps and not control.should_training_stop:
            control.should_training_stop = True
            control.should_evaluate |= args.eval_strategy == "steps"
            control.should_save |= args.save_strategy == "steps"

    def on_save(self, args: Any, state: Any, control: Any, **_objects: Any) -> None:
        if args.should_save:
            folder = os.path.join(args.output_dir, f"checkpoint-{state.global_step}")
            torch.save(px.state_dict(), os.path.join(folder, STATE_FILE))

    def on_train_end(self, args: Any, state: Any, control: Any, **_objects: Any) -> None:
        self._trainer._updates.loader.finish()


class TrainerCounters:
    """The counters of a Trainer and the states of its callbacks, for the checkpoints of Pollux."""

    def __init__(self, trainer: Any) -> None:
        self._trainer = trainer

    def state_dict(self) -> dict[str, Any]:
        trainer = self._trainer
        state = dataclasses.asdict(trainer.state)
        state["stateful_callbacks"] = {
            type(callback).__name__: callback.state()
            for callback in [*trainer.callback_handler.callbacks, trainer.control]
            if hasattr(callback, "state")}
        return {"json": json.dumps({name: state[name] for name in KEPT})}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name, value in json.loads(state["json"]).items():
            setattr(self._trainer.state, name, value)
        self._trainer._load_callback_state()
