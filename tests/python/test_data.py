# SPDX-License-Identifier: Apache-2.0
"""Elastic loaders: the cases of data_cases.py with one replica in this process and with several in
their own processes."""
from __future__ import annotations

import os

import pytest

pytest.importorskip("torch")

import data_cases  # noqa: E402
import replicas  # noqa: E402


@pytest.mark.parametrize("name", data_cases.CASES)
def test_one_replica(name, tmp_path):
    data_cases.CASES.run(name, tmp_path)


@pytest.fixture(scope="module", params=[2, 3] if os.environ.get("POLLUX_SOAK") else [2])
def ended(request, tmp_path_factory):
    """The output of several replicas that run all cases up to the first failure."""
    return replicas.run(data_cases.__file__, request.param, tmp_path_factory.mktemp("data"))


@pytest.mark.parametrize("name", data_cases.CASES)
def test_several_replicas(ended, name):
    for output in ended.outputs:
        assert f"ok {name}" in output.splitlines(), output[output.find("\nnot ok") + 1:]
