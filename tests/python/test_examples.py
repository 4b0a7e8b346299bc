# SPDX-License-Identifier: Apache-2.0
"""The examples for PyTorch run as documented: plain, with one replica, with two, and resumed with
another number of replicas."""
from __future__ import annotations

import re
import signal
import time

import pytest
from conftest import ROOT
from replicas import Replicas, run

EXAMPLES = ROOT / "examples" / "pytorch"
SMALL = ("--samples", "256", "--batch", "32", "--epochs")


def losses(output: str) -> dict[int, float]:
    """Validation loss by epoch."""
    found = re.findall(r"^epoch (\d+): validation loss ([0-9.]+)", output, re.MULTILINE)
    return {int(epoch): float(loss) for epoch, loss in found}


@pytest.mark.parametrize("name", ["image", "text"])
def test_plain_and_pollux_train_alike(name):
    """Two replicas and one epoch.  Pollux chooses no other batch in the first epoch, so both
    programs make the same number of updates with the same batch."""
    plain = run(EXAMPLES / f"{name}_plain.py", 2, *SMALL, 1).check()
    adaptive = run(EXAMPLES / f"{name}.py", 2, *SMALL, 1).check()
    assert losses(plain[0]).keys() == losses(adaptive[0]).keys() == {1}
    assert losses(adaptive[0])[1] == pytest.approx(losses(plain[0])[1], rel=0.2)
    assert not plain[1] and not adaptive[1], "only replica 0 prints"


def test_stop_and_resume_with_fewer_replicas(tmp_path):
    """SIGTERM to one of two replicas stops both; one replica resumes and trains to the end."""
    command = (EXAMPLES / "image.py", 2, "--samples", "4096", "--batch", "32", "--epochs", "2")
    saved = {"POLLUX_CHECKPOINT_DIR": str(tmp_path)}
    with Replicas(*command, environment=saved) as replicas:
        while not losses(replicas.output()) and replicas.processes[0].poll() is None:
            time.sleep(0.01)
        replicas.signal(signal.SIGTERM, 1)
        ended = replicas.wait()
    assert ended.codes == [143, 143], ended.outputs
    assert losses(ended.outputs[0]).keys() == {1}
    resumed = run(command[0], 1, *command[2:], environment=saved).check()
    assert losses(resumed[0]).keys() == {2}, "the first epoch is not trained again"
    assert losses(resumed[0])[2] < losses(ended.outputs[0])[1]


def test_a_target_ends_training():
    output = run(EXAMPLES / "image.py", 1, *SMALL, 5, "--target", "100").check()[0]
    assert losses(output).keys() == {1}
