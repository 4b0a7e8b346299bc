# SPDX-License-Identifier: Apache-2.0
"""Checkpoints and stops: the cases of saving_cases.py with one replica in this process and with two
in their own processes; another number of replicas; stops of whole processes with workers."""
from __future__ import annotations

import json
import os
import random
import signal
import time

import pytest

torch = pytest.importorskip("torch")

import replicas  # noqa: E402
import saving_cases as cases  # noqa: E402
from case_runner import Skip, closed_session  # noqa: E402


@pytest.mark.parametrize("name", cases.CASES)
def test_one_replica(name, tmp_path):
    try:
        cases.CASES.run(name, tmp_path)
    except Skip as why:
        pytest.skip(str(why))


# ---- Two replicas, in their own processes --------------------------------------------------------


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """The output of two replicas that run all cases up to the first failure, their folder, and a
    program that one replica has trained half an epoch in it."""
    folder = tmp_path_factory.mktemp("saving")
    with closed_session():
        stopped = cases.stop_in_the_first_epoch(folder / "from one")
    return replicas.run(cases.__file__, 2, folder, timeout=300), folder, stopped


@pytest.mark.parametrize("name", cases.CASES)
def test_two_replicas(two, name):
    for output in two[0].outputs:
        lines = [line for line in output.splitlines() if line.startswith(f"ok {name}")]
        assert lines, output[output.find("\nnot ok") + 1:]
        if "# SKIP" in lines[0]:
            pytest.skip(lines[0].split("# SKIP ")[1])


def samples_by_epoch(*parts):
    """The samples of several replicas or generations, by epoch."""
    samples = {}
    for part in parts:
        for epoch, seen in part["samples"].items():
            samples.setdefault(epoch, []).extend(seen)
    return {epoch: sorted(seen) for epoch, seen in samples.items()}


def logs_of_two(folder, name):
    folder = folder / "another_number_of_replicas"
    return [json.loads((folder / f"{name}.{rank}").read_text()) for rank in (0, 1)]


@pytest.mark.parametrize("direction", ["from one to two", "from two to one"])
def test_training_resumes_with_another_number_of_replicas(two, direction):
    _ended, folder, stopped = two
    with closed_session():
        whole = cases.log_for_json(cases.trained(None, randomness=False))
        if direction == "from one to two":
            before, after = [cases.log_for_json(stopped)], logs_of_two(folder, "resumed")
        else:
            before = logs_of_two(folder, "stopped")
            resumed = cases.resume_to_the_end(folder / "another_number_of_replicas" / "stopped")
            after = [cases.log_for_json(resumed)]
    assert samples_by_epoch(*before, *after) == {
        str(epoch): list(range(cases.LENGTH)) for epoch in range(cases.EPOCHS)}
    assert after[0]["counts"] == whole["counts"]
    for epoch, sums in whole["evaluated"].items():
        assert after[0]["evaluated"][epoch]["count"] == sums["count"] == cases.LENGTH
        assert after[0]["evaluated"][epoch]["loss"] == pytest.approx(sums["loss"], rel=1e-4)


# ---- Whole processes, with workers ---------------------------------------------------------------


PROGRAM = """
import sys, time
import pollux.torch as px
import saving_cases as cases


class Slow(cases.Program):
    def prepare(self):
        super().prepare()
        self.model.register_forward_hook(lambda *_: time.sleep(0.01))
        print("prepared", flush=True)

    def train(self, epoch):
        try:
            super().train(epoch)
        finally:
            with open(f"{sys.argv[1]}/samples.{px.rank()}", "a") as file:
                print(epoch, *self.log.samples.pop(epoch, []), file=file)


Slow(sys.argv[1] + "/saved", randomness=False, workers=1, save_every=0.3).run()
"""


def test_stopped_processes_train_every_sample_once(tmp_path, soak):
    """The signal goes to the process group of one replica or of both, as polluxd sends it."""
    random.seed(11)
    stops = 0
    while stops < soak(1, 100):
        stops += train_with_stops(tmp_path / str(stops))


def train_with_stops(folder):
    """Train to the end.  Returns the number of stops, at most 2."""
    folder.mkdir()
    script = folder / "program.py"
    script.write_text(PROGRAM)
    path = os.pathsep.join([os.path.dirname(__file__), os.environ["PYTHONPATH"]])
    codes: list = []
    while not codes or codes[-1] == [143, 143]:
        with replicas.Replicas(script, 2, folder, environment={"PYTHONPATH": path}) as running:
            if len(codes) < 2:
                stop_at_a_random_time(running)
            ended = running.wait()
        codes.append(ended.codes)
    assert codes[-1] == [0, 0], "\n".join(ended.outputs)
    whole: dict = {}
    for rank in (0, 1):
        for line in (folder / f"samples.{rank}").read_text().splitlines():
            epoch, *seen = map(int, line.split())
            whole.setdefault(epoch, []).extend(seen)
    assert {epoch: sorted(seen) for epoch, seen in whole.items()} == {
        epoch: list(range(cases.LENGTH)) for epoch in range(cases.EPOCHS)}
    return len(codes) - 1


def stop_at_a_random_time(running):
    while not all("prepared" in running.output(rank) for rank in (0, 1)):
        if any(process.poll() is not None for process in running.processes):
            return  # the caller reports its output
        time.sleep(0.02)
    time.sleep(random.random() * 0.4)
    for rank in random.choice([(0,), (1,), (0, 1)]):
        os.killpg(running.processes[rank].pid, signal.SIGTERM)


LAST_TO_END = """
import atexit, time


def wait():
    print("ending", flush=True)
    time.sleep(1)


atexit.register(wait)  # the first that is registered runs last
import sys
import saving_cases as cases

cases.Program(sys.argv[1] + "/saved", randomness=False).run()
"""


def test_a_process_that_has_trained_ignores_a_stop(tmp_path):
    """polluxd may decide to stop a job in the moment in which it ends."""
    script = tmp_path / "program.py"
    script.write_text(LAST_TO_END)
    path = os.pathsep.join([os.path.dirname(__file__), os.environ["PYTHONPATH"]])
    with replicas.Replicas(script, 1, tmp_path, environment={"PYTHONPATH": path}) as running:
        running.wait_for(lambda output: "ending" in output)
        running.signal(signal.SIGTERM)
        running.wait().check()
