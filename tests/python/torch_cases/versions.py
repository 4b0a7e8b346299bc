# SPDX-License-Identifier: Apache-2.0
"""What PyTorch 2.x has or does otherwise: hooks under torch.autograd.grad(), tensors as rates,
fused optimizers, compiled and sharded models; communication hooks of the program."""
from __future__ import annotations

import contextlib
import copy
import gc
import io
import tempfile
import weakref
from types import SimpleNamespace
from typing import Any, Iterator

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim.swa_utils import AveragedModel

import pollux.torch as px
from pollux.agent import Batch
from pollux.torch.arguments import check_whole
from pollux.torch.patches import scaled_rates
from pollux.torch.states import load_plain_state, plain_state, unwrapped

from . import case
from .patches import scaled
from .programs import REPLICAS, SMALL, train_from
from .reference import close
from .tasks import (assert_equals_plain, assert_same, body, loss_of, make, net, noise, plain,
                    prepared, refused, sgd, table)

SECOND = hasattr(torch, "compile")  # PyTorch 2.x


@case(1, 2)
def autograd_grad_is_not_a_backward_pass():
    """It calls the hooks of parameters in 2.x.  Here it runs before the backward pass, after it and
    inside it."""
    class Inside(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, core):
            ctx.core = core
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            with torch.enable_grad():
                torch.autograd.grad(ctx.core[0].weight.sum(), ctx.core[0].weight)
            return grad, None

    def each(run: SimpleNamespace, x: torch.Tensor, y: torch.Tensor) -> None:
        def penalty() -> None:
            inner = ((run.core(x) - y) ** 2).mean()
            found = torch.autograd.grad(inner, list(run.core.parameters()))
            assert all(gradient is not None for gradient in found)
        run.opt.zero_grad()
        penalty()
        Inside.apply(loss_of(run, x, y), run.core).backward()
        penalty()
        run.opt.step()
    for options in ({}, SMALL):
        prepared(**options)
        expected = noise()
        assert_equals_plain(each=each, **options)
        assert close(noise(), expected), (noise(), expected)


# ---- Rates and optimizers -----------------------------------------------------------------------


@case(1)
def tensor_rates_are_scaled_in_place():
    one, shared = torch.tensor(0.1), torch.tensor(0.5)
    groups = [{"lr": one}, {"lr": shared}, {"lr": 2.0}, {"lr": shared}]
    with scaled_rates(groups, lambda index: index + 2.0):
        assert groups[0]["lr"] is one and groups[1]["lr"] is shared
        assert [round(float(group["lr"]), 6) for group in groups] == [0.2, 1.5, 8.0, 2.5]
    assert groups[0]["lr"] is one and groups[1]["lr"] is groups[3]["lr"] is shared
    assert (float(one), float(shared), groups[2]["lr"]) == (float(torch.tensor(0.1)), 0.5, 2.0)
    with contextlib.suppress(KeyError), scaled_rates(groups, lambda index: 3.0):
        raise KeyError
    assert float(shared) == 0.5


def alike(one: Any, other: Any, **options: Any) -> None:
    """Two optimizers, in updates with a factor on their rates, end at the same weights with the
    same noise."""
    found = []
    for optimizer in (one, other):
        run = prepared(lambda: make(optimizer), data=table(160), adapt=True, max_batch=16,
                       rule="linear", epochs=1, **options,
                       started=lambda run: px.session().agent.set_fixed(Batch(8 // REPLICAS, 1)))
        assert px.metrics()["lr_factor"][0] > 1.5, px.metrics()
        found.append((run, noise()))
    assert_same(found[0][0], found[1][0])
    assert close(found[0][1], found[1][1]), found


if SECOND:
    @case(1)
    def a_rate_that_is_a_tensor():
        rate = torch.tensor(0.01, dtype=torch.float64)
        for kind in (torch.optim.SGD, torch.optim.Adam):
            alike(lambda some: kind(some, lr=0.01),
                  lambda some: kind(some, lr=rate, foreach=False), **SMALL)
            assert float(rate) == 0.01

    @case(1, 2)
    def fused_optimizers():
        """Their `step` is a tensor."""
        for kind in (torch.optim.Adam, torch.optim.AdamW):
            alike(lambda some: kind(some, lr=0.01), lambda some: kind(some, lr=0.01, fused=True),
                  **SMALL)

    @case(1)
    def a_fused_optimizer_resumes():
        def fused(some: Any) -> torch.optim.Optimizer:
            return torch.optim.AdamW(some, lr=0.01, fused=True)
        with tempfile.TemporaryDirectory() as folder:
            train_from(folder, optimizer=fused, stop_at=3)
            assert len(train_from(folder, optimizer=fused)[0]) == 44 - 24
        steps = {float(state["step"]) for state in px.session().optimizer.state.values()}
        assert steps == {12.0}, steps


# ---- Gradient scalers ---------------------------------------------------------------------------


if SECOND:
    def with_scaler(optimizer: Any) -> Any:
        """An enabled scaler of torch, whose scale doubles every 4 updates."""
        def made() -> SimpleNamespace:
            run = make(optimizer)
            run.scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=4)
            return run
        return made

    SCALED = (sgd, lambda some: torch.optim.AdamW(some, lr=0.01),
              lambda some: torch.optim.AdamW(some, lr=0.01, fused=True))

    @case(1, 2)
    def the_scaler_of_torch_and_accumulation():
        """A fused optimizer divides by the scale itself."""
        for optimizer in SCALED:
            for options in ({}, SMALL):
                for clip in (False, True):
                    run = assert_equals_plain(with_scaler(optimizer), scaled(clip), epochs=3,
                                              **options)
                    assert run.scaler.get_scale() == 1024 * 2 ** 4, run.scaler.get_scale()
                    assert px.metrics()["progress"] == 18
                    found = noise()
                    if not clip:
                        prepared(lambda: make(optimizer), epochs=3, **options)
                        assert close(found, noise()), (found, noise())

    @case(1, 2)
    def the_scaler_of_torch_skips_an_update():
        """inf in one micro-batch of one replica."""
        with_inf = table(40)
        with_inf.tensors[0][11] = float("inf")
        others = torch.utils.data.Subset(table(40), [*range(8), *range(16, 40)])
        for optimizer in SCALED:
            for clip in (False, True):
                for options in ({}, SMALL):
                    run = prepared(with_scaler(optimizer), scaled(clip), data=with_inf, epochs=1,
                                   **options)
                    assert run.scaler.get_scale() == 512, run.scaler.get_scale()
                    assert px.metrics()["progress"] == 4, px.metrics()
                    expected = plain(with_scaler(optimizer), scaled(clip), data=others, epochs=1)
                    assert_same(expected, run)


# ---- Compiled and wrapped models ----------------------------------------------------------------


if SECOND:
    @case(1)
    def compiled_models_get_few_sizes():
        found = []
        original = px.Agent

        def agent(*args: Any, few_sizes: bool, **options: Any) -> Any:
            found.append(few_sizes)
            return original(*args, few_sizes=few_sizes, **options)

        def compiled_in_place(core: nn.Module) -> nn.Module:
            core[0].compile(backend="eager")
            return core
        px.Agent = agent
        try:
            for change in (lambda core: core, lambda core: torch.compile(core, backend="eager"),
                           compiled_in_place):
                def made() -> SimpleNamespace:
                    run = make()
                    run.model = change(run.core)
                    return run
                prepared(made, epochs=0)
        finally:
            px.Agent = original
        assert found == [False, True, True], found


@contextlib.contextmanager
def group_of_one() -> Iterator[None]:
    """A process group for programs of one replica that need one."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        yield
    finally:
        px.close()
        dist.destroy_process_group()


@case(1)
def wrapped_modules_have_plain_names():
    """Each kind of wrapping loads the state of each other kind."""
    plain_names = list(net().state_dict())
    with group_of_one():
        kinds = [net, lambda: DistributedDataParallel(net())]
        if SECOND:
            def inner() -> nn.Module:
                core = net()
                core[0] = torch.compile(core[0], backend="eager")
                return core
            kinds += [lambda: torch.compile(net(), backend="eager"), inner,
                      lambda: torch.compile(DistributedDataParallel(net()), backend="eager"),
                      lambda: DistributedDataParallel(torch.compile(net(), backend="eager"))]
        saved = []
        for seed, kind in enumerate(kinds):
            module = kind()
            with torch.no_grad():
                unwrapped(module)[2].bias.fill_(float(seed))
            state = plain_state(module)
            assert list(state) == plain_names, state.keys()
            assert set(state._metadata) == set(net().state_dict()._metadata), state._metadata
            saved.append(copy.deepcopy(state))
        if SECOND:
            compiled = torch.compile(net(), backend="eager").state_dict()
            assert all(name.startswith("_orig_mod.") for name in compiled)
            saved.append(compiled)
        for kind in kinds:
            for state in [*saved, kind().state_dict()]:
                module = kind()
                load_plain_state(module, copy.deepcopy(state))
                bias = next(part for name, part in state.items() if name.endswith("2.bias"))
                assert torch.equal(unwrapped(module)[2].bias, bias)
        refused(lambda: load_plain_state(net(), {"other.weight": torch.zeros(1)}), "other.weight")


@case(1)
def an_average_of_weights_resumes_with_another_wrapping():
    """AveragedModel copies the model, with DDP if there are several replicas."""
    with group_of_one():
        whole = AveragedModel(DistributedDataParallel(net()))
        whole.n_averaged.fill_(7)
        state = plain_state(whole)
        bare = AveragedModel(net(seed=9))
        load_plain_state(bare, state)
        assert int(bare.n_averaged) == 7
        assert torch.equal(bare.module[0].weight, net()[0].weight)
        again = AveragedModel(DistributedDataParallel(net(seed=9)))
        load_plain_state(again, plain_state(bare))
        assert torch.equal(again.module.module[0].weight, net()[0].weight)
        load_plain_state(again, whole.state_dict())  # as it was saved before


if SECOND:
    @case(1, 2)
    def compiled_models():
        """torch.compile() before px.prepare(); a checkpoint resumes with and without it."""
        def compiled() -> nn.Module:
            return torch.compile(net(), backend="eager")

        def made() -> SimpleNamespace:
            run = make()
            run.model = torch.compile(run.core, backend="eager")
            return run
        for options in ({}, SMALL):
            assert_equals_plain(made, **options)
        if REPLICAS == 1:
            for first, second in ((compiled, net), (net, compiled), (compiled, compiled)):
                with tempfile.TemporaryDirectory() as folder, \
                        contextlib.redirect_stderr(io.StringIO()):
                    train_from(folder, first, stop_at=2)
                    assert len(train_from(folder, second)[0]) == 44 - 16
                    assert not any("_orig_mod" in name for name in plain_state(
                        px.session().model)), px.session().model


@case(1)
def sharded_models_are_refused():
    from torch.distributed.optim import ZeroRedundancyOptimizer

    def is_refused(model: nn.Module, optimizer: torch.optim.Optimizer, name: str) -> None:
        refused(lambda: check_whole("px.prepare()", model, optimizer), name, "not supported",
                "whole model")
    run = make()
    check_whole("px.prepare()", run.model, run.opt)
    with group_of_one():
        check_whole("px.prepare()", DistributedDataParallel(run.model), run.opt)
        zero = ZeroRedundancyOptimizer(run.core.parameters(), torch.optim.SGD, lr=0.1)
        is_refused(run.model, zero, "ZeroRedundancyOptimizer")
        px.init()
        loader = torch.utils.data.DataLoader(table(), batch_size=8)
        for call in (px.prepare, px.observe):
            refused(lambda: call(run.model, zero, loader), "ZeroRedundancyOptimizer")
        if SECOND:
            from torch.distributed.device_mesh import init_device_mesh
            from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
            from torch.distributed.tensor import distribute_module
            mesh = init_device_mesh("cpu", (1,))
            sharded = fully_shard(net(), mesh=mesh)
            is_refused(sharded, torch.optim.SGD(sharded.parameters(), lr=0.1), "FSDP")
            spread = distribute_module(net(), mesh)
            is_refused(spread, torch.optim.SGD(spread.parameters(), lr=0.1), "DTensor")
            old = FullyShardedDataParallel(net(), device_id=torch.device("cpu"))
            is_refused(nn.Sequential(old), torch.optim.SGD(old.parameters(), lr=0.1), "FSDP")


# ---- Communication hooks of the program ---------------------------------------------------------


class Averaging:
    """A communication hook that returns the mean in another tensor than the bucket's."""

    def __init__(self) -> None:
        self.calls = 0

    def hook(self, state, bucket):
        assert state is self
        self.calls += 1
        tensor = bucket.buffer() / REPLICAS
        return dist.all_reduce(tensor, async_op=True).get_future().then(
            lambda done: done.value()[0])


@case(2)
def a_communication_hook_of_the_program():
    """It is called after that of Pollux, which measures the same noise."""
    for optimizer in (lambda some: torch.optim.SGD(some, lr=0.1),
                      lambda some: torch.optim.Adam(some, lr=0.01)):
        for options in ({}, SMALL):
            own = Averaging()

            def register(run: SimpleNamespace) -> None:
                run.model.register_comm_hook(own, own.hook)
                refused(lambda: run.model.register_comm_hook(own, own.hook), "before")
            prepared(lambda: make(optimizer), **options)
            expected = noise()
            run = prepared(lambda: make(optimizer), started=register, **options)
            assert_same(plain(lambda: make(optimizer)), run)
            assert own.calls == 12, own.calls
            assert close(noise(), expected), (noise(), expected)
            px.close()
            body(run, *table()[:8])  # without a session the hook of the program still averages
            assert own.calls == 13 and type(run.model) is DistributedDataParallel


@case(2)
def the_same_ddp_in_a_second_session():
    """DDP keeps the hook of the first one, which must not keep that session.  A hook of the program
    stays."""
    own = Averaging()
    for hook in (None, own):
        def started(run: SimpleNamespace) -> None:
            if hook is not None:
                run.model.register_comm_hook(hook, hook.hook)
        run = prepared(started=started, **SMALL)
        first = weakref.ref(px.session())
        del run.loader
        px.close()
        gc.collect()
        assert first() is None, gc.get_referrers(first())
        again = prepared(lambda: run, **SMALL)
        assert_same(plain(epochs=4), again)
    assert own.calls == 24, own.calls


@case(2)
def a_communication_hook_before_prepare_is_refused():
    own = Averaging()
    px.init()
    run = make()
    model = DistributedDataParallel(run.core)
    model.register_comm_hook(own, own.hook)
    loader = torch.utils.data.DataLoader(table(), batch_size=8)
    refused(lambda: px.prepare(model, run.opt, loader), "communication hook", "after px.prepare()")
