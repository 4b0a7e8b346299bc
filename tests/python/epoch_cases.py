# SPDX-License-Identifier: Apache-2.0
"""The cases of test_epochs.py: epochs that are counted by progress, with any number of replicas.
Each function case_NAME(folder) is one case; all replicas run it at the same time.

    epoch_cases.py FOLDER               runs all cases; prints `ok NAME` or `not ok NAME: why`
    epoch_cases.py FOLDER UPDATES       one generation of a training that stops after so many
                                        updates (0: at its end); FOLDER/seen.RANK says what it saw
"""
from __future__ import annotations

import contextlib
import io
import json
import math
import os
import random
import signal
import sys
from pathlib import Path
from typing import Any, Callable, Optional

import torch
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader

import pollux.torch as px
from case_runner import Cases
from data_cases import (K, RANK, Numbers, Stream, Training, check_samples, of_all_replicas, raises,
                        weight)
from pollux.agent import Batch

M0, LENGTH, EPOCHS = 8, 203, 5
PER_EPOCH = 26      # LENGTH / M0, rounded up


class NoisyTraining(Training):
    """The noise scale of its gradients is many times M0, so that gains exceed 1."""

    def step(self, x: torch.Tensor) -> None:
        super().step(x - LENGTH // 2 + 5)


def training(folder: Any = None, length: int = LENGTH, **options: Any) -> Training:
    """Its batch adapts, up to 8 M0."""
    return NoisyTraining(DataLoader(Numbers(length), batch_size=M0, shuffle=True), folder,
                         adapt=True, max_batch=8 * M0, local_batch=(1, 8 * M0), **options)


def training_with_m0() -> Training:
    """Its batch could adapt, and does not."""
    it = training()
    px.session().agent.set_fixed(Batch(M0 // K, 0))
    return it


class Seen:
    """What a training has seen: samples by pass, and for each epoch its updates: the progress
    before and after each."""

    def __init__(self) -> None:
        self.passes: dict[int, list[int]] = {}
        self.epochs: dict[int, list[tuple[float, float]]] = {}

    def update(self, it: Training, epoch: int, x: torch.Tensor,
               change: Callable[[], None] = lambda: None) -> bool:
        """Train with a micro-batch.  Returns whether it was the last one of an update."""
        session = px.session()
        if weight() > 0:
            self.passes.setdefault(session.position.number, []).extend(x.tolist())
        last, before = not session.accumulating, session.progress
        change()
        it.step(x)
        if last:
            self.epochs.setdefault(epoch, []).append((before, session.progress))
        return last

    def gains(self) -> list[float]:
        return [after - before for updates in self.epochs.values() for before, after in updates]


def change_batch() -> None:
    """Now and then another batch, the same on all replicas.  Their micro-gradients are evidence of
    the noise."""
    if random.random() < 0.2:
        px.session().agent.set_fixed(Batch(random.choice((M0, 2 * M0)) // K, random.choice((1, 3))))


def check_epochs(seen: Seen, epochs: int = EPOCHS, per_epoch: int = PER_EPOCH) -> None:
    """Each epoch ends with the first update that reaches its share of the progress."""
    assert sorted(seen.epochs) == list(range(epochs)), sorted(seen.epochs)
    for epoch, updates in seen.epochs.items():
        end = (epoch + 1) * per_epoch
        assert updates[-1][0] < end - 1e-6 and updates[-1][1] > end - 1e-6, (epoch, updates[-1])


def check_passes(passes: dict[int, list[int]], length: int = LENGTH) -> None:
    """Every sample once in each pass; the last one may be incomplete."""
    numbers = sorted(passes)
    assert numbers == list(range(len(numbers))), numbers
    for number in numbers:
        of_pass = passes[number]
        if number < numbers[-1]:
            check_samples(range(length), of_pass)
        else:
            assert len(set(of_pass)) == len(of_pass)


def samples_of_all(seen: Seen) -> dict[int, list[int]]:
    return {number: of_all_replicas([samples]) for number, samples in sorted(seen.passes.items())}


# ---- Where epochs end ---------------------------------------------------------------------------


def case_epochs_end_where_they_would_with_m0(_folder: Path) -> None:
    random.seed(3)
    it, seen = training(), Seen()
    for epoch in px.epochs(EPOCHS):
        assert px.session().status().total == EPOCHS * PER_EPOCH
        for x in it.loader:
            seen.update(it, epoch, x, change_batch)
    check_epochs(seen)
    assert max(seen.gains()) > 1.2, max(seen.gains())
    passes = samples_of_all(seen)
    check_passes(passes)
    # Larger batches need more samples for the same progress.
    assert len(passes) > EPOCHS
    assert px.session().status().total == EPOCHS * PER_EPOCH


def case_with_m0_an_epoch_is_a_pass(_folder: Path) -> None:
    for drop_last, length, promised in ((False, LENGTH, 26), (True, LENGTH, 25), (False, 5, 1),
                                        (True, 5, 0)):
        loader = DataLoader(Numbers(length), batch_size=M0, drop_last=drop_last)
        it = Training(loader, adapt=True, local_batch=(1, M0 // K))
        assert len(it.loader) == promised
        for epoch in px.epochs(2):
            taken, begun = of_all_replicas(it.one_pass()), px.metrics()["progress"]
            check_samples(range(length - drop_last * length % M0), taken)
            assert begun == (epoch + 1) * promised
        px.close()


def case_by_passes_an_epoch_is_a_pass(_folder: Path) -> None:
    it = training()
    px.session().agent.set_fixed(Batch(2 * M0 // K, 1))
    for _epoch in px.epochs(3, by="passes"):
        check_samples(range(LENGTH), of_all_replicas(it.one_pass()))
    px.close()
    loader = DataLoader(Numbers(LENGTH), batch_size=M0)
    it = Training(loader, adapt=False)  # nothing adapts: an epoch is a pass in any case
    for epoch in px.epochs(2):
        samples: list = []
        for number, x in enumerate(it.loader):
            if weight() > 0:
                samples.append(x.tolist())
            if epoch == 0 and number < 3:
                x = x * math.nan  # a skipped update makes no progress
            it.step(x)
        check_samples(range(LENGTH), of_all_replicas(samples))
    px.close()
    it = Training(DataLoader(Stream(23), batch_size=4 * K), adapt=True)  # it has no length
    for _epoch in px.epochs(2):
        assert len(of_all_replicas(it.one_pass())) == 23 * K
    raises(ValueError, "px.steps()", lambda: next(px.epochs(2, by="progress")))


def case_an_epoch_left_early_does_not_lengthen_the_next(_folder: Path) -> None:
    it, seen = training_with_m0(), Seen()
    for epoch in px.epochs(3):
        for x in it.loader:
            if seen.update(it, epoch, x) and epoch == 1 and len(seen.epochs[1]) == 10:
                break
    assert [len(updates) for updates in seen.epochs.values()] == [PER_EPOCH, 10, PER_EPOCH]
    check_passes(samples_of_all(seen))  # the data goes on after the samples that were trained


def case_two_iterations_in_an_epoch_have_its_progress_each(_folder: Path) -> None:
    it, seen = training_with_m0(), Seen()
    for _epoch in px.epochs(2):
        for _time in range(2):
            before = px.session().progress
            for x in it.loader:
                seen.update(it, 0, x)
            assert px.session().progress == before + PER_EPOCH
    check_passes(samples_of_all(seen))
    assert px.session().progress == 4 * PER_EPOCH


def case_skipped_updates_do_not_extend_an_epoch_for_ever(_folder: Path) -> None:
    it, updates = training_with_m0(), []
    for _epoch in px.epochs(2):
        updates.append(0)
        for x in it.loader:
            updates[-1] += not px.session().accumulating
            it.step(x * math.nan)
    assert updates == [PER_EPOCH, PER_EPOCH] and px.metrics()["progress"] == 0
    px.close()
    it, updates = training_with_m0(), []
    for _epoch in px.epochs(2):
        updates.append(0)
        for x in it.loader:
            number = updates[-1]
            updates[-1] += not px.session().accumulating
            it.step(x * math.nan if number < 3 else x)
    assert updates == [PER_EPOCH + 3] * 2 and px.metrics()["progress"] == 2 * PER_EPOCH


def case_another_loop_is_not_changed_by_an_earlier_one(_folder: Path) -> None:
    it = training()
    left = px.epochs(3)
    next(left)
    next(iter(it.loader))
    for _epoch in px.epochs(1, by="passes"):
        left.close()
        check_samples(range(LENGTH), of_all_replicas(it.one_pass()))
    check_samples(range(LENGTH), of_all_replicas(it.one_pass()))  # in no loop: a pass


# ---- What follows the clock ---------------------------------------------------------------------


def case_schedulers_end_where_they_would_with_m0(_folder: Path) -> None:
    def with_schedules(prepare: Callable[[torch.optim.Optimizer, Any], Any]) -> list[float]:
        """The rate after each epoch: a cosine by updates times a decay by epochs."""
        one = torch.nn.Linear(1, 1)
        optimizer = torch.optim.SGD(one.parameters(), lr=1e-6)
        by_update = lr_scheduler.LambdaLR(
            optimizer, lambda step: 1 + math.cos(math.pi * step / (EPOCHS * PER_EPOCH)))
        return prepare(optimizer, by_update)

    def plain(optimizer: torch.optim.Optimizer, by_update: Any) -> list[float]:
        rates = []
        for _epoch in range(EPOCHS):
            for _update in range(PER_EPOCH):
                optimizer.step()
                by_update.step()
            rates.append(optimizer.param_groups[0]["lr"])
        return rates

    def adaptive(optimizer: torch.optim.Optimizer, by_update: Any) -> list[float]:
        random.seed(4)
        px.init()
        model = torch.nn.Linear(1, 1)
        optimizer.param_groups[0]["params"] = list(model.parameters())
        loader = DataLoader(Numbers(LENGTH), batch_size=M0, shuffle=True)
        model, _, loader = px.prepare(model, optimizer, loader, max_batch=8 * M0,
                                      local_batch=(1, 8 * M0), scheduler=by_update)
        rates = []
        for _epoch in px.epochs(EPOCHS):
            for x in loader:
                change_batch()
                model((x - LENGTH // 2 + 5).float().reshape(-1, 1)).mean().backward()
                optimizer.step()
                optimizer.zero_grad()
                by_update.step()
            rates.append(optimizer.param_groups[0]["lr"])
        assert px.metrics()["progress"] > EPOCHS * PER_EPOCH - 1e-6
        return rates
    expected, rates = with_schedules(plain), with_schedules(adaptive)
    assert len(rates) == EPOCHS
    largest = 8e-6 * math.pi / (EPOCHS * PER_EPOCH)  # what the last update of an epoch may exceed
    assert all(abs(a - b) < largest for a, b in zip(expected, rates)), (expected, rates)
    assert rates[-1] == expected[-1] == 0.0, (expected, rates)


def case_len_is_the_number_of_iterations_of_an_epoch(_folder: Path) -> None:
    it = training()
    px.session().agent.set_fixed(Batch(2 * M0 // K, 1))
    iterations = []
    for _epoch in px.epochs(6):
        promised = len(it.loader)
        iterations.append((promised, len(it.one_pass())))
    assert iterations[0][0] == 2 * PER_EPOCH  # the noise is unknown: an update counts as one
    promised, made = iterations[-1]
    assert made < PER_EPOCH and abs(promised - made) <= 0.2 * made + 2, iterations


def case_metrics_at_the_end_of_a_pass_are_not_those_of_the_short_update(_folder: Path) -> None:
    it = training()
    px.session().agent.set_fixed(Batch(2 * M0 // K, 1))
    for _epoch in px.epochs(6, by="passes"):
        assert px.metrics()["epoch"] == 0 or px.metrics()["gain"] > 0
        it.one_pass()
    assert px.session().samples == LENGTH % (4 * M0) < 4 * M0
    metrics = px.metrics()
    assert metrics["batch"] == 4 * M0 and metrics["gain"] > 1.2, metrics
    assert metrics["lr_factor"] == [metrics["gain"]], metrics


# ---- Checkpoints --------------------------------------------------------------------------------


class Generations:
    """A training that is stopped after some updates, and resumed.  All of it is in `seen`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.seen, self.updates, self.stops = folder, Seen(), 0, 0

    def run(self, stop: int, epochs: int = EPOCHS, length: int = LENGTH,
            by: Optional[str] = None) -> bool:
        """One generation, which stops after so many updates.  Returns whether it has ended."""
        it = training(self.folder, length)
        try:
            for epoch in px.epochs(epochs, by):
                for x in it.loader:
                    if self.seen.update(it, epoch, x, change_batch):
                        self.updates += 1
                        if self.updates == stop:
                            os.kill(os.getpid(), signal.SIGTERM)
            return True
        except SystemExit as end:
            assert end.code == 143, end.code
            self.stops += 1
            return False
        finally:
            px.close()


def case_stops_do_not_change_where_epochs_end(folder: Path) -> None:
    random.seed(8)
    # in epochs and passes, at the end of a pass and of an epoch, twice in one
    for stops in ((1, 40, 41, 70), (PER_EPOCH, 2 * PER_EPOCH), (13, 60)):
        it = Generations(folder / str(stops))
        for stop in stops:
            it.run(stop)
        assert it.run(0) and it.stops >= 2
        check_epochs(it.seen)
        px.init()
        check_passes(samples_of_all(it.seen))
        px.close()


def case_finished_training_can_be_continued(folder: Path) -> None:
    random.seed(9)
    it = Generations(folder)
    assert it.run(0, epochs=2)
    updates = it.updates
    assert it.run(0, epochs=2) and it.updates == updates  # nothing is left to do
    assert it.run(0, epochs=4)
    check_epochs(it.seen, 4)
    px.init()
    check_passes(samples_of_all(it.seen))


def case_other_data_begins_a_pass_again(folder: Path) -> None:
    for stop in (30, 60):
        stderr, it = io.StringIO(), Generations(folder / str(stop))
        with contextlib.redirect_stderr(stderr):
            assert not it.run(stop)
            number = max(it.seen.passes)
            it.seen = Seen()
            assert it.run(0, length=LENGTH + 9)
        px.init()
        check_samples(range(LENGTH + 9), samples_of_all(it.seen)[number])
        px.close()
        assert ("the pass over the data starts again" in stderr.getvalue()) == (RANK == 0)


def case_an_old_checkpoint_goes_on_by_passes(folder: Path) -> None:
    """A checkpoint of the time when epochs were passes does not say how they are counted."""
    random.seed(10)
    extra = px.saving.Saver._extra
    texts, it = [], Generations(folder)

    def generation(stop: int, **options: Any) -> bool:
        stderr = io.StringIO()
        with contextlib.redirect_stderr(stderr):
            ended = it.run(stop, **options)
        texts.append(stderr.getvalue())
        return ended
    px.saving.Saver._extra = lambda *args: {  # type: ignore[method-assign]
        name: part for name, part in extra(*args).items() if name != "epochs"}
    try:
        assert not generation(10, by="passes")
    finally:
        px.saving.Saver._extra = extra  # type: ignore[method-assign]
    assert not generation(14)
    assert generation(0)
    px.init()
    passes = samples_of_all(it.seen)
    px.close()
    assert len(passes) == EPOCHS
    for samples in passes.values():
        check_samples(range(LENGTH), samples)
    assert [text.count("epochs stay passes") for text in texts] == [0, int(RANK == 0), 0], texts
    assert generation(0, epochs=EPOCHS + 3) and "stay passes" not in texts[-1]
    progress = [updates[-1][1] for updates in it.seen.epochs.values()]
    assert all(PER_EPOCH - 8 < after - before < PER_EPOCH + 8
               for before, after in zip(progress[EPOCHS - 1:], progress[EPOCHS:])), progress


# ---- Running them -------------------------------------------------------------------------------


CASES = Cases(globals())


def one_generation(folder: Path, updates: int) -> None:
    random.seed(updates)  # equal in all replicas
    it = Generations(folder / "saved")
    it.run(updates)
    with open(folder / f"seen.{RANK}", "a", encoding="utf-8") as file:
        print(json.dumps({"passes": it.seen.passes, "epochs": it.seen.epochs}), file=file)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        one_generation(Path(sys.argv[1]), int(sys.argv[2]))
    else:
        CASES.run_all(Path(sys.argv[1]))
