# SPDX-License-Identifier: Apache-2.0
"""Runs the cases of a module, its functions case_NAME(folder): one in this process, or all in every
replica at the same time.

    CASES = Cases(globals())
    CASES.run(name, folder)
    CASES.run_all(folder)       prints for each `ok NAME`, with ` # SKIP why`, or `not ok NAME: why`
"""
from __future__ import annotations

import contextlib
import faulthandler
import inspect
import os
import signal
import traceback
from pathlib import Path
from typing import Any, Iterator

import pollux.torch as px


class Skip(Exception):
    """The reason why a case cannot run on this machine."""


@contextlib.contextmanager
def closed_session() -> Iterator[None]:
    """Close the session at the end and restore the handler of SIGTERM: after its first stop a
    program ignores the signal."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        px.close()
        signal.signal(signal.SIGTERM, before)


class Cases(dict):
    """The cases of a module by their names."""

    def __init__(self, module: dict[str, Any]) -> None:
        super().__init__((name[len("case_"):], thing) for name, thing in module.items()
                         if name.startswith("case_") and inspect.isfunction(thing))

    def run(self, name: str, folder: Path) -> None:
        folder = folder / name
        folder.mkdir(parents=True, exist_ok=True)
        with closed_session():
            self[name](folder)

    def run_all(self, folder: Path) -> None:
        """After a failure the process ends: the other replicas then fail in their next exchange.
        If it hangs, it prints the stacks of its threads before it is killed (TIMEOUT_S)."""
        faulthandler.dump_traceback_later(270)
        for name in self:
            try:
                self.run(name, folder)
            except Skip as why:
                print(f"ok {name} # SKIP {why}")
            except BaseException:
                print(f"not ok {name}: {traceback.format_exc()}", flush=True)
                os._exit(1)
            else:
                print(f"ok {name}", flush=True)
