# SPDX-License-Identifier: Apache-2.0
"""The estimator of gradient noise, compared with the closed forms on known gradients (the loss is
linear in the parameters), and with the variance of per-sample gradients."""
from __future__ import annotations

import contextlib
import copy
import math
import os
from types import SimpleNamespace
from typing import Any, Callable, Iterator, Sequence
from unittest import mock

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import pollux.torch as px
from pollux.agent import Batch
from pollux.torch import norms
from pollux.torch.norms import Finite, Norms, Scaling, _divided, difference, numbers
from pollux.torch.optimizers import rule_of

from . import case
from .reference import COMPARE_EVERY, ENOUGH, Reference, adam, close
from .tasks import noise

M0 = 12
REPLICAS = int(os.environ.get("WORLD_SIZE", "1"))


class Linear(nn.Module):
    """The gradient of the mean output is the mean of the rows, split into parameters."""

    SHAPES = ((3,), (2, 2), ())

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.parts = nn.ParameterList(
            nn.Parameter(torch.full(shape, 0.5, dtype=dtype)) for shape in self.SHAPES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ torch.cat([part.reshape(-1) for part in self.parts])


def cut(row: torch.Tensor) -> list[torch.Tensor]:
    pieces = torch.split(row, [math.prod(shape) for shape in Linear.SHAPES])
    return [piece.reshape(shape) for piece, shape in zip(pieces, Linear.SHAPES)]


def rows(count: int, dtype: torch.dtype) -> torch.Tensor:
    random = torch.Generator().manual_seed(5)
    shift = torch.tensor([1.0, 0.3, -0.2, 0.5, 0.0, 0.1, -0.4, 0.8], dtype=torch.float64)
    return (shift + torch.randn(count, 8, generator=random, dtype=torch.float64)).to(dtype)


def gradients(x: torch.Tensor, replicas: int, batch: Batch) -> list[list[torch.Tensor]]:
    """The micro-gradients of one update: one per replica; for one replica, one per micro-step."""
    cells = x.double().reshape(batch.s + 1, replicas, batch.m, -1).mean(2)
    return [cut(row) for row in (cells.mean(0) if replicas > 1 else cells[:, 0])]


def by_group(model: Linear) -> list[dict]:
    return [{"params": list(model.parts[:2])}, {"params": list(model.parts[2:]), "lr": 0.02}]


def sgd(model: Linear, **options: Any) -> torch.optim.Optimizer:
    return torch.optim.SGD(by_group(model), lr=0.1, **options)


def run(batch: Batch, make: Callable[[Linear], torch.optim.Optimizer] = sgd, updates: int = 12,
        dtype: torch.dtype = torch.float64, rule: str = "adascale", adapt: bool = True,
        seen: Callable[[SimpleNamespace], None] = lambda _: None) -> Reference:
    """Train one epoch with a batch and compare with the reference after every update.  float32
    gradients are rounded by more than 1e-6 of their difference, hence the larger tolerance.
    seen() gets the reference that decides: one replica has the present update in it, several have
    only those before."""
    tolerance = 1e-9 if dtype == torch.float64 else 1e-5
    px.close()
    px.init(adapt=adapt)
    replicas = px.replicas()
    total = replicas * batch.m * (batch.s + 1)
    x = rows(total * updates, dtype)
    model = Linear(dtype)
    opt = make(model)
    loader = DataLoader(TensorDataset(x), batch_size=M0)
    trained, opt, loader = px.prepare(model, opt, loader, max_batch=max(total, M0), rule=rule,
                                      local_batch=(1, batch.m), warmup_epochs=0.5)
    px.session().agent.set_fixed(batch)
    groups = [0, 0, 1][:len(Linear.SHAPES)] if len(opt.param_groups) > 1 else [0, 0, 0]
    reference = Reference(groups)
    done = iterations = 0
    for _epoch in px.epochs(1, by="passes"):
        for part, in loader:
            iterations += 1
            opt.zero_grad()
            trained(part).mean().backward()
            if iterations % (batch.s + 1):
                opt.step()
                continue
            its = gradients(x[done * total:(done + 1) * total], replicas, batch)
            divisors = adam(opt) if {"betas", "alpha"} & opt.defaults.keys() else None
            if replicas == 1:
                reference.update(its, total / M0, divisors)
            decides = copy.deepcopy(reference)
            before = px.metrics()["progress"]
            opt.step()
            reference.evidence.progress += px.metrics()["progress"] - before
            if replicas > 1:
                reference.update(its, total / M0, divisors)
            done += 1
            expected = reference.total()
            assert close(noise(), expected, tolerance), (done, noise(), expected)
            seen(SimpleNamespace(reference=decides, opt=opt, scale=total / M0, before=before,
                                 dataset=len(x)))
    assert done == updates
    return reference


@case(1, 2, 3)
def one_micro_step():
    """One replica: the difference of successive gradients.  Several: n = K."""
    run(Batch(M0 // REPLICAS, 0))
    run(Batch(M0 // REPLICAS, 0), dtype=torch.float32)


@case(1, 2, 3)
def several_micro_steps():
    run(Batch(M0 // REPLICAS // 2, 1))
    run(Batch(M0 // REPLICAS // 4 or 1, 3), dtype=torch.float32)


@case(1, 2, 3)
def a_larger_batch():
    run(Batch(10, 2))
    run(Batch(16, 0))


@case(1, 2, 3)
def preconditioned():
    def adam_of(model):
        return torch.optim.Adam(by_group(model), lr=0.01, betas=(0.8, 0.9))
    run(Batch(6, 0), adam_of)
    run(Batch(6, 1), adam_of)
    run(Batch(6, 1), lambda model: torch.optim.AdamW(model.parameters(), eps=1e-3),
        dtype=torch.float64)


@case(1, 2)
def preconditioned_by_others():
    run(Batch(6, 1), lambda model: torch.optim.NAdam(by_group(model)))
    run(Batch(6, 1), lambda model: torch.optim.RAdam(by_group(model)))


@case(1, 2)
def preconditioned_by_rmsprop():
    run(Batch(6, 0), lambda model: torch.optim.RMSprop(by_group(model), alpha=0.9, eps=1e-3))
    run(Batch(6, 1), lambda model: torch.optim.RMSprop(by_group(model), momentum=0.9))


@case(1)
def not_preconditioned_before_step_5():
    """Also shows that the cases above detect a missing preconditioner."""
    def adam_of(model):
        return torch.optim.Adam(by_group(model), lr=0.01)
    before = run(Batch(6, 1), adam_of, updates=5).total()
    assert close(before, run(Batch(6, 1), sgd, updates=5).total())
    assert not close(run(Batch(6, 1), adam_of, updates=6).total(),
                     run(Batch(6, 1), sgd, updates=6).total(), 1e-2)


@case(1)
def norms_in_memory_and_by_torch():
    """libpollux and torch compute the same; torch has gradients of other devices and layouts."""
    random = torch.Generator().manual_seed(6)
    now, before, average = (torch.randn(3, 5000, generator=random) for _ in range(3))
    for scaling in (None, Scaling(average.square(), 0.99, 1e-8, 20)):
        found = []
        for native in (True, False):
            squares, dots, differences = Norms(2), Norms(2), Norms(2)
            if native:
                squares.add(1, now, scaling)
                difference(dots, differences, 1, before, now, scaling)
            else:
                squares.add_square(1, _divided(now, scaling))
                assert len(squares.pending) == 1    # read together, later
                wide = None if scaling is None else Scaling(
                    scaling.average[:, ::2], scaling.beta2, scaling.eps, scaling.step)
                difference(dots, differences, 1, before[:, ::2], now[:, ::2], wide)
                other = Norms(2), Norms(2)
                narrow = None if scaling is None else Scaling(
                    wide.average.contiguous(), wide.beta2, wide.eps, wide.step)
                difference(*other, 1, before[:, ::2].contiguous(), now[:, ::2].contiguous(), narrow)
                assert close(dots.values(), other[0].values(), 1e-5)
                assert close(differences.values(), other[1].values(), 1e-6)
            found.append(squares.values())
        assert found[0][0] == 0 and close(*found), found


@case(1)
def numbers_are_read_together():
    values = [torch.tensor(2.0), 3, torch.tensor([4], dtype=torch.int64), 5.5]
    assert numbers(values) == [2.0, 3, 4.0, 5.5] and numbers([]) == []


@contextlib.contextmanager
def as_on_a_device() -> Iterator[SimpleNamespace]:
    """Torch measures all gradients, as on a device.  Counts the times that numbers are transferred
    from there, and copies of more than one element in double."""
    counts = SimpleNamespace(transfers=0, copies=0)
    double = torch.Tensor.double

    def to_double(tensor: torch.Tensor) -> torch.Tensor:
        counts.copies += tensor.numel() > 1
        return double(tensor)

    def transferred(values: Sequence[Any]) -> list[float]:
        counts.transfers += 1
        return numbers(values)
    with mock.patch.object(norms, "_native", dict), \
            mock.patch.object(norms, "numbers", transferred), \
            mock.patch.object(torch.Tensor, "double", to_double):
        yield counts


@case(1)
def no_copies_in_double():
    """Neither by us nor, of more than a block, within torch."""
    random = torch.Generator().manual_seed(6)
    now, before, average = (torch.randn(3, 5000, generator=random) for _ in range(3))
    whole = now.numel() * 8
    for scaling in (None, Scaling(average.square(), 0.99, 1e-8, 20)):
        expected, found = ([Norms(1) for _ in range(3)] for _ in range(2))
        expected[0].add(0, now, scaling)
        difference(*expected[1:], 0, before, now, scaling)
        with as_on_a_device() as counts, mock.patch.object(norms, "BLOCK", 1000), \
                torch.profiler.profile(profile_memory=True) as profile:
            found[0].add(0, now, scaling)
            difference(*found[1:], 0, before, now, scaling)
        assert counts.copies == 0 and counts.transfers == 0
        assert max(event.cpu_memory_usage for event in profile.events()) < whole
        for a, b in zip(expected, found):
            assert close(a.values(), b.values(), 1e-6), (a.values(), b.values())


@case(1)
def halves_do_not_overflow():
    """The difference of finite gradients is finite."""
    for kind in (torch.float16, torch.bfloat16):
        large = torch.full((3,), 0.9 * torch.finfo(torch.float16).max, dtype=kind)
        dots, squares = Norms(1), Norms(1)
        difference(dots, squares, 0, large, -large, None)
        square = 3 * float(large[0]) ** 2
        assert close(dots.values(), [-square]) and close(squares.values(), [4 * square])


@case(1)
def numbers_of_an_update_are_transferred_together():
    """One transfer for all norms, and one for the steps of Adam if gradients are preconditioned."""
    def adam_of(model: Linear) -> torch.optim.Optimizer:
        return torch.optim.Adam(by_group(model), lr=0.01)

    for make, most in ((sgd, 1), (adam_of, 2)):
        for batch in (Batch(M0, 0), Batch(M0 // 2, 1)):
            with as_on_a_device() as counts:
                found = []

                def seen(_now: SimpleNamespace) -> None:
                    found.append(counts.transfers)
                    counts.transfers = 0
                run(batch, make, seen=seen, updates=20)
            assert min(found) == 1 and max(found) == most, found


@case(1)
def gradients_are_finite():
    finite = Finite()
    large = torch.full((700,), 1e30)  # its square is not a float
    kinds = [large, large[::2], torch.ones(3, dtype=torch.float64), torch.ones(2, 2).to_sparse(),
             torch.ones(3, dtype=torch.bfloat16), torch.ones((), dtype=torch.complex64)]
    assert finite([]) and finite(kinds[:1]) and finite(kinds)
    for value in (math.inf, -math.inf, math.nan):
        for place in range(len(kinds)):
            bad = [each.clone() for each in kinds]
            bad[place] = bad[place] * value
            assert not finite(bad), (value, place)
        last = torch.ones(1001)
        last[-1] = value
        assert not finite([large, last])


@case(1)
def gradients_are_held_only_to_be_compared():
    """Torch copies every gradient that is held."""
    held = []

    def seen(_now: SimpleNamespace) -> None:
        held.append(len(px.session().gradients._differences._previous))
    run(Batch(M0, 0), seen=seen, updates=12)
    assert held == [3, 0, 0, 0, 0, 0, 0, 0] + [3, 0, 0, 0], held


# ---- Learning-rate factors ----------------------------------------------------------------------

class Recording(torch.optim.SGD):
    """Records the learning rates of its last step."""

    def step(self, closure=None):
        self.rates = [group["lr"] for group in self.param_groups]
        return super().step(closure)


def factors(rule: str, expected: Callable[[SimpleNamespace, int], float]) -> None:
    seen_factors = []

    def seen(now: SimpleNamespace) -> None:
        evidence = now.reference.evidence
        for group, base in enumerate((0.1, 0.02)):
            assert now.opt.param_groups[group]["lr"] == base
            factor = now.opt.rates[group] / base
            assert close([factor], [expected(now, group)]), (rule, group, factor)
            if evidence.count() >= ENOUGH:
                seen_factors.append(factor)
        gain = px.metrics()["progress"] - now.before
        assert close([gain], [now.reference.gain(now.scale, M0 / now.dataset)]), (rule, gain)
        assert (gain > 1.01) == (evidence.count() >= ENOUGH)
    run(Batch(12, 1), lambda model: Recording(by_group(model), lr=0.1), rule=rule, seen=seen,
        updates=24)
    assert len(set(seen_factors)) > 1 or rule in ("linear", "sqrt")
    updates = 8 if REPLICAS == 1 else 7     # that had enough evidence
    assert len(seen_factors) == 2 * updates and all(factor != 1.0 for factor in seen_factors)


@case(1, 2)
def rates_by_each_rule():
    def gain(now: SimpleNamespace) -> float:
        return now.reference.gain(now.scale, M0 / now.dataset)
    factors("adascale", lambda now, group: gain(now))
    factors("adascale-groups", lambda now, group: now.reference.group_gain(group, now.scale))
    factors("adamscale", lambda now, group: math.sqrt(gain(now)))
    factors("linear", lambda now, group: now.scale)
    factors("sqrt", lambda now, group: math.sqrt(now.scale))
    factors("legw", lambda now, group: math.sqrt(now.scale) * min(
        1.0, now.before / (0.5 * now.scale * now.dataset / M0)))


@case(1)
def default_rules():
    optim = torch.optim
    expected = {"SGD": "adascale", **dict.fromkeys(
        ("Adam", "AdamW", "NAdam", "RAdam", "SparseAdam", "RMSprop"), "adamscale")}
    kinds = [kind for kind in vars(optim).values()
             if isinstance(kind, type) and issubclass(kind, optim.Optimizer)]
    assert len(kinds) > 10
    for kind in kinds:
        if kind is not optim.Optimizer:
            opt = kind([nn.Parameter(torch.ones(2, 2))], lr=0.1)
            assert rule_of(opt) == expected.get(kind.__name__), kind
    assert rule_of(optim.RMSprop([torch.ones(2)], centered=True)) is None
    assert rule_of(type("Own", (optim.SGD,), {})([torch.ones(2)], lr=0.1)) == "adascale"
    assert rule_of(type("Own", (optim.Optimizer,), {})([torch.ones(2)], {"betas": (0, 1)})) is None


# ---- Per-sample gradients -----------------------------------------------------------------------

def population(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> tuple[float, float]:
    """The expected sqr and var in a pass without repetition: |mean|^2 - V/N and V/M0, where V is
    the variance of per-sample gradients, summed over all parameters."""
    samples = []
    for i in range(len(x)):
        loss = nn.functional.cross_entropy(model(x[i:i + 1]), y[i:i + 1])
        grads = torch.autograd.grad(loss, list(model.parameters()))
        samples.append(torch.cat([grad.reshape(-1) for grad in grads]).double())
    table = torch.stack(samples)
    variance = float(table.var(0).sum())
    return float((table.mean(0) ** 2).sum()) - variance / len(x), variance / M0


def recorded(agent: Any, parts: int) -> list[tuple[float, float]]:
    """A list that gets sqr and var of each update from now on, computed from the agent's arguments.
    run() has shown that the agent averages these values."""
    values: list[tuple[float, float]] = []
    n = px.replicas() * parts
    original, original_single = agent.gradients, agent.gradients_single

    def gradients(parts, micro, mean):
        s, t = sum(micro), sum(mean)
        values.append(((n * t - s) / (n - 1), (s - t) / (n - 1)))
        return original(parts, micro, mean)

    def gradients_single(dot, difference):
        if dot is not None:
            values.append((sum(dot), sum(difference) / 2))
        return original_single(dot, difference)
    agent.gradients, agent.gradients_single = gradients, gradients_single
    return values


@case(1, 2, 3)
def per_sample_gradients():
    """The mean over many updates is within 5 standard errors, which are small enough to detect a
    wrong n."""
    random = torch.Generator().manual_seed(3)
    x = torch.randn(240, 6, generator=random)
    y = (x[:, 0] + x[:, 1] * x[:, 2] + torch.randn(240, generator=random) > 0).long()
    for parts in (1, 2) if REPLICAS == 1 else (1,):  # one replica: without and with accumulation
        px.close()
        px.init(adapt=False)
        torch.manual_seed(1)
        model = nn.Sequential(nn.Linear(6, 10), nn.ReLU(), nn.Linear(10, 2))
        expected = population(model, x, y)
        loader = DataLoader(TensorDataset(x, y), batch_size=M0, shuffle=True)
        opt = torch.optim.SGD(model.parameters(), lr=0.0)
        trained, opt, loader = px.prepare(
            model, opt, loader, local_batch=(1, M0 // px.replicas() // parts))
        values = recorded(px.session().agent, parts if px.replicas() == 1 else 1)
        every = 1 if parts * REPLICAS > 1 else COMPARE_EVERY
        for _epoch in px.epochs(every * (100 if os.environ.get("POLLUX_SOAK") else 12)):
            for part, label in loader:
                opt.zero_grad()
                nn.functional.cross_entropy(trained(part), label).backward()
                opt.step()
        if px.rank() == 0:
            table = torch.tensor(values, dtype=torch.float64)
            errors = table.std(0) / math.sqrt(len(values))
            assert len(values) >= 239 and errors[1] < 0.08 * expected[1], (len(values), errors)
            for found, value, error in zip(table.mean(0), expected, errors):
                assert abs(found - value) < 5 * error, (parts, found, value, error)
