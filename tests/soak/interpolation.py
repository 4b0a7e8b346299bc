# SPDX-License-Identifier: Apache-2.0
"""Compare interpolated step times with scipy's LinearNDInterpolator.

interpolation.py STEPS TRACES: STEPS is the program built from steps.c, TRACES a folder of traces.  The lattice of an
application has every node count from 5 to 16 (placements on up to 4 nodes were measured), every replica count from 1 to 4
per node, and up to 1,000 batch sizes in the measured range.  Prints one line per application.  Exit status 1: a value
differs by more than 1e-13 (relative).
"""

import csv
import os
import subprocess
import sys
from collections import defaultdict

import numpy
from scipy.interpolate import LinearNDInterpolator

TOLERANCE = 1e-13
NODES = range(5, 17)
BATCHES = 1000
SHOWN = 5


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def interpolant(folder):
    """Points as in SEMANTICS.md: placements averaged over equal points and sorted, then scalability as given."""
    times = defaultdict(list)
    for row in read(os.path.join(folder, "placements.csv")):
        counts = [int(digit) for digit in row["placement"]]
        point = (len(counts), sum(counts), int(row["local_bsz"]))
        times[point].append((float(row["step_time"]), float(row["sync_time"])))
    points = sorted(times)
    values = [numpy.mean(times[point], axis=0) for point in points]
    for row in read(os.path.join(folder, "scalability.csv")):
        points.append((int(row["num_nodes"]), int(row["num_replicas"]), int(row["local_bsz"])))
        values.append((float(row["step_time"]), float(row["sync_time"])))
    return LinearNDInterpolator(numpy.array(points, dtype=float), numpy.array(values)), points


def lattice(points):
    """The stride's offset differs from row to row, so that all residues occur."""
    low, high = min(point[2] for point in points), max(point[2] for point in points)
    stride = 1 + (high - low) // BATCHES
    for nodes in NODES:
        for replicas in range(nodes, 4 * nodes + 1):
            for m in range(low + (nodes + replicas) % stride, high + 1, stride):
                yield nodes, replicas, m


def compare(steps, traces, name):
    interpolate, points = interpolant(os.path.join(traces, name))
    asked = list(lattice(points))
    text = "".join(f"{name} {nodes} {replicas} {m}\n" for nodes, replicas, m in asked)
    answers = subprocess.run([steps, traces], input=text, capture_output=True, text=True, check=True)
    wrong, inside, worst = 0, 0, 0.0
    for point, line in zip(asked, answers.stdout.splitlines(), strict=True):
        # One point per call: scipy's walk starts where the last one of the same call ended.
        want = interpolate([point])[0]
        got = [float("nan")] * 2 if line == "outside" else [float(word) for word in line.split()]
        if numpy.isnan(want[0]) and line == "outside":
            continue
        inside += 1
        error = max(abs(a - b) / abs(b) for a, b in zip(got, want))
        worst = max(worst, error)
        if not error <= TOLERANCE:
            wrong += 1
            if wrong <= SHOWN:
                print(f"{name} {point}: pollux {got}, scipy {list(want)}")
    print(f"{name}: {len(asked)} points, {inside} inside, {wrong} differ, largest error {worst:.1e}", flush=True)
    return wrong == 0 and inside > 0


def main():
    steps, traces = sys.argv[1:]
    names = sorted(entry.name for entry in os.scandir(traces) if entry.is_dir())
    results = [compare(steps, traces, name) for name in names]
    sys.exit(0 if results and all(results) else 1)


main()
