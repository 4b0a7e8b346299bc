# SPDX-License-Identifier: Apache-2.0
"""Squared norms of gradients, divided by Adam's preconditioner if there is one.  libpollux computes
them for plain floats in CPU memory, torch for all other tensors, whose numbers are transferred from
their device together (transfer)."""
from __future__ import annotations

import ctypes
import functools
import math
from typing import Any, Iterable, NamedTuple, Optional, Sequence

import torch
from torch import Tensor
from torch.nn import Parameter

from .._library import CAdam, library
from .optimizers import second_moment_of

FIRST_STEP = 5  # before this step Adam's averages are too noisy to use
LEAST_MOMENT = 0.01
BLOCK = 1 << 22  # elements that are summed at once: torch copies them in double, 32 MiB


class Scaling:
    """Adam's preconditioner of one parameter: P = sqrt(v / (1 - beta2^step)) + eps, where v is
    the second moment, but at least LEAST_MOMENT of its mean.  RMSprop does not divide by
    1 - beta2^step; that only multiplies P, and all norms with it, by a number."""

    __slots__ = ("average", "beta2", "eps", "step", "native")

    def __init__(self, average: Tensor, beta2: float, eps: float, step: int) -> None:
        self.average = average
        self.beta2 = beta2
        self.eps = eps
        self.step = step
        self.native = average.data_ptr(), ctypes.byref(CAdam(beta2, eps, step))

    def divide(self, gradient: Tensor) -> Tensor:
        """In float32 at least.  Whole gradients in double would need twice their memory."""
        average = _at_least_float32(_real(self.average))
        average = average.clamp(min=LEAST_MOMENT * average.mean())
        average /= 1.0 - self.beta2 ** self.step
        return _real(gradient) / average.sqrt_().add_(self.eps)


class Preconditioner:
    """Finds the Scaling of a parameter in an optimizer that keeps second moments, such as Adam or
    RMSprop."""

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self.optimizer = optimizer
        self._moment = second_moment_of(optimizer)
        self.active = self._moment is not None
        self._found: dict[Parameter, Optional[Scaling]] = {}
        self._steps: dict[Parameter, float] = {}
        self._groups: dict[Parameter, dict] = {}
        self._groups_in = optimizer.param_groups

    def renew(self) -> None:
        """Look everything up again: the optimizer may have stepped or loaded a state."""
        self._found.clear()
        self._steps.clear()
        if self._groups_in is not self.optimizer.param_groups:
            self._groups_in = self.optimizer.param_groups
            self._groups = {}

    def __call__(self, parameter: Parameter) -> Optional[Scaling]:
        if not self.active:
            return None
        if parameter not in self._found:
            self._found[parameter] = self._find(parameter)
        return self._found[parameter]

    @property
    def finds_any(self) -> bool:
        """Whether a parameter has a second moment and a number of steps."""
        self.renew()
        return self.active and any(self._moment.key in state and self._step(parameter) > 0
                                   for parameter, state in self.optimizer.state.items())

    def _find(self, parameter: Parameter) -> Optional[Scaling]:
        state = self.optimizer.state.get(parameter)
        if not state or self._moment.key not in state:
            return None
        step = self._step(parameter)
        if step < FIRST_STEP:
            return None
        group = self._group(parameter)
        moment = self._moment
        return Scaling(state[moment.key], moment.beta2(group), float(group["eps"]), step)

    def _step(self, parameter: Parameter) -> int:
        """The steps of all parameters are read at once: on a device each would have to be waited
        for.  Some optimizers keep them in their groups.  0: unknown."""
        if parameter not in self._steps:
            found = {each: state.get("step", self._group(each).get("step"))
                     for each, state in self.optimizer.state.items() if isinstance(each, Tensor)}
            known = {each: step for each, step in found.items() if step is not None}
            self._steps = dict(zip(known, numbers(list(known.values()))))
        return int(self._steps.get(parameter, 0))

    def _group(self, parameter: Parameter) -> dict:
        if parameter not in self._groups:
            self._groups = {each: group for group in self.optimizer.param_groups
                            for each in group["params"]}
        return self._groups.get(parameter, {})


class Norms:
    """A sum of squared norms per group."""

    __slots__ = ("sums", "pending")

    def __init__(self, groups: int) -> None:
        self.sums = [0.0] * groups
        self.pending: list[tuple[int, Tensor]] = []  # still being computed on a device

    def add(self, group: int, gradient: Tensor, scaling: Optional[Scaling] = None) -> None:
        native = _native().get(gradient.dtype)
        if native is not None and _in_memory(gradient, scaling):
            adam = scaling.native if scaling is not None else _NO_ADAM
            self.sums[group] += native.sqr(gradient.data_ptr(), gradient.numel(), *adam)
        else:
            self.add_square(group, _divided(gradient, scaling))

    def add_square(self, group: int, tensor: Tensor) -> None:
        for block in _flat(tensor).split(BLOCK):
            self.add_number(group, _square(block))

    def add_number(self, group: int, value: Tensor) -> None:
        self.pending.append((group, value))

    def values(self) -> list[float]:
        transfer(self)
        return self.sums


def transfer(*several: Norms) -> None:
    """Complete the sums of these Norms, with one transfer for all of them."""
    pending = [(norms.sums, *each) for norms in several for each in norms.pending]
    if pending:
        found = numbers([value for _sums, _group, value in pending])
        for (sums, group, _value), number in zip(pending, found):
            sums[group] += number
        for norms in several:
            norms.pending.clear()


def numbers(values: Sequence[Any]) -> list[float]:
    """Numbers of Python and tensors of one element each; those on a device in one transfer."""
    found = [value if isinstance(value, (int, float)) else 0.0 for value in values]
    places: dict[torch.device, list[int]] = {}
    for place, value in enumerate(values):
        if isinstance(value, Tensor):
            places.setdefault(value.device, []).append(place)
    for its in places.values():
        together = torch.stack([values[place].detach().reshape(()).double() for place in its])
        for place, number in zip(its, together.tolist()):
            found[place] = number
    return found


class Finite:
    """Whether gradients are finite.  Those in CPU memory are looked at in one call."""

    def __init__(self) -> None:
        self._room = 0

    def __call__(self, gradients: Iterable[Tensor]) -> bool:
        addresses, lengths, rest = [], [], []
        for gradient in gradients:
            if gradient.dtype is torch.float32 and gradient.device.type == "cpu" \
                    and gradient.layout is torch.strided and gradient.is_contiguous():
                addresses.append(gradient.data_ptr())
                lengths.append(gradient.numel())
            else:
                rest.append(gradient)
        return self._in_memory(addresses, lengths) and self._elsewhere(rest)

    def _in_memory(self, addresses: list[int], lengths: list[int]) -> bool:
        count = len(addresses)
        if not count:
            return True
        if count > self._room:
            self._room = count
            self._addresses = (ctypes.c_void_p * count)()
            self._lengths = (ctypes.c_size_t * count)()
        self._addresses[:count] = addresses
        self._lengths[:count] = lengths
        return math.isfinite(
            library().pollux_sqr_many_f32(self._addresses, self._lengths, count))

    @staticmethod
    def _elsewhere(gradients: list[Tensor]) -> bool:
        norms = Norms(1)
        for gradient in gradients:
            norms.add(0, gradient)
        return math.isfinite(norms.values()[0])


def difference(dots: Norms, squares: Norms, group: int, before: Tensor, now: Tensor,
               scaling: Optional[Scaling]) -> None:
    """Adds before . now to dots and |before - now|^2 to squares, both preconditioned.

    Without copies in double, the product is (|before|^2 + |now|^2 - |before - now|^2) / 2.  Norms
    are summed in double.  The difference is rounded to float32, or to double for gradients in
    double.  So the product has an error of at most 2^-24 |before - now|^2.  The noise makes it vary
    by about |before| |now| / sqrt(elements), which is more for up to 10^13 elements."""
    native = _native().get(now.dtype)
    if native is not None and _in_memory(now, scaling) and _alike(before, now):
        adam = scaling.native if scaling is not None else _NO_ADAM
        pair = native.pair(before.data_ptr(), now.data_ptr(), now.numel(), *adam)
        dots.sums[group] += pair.dot
        squares.sums[group] += pair.diff_sqr
        return
    if before.is_sparse or now.is_sparse:
        before, now = before.to_dense(), now.to_dense()
    pairs = (_flat(_divided(each, scaling)).split(BLOCK) for each in (before, now))
    for a, b in zip(*pairs):
        apart = _square(_at_least_float32(a) - b)
        dots.add_number(group, (_square(a) + _square(b) - apart) / 2)
        squares.add_number(group, apart)


# ---- Tensors in CPU memory ----------------------------------------------------------------------

_NO_ADAM = (None, None)


class _Functions(NamedTuple):
    sqr: Any
    pair: Any


@functools.lru_cache(maxsize=None)
def _native() -> dict[torch.dtype, _Functions]:
    """The functions of libpollux, by element type."""
    lib = library()
    return {torch.float32: _Functions(lib.pollux_sqr_f32, lib.pollux_pair_f32),
            torch.float64: _Functions(lib.pollux_sqr_f64, lib.pollux_pair_f64)}


def _in_memory(tensor: Tensor, scaling: Optional[Scaling]) -> bool:
    """Whether its elements, and Adam's averages, are dense CPU arrays in the same order."""
    return _is_array(tensor) and (scaling is None or _alike(scaling.average, tensor))


def _is_array(tensor: Tensor) -> bool:
    if tensor.layout != torch.strided or tensor.device.type != "cpu":
        return False
    return tensor.is_contiguous() or _has_no_gaps(tensor)


def _has_no_gaps(tensor: Tensor) -> bool:
    """Whether a permutation of its dimensions is contiguous, as with channels_last."""
    places = sorted((stride, size) for stride, size in zip(tensor.stride(), tensor.shape)
                    if size != 1)
    expected = 1
    for stride, size in places:
        if stride != expected:
            return False
        expected *= size
    return True


def _alike(one: Tensor, other: Tensor) -> bool:
    return (one.layout == other.layout and one.dtype == other.dtype and one.device == other.device
            and one.shape == other.shape and one.stride() == other.stride())


# ---- All others ----------------------------------------------------------------------------------

def _divided(gradient: Tensor, scaling: Optional[Scaling]) -> Tensor:
    gradient = gradient.detach()
    if scaling is None:
        return gradient
    return scaling.divide(gradient.to_dense() if gradient.is_sparse else gradient)


def _square(block: Tensor) -> Tensor:
    """The squared norm, summed in double."""
    norm = torch.linalg.vector_norm(block, dtype=torch.float64)
    return norm * norm


def _at_least_float32(tensor: Tensor) -> Tensor:
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def _flat(tensor: Tensor) -> Tensor:
    values = tensor.coalesce().values() if tensor.is_sparse else tensor
    return _real(values).reshape(-1)


def _real(tensor: Tensor) -> Tensor:
    """Complex numbers as pairs of real ones, as Adam treats them."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
