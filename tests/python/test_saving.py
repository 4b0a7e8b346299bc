# SPDX-License-Identifier: Apache-2.0
"""Checkpoints and stops: with one replica in this process and with two in others
(saving_cases.py), from one number of replicas to another, and of whole processes."""
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


@pytest.mark.parametrize("name", cases.CASES)
def test_one_replica(name, tmp_path):
    try:
        cases.run(name, tmp_path)
    except cases.Skip as why:
        pytest.skip(str(why))


# ---- Two replicas, in processes of their own -----------------------------------------------------


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """What two replicas say of all cases, and the folder where they have left their checkpoints;
    they stop at the first that fails."""
    folder = tmp_path_factory.mktemp("saving")
    with cases.handlers():
        begun = cases.begin_for_others(folder / "from one")
    return replicas.run(cases.__file__, 2, folder, timeout=300), folder, begun


@pytest.mark.parametrize("name", cases.CASES)
def test_two_replicas(two, name):
    for output in two[0].outputs:
        lines = [line for line in output.splitlines() if line.startswith(f"ok {name}")]
        assert lines, output[output.find("\nnot ok") + 1:]
        if "# SKIP" in lines[0]:
            pytest.skip(lines[0].split("# SKIP ")[1])


def together(*parts):
    """Samples that several replicas, or generations, have seen, by epoch."""
    samples = {}
    for part in parts:
        for epoch, seen in part["samples"].items():
            samples.setdefault(epoch, []).extend(seen)
    return {epoch: sorted(seen) for epoch, seen in samples.items()}


def of_two(folder, name):
    return [json.loads((folder / "for_others" / f"{name}.{rank}").read_text()) for rank in (0, 1)]


@pytest.mark.parametrize("direction", ["from one to two", "from two to one"])
def test_training_goes_on_with_other_replicas(two, direction):
    _ended, folder, begun = two
    with cases.handlers():
        whole = cases.result(cases.trained(None, chance=False))
        if direction == "from one to two":
            before, after = [cases.result(begun)], of_two(folder, "ended")
        else:
            before = of_two(folder, "begun")
            after = [cases.result(cases.go_on_for_others(folder / "for_others" / "begun"))]
    assert together(*before, *after) == {str(epoch): list(range(cases.LENGTH))
                                         for epoch in range(cases.EPOCHS)}
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
        print("begun", flush=True)

    def train(self, epoch):
        try:
            super().train(epoch)
        finally:
            with open(f"{sys.argv[1]}/samples.{px.rank()}", "a") as file:
                print(epoch, *self.log.samples.pop(epoch, []), file=file)


Slow(sys.argv[1] + "/saved", chance=False, workers=1, save_every=0.3).run()
"""


def test_processes_are_stopped_at_any_time_and_lose_nothing(tmp_path, soak):
    """The signal goes to all processes of a replica, as polluxd's; to one replica or both."""
    random.seed(11)
    stops = 0
    while stops < soak(1, 100):
        stops += stopped_training(tmp_path / str(stops))


def stopped_training(folder):
    """Train to the end; returns how often it was stopped, twice at most."""
    folder.mkdir()
    script = folder / "program.py"
    script.write_text(PROGRAM)
    path = os.pathsep.join([os.path.dirname(__file__), os.environ["PYTHONPATH"]])
    codes: list = []
    while not codes or codes[-1] == [143, 143]:
        with replicas.Replicas(script, 2, folder, environment={"PYTHONPATH": path}) as running:
            if len(codes) < 2:
                stop_somewhere(running)
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


def stop_somewhere(running):
    while not all("begun" in running.output(rank) for rank in (0, 1)):
        if any(process.poll() is not None for process in running.processes):
            return  # which tells why
        time.sleep(0.02)
    time.sleep(random.random() * 0.4)
    for rank in random.choice([(0,), (1,), (0, 1)]):
        os.killpg(running.processes[rank].pid, signal.SIGTERM)
