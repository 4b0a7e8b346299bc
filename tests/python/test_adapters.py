# SPDX-License-Identifier: Apache-2.0
"""Trainings by transformers.Trainer, Lightning and accelerate with Pollux: the cases of
adapter_cases.py with two replicas, started by torchrun, and then with one; and the examples.
Collected only where these packages are installed: see conftest.py."""
from __future__ import annotations

import signal
from pathlib import Path

import pytest
from conftest import ROOT
from replicas import Replicas, run
from test_examples import ended, losses, stopped_after_an_epoch, torchrun

HERE = Path(__file__).resolve().parent
EXAMPLES = ROOT / "examples" / "pytorch"
PACKAGES = ("transformers", "lightning", "accelerate")
BOTH = ("equal", "adapts", "resumes")
ONE = ("fewer", "own_checkpoint")
OF_PACKAGES = {
    1: ("transformers_own_epoch", "transformers_epoch_end", "transformers_arguments",
        "transformers_older", "transformers_scaler", "transformers_plateau",
        "lightning_own_epoch", "lightning_handlers", "lightning_frequency",
        "lightning_metrics", "accelerate_none",
        "accelerate_scaler", "accelerate_epochs", "accelerate_placement"),
    2: ("accelerate_scaler", "accelerate_hook"),
}
TIMEOUT_S = 900.0   # for all cases; on an idle machine they take a minute


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory) -> dict[int, list[str]]:
    """What each replica says of the cases, and all their output, by number of replicas.  One
    replica continues what two have left."""
    folder = tmp_path_factory.mktemp("adapters")
    two = torchrun(2, HERE / "adapter_cases.py", folder, checkpoints="")
    output = {2: ended(two, TIMEOUT_S)}
    output[1] = run(HERE / "adapter_cases.py", 1, folder, timeout=TIMEOUT_S).outputs[0]
    return {count: [*(said(folder, count, rank) for rank in range(count)), output[count]]
            for count in (1, 2)}


def said(folder: Path, replicas: int, rank: int) -> str:
    path = folder / f"outcomes of {rank} in {replicas}"
    return path.read_text() if path.exists() else ""


def case_names() -> list[tuple[str, int]]:
    both = [(f"{package}_{case}", count) for count in (2, 1) for package in PACKAGES
            for case in BOTH]
    one = [(f"{package}_{case}", 1) for package in PACKAGES for case in ONE]
    return both + one + [(name, count) for count in (2, 1) for name in OF_PACKAGES[count]]


@pytest.mark.parametrize("name, replicas", case_names())
def test_adapter(outcomes, name: str, replicas: int) -> None:
    *of_replicas, output = outcomes[replicas]
    for text in of_replicas:
        failed = text.find("not ok")
        assert f"ok {name}" in text.splitlines(), text[failed:] if failed >= 0 else output[-6000:]


# ---- Examples -----------------------------------------------------------------------------------


def example(name: str, folder: Path, samples: int, epochs: int) -> list:
    options = ["--output", folder / "trained"] if name == "transformers" else []
    return [EXAMPLES / f"with_{name}.py", "--samples", samples, "--epochs", epochs, *options]


@pytest.mark.parametrize("name", ["lightning", "accelerate"])
def test_example_trains(name: str, tmp_path: Path) -> None:
    script, *options = example(name, tmp_path, 512, 2)
    found = losses(run(script, 1, *options, timeout=TIMEOUT_S).check()[0])
    assert found.keys() == {1, 2} and found[2] < found[1]


def test_example_stops_and_resumes(tmp_path: Path) -> None:
    """Two replicas of torchrun stop after the first epoch; one trains the second."""
    command = example("transformers", tmp_path, 1024, 2)
    two = torchrun(2, *command, checkpoints=tmp_path)
    output = stopped_after_an_epoch(two, TIMEOUT_S)
    assert losses(output).keys() == {1} and f"saved in {tmp_path}" in output, output
    one = torchrun(1, *command, checkpoints=tmp_path)
    resumed = ended(one, TIMEOUT_S)
    assert one.returncode == 0 and losses(resumed).keys() == {2}, resumed
    assert losses(resumed)[2] < 1.2 * losses(output)[1]


@pytest.mark.parametrize("name", PACKAGES)
def test_ctrl_c_saves_and_ends(name: str, tmp_path: Path) -> None:
    """After the first epoch of a training that would not end before the signal."""
    script, *options = example(name, tmp_path, 256, 10000)
    saved = {"POLLUX_CHECKPOINT_DIR": str(tmp_path)}
    with Replicas(script, 1, *options, timeout=TIMEOUT_S, environment=saved) as replicas:
        replicas.wait_for(losses)
        replicas.signal(signal.SIGINT)
        (code,), (output,) = replicas.wait()
    assert code == 130 and f"pollux: interrupted: saved in {tmp_path}\n" in output, output
    assert "Traceback" not in output and any(tmp_path.glob("checkpoint-*")), output
