# SPDX-License-Identifier: Apache-2.0
"""The cases of test_adapters.py: the same small training by transformers.Trainer, by Lightning and
by a loop with accelerate, with any number of replicas.  Importing these packages is slow, so the
same processes run all cases:

    adapter_cases.py FOLDER     writes `ok NAME` or `not ok NAME: why` for each to a file of FOLDER

Training in FOLDER that two replicas have begun is continued by one replica.
"""
from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading
import traceback
import warnings
from pathlib import Path
from typing import Any, Callable, Iterator, NamedTuple, Optional
from unittest import mock

import accelerate
import lightning.pytorch as pl
import torch
import transformers
from torch.utils.data import DataLoader, Dataset

import pollux.torch as px
from pollux.torch.accelerate import Accelerator
from pollux.torch.lightning import ElasticStrategy
from pollux.torch.transformers import Trainer

K = int(os.environ.get("WORLD_SIZE", "1"))
RANK = int(os.environ.get("RANK", "0"))
LENGTH, M0, EPOCHS, RATE = 204, 8, 3, 0.02
UPDATES = 26        # of an epoch; the last one has 4 samples
STOP_AFTER = 40     # updates


class Numbers(Dataset):
    """Samples whose targets are so noisy that larger batches pay."""

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        x = torch.sin(torch.arange(6.0) * (index + 1))
        return {"x": x, "labels": x.sum().reshape(1) + 4 * torch.sin(torch.tensor([7.3 * index]))}


class Net(torch.nn.Module):
    """A small model that returns its loss.  It counts declared time, 10 ms and 0.05 ms per sample,
    notes the batch of each update, and gets a request to stop on the last replica."""

    def __init__(self, stop_after: Optional[int] = None) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.layers = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(),
                                          torch.nn.Linear(8, 1))
        self.seconds = 0.0
        self.batches: list[int] = []        # total batch of each micro-step
        self.factors: list[float] = [1.0]   # of the learning rate
        self.stop_after = stop_after
        self.evaluated = 0                  # samples

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        if self.training:
            self.note(len(x))
        else:
            self.evaluated += len(x)
        return {"loss": torch.nn.functional.mse_loss(self.layers(x), labels)}

    def note(self, samples: int) -> None:
        self.seconds += 0.01 + 0.00005 * samples
        if px._session is not None and px.session().update is not None:
            session = px.session()
            self.batches.append(session.update.samples)
            self.factors.append(max(px.metrics()["lr_factor"]))
            if session.progress == self.stop_after and RANK == K - 1:
                os.kill(os.getpid(), signal.SIGTERM)


class Trained(NamedTuple):
    net: Net
    updates: int                # as the framework counts them
    epoch: float                # of the framework
    rate: float                 # at the end, for M0
    metrics: dict[str, Any]     # of Pollux
    evaluations: int


def sgd(net: torch.nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(net.parameters(), RATE)


def linear(optimizer: Any, epochs: int) -> Any:
    """A rate that falls to 0 at the end."""
    return torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: max(0.0, 1 - step / (epochs * UPDATES)))


def loader() -> DataLoader:
    return DataLoader(Numbers(), M0)


def reference(epochs: int = EPOCHS) -> Net:
    """Plain training without any package, in one process."""
    net = Net()
    optimizer = sgd(net)
    schedule = linear(optimizer, epochs)
    for _epoch in range(epochs):
        for batch in loader():
            optimizer.zero_grad()
            net(**batch)["loss"].backward()
            optimizer.step()
            schedule.step()
    return net


# ---- The three packages -------------------------------------------------------------------------


class Own(NamedTuple):
    """The package's own checkpoints: after each epoch, or after 30 updates."""

    folder: Path
    each_epoch: bool = False


def arguments(own: Optional[Own] = None, epochs: int = EPOCHS,
              **more: Any) -> transformers.TrainingArguments:
    saving = "no" if own is None else "epoch" if own.each_epoch else "steps"
    return transformers.TrainingArguments(
        str(own.folder if own else "/nowhere"), num_train_epochs=epochs,
        per_device_train_batch_size=M0 // 2, gradient_accumulation_steps=2, learning_rate=RATE,
        max_grad_norm=0.0, use_cpu=True, train_sampling_strategy="sequential", report_to=[],
        disable_tqdm=True, eval_strategy="epoch", save_strategy=saving, save_steps=30,
        **more)


def by_transformers(cls: type, net: Net, epochs: int, own: Optional[Own],
                    options: dict[str, Any]) -> Trained:
    args = arguments(own, epochs)
    counted: list[int] = []
    trainer = cls(net, args, train_dataset=Numbers(), eval_dataset=Numbers(),
                  optimizers=(sgd(net), None), **options)
    trainer.add_callback(OnEvaluation(counted))
    resume = sorted(own.folder.glob("checkpoint-*")) if own else []
    trainer.train(resume_from_checkpoint=str(resume[0]) if resume else None)
    return Trained(net, trainer.state.global_step, trainer.state.epoch,
                   trainer.lr_scheduler.get_last_lr()[0], metrics(), len(counted))


class OnEvaluation(transformers.TrainerCallback):
    def __init__(self, counted: list[int]) -> None:
        self.counted = counted

    def on_evaluate(self, args: Any, state: Any, control: Any, **_objects: Any) -> None:
        self.counted.append(state.global_step)


class Module(pl.LightningModule):
    def __init__(self, net: Net, epochs: int) -> None:
        super().__init__()
        self.net, self.epochs, self.evaluations = net, epochs, 0

    def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
        loss = self.net(**batch)["loss"]
        self.log("loss", loss, sync_dist=True, on_epoch=True, batch_size=len(batch["x"]))
        return loss

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        self.log("val_loss", self.net(**batch)["loss"], sync_dist=True)

    def on_validation_end(self) -> None:
        self.evaluations += not self.trainer.sanity_checking

    def configure_optimizers(self) -> dict[str, Any]:
        optimizer = sgd(self)
        assert self.trainer.estimated_stepping_batches == self.epochs * UPDATES
        return {"optimizer": optimizer, "lr_scheduler": {"interval": "step", "scheduler": linear(
            optimizer, self.epochs)}}


def by_lightning(cls: Optional[type], net: Net, epochs: int, own: Optional[Own],
                 options: dict[str, Any]) -> Trained:
    module = Module(net, epochs)
    when = {"every_n_epochs": 1} if own and own.each_epoch else {"every_n_train_steps": 30}
    checkpoints = [pl.callbacks.ModelCheckpoint(own.folder, "own", **when)] if own else []
    trainer = pl.Trainer(accelerator="cpu", max_epochs=epochs, logger=False,
                         strategy=cls(**options) if cls is not None else "auto",
                         enable_checkpointing=bool(own), callbacks=checkpoints,
                         enable_progress_bar=False, enable_model_summary=False)
    resume = own.folder / "own.ckpt" if own else None
    trainer.fit(module, loader(), DataLoader(Numbers(), 17),
                ckpt_path=resume if resume is not None and resume.exists() else None)
    return Trained(net, trainer.global_step, trainer.current_epoch,
                   trainer.lr_scheduler_configs[0].scheduler.get_last_lr()[0], metrics(),
                   module.evaluations)


class Count:
    """Updates, as a program counts them."""

    def __init__(self) -> None:
        self.updates = 0

    def state_dict(self) -> dict[str, int]:
        return {"updates": self.updates}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.updates = state["updates"]


def by_accelerate(cls: type, net: Net, epochs: int, own: Optional[Own],
                  options: dict[str, Any]) -> Trained:
    # accelerate itself divides the loss of a last, incomplete accumulation by too much
    elastic = issubclass(cls, Accelerator)
    parts = 2 if elastic else 1
    accelerator = cls(cpu=True, gradient_accumulation_steps=parts, **options)
    optimizer = sgd(net)
    schedule = linear(optimizer, epochs)
    model, optimizer, batches, held_out, schedule = accelerator.prepare(
        net, optimizer, DataLoader(Numbers(), M0 // parts), DataLoader(Numbers(), 17), schedule)
    count, evaluations, epoch = Count(), 0, 0
    accelerator.register_for_checkpointing(count)
    if own is not None and own.folder.exists():
        accelerator.load_state(str(own.folder))
    if elastic:
        px.track("count", count)
    for epoch in px.epochs(epochs) if elastic else range(epochs):
        model.train()
        for batch in batches:
            with accelerator.accumulate(model):
                accelerator.backward(model(**batch)["loss"])
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
            count.updates += accelerator.sync_gradients
            if accelerator.sync_gradients and count.updates == 30 and own is not None:
                accelerator.save_state(str(own.folder))
        model.eval()
        with torch.no_grad():
            for batch in held_out:
                model(**batch)
        evaluations += 1
    return Trained(net, count.updates, epoch + 1, schedule.get_last_lr()[0], metrics(), evaluations)


def metrics() -> dict[str, Any]:
    return px.metrics() if px._session is not None else {}


# A function, the plain class and the elastic class.
PACKAGES: dict[str, tuple[Callable[..., Trained], Any, Any]] = {
    "transformers": (by_transformers, transformers.Trainer, Trainer),
    "lightning": (by_lightning, None, ElasticStrategy),
    "accelerate": (by_accelerate, accelerate.Accelerator, Accelerator),
}


def plain(package: str) -> Trained:
    function, cls, _elastic = PACKAGES[package]
    return function(cls, Net(), EPOCHS, None, {})


def elastic(package: str, folder: Optional[Path] = None, *, epochs: int = EPOCHS,
            stop_after: Optional[int] = None, own: Optional[Own] = None,
            net: Optional[Net] = None, changed: Optional[type] = None,
            **options: Any) -> Optional[Trained]:
    """Train with Pollux; None if it was stopped.  changed: a subclass of the elastic class."""
    function, _plain, cls = PACKAGES[package]
    cls = changed or cls
    net = net or Net(stop_after)
    options.update(checkpoint=str(folder) if folder else None, clock=lambda: net.seconds)
    try:
        return function(cls, net, epochs, own, options)
    except SystemExit as end:
        assert end.code == px.STOPPED, end.code
        return None
    finally:
        px.close()
        with contextlib.suppress(ValueError):   # in another thread than the main one
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def check_equal(one: torch.nn.Module, other: torch.nn.Module) -> None:
    for name, value in one.state_dict().items():
        torch.testing.assert_close(value, other.state_dict()[name], rtol=1e-4, atol=1e-6)


def check_whole(trained: Optional[Trained]) -> None:
    """A training with batch M0 has ended where it should."""
    assert trained is not None, "it was stopped"
    check_equal(trained.net, reference())
    assert (trained.updates, round(trained.epoch, 6)) == (EPOCHS * UPDATES, EPOCHS), trained
    assert trained.rate == 0.0, trained.rate


# ---- Cases --------------------------------------------------------------------------------------


def case_equal(package: str, folder: Path) -> None:
    """Without adaptation the weights are those of plain training with the package."""
    trained = elastic(package, adapt=False)
    check_whole(trained)
    assert trained.evaluations == EPOCHS
    assert trained.metrics["progress"] == EPOCHS * UPDATES
    assert set(trained.net.batches) == {M0, LENGTH % M0}
    if K == 1:
        check_equal(plain(package).net, trained.net)


def case_adapts(package: str, folder: Path) -> None:
    """The batch grows, the rate has a factor, an update counts as several, and training ends after
    the same progress: the scheduler, too, has come to its end."""
    epochs = 10
    trained = elastic(package, epochs=epochs, max_batch=8 * M0, local_batch=(1, 4 * M0))
    assert trained is not None
    assert max(trained.net.batches) > M0, trained.net.batches
    assert max(trained.net.factors) > 1.2, trained.net.factors
    assert epochs * UPDATES <= trained.metrics["progress"] < epochs * UPDATES + 8
    assert trained.updates < 0.95 * trained.metrics["progress"], trained
    assert trained.rate == 0.0 and trained.evaluations == epochs
    assert round(trained.epoch) == epochs, trained.epoch


def case_resumes(package: str, folder: Path) -> None:
    """After a request to stop, another program continues, also in the middle of an epoch."""
    assert elastic(package, folder / f"{package} {K}", adapt=False, stop_after=STOP_AFTER) is None
    check_whole(elastic(package, folder / f"{package} {K}", adapt=False))
    again = elastic(package, folder / f"{package} {K}", adapt=False)
    assert again is not None and not again.net.batches, "training had ended"


def case_leaves(package: str, folder: Path) -> None:
    """Stop for the next case."""
    assert elastic(package, folder / f"{package} of {K}", adapt=False,
                   stop_after=STOP_AFTER) is None


def case_fewer(package: str, folder: Path) -> None:
    """One replica continues what two have begun."""
    resumed = elastic(package, folder / f"{package} of 2", adapt=False)
    check_whole(resumed)
    assert len(resumed.net.batches) < EPOCHS * UPDATES, "it has begun again"


def case_own_checkpoint(package: str, folder: Path) -> None:
    """Checkpoints of the package itself have the state of Pollux in them."""
    own = Own(folder / f"{package} own")
    assert elastic(package, own=own, adapt=False, stop_after=STOP_AFTER) is None
    check_whole(elastic(package, own=own, adapt=False))


def case_own_epoch(package: str, folder: Path) -> None:
    """So have those that it writes at the end of an epoch: the next epoch follows."""
    own = Own(folder / f"{package} epochs", each_epoch=True)
    assert elastic(package, own=own, adapt=False, stop_after=STOP_AFTER) is None
    check_whole(elastic(package, own=own, adapt=False))


def case_epoch_end(package: str, folder: Path) -> None:
    """A request to stop in the last update of an epoch.  Batches have grown, so that the epoch has
    fewer updates than the package expects."""
    epochs, before = 10, 6
    options = {"epochs": epochs, "max_batch": 8 * M0, "local_batch": (1, 4 * M0)}
    net = Net()
    with stopped_in_last_update(before):
        assert elastic(package, folder / f"{package} end", net=net, **options) is None
    resumed = elastic(package, folder / f"{package} end", **options)
    assert epochs * UPDATES <= resumed.metrics["progress"] < epochs * UPDATES + 8
    assert resumed.rate == 0.0 and round(resumed.epoch) == epochs
    assert net.evaluated + resumed.net.evaluated >= epochs * LENGTH, "an evaluation is missing"


@contextlib.contextmanager
def stopped_in_last_update(epochs: int) -> Iterator[None]:
    """The replicas agree to stop in the update that ends this number of epochs."""
    original = px.Session.boundary

    def boundary(session: px.Session) -> None:
        session.stop_agreed |= session.done and session.progress + 1e-6 >= epochs * UPDATES
        original(session)

    px.Session.boundary = boundary
    try:
        yield
    finally:
        px.Session.boundary = original


def case_arguments(package: str, folder: Path) -> None:
    """The script's arguments are not changed, and GPUs of one process do not change M0."""
    args = arguments()
    assert args.n_gpu < 2
    args._n_gpu = 2
    for _again in range(2):
        trainer = Trainer(Net(), args, train_dataset=Numbers(), eval_dataset=Numbers())
        assert trainer.get_total_train_batch_size(trainer.args) == M0
        assert trainer._prepare_options["local_batch"] == (1, M0 // 2)
        px.close()
    assert args.gradient_accumulation_steps == 2


def case_older(package: str, folder: Path) -> None:
    """A checkpoint of Pollux replaces a newer one of the package: no epoch is left out."""
    older, own = folder / f"{package} older", Own(folder / f"{package} newer")
    assert elastic(package, older, adapt=False, stop_after=20) is None
    assert elastic(package, own=own, adapt=False, stop_after=STOP_AFTER) is None
    check_whole(elastic(package, older, own=own, adapt=False))


def case_handlers(package: str, folder: Path) -> None:
    """The script's handler of SIGTERM is called, too; training may run in any thread."""
    called: list[int] = []
    for times in (1, 2):
        signal.signal(signal.SIGTERM, lambda number, _frame: called.append(number))
        assert elastic(package, epochs=1, adapt=False, stop_after=5) is None
        assert called == times * [signal.SIGTERM]
    found: list[Any] = []
    thread = threading.Thread(
        target=lambda: found.append(elastic(package, epochs=1, adapt=False)))
    thread.start()
    thread.join()
    assert found and found[0].updates == UPDATES


def case_none(package: str, folder: Path) -> None:
    """prepare() returns None for None."""
    net = Net()
    accelerator = Accelerator(cpu=True)
    model, _optimizer, batches, nothing = accelerator.prepare(net, sgd(net), loader(), None)
    px.close()
    assert getattr(model, "module", model) is net  # in DDP, if there is a process group
    assert nothing is None and len(batches) == UPDATES


class ScaledTrainer(Trainer):
    """With a gradient scaler, as for fp16, which the CPU does not have."""

    def create_accelerator_and_postprocess(self) -> None:
        super().create_accelerator_and_postprocess()
        self.accelerator.scaler = torch.amp.GradScaler("cpu")


class ScaledAccelerator(Accelerator):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.scaler = torch.amp.GradScaler("cpu")


def case_scaler(package: str, folder: Path) -> None:
    """accelerate calls the optimizer's step() by the scaler."""
    changed = {"transformers": ScaledTrainer, "accelerate": ScaledAccelerator}[package]
    trained = elastic(package, adapt=False, changed=changed)
    check_whole(trained)
    assert trained.metrics["progress"] == EPOCHS * UPDATES


def case_plateau(package: str, folder: Path) -> None:
    """A scheduler that takes a metric is stepped after evaluations only."""
    for name, cls in (("reduce_lr_on_plateau", torch.optim.lr_scheduler.ReduceLROnPlateau),
                      ("greedy", transformers.optimization.GreedyLR)):
        net = Net()
        with mock.patch.object(cls, "step", autospec=True, side_effect=cls.step) as step:
            trainer = Trainer(net, arguments(lr_scheduler_type=name, metric_for_best_model="loss"),
                              train_dataset=Numbers(), eval_dataset=Numbers(),
                              optimizers=(sgd(net), None), adapt=False)
            trainer.train()
        assert px.metrics()["progress"] == EPOCHS * UPDATES
        assert px.session().patches.schedulers[0]() is trainer.lr_scheduler, "it is not saved"
        px.close()
        assert step.call_count == EPOCHS, (name, step.call_count)


def case_frequency(package: str, folder: Path) -> None:
    """A scheduler with a frequency makes one step per so many updates with M0, also if an epoch has
    fewer updates."""
    class Rare(Module):
        def configure_optimizers(self) -> dict[str, Any]:
            optimizer = sgd(self)
            schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + step))
            return {"optimizer": optimizer, "lr_scheduler": {
                "interval": "step", "frequency": UPDATES // 2, "scheduler": schedule}}

    for epochs, options in ((EPOCHS, {"adapt": False}),
                            (10, {"max_batch": 8 * M0, "local_batch": (1, 4 * M0)})):
        net = Net()
        trainer = pl.Trainer(
            accelerator="cpu", max_epochs=epochs, logger=False, enable_checkpointing=False,
            strategy=ElasticStrategy(clock=lambda: net.seconds, **options),
            enable_progress_bar=False, enable_model_summary=False)
        trainer.fit(Rare(net, epochs), loader())
        steps = trainer.lr_scheduler_configs[0].scheduler.last_epoch
        px.close()
        assert steps == 2 * epochs, steps


def case_metrics(package: str, folder: Path) -> None:
    """A scheduler that takes a metric is saved, also behind one that counts updates."""
    strategy = ElasticStrategy(adapt=False)
    optimizer = sgd(Net())
    schedulers = linear(optimizer, EPOCHS), transformers.optimization.GreedyLR(optimizer)
    strategy.lr_scheduler_configs = [
        pl.utilities.types.LRSchedulerConfig(each, interval="step") for each in schedulers]
    assert strategy._schedule_of_updates().scheduler is schedulers[0]
    saved = [each() for each in px.session().patches.schedulers]
    px.close()
    assert any(each is schedulers[1] for each in saved), saved


def case_epochs(package: str, folder: Path) -> None:
    """A scheduler that is stepped once per epoch counts epochs."""
    for linked in (True, False):
        for adapt in (True, False):
            net = Net()
            accelerator = Accelerator(cpu=True, step_scheduler_with_optimizer=linked, adapt=adapt,
                                      max_batch=8 * M0, clock=lambda: net.seconds)
            schedule = torch.optim.lr_scheduler.StepLR(optimizer := sgd(net), 1, 0.5)
            model, optimizer, batches, schedule = accelerator.prepare(
                net, optimizer, loader(), schedule)
            for _epoch in px.epochs(EPOCHS):
                for batch in batches:
                    accelerator.backward(model(**batch)["loss"])
                    optimizer.step()
                    optimizer.zero_grad()
                schedule.step()
            px.close()
            assert schedule.get_last_lr() == [RATE * 0.5 ** EPOCHS], (linked, adapt)


def case_placement(package: str, folder: Path) -> None:
    """device_placement has an entry for the training loader, too."""
    net = Net()
    accelerator = Accelerator(cpu=True)
    batches, model, _optimizer = accelerator.prepare(
        loader(), net, sgd(net), device_placement=[True, False, True])
    px.close()
    assert getattr(model, "module", model) is net and len(batches) == UPDATES


def case_hook(package: str, folder: Path) -> None:
    """The communication hook of accelerate is called after that of Pollux."""
    handler = accelerate.DistributedDataParallelKwargs(
        comm_hook=accelerate.utils.DDPCommunicationHookType.FP16)
    trained = elastic(package, adapt=False, kwargs_handlers=[handler])
    assert trained.metrics["progress"] == EPOCHS * UPDATES
    expected = reference()
    for name, value in trained.net.state_dict().items():
        other = expected.state_dict()[name]
        torch.testing.assert_close(value, other, rtol=0.01, atol=0.01)
    assert any(not torch.equal(value, expected.state_dict()[name])
               for name, value in trained.net.state_dict().items()), "gradients were not rounded"


# For all packages, with these numbers of replicas.
CASES = {
    "equal": (1, 2), "adapts": (1, 2), "resumes": (1, 2), "leaves": (2,), "fewer": (1,),
    "own_checkpoint": (1,),
}
# For one package, with this number of replicas.
OF_PACKAGES = {
    1: ["transformers_own_epoch", "transformers_epoch_end", "transformers_arguments",
        "transformers_older", "transformers_scaler", "transformers_plateau",
        "lightning_own_epoch", "lightning_handlers", "lightning_frequency",
        "lightning_metrics", "accelerate_none",
        "accelerate_scaler", "accelerate_epochs", "accelerate_placement"],
    2: ["accelerate_scaler", "accelerate_hook"],
}


def names(replicas: int) -> list[str]:
    of_all = [f"{package}_{case}" for package in PACKAGES for case, counts in CASES.items()
              if replicas in counts]
    return of_all + OF_PACKAGES[replicas]


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    transformers.logging.set_verbosity_error()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", "pollux: ")    # an adapter is no misuse
        yield


def main() -> int:
    torch.set_num_threads(1)
    os.environ.pop("POLLUX_CHECKPOINT_DIR", None)
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    for name in names(K):
        if only not in name:
            continue
        package, case = name.split("_", 1)
        try:
            with quiet():
                globals()[f"case_{case}"](package, Path(sys.argv[1]))
            tell(f"ok {name}")
        except BaseException:
            tell(f"not ok {name}: {traceback.format_exc()}")
            if K > 1:
                os._exit(1)  # the other replica is in another place
    return 0


def tell(line: str) -> None:
    """Not to the output, which the replicas share."""
    with (Path(sys.argv[1]) / f"outcomes of {RANK} in {K}").open("a") as file:
        print(line, file=file)


if __name__ == "__main__":
    sys.exit(main())
