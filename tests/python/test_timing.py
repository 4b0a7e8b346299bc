# SPDX-License-Identifier: Apache-2.0
"""Step times on an accelerator: events of a pretended one, which runs its kernels later than the
program queues them."""
from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

import pollux.torch as px  # noqa: E402
from pollux.agent import Batch  # noqa: E402
from pollux.torch.timing import EventTimes, Times, times_of  # noqa: E402


class Device:
    """Runs what is queued when it is waited for."""

    def __init__(self):
        self.now_ms = 0.0
        self.queue = []
        self.waits = 0

    def kernel(self, ms):
        self.queue.append(ms)

    def record(self):
        event = Event(self)
        event.record()
        return event

    def run(self):
        for item in self.queue:
            if isinstance(item, Event):
                item.at_ms = self.now_ms
            else:
                self.now_ms += item
        self.queue.clear()


class Event:
    """Has the interface of torch.cuda.Event."""

    def __init__(self, device):
        self.device = device
        self.at_ms = None

    def record(self):
        self.device.queue.append(self)

    def synchronize(self):
        self.device.waits += 1
        self.device.run()

    def elapsed_time(self, other):
        assert self.at_ms is not None and other.at_ms is not None, "read before it has happened"
        return other.at_ms - self.at_ms


def update(times, device, micro_ms, reduce_ms, step_ms):
    """An update with these kernels.  Returns what is read when its gradients are known."""
    times.begin()
    for place, ms in enumerate(micro_ms):
        if place > 0:
            times.micro_end()
        device.kernel(ms)
    times.computed()
    if reduce_ms is not None:
        device.kernel(reduce_ms)
        times.reduced()
    found = times.read()
    device.kernel(step_ms)
    times.end()
    return found


def test_times_are_those_of_the_device():
    device = Device()
    times = EventTimes(device.record)
    assert times.read() is None
    device.kernel(1000.0)  # of other work, before
    assert update(times, device, [10, 14, 30], None, 8) == pytest.approx((0.012, 0.030))
    # the step of the update before counts
    assert update(times, device, [10, 14, 30], None, 4) == pytest.approx((0.012, 0.038))
    # averaging is part of the last micro-step only
    assert update(times, device, [20], 5, 4) == pytest.approx((0.024, 0.029))
    assert update(times, device, [20, 20], 5, 4) == pytest.approx((0.020, 0.029))
    assert device.waits == 4  # once per update


def test_an_update_without_a_backward_has_no_times():
    device = Device()
    times = EventTimes(device.record)
    times.begin()
    assert times.read() is None
    times.end()
    assert update(times, device, [10], None, 8) == pytest.approx((0.010, 0.010))


@pytest.fixture
def closed():
    yield
    px.close()


@pytest.mark.parametrize("batch", [Batch(8, 0), Batch(4, 1)])
def test_the_agent_gets_them(closed, monkeypatch, batch):
    """Kernels of 3 ms for a sample and 7 ms for a step, queued by the program."""
    device = Device()
    module = sys.modules["pollux.torch.session"]  # px.session is a function
    monkeypatch.setattr(module, "times_of", lambda model: EventTimes(device.record))

    class Optimizer(torch.optim.SGD):
        def step(self, closure=None):
            device.kernel(7)
            return super().step(closure)
    px.init()
    model = torch.nn.Linear(4, 1)
    optimizer = Optimizer(model.parameters(), lr=0.01)
    model, optimizer, loader = px.prepare(
        model, optimizer, DataLoader(TensorDataset(torch.randn(80, 4)), batch_size=8))
    agent = px.session().agent
    agent.set_fixed(batch)
    seen = []
    monkeypatch.setattr(agent, "step_times", lambda *found: seen.append(found))
    for _epoch in px.epochs(1):
        for x, in loader:
            device.kernel(3 * len(x))
            model(x).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    assert len(seen) == 10
    alone = 0.024 + 0.007 if batch.s == 0 else 0.012
    for micro_s, last_s in seen[1:]:
        assert micro_s == pytest.approx(alone)
        assert last_s == pytest.approx(0.003 * batch.m + 0.007)


def test_events_are_those_of_the_device_of_the_model(monkeypatch):
    """The program need not have made it the current one by torch.cuda.set_device()."""
    streams = {0: Device(), 1: Device()}

    class CudaEvent(Event):
        def __init__(self, enable_timing):
            assert enable_timing
            super().__init__(None)

        def record(self, stream=None):
            self.device = stream or streams[0]
            super().record()
    monkeypatch.setattr(torch.cuda, "Event", CudaEvent)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device=0: streams[device])
    parameters = [SimpleNamespace(is_cuda=False, device="cpu"),
                  SimpleNamespace(is_cuda=True, device=1)]
    times = times_of(SimpleNamespace(parameters=lambda: iter(parameters)))
    assert update(times, streams[1], [10, 14, 30], None, 8) == pytest.approx((0.012, 0.030))
    assert not streams[0].queue and streams[1].waits == 1


def test_a_cpu_has_the_clock_of_the_agent():
    assert type(times_of(torch.nn.Linear(2, 2))) is Times
