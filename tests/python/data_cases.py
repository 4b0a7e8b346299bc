# SPDX-License-Identifier: Apache-2.0
"""The cases of test_data.py: elastic loaders with any number of replicas.  Each function
case_NAME(folder) is one case; all replicas run it at the same time.

    data_cases.py FOLDER        runs all cases; prints `ok NAME` or `not ok NAME: why` for each
"""
from __future__ import annotations

import os
import random
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Callable, Iterator

import torch
from torch.utils.data import (BatchSampler, DataLoader, Dataset, DistributedSampler,
                              IterableDataset, RandomSampler, SequentialSampler,
                              SubsetRandomSampler, WeightedRandomSampler)

import pollux.torch as px
from case_runner import Cases
from pollux.agent import Batch
from pollux.checkpoint import indices

K = int(os.environ.get("WORLD_SIZE", "1"))
RANK = int(os.environ.get("RANK", "0"))


class Numbers(Dataset):
    """Sample i is i."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> int:
        assert 0 <= index < self.length
        return index


class Stream(IterableDataset):
    """length numbers; each replica has its own."""

    def __init__(self, length: int) -> None:
        self.numbers = range(1000 * RANK, 1000 * RANK + length)

    def __iter__(self) -> Iterator[int]:
        return iter(self.numbers)


class SavedStream(Stream):
    """A stream that can save and restore its position."""

    at = 0

    def __iter__(self) -> Iterator[int]:
        while self.at < len(self.numbers):
            self.at += 1
            yield self.numbers[self.at - 1]
        self.at = 0

    def state_dict(self) -> dict:
        return {"at": self.at}

    def load_state_dict(self, state: dict) -> None:
        self.at = state["at"]


class Training:
    """A tiny model, trained on numbers."""

    def __init__(self, loader: DataLoader, folder: Any = None, adapt: bool = False,
                 **options: Any) -> None:
        px.init(folder, adapt=adapt, seed=options.pop("seed", 0))
        torch.manual_seed(0)
        model = torch.nn.Linear(1, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
        self.model, self.optimizer, self.loader = px.prepare(model, optimizer, loader, **options)

    def step(self, x: torch.Tensor) -> None:
        self.model(x.float().reshape(-1, 1)).mean().backward()
        self.optimizer.step()
        self.optimizer.zero_grad()

    def one_pass(self) -> list[list[int]]:
        """Train one pass.  Returns the samples of each iteration, without those of weight 0."""
        seen = []
        for x in self.loader:
            if weight() > 0:
                seen.append(x.tolist())
            self.step(x)
        return seen


def weight() -> float:
    session = px.session()
    return session.update.weight(session.micro)


def of_all_replicas(seen: list[list[int]]) -> list[int]:
    """The samples that all replicas have seen."""
    return [x for part in px.session().collectives.gather(seen) for batch in part for x in batch]


def check_samples(samples: Any, seen: list[int]) -> None:
    expected, got = Counter(samples), Counter(seen)
    assert expected == got, f"missing {expected - got}, too many {got - expected}"


def raises(kind: type, words: str, action: Callable[[], Any]) -> None:
    try:
        action()
    except kind as error:
        assert words in str(error), error
        return
    raise AssertionError(f"no {kind.__name__}")


# ---- Passes over the data -----------------------------------------------------------------------


def case_a_pass_has_every_sample_once(_folder: Path) -> None:
    for length in (64, 65, 67, 103, 16, 7, 2, 1):  # whole, with a tail, smaller than M0 and than K
        for shuffle in (False, True):
            training = Training(DataLoader(Numbers(length), batch_size=16, shuffle=shuffle))
            for _number in range(2):
                check_samples(range(length), of_all_replicas(training.one_pass()))
            px.close()


def case_shuffling_depends_only_on_seed_and_pass(_folder: Path) -> None:
    def order(seed: int, passes: int) -> list[int]:
        torch.manual_seed(random.randrange(1000))
        training = Training(DataLoader(Numbers(48), batch_size=8, shuffle=True), seed=seed)
        for _number in range(passes):
            batches = px.session().collectives.gather(training.one_pass())
        px.close()
        return [sorted(x for part in update for x in part) for update in zip(*batches)]
    first = order(0, 1)
    assert first == order(0, 1)
    assert first != order(0, 2) and first != order(1, 1)
    # The order does not depend on the number of replicas.
    assert first == [sorted(indices(0, 48, 0, start, 8)) for start in range(0, 48, 8)]


def case_order_without_shuffle_is_that_of_the_dataset(_folder: Path) -> None:
    training = Training(DataLoader(Numbers(24), batch_size=6 * K))
    batches = px.session().collectives.gather(training.one_pass())
    assert [x for update in zip(*batches) for part in update for x in part] == list(range(24))


def case_drop_last_drops_a_tail_smaller_than_m0(_folder: Path) -> None:
    training = Training(DataLoader(Numbers(61), batch_size=12, drop_last=True))
    check_samples(range(60), of_all_replicas(training.one_pass()))
    px.close()
    training = Training(DataLoader(Numbers(11), batch_size=12, drop_last=True))
    assert training.one_pass() == []
    px.close()
    training = Training(DataLoader(Numbers(61), batch_size=12, drop_last=True), adapt=True,
                        max_batch=48, local_batch=(1, 48))
    px.session().agent.set_fixed(Batch(48 // K, 0))
    check_samples(range(61), of_all_replicas(training.one_pass()))  # 48 + 13


def case_workers_do_not_change_the_batches(_folder: Path) -> None:
    plain = Training(DataLoader(Numbers(37), batch_size=8, shuffle=True)).one_pass()
    px.close()
    for options in ({"num_workers": 2}, {"num_workers": 1, "persistent_workers": True}):
        training = Training(DataLoader(Numbers(37), batch_size=8, shuffle=True, **options))
        assert training.one_pass() == plain
        check_samples(range(37), of_all_replicas(training.one_pass()))
        for x in training.loader:  # end in the middle, while workers have batches ready
            break
        check_samples(range(37), of_all_replicas(training.one_pass()))
        px.close()


def check_worker_process(number: int) -> None:
    """The user's worker_init_fn: it runs when the worker already has its own process group."""
    assert os.getpgid(0) == os.getpid() and number < 2
    assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def case_workers_do_not_get_the_stop_signal(_folder: Path) -> None:
    loader = DataLoader(Numbers(64), batch_size=4 * K, num_workers=2,
                        worker_init_fn=check_worker_process)
    training = Training(loader)
    check_samples(range(64), of_all_replicas(training.one_pass()))
    check_samples(range(64), of_all_replicas(evaluated(loader)))
    assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def case_collate_fn_of_the_user_makes_the_batches(_folder: Path) -> None:
    def negative(samples: list[int]) -> torch.Tensor:
        assert isinstance(samples, list)
        return -torch.tensor(samples)
    for dataset, expected in ((Numbers(20), range(20)),
                              (Stream(12), [x + 1000 * r for r in range(K) for x in range(12)])):
        training = Training(DataLoader(dataset, batch_size=4 * K, collate_fn=negative))
        check_samples([-x for x in expected], of_all_replicas(training.one_pass()))
        px.close()


def case_an_iteration_can_be_left_and_restarted(_folder: Path) -> None:
    training = Training(DataLoader(Numbers(40), batch_size=8, shuffle=True))
    for x in training.loader:
        break
    for x in training.loader:
        training.step(x)
        break
    check_samples(range(40), of_all_replicas(training.one_pass()))
    iterations = [iter(training.loader)]
    next(iterations[0])
    new = iter(training.loader)
    seen = [next(new).tolist()]
    raises(RuntimeError, "finish one iteration", lambda: next(iterations[0]))
    iterations.clear()
    assert px.session().update is not None  # the end of the old iteration must not reset it
    for x in new:
        seen.append(x.tolist())
    check_samples(range(40), of_all_replicas(seen))


# ---- Batches that change ------------------------------------------------------------------------


def case_the_batch_can_change_within_a_pass(_folder: Path) -> None:
    random.seed(5)  # the same on all replicas
    training = Training(DataLoader(Numbers(157), batch_size=4 * K, shuffle=True, num_workers=1),
                        adapt=True, max_batch=10000, local_batch=(1, 100))
    for _number in range(3):
        seen, sizes = [], set()
        for x in training.loader:
            seen.append(x.tolist())
            sizes.add(len(x))
            assert training.loader.batch_size >= 1
            if random.random() < 0.4:
                px.session().agent.set_fixed(Batch(random.randint(4, 9), random.randint(0, 2)))
            training.step(x)
        check_samples(range(157), of_all_replicas(seen))
        assert len(sizes) > 1


class Workers(Numbers):
    """Each sample is the process that fetched it."""

    def __getitem__(self, _index: int) -> int:
        return os.getpid()


def case_probes_do_not_restart_workers(_folder: Path) -> None:
    """One replica: updates 0 to 15, then every fourth, have two micro-steps."""
    training = Training(DataLoader(Workers(40 * 4 * K), batch_size=4 * K, num_workers=1),
                        adapt=True, max_batch=4 * K + 1, local_batch=(1, 4))
    sizes, workers = [], set()
    for x in training.loader:
        sizes.append(len(x))
        workers.update(x.tolist())
        training.step(x)
    probes = [update for update in range(40) if update < 16 or update % 4 == 0]
    expected = [size for update in range(40) for size in ([2, 2] if update in probes else [4])]
    assert sizes == (expected if K == 1 else [4] * 40), sizes
    assert len(workers) == 1 and os.getpid() not in workers


def case_steps_continue_from_pass_to_pass(_folder: Path) -> None:
    random.seed(6)
    training = Training(DataLoader(Numbers(50), batch_size=4 * K, shuffle=True), adapt=True,
                        max_batch=10000, local_batch=(1, 100))
    seen: dict[int, list] = {}
    data = iter(training.loader)
    done = -1
    for step in px.steps(60):
        x = next(data)
        seen.setdefault(px.session().position.number, []).append(x.tolist() if weight() else [])
        if random.random() < 0.2:
            px.session().agent.set_fixed(Batch(random.randint(4, 6), random.randint(0, 1)))
        training.step(x)
        assert step >= done and step < 60
        done = step
    assert done >= 55 and px.metrics()["progress"] >= 60
    *whole, _last = sorted(seen)
    assert len(whole) >= 3
    for number in whole:
        check_samples(range(50), of_all_replicas(seen[number]))
    # After px.steps() an iteration is one pass again.
    check_samples(range(50), of_all_replicas(training.one_pass()))


def case_a_for_loop_inside_steps_ends(_folder: Path) -> None:
    training = Training(DataLoader(Numbers(24), batch_size=8))
    iterations = 0
    for _step in px.steps(7):
        for x in training.loader:
            training.step(x)
            iterations += 1
    assert iterations == 7


def case_steps_without_data_are_an_error(_folder: Path) -> None:
    for dataset in (Numbers(5), Stream(0)):
        training = Training(DataLoader(dataset, batch_size=8 * K, drop_last=True))

        def train() -> None:
            data = iter(training.loader)
            for _step in px.steps(3):
                next(data)
        raises(RuntimeError, "no batch", train)
        px.close()


def case_len_of_a_loader_is_its_number_of_iterations(_folder: Path) -> None:
    for length, drop_last in ((50, False), (50, True), (48, False), (3, False)):
        plain = DataLoader(Numbers(length), batch_size=8, drop_last=drop_last)
        training = Training(plain, local_batch=(1, 2))
        assert len(training.loader) == len(plain)
        for _epoch in px.epochs(2):
            promised = len(training.loader)
            iterations = sum(1 for x in training.loader if training.step(x) is None)
            assert iterations == promised, (iterations, promised)
        px.close()


def case_other_attributes_come_from_the_users_loader(_folder: Path) -> None:
    plain = DataLoader(Numbers(50), batch_size=10, shuffle=True, num_workers=1)
    training = Training(plain)
    assert training.loader.dataset is plain.dataset and training.loader.sampler is plain.sampler
    assert training.loader.num_workers == 1 and training.loader.batch_size == -(-10 // K)
    raises(AttributeError, "nonsense", lambda: training.loader.nonsense)


def case_unsupported_loaders_are_refused(_folder: Path) -> None:
    raises(TypeError, "DataLoader, not list", lambda: Training([1, 2]))  # type: ignore[arg-type]
    px.close()
    batches = BatchSampler(SequentialSampler(Numbers(8)), 4, False)
    raises(ValueError, "batch_size", lambda: Training(DataLoader(Numbers(8),
                                                                 batch_sampler=batches)))
    px.close()
    training = Training(DataLoader(Numbers(4), batch_size=2 * K, sampler=["a", "b"]))
    if RANK == 0 and K == 1:
        raises(TypeError, "'a'", training.one_pass)


# ---- Samplers -----------------------------------------------------------------------------------


class Backwards(SequentialSampler):
    def __iter__(self) -> Iterator[int]:
        return iter(reversed(range(len(self.data_source))))


def case_samplers_of_the_user_are_iterated_once_per_pass(_folder: Path) -> None:
    numbers = Numbers(40)
    samplers = {
        "weighted": WeightedRandomSampler([0.0] * 20 + [1.0] * 20, 30),
        "replacement": RandomSampler(numbers, replacement=True, num_samples=30),
        "some": RandomSampler(numbers, num_samples=30),
        "subset": SubsetRandomSampler(range(5, 35)),
        "backwards": Backwards(range(30)),
    }
    for name, sampler in samplers.items():
        training = Training(DataLoader(numbers, batch_size=8, sampler=sampler))
        torch.manual_seed(RANK)
        passes = [of_all_replicas(training.one_pass()) for _number in range(2)]
        assert all(len(seen) == 30 for seen in passes), name
        if name == "weighted":
            assert min(map(min, passes)) >= 20
        if name in ("subset", "backwards"):
            expected = range(5, 35) if name == "subset" else range(30)
            for seen in passes:
                check_samples(expected, seen)
        if name == "backwards" and K == 1:
            assert passes[0] == list(reversed(range(30)))
        elif name != "backwards":
            assert passes[0] != passes[1]
        px.close()


def case_a_distributed_sampler_is_replaced(_folder: Path) -> None:
    for shuffle in (False, True):
        sampler = DistributedSampler(Numbers(41), K, RANK, shuffle=shuffle)
        training = Training(DataLoader(Numbers(41), batch_size=8, sampler=sampler))
        training.loader.sampler.set_epoch(1)
        assert len(training.loader) == 6  # updates of the whole pass, not of one replica's part
        check_samples(range(41), of_all_replicas(training.one_pass()))
        px.close()


# ---- Streams ------------------------------------------------------------------------------------


def case_a_stream_is_read_to_its_end(_folder: Path) -> None:
    for drop_last, workers, expected in ((False, 0, 23), (True, 0, 20), (False, 1, 23)):
        loader = DataLoader(Stream(23), batch_size=4 * K, drop_last=drop_last, num_workers=workers)
        training = Training(loader)
        for _number in range(2):
            check_samples([1000 * rank + x for rank in range(K) for x in range(expected)],
                          of_all_replicas(training.one_pass()))
        px.close()


def case_streams_of_unequal_length_end_together(_folder: Path) -> None:
    training = Training(DataLoader(Stream(23 + 14 * RANK), batch_size=4 * K), local_batch=(1, 2))
    for _number in range(2):  # samples beyond the shortest stream are dropped
        check_samples([1000 * rank + x for rank in range(K) for x in range(23)],
                      of_all_replicas(training.one_pass()))


def case_a_stream_has_no_len_and_no_total(_folder: Path) -> None:
    training = Training(DataLoader(Stream(23), batch_size=4 * K))
    raises(TypeError, "len", lambda: len(training.loader))
    for _epoch in px.epochs(1):
        assert px.session().status().total == 0
        training.one_pass()


def case_a_stream_with_a_state_resumes_at_its_position(folder: Path) -> None:
    for kind, begins in ((SavedStream, 12), (Stream, 0)):
        directory = folder / kind.__name__
        training = Training(DataLoader(kind(30), batch_size=4 * K), directory)
        for updates, x in enumerate(training.loader):
            if updates == 3:
                break
            training.step(x)
            if updates == 1:
                px.save()
        px.session().saver.join()
        px.close()
        training = Training(DataLoader(kind(30), batch_size=4 * K), directory)
        first = next(iter(training.loader)).tolist()
        assert first[0] == 1000 * RANK + begins, first
        px.close()


# ---- Evaluation ---------------------------------------------------------------------------------


def evaluated(loader: DataLoader, **options: Any) -> list[list[int]]:
    return [x.tolist() if isinstance(x, torch.Tensor) else [x]
            for x in px.evaluation(loader, **options)]


def case_an_evaluation_takes_every_sample_in_one_replica(_folder: Path) -> None:
    Training(DataLoader(Numbers(8), batch_size=4 * K))
    numbers = Numbers(37)
    loaders = {
        "plain": (DataLoader(numbers, batch_size=5), range(37)),
        "shuffled": (DataLoader(numbers, batch_size=5, shuffle=True), range(37)),
        "one batch": (DataLoader(numbers, batch_size=64), range(37)),
        "one sample": (DataLoader(Numbers(1), batch_size=4), range(1)),
        "dropping": (DataLoader(numbers, batch_size=5, drop_last=True), range(35)),
        "subset": (DataLoader(numbers, batch_size=5, sampler=SubsetRandomSampler(range(9, 20))),
                   range(9, 20)),
        "distributed": (DataLoader(numbers, batch_size=5,
                                   sampler=DistributedSampler(numbers, K, RANK)), range(37)),
        "batches": (DataLoader(numbers, batch_sampler=BatchSampler(SequentialSampler(numbers), 4,
                                                                   False)), range(37)),
        "no batches": (DataLoader(Numbers(7), batch_size=None), range(7)),
        "workers": (DataLoader(numbers, batch_size=3, num_workers=2), range(37)),
        "stream": (DataLoader(Stream(9), batch_size=4),
                   [1000 * rank + x for rank in range(K) for x in range(9)]),
    }
    for name, (loader, expected) in loaders.items():
        for stoppable in (False, True):
            seen = evaluated(loader, stoppable=stoppable)
            check_samples(expected, of_all_replicas(seen))
            if name != "stream":
                assert len(px.evaluation(loader)) == len(seen), name
    assert px.evaluation(loaders["plain"][0]).batch_size == 5


def case_streams_of_unequal_length_have_a_stoppable_evaluation(_folder: Path) -> None:
    Training(DataLoader(Numbers(8), batch_size=4 * K))
    seen = evaluated(DataLoader(Stream(5 + 9 * RANK), batch_size=2), stoppable=True)
    assert sum(map(len, seen)) == 5 + 9 * RANK


def case_an_uneven_evaluation_can_use_the_ddp_model(_folder: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(1, 4), torch.nn.BatchNorm1d(4))
    px.init(adapt=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    ddp, optimizer, loader = px.prepare(model, optimizer,
                                        DataLoader(Numbers(32), batch_size=8 * K))
    for _epoch in px.epochs(2):
        ddp.train()
        for x in loader:
            ddp(x.float().reshape(-1, 1)).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
        ddp.eval()
        seen = []
        with torch.no_grad():
            for x in px.evaluation(DataLoader(Numbers(2 * K + 1), batch_size=1)):
                ddp(x.float().reshape(-1, 1))
                seen.append(x.tolist())
        check_samples(range(2 * K + 1), of_all_replicas(seen))
        means = px.session().collectives.gather(model[1].running_mean)
        assert all(torch.equal(mean, means[0]) for mean in means)


# ---- Sums ---------------------------------------------------------------------------------------


def case_accumulators_sum_over_replicas(_folder: Path) -> None:
    px.init()
    sums = px.Accumulator("mine")
    sums.add(loss=1.5, count=RANK)
    sums.add(loss=torch.tensor(0.5))
    assert sums["loss"] == 2.0 and sums["nothing"] == 0.0 and list(sums) == ["loss", "count"]
    assert sums.totals() == {"loss": 2.0 * K, "count": sum(range(K))}
    sums["loss"] = 7
    sums.reset()
    if RANK == 0:
        sums.add(only=1)
    assert sums.totals() == {"only": 1}


# ---- Running them -------------------------------------------------------------------------------


CASES = Cases(globals())


if __name__ == "__main__":
    CASES.run_all(Path(sys.argv[1]))
