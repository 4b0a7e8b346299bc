# SPDX-License-Identifier: Apache-2.0
"""What the adapters of frameworks have in common: transformers.py, lightning.py, accelerate.py."""
from __future__ import annotations

import inspect
from typing import Any

import pollux.torch as px

from .schedules import takes_metric

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


def counts_updates(session: px.Session, scheduler: Any) -> Any:
    """The scheduler that a framework steps after every update, for px.prepare().  None if its
    step() takes a metric: the framework steps it after evaluations; it is saved with the others."""
    if scheduler is None or not takes_metric(scheduler):
        return scheduler
    session.patches.scheduler(scheduler)
    return None


def take_over_step(wrapper: Any) -> None:
    """px.prepare() has replaced step() of an optimizer that accelerate has wrapped.  With a
    gradient scaler the wrapper keeps the methods that it calls, and sets opt.step to them: let it
    keep the new one, as it does after it was copied."""
    if wrapper.scaler is None:
        return
    wrapper.__setstate__({})
    if wrapper._optimizer_original_step_method != wrapper.optimizer.step:
        raise RuntimeError("accelerate's wrapper of the optimizer does not call the optimizer's "
                           "step() as Pollux knows it: train without fp16, or with accelerate 1.15")
