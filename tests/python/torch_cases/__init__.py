# SPDX-License-Identifier: Apache-2.0
"""Cases of pollux.torch that run in replicas: many in one process, since torch takes its time to
start.  Tests ask for them by name, and outcome() runs all of a number of replicas at once:

    @case(1, 2)                      with one replica, and with two
    def something(): assert ...

    python3 torch_cases              as a replica: runs all cases of its world
"""
from __future__ import annotations

import functools
import importlib
import json
import os
import time
import traceback
from pathlib import Path
from typing import Any, Callable

MODULES = ("noise", "weights", "wrapping", "gradients", "programs", "observing")
MARK = "outcome of case "
CASES: dict[str, Callable[[], None]] = {}
REPLICAS: dict[str, tuple[int, ...]] = {}


def case(*replicas: int) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """A function without arguments that raises if something is wrong, with each number of
    replicas."""
    def register(function: Callable[[], None]) -> Callable[[], None]:
        name = f"{function.__module__.rsplit('.', 1)[-1]}.{function.__name__}"
        CASES[name] = function
        REPLICAS[name] = replicas
        return function
    return register


def load() -> None:
    for name in MODULES:
        importlib.import_module(f"{__name__}.{name}")


def names(*modules: str) -> list[tuple[str, int]]:
    """The cases of some modules, each with its numbers of replicas."""
    load()
    return [(name, count) for name, counts in REPLICAS.items() if name.split(".")[0] in modules
            for count in counts]


def run_all(replicas: int, only: str = "") -> bool:
    """In a replica.  The first failure ends it where there are others, which then are out of
    step."""
    import pollux.torch as px
    import torch
    load()
    good = True
    for name, function in CASES.items():
        if replicas not in REPLICAS[name] or only not in name:
            continue
        told = ""
        torch.manual_seed(0)
        begun = time.monotonic()
        try:
            function()
        except (Exception, SystemExit):
            told = traceback.format_exc()
            good = False
        print(MARK + json.dumps([name, told]), flush=True)
        print(f"{name}: {time.monotonic() - begun:.2f} s", flush=True)
        if told and replicas > 1:
            os._exit(1)
        px.close()
    return good


@functools.lru_cache(maxsize=None)
def _outcomes(replicas: int) -> tuple[list[dict[str, str]], str]:
    from replicas import run
    here = Path(__file__).resolve().parent
    ended = run(here / "__main__.py", replicas)
    found: list[dict[str, str]] = []
    for output in ended.outputs:
        lines = [line[len(MARK):] for line in output.splitlines() if line.startswith(MARK)]
        found.append(dict(json.loads(line) for line in lines))
    return found, "\n".join(output[-3000:] for output in ended.outputs) + str(ended.codes)


def outcome(name: str, replicas: int) -> None:
    """Raises what the case raised, in any replica."""
    found, output = _outcomes(replicas)
    for rank, cases in enumerate(found):
        told: Any = cases.get(name)
        assert told is not None, f"replica {rank} did not get there:\n{output}"
        assert not told, f"replica {rank}:\n{told}"
