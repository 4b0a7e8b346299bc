# SPDX-License-Identifier: Apache-2.0
"""The session of a process (there is one): the agent, and the current update.

    begin_update                 called by the loader before the first micro-step
        begin_micro              called by the loader before it returns a batch
        ... the user's forward, backward, clipping ...
        step                     called as opt.step().  Does nothing before the last micro-step;
                                 there the replicas agree on the learning rate and the next batch
        settle                   called by the loader when the user asks for the next batch
    boundary                     between updates: save or stop, if it is time

Replica 0 decides.  With several replicas its decision on an update is sent together with the norms
of the gradients, and made by the updates before.
"""
from __future__ import annotations

import atexit
import contextlib
import math
import os
import signal
import sys
import time
from typing import Any, Callable, Iterator, NamedTuple, Optional

import torch
import torch.distributed as dist

from .. import model
from ..agent import Advice, Agent, Batch, Status, Verdict, world as read_world
from ..model import Grad
from .single import Single
from .collectives import Collectives
from .gradients import Gradients, Measured, MicroStep
from .interrupt import INTERRUPTED, Interrupts
from .loop import TOLERANCE, EpochClock
from .misuse import Misuse
from .norms import FIRST_STEP
from .optimizers import note_of_no_moments
from .rendezvous import join
from .observed import Observed
from .peers import PeerWatch
from .plan import Position, Update
from .report import Reporter
from .saving import Saver
from .ddp import Ddp
from .timing import Times, times_of
from .states import random_state, restore_random_state
from .patches import Patches, scaled

STOPPED = 143  # exit status after a request to stop: the work is saved
UNSAVED = 1    # exit status after a request to stop: the work could not be saved
OWN_NUMBERS = 7  # of a decision, before the numbers of the agent


def _ignore_stops() -> None:
    """Training has ended and the process is about to: a request to stop changes nothing, and must
    not turn its success into an end by a signal."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


class Made(NamedTuple):
    """An update that was made or skipped."""

    samples: int
    gain: float     # 0: skipped
    factors: list[float]


class Session:
    """The state of pollux.torch in this process."""

    def __init__(self, checkpoint: Optional[str], *, backend: Optional[str], log: Optional[str],
                 writer: Any, save_every: float, report_every: float, adapt: bool, seed: int,
                 clock: Optional[Callable[[], float]] = None) -> None:
        self.clock = clock
        self.world = read_world()
        join(self.world, backend)
        self.peers = PeerWatch(self.world)
        self.collectives = Collectives(self.world.rank, self.world.replicas)
        self.adapt = adapt
        self.measures = True    # the agent gets the statistics of gradients
        # The batch if second moments, which are expected, are not found; None: not expected.
        self.without_moments: Optional[Batch] = None
        self.seed = seed
        self.period_s = report_every
        self.reporter = Reporter(log if self.leads else None, writer if self.leads else None,
                                 report_every, clock or time.monotonic)
        self.saver = Saver(checkpoint or os.environ.get("POLLUX_CHECKPOINT_DIR"), save_every)
        self.misuse = Misuse(self.leads)
        self.patches = Patches(lambda: self.accumulating, lambda: min(self.progress, self.total),
                               self.number_of_update, self.step_called, self.misuse)
        self.agent: Optional[Agent] = None
        self.model: Optional[torch.nn.Module] = None
        self.optimizer: Optional[torch.optim.Optimizer] = None
        self.gradients: Optional[Gradients] = None
        self.times = Times()
        self.ddp: Optional[torch.nn.parallel.DistributedDataParallel] = None
        self.position = Position()
        self.pass_samples = 0  # samples in a pass over the data; 0: unknown
        self.pass_updates = 0  # updates in a pass with batch M0; 0: unknown
        self.init_batch = 0
        self.epoch = 0
        self.epochs = EpochClock(self)
        self.total = math.inf   # the progress to train until; the last update may exceed it
        self.endless = False    # passes follow each other until then
        self.advice = Advice(Batch(0, 0), Verdict.GO, False, 0.0, 0.0)
        self.update: Optional[Update] = None
        self.number = 0         # of the current or the last update, in this process
        self.samples = 0        # of the current or the last update
        self.made: Optional[Made] = None    # the last update; a short one only if it is the first
        self.micro = 0
        self.finished = False
        self.save_asked = False
        self.save_agreed = False
        self.stop_agreed = False
        self.left = False       # training has stopped: the agent is closed, the program cleans up
        self.evaluations = 0    # that are running
        self.restored = False
        self._grad = (1.0, 0.0)         # measured
        self._decision_grad = Grad(1.0, 0.0)  # decides
        self.observing = False
        self.interrupts: Optional[Interrupts] = None
        self.loader: Any = None
        self.random_state: Optional[dict] = None  # from a checkpoint, not applied yet

    # ---- State ----------------------------------------------------------------------------

    @property
    def leads(self) -> bool:
        return self.world.rank == 0

    @property
    def accumulating(self) -> bool:
        """Whether the current micro-step is not the last one of its update."""
        return self.update is not None and self.micro + 1 < self.update.micro_steps

    @property
    def progress(self) -> float:
        return self.advice.progress

    @property
    def done(self) -> bool:
        """Whether px.steps(), or the epoch if it is counted by progress, has reached its end."""
        return self.epochs.ended or self.finished_steps

    @property
    def finished_steps(self) -> bool:
        return self.endless and self.progress + TOLERANCE >= self.total

    @property
    def passes_follow(self) -> bool:
        """Whether the next pass follows at once, in the same iteration of the loader."""
        return self.endless or self.epochs.by_progress

    @property
    def training(self) -> bool:
        """Whether a loop of Pollux runs, or an update, and the agent is open."""
        return not self.left and (
            self.endless or self.epochs.by is not None or self.update is not None)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C has asked this replica to stop."""
        return self.interrupts is not None and self.interrupts.asked

    @property
    def updating(self) -> bool:
        """See pollux.torch.updating."""
        self.check_prepared()
        if self.observing:
            return True
        return self.update is not None and not self.accumulating \
            and not (self.finished and self.advice.skip)

    def number_of_update(self) -> Optional[int]:
        """The number of the current update; None: there is none, or batches do not adapt, so that
        updates and progress are the same."""
        return self.number if self.update is not None and self.adapt else None

    def check_prepared(self) -> None:
        if self.agent is None:
            raise RuntimeError("call px.prepare() first")

    def check_not_prepared(self) -> None:
        if self.agent is not None:
            raise RuntimeError("px.prepare() was called before: one model and one optimizer per "
                               "process; call px.close() before you prepare others")

    def open(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer, agent: Agent, *,
             init_batch: int, observe: bool) -> None:
        self.agent, self.model, self.optimizer = agent, model, optimizer
        self.init_batch = init_batch
        self.observing = observe
        if not observe:
            agent.catch(signal.SIGTERM)
            atexit.register(_ignore_stops)
            self.interrupts = Interrupts(self)
        self.gradients = self._gradients_of(optimizer, agent, observe)
        self.times = times_of(model)
        self.gradients.times = self.times
        self.patches.optimizer(optimizer, self.observed_step if observe else self.step)

    def _gradients_of(self, optimizer: torch.optim.Optimizer, agent: Agent,
                      observe: bool) -> Gradients:
        loss_scale = self.patches.loss_scale
        if observe:
            return Observed(optimizer, loss_scale, self.collectives)
        if self.world.replicas == 1:
            return Single(optimizer, loss_scale)
        return Ddp(optimizer, loss_scale, self.collectives, agent.stopping, self.decide,
                   agent.sync_time)

    def close(self) -> None:
        """Remove all patches and hooks.  The process group of torch.distributed stays open."""
        self.saver.join()
        self.reporter.close()
        if self.agent is not None:
            self.abandon()
            self.gradients.detach()
            self.agent.close()
        atexit.unregister(_ignore_stops)
        if self.interrupts is not None:
            self.interrupts.close()
        if self.ddp is not None:
            self.ddp.require_backward_grad_sync = True
        self.patches.close()
        self.peers.close()

    # ---- The update ------------------------------------------------------------------------

    def begin_update(self, update: Update) -> None:
        self.update, self.micro, self.finished = update, 0, False
        self.samples = update.samples
        self.number += 1
        self.agent.step_begin()
        self.times.begin()
        if update.short:
            self.agent.samples(update.samples)
        self.gradients.begin_update(update.comparable, self.agent.paired)

    def begin_micro(self, micro: int) -> None:
        update = self.update
        if micro > 0:
            self.agent.micro_end()
            self.times.micro_end()
        self.misuse.begin_micro(micro, self.gradients.begun)
        self.micro = micro
        last = micro + 1 == update.micro_steps
        if self.ddp is not None:
            self.ddp.require_backward_grad_sync = last
        self.gradients.begin_micro(
            MicroStep(last, update.weight(micro), not update.even, update.micro_steps))

    def step(self, original: Callable[..., Any], closure: Optional[Callable[[], Any]]) -> Any:
        """Replaces opt.step()."""
        if self.update is None:
            self.misuse.step_outside()
            return original(closure) if closure is not None else original()
        self.step_called()
        if self.accumulating:
            return closure() if closure is not None else None
        loss = None
        # it calls the closure several times
        several = isinstance(self.optimizer, torch.optim.LBFGS)
        if closure is not None and not several:
            with torch.enable_grad():
                loss = closure()
        if not self.finished:
            self.misuse.stepped()
            self.misuse.check_rates(larger=self.update.samples > self.init_batch)
            self._finish(skipped=False)
        if not self.advice.skip:
            # schedulers see the rates of M0 before and after
            with scaled(self.optimizer, self.factor, self.advice.gain):
                if several:
                    loss = original(closure)
                else:
                    original()
            self._check_moments()
        self.times.end()
        self.agent.step_end()
        return loss

    def _check_moments(self) -> None:
        """An optimizer that is known by its name may keep its second moments in another form.  Then
        its noise is unknown: no statistics are given to the agent, and the batch is M0.  All
        replicas see the same state and the same progress."""
        if self.without_moments is None or self.progress < FIRST_STEP:
            return
        batch, self.without_moments = self.without_moments, None
        if self.gradients.finds_moments:
            return
        self.adapt = self.measures = False
        self.agent.set_fixed(batch)
        self.advice = self.advice._replace(batch=batch)
        if self.leads:
            print(note_of_no_moments(self.optimizer, self.init_batch), file=sys.stderr, flush=True)

    def step_called(self) -> None:
        """The program calls opt.step(), in whichever micro-step.  Rates that are tensors are not
        looked at: that would wait for the device."""
        rates = [group.get("lr") for group in self.optimizer.param_groups]
        self.misuse.step_called([rate for rate in rates if not isinstance(rate, torch.Tensor)])

    def settle(self) -> None:
        """The user asks for the next batch: the update has ended.  Without opt.step() it was
        skipped."""
        if self.update is not None and not self.finished:
            if self.gradients.computed:
                self.misuse.unstepped()
            self._finish(skipped=True)
            self.agent.step_end()
        self.abandon()

    def abandon(self) -> None:
        """End the current update.  It counts if it was made or skipped, otherwise it is given
        up."""
        if self.update is not None and self.finished:
            self.reporter.updated(self.update.samples)
            self.position.advance(self.update.samples)
        elif self.update is not None and not self.left:
            self.agent.step_drop()
        self.update = None
        self.gradients.end()

    def position_after_update(self) -> dict[str, int]:
        """The position in the data for a checkpoint.  An update that was made counts, also if the
        program has not asked for the next batch yet; one that was begun is made again."""
        state = self.position.state()
        if self.update is not None and self.finished:
            state["offset"] += self.update.samples
        return state

    def _finish(self, skipped: bool) -> None:
        """The gradient is complete: the replicas agree on its gain and on the next batch."""
        measured = self.gradients.take()
        times = self.times.read()  # the numbers of the update are known, so the device has ended it
        if times is not None:
            self.agent.step_times(*times)
        if self.gradients.any_replica_stops:
            self.agent.stop()
        decision = self.gradients.decision
        if decision is not None:
            self._receive(decision)
        if skipped or not measured.finite:
            self.agent.skip()
        elif measured.complete and self.leads and self.measures:
            self._pass_to_agent(measured)
        self.finished = True
        if decision is None:
            self._receive(self.decide())
        self._follow()
        # A short last batch of a pass says little: metrics are those of the update before.
        if self.made is None or self.samples >= self.samples_of(self.update.batch):
            self.made = Made(self.samples, self.advice.gain, self.factors())
        if self.advice.skip:
            self.epochs.idle += 1

    def _pass_to_agent(self, measured: Measured) -> None:
        if measured.energy > 0:
            self.agent.energy(measured.energy)
        if measured.single:
            self.agent.gradients_single(measured.micro, measured.mean)
        else:
            self.agent.gradients(measured.parts, measured.micro, measured.mean)

    def factor(self, group: int) -> float:
        """The factor on the learning rate of a group in the current or the last update."""
        return self.agent.factor(min(group, self.gradients.groups - 1))

    def factors(self) -> list[float]:
        return [self.factor(group) for group in range(len(self.optimizer.param_groups))]

    # ---- Advice ----------------------------------------------------------------------------

    def advise(self) -> None:
        """Replica 0 decides, all replicas take over its decision."""
        self._receive(self.collectives.broadcast(self.decide()))
        self._follow()

    def decide(self) -> list[float]:
        """The decision of replica 0, as numbers to send to the others.  They get zeros."""
        numbers = self.agent.decide()
        if not self.leads:
            return [0.0] * (OWN_NUMBERS + len(numbers))
        stops = self.agent.stopping() or self.saver.replaced
        grad, decision_grad = self.agent.grads()
        save = self.saver.due(self.save_asked)
        return [float(save), float(stops), *grad, *decision_grad, *numbers]

    def _receive(self, numbers: list[float]) -> None:
        """The decision of replica 0 has arrived."""
        if numbers[0]:
            self.save_agreed, self.save_asked = True, False
        self.stop_agreed = bool(numbers[1]) or self.gradients.any_replica_stops
        self._grad, self._decision_grad = (numbers[2], numbers[3]), Grad(*numbers[4:OWN_NUMBERS])
        self.agent.receive(numbers[OWN_NUMBERS:])

    def _follow(self) -> None:
        self.advice = self.agent.follow()

    def boundary(self) -> None:
        """Between updates: stop if a replica was asked to, save if it is time."""
        if self.stop_agreed and not self.finished_steps:
            self.leave()
        if self.save_agreed:
            self.save_agreed = False
            self.saver.save(self, wait=False)
        self.reporter.report(self.metrics)

    def leave(self) -> None:
        """Save and exit, all replicas together."""
        self.reporter.report(self.metrics, last=True)
        saved = self.saver.save(self, wait=True)
        unsaved, interrupted = self.collectives.sum([float(not saved), float(self.interrupted)])
        if self.leads and not unsaved:
            where = self.saver.directory
            end = f"saved in {where}" if where else "nothing is saved: px.init() has no directory"
            why = "interrupted" if interrupted else "asked to stop"
            print(f"pollux: {why}: {end}", file=sys.stderr, flush=True)
        self.left = True
        self.agent.close()
        with contextlib.suppress(ValueError):  # in another thread than the main one
            _ignore_stops()
        sys.stdout.flush()
        raise SystemExit(UNSAVED if unsaved else INTERRUPTED if interrupted else STOPPED)

    def begin_pass(self, choose: bool) -> None:
        """The loader is iterated: a pass begins or continues."""
        if choose:
            self.agent.pass_begin()
        self.advise()
        self.boundary()

    def restore(self) -> None:
        """Restore the newest checkpoint, once."""
        if not self.restored:
            self.restored = True
            self.saver.restore(self)

    def before_data(self) -> None:
        """Called before the first batch: restore the random state, and drop saved sums that the
        program has not asked for."""
        self.resume_random_state()
        self.saver.sums.forget()

    def resume_random_state(self) -> None:
        if self.random_state is not None:
            restore_random_state(self.random_state)
            self.random_state = None

    def end(self) -> None:
        """Training has ended: save the final state."""
        self.endless = False
        self.reporter.report(self.metrics, last=True)
        self.saver.save_at_end(self)

    # ---- Epochs ----------------------------------------------------------------------------

    def begin_loop(self) -> None:
        """px.epochs() or px.steps() has begun."""
        self.check_prepared()
        self.endless = False  # an earlier loop may have been left early
        self.total = math.inf
        self.restore()
        if not self.position.begun:
            self.resume_random_state()
        self.advise()

    def aim(self, total: float) -> None:
        """Train until this progress."""
        self.total = total
        self.agent.set_total(total)

    def end_epoch(self) -> None:
        self.epoch += 1
        self.position.end_epoch()

    # ---- Evaluation ------------------------------------------------------------------------

    @contextlib.contextmanager
    def evaluating(self, stoppable: bool) -> Iterator[None]:
        """While an evaluation runs.  A stop during it restarts the evaluation from its
        beginning."""
        pending = self.random_state
        if (stoppable or self.world.replicas == 1) and pending is None:
            self.random_state = random_state()
        self.evaluations += 1
        self.reporter.pause()
        self._share_buffers()
        try:
            yield
        finally:
            self.evaluations -= 1
            self.random_state = pending

    def _share_buffers(self) -> None:
        """Copy the buffers of replica 0 to all.  DDP must not do it in each forward: replicas may
        have different numbers of batches."""
        if self.ddp is not None:
            if self.ddp.broadcast_buffers and self.world.replicas > 1:
                for buffer in self.model.buffers():
                    dist.broadcast(buffer, 0)
            self.ddp.require_forward_param_sync = False

    def any_replica_evaluates(self, this_one: bool) -> bool:
        """Whether any replica has another batch to evaluate.  All stop if one was asked to."""
        going_on, stopping = self.collectives.sum([float(this_one), float(self.agent.stopping())])
        if stopping > 0:
            self.leave()
        return going_on > 0

    def leave_if_interrupted(self) -> None:
        """Ctrl-C does not wait for the end of an evaluation.  Several replicas do: they have
        different numbers of batches and cannot agree before."""
        if self.world.replicas == 1 and self.interrupted:
            self.leave()

    # ---- Batches ---------------------------------------------------------------------------

    def samples_of(self, batch: Batch) -> int:
        """Samples of a whole update."""
        if not self.adapt:
            return self.init_batch
        return self.world.replicas * batch.m * (batch.s + 1)

    def advised_from_now(self) -> Callable[[int], tuple[int, Batch]]:
        """Samples and batch of the k-th update from now on, if the choice of the agent stays."""
        first = self.status().updates

        def advised(k: int) -> tuple[int, Batch]:
            batch = self.agent.batch_at(first + k)
            return self.samples_of(batch), batch
        return advised

    def efficiency(self) -> float:
        """The efficiency of the job's batch; at most 1, also if that is smaller than M0."""
        total = self.samples_of(self.status().batch)
        return min(self.expected_gain(total) * self.init_batch / total, 1.0)

    def expected_gain(self, samples: int) -> float:
        """The progress of an update of so many samples: that of the last one, or a prediction by
        the statistics that the agent decides by."""
        if self.made is not None and self.made.samples == samples and self.made.gain > 0:
            return self.made.gain
        return max(1.0, float(model.gain(self._decision_grad, samples / self.init_batch)))

    # ---- px.observe() -----------------------------------------------------------------------

    def observed_step(self, original: Callable[..., Any],
                      closure: Optional[Callable[[], Any]]) -> Any:
        result = original(closure) if closure is not None else original()
        measured = self.gradients.take()
        local = max(self.init_batch // self.world.replicas, 1)
        batch, samples = Batch(local, measured.parts - 1), self.samples_of(self.advice.batch)
        if batch != self.advice.batch:
            self.agent.set_fixed(batch)  # takes effect with the next update
        elif measured.complete and self.leads:
            self._pass_to_agent(measured)
        self.advise()
        self.made = Made(samples, self.advice.gain, self.factors())
        self.agent.step_end()
        self.reporter.updated(self.init_batch * measured.parts)
        self.reporter.report(self.metrics)
        self.begin_observing()
        return result

    def begin_observing(self) -> None:
        self.agent.step_begin()
        self.gradients.begin_update(True, self.agent.paired)
        self.gradients.begin_micro(MicroStep(True, 1.0, False, 1))

    # ---- Metrics ---------------------------------------------------------------------------

    def status(self) -> Status:
        return self.agent.status()

    def metrics(self) -> dict[str, Any]:
        """See pollux.torch.metrics."""
        self.check_prepared()
        return self.reporter.metrics(self, self._grad)
