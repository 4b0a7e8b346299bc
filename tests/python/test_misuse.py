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


@pytest.mark.parametrize("options", [{}, {"batch_size": M0}])
def test_the_loader_of_the_program_is_named(options):
    made = given()
    model, optimizer, _elastic = prepared(made, **options)

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


@pytest.mark.parametrize("every, parts", [(2, 2), (3, 3), (2, 4), (2, 3), (4, 2)])
@pytest.mark.parametrize("scaled", [False, True])
def test_accumulation_is_noticed_if_updates_have_micro_steps(every, parts, scaled):
    model, optimizer, loader = prepared()
    scaler = torch.cuda.amp.GradScaler(enabled=False)
    px.session().agent.set_fixed(Batch(M0, parts - 1))

    def program():
        for _epoch in px.epochs(24):
            for number, (x,) in enumerate(loader):
                (model(x).mean() / every).backward()
                if (number + 1) % every == 0:
                    scaler.step(optimizer) if scaled else optimizer.step()  # as every-th
                    optimizer.zero_grad()
    (text, line), = warned(program)
    assert "remove your own gradient accumulation" in text
    assert line == "scaler.step(optimizer) if scaled else optimizer.step()  # as every-th"


@pytest.mark.parametrize("parts", [2, 3])
def test_accumulation_by_pollux_is_not_warned_of(parts):
    model, optimizer, loader = prepared()
    scaler = torch.cuda.amp.GradScaler(enabled=False)
    px.session().agent.set_fixed(Batch(M0, parts - 1))

    def guarded(x):
        model(x).mean().backward()
        if px.updating():
            optimizer.step()

    def scaled(x):
        scaler.scale(model(x).mean()).backward()
        scaler.step(optimizer)
        scaler.update()

    def by_closure(x):
        optimizer.step(lambda: model(x).mean().backward())

    def program():
        for step in (lambda x: train(model, optimizer, x), guarded, scaled, by_closure):
            for _epoch in px.epochs(px.session().epoch + 4):
                for (x,) in loader:
                    optimizer.zero_grad()
                    step(x)
    assert warned(program) == []


def test_asking_after_the_step_is_no_excuse_for_accumulation():
    model, optimizer, loader = prepared()
    px.session().agent.set_fixed(Batch(M0, 1))

    def program():
        for _epoch in px.epochs(4):
            for number, (x,) in enumerate(loader):
                model(x).mean().backward()
                if number % 2:
                    optimizer.step()
                px.updating()  # for an average of the weights
    assert len(warned(program)) == 1


@pytest.mark.parametrize("parts", [1, 2])
def test_batches_that_are_left_out_are_not_accumulation(parts):
    model, optimizer, loader = prepared()
    px.session().agent.set_fixed(Batch(M0, parts - 1))

    def program():
        for _epoch in px.epochs(4):
            for number, (x,) in enumerate(loader):
                loss = model(x).mean()
                if number % 2 == parts % 2:
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
    scheduler = lr_scheduler.LambdaLR(optimizer, lambda step: 1.0 / (1.0 + step))
    (text, line), = warned(lambda: with_gain(model, optimizer, scheduler, loader, epochs=8))
    assert "counts progress" in text and line == "scheduler.step()  # after every update"
    progress = px.metrics()["progress"]
    assert progress > px.session().number + 2  # otherwise the test shows nothing
    assert 8 * LENGTH // M0 - 1 <= scheduler.last_epoch <= 8 * LENGTH // M0


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


class Halving:
    """A scheduler that is not a class of torch."""

    def __init__(self, optimizer):
        self.optimizer, self.steps = optimizer, 0

    def step(self, steps=None):
        self.steps = self.steps + 1 if steps is None else steps
        self.optimizer.param_groups[0]["lr"] = 0.1 * 0.5 ** (self.steps / 10)

    def state_dict(self):
        return {"steps": self.steps}

    def load_state_dict(self, state):
        self.steps = state["steps"]


def test_rates_that_count_larger_updates_are_noticed():
    model, optimizer, loader = prepared()
    px.session().agent.set_fixed(Batch(2 * M0, 0))
    scheduler = Halving(optimizer)

    def program():
        for _epoch in px.epochs(4):
            for (x,) in loader:
                train(model, optimizer, x)
                scheduler.step()
    (text, line), = warned(program)
    assert "px.prepare(scheduler=...)" in text and line == "optimizer.step()"


def test_rates_that_count_micro_steps_are_noticed():
    model, optimizer, loader = prepared()
    px.session().agent.set_fixed(Batch(M0 // 2, 1))
    scheduler = Halving(optimizer)

    def program():
        for _epoch in px.epochs(2):
            for (x,) in loader:
                scheduler.step()
                train(model, optimizer, x)
    (text, line), = warned(program)
    assert "px.prepare(scheduler=...)" in text and line == "optimizer.step()"


def test_a_scheduler_of_torch_that_is_older_than_init_is_noticed_by_its_rates():
    made = given()
    scheduler = lr_scheduler.ExponentialLR(made[1], 0.99)
    model, optimizer, loader = prepared(made)
    (text, line), = warned(lambda: with_gain(model, optimizer, scheduler, loader))
    assert "px.prepare(scheduler=...)" in text and line == "optimizer.step()"


def test_a_given_scheduler_of_any_class_counts_progress():
    made = given()
    scheduler = Halving(made[1])
    model, optimizer, loader = prepared(made, scheduler=scheduler)
    assert warned(lambda: with_gain(model, optimizer, scheduler, loader, epochs=8)) == []
    assert px.metrics()["progress"] > px.session().number + 2
    assert 8 * LENGTH // M0 - 1 <= scheduler.steps <= 8 * LENGTH // M0


def test_rates_that_are_right_are_not_warned_of():
    model, optimizer, loader = prepared()
    scheduler = Halving(optimizer)

    def by_updates():
        for _epoch in px.epochs(2):
            for (x,) in loader:
                train(model, optimizer, x)
                if px.updating():
                    scheduler.step()

    def by_progress():
        for _epoch in px.epochs(6):
            for (x,) in loader:
                train(model, optimizer, x)
                scheduler.step(px.metrics()["progress"])

    def by_steps():
        batches = iter(loader)
        for step in px.steps(px.metrics()["progress"] + 40):
            scheduler.step(step)
            train(model, optimizer, *next(batches))

    def by_epochs():
        for _epoch in px.epochs(px.session().epoch + 6, by="passes"):
            for (x,) in loader:
                train(model, optimizer, x)
            scheduler.step()
    fix = px.session().agent.set_fixed
    for program, batch in ((by_updates, Batch(M0 // 2, 1)), (by_progress, Batch(2 * M0, 1)),
                           (by_steps, Batch(2 * M0, 1)), (by_epochs, Batch(LENGTH, 0))):
        fix(batch)
        assert warned(program) == [], program.__name__
        assert px.session().advice.gain > 1.0 or program is by_updates
