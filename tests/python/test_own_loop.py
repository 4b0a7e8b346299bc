# SPDX-License-Identifier: Apache-2.0
"""Programs with checkpoints, loops and loaders of their own.  The cases are in
torch_cases/own_loop.py."""
from __future__ import annotations

import pytest
import torch_cases


@pytest.mark.parametrize("name, replicas", torch_cases.names("own_loop"))
def test_own_loop(name: str, replicas: int) -> None:
    torch_cases.outcome(name, replicas)
