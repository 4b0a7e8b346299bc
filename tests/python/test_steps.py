# SPDX-License-Identifier: Apache-2.0
"""An unchanged training loop with pollux.torch ends at the weights of the plain loop, for many
kinds of programs; px.observe() changes nothing.  The cases are in torch_cases."""
from __future__ import annotations

import pytest
import torch_cases


@pytest.mark.parametrize("name, replicas", torch_cases.names(
    "weights", "patches", "gradients", "programs", "observing", "versions", "optimizers"))
def test_steps(name: str, replicas: int) -> None:
    torch_cases.outcome(name, replicas)
