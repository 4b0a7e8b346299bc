# SPDX-License-Identifier: Apache-2.0
"""An unchanged loop under pollux.torch, with real processes: the weights that it ends at, whatever
is in it, and px.observe().  What is tested is in torch_cases."""
from __future__ import annotations

import pytest
import torch_cases


@pytest.mark.parametrize("name, replicas", torch_cases.names(
    "weights", "wrapping", "gradients", "programs", "observing"))
def test_steps(name: str, replicas: int) -> None:
    torch_cases.outcome(name, replicas)
