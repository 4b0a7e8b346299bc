# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C.  During training the first one asks for a stop, which saves; one that comes REPEATED_S
later, and one at any other time, raises KeyboardInterrupt as Python does."""
from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import Any

INTERRUPTED = 130   # exit status
REPEATED_S = 2.0    # torchrun passes on the signal of the terminal, so that it comes twice
NOTE = ("pollux: interrupted: training stops after this update; "
        f"Ctrl-C after {REPEATED_S:g} s ends it at once\n").encode()


class Interrupts:
    """The handler of SIGINT.  One that the program has installed itself is kept."""

    def __init__(self, session: Any) -> None:
        self.asked = False
        self._session = session
        self._at = 0.0
        self._installed = False
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            with contextlib.suppress(ValueError):  # in another thread than the main one
                signal.signal(signal.SIGINT, self._handle)
                self._installed = True

    def close(self) -> None:
        if self._installed and signal.getsignal(signal.SIGINT) == self._handle:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        self._installed = False

    def _handle(self, number: int, frame: Any) -> None:
        now = time.monotonic()
        if self.asked and now - self._at < REPEATED_S:
            return
        if self.asked or not self._session.training:
            signal.default_int_handler(number, frame)
        self.asked, self._at = True, now
        self._session.agent.stop()
        if self._session.leads:
            os.write(2, NOTE)  # print() must not be called again while it is running
