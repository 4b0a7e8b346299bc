# SPDX-License-Identifier: Apache-2.0
"""The examples for PyTorch run as documented: plain, with one replica, with two, and resumed with
another number of replicas; also under torchrun."""
from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys

import pytest
import torch
from conftest import ROOT
from replicas import TIMEOUT_S, Ended, Replicas, free_port, run

EXAMPLES = ROOT / "examples" / "pytorch"
ABORTED = "terminate called without an active exception\n"
SMALL = ("--samples", "256", "--batch", "32", "--epochs")


def losses(output: str) -> dict[int, float]:
    """Validation loss by epoch."""
    found = re.findall(r"^epoch (\d+): validation loss ([0-9.]+)", output, re.MULTILINE)
    return {int(epoch): float(loss) for epoch, loss in found}


def run_plain(name: str, *arguments) -> list[str]:
    """The outputs of an example without Pollux.  Torch may abort a process after all of the
    program's own work: its thread drops the last sum while Python ends, Python ends the thread
    there, and the C++ library takes that for an error."""
    ended = run(EXAMPLES / name, *arguments)
    codes = [0 if code == -signal.SIGABRT and output.endswith(ABORTED) else code
             for code, output in zip(*ended)]
    return Ended(codes, [output.removesuffix(ABORTED) for output in ended.outputs]).check()


@pytest.mark.parametrize("name", ["image", "text"])
def test_plain_and_pollux_train_alike(name):
    """Two replicas and one epoch.  Pollux chooses no other batch in the first epoch, so both
    programs make the same number of updates with the same batch."""
    plain = run_plain(f"{name}_plain.py", 2, *SMALL, 1)
    adaptive = run(EXAMPLES / f"{name}.py", 2, *SMALL, 1).check()
    assert losses(plain[0]).keys() == losses(adaptive[0]).keys() == {1}
    assert losses(adaptive[0])[1] == pytest.approx(losses(plain[0])[1], rel=0.2)
    assert not plain[1] and not adaptive[1], "only replica 0 prints"


def test_stop_and_resume_with_fewer_replicas(tmp_path):
    """SIGTERM to one of two replicas stops both; one replica resumes and trains to the end."""
    command = (EXAMPLES / "image.py", 2, "--samples", "4096", "--batch", "32", "--epochs", "2")
    saved = {"POLLUX_CHECKPOINT_DIR": str(tmp_path)}
    with Replicas(*command, environment=saved) as replicas:
        replicas.wait_for(losses)
        replicas.signal(signal.SIGTERM, 1)
        done = replicas.wait()
    assert done.codes == [143, 143], done.outputs
    assert losses(done.outputs[0]).keys() == {1}
    resumed = run(command[0], 1, *command[2:], environment=saved).check()
    assert losses(resumed[0]).keys() == {2}, "the first epoch is not trained again"
    # By chance the second epoch may improve little.
    assert losses(resumed[0])[2] < 1.2 * losses(done.outputs[0])[1]


def torchrun(count, *command, checkpoints):
    """The launcher of this PyTorch, as a process group of its own."""
    # that of 1.13 fails with Python 3.11 unless some output is redirected; 9 is no rank
    first = torch.__version__.startswith("1.")
    launcher = [sys.executable, "-m", "torch.distributed.run", *["-r", "9:3", "-t", "9:3"] * first,
                "--nproc_per_node", str(count), "--master_port", str(free_port())]
    return subprocess.Popen([*launcher, *map(str, command)], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            start_new_session=True,
                            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1",
                                 "POLLUX_CHECKPOINT_DIR": str(checkpoints)})


def ended(process, timeout=TIMEOUT_S):
    """Its output until it ends; what is left of it is killed."""
    try:
        return process.communicate(timeout=timeout)[0]
    except subprocess.TimeoutExpired:
        process.terminate()  # torchrun's replicas are not in its process group
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=60)
        raise
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def stopped_after_an_epoch(process, timeout=TIMEOUT_S):
    """The output of a training that is stopped when it has printed its first loss."""
    output = ""
    for line in process.stdout:
        output += line
        if losses(output):
            process.send_signal(signal.SIGTERM)
            break
    return output + ended(process, timeout)


def test_torchrun_stops_and_resumes(tmp_path):
    """SIGTERM to torchrun reaches both replicas; torchrun with one resumes."""
    command = (EXAMPLES / "image.py", "--samples", "4096", "--batch", "32", "--epochs", "2")
    two = torchrun(2, *command, checkpoints=tmp_path)
    output = stopped_after_an_epoch(two)
    assert losses(output).keys() == {1} and f"saved in {tmp_path}" in output, output
    one = torchrun(1, *command, checkpoints=tmp_path)
    output = ended(one)
    assert one.returncode == 0 and losses(output).keys() == {2}, output


def test_a_target_ends_training():
    output = run(EXAMPLES / "image.py", 1, *SMALL, 5, "--target", "100").check()[0]
    assert losses(output).keys() == {1}
