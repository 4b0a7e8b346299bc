# SPDX-License-Identifier: Apache-2.0
"""Which learning-rate rule suits an optimizer, and where it keeps its second moments.

AdaScale is derived for SGD.  Adam's rule needs an average of squared gradients that forgets, as
Adam and RMSprop have it.  For all other optimizers no rule is known: they keep M0.  So does Adam
with amsgrad, which divides by the largest average so far.
"""
from __future__ import annotations

from typing import NamedTuple, Optional

import torch

Optimizer = torch.optim.Optimizer

# Also classes of these names in other packages, and subclasses.
LIKE_SGD = ("SGD", "FusedSGD")
LIKE_ADAM = ("Adam", "AdamW", "NAdam", "RAdam", "SparseAdam", "FusedAdam")


class SecondMoment(NamedTuple):
    """Where an optimizer keeps an average of squared gradients."""

    key: str        # in the state of a parameter
    decay: str      # its decay per update, in a parameter group
    index: int      # in that entry; -1: the entry is the number

    def beta2(self, group: dict) -> float:
        decay = group[self.decay]
        return float(decay if self.index < 0 else decay[self.index])


ADAM = SecondMoment("exp_avg_sq", "betas", 1)
RMSPROP = SecondMoment("square_avg", "alpha", -1)


def second_moment_of(optimizer: Optimizer) -> Optional[SecondMoment]:
    """None: it keeps none that suits Adam's rule.  An optimizer of an unknown class that has betas
    may keep exp_avg_sq; it counts if it is found in its state."""
    if isinstance(optimizer, torch.optim.RMSprop):
        return None if _is_centered(optimizer) else RMSPROP
    return ADAM if all("betas" in group for group in optimizer.param_groups) else None


def rule_of(optimizer: Optimizer) -> Optional[str]:
    """The learning-rate rule for it; None: there is none, it should keep M0."""
    names = _names(optimizer)
    if not names.isdisjoint(LIKE_SGD):
        return "adascale"
    if _is_amsgrad(optimizer):
        return None
    like_adam = not names.isdisjoint(LIKE_ADAM) or isinstance(optimizer, torch.optim.RMSprop)
    return "adamscale" if like_adam and second_moment_of(optimizer) is not None else None


def note_of_no_rule(optimizer: Optimizer, init_batch: int) -> str:
    """What is said if it has no rule."""
    kind = "centered RMSprop" if _is_centered(optimizer) else type(optimizer).__name__
    if _is_amsgrad(optimizer):
        kind += " with amsgrad"
    return (f"pollux: no learning-rate rule suits {kind}, so every update has M0 = {init_batch} "
            "samples; SGD, Adam, AdamW and RMSprop adapt, or choose px.prepare(rule=...)")


def note_of_no_moments(optimizer: Optimizer, init_batch: int) -> str:
    """What is said if its second moments are not found."""
    kind = type(optimizer)
    return (f"pollux: {kind.__module__}.{kind.__name__} has no exp_avg_sq in its state, so the "
            f"noise of its steps is unknown and every update has M0 = {init_batch} samples; "
            "Adam and AdamW of torch adapt, or choose px.prepare(rule=...)")


def beta2_of(optimizer: Optimizer) -> float:
    """The decay of the second moment, the largest of all groups; 0: it keeps none."""
    moment = second_moment_of(optimizer)
    if moment is None:
        return 0.0
    return max(moment.beta2(group) for group in optimizer.param_groups)


def decays_apart(optimizer: Optimizer) -> list[int]:
    """The groups whose weights decay by lr x weight_decay beside the step, as with AdamW."""
    always = "AdamW" in _names(optimizer)
    return [index for index, group in enumerate(optimizer.param_groups)
            if group.get("weight_decay") and (always or group.get("decoupled_weight_decay"))]


def averages_gradients(optimizer: Optimizer) -> list[int]:
    """The groups whose gradients are averaged with the decay betas[0], as with Adam."""
    if _names(optimizer).isdisjoint(LIKE_ADAM):
        return []
    return [index for index, group in enumerate(optimizer.param_groups) if "betas" in group]


def sums_gradients(optimizer: Optimizer) -> list[int]:
    """The groups whose gradients are summed with the decay `momentum`, as with SGD.  Not with
    Nesterov's form, which adds the gradient itself to the sum."""
    if "SGD" not in _names(optimizer):
        return []
    return [index for index, group in enumerate(optimizer.param_groups)
            if 0.0 < group.get("momentum", 0.0) < 1.0 and not group.get("nesterov")]


def _is_amsgrad(optimizer: Optimizer) -> bool:
    return any(group.get("amsgrad") for group in optimizer.param_groups)


def _is_centered(optimizer: Optimizer) -> bool:
    """RMSprop that divides by the standard deviation, which shrinks faster than the second moment
    when the batch grows."""
    return any(group.get("centered") for group in optimizer.param_groups)


def _names(optimizer: Optimizer) -> set[str]:
    return {cls.__name__ for cls in type(optimizer).__mro__}
