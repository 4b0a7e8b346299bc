# SPDX-License-Identifier: Apache-2.0
"""Programs that do something else than their authors expect are warned once, with the line to
change; correct programs are not."""
from __future__ import annotations

import math
import os
import signal
import warnings
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from torch.optim import lr_scheduler  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

import pollux.torch as px  # noqa: E402
from pollux.agent import Batch  # noqa: E402

M0, LENGTH = 8, 80


@pytest.fixture(autouse=True)
def closed():
    """Close the session after each test and restore the handler of SIGTERM."""
    handler = signal.getsignal(signal.SIGTERM)
    yield
    px.close()
    signal.signal(signal.SIGTERM, handler)


def given(**options):
    """A model, its optimizer and its loader."""
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    loader = DataLoader(TensorDataset(torch.randn(LENGTH, 4)), batch_size=M0, **options)
    return model, torch.optim.SGD(model.parameters(), lr=0.1), loader


def prepared(made=None, folder=None, adapt=True, **options):
    px.init(folder, adapt=adapt)
    return px.prepare(*(made or given()), max_batch=8 * M0, local_batch=(1, 8 * M0), **options)


def train(model, optimizer, x):
    optimizer.zero_grad()
    model(x).mean().backward()
    optimizer.step()


def warned(action):
    """The warnings of Pollux: pairs of the text and the line of this file that is named."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        action()
    ours = [each for each in found if str(each.message).startswith("pollux: ")]
    assert all(Path(each.filename) == Path(__file__) for each in ours), ours
    lines = Path(__file__).read_text().splitlines()
    return [(str(each.message), lines[each.lineno - 1].strip()) for each in ours]


def test_a_correct_program_is_not_warned():
    model, optimizer, loader = prepared()

    def program():
        for _epoch in px.epochs(3):
            for (x,) in loader:
                train(model, optimizer, x)
        for _pass in range(1):
            for (x,) in loader:
                train(model, optimizer, x)
    assert warned(program) == []


def test_the_loader_of_the_program_is_named():
    made = given()
    model, optimizer, _elastic = prepared(made)

    def program():
        for _epoch in range(3):
            for (x,) in made[2]:  # not the one that prepare has returned
                train(model, optimizer, x)
    (text, line), = warned(program)
    assert "the loader that px.prepare() has returned" in text
    assert line == "for (x,) in made[2]:  # not the one that prepare has returned"


def test_any_other_loader_is_noticed_at_the_step():
    model, optimizer, _elastic = prepared()

    def program():
        for _batch in range(5):
            model(torch.randn(M0, 4)).mean().backward()
            optimizer.step()  # of another loader
    (text, line), = warned(program)
    assert "the loader that px.prepare() has returned" in text
    assert line == "optimizer.step()  # of another loader"


def test_a_single_step_elsewhere_is_not_warned():
    made = given()
    model, optimizer, loader = prepared(made)

    def program():
        for (x,) in made[2]:  # for example to make the state of the optimizer
            train(model, optimizer, x)
            break
        for _epoch in px.epochs(1):
            for (x,) in loader:
                train(model, optimizer, x)
    assert warned(program) == []


@pytest.mark.parametrize("every", [2, 4])
def test_accumulation_of_the_program_is_noticed(every):
    model, optimizer, loader = prepared()
    px.session().agent.set_fixed(Batch(M0, 0))

    def program():
        for _epoch in px.epochs(6):
            for number, (x,) in enumerate(loader):
                (model(x).mean() / every).backward()
                if (number + 1) % every == 0:
                    optimizer.step()  # now and then
                    optimizer.zero_grad()
    (text, line), = warned(program)
    assert "remove your own gradient accumulation" in text
    assert line == "optimizer.step()  # now and then"


def test_batches_that_are_left_out_are_not_accumulation():
    model, optimizer, loader = prepared()

    def program():
        for _epoch in px.epochs(4):
            for number, (x,) in enumerate(loader):
                loss = model(x).mean()
                if number % 2:
                    continue  # before backward(): a batch that cannot be used
                optimizer.zero_grad()
                loss.backward()
                if number % 8:
                    optimizer.step()
    assert warned(program) == []


def test_a_loop_over_a_range_is_named():
    model, optimizer, loader = prepared()

    def one_epoch():
        for (x,) in loader:
            train(model, optimizer, x)

    def program():
        for _epoch in range(3):  # epochs

            one_epoch()
    (text, line), = warned(program)
    assert "px.epochs(n)" in text and line == "for _epoch in range(3):  # epochs"


def test_another_loop_without_px_epochs_is_noticed_at_the_loader():
    model, optimizer, loader = prepared()

    def program():
        epoch = 0
        while epoch < 3:
            for (x,) in loader:  # again
                train(model, optimizer, x)
            epoch += 1
    (text, line), = warned(program)
    assert "px.epochs(n)" in text and line == "for (x,) in loader:  # again"


# ---- Schedulers ---------------------------------------------------------------------------------


def with_gain(model, optimizer, scheduler, loader, epochs=4, each=lambda: None):
    """Train with batches whose gain exceeds 1, and step the scheduler after every update."""
    for epoch in px.epochs(epochs):
        for (x,) in loader:
            px.session().agent.set_fixed(Batch(2 * M0, 1))
            optimizer.zero_grad()
            (model(x).square() + model(x)).mean().backward()
            optimizer.step()
            scheduler.step()  # after every update
            each()


def test_a_scheduler_of_updates_is_put_on_the_progress_clock():
    made = given()
    model, optimizer, loader = prepared(made)
    scheduler = lr_scheduler.LambdaLR(optimizer, lambda step: 1.0 + step)
    (text, line), = warned(lambda: with_gain(model, optimizer, scheduler, loader))
    assert "counts progress" in text and line == "scheduler.step()  # after every update"
    progress = px.metrics()["progress"]
    assert progress > px.session().number + 2  # otherwise the test shows nothing
    assert 4 * LENGTH // M0 - 1 <= scheduler.last_epoch <= 4 * LENGTH // M0


def test_a_scheduler_of_schedulers_is_put_there_as_a_whole():
    made = given()
    model, optimizer, loader = prepared(made)
    parts = [lr_scheduler.LinearLR(optimizer, 0.1, total_iters=5),
             lr_scheduler.ExponentialLR(optimizer, 0.9)]
    scheduler = lr_scheduler.SequentialLR(optimizer, parts, milestones=[10])
    assert len(warned(lambda: with_gain(model, optimizer, scheduler, loader))) == 1
    assert abs(scheduler.last_epoch - 4 * LENGTH // M0) <= 1
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.1 * 0.9 ** parts[1].last_epoch)
    assert parts[1].last_epoch == scheduler.last_epoch - 10


def test_a_scheduler_with_an_end_does_not_exceed_it():
    made = given()
    model, optimizer, loader = prepared(made)
    scheduler = lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=4 * LENGTH // M0)
    assert len(warned(lambda: with_gain(model, optimizer, scheduler, loader))) == 1
    assert scheduler.last_epoch == 4 * LENGTH // M0


def test_schedulers_of_epochs_and_given_ones_are_not_warned_of():
    made = given()
    px.init()
    of_updates = lr_scheduler.ExponentialLR(made[1], 0.99)
    of_epochs = lr_scheduler.StepLR(made[1], 1)
    plateau = lr_scheduler.ReduceLROnPlateau(made[1])
    model, optimizer, loader = px.prepare(*made, scheduler=of_updates)

    def program():
        for _epoch in px.epochs(4):
            for (x,) in loader:
                train(model, optimizer, x)
                of_updates.step()
                plateau.step(1.0)
            of_epochs.step()
    assert warned(program) == []
    assert of_epochs.last_epoch == 4 and of_updates.last_epoch == 4 * LENGTH // M0


def test_without_adaptation_a_scheduler_counts_updates():
    model, optimizer, loader = prepared(adapt=False)
    scheduler = lr_scheduler.ExponentialLR(optimizer, 0.99)

    def program():
        for _epoch in px.epochs(2):
            for number, (x,) in enumerate(loader):
                train(model, optimizer, x * math.nan if number == 3 else x)
                scheduler.step()
    assert warned(program) == []
    assert scheduler.last_epoch == 2 * LENGTH // M0


def test_the_progress_clock_of_a_noticed_scheduler_is_saved(tmp_path):
    steps, texts = [], []

    def generation(stop):
        model, optimizer, loader = prepared(folder=tmp_path)
        scheduler = lr_scheduler.LambdaLR(optimizer, lambda step: 1.0 + step)

        def each():
            steps.append(scheduler.last_epoch)
            if len(steps) == stop:
                os.kill(os.getpid(), signal.SIGTERM)
        try:
            texts.append(warned(lambda: with_gain(model, optimizer, scheduler, loader, each=each)))
        except SystemExit as end:
            assert end.code == 143
        finally:
            px.close()
        return scheduler
    generation(60)
    scheduler = generation(0)
    assert abs(scheduler.last_epoch - 4 * LENGTH // M0) <= 1
    assert steps == sorted(steps) and max(b - a for a, b in zip(steps, steps[1:])) <= 4
    assert texts == [[]]  # it is known from the checkpoint
