# SPDX-License-Identifier: Apache-2.0
"""Programs with unusual gradients: frozen, sparse, tied or unused parameters, several backwards,
NaN.  All end at the weights of a plain loop, with and without accumulation."""
from __future__ import annotations

import math
import os
from types import SimpleNamespace

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import TensorDataset

import pollux.torch as px

from . import case
from .reference import close
from .tasks import (WIDTH, assert_equals_plain, assert_same, body, loss_of, make, net, noise,
                    plain, prepared, table)

REPLICAS = int(os.environ.get("WORLD_SIZE", "1"))
WHOLE: dict = {}
SMALL = {"local_batch": (1, 2)}
BOTH = (WHOLE, SMALL)
UNUSED = {"find_unused_parameters": True}


@case(1, 2)
def frozen_parameters():
    def model():
        core = net()
        core[0].weight.requires_grad_(False)
        return core
    for options in BOTH:
        run = assert_equals_plain(lambda: make(model=model), **options)
        assert run.core[0].weight.grad is None
        assert 0 < noise()[1] < math.inf


@case(1, 2)
def every_kind_of_zero_grad():
    def zeroing(zero):
        def each(run: SimpleNamespace, x: torch.Tensor, y: torch.Tensor) -> None:
            zero(run)
            loss_of(run, x, y).backward()
            run.opt.step()
        return each
    kinds = [lambda run: run.opt.zero_grad(set_to_none=True),
             lambda run: run.opt.zero_grad(set_to_none=False),
             lambda run: run.model.zero_grad(),
             lambda run: run.core.zero_grad(set_to_none=True)]
    for options in BOTH:
        found = set()
        for kind in kinds:
            assert_equals_plain(each=zeroing(kind), **options)
            found.add(noise())
        assert len(found) == 1, found


@case(1, 2)
def zero_grad_after_the_step():
    def each(run, x, y):
        loss_of(run, x, y).backward()
        run.opt.step()
        run.opt.zero_grad(set_to_none=False)
    for options in BOTH:
        assert_equals_plain(each=each, **options)


@case(2)
def gradients_as_views_of_buckets():
    for options in BOTH:
        for none in (True, False):
            def each(run, x, y):
                run.opt.zero_grad(set_to_none=none)
                loss_of(run, x, y).backward()
                run.opt.step()
            assert_equals_plain(each=each, ddp={"gradient_as_bucket_view": True}, **options)


@case(2)
def a_static_graph():
    assert_equals_plain(ddp={"static_graph": True})
    assert noise() != (1.0, 0.0)
    try:
        prepared(ddp={"static_graph": True}, **SMALL)
    except ValueError as error:
        assert "local_batch" in str(error)
    else:
        raise AssertionError("accumulation with static_graph was accepted")


@case(2)
def many_buckets():
    for options in BOTH:
        assert_equals_plain(ddp={"bucket_cap_mb": 1e-5}, **options)
        found = noise()
        prepared(**options)
        assert close(found, noise())


# ---- Parameters added later ---------------------------------------------------------------------

def unfreezing(run: SimpleNamespace, epoch: int) -> None:
    if epoch == 1:
        run.core[0].weight.requires_grad_(True)


def partly_frozen() -> SimpleNamespace:
    core = net()
    core[0].weight.requires_grad_(False)
    return SimpleNamespace(core=core, model=core,
                           opt=torch.optim.SGD(core.parameters(), lr=0.1, momentum=0.9))


@case(1, 2)
def parameters_unfrozen_later():
    for options in BOTH:
        run = assert_equals_plain(partly_frozen, between=unfreezing, epochs=3, **options)
        assert not torch.equal(run.core[0].weight, net()[0].weight)


@case(1, 2)
def noise_of_parameters_unfrozen_later():
    """Unfrozen after px.prepare() and before the first update: the same as never frozen."""
    def made(frozen: bool) -> SimpleNamespace:
        run = partly_frozen()
        run.core[0].weight.requires_grad_(not frozen)
        return run

    def unfreeze(run: SimpleNamespace) -> None:
        run.core[0].weight.requires_grad_(True)
    for options in BOTH:
        prepared(lambda: made(False), **options)
        expected = noise()
        prepared(lambda: made(True), started=unfreeze, **options)
        assert close(noise(), expected), (options, noise(), expected)


class Growing(nn.Module):
    """A net that gets another layer in the second epoch."""

    def __init__(self) -> None:
        super().__init__()
        self.net = net()
        self.more: list = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x) + sum(layer(x) for layer in self.more)


def growing(run: SimpleNamespace, epoch: int) -> None:
    if epoch != 1:
        return
    # Replicas make different layers; Pollux must make them equal, as DDP does.
    torch.manual_seed(7 + int(os.environ["RANK"]))
    layer = nn.Linear(WIDTH, 1).double()
    if int(os.environ["RANK"]) != 0:
        assert not torch.equal(layer.weight, first_layer().weight)
    run.core.more.append(layer)
    run.opt.add_param_group({"params": layer.parameters(), "lr": 0.05})


def first_layer() -> nn.Module:
    torch.manual_seed(7)
    return nn.Linear(WIDTH, 1).double()


@case(1, 2)
def a_parameter_group_added_later():
    def growing_alike(run: SimpleNamespace, epoch: int) -> None:
        if epoch == 1:
            layer = first_layer()
            run.core.more.append(layer)
            run.opt.add_param_group({"params": layer.parameters(), "lr": 0.05})
    for options in BOTH:
        expected = plain(lambda: make(model=Growing), between=growing_alike, epochs=3)
        run = prepared(lambda: make(model=Growing), between=growing, epochs=3, **options)
        assert_same(expected, run)
        late = run.core.more[0].weight
        assert torch.allclose(late, expected.core.more[0].weight, rtol=1e-9, atol=1e-9)


# ---- Unusual gradients --------------------------------------------------------------------------

@case(1, 2)
def tied_weights():
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(2)
            self.there = nn.Linear(WIDTH, WIDTH).double()
            self.back = nn.Linear(WIDTH, WIDTH).double()
            self.back.weight = self.there.weight
            self.out = nn.Linear(WIDTH, 1).double()

        def forward(self, x):
            return self.out(self.back(torch.tanh(self.there(x))))
    for options in BOTH:
        assert_equals_plain(lambda: make(model=Tied), **options)


def words() -> TensorDataset:
    random = torch.Generator().manual_seed(4)
    x = torch.randint(0, 30, (44, 3), generator=random)
    return TensorDataset(x, torch.randn(44, 1, generator=random, dtype=torch.float64))


class Embedding(nn.Module):
    def __init__(self, sparse: bool = True) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.embedding = nn.Embedding(30, 4, sparse=sparse).double()
        self.out = nn.Linear(4, 1).double()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.embedding(x).mean(1))


@case(1, 2)
def sparse_gradients():
    def made(sparse: bool = True):
        return make(lambda parameters: torch.optim.SGD(parameters, lr=0.1),
                    lambda: Embedding(sparse))
    for options in BOTH:
        assert_equals_plain(made, data=words(), **options)
        found = noise()
        prepared(lambda: made(False), data=words(), **options)
        assert close(found, noise()), (found, noise())


class Choosing(nn.Module):
    """Uses layer 0 for rows with a positive first number, layer 1 for others, and never layer 2."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.layers = nn.ModuleList(nn.Linear(WIDTH, 1) for _ in range(3)).double()
        self.both = nn.Linear(WIDTH, 1).double()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        masks = (x[:, :1] > 0).double()
        out = self.both(x)
        for layer, mask in zip(self.layers, (masks, 1 - masks)):
            if mask.any():
                out = out + mask * layer(x)
        return out


@case(1, 2)
def unused_parameters():
    """Parameters that some micro-steps, some replicas or all do not use."""
    for options in BOTH:
        run = assert_equals_plain(lambda: make(model=Choosing), ddp=UNUSED, **options)
        assert run.core.layers[2].weight.grad is None


@case(1, 2)
def two_backwards_in_a_step():
    def each(run, x, y):
        run.opt.zero_grad()
        loss_of(run, x, y).backward()
        (0.5 * loss_of(run, x.flip(1), y)).backward()
        run.opt.step()
    for options in BOTH:
        assert_equals_plain(each=each, **options)
        assert noise() == (1.0, 0.0)  # the micro-gradients are unknown, so noise is not measured


@case(1, 2)
def a_closure():
    def each(run, x, y):
        def closure():
            run.opt.zero_grad()
            loss = loss_of(run, x, y)
            loss.backward()
            return loss
        assert float(run.opt.step(closure)) > 0
    for options in BOTH:
        assert_equals_plain(each=each, **options)


@case(1)
def lbfgs():
    def made():
        return make(lambda parameters: torch.optim.LBFGS(parameters, lr=0.1, max_iter=3))

    def each(run, x, y):
        def closure():
            run.opt.zero_grad()
            loss = loss_of(run, x, y)
            loss.backward()
            return loss
        run.opt.step(closure)
    assert_equals_plain(made, each)
    assert px.metrics()["progress"] == 12
    prepared(made, each, adapt=True, max_batch=32, local_batch=(1, 32), epochs=5)
    assert px.metrics()["batch"] == 8 and noise() == (1.0, 0.0)
    try:
        prepared(made, each, **SMALL)
    except ValueError as error:
        assert "local_batch" in str(error)
    else:
        raise AssertionError("LBFGS with accumulation was accepted")


@case(1, 2)
def torch_checkpoint():
    """The backward of a checkpoint runs inside the outer backward, at its start or at its end."""
    for options in BOTH:
        prepared(lambda: make(model=net), **options)
        expected = noise()
        for reentrant in (True, False):
            for first in (True, False):
                run = assert_equals_plain(
                    lambda: make(model=lambda: Checkpointed(first, reentrant)), **options)
                assert run.core.used > 0 and close(noise(), expected), (noise(), expected)


class Checkpointed(nn.Sequential):
    """The same net with its first or its last layer in torch.utils.checkpoint."""

    def __init__(self, first: bool, reentrant: bool) -> None:
        super().__init__(*net())
        self.first, self.reentrant, self.used = first, reentrant, 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.clone().requires_grad_(True)
        self.used += 1
        for layer, held in zip(self, (self.first, False, not self.first)):
            x = checkpoint(layer, x, use_reentrant=self.reentrant) if held else layer(x)
        return x


@case(1)
def second_derivatives():
    """A gradient penalty: backward(create_graph=True) within the step."""
    def each(run, x, y):
        run.opt.zero_grad()
        x = x.clone().requires_grad_(True)
        out = run.model(x)
        slope, = torch.autograd.grad(out.sum(), x, create_graph=True)
        (((out - y) ** 2).mean() + 0.1 * (slope ** 2).mean()).backward()
        run.opt.step()
    for options in BOTH:
        assert_equals_plain(each=each, **options)


# ---- Skipped updates ----------------------------------------------------------------------------

@case(1, 2)
def step_is_never_called():
    def each(run, x, y):
        run.opt.zero_grad()
        loss_of(run, x, y).backward()
    for options in BOTH:
        run = prepared(each=each, **options)
        assert px.metrics()["progress"] == 0
        assert_same(make(), run)


@case(1, 2)
def no_backward_at_all():
    for options in BOTH:
        prepared(each=lambda run, x, y: None, **options)
        assert px.metrics()["progress"] == 0


@case(1, 2)
def a_gradient_that_is_nan():
    """NaN in one sample of the first, a later or a short update: all replicas skip that update."""
    for options in BOTH:
        for place in (0, 15, 20, 42):
            with_nan = table()
            with_nan.tensors[0][place] = float("nan")
            run = prepared(data=with_nan, epochs=1, **options)
            others = [i for i in range(44) if i // 8 != place // 8]
            expected = plain(epochs=1, data=torch.utils.data.Subset(table(), others))
            assert_same(expected, run)
            assert px.metrics()["progress"] == 5, (place, px.metrics())
            assert all(map(math.isfinite, noise()))


@case(1, 2)
def a_break_out_of_the_loop():
    """Gradients accumulated for an abandoned update are not used later."""
    px.init(adapt=False)
    run = make()
    loader = torch.utils.data.DataLoader(table(), batch_size=8)
    run.model, run.opt, loader = px.prepare(run.model, run.opt, loader, **SMALL)
    expected = make()
    steps = 8 // REPLICAS // 2
    for epoch in px.epochs(2):
        for i, (x, y) in enumerate(loader):
            body(run, x, y)
            if i == steps + steps // 2 - 1:
                break  # in the middle of the second update
        x, y = table()[:8]
        body(expected, x, y)
        assert_same(expected, run)


@case(1, 2)
def an_update_that_the_program_leaves_is_not_counted():
    """Before its backward pass, after it (several replicas have decided on it then), or in the
    middle of its micro-steps; whether another epoch follows or the session ends."""
    for options, backward in (({}, False), ({}, True), (SMALL, False), (SMALL, True)):
        px.close()
        px.init()
        run = make()
        schedule = torch.optim.lr_scheduler.StepLR(run.opt, 1)
        loader = torch.utils.data.DataLoader(table(), batch_size=8)
        run.model, run.opt, loader = px.prepare(run.model, run.opt, loader, scheduler=schedule,
                                                **options)
        per_update = 8 // REPLICAS // 2 if options else 1
        for epoch in px.epochs(3, by="passes"):
            for i, (x, y) in enumerate(loader):
                if i == 3 * per_update - 1:     # the last micro-step of the third update
                    if backward:
                        loss_of(run, x, y).backward()
                    break
                body(run, x, y)
                schedule.step()
            session = px.session()
            session.advise()
            assert session.progress == 2 * (epoch + 1), (options, backward, session.progress)
            assert px.rank() > 0 or session.status().updates == 2 * (epoch + 1)
        assert px.metrics()["progress"] == 6 and schedule.last_epoch == 6, schedule.last_epoch


@case(1)
def an_error_in_the_middle_of_a_backward():
    """The program continues with the next batch.  One replica only: DDP cannot continue."""
    class Failing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            raise RuntimeError("out of memory")
    count = 0

    def each(run, x, y):
        nonlocal count
        count += 1
        run.opt.zero_grad()
        hidden = torch.tanh(run.core[0](x))
        failing = count == 2
        loss = ((run.core[2](Failing.apply(hidden) if failing else hidden) - y) ** 2).mean()
        try:
            loss.backward()
        except RuntimeError:
            run.opt.zero_grad()
            return
        run.opt.step()
    run = prepared(each=each, epochs=1)
    others = [i for i in range(44) if i // 8 != 1]
    assert_same(plain(epochs=1, data=torch.utils.data.Subset(table(), others)), run)


@case(1, 2)
def forked_workers():
    for options in BOTH:
        assert_equals_plain(loader={"num_workers": 2, "multiprocessing_context": "fork"},
                            epochs=1, **options)
