# SPDX-License-Identifier: Apache-2.0
"""Squared norms of tensors, by libpollux where they are plain floats in memory, else by torch."""
from __future__ import annotations

import ctypes
from typing import NamedTuple, Optional

import torch
from torch import Tensor
from torch.nn import Parameter

from .._library import CAdam, library

FIRST_STEP = 5  # Adam's averages are worth nothing before


class Scaling(NamedTuple):
    """Adam's preconditioner of one parameter: P = sqrt (exp_avg_sq / (1 - beta2^step)) + eps."""

    exp_avg_sq: Tensor
    beta2: float
    eps: float
    step: int

    def divide(self, gradient: Tensor) -> Tensor:
        average = self.exp_avg_sq.double() / (1.0 - self.beta2 ** self.step)
        return gradient.double() / (average.sqrt() + self.eps)


class Preconditioner:
    """Finds it in the state of an optimizer that keeps exp_avg_sq, such as Adam and AdamW."""

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self.optimizer = optimizer
        self.active = all("betas" in group for group in optimizer.param_groups)
        self._group: dict[Parameter, dict] = {}

    def __call__(self, parameter: Parameter) -> Optional[Scaling]:
        if not self.active:
            return None
        state = self.optimizer.state.get(parameter)
        if not state or "exp_avg_sq" not in state or "step" not in state:
            return None
        step = int(state["step"])
        if step < FIRST_STEP:
            return None
        group = self._group_of(parameter)
        return Scaling(state["exp_avg_sq"], float(group["betas"][1]), float(group["eps"]), step)

    def _group_of(self, parameter: Parameter) -> dict:
        group = self._group.get(parameter)
        if group is None:
            self._group = {each: group for group in self.optimizer.param_groups
                           for each in group["params"]}
            group = self._group[parameter]
        return group


class Norms:
    """A sum of squared norms per group."""

    __slots__ = ("sums", "pending")

    def __init__(self, groups: int) -> None:
        self.sums = [0.0] * groups
        self.pending: list[tuple[int, Tensor]] = []  # on a device that need not be waited for yet

    def add(self, group: int, tensor: Tensor, scaling: Optional[Scaling]) -> None:
        function = _NATIVE.get(tensor.dtype) if _in_memory(tensor, scaling) else None
        if function is not None:
            self.sums[group] += function.sqr(tensor.data_ptr(), tensor.numel(), *_native(scaling))
            return
        wide = _wide(tensor, scaling)
        self.add_later(group, torch.dot(wide, wide))

    def add_later(self, group: int, value: Tensor) -> None:
        if value.is_cuda:
            self.pending.append((group, value))
        else:
            self.sums[group] += float(value)

    def values(self, scale: float) -> list[float]:
        for group, value in self.pending:
            self.sums[group] += float(value)
        self.pending.clear()
        return self.sums if scale == 1.0 else [value / scale for value in self.sums]


def difference(dots: Norms, squares: Norms, group: int, before: Tensor, now: Tensor,
               scaling: Optional[Scaling]) -> None:
    """Adds before . now to dots and |before - now|^2 to squares, both preconditioned."""
    function = _NATIVE.get(now.dtype) if _in_memory(now, scaling) else None
    if function is not None and before.dtype == now.dtype and before.stride() == now.stride():
        pair = function.pair(before.data_ptr(), now.data_ptr(), now.numel(), *_native(scaling))
        dots.sums[group] += pair.dot
        squares.sums[group] += pair.diff_sqr
        return
    wide_before, wide_now = _wide(before, scaling), _wide(now, scaling)
    change = wide_before - wide_now
    dots.add_later(group, torch.dot(wide_before, wide_now))
    squares.add_later(group, torch.dot(change, change))


class _Native(NamedTuple):
    sqr: object
    pair: object


class _Functions(dict):
    """Of libpollux, by type of element; looked up once, when they are first needed."""

    def get(self, dtype):  # type: ignore[override]
        if not self:
            lib = library()
            self[torch.float32] = _Native(lib.pollux_sqr_f32, lib.pollux_pair_f32)
            self[torch.float64] = _Native(lib.pollux_sqr_f64, lib.pollux_pair_f64)
        return dict.get(self, dtype)


_NATIVE = _Functions()


def _dense(tensor: Tensor) -> bool:
    return tensor.layout == torch.strided and not tensor.is_cuda and (
        tensor.is_contiguous() or torch._debug_has_internal_overlap(tensor) == 0
        and tensor.numel() == _extent(tensor))


def _extent(tensor: Tensor) -> int:
    return 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))


def _in_memory(tensor: Tensor, scaling: Optional[Scaling]) -> bool:
    """Whether its elements, and Adam's, are one array of the same order."""
    if not _dense(tensor) or tensor.device.type != "cpu":
        return False
    if scaling is None:
        return True
    average = scaling.exp_avg_sq
    return average.dtype == tensor.dtype and average.stride() == tensor.stride() and _dense(average)


def _native(scaling: Optional[Scaling]) -> tuple:
    if scaling is None:
        return None, None
    return scaling.exp_avg_sq.data_ptr(), ctypes.byref(CAdam(scaling.beta2, scaling.eps, scaling.step))


def _wide(tensor: Tensor, scaling: Optional[Scaling]) -> Tensor:
    tensor = tensor.detach()
    if tensor.is_sparse:
        tensor = tensor.to_dense() if scaling is not None else tensor.coalesce().values()
    return (scaling.divide(tensor) if scaling is not None else tensor.double()).reshape(-1)
