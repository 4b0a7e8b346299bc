# SPDX-License-Identifier: Apache-2.0
"""Epochs by progress: the cases of epoch_cases.py with one replica in this process and with two in
their own processes; another number of replicas in each generation."""
from __future__ import annotations

import json

import pytest

pytest.importorskip("torch")

import epoch_cases as cases  # noqa: E402
import replicas  # noqa: E402


@pytest.mark.parametrize("name", cases.CASES)
def test_one_replica(name, tmp_path):
    cases.CASES.run(name, tmp_path)


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """The output of two replicas that run all cases up to the first failure."""
    return replicas.run(cases.__file__, 2, tmp_path_factory.mktemp("epochs"), timeout=300)


@pytest.mark.parametrize("name", cases.CASES)
def test_two_replicas(two, name):
    for output in two.outputs:
        assert f"ok {name}" in output.splitlines(), output[output.find("\nnot ok") + 1:]


def test_epochs_with_another_number_of_replicas_in_each_generation(tmp_path):
    for count, updates in ((1, 20), (2, 25), (1, 12), (2, 0)):
        replicas.run(cases.__file__, count, tmp_path, updates).check()
    whole = cases.Seen()
    for rank in (0, 1):
        for line in (tmp_path / f"seen.{rank}").read_text().splitlines():
            part = json.loads(line)
            for number, samples in part["passes"].items():
                whole.passes.setdefault(int(number), []).extend(samples)
            for epoch, updates in part["epochs"].items() if rank == 0 else ():
                whole.epochs.setdefault(int(epoch), []).extend(updates)
    cases.check_epochs(whole)
    cases.check_passes(whole.passes)
    assert max(whole.gains()) > 1.2
