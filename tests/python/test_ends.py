# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C saves and ends with a sentence; a replica that dies is named by the others."""
from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

import pollux.torch as px  # noqa: E402
import replicas  # noqa: E402
from pollux.torch import interrupt, peers  # noqa: E402

PROGRAM = Path(__file__).with_name("end_program.py")


@pytest.fixture(autouse=True)
def closed():
    """Close the session after each test and restore the signal handlers."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    px.close()
    for number, handler in handlers.items():
        signal.signal(number, handler)


def prepared(folder=None):
    px.init(folder)
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    loader = DataLoader(TensorDataset(torch.randn(80, 4)), batch_size=8)
    return px.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1), loader)


def train(model, optimizer, loader, act=lambda number: None):
    """Train two epochs; act(number) is called in each update.  Returns the number of updates."""
    number = 0
    for _epoch in px.epochs(2):
        for (x,) in loader:
            act(number)
            model(x).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            number += 1
    return number


def ctrl_c():
    os.kill(os.getpid(), signal.SIGINT)


# ---- Ctrl-C -------------------------------------------------------------------------------------


def test_ctrl_c_saves_and_training_resumes(tmp_path, capfd):
    with pytest.raises(SystemExit) as end:
        train(*prepared(tmp_path), act=lambda number: ctrl_c() if number == 4 else None)
    assert end.value.code == 130
    lines = capfd.readouterr().err.splitlines()
    assert lines == [interrupt.NOTE.decode().strip(), f"pollux: interrupted: saved in {tmp_path}"]
    px.close()
    assert train(*prepared(tmp_path)) == 20 - 5


def test_ctrl_c_without_a_directory_says_that_nothing_is_saved(capfd):
    with pytest.raises(SystemExit) as end:
        train(*prepared(), act=lambda number: ctrl_c() if number == 4 else None)
    assert end.value.code == 130
    assert "interrupted: nothing is saved" in capfd.readouterr().err.splitlines()[-1]


def test_a_second_ctrl_c_ends_at_once(monkeypatch, capfd):
    ends = []

    def twice(number):
        ctrl_c()
        ctrl_c()  # the same, repeated by torchrun
        ends.append(number)
        now = time.monotonic() + interrupt.REPEATED_S
        monkeypatch.setattr("time.monotonic", lambda: now)
        ctrl_c()
        ends.append("not reached")
    with pytest.raises(KeyboardInterrupt):
        train(*prepared(), act=twice)
    assert ends == [0]
    assert f"Ctrl-C after {interrupt.REPEATED_S:g} s ends it at once" in capfd.readouterr().err


@pytest.mark.parametrize("loop", [px.epochs, px.steps])
def test_ctrl_c_after_a_stop_is_that_of_python(loop):
    """SIGTERM has stopped the training, and the program is still in its loop to clean up."""
    model, optimizer, loader = prepared()
    with pytest.raises(KeyboardInterrupt):
        for _ in loop(20):
            try:
                for (x,) in loader:
                    model(x).mean().backward()
                    optimizer.step()
                    signal.raise_signal(signal.SIGTERM)
            except SystemExit as end:
                assert end.code == 143
                ctrl_c()


def test_a_repeated_ctrl_c_after_a_stop_is_ignored():
    """torchrun may repeat it when the training has stopped already."""
    with pytest.raises(SystemExit) as end:
        try:
            train(*prepared(), act=lambda number: ctrl_c() if number == 4 else None)
        finally:
            ctrl_c()
    assert end.value.code == 130


def test_ctrl_c_outside_of_training_is_that_of_python():
    model, optimizer, loader = prepared()
    with pytest.raises(KeyboardInterrupt):
        ctrl_c()
    train(model, optimizer, loader)
    with pytest.raises(KeyboardInterrupt):
        ctrl_c()
    px.close()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_the_program_is_kept():
    caught = []
    signal.signal(signal.SIGINT, lambda *_: caught.append(1))
    updates = train(*prepared(), act=lambda number: ctrl_c() if number == 4 else None)
    assert updates == 20 and caught == [1]


def test_ctrl_c_does_not_wait_for_the_end_of_an_evaluation(tmp_path):
    for stop in (True, False):
        model, optimizer, loader = prepared(tmp_path)
        epochs, evaluated = [], []

        def program():
            for epoch in px.epochs(2):
                epochs.append(epoch)
                for (x,) in loader:
                    model(x).mean().backward()
                    optimizer.step()
                evaluated.append(0)
                for _batch in px.evaluation(DataLoader(torch.randn(40, 4), batch_size=4)):
                    evaluated[-1] += 1
                    if stop and evaluated[-1] == 3:
                        ctrl_c()
        if stop:
            with pytest.raises(SystemExit) as end:
                program()
            assert end.value.code == 130 and evaluated == [3]
        else:
            program()
            assert epochs == [0, 1] and evaluated == [10, 10]  # it starts again
        px.close()


def test_ctrl_c_of_one_replica_stops_all(tmp_path):
    ended = replicas.run(PROGRAM, 2, tmp_path, "interrupt", 1)
    assert ended.codes == [130, 130], ended.outputs
    assert "Traceback" not in "".join(ended.outputs)
    assert f"pollux: interrupted: saved in {tmp_path}/saved\n" in ended.outputs[0]
    outputs = replicas.run(PROGRAM, 2, tmp_path, "none", 0).check()
    assert "updates: 38" in outputs[0].splitlines(), outputs[0]  # 2 x 25 - 12


# ---- Replicas that die --------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["kill", "raise"])
def test_a_dead_replica_is_named_by_the_others(tmp_path, how):
    ended = replicas.run(PROGRAM, 2, tmp_path, how, 1)
    assert ended.codes == [1, -9 if how == "kill" else 1], ended.outputs
    lines = [line for line in ended.outputs[0].splitlines() if line]
    assert lines == [peers.sentence(0, [1])], lines
    if how == "raise":
        assert "ValueError: an error of the program" in ended.outputs[1]


def test_the_replica_with_the_store_is_named(tmp_path):
    ended = replicas.run(PROGRAM, 2, tmp_path, "kill", 0)
    assert ended.codes == [-9, 1], ended.outputs
    # Torch's store may warn before that its connection is lost.
    assert ended.outputs[1].splitlines()[-1] == peers.sentence(1, [0]), ended.outputs[1]
    assert "Traceback" not in ended.outputs[1], ended.outputs[1]


def test_sentences_name_all_lost_replicas():
    assert "replica 3 has ended" in peers.sentence(0, [3])
    assert "replicas 1 and 3 have ended" in peers.sentence(0, [1, 3])
    assert "another replica" in peers.sentence(0, [])


def test_other_errors_are_not_taken_for_a_lost_replica():
    for error in (ValueError("Connection reset by peer"), RuntimeError("shape mismatch"),
                  RuntimeError("gloo is not built in"), KeyboardInterrupt()):
        assert not peers.is_lost_connection(error), error
    for text in ("[../gloo/transport/tcp/pair.cc:598] Connection closed by peer [127.0.0.1]:51",
                 "[./gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 1800000ms for recv",
                 "[./gloo/transport/tcp/pair.cc:145] Application timeout caused pair closure",
                 "NCCL error: remote process exited or there was a network error"):
        assert peers.is_lost_connection(RuntimeError(text)), text
