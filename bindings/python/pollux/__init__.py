# SPDX-License-Identifier: Apache-2.0
"""Pollux: training jobs that adapt to the machines they get.

    pollux.torch     three lines in a PyTorch training script
    pollux.model     goodput, best batch and fit, for numbers and numpy arrays
    pollux.decide, pollux.simulate     decisions of the scheduler, for notebooks
    pollux.agent, pollux.checkpoint    the parts of pollux.torch, for other frameworks
"""
from . import model
from ._library import PolluxError
from .command import decide, simulate

__version__ = "0.1.0"
__all__ = ["PolluxError", "__version__", "decide", "model", "simulate"]
