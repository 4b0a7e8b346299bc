# SPDX-License-Identifier: Apache-2.0
"""Small tasks, trained by a plain loop and with Pollux, with the same total batch."""
from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Callable, Optional

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

import pollux.torch as px

WIDTH = 6
BATCH = 8


def table(rows: int = 44, seed: int = 1) -> TensorDataset:
    """44 rows are five batches of 8 and a short one of 4."""
    random = torch.Generator().manual_seed(seed)
    x = torch.randn(rows, WIDTH, generator=random, dtype=torch.float64)
    y = torch.sin(x.sum(1, keepdim=True)) + 0.3 * torch.randn(
        rows, 1, generator=random, dtype=torch.float64)
    return TensorDataset(x, y)


def net(seed: int = 2) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(WIDTH, 8), nn.Tanh(), nn.Linear(8, 1)).double()


def sgd(parameters: Any) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9, weight_decay=0.01)


def make(optimizer: Callable[[Any], torch.optim.Optimizer] = sgd,
         model: Callable[[], nn.Module] = net) -> SimpleNamespace:
    """core is the bare module; model is the module that is trained, for example DDP around it."""
    core = model()
    trainable = [each for each in core.parameters() if each.requires_grad]
    return SimpleNamespace(core=core, model=core, opt=optimizer(trainable))


def loss_of(run: SimpleNamespace, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return ((run.model(x) - y) ** 2).mean()


def body(run: SimpleNamespace, x: torch.Tensor, y: torch.Tensor) -> None:
    run.opt.zero_grad()
    loss_of(run, x, y).backward()
    run.opt.step()


Body = Callable[[SimpleNamespace, torch.Tensor, torch.Tensor], None]
Between = Optional[Callable[[SimpleNamespace, int], None]]


def plain(made: Callable[[], SimpleNamespace] = make, each: Body = body, *, epochs: int = 2,
          data: Optional[Dataset] = None, between: Between = None,
          batch: int = BATCH) -> SimpleNamespace:
    """Train by a plain loop in one process with the whole batch."""
    run = made()
    for epoch in range(epochs):
        if between is not None:
            between(run, epoch)
        for x, y in DataLoader(data or table(), batch_size=batch):
            each(run, x, y)
    return run


def prepared(made: Callable[[], SimpleNamespace] = make, each: Body = body, *, epochs: int = 2,
             data: Optional[Dataset] = None, between: Between = None, batch: int = BATCH,
             adapt: bool = False, started: Optional[Callable[[SimpleNamespace], None]] = None,
             loader: Optional[dict] = None, scheduler: str = "", scaler: str = "",
             **options: Any) -> SimpleNamespace:
    """The same with Pollux; the session stays open.  scheduler, scaler: names of attributes of the
    run that px.prepare() gets."""
    px.close()
    px.init(adapt=adapt)
    run = made()
    if scheduler:
        options["scheduler"] = getattr(run, scheduler)
    if scaler:
        options["scaler"] = getattr(run, scaler)
    elastic = DataLoader(data or table(), batch_size=batch, **(loader or {}))
    run.model, run.opt, run.loader = px.prepare(run.model, run.opt, elastic, **options)
    if started is not None:
        started(run)
    for epoch in px.epochs(epochs, by="passes"):
        if between is not None:
            between(run, epoch)
        for x, y in run.loader:
            each(run, x, y)
    return run


def assert_same(one: SimpleNamespace, other: SimpleNamespace, tolerance: float = 1e-9) -> None:
    """The weights of both are equal within the tolerance."""
    states = one.core.state_dict(), other.core.state_dict()
    assert states[0].keys() == states[1].keys()
    for name, value in states[0].items():
        assert torch.allclose(value, states[1][name], rtol=tolerance, atol=tolerance), (
            name, value, states[1][name])


def assert_equals_plain(made: Callable[[], SimpleNamespace] = make, each: Body = body,
                        tolerance: float = 1e-9, **options: Any) -> SimpleNamespace:
    shared = {name: options[name] for name in ("epochs", "data", "between", "batch")
              if name in options}
    expected = plain(made, each, **shared)
    run = prepared(made, each, **options)
    assert_same(expected, run, tolerance)
    return run


def noise() -> tuple[float, float]:
    """sqr and var after the last update, by replica 0.  A collective operation."""
    session = px.session()
    grad, _decision_grad = session.agent.grads()
    sqr, var = session.collectives.broadcast(grad)
    return sqr, var


def refused(act: Any, *words: str) -> None:
    """The call raises an error with these words."""
    try:
        act()
    except (TypeError, ValueError, RuntimeError) as error:
        assert all(word in str(error) for word in words), error
    else:
        raise AssertionError(f"was accepted; no error with {words}")
