# SPDX-License-Identifier: Apache-2.0
"""With adapt=False training ends at the weights of a plain loop with the same total batch: also
with 3 replicas, which do not divide 8, and with a short batch at the end of each epoch."""
from __future__ import annotations

import os

import torch
import torch.distributed as dist

import pollux.torch as px

from . import case
from .tasks import assert_equals_plain, loss_of, make, prepared, table

ACCUMULATED = {"local_batch": (1, 2)}


def adamw(parameters):
    return torch.optim.AdamW(parameters, lr=0.01)


@case(1, 2, 3)
def sgd_with_momentum():
    run = assert_equals_plain(epochs=3)
    assert px.metrics()["progress"] == 3 * 6  # the short last batch is one update as well
    assert run.loader.batch_size == -(-8 // px.replicas())


@case(1, 2, 3)
def adam_w():
    assert_equals_plain(lambda: make(adamw))


@case(1, 2, 3)
def accumulated():
    run = assert_equals_plain(**ACCUMULATED)
    assert run.loader.batch_size <= 2 and px.metrics()["accumulation"] >= 1


@case(1, 2, 3)
def accumulated_adam_w():
    assert_equals_plain(lambda: make(adamw), **ACCUMULATED)


@case(1, 2)
def one_sample_per_micro_step():
    assert_equals_plain(local_batch=(1, 1))


@case(1, 2, 3)
def a_tail_of_fewer_samples_than_replicas():
    if os.environ["WORLD_SIZE"] == "1":
        assert_equals_plain(data=table(41))
    else:  # the last two batches share it, unlike a plain loop: check that replicas are equal
        run = prepared(data=table(41))
        assert all(torch.equal(*pair) for pair in pairs_of_replicas(run.core))


@case(2)
def ddp_made_by_the_program():
    def made():
        run = make()
        run.model = torch.nn.parallel.DistributedDataParallel(run.core)
        return run
    for options in ({}, ACCUMULATED):
        run = assert_equals_plain(made, **options)
        assert run.model.module is run.core


@case(2, 3)
def replicas_stay_equal():
    run = prepared(**ACCUMULATED)
    assert all(torch.equal(*pair) for pair in pairs_of_replicas(run.core))


@case(1, 2)
def clipped():
    def each(run, x, y):
        run.opt.zero_grad()
        loss_of(run, x, y).backward()
        torch.nn.utils.clip_grad_norm_(run.core.parameters(), 0.05)
        run.opt.step()
    assert_equals_plain(each=each)
    assert_equals_plain(each=each, **ACCUMULATED)


@case(1, 2)
def scheduled_by_step_and_by_epoch():
    def made():
        run = make()
        run.by_step = torch.optim.lr_scheduler.CosineAnnealingLR(run.opt, 12)
        run.by_epoch = torch.optim.lr_scheduler.StepLR(run.opt, 1, gamma=0.5)
        return run

    def each(run, x, y):
        run.opt.zero_grad()
        loss_of(run, x, y).backward()
        run.opt.step()
        run.by_step.step()

    def between(run, epoch):
        if epoch:
            run.by_epoch.step()
    assert_equals_plain(made, each, between=between)
    assert_equals_plain(made, each, between=between, **ACCUMULATED)


def pairs_of_replicas(model: torch.nn.Module):
    """Pairs of each parameter here and in each replica."""
    for parameter in model.parameters():
        found = [torch.empty_like(parameter) for _ in range(dist.get_world_size())]
        dist.all_gather(found, parameter.detach())
        for each in found:
            yield parameter.detach(), each
