# SPDX-License-Identifier: Apache-2.0
"""pollux.model: equal to values of the published implementation, for numbers, lists and arrays.
pollux.decide and pollux.simulate: they run the `pollux` command."""
from __future__ import annotations

import csv
import doctest
import json
import math
import subprocess
import sys

import numpy as np
import pytest

import pollux
from pollux import PolluxError, command
from pollux.model import (
    Batch,
    Best,
    Grad,
    Limits,
    Model,
    best_batch,
    curve,
    efficiency,
    fit,
    gain,
    goodput,
    noise_scale,
    step_time,
    throughput,
)

MODEL = Model(0.02, 0.0005, 0.05, 0.004, 0.01, 0.001, 1.6)
GRAD = Grad(1.0, 10.0)
LIMITS = Limits(64, 4096, 1, 512)


def columns(path):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}


# ---- Against the published implementation -----------------------------------------------------


def test_golden_goodput(golden):
    c = columns(golden / "goodput.csv")
    model = Model(*(c[name] for name in Model._fields))
    grad = Grad(c["grad_sqr"], c["grad_var"])
    place = (c["replicas"], c["local_bsz"], c["accum_steps"])
    total = c["replicas"] * c["local_bsz"] * (c["accum_steps"] + 1)
    pairs = [
        (throughput(model, *place, nodes=c["nodes"]), c["throughput"]),
        (efficiency(grad, c["init_batch"], total), c["efficiency"]),
        (goodput(model, grad, c["init_batch"], *place, nodes=c["nodes"]), c["goodput"]),
        (total / step_time(model, *place, nodes=c["nodes"]), c["throughput"]),
        (gain(grad, total / c["init_batch"]) * c["init_batch"] / total, c["efficiency"]),
    ]
    assert len(total) > 100
    for got, want in pairs:
        # Outside the domain pollux returns NaN; the published implementation returns a number.
        known = ~np.isnan(got)
        assert known.sum() > 100
        np.testing.assert_allclose(got[known], want[known], rtol=1e-9)
        assert (total[~known] < c["init_batch"][~known]).all()


def test_golden_best_batch(golden):
    c = columns(golden / "best_batch.csv")
    best = best_batch(
        Model(*(c[name] for name in Model._fields)),
        Grad(c["grad_sqr"], c["grad_var"]),
        Limits(*(c[name] for name in Limits._fields)),
        c["replicas"],
        nodes=c["nodes"],
        search="reference",
    )
    np.testing.assert_allclose(best.goodput, c["goodput"], rtol=1e-9)
    feasible = c["goodput"] > 0
    assert feasible.sum() > 100
    same = (best.batch.m == c["local_bsz"]) & (best.batch.s == c["accum_steps"])
    assert same[feasible].mean() > 0.99  # ties can be broken differently


def test_golden_fits(golden):
    for case in json.loads((golden / "fits.json").read_text()):
        samples = case["samples"]
        got = fit(
            *([sample[name] for sample in samples]
              for name in ("replicas", "local_bsz", "grad_s", "step_s")),
            nodes=[sample["nodes"] for sample in samples],
        )
        assert got.loss <= case["reference_loss"] + 1e-4


# ---- Numbers, lists and arrays ----------------------------------------------------------------


def test_numbers_give_numbers():
    for value in (
        goodput(MODEL, GRAD, 64, 4, 64),
        goodput(MODEL, GRAD, np.int64(64), np.int32(4), np.float64(64)),
        goodput(tuple(MODEL), GRAD, 64, 4, np.array(64)),
        goodput(MODEL._asdict(), {"sqr": 1, "var": 10, "other": 0}, 64, 4, 64),
    ):
        assert type(value) is float and value == goodput(MODEL, GRAD, 64, 4, 64)
    assert noise_scale(GRAD, 64) == 640
    assert gain(GRAD, 1) == 1 and efficiency(GRAD, 64, 64) == 1


def test_broadcasting():
    replicas, m = np.array([[1], [2], [4]]), np.array([64, 128])
    table = goodput(MODEL, GRAD, 64, replicas, m)
    assert table.shape == (3, 2) and table.dtype == float
    for i, k in enumerate((1, 2, 4)):
        for j, samples in enumerate((64, 128)):
            assert table[i, j] == goodput(MODEL, GRAD, 64, k, samples)
    # Arrays inside a model, and an empty array.
    slow = MODEL._replace(beta_grad=np.array([1e-4, 1e-3]))
    assert (throughput(slow, 1, replicas * 8).shape) == (3, 2)
    assert throughput(MODEL, 1, np.array([], dtype=int)).shape == (0,)
    with pytest.raises(ValueError):
        goodput(MODEL, GRAD, 64, np.array([1, 2, 3]), m)


def test_best_batch_of_arrays():
    best = best_batch(MODEL, GRAD, LIMITS, np.array([1, 2, 4]))
    ones = [best_batch(MODEL, GRAD, LIMITS, k) for k in (1, 2, 4)]
    assert best.batch.m.tolist() == [one.batch.m for one in ones]
    assert best.batch.s.tolist() == [one.batch.s for one in ones]
    assert best.goodput.tolist() == [one.goodput for one in ones]
    assert type(ones[0].batch.m) is int


def test_lists_need_no_numpy():
    code = (
        "import sys\nsys.modules['numpy'] = None\n"
        "from pollux.model import *\n"
        f"model, grad, limits = {tuple(MODEL)}, {tuple(GRAD)}, {tuple(LIMITS)}\n"
        "got = goodput(model, grad, 64, [1, 2, 4], 64)\n"
        "assert got == [goodput(model, grad, 64, k, 64) for k in (1, 2, 4)]\n"
        "assert best_batch(model, grad, limits, range(1, 4)).goodput == "
        "[best.goodput for best in curve(model, grad, limits, 3).one_node]\n"
        "fit([1, 2], 10, [1.0, 1.0], [1.0, 1.5])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with pytest.raises(ValueError, match="equal lengths"):
        goodput(MODEL, GRAD, 64, [1, 2, 3], [64, 128])


def test_curve_is_best_batch_point_by_point():
    both = curve(MODEL, GRAD, LIMITS, 6)
    for k in range(1, 7):
        assert both.one_node[k - 1] == best_batch(MODEL, GRAD, LIMITS, k)
        if k > 1:
            assert both.many_nodes[k - 1] == best_batch(MODEL, GRAD, LIMITS, k, nodes=2)
    assert both.many_nodes[0] == Best(Batch(0, 0), 0.0)


def test_fit_finds_a_known_model():
    rows = [(n, k, m) for m in (8, 32, 128) for n, k in ((1, 1), (1, 2), (1, 4), (2, 4), (4, 16))]
    nodes, replicas, m = np.array(rows).T
    grad_s = MODEL.alpha_grad + MODEL.beta_grad * m
    step_s = step_time(MODEL, replicas, m, nodes=nodes)
    found = fit(replicas, m, grad_s, step_s, nodes=nodes)
    predicted = step_time(found.model, replicas, m, nodes=nodes)
    np.testing.assert_allclose(predicted, step_s, rtol=0.02)
    again = fit(replicas, m, grad_s, step_s, nodes=nodes, weight=2.0, last=found.model)
    assert again.loss <= found.loss + 1e-9


def test_tour(root, monkeypatch):
    monkeypatch.chdir(root)
    done = doctest.testfile(str(root / "docs" / "tour.md"), module_relative=False)
    assert done.attempted > 5 and done.failed == 0


# ---- Invalid arguments ------------------------------------------------------------------------


def test_values_outside_the_domain_are_nan():
    assert math.isnan(goodput(MODEL, GRAD, 64, 1, 1))
    assert math.isnan(throughput(MODEL, 0, 1))
    assert math.isnan(gain(GRAD, 0))


def test_invalid_arguments_are_refused():
    with pytest.raises(PolluxError, match="max_batch") as caught:
        best_batch(MODEL, GRAD, (64, 1, 1, 1), 4)
    assert caught.value.code == 22
    with pytest.raises(PolluxError, match="no samples"):
        fit([], [], [], [])
    with pytest.raises(PolluxError, match="sample 2"):
        fit([1, 1], [8, 0], [1.0, 1.0], [1.0, 1.0])
    with pytest.raises(PolluxError, match="max_replicas"):
        curve(MODEL, GRAD, LIMITS, 0)
    with pytest.raises(ValueError, match="whole number"):
        goodput(MODEL, GRAD, 64, 4, 1.5)
    with pytest.raises(OverflowError):
        goodput(MODEL, GRAD, 64, (1 << 32) + 1, 64)
    with pytest.raises(ValueError, match="exact or reference"):
        best_batch(MODEL, GRAD, LIMITS, 1, search="other")
    with pytest.raises(TypeError, match="Grad has no var"):
        goodput(MODEL, {"sqr": 1}, 64, 1, 64)


# ---- The command ------------------------------------------------------------------------------

PROBLEM = {
    "nodes": [{"name": "a", "gpus": 4}, {"name": "b", "gpus": 4}],
    "jobs": [
        {
            "name": name,
            "age": 100,
            "model": MODEL._asdict(),
            "grad": GRAD._asdict(),
            **LIMITS._asdict(),
            "max_replicas": 8,
        }
        for name in ("x", "y")
    ],
}


def test_decide(tmp_path):
    plan = pollux.decide(PROBLEM, seed=1)
    assert sum(plan["allocations"]["x"].values()) == plan["jobs"]["x"]["replicas"] > 0
    file = tmp_path / "-problem.json"
    file.write_text(json.dumps(PROBLEM))
    same = pollux.decide(file, policy="pollux", explain=True)
    assert same["allocations"] == plan["allocations"] and set(same["explain"]) == {"x", "y"}
    assert set(pollux.decide(str(file), explain="x")["explain"]) == {"x"}


def test_simulate(root, tmp_path):
    results = pollux.simulate(policy=["las", "equal-share"], no_times=True, threads=None)
    assert set(results["policies"]) == {"las", "equal-share"}
    assert results == pollux.simulate(policy="las,equal-share", no_times=True, nodes=16)
    assert results["agent"] == "published"
    assert pollux.simulate(policy="las", agent="real")["agent"] == "real"


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: pollux.decide({"nodes": 3}), r"nodes: expected an array"),
        (lambda: pollux.decide("/nowhere/problem.json"), r"^/nowhere/problem.json: cannot read"),
        (lambda: pollux.decide(PROBLEM, polcy="pollux"), r"did you mean --policy"),
        (lambda: pollux.simulate(policy="none"), r"no policy is called 'none'"),
        (lambda: pollux.simulate("/nowhere/workload.csv"), r"/nowhere/workload.csv"),
    ],
)
def test_errors_of_the_command(call, message):
    with pytest.raises(PolluxError, match=message) as caught:
        call()
    assert caught.value.code == 22


def test_split_batch():
    assert pollux.model.split_batch(256, 3, 64) == (43, 1)
    assert pollux.model.split_batch(100, 8, 256, min_steps=2) == (7, 1)
    assert pollux.model.split_batch(256, 0, 64) == (0, 0)


def test_finding_the_command(monkeypatch, tmp_path, build):
    assert command.command() == str(build / "pollux")
    monkeypatch.setenv("POLLUX_BUILD", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PolluxError, match="no `pollux` command .* run `make`") as caught:
        pollux.decide(PROBLEM)
    assert caught.value.code == 2
    (tmp_path / "pollux").symlink_to(build.resolve() / "pollux")
    assert pollux.decide(PROBLEM)["policy"] == "pollux"
    monkeypatch.setenv("POLLUX_COMMAND", "/nowhere/pollux")
    with pytest.raises(PolluxError, match="cannot run /nowhere/pollux"):
        pollux.decide(PROBLEM)
    monkeypatch.setenv("POLLUX_COMMAND", "/bin/false")
    with pytest.raises(PolluxError, match="pollux decide ended with 1") as caught:
        pollux.decide(PROBLEM)
    assert caught.value.code == 5


def test_limit_of_the_gain():
    """phi = 3 M0: the gain of 3 M0 is 2."""
    free, limited = Grad(1.0, 3.0), Grad(1.0, 3.0, 2.0)
    assert gain(free, 3) == gain(limited, 3) == 2
    assert gain(free, 9) == 3 and gain(limited, 9) == 2
    assert gain({"sqr": 1, "var": 3}, 9) == 3
    assert gain({"sqr": 1, "var": 3, "gain_max": 2}, 9) == 2
