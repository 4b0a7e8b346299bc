# SPDX-License-Identifier: Apache-2.0
"""Programs with checkpoints, loops and loaders of their own: px.state_dict(), px.loader() and
px.prepare(batch_size=)."""
from __future__ import annotations

import io
import os
import signal
import tempfile
from types import SimpleNamespace
from typing import Any, Iterator, Optional

import torch
from torch.utils.data import BatchSampler, DataLoader, IterableDataset, RandomSampler, Sampler

import pollux.torch as px

from . import case
from .tasks import BATCH, body, make, plain, table

REPLICAS = int(os.environ.get("WORLD_SIZE", "1"))
ROWS = 44       # of table(): five updates and a short one


def begin(**options: Any) -> SimpleNamespace:
    """A program with px.loader() before its first iteration."""
    px.init(adapt=options.pop("adapt", False), checkpoint=options.pop("checkpoint", None))
    run = make()
    run.loader = px.loader(table(), BATCH, epochs=options.pop("epochs", 3))
    assert len(run.loader) == 6
    run.schedule = torch.optim.lr_scheduler.StepLR(run.opt, 4, gamma=0.5)
    run.model, _, loader = px.prepare(run.model, run.opt, run.loader, scheduler=run.schedule,
                                      **options)
    assert loader is run.loader
    return run


def train_pass(run: SimpleNamespace, updates: int = -1) -> int:
    """One iteration of the loader, or its first updates.  Returns the number of samples."""
    samples = 0
    for x, y in run.loader:
        samples += len(x)
        body(run, x, y)
        run.schedule.step()
        if not px.session().accumulating:
            updates -= 1
            if updates == 0:
                break
    return samples


def weights(run: SimpleNamespace) -> list[torch.Tensor]:
    return [each.detach().clone() for each in run.core.parameters()]


def summed(number: int) -> int:
    return int(px.session().collectives.sum([float(number)])[0])


@case(1, 2)
def a_loop_elsewhere_has_epochs():
    """Each iteration is an epoch with every sample; after the last there are none."""
    run = begin(local_batch=(1, 2))
    for epoch in range(3):
        assert summed(train_pass(run)) == ROWS
        assert px.metrics()["epoch"] == (epoch if epoch < 2 else 3)
    assert train_pass(run) == 0 and px.metrics()["progress"] == 18
    expected = plain(each=halving(), epochs=3)
    for one, other in zip(weights(run), weights(expected)):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)


def halving() -> Any:
    """The loop's body with the schedule of begin()."""
    schedules: dict[int, Any] = {}

    def each(run: SimpleNamespace, x: torch.Tensor, y: torch.Tensor) -> None:
        schedule = schedules.setdefault(
            id(run), torch.optim.lr_scheduler.StepLR(run.opt, 4, gamma=0.5))
        body(run, x, y)
        schedule.step()
    return each


@case(1, 2)
def a_checkpoint_of_the_program_continues():
    """px.state_dict() within an epoch, right after opt.step(), through a file."""
    run = begin(local_batch=(1, 2))
    for _epoch in range(3):
        train_pass(run)
    expected = weights(run)
    px.close()

    run = begin(local_batch=(1, 2))
    train_pass(run)
    train_pass(run, updates=3)
    file = io.BytesIO()
    torch.save({"pollux": px.state_dict(), "model": run.core.state_dict(),
                "opt": run.opt.state_dict(), "schedule": run.schedule.state_dict()}, file)
    px.close()

    run = begin(local_batch=(1, 2))
    file.seek(0)
    state = torch.load(file)
    run.core.load_state_dict(state["model"])
    run.opt.load_state_dict(state["opt"])
    run.schedule.load_state_dict(state["schedule"])
    px.load_state_dict(state["pollux"])
    assert summed(train_pass(run)) == ROWS - 3 * BATCH
    assert px.metrics()["epoch"] == 1 and px.metrics()["progress"] == 12
    assert summed(train_pass(run)) == ROWS and train_pass(run) == 0
    for one, other in zip(weights(run), expected):
        assert torch.equal(one, other)


@case(1, 2)
def a_state_of_the_end_of_an_epoch_continues_with_the_next():
    for updates in (-1, 6):     # after the loop; in it, after the last opt.step()
        run = begin()
        train_pass(run, updates)
        state = px.state_dict()
        px.close()
        run = begin()
        px.load_state_dict(state)
        assert [summed(train_pass(run)) for _epoch in range(3)] == [ROWS, ROWS, 0]
        assert px.metrics()["progress"] == 18
        px.close()


@case(1, 2)
def a_state_has_the_measurements():
    run = begin(adapt=True, max_batch=16, local_batch=(1, 4))
    train_pass(run)
    state, metrics = px.state_dict(), px.metrics()
    px.close()
    begin(adapt=True, max_batch=16, local_batch=(1, 4))
    px.load_state_dict(state)
    assert px.session().status().progress == metrics["progress"] > 0
    px.session().advise()
    assert px.metrics()["noise_scale"] == metrics["noise_scale"] is not None
    state["format"] = 0
    try:
        px.load_state_dict(state)
        raise AssertionError("it was accepted")
    except RuntimeError as error:
        assert "another version" in str(error)


@case(1)
def a_loop_elsewhere_is_stopped_and_resumed():
    with tempfile.TemporaryDirectory() as folder:
        run = begin(checkpoint=folder)
        train_pass(run)
        try:
            for x, y in run.loader:
                os.kill(os.getpid(), signal.SIGTERM)
                body(run, x, y)
            raise AssertionError("it was not stopped")
        except SystemExit as end:
            assert end.code == px.STOPPED
        px.close()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        run = begin(checkpoint=folder)
        assert [train_pass(run) for _epoch in range(3)] == [ROWS - BATCH, ROWS, 0]
        px.close()
        assert train_pass(begin(checkpoint=folder)) == 0, "the end of training is saved"


@case(1)
def a_loop_may_end_early():
    """finish() saves; the next program continues with the next epoch."""
    with tempfile.TemporaryDirectory() as folder:
        run = begin(checkpoint=folder)
        train_pass(run, updates=2)
        run.loader.finish()
        run.loader.finish()
        assert train_pass(run) == 0
        px.close()
        assert train_pass(begin(checkpoint=folder)) == ROWS - 2 * BATCH


@case(1)
def a_loader_must_be_prepared():
    px.init()
    try:
        next(iter(px.loader(table(), 8)))
        raise AssertionError("it was iterated")
    except RuntimeError as error:
        assert "px.prepare" in str(error)


# ---- Loaders without batch_size -----------------------------------------------------------------


class Numbers(IterableDataset):
    """The rows of table(), divided among the replicas."""

    def __iter__(self) -> Iterator[Any]:
        rows = list(table())
        return iter(rows[px.rank()::px.replicas()])


class Pairs(Sampler):
    """Batches of two samples, from the end."""

    def __init__(self) -> None:
        pass

    def __iter__(self) -> Iterator[list[int]]:
        for first in range(ROWS - 2, -1, -2):
            yield [first, first + 1]


def rows_seen(loader: DataLoader, batch_size: Optional[int]) -> list[torch.Tensor]:
    """The first column of each micro-batch in an epoch."""
    px.init(adapt=False)
    run = make()
    run.model, _, elastic = px.prepare(run.model, run.opt, loader, batch_size=batch_size)
    seen = []
    for _epoch in px.epochs(1):
        for x, y in elastic:
            seen.append(x[:, 0])
            body(run, x, y)
    px.close()
    return seen


@case(1, 2)
def loaders_without_a_batch_size():
    column = table().tensors[0][:, 0]
    shuffled = BatchSampler(RandomSampler(range(ROWS)), 4, drop_last=True)
    for loader, expected in (
            (DataLoader(table(), batch_size=None), column),
            (DataLoader(table(), batch_sampler=Pairs()),
             column.view(-1, 2).flip(0).flatten()),
            (DataLoader(table(), batch_sampler=shuffled), None),
            (DataLoader(Numbers(), batch_size=None), None)):
        seen = rows_seen(loader, 8)
        assert len(seen[0]) == 8 // REPLICAS
        found = torch.cat(seen)
        if expected is not None and REPLICAS == 1:
            assert torch.equal(found, expected)
        share = -(-len(column) // REPLICAS) if expected is not None else 40 // REPLICAS
        assert len(found) >= share - 2, (len(found), loader)


class Shuffled(Sampler):
    """Batches of different sizes, in another order in each pass, of 40 samples in all."""

    def __init__(self) -> None:
        self.passes = 0

    def __iter__(self) -> Iterator[list[int]]:
        order = torch.randperm(40, generator=torch.Generator().manual_seed(self.passes)).tolist()
        self.passes += 1
        for size in range(1, 100):
            if order:
                yield order[:size]
            order = order[size:]


@case(1, 2)
def a_batch_sampler_has_a_length():
    """Hence epochs count progress, and schedules know their length.  No order is left out."""
    sampler = Shuffled()
    px.init()
    run = make()
    run.model, _, loader = px.prepare(
        run.model, run.opt, DataLoader(table(), batch_sampler=sampler), batch_size=8)
    assert len(loader) == 5 and px.session().pass_samples == 40
    for _epoch in px.epochs(2, by="progress"):
        for x, y in loader:
            body(run, x, y)
    assert px.metrics()["progress"] == 10
    assert sampler.passes == (2 if px.rank() == 0 else 0)


@case(1)
def a_batch_size_replaces_that_of_the_loader():
    assert [len(x) for x in rows_seen(DataLoader(table(), 4, drop_last=True), 8)] == 5 * [8]


@case(1)
def a_batch_size_must_be_said():
    for options, word in (({}, "px.prepare(batch_size=...)"), ({"batch_size": 0}, "at least 1"),
                          ({"batch_size": "8"}, "is not a number")):
        px.init()
        run = make()
        try:
            px.prepare(run.model, run.opt, DataLoader(table(), batch_size=None), **options)
            raise AssertionError("it was accepted")
        except (TypeError, ValueError) as error:
            assert word in str(error), error
        px.close()
