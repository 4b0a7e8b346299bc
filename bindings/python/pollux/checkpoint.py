# SPDX-License-Identifier: Apache-2.0
"""Atomic checkpoints, and positions in the data: pollux/checkpoint.h.

    with Checkpoint.begin(directory) as checkpoint:
        checkpoint.write("model", data)
        checkpoint.commit(keep=3)

    newest, note = Checkpoint.newest(directory)
    if newest:
        data = newest.read("model")

Under polluxd an old generation of a job that still runs cannot publish a checkpoint: begin,
commit and newest raise a PolluxError with the code ESTALE once a newer one has opened the
directory.
"""
from __future__ import annotations

import ctypes
import os
import weakref
from array import array
from errno import EINVAL, ENOENT
from typing import Any, Optional, Tuple, Union

from ._library import CBatch, CError, CSampler, PolluxError, check, closed, library

Path = Union[str, "os.PathLike[str]"]


class Checkpoint:
    """A checkpoint that is being written (begin) or read (newest).  A context manager: at its end a
    checkpoint that was not committed is removed."""

    def __init__(self, handle: ctypes.c_void_p) -> None:
        """Use Checkpoint.begin or Checkpoint.newest instead."""
        self._library = library()
        self._handle: Any = handle
        self._finalizer = weakref.finalize(self, self._library.pollux_checkpoint_close, handle)
        self._finalizer.atexit = False  # at exit a writing thread may be interrupted, as by a kill

    @classmethod
    def begin(cls, directory: Path) -> Checkpoint:
        """Begin a checkpoint in a directory, which is made if it is missing (its parent must
        exist)."""
        handle, error = ctypes.c_void_p(), CError()
        code = library().pollux_checkpoint_begin(
            os.fsencode(directory), ctypes.byref(handle), ctypes.byref(error)
        )
        check(code, error)
        return cls(handle)

    @classmethod
    def newest(cls, directory: Path) -> Tuple[Optional[Checkpoint], str]:
        """The newest complete checkpoint, and a sentence about newer ones that are damaged ("":
        none).  None if there is no checkpoint; PolluxError if all are damaged."""
        handle, note, error = ctypes.c_void_p(), CError(), CError()
        code = library().pollux_checkpoint_open(
            os.fsencode(directory),
            ctypes.byref(handle),
            ctypes.byref(note),
            ctypes.byref(error),
        )
        if code == -ENOENT:
            return None, ""
        check(code, error)
        return cls(handle), note.text.decode(errors="replace")

    @property
    def path(self) -> str:
        """The folder of its files, to write them by other means before the commit, or to read
        them."""
        return os.fsdecode(self._library.pollux_checkpoint_path(self._handle))

    @property
    def number(self) -> int:
        """The number in its name; 0 for one that is not committed yet."""
        return self._library.pollux_checkpoint_number(self._handle)

    def write(self, name: str, data: Any) -> None:
        """Add a file of any bytes.  A name is 1 to 128 of A-Z a-z 0-9 . _ - and does not start
        with a dot."""
        if not isinstance(data, bytes):
            data = memoryview(data).cast("B")
            data = bytes(data) if data.readonly else (ctypes.c_char * len(data)).from_buffer(data)
        error = CError()
        code = self._library.pollux_checkpoint_write(
            self._handle, os.fsencode(name), data, len(data), ctypes.byref(error)
        )
        check(code, error)

    def commit(self, keep: int) -> None:
        """Make it durable and the newest, then remove all but the `keep` newest.  Blocks until the
        disk has it all, while other threads run.  On failure earlier checkpoints are unchanged."""
        error = CError()
        code = self._library.pollux_checkpoint_commit(self._handle, keep, ctypes.byref(error))
        check(code, error)

    def read(self, name: str) -> bytes:
        """The content of a file; its checksum is verified."""
        size = self._library.pollux_checkpoint_size(self._handle, os.fsencode(name))
        if size < 0:
            raise PolluxError(-size, f"{self.path} has no file '{name}'")
        data, error = ctypes.create_string_buffer(max(size, 1)), CError()
        code = self._library.pollux_checkpoint_read(
            self._handle, os.fsencode(name), data, size, ctypes.byref(error)
        )
        check(code, error)
        return ctypes.string_at(data, size)

    def close(self) -> None:
        """Close it.  A checkpoint that was not committed is removed.  May be called again."""
        self._handle = closed("checkpoint")
        self._finalizer()

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, *unused: Any) -> None:
        self.close()


def indices(seed: int, length: int, pass_: int, offset: int, count: int) -> array:
    """The samples at `count` consecutive positions of one pass over a dataset: indices 0 to
    length-1 in an order that depends on seed and pass alone, the same on every machine."""
    ret = array("q", bytes(8 * max(count, 0)))
    if count < 0 or offset < 0 or offset + count > length:
        raise PolluxError(
            EINVAL,
            f"sampler: positions {offset} to {offset + count} are not within a pass of {length}",
        )
    if count == 0:
        return ret
    sampler, error = CSampler(seed & (1 << 64) - 1, length, pass_, offset), CError()
    code = library().pollux_sampler_take(
        ctypes.byref(sampler), 1, 0, CBatch(count, 0), 0, ret.buffer_info()[0], ctypes.byref(error)
    )
    check(code, error)
    return ret
