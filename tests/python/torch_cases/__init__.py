# SPDX-License-Identifier: Apache-2.0
"""Cases of pollux.torch that run in replicas.  Importing torch is slow, so the same processes run
all cases of a number of replicas: outcome() starts them once and reports one case.

    @case(1, 2)                      runs with one replica and with two
    def something(): assert ...

    python3 torch_cases              one replica: runs all cases for WORLD_SIZE replicas
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

MODULES = ("noise", "weights", "patches", "gradients", "programs", "observing", "versions",
           "optimizers", "own_loop")
MARK = "outcome of case "
CASES: dict[str, Callable[[], None]] = {}
REPLICAS: dict[str, tuple[int, ...]] = {}


def case(*replicas: int) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Register a function without arguments, which raises if the case fails, for these numbers of
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
    """Pairs of case and number of replicas, for the cases of some modules."""
    load()
    return [(name, count) for name, counts in REPLICAS.items() if name.split(".")[0] in modules
            for count in counts]


def run_all(replicas: int, only: str = "") -> bool:
    """Run all cases in this replica.  With several replicas the first failure ends the process,
    because the others are then in another place."""
    import pollux.torch as px
    import torch
    load()
    passed = True
    for name, function in CASES.items():
        if replicas not in REPLICAS[name] or only not in name:
            continue
        failure = ""
        torch.manual_seed(0)
        begin_s = time.monotonic()
        try:
            function()
        except (Exception, SystemExit):
            failure = traceback.format_exc()
            passed = False
        print(MARK + json.dumps([name, failure]), flush=True)
        print(f"{name}: {time.monotonic() - begin_s:.2f} s", flush=True)
        if failure and replicas > 1:
            os._exit(1)
        px.close()
    return passed


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
    """Fail if the case failed in any replica."""
    found, output = _outcomes(replicas)
    for rank, cases in enumerate(found):
        failure: Any = cases.get(name)
        assert failure is not None, f"replica {rank} did not run the case:\n{output}"
        assert not failure, f"replica {rank}:\n{failure}"
