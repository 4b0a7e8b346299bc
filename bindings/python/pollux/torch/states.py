# SPDX-License-Identifier: Apache-2.0
"""State dicts: copied to plain types, written to files; and the state of random generators."""
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
from torch.nn.parallel import DistributedDataParallel

SIMPLE = (bool, int, float, str)  # tried in this order


def copied(thing: Any) -> Any:
    """A copy of plain types and CPU tensors.  Tensors that share memory, such as tied weights,
    share it in the copy.  Objects of other types are deep copies."""
    return _Copy().of(thing)


class _Copy:
    """Copies one nested object."""

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
            if isinstance(thing, kind):  # such as numpy floats and IntEnum
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
        ordered = collections.OrderedDict(parts)  # the state_dict of a module: keeps its version
        ordered._metadata = self.of(thing._metadata)  # type: ignore[attr-defined]
        return ordered


# ---- Files --------------------------------------------------------------------------------------


def write_file(path: str, content: Any) -> None:
    """Write with torch.save.  It aborts the process on a write error, such as a full disk, so the
    error is hidden from it and raised afterwards."""
    with open(path, "wb", buffering=0) as file:
        kept = _ErrorKeepingFile(file)
        torch.save(content, kept)
    if kept.error is not None:
        raise kept.error


class _ErrorKeepingFile:
    """A file whose write() never fails; the first error is kept in `error`."""

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


# ---- Modules ------------------------------------------------------------------------------------


def is_wrapper(module: torch.nn.Module) -> bool:
    """Whether a module only wraps another one: DDP, or the result of torch.compile()."""
    return isinstance(module, DistributedDataParallel) or "_orig_mod" in module._modules


def is_compiled(module: torch.nn.Module) -> bool:
    """Whether torch.compile() or module.compile() was called for it or a part of it: every new size
    of the batch may be compiled again."""
    return any("_orig_mod" in each._modules or getattr(each, "_compiled_call_impl", None)
               for each in module.modules())


def unwrapped(module: torch.nn.Module) -> torch.nn.Module:
    """The module itself, without DDP and torch.compile() around it."""
    while is_wrapper(module):
        module = next(iter(module._modules.values()))  # type: ignore[assignment]
    return module


def ddp_of(module: torch.nn.Module) -> Optional[DistributedDataParallel]:
    """The program's own DDP around a module; None if there is none."""
    while is_wrapper(module):
        if isinstance(module, DistributedDataParallel):
            return module
        module = next(iter(module._modules.values()))  # type: ignore[assignment]
    return None


def plain_state(thing: Any) -> Any:
    """The state_dict(), that of a module with the names that it has without wrappers."""
    state = thing.state_dict()
    if not isinstance(thing, torch.nn.Module):
        return state
    return _renamed(state, _plain_names(thing, state))


def load_plain_state(thing: Any, state: Any) -> None:
    """Load a state_dict().  That of a module may be of one that is wrapped otherwise."""
    if isinstance(thing, torch.nn.Module):
        own = thing.state_dict()
        if state.keys() != own.keys():
            names = {plain: name for name, plain in _plain_names(thing, own).items()}
            state = _renamed(state, {name: name.replace(COMPILED, "") for name in state})
            state = _renamed(state, names)
    thing.load_state_dict(state)


COMPILED = "_orig_mod."  # the prefix of torch.compile()


def _plain_names(module: torch.nn.Module, state: dict[str, Any]) -> dict[str, str]:
    """The plain name of each entry of state_dict(), and of each module as its metadata has it."""
    prefixes: dict[str, str] = {}

    def visit(inner: torch.nn.Module, path: str, plain: str) -> None:
        prefixes[path] = plain
        wrapper = is_wrapper(inner)
        for name, child in inner._modules.items():
            if child is not None:
                visit(child, f"{path}{name}.", plain if wrapper else f"{plain}{name}.")
    visit(module, "", "")
    names = {path[:-1]: plain[:-1] for path, plain in prefixes.items()}
    for name in state:
        path = name[:name.rfind(".") + 1]
        while path not in prefixes:  # a state_dict() of the program's own may have any names
            path = path[:path.rfind(".", 0, -1) + 1]
        names[name] = prefixes[path] + name[len(path):]
    return names


def _renamed(state: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    renamed = collections.OrderedDict((names.get(name, name), part) for name, part in state.items())
    if hasattr(state, "_metadata"):
        renamed._metadata = collections.OrderedDict(  # type: ignore[attr-defined]
            (names.get(name, name), part) for name, part in state._metadata.items())
    return renamed


# ---- Schedulers ---------------------------------------------------------------------------------


def without_code(state: Any) -> Any:
    """The state of a scheduler without functions: the program provides them again."""
    if isinstance(state, dict):
        return {name: without_code(part) for name, part in state.items()
                if not callable(part) and not isinstance(part, weakref.ref)}
    return [without_code(part) for part in state] if isinstance(state, list) else state


def revived(thing: Any, state: Any) -> Any:
    """A scheduler's state with its Counters restored, which were saved as dicts."""
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
    """The random state of torch, Python, numpy and CUDA in this process."""
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
