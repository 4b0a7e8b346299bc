# SPDX-License-Identifier: Apache-2.0
"""Programs with their own hooks, DDP, complex parameters or a break; invalid arguments and their
messages; checkpoints of other programs."""
from __future__ import annotations

import contextlib
import io
import math
import os
import pickle
import tempfile
import threading
from types import SimpleNamespace
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

import pollux.torch as px
from pollux.torch.norms import Preconditioner

from . import case
from .reference import close
from .tasks import WIDTH, assert_equals_plain, body, make, net, noise, prepared, refused, sgd, table

REPLICAS = int(os.environ.get("WORLD_SIZE", "1"))
SMALL: dict = {"local_batch": (1, 2)}


@case(1, 2)
def hooks_added_after_prepare():
    """Each micro-gradient goes through such a hook once."""
    def halve(run: SimpleNamespace, epoch: int) -> None:
        if epoch == 0:
            for parameter in run.core.parameters():
                parameter.register_hook(lambda gradient: gradient * 0.5)
    for options in ({}, SMALL):
        assert_equals_plain(between=halve, **options)


@case(1)
def ddp_of_one_replica():
    """DDP made by the program, as with torchrun and one process."""
    no_group = not dist.is_initialized()
    if no_group:
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        for as_views in (False, True):
            def made() -> SimpleNamespace:
                run = make()
                run.model = DistributedDataParallel(run.core, gradient_as_bucket_view=as_views)
                return run
            run = assert_equals_plain(made, **SMALL)
            px.close()
            assert run.model.require_backward_grad_sync
    finally:
        if no_group:
            dist.destroy_process_group()


class Complex(nn.Module):
    """The same parameters as complex numbers (whole) or as pairs of real numbers."""

    def __init__(self, whole: bool) -> None:
        super().__init__()
        start = torch.arange(2.0 * WIDTH, dtype=torch.float64).reshape(WIDTH, 2).sin()
        self.weight = nn.Parameter(torch.view_as_complex(start) if whole else start)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight = torch.view_as_real(self.weight) if self.weight.is_complex() else self.weight
        return (x @ weight).prod(1, keepdim=True)


@case(1)
def noise_of_complex_parameters():
    """With one replica: gloo cannot sum complex numbers."""
    for optimizer in (lambda some: torch.optim.SGD(some, lr=0.01),
                      lambda some: torch.optim.Adam(some, lr=0.001)):
        for options in ({}, SMALL):
            found = []
            for whole in (False, True):
                prepared(lambda: make(optimizer, lambda: Complex(whole)), data=table(80), **options)
                found.append(noise())
            assert math.isfinite(found[0][1]) and found[0][1] > 0
            close(*found)


@case(1)
def a_break_does_not_change_the_next_loop():
    def leave(loop: Any, run: SimpleNamespace) -> None:
        data = iter(run.loader)
        for _ in loop:
            body(run, *next(data))
            break
    for loop in (lambda: px.steps(3), lambda: px.epochs(1, by="progress")):
        run = prepared(epochs=0)
        leave(loop(), run)
        passes = [sum(len(x) for x, y in run.loader if body(run, x, y) is None)
                  for _ in px.epochs(3)]
        assert passes == [44, 44, 44], passes


@case(2)
def an_object_of_replica_0_is_sent_once():
    """The objects of other replicas are not, nor is there a place for them."""
    px.init()
    collectives, rank = px.session().collectives, px.rank()
    sent: list[int] = []
    original = dist.broadcast

    def counted(tensor: torch.Tensor, *args: Any) -> Any:
        sent.append(tensor.numel() * tensor.element_size())
        return original(tensor, *args)
    dist.broadcast = counted
    try:
        found = collectives.from_first(list(range(1000)) if rank == 0 else "x" * 100000)
    finally:
        dist.broadcast = original
    assert found == list(range(1000)), found
    assert sent == [8, len(pickle.dumps(found))], sent


@case(1)
def a_loop_before_prepare_is_refused():
    px.init()
    for loop in (px.epochs(1), px.epochs(1, by="progress"), px.steps(1)):
        refused(lambda: next(loop), "px.prepare()")


@case(1)
def invalid_arguments():
    px.init()
    run, loader = make(), DataLoader(table(), batch_size=8)

    def prepare(**options: Any) -> Any:
        return lambda: px.prepare(run.model, run.opt, loader, **options)
    refused(px.metrics, "px.prepare()")
    refused(lambda: px.prepare(run.opt, run.model, loader), "torch.nn.Module", "SGD")
    refused(lambda: px.prepare(run.model, loader, run.opt), "Optimizer", "DataLoader")
    refused(lambda: px.observe(run.model, run.opt, [1, 2]), "px.observe()", "DataLoader", "list")
    refused(prepare(max_batch=4), "max_batch=4", "8")
    refused(prepare(max_batch="64"), "max_batch", "'64'")
    refused(prepare(local_batch=4), "local_batch=4", "pair")
    refused(prepare(local_batch=(4, 2)), "local_batch=(4, 2)")
    refused(prepare(local_batch=(0, 2)), "local_batch=(0, 2)")
    refused(prepare(scheduler="cosine"), "scheduler", "str", "step()")
    refused(prepare(scaler=object()), "scaler", "object", "state_dict()")
    prepare(max_batch=1e2, local_batch=[1, 8])()
    refused(prepare(), "called before")
    assert px.session().pass_samples == 44 and px.session().pass_updates == 6


@case(1)
def a_scheduler_made_before_init_gets_a_warning():
    def warnings(early: bool, named: bool) -> str:
        px.close()
        stderr = io.StringIO()
        run = make()
        if not early:
            px.init()
        scheduler = torch.optim.lr_scheduler.StepLR(run.opt, 3)
        if early:
            px.init()
        with contextlib.redirect_stderr(stderr):
            px.prepare(run.model, run.opt, DataLoader(table(), batch_size=8),
                       scheduler=scheduler if named else None)
        return stderr.getvalue()
    assert "before px.init()" in warnings(early=True, named=False)
    assert not warnings(early=True, named=True) + warnings(early=False, named=False)


@case(1)
def parameters_of_another_optimizer_get_a_warning():
    def warnings(parameters: Any, **options: Any) -> str:
        px.close()
        px.init()
        core = net()
        core[0].bias.requires_grad_(False)
        with contextlib.redirect_stderr(io.StringIO()) as stderr:
            px.prepare(core, sgd(parameters(core)), DataLoader(table(), batch_size=8), **options)
        return stderr.getvalue()

    def some(core: Any) -> list:
        return [core[0].weight, core[2].bias]

    def trained(core: Any) -> list:
        return [*some(core), core[2].weight]
    assert "2.weight" in warnings(some) and "accumulation=False" in warnings(some)
    assert not warnings(some, accumulation=False) + warnings(trained)


@case(2)
def a_process_group_of_another_size():
    """The process group of the program differs from the environment variables."""
    replicas, os.environ["WORLD_SIZE"] = os.environ["WORLD_SIZE"], "3"
    try:
        refused(px.init, f"rank {os.environ['RANK']} of 2", "of 3", "WORLD_SIZE")
    finally:
        os.environ["WORLD_SIZE"] = replicas


@case(2)
def the_end_waits_for_threads_of_torch():
    """The interpreter must not end while threads of torch hold Python functions."""
    prepared()
    collectives = px.session().collectives
    collectives.let_go()
    assert not collectives._called_later  # no other function is held
    held, released = [lambda: None], []
    collectives._called_later.add(held[0])

    def release() -> None:
        released.append(True)
        held.clear()
    threading.Timer(0.2, release).start()
    collectives.let_go()
    assert released


@case(1)
def an_optimizer_state_loaded_by_the_program():
    """Adam's preconditioner uses the groups of the loaded state."""
    run = make(lambda parameters: torch.optim.Adam(parameters, lr=0.01))
    for x, y in DataLoader(table(), batch_size=8):
        body(run, x, y)
    find = Preconditioner(run.opt)
    for beta2, eps in ((0.999, 1e-8), (0.9, 1e-3)):
        state = run.opt.state_dict()
        state["param_groups"][0].update(betas=(0.9, beta2), eps=eps)
        run.opt.load_state_dict(state)
        find.renew()
        scaling = find(run.core[0].weight)
        assert (scaling.beta2, scaling.eps, scaling.step) == (beta2, eps, 6)


# ---- Checkpoints of other programs ---------------------------------------------------------------


def train_from(folder: str, model: Any = net, optimizer: Any = sgd, *, data: Any = None,
               seed: int = 0, stop_at: int = 0, batch: int = 8) -> list[list[float]]:
    """Train two epochs, from the checkpoint in folder if there is one.  Returns the sorted targets
    of each epoch.  stop_at: the update of the first epoch after which to stop."""
    px.close()
    px.init(folder, seed=seed)
    run = make(optimizer, model)
    run.model, run.opt, loader = px.prepare(
        run.model, run.opt, DataLoader(data or table(), batch_size=batch, shuffle=True))
    seen: list[list[float]] = [[], []]
    with contextlib.suppress(SystemExit):
        for epoch in px.epochs(2):
            for count, (x, y) in enumerate(loader, 1):
                body(run, x, y)
                seen[epoch] += y.flatten().tolist()
                if count == stop_at - 1:  # replicas agree on the stop in the next update
                    px.session().agent.stop()
    return [sorted(each) for each in seen]


@case(1)
def a_checkpoint_of_another_program():
    def one_group_each(parameters: Any) -> torch.optim.Optimizer:
        return torch.optim.SGD([{"params": [each]} for each in parameters], lr=0.1)
    with tempfile.TemporaryDirectory() as folder:
        train_from(folder, stop_at=2)
        for options in ({"model": lambda: nn.Linear(WIDTH, 1).double()},
                        {"optimizer": one_group_each}, {"batch": 4}):
            refused(lambda: train_from(folder, **options), "cannot resume", folder,
                    "another checkpoint directory")


@case(1)
def a_checkpoint_of_other_data():
    """Each sample is still taken once: the epoch starts again."""
    for options in ({"data": table(36)}, {"data": table(60)}, {"seed": 5}):
        whole = sorted(options.get("data", table()).tensors[1].flatten().tolist())
        with tempfile.TemporaryDirectory() as folder, \
                contextlib.redirect_stderr(io.StringIO()) as stderr:
            assert len(train_from(folder, stop_at=2)[0]) == 16
            assert train_from(folder, **options) == [whole, whole]
        assert "starts again" in stderr.getvalue()
    with tempfile.TemporaryDirectory() as folder:
        train_from(folder, stop_at=2)
        assert len(train_from(folder)[0]) == 44 - 16
