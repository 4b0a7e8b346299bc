# SPDX-License-Identifier: Apache-2.0
"""A second implementation of the simulator's rules for clusters with types: one job with a fixed batch, alone, by the
numbers of its profile.  docs/formats.md and tests/data/types/README.md have the rules.

    sim_types_reference.py PROFILES.json TYPE SLOTS_PER_NODE APPLICATION REPLICAS BATCH

prints the seconds from submission at time 0 to completion, with rounds every 60 s."""
import json
import math
import sys

INTERVAL_S = 60


def interpolate(x, xs, ys, between):
    if x <= xs[0]:
        return ys[0]
    if x >= xs[-1]:
        return ys[-1]
    i = next(i for i in range(1, len(xs)) if xs[i] >= x)
    return between(ys[i - 1], ys[i], (x - xs[i - 1]) / (xs[i] - xs[i - 1]))


def geometric(a, b, share):
    return a * (b / a) ** share if a > 0 and b > 0 else a + share * (b - a)


def linear(a, b, share):
    return a + share * (b - a)


def split(total, replicas, app, max_local):
    """Samples of a micro-step, and further micro-steps."""
    local = math.ceil(total / replicas - 1e-8)
    s = math.ceil(local / max_local - 1e-8) - 1
    if replicas == 1 and total > app["init_batch"]:
        s = max(s, 1)
    m = math.ceil(local / (s + 1) - 1e-8)
    return min(m, app["max_batch"] // (replicas * (s + 1))), s


def iteration_s(model, replicas, nodes, m, s):
    grad = model["alpha_grad"] + model["beta_grad"] * m
    if replicas == 1:
        return (s + 1) * grad
    where = "local" if nodes == 1 else "node"
    sync = model[f"alpha_{where}"] + model[f"beta_{where}"] * max(replicas - 2, 0)
    gamma = model["gamma"]
    return s * grad + (grad ** gamma + sync ** gamma) ** (1 / gamma)


def completion(app, kind, slots_per_node, replicas, batch):
    here = app["types"][kind]
    nodes = math.ceil(replicas / slots_per_node)
    m, s = split(batch, replicas, app, here["max_local"])
    total = replicas * m * (s + 1)
    seconds = iteration_s(here["model"], replicas, nodes, m, s)
    noise = app["noise"]
    clock, epoch, progress = INTERVAL_S, 0, 0.0  # it is placed in the first round
    delay = app["restart_delay"]
    while True:
        left = float(INTERVAL_S)
        waited = min(delay, left)
        delay, left, clock = delay - waited, left - waited, clock + waited
        while left > 0:
            at = (epoch + 0.5) / app["epochs"]
            ratios = [interpolate(at, noise["progress"], row, geometric) for row in noise["ratio"]]
            var = interpolate(total, noise["batches"], ratios, linear)
            gain = (var + 1) / (var * app["init_batch"] / total + 1)
            rate = gain / seconds / app["slowdown"]
            need = (epoch + 1) * app["epoch_iterations"]
            if progress + rate * left < need:
                progress, clock, left = progress + rate * left, clock + left, 0
                continue
            taken = min(round((need - progress) / rate), left)
            progress, clock, left, epoch = need, clock + taken, left - taken, epoch + 1
            if epoch == app["epochs"]:
                return clock


profiles, kind, slots, name, replicas, batch = sys.argv[1:]
with open(profiles, encoding="utf-8") as file:
    application = json.load(file)["applications"][name]
print(completion(application, kind, int(slots), int(replicas), int(batch)))
