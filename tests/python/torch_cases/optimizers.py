# SPDX-License-Identifier: Apache-2.0
"""Optimizers that no learning-rate rule suits keep M0 and say so; the decay of weights follows the
gain."""
from __future__ import annotations

import contextlib
import io
import json
import os
import socket
import tempfile
from typing import Any, Iterator

import torch
from torch.utils.data import DataLoader

import pollux.torch as px
from pollux.agent import Agent, Batch
from pollux.torch.patches import scaled, scaled_decay, scaled_rates

from . import case
from .programs import REPLICAS
from .reference import close
from .tasks import BATCH, assert_same, body, make, noise, plain, prepared, table

MOST: dict = {"max_batch": 4 * BATCH, "local_batch": (1, 4 * BATCH)}


class Own(torch.optim.Optimizer):
    """An optimizer of the program: a step in the direction of the gradient's signs."""

    def __init__(self, parameters: Any) -> None:
        super().__init__(parameters, {"lr": 0.01})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter -= group["lr"] * parameter.grad.sign()


def without_rule() -> list:
    some = [Own, lambda some: torch.optim.RMSprop(some, lr=0.01, centered=True)]
    for kind in (torch.optim.Adam, torch.optim.AdamW):
        some.append(lambda some, kind=kind: kind([{"params": some[:1]},
                                                  {"params": some[1:], "amsgrad": True}], lr=0.01))
    for name in ("Adagrad", "Adamax", "Adadelta", "Rprop", "Adafactor"):
        kind = getattr(torch.optim, name, None)  # Adafactor is of PyTorch 2.x
        if kind is not None:
            some.append(lambda some, kind=kind: kind(some, lr=0.01))
    return some


@contextlib.contextmanager
def reports() -> Iterator[list[dict]]:
    """The list gets what the agent reports inside the block, until the session is closed."""
    found: list[dict] = []
    with tempfile.TemporaryDirectory() as folder, \
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind(f"{folder}/socket")
        server.setblocking(False)
        os.environ.update(POLLUX_SOCKET=f"{folder}/socket", POLLUX_GENERATION="1")
        try:
            yield found
            px.close()
            with contextlib.suppress(BlockingIOError):
                while True:
                    found.append(json.loads(server.recv(65536)))
        finally:
            del os.environ["POLLUX_SOCKET"], os.environ["POLLUX_GENERATION"]


@case(1)
def an_optimizer_without_a_rule_keeps_m0():
    """As without Pollux, and the scheduler is not promised larger batches."""
    for optimizer in without_rule():
        def made():
            return make(optimizer)
        expected = plain(made)
        with contextlib.redirect_stderr(io.StringIO()) as stderr, reports() as found:
            run = prepared(made, adapt=True, **MOST)
            assert px.metrics()["progress"] == 12 and set(px.metrics()["lr_factor"]) == {1.0}
        assert_same(expected, run)
        assert found[-1]["max_batch"] == BATCH, found[-1]
        said = stderr.getvalue()
        assert said.count("\n") == 1 and "M0 = 8" in said, said
        assert type(run.opt).__name__ in said and "rule=" in said, said


@case(1)
def a_rule_of_the_programs_choice():
    """It is used with any optimizer.  Nothing is said, nor if only M0 is allowed or there is a
    rule."""
    def max_batch(optimizer: Any, **options: Any) -> int:
        with contextlib.redirect_stderr(io.StringIO()) as stderr, reports() as found:
            prepared(lambda: make(optimizer), adapt=True, **options)
        assert not stderr.getvalue(), stderr.getvalue()
        return found[-1]["max_batch"]
    assert max_batch(Own, rule="sqrt", **MOST) == 4 * BATCH
    assert max_batch(lambda some: torch.optim.Adam(some, amsgrad=True), rule="adamscale",
                     **MOST) == 4 * BATCH
    assert max_batch(Own) == BATCH
    assert max_batch(lambda some: torch.optim.RMSprop(some, lr=0.01), **MOST) == 4 * BATCH


class FusedAdam(torch.optim.Optimizer):
    """Adam with the state of apex: the number of steps is in the group."""

    def __init__(self, parameters: Any) -> None:
        super().__init__(parameters, {"lr": 0.01, "betas": (0.9, 0.999), "eps": 1e-8})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            group["step"] = group.get("step", 0) + 1
            for parameter in group["params"]:
                self.update(parameter, group, group["step"])

    def update(self, parameter: torch.Tensor, group: dict, step: int,
               keys: tuple = ("exp_avg", "exp_avg_sq")) -> None:
        (beta1, beta2), state = group["betas"], self.state[parameter]
        m, v = (state.setdefault(key, torch.zeros_like(parameter)) for key in keys)
        m.lerp_(parameter.grad, 1 - beta1)
        v.mul_(beta2).addcmul_(parameter.grad, parameter.grad, value=1 - beta2)
        divisor = (v / (1 - beta2 ** step)).sqrt_().add_(group["eps"])
        parameter -= group["lr"] * m / (1 - beta1 ** step) / divisor


class AdamW(FusedAdam):
    """The state of bitsandbytes: moments have other names, and may be quantized."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                step = self.state[parameter].get("step", 0) + 1
                self.state[parameter]["step"] = step
                self.update(parameter, group, step, ("state1", "state2"))


@case(1, 2)
def adam_that_counts_its_steps_in_the_group():
    """It is measured as Adam of torch."""
    found = []
    for optimizer in (FusedAdam, lambda some: torch.optim.Adam(some, lr=0.01)):
        with contextlib.redirect_stderr(io.StringIO()) as stderr:
            prepared(lambda: make(optimizer), adapt=True, epochs=3, local_batch=(1, 2))
        assert not stderr.getvalue() and px.session().adapt, stderr.getvalue()
        found.append(noise())
    assert close(*found), found


@case(1, 2)
def adam_without_known_moments_keeps_m0():
    """One sentence says so, and the noise, which is not that of its steps, decides nothing.  With a
    rule of the program's choice it does."""
    def made() -> Any:
        return make(AdamW)
    for epochs, rule in ((8, None), (2, None), (8, "adamscale")):
        with contextlib.redirect_stderr(io.StringIO()) as stderr:
            run = prepared(made, adapt=True, epochs=epochs, rule=rule, **MOST)
        said, gain_max = stderr.getvalue(), px.session().agent.grads()[1][2]
        assert px.session().adapt == (rule is not None)
        if rule is None:
            assert said.count("\n") == (px.rank() == 0), said
            assert "AdamW" in said and "M0 = 8" in said or px.rank() > 0, said
            assert gain_max == 1 and px.metrics()["batch"] == BATCH
            assert_same(plain(made, epochs=epochs), run)
        else:
            assert not said and (px.rank() > 0 or gain_max == 4), (said, gain_max)


@case(2)
def replicas_without_a_rule_keep_m0():
    def made():
        return make(lambda some: torch.optim.Adagrad(some, lr=0.01))
    with contextlib.redirect_stderr(io.StringIO()) as stderr:
        run = prepared(made, adapt=True, **MOST)
    assert_same(plain(made), run)
    assert px.metrics()["batch"] == BATCH and REPLICAS == px.replicas()
    assert ("Adagrad" in stderr.getvalue()) == (px.rank() == 0)


@case(1, 2)
def the_rate_of_a_short_batch():
    """Fewer than M0 samples are an update of M0: with its rate, but Adam still remembers the larger
    batches before, so that its rate is lower."""
    def recording(kind: type, **options: Any) -> Any:
        class Recording(kind):
            def step(self, closure: Any = None) -> Any:
                self.rate = self.param_groups[0]["lr"]
                return super().step(closure)
        return lambda some: Recording(some, lr=1e-3, **options)
    adam = recording(torch.optim.Adam, betas=(0.9, 0.9))
    for optimizer, rule in ((adam, None), (recording(torch.optim.SGD), None), (adam, "linear"),
                            (adam, "sqrt"), (adam, "legw")):
        px.close()
        px.init()
        run = make(optimizer)
        loader = DataLoader(table(40 * 4 * BATCH + 5), BATCH)
        run.model, run.opt, loader = px.prepare(run.model, run.opt, loader, rule=rule, **MOST)
        px.session().agent.set_fixed(Batch(2 * BATCH // REPLICAS, 1))
        for _epoch in px.epochs(1, by="passes"):
            for x, y in loader:
                body(run, x, y)
        gain, factor = px.metrics()["gain"], run.opt.rate / 1e-3
        assert px.session().samples == 5 and gain > 1.2, px.metrics()
        expected = (0.9 / gain + 0.1) ** 0.5 if optimizer is adam and rule is None else 1.0
        assert abs(factor - expected) < (0.1 if expected < 1 else 1e-12), (rule, factor, expected)


@case(1)
def weights_decay_as_in_updates_with_m0():
    """lr x factor x decay is gain x lr x decay in groups whose weights decay beside the step."""
    def groups() -> list[dict]:
        return [{"params": [torch.nn.Parameter(torch.ones(2))], "weight_decay": decay}
                for decay in (0.1, 0.0, 0.3)]
    kinds = {torch.optim.AdamW: True, torch.optim.Adam: False, torch.optim.SGD: False}
    for kind, apart in kinds.items():
        opt = kind(groups(), lr=0.5)
        before = [group["weight_decay"] for group in opt.param_groups]
        with scaled_rates(opt.param_groups, lambda index: 2.0 + index), \
                scaled_decay(opt, lambda index: 2.0 + index, 3.0):
            for group, decay in zip(opt.param_groups, before):
                expected = 3.0 * 0.5 * decay if apart else group["lr"] * decay
                assert abs(group["lr"] * group["weight_decay"] - expected) < 1e-12, kind
        assert [group["weight_decay"] for group in opt.param_groups] == before
    opt = torch.optim.SGD(groups(), lr=0.5)
    opt.param_groups[2]["decoupled_weight_decay"] = True  # as NAdam of PyTorch 2.x has it
    with scaled_decay(opt, lambda index: 2.0 + index, 3.0):
        assert [group["weight_decay"] for group in opt.param_groups] == [0.1, 0.0, 0.3 * 3.0 / 4.0]


@case(1)
def adam_forgets_gradients_as_in_updates_with_m0():
    """beta1 ^ gain during an update, beta1 after it; not if the rate is a tensor."""
    groups = [{"params": [torch.nn.Parameter(torch.ones(2))], "betas": (beta1, 0.999)}
              for beta1 in (0.9, 0.5)]
    for kind in (torch.optim.Adam, torch.optim.AdamW):
        opt = kind([dict(group) for group in groups], lr=0.5)
        with scaled(opt, lambda _index: 2.0, 3.0):
            during = [group["betas"] for group in opt.param_groups]
        assert during == [(0.9 ** 3.0, 0.999), (0.5 ** 3.0, 0.999)], during
        assert [group["betas"] for group in opt.param_groups] == [(0.9, 0.999), (0.5, 0.999)]
        opt.param_groups[0]["lr"] = torch.tensor(0.5)
        with scaled(opt, lambda _index: 2.0, 3.0):
            assert opt.param_groups[0]["betas"] == (0.9, 0.999)
    opt = torch.optim.Adamax(groups, lr=0.5)  # has betas, and no rule
    with scaled(opt, lambda _index: 2.0, 3.0):
        assert opt.param_groups[0]["betas"] == (0.9, 0.999)


@case(1)
def sgd_forgets_gradients_as_in_updates_with_m0():
    """With gain 3, one update with a gradient changes the sum of momentum as three updates with M0
    do; the options are restored.  Nesterov's form and rates that are tensors stay as they are."""
    for dampening in (0.0, 0.25):
        places = [torch.zeros(3, dtype=torch.float64, requires_grad=True) for _ in range(2)]
        opts = [torch.optim.SGD([place], lr=0.5, momentum=0.9, dampening=dampening)
                for place in places]
        for value in (1.0, -2.0, 5.0):
            for place in places:
                place.grad = torch.full_like(place, value)
            with scaled(opts[0], lambda _index: 3.0, 3.0):
                opts[0].step()
            for _ in range(3):
                opts[1].step()
            if value == 1.0:    # torch begins with the gradient itself, without dampening
                for opt, place in zip(opts, places):
                    opt.state[place]["momentum_buffer"].fill_(2.0)
                continue
            sums = [opt.state[place]["momentum_buffer"] for opt, place in zip(opts, places)]
            assert torch.allclose(*sums, rtol=1e-12), (dampening, value, sums)
        assert opts[0].param_groups[0]["momentum"] == 0.9
        assert opts[0].param_groups[0]["dampening"] == dampening
    for options in ({"lr": 0.5, "nesterov": True}, {"lr": torch.tensor(0.5)}):
        try:
            opt = torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], momentum=0.9, **options)
        except (TypeError, ValueError):     # tensors as rates came with torch 2
            continue
        with scaled(opt, lambda _index: 3.0, 3.0):
            assert opt.param_groups[0]["momentum"] == 0.9


@case(1)
def adam_moves_as_far_per_progress_as_with_m0():
    """On gradients of constant mean with Gaussian noise of known size, in every 100 of progress,
    while the batch changes.  The agent gets the energy of every eighth update, as in training."""
    size, sqr, var = 1000, 1.0, 12.0    # squared mean and variance at M0, per element
    place = torch.zeros(size, dtype=torch.float64, requires_grad=True)
    opt = torch.optim.Adam([place], lr=1.0, betas=(0.9, 0.99))
    agent = Agent(BATCH, max_batch=16 * BATCH, local_batch=(1, 8 * BATCH), accumulation=True,
                  rule="adamscale", beta2=0.99, fixed=Batch(BATCH // 2, 1))
    unit = (sqr / (sqr + var)) ** 0.5   # of an update with M0
    updates, progress, begun, seen = 0, 0.0, 0.0, []
    for scale, end in ((1, 1000), (4, 2000), (16, 3000), (2, 4000)):
        agent.set_fixed(Batch(scale * BATCH // 2, 1))
        while progress < end:
            place.grad = sqr ** 0.5 + (var / scale) ** 0.5 * torch.randn_like(place)
            agent.step_begin()
            if updates % 8 == 0:
                agent.energy(float((place.grad ** 2).sum()))
            noise_of_mean = size * var / scale
            agent.gradients(2, [size * sqr + 2 * noise_of_mean], [size * sqr + noise_of_mean])
            agent.decide()
            advice = agent.follow()
            with scaled(opt, agent.factor, advice.gain):
                opt.step()
            agent.step_end()
            updates, progress = updates + 1, advice.progress
            if progress - begun >= 100:
                moved = -float(place.detach().mean()) / (progress - begun) / unit
                seen.append((scale, round(progress), round(advice.gain, 2), round(moved, 3)))
                place.data.zero_()
                begun = progress
    assert {gain for _scale, _progress, gain, _moved in seen} == {1.0, 3.25, 7.43, 1.86}, seen
    assert all(0.85 <= moved <= 1.15 for *_which, moved in seen), seen
