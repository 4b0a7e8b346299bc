# SPDX-License-Identifier: Apache-2.0
"""The cases of test_saving.py: checkpoints and stops with any number of replicas.  Each function
case_NAME(folder) is one case; all replicas run it at the same time.  Stops are real signals.

    saving_cases.py FOLDER      runs all cases; prints `ok NAME` or `not ok NAME: why` for each
"""
from __future__ import annotations

import contextlib
import io
import json
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Callable, Optional

import torch
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader

import pollux.torch as px
from case_runner import Cases, Skip
from pollux.checkpoint import Checkpoint
from pollux.torch.saving import Saver
from saving_program import (ALL_RANKS, BATCH, EPOCHS, K, LENGTH, RANK, Noisy, Program, barrier,
                            bitwise_equal, check_same_training, checkpoint_numbers, random_ranks,
                            run_generation, trained)

SOAK = bool(os.environ.get("POLLUX_SOAK"))


# ---- Resumed equals uninterrupted ---------------------------------------------------------------


def case_a_stop_at_any_place_does_not_change_the_result(folder: Path) -> None:
    last = LENGTH // BATCH * BATCH
    places = {
        "in an epoch": {("train", 1, 24): ALL_RANKS},
        "after the backward pass": {("step", 1, 32): ALL_RANKS},
        "after that of one replica": {("step", 0, 24): (K - 1,)},
        "by one replica": {("train", 0, 16): (K - 1,)},
        "at the first update": {("train", 0, 0): (0,)},
        "at the end of an epoch": {("train", 0, last): ALL_RANKS},
        "at the end of training": {("train", EPOCHS - 1, last): ALL_RANKS},
        "in an evaluation": {("evaluate", 0): (0,)},
        "between epochs": {("between", 1): (0,)},
        "before the first epoch": {("start",): ALL_RANKS},
        "two signals at once": {("train", 1, 8, "twice"): ALL_RANKS},
    }
    places["all of these"] = {place: ranks for each in list(places.values())
                              for place, ranks in each.items()}
    for optimizer in ("sgd", "adamw"):
        whole = trained(None, optimizer=optimizer)
        for name, stop_at in places.items():
            if optimizer == "adamw" and name != "all of these":
                continue
            stopped = trained(folder / f"{optimizer} {name}", optimizer=optimizer, stop_at=stop_at)
            try:
                assert stopped.log.stops == len(stop_at), stopped.log.stops
                check_same_training(whole, stopped)
            except AssertionError as error:
                raise AssertionError(f"{optimizer}, {name}: {error}") from error


def case_stops_at_random_places_do_not_change_the_result(folder: Path) -> None:
    random.seed(7)  # equal in all replicas
    whole = trained(None)
    stops = 0
    while stops < (100 if SOAK else 10):
        stop_at: dict = {}
        for _stop in range(random.randint(1, 7)):
            epoch = random.randrange(EPOCHS)
            place = random.choice([
                ("train", epoch, random.randrange(0, LENGTH, BATCH)),
                ("train", epoch, random.randrange(0, LENGTH, BATCH), "twice"),
                ("evaluate", epoch), ("between", epoch)])
            stop_at[place] = random_ranks()
        stopped = trained(folder / str(stops), stop_at=stop_at)
        check_same_training(whole, stopped)
        assert stopped.log.stops > 0 or all(
            place[0] != "train" and place[1] == EPOCHS - 1 or ranks == (K - 1,)
            for place, ranks in stop_at.items()), stop_at
        stops += max(stopped.log.stops, 1)


def case_a_resumed_sampler_keeps_the_samples_it_drew(folder: Path) -> None:
    whole = trained(None, sampler=True)
    for place in (("train", 1, 24), ("evaluate", 0), ("between", 0)):
        stopped = trained(folder / str(place), sampler=True, stop_at={place: ALL_RANKS})
        assert stopped.log.stops == 1
        check_same_training(whole, stopped)


def case_a_stopped_evaluation_starts_again(folder: Path) -> None:
    stopped = trained(folder, stoppable=True, stop_at={("evaluate", 0): (K - 1,),
                                                       ("evaluate", 2): (0,)})
    assert stopped.log.stops == 2
    check_same_training(trained(None, stoppable=True), stopped)


def case_steps_resume_at_their_progress(folder: Path) -> None:
    def train(directory: Optional[Path], stops: tuple) -> tuple:
        steps: list[int] = []
        left = list(stops)
        while True:
            program = Program(directory)
            program.prepare()
            torch.manual_seed(RANK)
            try:
                data = iter(program.loader)
                for step in px.steps(17):
                    _index, x, y = next(data)
                    if left and step == left[0] and not px.session().accumulating:
                        del left[0]
                        os.kill(os.getpid(), signal.SIGTERM)
                    torch.nn.functional.mse_loss(program.model(x), y).backward()
                    program.optimizer.step()
                    program.optimizer.zero_grad()
                    program.scheduler.step()
                    steps.append(step)
                return steps, program.net.state_dict()
            except SystemExit as end:
                assert end.code == 143
            finally:
                px.close()
    whole, stopped = train(None, ()), train(folder, (3, 4, 11))
    assert whole[0] == stopped[0], (whole[0], stopped[0])
    assert bitwise_equal(whole[1], stopped[1])


# ---- Several checkpoints, and damaged ones ------------------------------------------------------


def case_one_generation_can_save_many_checkpoints(folder: Path) -> None:
    check_saves_often(Program(folder, scheduler=False), px.save)


def case_save_every_saves_periodically(folder: Path) -> None:
    check_saves_often(Program(folder, scheduler=False, save_every=0.0), lambda: None)


def check_saves_often(program: Program, ask: Callable[[], None]) -> None:
    """Train an epoch in which every checkpoint is written before the next update."""
    program.prepare()
    for _epoch in px.epochs(1):
        for _index, x, _y in program.loader:
            if RANK == 0:  # only the call of replica 0 has an effect
                px.session().saver.join()
                ask()
            program.model(x).square().mean().backward()
            program.optimizer.step()
            program.optimizer.zero_grad()
    px.close()
    found = checkpoint_numbers(program.folder)
    assert len(found) == 3 and found[-1] >= 6, found  # older ones are removed
    with Checkpoint.newest(program.folder)[0] as newest:
        assert newest.number == found[-1]


def case_a_damaged_checkpoint_is_skipped_with_a_message(folder: Path) -> None:
    whole = trained(None)

    def flip(newest: Path) -> None:
        data = bytearray((newest / "model.pt").read_bytes())
        data[len(data) // 2] ^= 1
        (newest / "model.pt").write_bytes(data)
    damages: dict[str, Callable[[Path], Any]] = {
        "one bit": flip,
        "truncated": lambda newest: os.truncate(newest / "extra.pt", 100),
        "missing file": lambda newest: (newest / "optimizer.pt").unlink(),
        "all": lambda newest: [flip(path) for path in newest.parent.glob("checkpoint-*")],
    }
    for name, damage in damages.items():
        directory = folder / name
        # Two checkpoints: one of the first epoch, one of the second.
        program = Program(directory, stop_at={("train", 0, 24): ALL_RANKS,
                                              ("train", 1, 24): ALL_RANKS})
        assert not run_generation(program)
        kept = {key: list(value) if isinstance(value, list) else dict(value)
                for key, value in vars(program.log).items() if key != "stops"}
        kept["samples"] = {epoch: list(seen) for epoch, seen in program.log.samples.items()}
        assert not run_generation(program)
        newest = directory / f"checkpoint-{checkpoint_numbers(directory)[-1]}"
        if RANK == 0:
            damage(newest)
        barrier()
        vars(program.log).update(kept)
        stderr = io.StringIO()
        with contextlib.redirect_stderr(stderr):
            if name == "all":
                try:
                    run_generation(program)
                    raise AssertionError("it restarted without its checkpoint")
                except RuntimeError as error:
                    assert "cannot resume" in str(error) and "checkpoint-" in str(error), error
                continue
            assert run_generation(program)
        check_same_training(whole, program)
        assert ("checkpoint-" in stderr.getvalue()) == (RANK == 0), stderr.getvalue()


# ---- Disks that fail ----------------------------------------------------------------------------


def case_an_unwritable_directory_fails_a_stop_but_not_training(folder: Path) -> None:
    check_unwritable(Path("/proc/none/saved"), "No such file")  # even root cannot make it
    (folder / "file").touch()
    try:
        run_generation(Program(folder / "file"))
        raise AssertionError("it started")
    except RuntimeError as error:
        assert "Not a directory" in str(error), error


def case_a_full_disk_fails_a_stop_but_not_training(folder: Path) -> None:
    if RANK == 0:
        (folder / "disk").mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "none",
                                  str(folder / "disk")], capture_output=True).returncode == 0
        (folder / "mounted").write_text(str(mounted))
    barrier()
    if (folder / "mounted").read_text() != "True":
        raise Skip("mounting a tmpfs is not permitted")
    try:
        check_unwritable(folder / "disk" / "saved", "")
    finally:
        barrier()
        if RANK == 0:
            subprocess.run(["umount", str(folder / "disk")], check=True)


def case_the_final_state_is_written_again_if_that_failed(folder: Path) -> None:
    """The checkpoint of the last update cannot be written in the background; at the end it can."""
    original = Saver._write

    def write(saver: Saver, *args: Any) -> bool:
        if threading.current_thread() is threading.main_thread():
            return original(saver, *args)
        return False
    counts = []
    for Saver._write in (write, original):
        program = Program(folder, save_every=0.0)
        program.prepare()
        data, count = iter(program.loader), 0
        for _step in px.steps(5):
            _index, x, y = next(data)
            px.session().saver.join()   # so that the next checkpoint is due
            torch.nn.functional.mse_loss(program.model(x), y).backward()
            program.optimizer.step()
            count += px.updating()
        counts.append(count)
        px.close()
    assert counts == [5, 0], counts


def check_unwritable(directory: Path, words: str) -> None:
    stderr = io.StringIO()
    with contextlib.redirect_stderr(stderr):
        done = trained(directory, save_every=0.0, epochs=2)
    assert len(done.log.losses) > 0
    lines = stderr.getvalue().splitlines()  # one during training, one at its end
    if RANK == 0:
        assert 1 <= len(lines) <= 2 and len(set(lines)) == 1, lines
        assert lines[0].startswith("pollux: no checkpoint") and words in lines[0], lines
    else:
        assert lines == []
    stderr = io.StringIO()
    with contextlib.redirect_stderr(stderr):
        program = Program(directory, stop_at={("train", 0, 24): (K - 1,)})
        try:
            program.run()
            raise AssertionError("the stop did not end it")
        except SystemExit as end:
            assert end.code == 1, end.code
        finally:
            px.close()
    assert stderr.getvalue().count("\n") == (RANK == 0), stderr.getvalue()


# ---- Old generations ----------------------------------------------------------------------------


class Replaced(Program):
    """Before its second epoch a newer generation of the job reads the newest checkpoint."""

    def train(self, epoch: int) -> None:
        if epoch == 1 and RANK == 0:
            px.session().saver.join()  # its thread reads the variable, too
            os.environ["POLLUX_GENERATION"] = "2"
            checkpoint, _note = Checkpoint.newest(self.folder)
            self.newest = checkpoint.number
            os.environ["POLLUX_GENERATION"] = "1"
        barrier()
        super().train(epoch)


def case_an_old_generation_ends_and_publishes_nothing(folder: Path) -> None:
    os.environ["POLLUX_GENERATION"] = "1"
    stderr = io.StringIO()
    program = Replaced(folder / "saved", save_every=0.0)
    try:
        with contextlib.redirect_stderr(stderr):
            program.run()
        raise AssertionError("it trained to its end")
    except SystemExit as end:
        assert end.code == 1, end.code
    finally:
        px.close()
        del os.environ["POLLUX_GENERATION"]
    if RANK == 0:
        assert "replaced by generation 2" in stderr.getvalue(), stderr.getvalue()
        assert Checkpoint.newest(folder / "saved")[0].number == program.newest
    barrier()


# ---- What is saved ------------------------------------------------------------------------------


class Tracked:
    """An object of the user that has a state."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def state_dict(self) -> dict:
        return {"value": self.value}

    def load_state_dict(self, state: dict) -> None:
        self.value = state["value"]


def case_training_does_not_change_a_checkpoint_being_written(folder: Path) -> None:
    program = Program(folder, randomness=False)
    program.prepare()
    tracked = px.track("mine", Tracked([1, [2.5, torch.zeros(3)]]))
    saver, written = px.session().saver, threading.Event()
    write = saver._write
    saver._write = lambda *args: written.wait(60) and write(*args)  # a slow disk
    states = []
    for _epoch in px.epochs(2):
        for _index, x, y in program.loader:
            torch.nn.functional.mse_loss(program.model(x), y).backward()
            program.optimizer.step()
            program.optimizer.zero_grad()
            if saver._writer is not None:  # copied, but not yet written
                tracked.value[1][0] = -1.0
                tracked.value[1][1] += 1
                program.net[0].weight.data.fill_(77.0)
            px.save()  # training does not wait for the disk
            states.append({name: each.clone() for name, each in program.net.state_dict().items()})
        written.set()
        saver.join()
        break
    barrier()
    with Checkpoint.newest(folder)[0] as newest:
        first = Path(newest.path).parent / "checkpoint-1"
    if RANK == 0:
        saved = dict(torch.load(first / "model.pt"))
        assert len(states) > 6
        assert any(bitwise_equal(saved, state) for state in states[:4])
        assert not bitwise_equal(saved, states[-1])
        found = torch.load(first / "extra.pt")["tracked"]["mine"]["value"]
        assert found[0] == 1 and found[1][0] == 2.5 and found[1][1].sum() == 0, found
    barrier()


def case_tracked_objects_are_saved_and_restored(folder: Path) -> None:
    def run(value: int, early: bool, late: bool, stop: bool) -> dict[str, int]:
        program = Program(folder, scheduler=False)
        program.prepare()
        things = {}
        if early:
            things["early"] = px.track("early", Tracked(value))
        try:
            for epoch in px.epochs(5):
                if late:
                    things["late"] = px.track("late", Tracked(value))
                    late = False
                for _index, x, _y in program.loader:
                    program.model(x).mean().backward()
                    program.optimizer.step()
                    program.optimizer.zero_grad()
                    if stop:
                        os.kill(os.getpid(), signal.SIGTERM)
                break
        except SystemExit:
            pass
        finally:
            px.close()
        return {name: thing.value for name, thing in things.items()}
    assert run(1, True, True, stop=True) == {"early": 1, "late": 1}
    # This generation saves without tracking "late"; the next one still restores it.
    assert run(2, True, False, stop=True) == {"early": 1}
    assert run(3, False, True, stop=True) == {"late": 1}
    assert run(4, True, True, stop=False) == {"early": 1, "late": 1}
    px.init()
    px.track("one", Tracked(1))
    for error, thing in ((TypeError, object()), (ValueError, Tracked(2))):
        try:
            px.track("one", thing)
            raise AssertionError(error)
        except error:
            pass


def case_tied_weights_are_saved_once(folder: Path) -> None:
    class Tied(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = torch.nn.Embedding(LENGTH, 600)
            self.out = torch.nn.Linear(600, LENGTH, bias=False)
            self.out.weight = self.embedding.weight
            self.register_buffer("both", torch.arange(10.0))
            self.register_buffer("upper", self.both[5:])

        def forward(self, index: torch.Tensor) -> torch.Tensor:
            return self.out(self.embedding(index))

    def train(stop: bool) -> torch.Tensor:
        px.init(folder, adapt=False)
        torch.manual_seed(2)
        model = Tied()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        ddp, _, loader = px.prepare(model, optimizer, DataLoader(Noisy(), batch_size=26))
        for _epoch in px.epochs(1):
            for index, _x, _y in loader:
                torch.nn.functional.cross_entropy(ddp(index), index).backward()
                optimizer.step()
                optimizer.zero_grad()
                if stop:
                    os.kill(os.getpid(), signal.SIGTERM)
        return model
    with contextlib.suppress(SystemExit):
        train(stop=True)
    px.close()
    with Checkpoint.newest(folder)[0] as newest:
        size = os.path.getsize(Path(newest.path) / "model.pt")
        saved = torch.load(Path(newest.path) / "model.pt")
    assert 4 * 600 * LENGTH < size < 1.5 * 4 * 600 * LENGTH, size
    assert torch.equal(saved["upper"], torch.arange(5.0, 10.0))
    model = train(stop=False)
    assert model.out.weight is model.embedding.weight
    assert torch.equal(model.upper, torch.arange(5.0, 10.0))


class PlainPickle:
    """For torch.load: allows what weights_only=True allows, also floats (torch 1.13 does not)."""

    load, loads = pickle.load, pickle.loads

    class Unpickler(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            assert (module, name) == ("collections", "OrderedDict") \
                or module.startswith("torch") and ("Storage" in name or "_rebuild" in name), name
            return super().find_class(module, name)


def load_plain(path: Path) -> Any:
    """Load a file; fails if it has anything but plain types and tensors."""
    return torch.load(path, pickle_module=PlainPickle)


def case_checkpoint_files_hold_plain_types(folder: Path) -> None:
    import numpy
    program = Program(folder, stop_at={("train", 0, 24): ALL_RANKS})
    plateau = None

    def prepare() -> None:
        nonlocal plateau
        Program.prepare(program)
        plateau = lr_scheduler.ReduceLROnPlateau(program.optimizer)
        plateau.step(numpy.float64(3.0))
        px.track("counts", Tracked({"a": (1, True, None, "b", 2.5, numpy.float32(1.0).item())}))
    program.prepare = prepare  # type: ignore[method-assign]
    assert not run_generation(program)
    with Checkpoint.newest(folder)[0] as newest:
        assert set(os.listdir(newest.path)) == {"model.pt", "optimizer.pt", "extra.pt",
                                                "pollux-agent", "MANIFEST"}
        loaded = {name: load_plain(Path(newest.path) / name)
                  for name in ("model.pt", "optimizer.pt", "extra.pt")}
    fresh = torch.nn.Sequential(*program.net)  # as a user without Pollux does it
    fresh.load_state_dict(loaded["model.pt"])
    torch.optim.SGD(fresh.parameters(), lr=1.0).load_state_dict(loaded["optimizer.pt"])
    assert loaded["extra.pt"]["schedulers"][-1]["best"] == 3.0


def case_every_scheduler_resumes(folder: Path) -> None:
    makers: dict[str, Callable[[Any], Any]] = {
        "step": lambda o: lr_scheduler.StepLR(o, 3),
        "several": lambda o: lr_scheduler.MultiStepLR(o, [2, 5, 9]),
        "exponential": lambda o: lr_scheduler.ExponentialLR(o, 0.9),
        "cosine": lambda o: lr_scheduler.CosineAnnealingLR(o, 20),
        "restarts": lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 4),
        "lambda": lambda o: lr_scheduler.LambdaLR(o, lambda step: 1 / (1 + step)),
        "one cycle": lambda o: lr_scheduler.OneCycleLR(o, 0.1, total_steps=100),
        "cyclic": lambda o: lr_scheduler.CyclicLR(o, 0.01, 0.1, step_size_up=3),
        "sequence": lambda o: lr_scheduler.SequentialLR(o, [
            lr_scheduler.LinearLR(o, 0.1, total_iters=4), lr_scheduler.MultiStepLR(o, [5, 7])],
            milestones=[4]),
        "chain": lambda o: lr_scheduler.ChainedScheduler([
            lr_scheduler.ConstantLR(o, 0.5, 5), lr_scheduler.ExponentialLR(o, 0.9)]),
    }

    def train(directory: Optional[Path], make: Callable, stop: int) -> tuple:
        rates = []
        while True:
            program = Program(directory, scheduler=False, randomness=False)
            program.prepare()
            scheduler = make(program.optimizer)
            try:
                for _epoch in px.epochs(2):
                    for _index, x, _y in program.loader:
                        program.model(x).mean().backward()
                        program.optimizer.step()
                        program.optimizer.zero_grad()
                        if px.session().accumulating:
                            continue
                        scheduler.step()
                        rates.append(program.optimizer.param_groups[0]["lr"])
                        if len(rates) == stop:
                            os.kill(os.getpid(), signal.SIGTERM)
                return rates, scheduler
            except SystemExit:
                if RANK == 0:
                    with Checkpoint.newest(directory)[0] as newest:
                        load_plain(Path(newest.path) / "extra.pt")
            finally:
                px.close()
    for name, make in makers.items():
        whole, fresh = train(None, make, 0)
        stopped, resumed = train(folder / name, make, 6)
        assert whole == stopped, (name, whole, stopped)
        types = {key: type(value) for key, value in vars(fresh).items()}
        assert types == {key: type(value) for key, value in vars(resumed).items()}, name


def case_another_number_of_schedulers_is_refused(folder: Path) -> None:
    assert not run_generation(Program(folder, stop_at={("train", 0, 8): ALL_RANKS}))
    try:
        run_generation(Program(folder, scheduler=False))
        raise AssertionError("it resumed without its scheduler")
    except RuntimeError as error:
        assert "1 schedulers and the program 0" in str(error), error


def case_a_scaler_is_saved(folder: Path) -> None:
    class Scaler(Tracked):
        def is_enabled(self) -> bool:
            return True

        def get_scale(self) -> float:
            return 1.0
    found = []
    for value in (128.0, 1.0):
        px.init(folder, adapt=False)
        net = torch.nn.Linear(6, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        scaler = Scaler(value)
        model, _, loader = px.prepare(net, optimizer, DataLoader(Noisy(), batch_size=26),
                                      scaler=scaler)
        with contextlib.suppress(SystemExit):
            for _epoch in px.epochs(1):
                found.append(scaler.value)
                for _index, x, _y in loader:
                    model(x).mean().backward()
                    optimizer.step()
                    os.kill(os.getpid(), signal.SIGTERM)
        px.close()
    assert found == [128.0, 128.0]


# ---- The end ------------------------------------------------------------------------------------


def case_finished_training_does_nothing_when_run_again(folder: Path) -> None:
    whole = trained(folder)
    saved = checkpoint_numbers(folder)
    again = trained(folder)
    assert again.log.losses == [] and again.log.sums == {}
    assert bitwise_equal(whole.net.state_dict(), again.net.state_dict())
    assert checkpoint_numbers(folder) == saved
    longer = Program(folder, epochs=EPOCHS + 1, stop_at={("train", EPOCHS, 0): ALL_RANKS})
    assert not run_generation(longer)  # one more epoch to train
    assert list(longer.log.samples) == [EPOCHS]


def case_accumulators_made_before_the_loop_last_until_its_end(folder: Path) -> None:
    def train(stops: dict) -> dict:
        program = Program(folder, stop_at=stops)
        counts: list = []

        def prepare() -> None:
            Program.prepare(program)
            counts.append(px.Accumulator("all"))

        def evaluate(epoch: int) -> None:
            counts[-1].add(epochs=1)
            counts.append(px.Accumulator("made in an epoch"))
            counts[-1].add(late=1)
            counts.pop()
        program.prepare, program.evaluate = prepare, evaluate  # type: ignore[method-assign]
        totals = {}
        while not totals:
            try:
                program.run()
                totals = counts[-1].totals()
            except SystemExit:
                program.log.stops += 1
            finally:
                px.close()
        assert program.log.stops == len(stops)
        return totals
    assert train({("train", 1, 8): ALL_RANKS, ("train", 2, 8): ALL_RANKS}) == {"epochs": 3.0 * K}


# ---- With another number of replicas ------------------------------------------------------------


def stop_in_the_first_epoch(folder: Path) -> Program:
    """Train half an epoch and stop, so that another number of replicas can resume."""
    program = Program(folder, randomness=False, stop_at={("train", 0, 24): ALL_RANKS})
    assert not run_generation(program)
    return program


def resume_to_the_end(folder: Path) -> Program:
    program = Program(folder, randomness=False)
    assert run_generation(program)
    return program


def log_for_json(program: Program) -> dict[str, Any]:
    """The log of this replica as JSON types."""
    return {"samples": {str(epoch): seen for epoch, seen in program.log.samples.items()},
            "losses": program.log.losses,
            "counts": {str(epoch): sums["count"] for epoch, sums in program.log.sums.items()},
            "evaluated": {str(epoch): sums for epoch, sums in program.log.evaluated.items()}}


def case_another_number_of_replicas(folder: Path) -> None:
    """test_saving.py has made "from one" and reads the files that are written here."""
    if K == 1:
        return
    programs = {"stopped": stop_in_the_first_epoch(folder / "stopped"), "resumed": None}
    if (folder.parent / "from one").exists():
        programs["resumed"] = resume_to_the_end(folder.parent / "from one")
    for name, program in programs.items():
        if program is not None:
            (folder / f"{name}.{RANK}").write_text(json.dumps(log_for_json(program)))


# ---- Running them -------------------------------------------------------------------------------


CASES = Cases(globals())


if __name__ == "__main__":
    CASES.run_all(Path(sys.argv[1]))
