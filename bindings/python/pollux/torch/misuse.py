# SPDX-License-Identifier: Apache-2.0
"""Warnings of programs that do something else than their authors expect, without an error.  Replica
0 warns of each kind once and names the line to change."""
from __future__ import annotations

import linecache
import os
import re
import sys
import warnings
from types import FrameType
from typing import Any, NamedTuple, Optional

import torch

LIBRARIES = tuple(os.path.dirname(os.path.abspath(file)) + os.sep
                  for file in (os.path.dirname(__file__), torch.__file__, warnings.__file__))
ENOUGH = 3  # equal signs of a mistake; fewer may be deliberate
RANGE_LOOP = re.compile(r"\s*for\b.*\bin\b.*\brange\s*\(")


class Place(NamedTuple):
    """A line of the program."""

    file: str
    line: int


class Misuse:
    """Counts the signs of each kind of misuse."""

    def __init__(self, tell: bool) -> None:
        self._tell = tell
        self._told: set[str] = set()
        self._given_loader: Optional[Place] = None  # where the loader of the program is iterated
        self._outside = 0       # steps of the optimizer without a batch of Pollux, in succession
        self._iterations = 0    # of the elastic loader, without a loop of Pollux
        # accumulation
        self.by_adapter = False         # an adapter calls opt.step(), in last micro-steps only
        self._called = False            # opt.step(), in this micro-step
        self._asked = False             # px.updating(), in this micro-step
        self._first_unstepped = False   # the first micro-step had a gradient and no opt.step()
        self._unstepped = 0     # updates with a gradient and without a step, in succession
        self._accumulated = 0   # steps after such micro-steps or updates, in succession
        # learning rates
        self._rates: list[Any] = []     # at the last opt.step()
        self._changes = 0       # of the rates, in this update
        self._explained = False         # see rate_explained()
        self._unexplained = 0   # updates with too many changes, in succession

    def given_loader_iterated(self) -> None:
        """The program iterates the loader that it gave to px.prepare()."""
        self._given_loader = here()

    def step_outside(self) -> None:
        """opt.step() is called, and there is no batch of the elastic loader."""
        self._outside += 1
        if self._outside == ENOUGH:
            self._warn("loader", "this loop does not train with the loader that px.prepare() has "
                       "returned, so Pollux does nothing: iterate that one "
                       "(model, opt, loader = px.prepare(model, opt, loader, ...))",
                       self._given_loader or here())

    def begin_micro(self, micro: int, gradient: bool) -> None:
        """A micro-step begins.  gradient: the one before had a backward pass."""
        if micro <= 1:
            self._first_unstepped = micro == 1 and gradient and not self._called
        self._called = self._asked = False

    def updating_asked(self) -> None:
        """px.updating() is called."""
        self._asked = True

    def step_called(self, rates: list[Any]) -> None:
        """opt.step() is called in a micro-step, with these rates for M0."""
        self._called = True
        self._changes += rates != self._rates
        self._rates = rates

    def stepped(self) -> None:
        """opt.step() is called in the last micro-step of an update.  A program that
        accumulates n > 1 batches does not call it in the next iteration, which is the first
        micro-step of the next update, or the only one.  A program with `if px.updating():
        opt.step()` does not call it either, but calls px.updating()."""
        early = self._first_unstepped and not self._asked and not self.by_adapter
        self._accumulated = self._accumulated + 1 if early or self._unstepped > 0 else 0
        self._unstepped = 0
        if self._accumulated == ENOUGH:
            self._warn("accumulation", "opt.step() is not called in every iteration: remove your "
                       "own gradient accumulation, also the division of the loss; Pollux "
                       "accumulates, and a batch without opt.step() may be lost", here())

    def unstepped(self) -> None:
        """An update has a gradient, and opt.step() was not called."""
        self._unstepped += 1

    def iterated(self, in_loop: bool) -> None:
        """The elastic loader is iterated."""
        self._outside = 0
        self.rate_explained()   # it may have changed between two epochs
        if in_loop:
            self._iterations = 0
            return
        self._iterations += 1
        if self._iterations == 2:
            self._warn("range", "the loader is iterated again without px.epochs(): epochs are not "
                       "counted, so that training does not resume in the right one; write "
                       "`for epoch in px.epochs(n)` instead of `range(n)`",
                       range_loop() or here())

    def scheduler_noticed(self) -> None:
        """A scheduler was found to count updates.  With an adapter this is no misuse: only the
        steps of a scheduler show what it counts."""
        if self.by_adapter:
            return
        self._warn("scheduler", "this scheduler is stepped after every update: from now on it "
                   "counts progress, in updates with M0; give it to px.prepare(scheduler=...), so "
                   "that it does from the start", here())

    def rate_explained(self) -> None:
        """A known scheduler is stepped, or the program asks for the progress: the next change of
        the rates is as it should be."""
        self._explained = True

    def check_rates(self, larger: bool) -> None:
        """opt.step() makes an update.  A change of the rates in each update counts updates, which
        is wrong for those that are larger than M0; several changes count micro-steps."""
        wrong = self._changes > (0 if larger else 1) and not self._explained
        self._unexplained = self._unexplained + 1 if wrong else 0
        self._changes, self._explained = 0, False
        if self._unexplained == ENOUGH:
            self._warn("rate", "the learning rate changes in every iteration or update, by no "
                       "scheduler that Pollux knows, so that it does not follow progress: give the "
                       "scheduler to px.prepare(scheduler=...), or compute the rate from "
                       "px.metrics()[\"progress\"], which counts updates with M0", here())

    def _warn(self, kind: str, message: str, place: Place) -> None:
        if self._tell and kind not in self._told:
            warnings.warn_explicit(f"pollux: {message}", UserWarning, *place)
        self._told.add(kind)


def here() -> Place:
    """The line of the program that has called Pollux."""
    frame = _caller()
    return Place(frame.f_code.co_filename, frame.f_lineno)


def range_loop() -> Optional[Place]:
    """The line of the loop over a range around the line of the program, or around its callers."""
    frame: Optional[FrameType] = _caller()
    while frame is not None:
        file, line = frame.f_code.co_filename, frame.f_lineno
        indent = _indent(linecache.getline(file, line))
        for number in range(line, frame.f_code.co_firstlineno - 1, -1):
            text = linecache.getline(file, number)
            if text.strip() and _indent(text) < indent:
                indent = _indent(text)
                if RANGE_LOOP.match(text):
                    return Place(file, number)
        frame = frame.f_back
    return None


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _caller() -> FrameType:
    """The innermost frame that is not of Pollux, torch or Python's own library."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(LIBRARIES):
        frame = frame.f_back
    return frame
