# SPDX-License-Identifier: Apache-2.0
"""Goodput as plain functions: pollux/pollux.h.

    goodput = throughput x efficiency         (useful samples per second)

Words: K replicas on N nodes; m samples in one replica's micro-batch; s extra accumulation steps;
M = K m (s+1) the total batch; M0 the user's own total batch.
"""
from __future__ import annotations

from typing import Any, NamedTuple


class Model(NamedTuple):
    """The throughput model; times in seconds."""

    alpha_grad: float
    beta_grad: float
    alpha_node: float
    beta_node: float
    alpha_local: float
    beta_local: float
    gamma: float

    @classmethod
    def of(cls, c: Any) -> Model:
        """From the structure in C."""
        return cls(*(getattr(c, name) for name in cls._fields))


class Grad(NamedTuple):
    """Gradient statistics at batch M0: squared norm of the true gradient, variance of its
    estimate."""

    sqr: float
    var: float

    @classmethod
    def of(cls, c: Any) -> Grad:
        """From the structure in C."""
        return cls(c.sqr, c.var)


class Batch(NamedTuple):
    """A batch on one replica: m samples in a micro-batch, s extra accumulation steps."""

    m: int
    s: int

    @classmethod
    def of(cls, c: Any) -> Batch:
        """From the structure in C."""
        return cls(c.m, c.s)


class Best(NamedTuple):
    """The best batch of a placement.  goodput 0 and batch (0, 0) where no batch is legal."""

    batch: Batch
    goodput: float

    @classmethod
    def of(cls, c: Any) -> Best:
        """From the structure in C."""
        return cls(Batch.of(c.batch), c.goodput)


class Fit(NamedTuple):
    """A fitted model and what it is worth: root mean squares of the logarithm's error."""

    model: Model
    loss: float
    grad_error: float
    step_error: float

    @classmethod
    def of(cls, c: Any) -> Fit:
        """From the structure in C."""
        return cls(Model.of(c.model), c.loss, c.grad_error, c.step_error)
