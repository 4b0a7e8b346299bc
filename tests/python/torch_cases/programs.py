# SPDX-License-Identifier: Apache-2.0
"""Programs with something of their own in the way: hooks, DDP, numbers that are not real, loops
that are left."""
from __future__ import annotations

import math
import os
from types import SimpleNamespace
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import pollux.torch as px

from . import case
from .reference import close
from .tasks import WIDTH, assert_equals_plain, body, make, noise, prepared, table

REPLICAS = int(os.environ.get("WORLD_SIZE", "1"))
SMALL: dict = {"local_batch": (1, 2)}


@case(1, 2)
def hooks_that_the_program_adds_late():
    """It hooks its parameters after px.prepare(): each micro-gradient goes through it once."""
    def halve(run: SimpleNamespace, epoch: int) -> None:
        if epoch == 0:
            for parameter in run.core.parameters():
                parameter.register_hook(lambda gradient: gradient * 0.5)
    for options in ({}, SMALL):
        assert_equals_plain(between=halve, **options)


@case(1)
def ddp_of_one_replica():
    """The program's own, as under torchrun with one process."""
    alone = not dist.is_initialized()
    if alone:
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        for views in (False, True):
            def made() -> SimpleNamespace:
                run = make()
                run.model = DistributedDataParallel(run.core, gradient_as_bucket_view=views)
                return run
            run = assert_equals_plain(made, **SMALL)
            px.close()
            assert run.model.require_backward_grad_sync
    finally:
        if alone:
            dist.destroy_process_group()


class Complex(nn.Module):
    """The same numbers as parts of complex ones, or as real ones."""

    def __init__(self, whole: bool) -> None:
        super().__init__()
        start = torch.arange(2.0 * WIDTH, dtype=torch.float64).reshape(WIDTH, 2).sin()
        self.weight = nn.Parameter(torch.view_as_complex(start) if whole else start)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight = torch.view_as_real(self.weight) if self.weight.is_complex() else self.weight
        return (x @ weight).prod(1, keepdim=True)


@case(1)
def noise_of_complex_parameters():
    """Gloo sums none."""
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
def loops_that_are_left():
    """A break out of one loop does not change the next."""
    def left(loop: Any, run: SimpleNamespace) -> None:
        data = iter(run.loader)
        for _ in loop:
            body(run, *next(data))
            break
    for loop in (lambda: px.steps(3), lambda: px.epochs(1, by="progress")):
        run = prepared(epochs=0)
        left(loop(), run)
        passes = [sum(len(x) for x, y in run.loader if body(run, x, y) is None)
                  for _ in px.epochs(3)]
        assert passes == [44, 44, 44], passes
