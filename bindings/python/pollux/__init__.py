# SPDX-License-Identifier: Apache-2.0
"""Pollux: training jobs that adapt to the machines they get.

    pollux.torch     three lines in a PyTorch training script
    pollux.model     goodput, best batch and fit, for numbers and numpy arrays
    pollux.agent     what pollux.torch is made of, for other frameworks; pollux.checkpoint too
"""
from ._library import PolluxError

__version__ = "0.1.0"
__all__ = ["PolluxError", "__version__"]
