# SPDX-License-Identifier: Apache-2.0
"""The patches of schedulers, scalers and opt.step(): before the last micro-step they do nothing,
they see the learning rate for M0, and otherwise they behave as without Pollux."""
from __future__ import annotations

import copy
import io
import os
import pickle
from types import SimpleNamespace

import torch
from torch.optim import lr_scheduler
from torch.optim.swa_utils import AveragedModel
from torch.utils.data import DataLoader

import pollux.torch as px
from pollux.agent import Batch
from pollux.torch.schedules import takes_metric

from . import case
from .reference import close
from .tasks import (assert_equals_plain, assert_same, body, loss_of, make, net, noise, plain,
                    prepared, refused, table)

SMALL = {"local_batch": (1, 2)}
REPLICAS = int(os.environ.get("WORLD_SIZE", "1"))

SCHEDULERS = {
    "LambdaLR": lambda opt: lr_scheduler.LambdaLR(opt, lambda step: 1 / (1 + step)),
    "MultiplicativeLR": lambda opt: lr_scheduler.MultiplicativeLR(opt, lambda step: 0.9),
    "StepLR": lambda opt: lr_scheduler.StepLR(opt, 3),
    "MultiStepLR": lambda opt: lr_scheduler.MultiStepLR(opt, [2, 5]),
    "ConstantLR": lambda opt: lr_scheduler.ConstantLR(opt, 0.5, 4),
    "LinearLR": lambda opt: lr_scheduler.LinearLR(opt, 0.1, total_iters=7),
    "ExponentialLR": lambda opt: lr_scheduler.ExponentialLR(opt, 0.9),
    "PolynomialLR": lambda opt: lr_scheduler.PolynomialLR(opt, 9),
    "CosineAnnealingLR": lambda opt: lr_scheduler.CosineAnnealingLR(opt, 9),
    "CosineAnnealingWarmRestarts": lambda opt: lr_scheduler.CosineAnnealingWarmRestarts(opt, 4),
    "CyclicLR": lambda opt: lr_scheduler.CyclicLR(opt, 0.01, 0.1, 3),
    "OneCycleLR": lambda opt: lr_scheduler.OneCycleLR(opt, 0.2, total_steps=30),
    "ReduceLROnPlateau": lambda opt: lr_scheduler.ReduceLROnPlateau(opt, patience=0),
    "SequentialLR": lambda opt: lr_scheduler.SequentialLR(
        opt, [lr_scheduler.ConstantLR(opt, 0.1, 2), lr_scheduler.ExponentialLR(opt, 0.9)], [3]),
    "ChainedScheduler": lambda opt: lr_scheduler.ChainedScheduler(
        [lr_scheduler.ConstantLR(opt, 0.1, 2), lr_scheduler.ExponentialLR(opt, 0.9)]),
}


def scheduled(name: str, rates: list) -> tuple:
    """A task with a scheduler that is stepped with every batch; rates gets the rate after each."""
    def made() -> SimpleNamespace:
        run = make()
        run.scheduler = SCHEDULERS[name](run.opt)
        return run

    def each(run: SimpleNamespace, x: torch.Tensor, y: torch.Tensor) -> None:
        body(run, x, y)
        run.scheduler.step(*([1.0] if name == "ReduceLROnPlateau" else []))
        rates.append(run.opt.param_groups[0]["lr"])
    return made, each


@case(1)
def every_scheduler_of_torch_is_tested():
    kinds = {name for name, kind in vars(lr_scheduler).items()
             if isinstance(kind, type) and kind.__module__ == lr_scheduler.__name__
             and hasattr(kind, "step") and not name.lstrip("_").startswith("LRSched")}
    assert kinds - {"_enable_get_lr_call", "LRScheduler"} <= set(SCHEDULERS), kinds


@case(1, 2)
def schedulers_skip_micro_steps_and_see_the_base_rate():
    """Every update has 16 samples in two micro-steps and a factor of its own, which the scheduler
    must not see."""
    for name in SCHEDULERS:
        rates: list = []
        run = prepared(*scheduled(name, rates), data=table(160), epochs=1, adapt=True,
                       max_batch=16, rule="linear", started=fixed(8 // REPLICAS, 1), **SMALL)
        expected: list = []
        other = plain(*scheduled(name, expected), data=table(160), epochs=1, batch=16)
        assert len(expected) == 10 and len(rates) == 20, (name, len(rates))
        assert all(map(close_to, rates[1::2], expected)), (name, rates, expected)
        assert run.scheduler.state_dict().keys() == other.scheduler.state_dict().keys(), name


def close_to(one: float, other: float) -> bool:
    return abs(one - other) < 1e-12


def fixed(m: int, s: int):
    return lambda run: px.session().agent.set_fixed(Batch(m, s))


@case(1, 2)
def a_scheduler_advances_with_progress():
    seen = []

    def made():
        run = make()
        run.scheduler = lr_scheduler.LambdaLR(run.opt, lambda step: 1 / (1 + step))
        return run

    def each(run, x, y):
        body(run, x, y)
        run.scheduler.step()
        progress = px.metrics()["progress"]
        if not px.session().accumulating:
            assert run.scheduler.last_epoch == int(progress + 1e-6)
            seen.append(progress)
    prepared(made, each, data=table(160), epochs=5, adapt=True, max_batch=32, rule="linear",
             local_batch=(1, 16), started=fixed(16 // REPLICAS, 1), scheduler="scheduler")
    assert len(seen) == 25 and seen[-1] > 26, seen  # otherwise progress and updates would be equal


@case(1)
def a_scheduler_stops_at_its_last_step():
    def made():
        run = make()
        run.scheduler = lr_scheduler.OneCycleLR(run.opt, 0.1, total_steps=25)
        return run

    def each(run, x, y):
        body(run, x, y)
        run.scheduler.step()
    run = prepared(made, each, data=table(160), epochs=5, adapt=True, max_batch=32, rule="linear",
                   local_batch=(1, 16), started=fixed(16 // REPLICAS, 1), scheduler="scheduler")
    assert px.metrics()["progress"] > 26 and run.scheduler.last_epoch == 25


@case(1)
def a_scheduler_stops_at_the_goal_of_the_loop():
    """The last update passes the goal; the scheduler does not."""
    run = make()
    run.scheduler = lr_scheduler.LambdaLR(run.opt, lambda step: 1.0)
    px.init()
    model, opt, loader = px.prepare(run.model, run.opt, DataLoader(table(160), 8), max_batch=32,
                                    rule="linear", local_batch=(1, 16), scheduler=run.scheduler)
    px.session().agent.set_fixed(Batch(8, 1))
    batches = iter(loader)
    for _ in px.steps(20):
        run.model, (x, y) = model, next(batches)
        body(run, x, y)
        run.scheduler.step()
    assert px.metrics()["progress"] > 20 and run.scheduler.last_epoch == 20, px.metrics()


@case(1)
def a_scheduler_that_takes_a_metric_is_refused():
    """It does not count updates.  Others with an optional argument do."""
    for name, kind in SCHEDULERS.items():
        run = make()
        assert takes_metric(kind(run.opt)) == (name == "ReduceLROnPlateau"), name
    px.init()
    plateau = SCHEDULERS["ReduceLROnPlateau"](run.opt)
    refused(lambda: px.prepare(run.model, run.opt, DataLoader(table(), 8), scheduler=plateau),
            "ReduceLROnPlateau takes a metric", "do not give it to px.prepare()")


@case(1, 2)
def an_average_of_weights_skips_micro_steps():
    """If it was made after px.init(), or is tracked."""
    def made() -> SimpleNamespace:
        run = make()
        run.average = AveragedModel(run.core)
        return run

    def made_before() -> SimpleNamespace:
        run = make()
        run.average = px.track("average", before)
        return run

    def each(run: SimpleNamespace, x: torch.Tensor, y: torch.Tensor) -> None:
        body(run, x, y)
        run.average.update_parameters(run.core)
    px.close()
    expected, before = plain(made, each), AveragedModel(net())
    for make_it in (made, made_before):
        run = prepared(make_it, each, **SMALL)
        assert int(run.average.n_averaged) == int(expected.average.n_averaged) == 12
        assert_same(SimpleNamespace(core=expected.average), SimpleNamespace(core=run.average))
        assert type(copy.deepcopy(run.average)) is AveragedModel
        px.close()
        assert type(run.average) is AveragedModel


@case(1)
def copies_of_schedulers_and_optimizers_are_not_patched():
    run = prepared(*scheduled("StepLR", []), **SMALL)
    for copied in (copy.deepcopy(run.scheduler), pickle.loads(pickle.dumps(run.scheduler))):
        assert type(copied) is lr_scheduler.StepLR
        assert copied.last_epoch == run.scheduler.last_epoch > 0
        assert copied.optimizer is not run.opt
    for copied in (copy.deepcopy(run.opt), pickle.loads(pickle.dumps(run.opt))):
        assert "step" not in vars(copied)
        assert copied.state_dict()["param_groups"] == run.opt.state_dict()["param_groups"]
    buffer = io.BytesIO()
    torch.save({"opt": run.opt.state_dict(), "scheduler": run.scheduler.state_dict()}, buffer)
    assert b"pollux" not in buffer.getvalue()


@case(2)
def a_whole_ddp_module_is_copied_and_saved():
    """Without Pollux in it; it averages as DDP does."""
    run = prepared(make, body, **SMALL)
    buffer = io.BytesIO()
    torch.save(run.model, buffer)
    assert b"pollux" not in buffer.getvalue()
    buffer.seek(0)
    options = {} if torch.__version__.startswith("1.") else {"weights_only": False}
    for copied in (copy.deepcopy(run.model), torch.load(buffer, **options)):
        assert type(copied) is torch.nn.parallel.DistributedDataParallel
        assert not getattr(copied, "_comm_hooks", None)
        for ours, theirs in zip(run.model.parameters(), copied.parameters()):
            assert torch.equal(ours, theirs) and ours is not theirs


@case(1, 2)
def close_removes_all_patches():
    before = lr_scheduler.StepLR.__init__, torch.cuda.amp.GradScaler.__init__
    run = prepared(*scheduled("StepLR", []), **SMALL)
    assert lr_scheduler.StepLR.__init__ is not before[0]
    made_later = lr_scheduler.ExponentialLR(run.opt, 0.5)
    px.close()
    assert (lr_scheduler.StepLR.__init__, torch.cuda.amp.GradScaler.__init__) == before
    assert type(run.scheduler) is lr_scheduler.StepLR
    assert type(made_later) is lr_scheduler.ExponentialLR
    for x, y in torch.utils.data.DataLoader(table(), batch_size=8):  # trains without a session
        body(run, x, y)
    assert not any(parameter._backward_hooks for parameter in run.core.parameters())
    expected = plain(*scheduled("StepLR", []))
    for x, y in torch.utils.data.DataLoader(table(), batch_size=8):
        body(expected, x, y)
    assert_same(expected, run)


@case(1)
def a_second_init_is_refused():
    px.init()
    try:
        px.init()
    except RuntimeError as error:
        assert "px.init()" in str(error)
    else:
        raise AssertionError("was accepted")


# ---- Scalers ------------------------------------------------------------------------------------

class Scaler:
    """As torch.cuda.amp.GradScaler, for any device; the scale doubles every 4 updates."""

    def __init__(self, scale: float = 1024.0) -> None:
        self._scale = scale
        self._unscaled = False
        self._inf = False
        self._good = 0
        self.skipped = 0
        self.unscaled = 0

    def scale(self, loss: torch.Tensor) -> torch.Tensor:
        return loss * self._scale

    def get_scale(self) -> float:
        return self._scale

    def is_enabled(self) -> bool:
        return True

    def unscale_(self, opt: torch.optim.Optimizer) -> None:
        assert not self._unscaled, "unscale_() has already been called"
        grads = [parameter.grad for group in opt.param_groups for parameter in group["params"]
                 if parameter.grad is not None]
        assert grads, "No inf checks were recorded for this optimizer."
        for grad in grads:
            grad.div_(self._scale)
        self._inf = any(not torch.isfinite(grad).all() for grad in grads)
        self._unscaled = True
        self.unscaled += 1

    def step(self, opt: torch.optim.Optimizer):
        if not self._unscaled:
            self.unscale_(opt)
        if self._inf:
            self.skipped += 1
            return None
        return opt.step()

    def update(self) -> None:
        assert self._unscaled, "no unscale_() before update()"
        self._good = 0 if self._inf else self._good + 1
        if self._inf:
            self._scale /= 2
        elif self._good % 4 == 0:
            self._scale *= 2
        self._unscaled = self._inf = False

    def state_dict(self) -> dict:
        return dict(vars(self))

    def load_state_dict(self, state: dict) -> None:
        vars(self).update(state)


def with_scaler() -> SimpleNamespace:
    run = make()
    run.scaler = Scaler()
    return run


def scaled(clip: bool):
    def each(run: SimpleNamespace, x: torch.Tensor, y: torch.Tensor) -> None:
        run.opt.zero_grad()
        run.scaler.scale(loss_of(run, x, y)).backward()
        if clip:
            run.scaler.unscale_(run.opt)
            torch.nn.utils.clip_grad_norm_(run.core.parameters(), 0.1)
        run.scaler.step(run.opt)
        run.scaler.update()
    return each


@case(1, 2)
def a_scaler_and_accumulation():
    """Weights equal those of a plain loop, and noise equals that without a scaler, although the
    scale changes."""
    for options in ({}, SMALL):
        for clip in (False, True):
            run = assert_equals_plain(with_scaler, scaled(clip), scaler="scaler", epochs=3,
                                      **options)
            assert run.scaler.get_scale() > 1024 and run.scaler.unscaled == 18
            found = noise()
            if not clip:
                prepared(epochs=3, **options)
                assert close(found, noise()), (found, noise())


class Sharing(torch.nn.Module):
    """Two parameters that share a gradient tensor, and one whose gradient is an expanded scalar."""

    def __init__(self) -> None:
        super().__init__()
        self.net = net()
        self.one, self.two, self.many = (
            torch.nn.Parameter(torch.zeros(size, dtype=torch.float64)) for size in (1, 1, 5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x) + self.one + self.two + self.many.sum()


@case(1)
def a_changing_scale_with_shared_gradients():
    """The kept gradient of the last update must not be changed in place."""
    def made():
        run = make(model=Sharing)
        run.scaler = Scaler()
        return run
    run = prepared(made, scaled(False), scaler="scaler", epochs=3)
    assert run.scaler.get_scale() > 1024
    found = noise()
    prepared(lambda: make(model=Sharing), epochs=3)
    assert close(found, noise()), (found, noise())


@case(1, 2)
def a_scaler_that_skips_an_update():
    """inf in one micro-batch of one replica: no update, no progress, a smaller scale; then training
    continues."""
    for options in ({}, SMALL):
        with_inf = table(40)
        with_inf.tensors[0][11] = float("inf")
        run = prepared(with_scaler, scaled(False), data=with_inf, epochs=1, scaler="scaler",
                       **options)
        assert run.scaler.skipped == 1 and run.scaler.get_scale() == 512
        assert abs(px.metrics()["progress"] - 4) < 1e-9, px.metrics()
        expected = plain(data=torch.utils.data.Subset(table(40), [*range(8), *range(16, 40)]),
                         epochs=1)
        assert_same(expected, run)


@case(1)
def the_scaler_of_torch_is_found():
    """Without CUDA it is disabled and changes nothing."""
    def made():
        run = make()
        run.scaler = torch.cuda.amp.GradScaler(enabled=False)
        return run
    run = assert_equals_plain(made, scaled(True), **SMALL)
    assert px.session().patches.scalers[0]() is run.scaler
    assert px.session().patches.loss_scale() == 1.0


@case(1)
def bf16_autocast():
    def each(run, x, y):
        run.opt.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = run.model(x.float())
        ((out.float() - y.float()) ** 2).mean().backward()
        run.opt.step()

    def made():
        return make(model=lambda: net().float())
    assert_equals_plain(made, each, tolerance=0.0)
    assert_equals_plain(made, each, tolerance=0.05, **SMALL)
    assert 0 < noise()[1] < float("inf")


@case(1, 2)
def noise_is_measured_before_clipping():
    """Hooks measure gradients before the program clips them.  Before the last micro-step there is
    nothing to clip."""
    norms = []

    def each(run, x, y):
        run.opt.zero_grad()
        loss_of(run, x, y).backward()
        norms.append(float(torch.nn.utils.clip_grad_norm_(run.core.parameters(), limit)))
        run.opt.step()

    def zero_rate():
        return make(lambda parameters: torch.optim.SGD(parameters, lr=0.0))
    for options in ({}, SMALL):
        limit = 1e9
        prepared(zero_rate, each, **options)
        found = noise()
        limit = 1e-3
        norms.clear()
        prepared(zero_rate, each, **options)
        assert close(found, noise()), (found, noise())
        steps = 8 // REPLICAS // 2 if options else 1
        assert all((norm == 0) == (i % steps != steps - 1) for i, norm in enumerate(norms[:steps]))
