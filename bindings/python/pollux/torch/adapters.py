# SPDX-License-Identifier: Apache-2.0
"""What the adapters of frameworks have in common: transformers.py, lightning.py, accelerate.py."""
from __future__ import annotations

import inspect
from typing import Any

import pollux.torch as px

INIT = tuple(inspect.signature(px.init).parameters)
PREPARE = ("max_batch", "local_batch", "accumulation", "rule", "warmup_epochs", "ddp")


def taken(options: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Those of the options that have these names, removed from the options."""
    return {name: options.pop(name) for name in names if name in options}


def start(options: dict[str, Any]) -> px.Session:
    """Start a session with those of the options that are px.init()'s, removed from the options.  If
    the program has called px.init() itself, its session is used."""
    chosen = taken(options, INIT)
    if px._session is None:
        px.init(**chosen)
    elif chosen:
        raise ValueError(f"px.init() was called before: give it {', '.join(chosen)}")
    px.session().misuse.by_adapter = True
    return px.session()
