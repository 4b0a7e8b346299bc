# SPDX-License-Identifier: Apache-2.0
"""The gradient noise that pollux.torch measures and the learning rates computed from it, in real
processes.  The cases are in torch_cases/noise.py."""
from __future__ import annotations

import pytest
import torch_cases


@pytest.mark.parametrize("name, replicas", torch_cases.names("noise"))
def test_noise(name: str, replicas: int) -> None:
    torch_cases.outcome(name, replicas)
