# SPDX-License-Identifier: Apache-2.0
"""A second implementation of the simulator's rules for clusters with types: jobs with fixed batches under the policy
tiresias, by the numbers of their profiles.  docs/formats.md, docs/policies.md and tests/data/types/README.md have the
rules.

    sim_types_reference.py PROFILES.json CLUSTER WORKLOAD.csv QUANTUM

prints a line per job: its name, the seconds from submission to completion, how often it restarted, and the types that
it had, in order.  CLUSTER is as in --node-group; rounds are every 60 s."""
import csv
import itertools
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


class Job:
    def __init__(self, row, apps, types):
        self.name, self.submitted = row["name"], float(row["time"])
        self.app = apps[row["application"]]
        self.replicas, self.batch = int(row["num_replicas"]), int(row["batch_size"])
        self.types = [kind for kind in types if kind in self.app["types"]]
        self.shares = []  # pairs of a node and replicas there
        self.delay, self.progress, self.epoch, self.ended = 0.0, 0.0, 0, None
        self.held_s, self.queue, self.entry = 0.0, 0, None
        self.history = []  # the type of every start

    def kind(self):
        return self.shares[0][0][0] if self.shares else None

    def place(self, shares):
        if shares == self.shares:
            return
        self.shares = shares
        if shares:
            self.delay = self.app["restart_delay"]
            self.history.append(self.kind())

    def train(self, clock, left):
        """Until the interval of `left` seconds or the job ends."""
        waited = min(self.delay, left)
        self.delay, left, clock = self.delay - waited, left - waited, clock + waited
        here, app, noise = self.app["types"][self.kind()], self.app, self.app["noise"]
        m, s = split(self.batch, self.replicas, app, here["max_local"])
        total = self.replicas * m * (s + 1)
        seconds = iteration_s(here["model"], self.replicas, len(self.shares), m, s)
        while left > 0:
            at = (self.epoch + 0.5) / app["epochs"]
            ratios = [interpolate(at, noise["progress"], row, geometric) for row in noise["ratio"]]
            var = interpolate(total, noise["batches"], ratios, linear)
            gain = (var + 1) / (var * app["init_batch"] / total + 1)
            rate = gain / seconds / app["slowdown"]
            need = (self.epoch + 1) * app["epoch_iterations"]
            if self.progress + rate * left < need:
                self.progress += rate * left
                return
            taken = min(round((need - self.progress) / rate), left)
            self.progress, clock, left = need, clock + taken, left - taken
            self.epoch += 1
            if self.epoch == app["epochs"]:
                self.ended = clock
                return


def tiresias(jobs, free, quantum, entries):
    """The shares of every job that runs.  free: slots by node, a pair of type and number; entries: counts upwards."""
    for job in jobs:
        if job.entry is None:
            job.entry = next(entries)
    for job in sorted(jobs, key=lambda job: (job.queue, job.entry)):
        if job.queue == 0 and job.held_s * job.replicas >= quantum:
            job.queue, job.entry = 1, next(entries)
    served = []
    left = by_type(free)
    for job in sorted(jobs, key=lambda job: (job.queue, job.entry)):
        kind = job.kind()
        if kind is None or left[kind] < job.replicas:
            kind = max(job.types, key=left.get)
        if left[kind] >= job.replicas:
            left[kind] -= job.replicas
            served.append(job)
    shares = {}
    for job in served:
        if all(free[node] >= some for node, some in job.shares):
            shares[job] = job.shares
            for node, some in job.shares:
                free[node] -= some
    for job in served:
        if not shares[job]:
            shares[job] = take(job, free)
    return shares


def by_type(free):
    sums = {}
    for (kind, _), slots in free.items():
        sums[kind] = sums.get(kind, 0) + slots
    return sums


def take(job, free):
    """Slots of the type that has most, first of the node that has most."""
    sums = by_type(free)
    kind = max(job.types, key=sums.get)
    left, shares = job.replicas, []
    while sums[kind] >= job.replicas and left > 0:
        node = max((node for node in free if node[0] == kind), key=free.get)
        some = min(left, free[node])
        shares.append((node, some))
        free[node] -= some
        left -= some
    return shares


def simulate(jobs, nodes, quantum):
    entries, clock = itertools.count(), 0.0
    while any(job.ended is None for job in jobs):
        clock += INTERVAL_S
        present = [job for job in jobs if job.submitted <= clock and job.ended is None]
        shares = tiresias(present, dict(nodes), quantum, entries)
        for job in present:
            job.place(shares.get(job, []))
            if job.shares:
                job.train(clock, float(INTERVAL_S))
                job.held_s += INTERVAL_S


def read_cluster(text):
    nodes = {}
    for group in text.split(","):
        kind, size = group.split(":")
        count, slots = map(int, size.split("x"))
        nodes.update({(kind, i): slots for i in range(count)})
    return nodes


profiles, cluster, workload, quantum = sys.argv[1:]
with open(profiles, encoding="utf-8") as file:
    applications = json.load(file)["applications"]
cluster = read_cluster(cluster)
with open(workload, encoding="utf-8") as file:
    listed = [Job(row, applications, list(by_type(cluster))) for row in csv.DictReader(file)]
simulate(listed, cluster, float(quantum))
for one in listed:
    print(one.name, int(one.ended - one.submitted), len(one.history) - 1, "-".join(one.history))
