# SPDX-License-Identifier: Apache-2.0
"""How pollux.torch.plan assigns samples to replicas and micro-steps, and where a pass resumes after
an interruption, checked on random cases."""
from __future__ import annotations

import random
from collections import Counter

import pytest

from pollux.agent import Batch

plan = pytest.importorskip("pollux.torch.plan")  # the package it is in needs torch


def assigned(update_of_rank: list) -> Counter:
    """How often each position is assigned with a positive weight, over replicas and micro-steps."""
    seen: Counter = Counter()
    for update in update_of_rank:
        for micro in range(update.micro_steps):
            start, count = update.share(micro)
            if update.weight(micro) > 0:
                seen.update(range(start, start + count))
    return seen


def all_ranks(length, offset, samples, batch, replicas, least=1):
    """The updates of a pass; each is a tuple over the replicas."""
    of_rank = [list(plan.updates(length, offset, lambda k: (samples, batch), replicas, rank, least))
               for rank in range(replicas)]
    assert len({len(row) for row in of_rank}) == 1
    return list(zip(*of_rank))


def check_update(row: tuple, batch: Batch) -> None:
    """One update of all replicas: each sample once, weights that give the mean, no empty share."""
    first, replicas = row[0], len(row)
    assert len({(each.start, each.samples, each.micro_steps, each.even) for each in row}) == 1
    wanted = range(first.start, first.start + first.samples)
    assert assigned(row) == Counter(wanted)
    assert 1 <= first.micro_steps <= batch.s + 1
    counts = [each.share(micro)[1] for each in row for micro in range(first.micro_steps)]
    assert min(counts) >= 1 and max(counts) - min(counts) <= 1
    # sum over replicas and micro-steps of weight x mean of share = K x mean over the samples
    value = {position: random.random() for position in wanted}
    mean = 0.0
    for each in row:
        for micro in range(each.micro_steps):
            start, count = each.share(micro)
            share = sum(value[at] for at in range(start, start + count)) / count
            mean += each.weight(micro) * share / replicas
    assert mean == pytest.approx(sum(value.values()) / first.samples, rel=1e-12)
    if first.even and first.samples >= replicas:
        assert all(each.weight(micro) == pytest.approx(1 / first.micro_steps)
                   for each in row for micro in range(first.micro_steps))


def test_every_sample_is_assigned_once_when_batch_and_replicas_change(soak):
    random.seed(1)
    for _case in range(soak(400, 20000)):
        length, offset = random.randint(1, 300), 0
        while offset < length:  # a part of the pass with one batch and one number of replicas
            replicas = random.randint(1, 7)
            batch = Batch(random.randint(1, 12), random.randint(0, 4))
            full = replicas * batch.m * (batch.s + 1)
            samples = random.choice([full, random.randint(max(1, full - replicas), full)])
            row = all_ranks(length, offset, samples, batch, replicas)
            assert sum(each[0].samples for each in row) == length - offset
            for update in row[:random.choice([1, 2, len(row)])]:
                assert update[0].start == offset
                check_update(update, batch)
                offset += update[0].samples


def test_iterations_are_the_micro_steps_of_all_updates(soak):
    random.seed(2)
    for _case in range(soak(300, 5000)):
        replicas, batch = random.randint(1, 6), Batch(random.randint(1, 9), random.randint(0, 3))
        length, least = random.randint(0, 200), random.choice([1, 8])
        samples = replicas * batch.m * (batch.s + 1)
        row = all_ranks(length, 0, samples, batch, replicas, least)
        assert plan.iterations(length, samples, batch, replicas, least) \
            == sum(update[0].micro_steps for update in row)


def test_a_tail_too_small_for_all_replicas_is_shared_with_the_update_before():
    sizes = [row[0].samples for row in all_ranks(26, 0, 8, Batch(2, 0), 4)]
    assert sizes == [8, 8, 5, 5]                                    # not 8, 8, 8, 2
    sizes = [row[0].samples for row in all_ranks(10, 0, 4, Batch(1, 0), 4)]
    assert sizes == [4, 6]                                          # nor 4, 3, 3
    assert all(row[0].weight(0) > 0 for row in all_ranks(26, 0, 8, Batch(2, 0), 4))


def test_batches_that_alternate_cover_the_pass():
    """As with probes: every third update has two micro-steps."""
    batches = [Batch(4, 1), Batch(8, 0), Batch(8, 0)]
    found = list(plan.updates(30, 3, lambda k: (8, batches[k % 3]), 1, 0))
    assert [update.micro_steps for update in found] == [2, 1, 1, 1]
    assert [(each.start, each.samples) for each in found] == [(3, 8), (11, 8), (19, 8), (27, 3)]


def test_weights_with_fewer_samples_than_replicas():
    (row,) = all_ranks(2, 0, 8, Batch(2, 0), 4)
    assert [each.weight(0) for each in row] == [2.0, 2.0, 0.0, 0.0]
    assert [each.share(0) for each in row] == [(0, 1), (1, 1), (0, 1), (0, 1)]


def test_a_dataset_smaller_than_the_batch_is_one_update():
    (row,) = all_ranks(10, 0, 64, Batch(8, 3), 2)
    assert row[0].samples == 10 and row[0].micro_steps == 1 and row[0].short
    check_update(row, Batch(8, 3))


def test_a_pass_that_the_batch_divides_has_no_empty_update():
    assert [row[0].samples for row in all_ranks(24, 0, 8, Batch(4, 0), 2)] == [8, 8, 8]
    assert all_ranks(24, 24, 8, Batch(4, 0), 2) == []


def test_drop_last_drops_only_a_tail_below_the_least_update():
    sizes = [row[0].samples for row in all_ranks(100, 0, 32, Batch(16, 0), 2, least=8)]
    assert sizes == [32, 32, 32]                        # 4 are left, below 8
    sizes = [row[0].samples for row in all_ranks(110, 0, 32, Batch(16, 0), 2, least=8)]
    assert sizes == [32, 32, 32, 14]
    assert all_ranks(5, 0, 8, Batch(8, 0), 1, least=8) == []


def test_micro_steps_exceed_the_advice_by_at_most_one_sample(soak):
    random.seed(3)
    for _case in range(soak(1000, 20000)):
        replicas, batch = random.randint(1, 6), Batch(random.randint(1, 9), random.randint(0, 4))
        for row in all_ranks(random.randint(1, 300), 0, replicas * batch.m * (batch.s + 1), batch,
                             replicas):
            most = max(update.share(micro)[1] for update in row
                       for micro in range(update.micro_steps))
            assert most <= batch.m + (batch.m == 1 or row[0].samples > row[0].full)


def test_noise_needs_whole_updates_with_nearly_equal_shares():
    batch = Batch(16, 1)
    whole, rounded, short = (plan.Update(0, samples, batch, 2, 0) for samples in (64, 62, 40))
    assert (whole.comparable, rounded.comparable, short.comparable) == (True, True, False)
    assert (whole.short, rounded.short) == (False, True)
    assert not plan.Update(0, 5, Batch(3, 0), 2, 0).comparable  # shares of 3 and 2


# ---- Where a pass resumes ------------------------------------------------------------------------


def restored(position):
    """A new position with the saved state of this one, as in another process."""
    other = plan.Position()
    other.restore(position.state())
    return other


def fields(position):
    return position.number, position.offset, position.ended


def test_an_interrupted_pass_resumes_once():
    position = plan.Position()
    position.begin()
    position.advance(10)
    resumed = restored(restored(position))  # stopped again before the first update
    resumed.begin()
    assert fields(resumed) == (0, 10, False)
    resumed.begin()
    assert fields(resumed) == (1, 0, False)


def test_a_finished_pass_is_not_repeated():
    position = plan.Position()
    position.begin()
    position.advance(10)
    position.ended = True  # its epoch continues with an evaluation, which is interrupted
    resumed = restored(position)
    resumed.begin()
    assert fields(resumed) == (0, 10, True)


def test_between_epochs_the_next_pass_starts():
    position = plan.Position()
    position.begin()
    position.ended = True
    position.end_epoch()
    resumed = restored(position)
    assert not resumed.begun
    resumed.begin()
    assert fields(resumed) == (1, 0, False)
