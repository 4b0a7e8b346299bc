# SPDX-License-Identifier: Apache-2.0
"""px.observe() does not change a single bit, and measures the same as px.prepare()."""
from __future__ import annotations

import contextlib
import os
from types import SimpleNamespace
from unittest import mock

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import BatchSampler, DataLoader, SequentialSampler, Subset

import pollux.torch as px
from pollux.torch import single
from pollux.torch.patches import Patches

from . import case
from .noise import as_on_a_device
from .programs import refused
from .reference import Reference, close
from .tasks import make, noise, prepared, table
from .weights import adamw

REPLICAS = int(os.environ.get("WORLD_SIZE", "1"))
RANK = int(os.environ.get("RANK", "0"))
ROWS = 96
BATCH = 12


def share() -> Subset:
    """The samples that the elastic loader would give this replica, in whole updates of 12."""
    local = BATCH // REPLICAS
    return Subset(table(ROWS), [start + RANK * local + i for start in range(0, ROWS, BATCH)
                                for i in range(local)])


def own_loop(observe: bool, optimizer=None, parts: int = 1, clip: float = 0.0,
             epochs: int = 2) -> SimpleNamespace:
    """A program that uses DDP and accumulates without Pollux."""
    px.close()
    run = make(*([optimizer] if optimizer else []))
    if REPLICAS > 1:
        run.model = DistributedDataParallel(run.core)
    loader = DataLoader(share(), batch_size=BATCH // REPLICAS // parts)
    if observe:
        px.init()
        same = px.observe(run.model, run.opt, loader)
        assert same[0] is run.model and same[1] is run.opt and same[2] is loader
    for _epoch in range(epochs):
        for i, (x, y) in enumerate(loader):
            last = i % parts == parts - 1
            sync = run.model.no_sync if REPLICAS > 1 and not last else contextlib.nullcontext
            with sync():
                (((run.model(x) - y) ** 2).mean() / parts).backward()
            if last:
                if clip:
                    torch.nn.utils.clip_grad_norm_(run.core.parameters(), clip)
                run.opt.step()
                run.opt.zero_grad()
    return run


def assert_equal(one: SimpleNamespace, other: SimpleNamespace) -> None:
    for a, b in zip(one.core.parameters(), other.core.parameters()):
        assert torch.equal(a, b)


@case(1, 2, 3)
def weights_equal_those_of_the_plain_run_bit_by_bit():
    for optimizer in (None, adamw):
        for parts in (1, 2):
            expected = own_loop(False, optimizer, parts, clip=0.1)
            assert_equal(expected, own_loop(True, optimizer, parts, clip=0.1))


@case(1, 2, 3)
def noise_is_what_prepare_measures():
    """px.observe() compares all successive updates; so does px.prepare() here."""
    every, single.COMPARE_EVERY = single.COMPARE_EVERY, 1
    for optimizer in (None, adamw):
        own_loop(True, optimizer)
        found, progress = noise(), px.metrics()["progress"]
        prepared(lambda: make(*([optimizer] if optimizer else [])), data=table(ROWS),
                 batch=BATCH)
        assert found != (1.0, 0.0) and close(found, noise()), (found, noise())
        assert abs(progress - 2 * ROWS / BATCH) < 1e-9
    single.COMPARE_EVERY = every


@case(1)
def numbers_of_an_update_are_transferred_together():
    """One transfer for all norms, and one for the steps of Adam once there are some.  The scale
    of the loss is read once."""
    updates = 2 * ROWS // BATCH
    for optimizer, transfers in ((None, updates), (adamw, 2 * updates - 1)):
        for parts in (1, 2):
            with as_on_a_device() as counts, \
                    mock.patch.object(Patches, "loss_scale", return_value=1.0) as scale:
                own_loop(True, optimizer, parts)
            assert counts.transfers == transfers, (optimizer, parts, counts)
            assert scale.call_count == updates, (optimizer, parts, scale.call_count)


@case(1, 2)
def noise_of_own_accumulation():
    """Two backwards are two micro-gradients of each replica; M0 is the batch of one of them."""
    own_loop(True, parts=2)
    found, expected = noise(), own_accumulation(2)
    assert close(found, expected), (found, expected)
    assert px.metrics()["accumulation"] == 1


def own_accumulation(parts: int) -> tuple[float, float]:
    """The same by the closed form with the gradients of a plain run.  The first update only shows
    the number of parts and is not measured."""
    run = make()
    reference = Reference([0] * 4)
    cells = REPLICAS * parts
    for update in range(2 * ROWS // BATCH):
        start = update * BATCH % ROWS
        x, y = table(ROWS)[start:start + BATCH]
        grads = [torch.autograd.grad(((run.model(a) - b) ** 2).mean(), list(run.core.parameters()))
                 for a, b in zip(x.chunk(cells), y.chunk(cells))]
        if update > 0:
            reference.update(grads, float(parts))
        for parameter, pieces in zip(run.core.parameters(), zip(*grads)):
            parameter.grad = sum(pieces) / cells
        run.opt.step()
    return reference.total()


@case(1, 2)
def noise_is_measured_before_clipping():
    def zero_rate(parameters):
        return torch.optim.SGD(parameters, lr=0.0)
    own_loop(True, zero_rate)
    found = noise()
    own_loop(True, zero_rate, clip=1e-3)
    assert close(found, noise())


@case(2)
def gradients_never_zeroed_are_not_measured():
    """From the second step on .grad is not the mean of the micro-gradients."""
    px.init()
    run = make(lambda parameters: torch.optim.SGD(parameters, lr=1e-3))
    run.model = DistributedDataParallel(run.core)
    loader = DataLoader(share(), batch_size=BATCH // REPLICAS)
    px.observe(run.model, run.opt, loader)
    found = []
    for x, y in loader:
        ((run.model(x) - y) ** 2).mean().backward()
        run.opt.step()
        found.append(noise())
    assert found[0] != (1.0, 0.0) and found[-1] == found[3], found


@case(1)
def the_agent_is_told_what_prepare_tells_it():
    """The size of the data, the memory of Adam, the clock."""
    def clock() -> float:
        return 1.0
    for optimizer in (adamw, None):
        told = []
        for function in (px.observe, px.prepare):
            px.close()
            px.init(clock=clock)
            run = make(*([optimizer] if optimizer else []))
            with mock.patch.object(px, "Agent", wraps=px.Agent) as agent:
                function(run.model, run.opt, DataLoader(table(ROWS), BATCH))
            given = agent.call_args.kwargs
            told.append([given[name] for name in ("dataset_size", "beta2", "clock", "rule",
                                                  "period_s", "groups")])
        assert told[0] == told[1] and told[0][0] == ROWS and told[0][2] is clock, told
        assert (told[0][1] > 0) == (optimizer is adamw), told


@case(1, 2)
def the_batch_of_a_batch_sampler():
    for sampler, options, expected in (
            (BatchSampler(SequentialSampler(table(ROWS)), 6, False), {}, 6),
            ([[0, 1, 2], [3, 4, 5]], {"batch_size": 3}, 3)):
        px.close()
        run = make()
        px.init()
        px.observe(run.model, run.opt, DataLoader(table(ROWS), batch_sampler=sampler), **options)
        assert px.session().init_batch == expected * REPLICAS
        assert px.session().advice.batch.m == expected
    px.close()
    px.init()
    run = make()
    refused(lambda: px.observe(run.model, run.opt, DataLoader(table(ROWS), batch_sampler=[[0]])),
            "px.observe(..., batch_size=n)")
