# SPDX-License-Identifier: Apache-2.0
"""px.metrics(), the log of JSON lines and the writer of graphs."""
from __future__ import annotations

import json
import math
import os

import pytest

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

import pollux.torch as px  # noqa: E402
from pollux.agent import Batch  # noqa: E402
from pollux.model import efficiency  # noqa: E402
from pollux.torch.report import Reporter  # noqa: E402

KEYS = {"epoch", "progress", "replicas", "batch", "local_batch", "accumulation", "throughput",
        "efficiency", "goodput", "noise_scale", "noise_unbiased", "gain", "lr_factor"}


@pytest.fixture(autouse=True)
def closed():
    """Close the session after each test."""
    yield
    px.close()


class Writer:
    """Has the interface of TensorBoard's SummaryWriter."""

    def __init__(self):
        self.scalars = []

    def add_scalar(self, tag, value, step):
        assert isinstance(value, (int, float)) and isinstance(step, int)
        self.scalars.append((tag, value, step))


def prepared(groups=1, samples=64, max_batch=32, local_batch=None, **options):
    px.init(**options)
    torch.manual_seed(0)
    layers = [torch.nn.Linear(4, 4) for _group in range(groups)]
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.SGD([{"params": each.parameters()} for each in layers], lr=0.01)
    data = TensorDataset(torch.randn(samples, 4))
    return px.prepare(model, optimizer, DataLoader(data, batch_size=8), max_batch=max_batch,
                      local_batch=local_batch)


def train(model, optimizer, loader, epochs=1, after_update=lambda: None, noise=0.0):
    for _epoch in px.epochs(epochs):
        for (x,) in loader:
            target = noise * torch.randn(len(x), 4)
            (model(x) - target).square().sum(1).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            after_update()


def test_unknown_metrics_are_none():
    prepared()
    metrics = px.metrics()
    assert set(metrics) == KEYS
    unknown = {name for name, value in metrics.items() if value is None}
    assert unknown == {"batch", "local_batch", "accumulation", "throughput", "efficiency",
                       "goodput", "noise_scale", "noise_unbiased"}
    assert metrics["epoch"] == 0 and metrics["progress"] == 0 and metrics["replicas"] == 1


def test_metrics_are_consistent():
    seen = []
    train(*prepared(), after_update=lambda: seen.append(px.metrics()))
    # The first updates of one replica are probes, in two micro-steps.
    expected = [progress for k in range(8) for progress in (k, k + 1)]
    assert [metrics["progress"] for metrics in seen] == expected
    last = seen[-1]
    # The noise is unknown if the measurements of the squared gradient have a mean below 0.
    assert set(last) == KEYS and {key for key in last if last[key] is None} <= {"noise_unbiased"}
    assert last["batch"] == last["replicas"] * last["local_batch"] * (last["accumulation"] + 1) == 8
    assert last["goodput"] == pytest.approx(last["throughput"] * last["efficiency"])
    assert 0 < last["efficiency"] <= 1 and last["throughput"] > 0
    assert last["noise_scale"] >= 0 and last["gain"] == 1 and last["lr_factor"] == [1.0]


def test_the_batch_is_the_jobs_also_before_a_probe():
    """The first updates of one replica are probes: the same samples in two micro-steps."""
    seen = []

    def after_update():
        metrics, advised = px.metrics(), px.session().advice.batch
        seen.append((metrics["batch"], metrics["local_batch"], metrics["accumulation"], advised))
    train(*prepared(samples=160), after_update=after_update)
    assert {advised for *_job, advised in seen} == {(8, 0), (4, 1)}
    assert {tuple(job) for *job, _advised in seen} == {(8, 8, 0)}


@pytest.mark.parametrize("noise, limited", [(0.3, False), (3.0, True)])
def test_efficiency_is_that_of_the_gain(noise, limited):
    """The agent books less progress than the averages of the noise promise: its estimate is
    careful, and its gain is limited, here to 4."""
    seen = []

    def after_update():
        session, metrics = px.session(), px.metrics()
        if session.accumulating:
            return
        gain, batch = metrics["gain"], metrics["batch"]
        assert batch == 64 and metrics["efficiency"] == gain * 8 / batch
        assert metrics["efficiency"] < efficiency(session._grad, 8, batch)
        assert session.expected_gain(batch) == gain and session.expected_gain(1 << 20) <= 4
        assert len(loader) == math.ceil(128 / gain) * 2
        seen.append(gain)
    model, optimizer, loader = prepared(samples=1024, local_batch=(8, 32), max_batch=64)
    px.session().agent.set_fixed(Batch(32, 1))
    train(model, optimizer, loader, after_update=after_update, noise=noise)
    assert min(seen) == 1 < max(seen) and (max(seen) == 4) == limited, seen


def test_a_short_update_counts_as_one():
    train(*prepared(samples=68))
    metrics = px.metrics()
    assert metrics["gain"] == 1 and metrics["lr_factor"] == [1.0] and metrics["progress"] == 9


def test_lines_are_json_and_graphs_show_progress(tmp_path):
    log, writer = tmp_path / "metrics.jsonl", Writer()
    log.write_text('{"of": "an earlier generation"}\n')
    train(*prepared(groups=2, log=str(log), writer=writer, report_every=1.0), epochs=2)
    first, *lines = [json.loads(line, parse_constant=pytest.fail)
                     for line in log.read_text().splitlines()]
    assert first == {"of": "an earlier generation"}
    assert lines and all(set(line) == KEYS | {"time"} for line in lines)
    assert lines[-1]["epoch"] == 2 and lines[-1]["progress"] == pytest.approx(16)
    assert [line["time"] for line in lines] == sorted(line["time"] for line in lines)
    tags = {tag for tag, _value, _step in writer.scalars}
    assert tags <= {f"pollux/{name}" for name in [*KEYS, "lr_factor/0", "lr_factor/1"]}
    assert {"pollux/batch", "pollux/throughput", "pollux/lr_factor/1"} <= tags
    assert max(step for _tag, _value, step in writer.scalars) == 16


def test_reports_have_a_period_between_them(tmp_path):
    log = tmp_path / "metrics.jsonl"
    reporter = Reporter(str(log), None, 1000.0)
    reporter.report(lambda: pytest.fail("reported before the end of the period"))
    reporter.report(lambda: {"progress": 1.0, "lr_factor": [1.0]}, last=True)
    reporter.close()
    assert json.loads(log.read_text())["progress"] == 1.0


def test_a_log_on_a_full_disk_ends_with_one_message(capfd):
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    reporter = Reporter("/dev/full", None, 0.0)
    for _report in range(3):
        reporter.report(lambda: {"progress": 1.0})
    assert capfd.readouterr().err.count("no more metrics") == 1


def test_throughput_is_by_the_clock_of_the_session():
    now = [0.0]

    def after_update():
        if not px.session().accumulating:
            now[0] += 0.5
    train(*prepared(clock=lambda: now[0]), after_update=after_update)
    metrics = px.metrics()
    assert metrics["throughput"] == pytest.approx(8 / 0.5)
    assert metrics["goodput"] == metrics["throughput"] * metrics["efficiency"]


def test_throughput_excludes_pauses():
    now = [0.0]
    reporter = Reporter(None, None, 30.0, lambda: now[0])
    assert reporter.throughput() is None
    for pause in (0.5, 0.5, 100.0, 0.5):
        if pause > 1:
            reporter.pause()
        now[0] += pause
        reporter.updated(50)
    assert reporter.throughput() == pytest.approx(100.0)


def test_an_infinite_noise_scale_is_none():
    model, optimizer, loader = prepared(adapt=False)
    train(model, optimizer, loader)
    values = Reporter(None, None, 30.0).metrics(px.session(), (0.0, 1.0))
    assert values["noise_scale"] is None
    assert all(math.isfinite(value) for value in values.values() if isinstance(value, float))


def test_calls_before_prepare_are_refused():
    for call in (px.metrics, lambda: next(px.epochs(1)), lambda: next(px.steps(1))):
        with pytest.raises(RuntimeError, match=r"px\.init\(\)"):
            call()
    px.init()
    for call in (px.metrics, lambda: next(px.epochs(1)), lambda: next(px.steps(1))):
        with pytest.raises(RuntimeError, match=r"px\.prepare\(\)"):
            call()
    px.close()
    prepared()
    with pytest.raises(ValueError, match="passes, progress"):
        next(px.epochs(1, by="steps"))
