# SPDX-License-Identifier: Apache-2.0
"""libpollux by ctypes: where the library is, its structures, the signatures of its functions, and
its errors as an exception.

Nothing is loaded before the first call of library().  What the functions mean is written in the
public headers (include/pollux); the modules above give them their Python shape.
"""
from __future__ import annotations

import ctypes
import os
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_bool,
    c_char,
    c_char_p,
    c_double,
    c_int,
    c_int64,
    c_size_t,
    c_uint64,
    c_void_p,
)
from errno import ENOENT, ENOSYS
from pathlib import Path
from typing import Iterator, Optional

SONAME = "libpollux.so.1"


class PolluxError(Exception):
    """Something was refused.  The text is one sentence that names the thing and the repair; code
    is a positive errno value."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(code, text)
        self.code = code
        self.text = text

    def __str__(self) -> str:
        return self.text


# ---- Structures, in the order of the headers --------------------------------------------------


class CError(Structure):
    _fields_ = [("text", c_char * 256)]


class CModel(Structure):
    _fields_ = [
        ("alpha_grad", c_double),
        ("beta_grad", c_double),
        ("alpha_node", c_double),
        ("beta_node", c_double),
        ("alpha_local", c_double),
        ("beta_local", c_double),
        ("gamma", c_double),
    ]


class CGrad(Structure):
    _fields_ = [("sqr", c_double), ("var", c_double), ("gain_max", c_double)]


class CShape(Structure):
    _fields_ = [("nodes", c_int), ("replicas", c_int)]


class CBatch(Structure):
    _fields_ = [("m", c_int64), ("s", c_int64)]


class CLimits(Structure):
    _fields_ = [
        ("init_batch", c_int64),
        ("max_batch", c_int64),
        ("min_local", c_int64),
        ("max_local", c_int64),
        ("accumulation", c_bool),
    ]


class CBest(Structure):
    _fields_ = [("batch", CBatch), ("goodput", c_double)]


class CSample(Structure):
    _fields_ = [
        ("shape", CShape),
        ("m", c_int64),
        ("grad_s", c_double),
        ("step_s", c_double),
        ("weight", c_double),
    ]


class CFit(Structure):
    _fields_ = [
        ("model", CModel),
        ("loss", c_double),
        ("grad_error", c_double),
        ("step_error", c_double),
    ]


class CAdam(Structure):
    _fields_ = [("beta2", c_double), ("eps", c_double), ("step", c_int64)]


class CPair(Structure):
    _fields_ = [("dot", c_double), ("diff_sqr", c_double)]


class CRate(Structure):
    _fields_ = [
        ("init_batch", c_int64),
        ("total_batch", c_int64),
        ("progress", c_double),
        ("warmup_epochs", c_double),
        ("dataset_size", c_int64),
    ]


class CWorld(Structure):
    _fields_ = [
        ("rank", c_int),
        ("local_rank", c_int),
        ("shape", CShape),
        ("generation", c_int),
    ]


CClock = CFUNCTYPE(c_double, c_void_p)


class CSetup(Structure):
    _fields_ = [
        ("limits", CLimits),
        ("groups", c_int),
        ("rule", c_char_p),
        ("total", c_double),
        ("warmup_epochs", c_double),
        ("dataset_size", c_int64),
        ("beta2", c_double),
        ("fixed", CBatch),
        ("observe", c_bool),
        ("few_sizes", c_bool),
        ("period_s", c_double),
        ("world", CWorld),
        ("clock_s", CClock),
        ("clock", c_void_p),
    ]


class CAdvice(Structure):
    _fields_ = [
        ("batch", CBatch),
        ("verdict", c_int),
        ("skip", c_bool),
        ("gain", c_double),
        ("progress", c_double),
    ]


class CStatus(Structure):
    _fields_ = [
        ("batch", CBatch),
        ("updates", c_int64),
        ("progress", c_double),
        ("total", c_double),
        ("grad", CGrad),
        ("decision_grad", CGrad),
        ("noise_scale", c_double),
        ("noise_weight", c_double),
        ("noise_biased", c_bool),
        ("noise_unbiased", c_double),
        ("fitted", c_bool),
        ("fit", CFit),
        ("best", CBest),
        ("samples", c_int),
        ("max_profiled_replicas", c_int),
        ("reports_sent", c_int64),
        ("reports_lost", c_int64),
        ("report_error", c_int),
    ]


class CSampler(Structure):
    _fields_ = [
        ("seed", c_uint64),
        ("length", c_int64),
        ("pass_", c_int64),
        ("offset", c_int64),
    ]


# The structure of each name in C, for the test that compares sizes.
STRUCTURES = {
    "pollux_error": CError,
    "pollux_model": CModel,
    "pollux_grad": CGrad,
    "pollux_shape": CShape,
    "pollux_batch": CBatch,
    "pollux_limits": CLimits,
    "pollux_best": CBest,
    "pollux_sample": CSample,
    "pollux_fit": CFit,
    "pollux_adam": CAdam,
    "pollux_pair": CPair,
    "pollux_rate": CRate,
    "pollux_world": CWorld,
    "pollux_setup": CSetup,
    "pollux_advice": CAdvice,
    "pollux_status": CStatus,
    "pollux_sampler": CSampler,
}

# ---- Functions --------------------------------------------------------------------------------

_error = POINTER(CError)
_model = POINTER(CModel)
_limits = POINTER(CLimits)
_samples = POINTER(CSample)
_handle = c_void_p  # of something opaque
_handles = POINTER(c_void_p)  # where a constructor puts it
_doubles = c_void_p  # an array; None for none
_adam = POINTER(CAdam)

# name: (result, arguments)
SIGNATURES = {
    "pollux_version": (c_char_p, []),
    # Goodput
    "pollux_total_batch": (c_double, [CShape, CBatch]),
    "pollux_grad_time": (c_double, [_model, c_int64]),
    "pollux_iter_time": (c_double, [_model, CShape, CBatch]),
    "pollux_throughput": (c_double, [_model, CShape, CBatch]),
    "pollux_noise_scale": (c_double, [CGrad, c_int64]),
    "pollux_gain": (c_double, [CGrad, c_double]),
    "pollux_efficiency": (c_double, [CGrad, c_int64, c_double]),
    "pollux_goodput": (c_double, [_model, CGrad, c_int64, CShape, CBatch]),
    "pollux_best_batch": (
        c_int,
        [_model, CGrad, _limits, c_int, CShape, POINTER(CBest), _error],
    ),
    "pollux_curve": (
        c_int,
        [_model, CGrad, _limits, c_int, c_int, POINTER(CBest), POINTER(CBest), _error],
    ),
    "pollux_split_batch": (CBatch, [c_int64, c_int, c_int64, c_int64]),
    "pollux_fit": (c_int, [_samples, c_size_t, _model, POINTER(CFit), _error]),
    "pollux_fit_loss": (c_double, [_samples, c_size_t, _model]),
    # Gradient noise
    "pollux_noise_new": (c_int, [c_int, c_int64, _handles, _error]),
    "pollux_noise_free": (None, [_handle]),
    "pollux_noise_update": (c_int, [_handle, c_int, CBatch, _doubles, _doubles, _error]),
    "pollux_noise_update_single": (c_int, [_handle, c_int64, _doubles, _doubles, _error]),
    "pollux_noise_paired": (c_bool, [_handle, c_int64]),
    "pollux_noise_grad": (CGrad, [_handle]),
    "pollux_noise_group": (CGrad, [_handle, c_int]),
    "pollux_noise_biased": (c_bool, [_handle]),
    "pollux_noise_weight": (c_double, [_handle]),
    "pollux_noise_size": (c_size_t, [_handle]),
    "pollux_noise_save": (c_int, [_handle, c_void_p, c_size_t, _error]),
    "pollux_noise_restore": (c_int, [_handle, c_void_p, c_size_t, _error]),
    # Addresses of arrays, such as Tensor.data_ptr() gives them.
    "pollux_sqr_f32": (c_double, [c_void_p, c_size_t, c_void_p, _adam]),
    "pollux_sqr_f64": (c_double, [c_void_p, c_size_t, c_void_p, _adam]),
    "pollux_sqr_many_f32": (c_double, [c_void_p, c_void_p, c_size_t]),
    "pollux_pair_f32": (CPair, [c_void_p, c_void_p, c_size_t, c_void_p, _adam]),
    "pollux_pair_f64": (CPair, [c_void_p, c_void_p, c_size_t, c_void_p, _adam]),
    # Learning-rate rules
    "pollux_rule_by_name": (c_int, [c_char_p, _handles, _error]),
    "pollux_rule_at": (c_void_p, [c_size_t]),
    "pollux_rule_name": (c_char_p, [_handle]),
    "pollux_rule_is_by_group": (c_bool, [_handle]),
    "pollux_rule_is_adam": (c_bool, [_handle]),
    "pollux_rule_factor": (c_double, [_handle, POINTER(CRate), CGrad]),
    "pollux_rate_advance": (c_double, [POINTER(CRate), CGrad]),
    # The agent
    "pollux_world_read": (c_int, [POINTER(CWorld), _error]),
    "pollux_setup_default": (None, [c_int64, POINTER(CSetup)]),
    "pollux_agent_open": (c_int, [POINTER(CSetup), _handles, _error]),
    "pollux_agent_close": (None, [_handle]),
    "pollux_agent_world": (CWorld, [_handle]),
    "pollux_agent_checkpoint_dir": (c_char_p, [_handle]),
    "pollux_agent_catch": (c_int, [_handle, c_int, _error]),
    "pollux_agent_stopping": (c_bool, [_handle]),
    "pollux_agent_stop": (None, [_handle]),
    "pollux_agent_set_total": (None, [_handle, c_double]),
    "pollux_agent_set_fixed": (c_int, [_handle, CBatch, _error]),
    "pollux_agent_pass_begin": (None, [_handle]),
    "pollux_agent_step_begin": (None, [_handle]),
    "pollux_agent_step_end": (None, [_handle]),
    "pollux_agent_step_drop": (None, [_handle]),
    "pollux_agent_sync_begin": (None, [_handle]),
    "pollux_agent_sync_end": (None, [_handle]),
    "pollux_agent_sync_time": (None, [_handle, c_double]),
    "pollux_agent_micro_end": (None, [_handle]),
    "pollux_agent_step_times": (None, [_handle, c_double, c_double]),
    "pollux_agent_samples": (c_int, [_handle, c_int64, _error]),
    "pollux_agent_gradients": (c_int, [_handle, c_int64, _doubles, _doubles, _error]),
    "pollux_agent_gradients_single": (c_int, [_handle, _doubles, _doubles, _error]),
    "pollux_agent_energy": (None, [_handle, c_double]),
    "pollux_agent_skip": (None, [_handle]),
    "pollux_agent_paired": (c_bool, [_handle]),
    "pollux_agent_batch_at": (CBatch, [_handle, c_int64]),
    "pollux_agent_decide": (c_void_p, [_handle, POINTER(c_size_t)]),
    "pollux_agent_follow": (c_int, [_handle, POINTER(CAdvice), _error]),
    "pollux_agent_factor": (c_double, [_handle, c_int]),
    "pollux_agent_status": (None, [_handle, POINTER(CStatus)]),
    "pollux_agent_state_size": (c_size_t, [_handle]),
    "pollux_agent_state_save": (c_int, [_handle, c_void_p, c_size_t, _error]),
    "pollux_agent_state_restore": (c_int, [_handle, c_void_p, c_size_t, _error]),
    "pollux_agent_save": (c_int, [_handle, _handle, _error]),
    "pollux_agent_restore": (c_int, [_handle, _handle, _error]),
    # Checkpoints and positions in the data
    "pollux_checkpoint_begin": (c_int, [c_char_p, _handles, _error]),
    "pollux_checkpoint_write": (c_int, [_handle, c_char_p, c_void_p, c_size_t, _error]),
    "pollux_checkpoint_path": (c_char_p, [_handle]),
    "pollux_checkpoint_commit": (c_int, [_handle, c_int, _error]),
    "pollux_checkpoint_close": (None, [_handle]),
    "pollux_checkpoint_open": (c_int, [c_char_p, _handles, _error, _error]),
    "pollux_checkpoint_number": (c_int64, [_handle]),
    "pollux_checkpoint_size": (c_int64, [_handle, c_char_p]),
    "pollux_checkpoint_read": (c_int, [_handle, c_char_p, c_void_p, c_size_t, _error]),
    "pollux_sampler_index": (c_int64, [c_uint64, c_int64, c_int64, c_int64]),
    "pollux_sampler_take": (
        c_int,
        [POINTER(CSampler), c_int, c_int, CBatch, c_int64, c_void_p, _error],
    ),
    "pollux_sampler_advance": (c_int64, [POINTER(CSampler), c_int, CBatch, _error]),
}

# ---- Finding and loading ----------------------------------------------------------------------


def build_folder() -> Optional[Path]:
    """$POLLUX_BUILD, or the build folder of the source tree that this package is in; None for an
    installed package.  It may not be there yet."""
    if os.environ.get("POLLUX_BUILD"):
        return Path(os.environ["POLLUX_BUILD"])
    parents = Path(__file__).resolve().parents  # pollux, python, bindings, the tree
    if len(parents) > 3 and (parents[3] / "include" / "pollux" / "pollux.h").is_file():
        return parents[3] / "build"
    return None


def _candidates() -> Iterator[str]:
    """Where the library may be, the best first."""
    build = build_folder()
    if build:
        yield str(build / "libpollux.so")
        yield str(build / SONAME)
    yield str(Path(__file__).resolve().parent / SONAME)  # in a wheel
    for parent in Path(__file__).resolve().parents:
        if parent.name in ("lib", "lib64"):  # PREFIX/lib/python3/dist-packages/pollux
            yield str(parent / SONAME)
    yield SONAME  # by the loader


def _find() -> ctypes.CDLL:
    given = os.environ.get("POLLUX_LIBRARY")
    if given:
        try:
            return ctypes.CDLL(given)
        except OSError as error:
            raise PolluxError(ENOENT, f"POLLUX_LIBRARY does not load: {error}") from None
    looked = []
    for path in _candidates():
        if os.path.isabs(path) and not os.path.exists(path):
            looked.append(f"{path} (not there)")
            continue
        try:
            return ctypes.CDLL(path)
        except OSError as error:
            looked.append(str(error) if path in str(error) else f"{path} ({error})")
    repair = "run `make` there" if build_folder() else "install libpollux1, or run `make install`"
    raise PolluxError(
        ENOENT,
        f"libpollux was not found; {repair}, or set POLLUX_LIBRARY to its file.  Looked for: "
        + "; ".join(looked),
    )


def _bind(library: ctypes.CDLL) -> ctypes.CDLL:
    for name, (result, arguments) in SIGNATURES.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise PolluxError(
                ENOSYS,
                f"{library._name} has no {name}: it is older than this package; install both of "
                "one version",
            ) from None
        function.restype = result
        function.argtypes = arguments
    return library


_loaded: Optional[ctypes.CDLL] = None


def library() -> ctypes.CDLL:
    """libpollux, loaded by the first call.  PolluxError says where it was looked for."""
    global _loaded
    if _loaded is None:
        _loaded = _bind(_find())
    return _loaded


def check(code: int, error: CError) -> int:
    """What a function returned, unless it was refused: then PolluxError with its sentence."""
    if code < 0:
        raise PolluxError(-code, error.text.decode(errors="replace"))
    return code


class _Closed:
    """In the place of a handle that was given back: any call with it is refused."""

    def __init__(self, what: str) -> None:
        self._what = what

    @property
    def _as_parameter_(self) -> int:
        raise ValueError(f"this {self._what} is closed")


def closed(what: str) -> _Closed:
    """A handle that no function takes."""
    return _Closed(what)
