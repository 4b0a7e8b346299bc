# SPDX-License-Identifier: Apache-2.0
"""State dicts as plain types: copied so that they stay as they are, and written; random numbers."""
from __future__ import annotations

import collections
import copy
import io
import random
import sys
import weakref
from typing import Any, Optional

import torch
from torch import Tensor

SIMPLE = (bool, int, float, str)  # the first that fits


def copied(thing: Any) -> Any:
    """As it is now, in plain types and tensors on the CPU.  Tensors that are one in memory, such as
    tied weights, are one in the copy.  What is of another type is copied as it is."""
    return _Copy().of(thing)


class _Copy:
    """One copy of something nested."""

    def __init__(self) -> None:
        self._tensors: dict[Any, Tensor] = {}

    def of(self, thing: Any) -> Any:
        if thing is None or type(thing) in SIMPLE:
            return thing
        if isinstance(thing, Tensor):
            return self._tensor(thing)
        if isinstance(thing, dict):
            return self._dict(thing)
        if isinstance(thing, (list, tuple)):
            parts = [self.of(part) for part in thing]
            return parts if isinstance(thing, list) else tuple(parts)
        for kind in SIMPLE:
            if isinstance(thing, kind):  # numpy's floats, and enums of integers
                return kind(thing)
        return copy.deepcopy(thing)

    def _tensor(self, tensor: Tensor) -> Tensor:
        tensor = tensor.detach()
        if tensor.layout != torch.strided:
            return tensor.to("cpu", copy=True)
        key = (tensor.device, tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride())
        if key not in self._tensors:
            self._tensors[key] = tensor.to("cpu", copy=True)
        return self._tensors[key]

    def _dict(self, thing: dict) -> dict:
        parts = {self.of(name): self.of(part) for name, part in thing.items()}
        if not hasattr(thing, "_metadata"):
            return parts
        ordered = collections.OrderedDict(parts)  # that of a module, which knows its version by it
        ordered._metadata = self.of(thing._metadata)  # type: ignore[attr-defined]
        return ordered


# ---- Files --------------------------------------------------------------------------------------


def write_file(path: str, content: Any) -> None:
    """By torch.save, which ends the whole process if a disk is full: so an error is kept from it,
    and raised afterwards."""
    with open(path, "wb", buffering=0) as file:
        patient = _Patient(file)
        torch.save(content, patient)
    if patient.error is not None:
        raise patient.error


class _Patient:
    """A file that takes everything and remembers what went wrong."""

    def __init__(self, file: io.FileIO) -> None:
        self._file = file
        self.error: Optional[OSError] = None

    def write(self, data: Any) -> int:
        size, rest = len(data), memoryview(data)
        try:
            while rest and self.error is None:
                rest = rest[self._file.write(rest):]
        except OSError as error:
            self.error = error
        return size

    def flush(self) -> None:
        pass


# ---- Schedulers ---------------------------------------------------------------------------------


def without_code(state: Any) -> Any:
    """The state of a scheduler without functions, which the program brings along itself."""
    if isinstance(state, dict):
        return {name: without_code(part) for name, part in state.items()
                if not callable(part) and not isinstance(part, weakref.ref)}
    return [without_code(part) for part in state] if isinstance(state, list) else state


def revived(thing: Any, state: Any) -> Any:
    """A state in which a scheduler finds counters again that were saved as dicts."""
    state = dict(state)
    for name, part in state.items():
        own = getattr(thing, name, None)
        if isinstance(own, collections.Counter):
            state[name] = collections.Counter(part)
        elif name == "_schedulers" and own is not None:
            state[name] = [revived(*pair) for pair in zip(own, part)]
    return state


# ---- Random numbers -----------------------------------------------------------------------------


def random_state() -> dict[str, Any]:
    """Of torch, Python and numpy in this process, and of its device."""
    numpy = None
    if "numpy" in sys.modules:
        kind, keys, *rest = sys.modules["numpy"].random.get_state()
        numpy = [kind, torch.from_numpy(keys.astype("int64")), *rest]
    return {
        "torch": torch.get_rng_state(),
        "python": random.getstate(),
        "numpy": numpy,
        "cuda": torch.cuda.get_rng_state() if torch.cuda.is_initialized() else None,
    }


def restore_random_state(state: dict[str, Any]) -> None:
    torch.set_rng_state(state["torch"])
    random.setstate(state["python"])
    if state["numpy"] is not None and "numpy" in sys.modules:
        kind, keys, *rest = state["numpy"]
        sys.modules["numpy"].random.set_state((kind, keys.numpy().astype("uint32"), *rest))
    if state["cuda"] is not None and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])
