# SPDX-License-Identifier: Apache-2.0
"""Checks of the arguments of px.prepare() and px.observe()."""
from __future__ import annotations

import operator
from typing import Any, Optional, Sequence

import torch
from torch.utils.data import DataLoader

from .schedules import takes_metric


def check_objects(where: str, model: Any, optimizer: Any, loader: Any) -> None:
    """TypeError unless these are a model, an optimizer and a loader."""
    for thing, cls, name in ((model, torch.nn.Module, "a torch.nn.Module"),
                             (optimizer, torch.optim.Optimizer, "a torch.optim.Optimizer"),
                             (loader, DataLoader, "a torch.utils.data.DataLoader")):
        if not isinstance(thing, cls):
            raise TypeError(f"{where} takes a model, an optimizer and a loader: {name}, not "
                            f"{type(thing).__name__}")
    check_whole(where, model, optimizer)


# What divides a model or its optimizer among processes: the package, the class that it defines,
# what it is.  The first that is found is named: the parameters of FSDP's modules are DTensors.
SHARDED = (("torch", "FullyShardedDataParallel", "FSDP"),
           ("torch", "FSDPModule", "FSDP"),
           ("torch", "DTensor", "parameters that are DTensors"),
           ("torch", "ZeroRedundancyOptimizer", "ZeroRedundancyOptimizer"),
           ("deepspeed", "DeepSpeedEngine", "DeepSpeed"),
           ("deepspeed", "DeepSpeedOptimizer", "DeepSpeed"))


def check_whole(where: str, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """TypeError if a process holds a part of the model or of the optimizer's state only."""
    kinds = set(map(type, (optimizer, *model.modules(), *model.parameters())))
    found = {(cls.__module__.split(".")[0], cls.__name__) for kind in kinds for cls in kind.__mro__}
    for package, name, what in SHARDED:
        if (package, name) in found:
            raise TypeError(
                f"{where}: {what}: not supported: a replica is one process with the whole model "
                "and the whole state of its optimizer; give px.prepare() the plain model and a "
                "plain optimizer of torch.optim")


def check_methods(where: str, thing: Any, names: Sequence[str]) -> None:
    """TypeError if the object lacks one of these methods.  None is accepted."""
    missing = [name for name in names if not hasattr(thing, name)]
    if thing is not None and missing:
        raise TypeError(f"{where}: a {type(thing).__name__} has no {missing[0]}()")


def check_scheduler(scheduler: Any) -> None:
    """TypeError unless it can be put on the progress clock.  None is accepted."""
    check_methods("px.prepare(scheduler=...)", scheduler, ("step", "state_dict"))
    if scheduler is not None and takes_metric(scheduler):
        raise TypeError(f"px.prepare(scheduler=...): step() of a {type(scheduler).__name__} takes "
                        "a metric, so it does not count updates: make it after px.init(), and do "
                        "not give it to px.prepare()")


def note_of_other_parameters(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> str:
    """A note if some parameters are not in the optimizer: another optimizer that trains them would
    step in every micro-step, with gradients that are not averaged yet.  "" if there are none."""
    own = {each for group in optimizer.param_groups for each in group["params"]}
    others = [name for name, each in model.named_parameters()
              if each.requires_grad and each not in own]
    if not others:
        return ""
    return (f"pollux: the optimizer has not all parameters of the model (for example {others[0]}); "
            "if another one trains them, set px.prepare(accumulation=False), else freeze them")


def init_batch_of(given: Any) -> int:
    batch = _integer("batch_size", given)
    if batch < 1:
        raise ValueError(f"px.prepare(batch_size={given}): needs at least 1 sample")
    return batch


def max_batch_of(given: Optional[int], init_batch: int) -> int:
    if given is None:
        return init_batch
    most = _integer("max_batch", given)
    if most < init_batch:
        raise ValueError(f"px.prepare(max_batch={given}): the loader's batch_size, {init_batch}, "
                         "is the smallest total batch")
    return most


def local_batch_of(given: Any, init_batch: int) -> tuple[int, int]:
    if given is None:
        return 1, init_batch
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise TypeError(f"px.prepare(local_batch={given!r}): give a pair, the smallest and the "
                        "largest batch of one replica's micro-step")
    low, high = (_integer("local_batch", each) for each in given)
    if not 1 <= low <= high:
        raise ValueError(f"px.prepare(local_batch={given!r}): needs 1 <= smallest <= largest")
    return low, high


def batch_size_of(given: Optional[int], loader: DataLoader) -> int:
    """Samples of a batch of one replica, for px.observe()."""
    found = given or loader.batch_size or getattr(loader.batch_sampler, "batch_size", None)
    if not isinstance(found, int) or found < 1:
        raise ValueError("px.observe(): the loader has no batch_size, nor has its batch_sampler; "
                         "say px.observe(..., batch_size=n), the samples of a batch of one replica")
    return found


def _integer(name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        if isinstance(value, float) and value.is_integer():  # 4e3
            return int(value)
        raise TypeError(f"px.prepare({name}=...): {value!r} is not a number of samples") from None
