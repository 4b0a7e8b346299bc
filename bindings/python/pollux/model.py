# SPDX-License-Identifier: Apache-2.0
"""Goodput as plain functions: pollux/pollux.h.

    goodput = throughput x efficiency         (useful samples per second)

Words: K replicas on N nodes; m samples in one replica's micro-batch; s extra accumulation steps;
M = K m (s+1) the total batch; M0 = init_batch the user's own total batch.

Every number may be an array instead, those within a model, grad or limits too; arrays are broadcast
against each other as numpy does, and give arrays.  Lists of equal length give lists, without numpy.
Outside their domain functions give NaN, as in C; best_batch, curve and fit raise PolluxError.
"""
from __future__ import annotations

from typing import Any, Callable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from ._library import CBatch, CBest, CError, CFit, CGrad, CLimits, CModel, CSample, CShape
from ._library import check, library

# ---- Values -----------------------------------------------------------------------------------


class Model(NamedTuple):
    """The throughput model.  One micro-step computes for alpha_grad + beta_grad m seconds; the
    gradients are summed in alpha + beta (K-2), with the constants of one node (local) or of many
    (node); gamma >= 1 says how far the two overlap."""

    alpha_grad: float
    beta_grad: float
    alpha_node: float
    beta_node: float
    alpha_local: float
    beta_local: float
    gamma: float

    @classmethod
    def of(cls, c: Any) -> Model:
        """From the structure in C."""
        return cls(*(getattr(c, name) for name in cls._fields))


class Grad(NamedTuple):
    """Gradient statistics at batch M0: squared norm of the true gradient, and total variance of
    its estimate.  gain_max is the largest gain that the job uses, at least 1; 0: no limit."""

    sqr: float
    var: float
    gain_max: float = 0.0

    @classmethod
    def of(cls, c: Any) -> Grad:
        """From the structure in C."""
        return cls(c.sqr, c.var, c.gain_max)


class Batch(NamedTuple):
    """A batch on one replica: m samples in a micro-batch, s extra accumulation steps."""

    m: int
    s: int

    @classmethod
    def of(cls, c: Any) -> Batch:
        """From the structure in C."""
        return cls(c.m, c.s)


class Limits(NamedTuple):
    """What a job may choose from, in samples: M0 <= M <= max_batch, min_local <= m <= max_local,
    s > 0 only with accumulation."""

    init_batch: int
    max_batch: int
    min_local: int
    max_local: int
    accumulation: bool = True


class Best(NamedTuple):
    """The best batch of a placement.  goodput 0 and batch (0, 0) where no batch is legal."""

    batch: Batch
    goodput: float

    @classmethod
    def of(cls, c: Any) -> Best:
        """From the structure in C."""
        return cls(Batch.of(c.batch), c.goodput)


class Curve(NamedTuple):
    """The best batches for 1, 2, ... replicas, on one node and on two or more."""

    one_node: List[Best]
    many_nodes: List[Best]


class Fit(NamedTuple):
    """A fitted model and what it is worth: the errors are root mean squares over the samples of
    the logarithm's error, so that 0.1 means about 10 %; loss is what the fit minimises."""

    model: Model
    loss: float
    grad_error: float
    step_error: float

    @classmethod
    def of(cls, c: Any) -> Fit:
        """From the structure in C."""
        return cls(Model.of(c.model), c.loss, c.grad_error, c.step_error)


ModelLike = Union[Model, Sequence[Any], Mapping[str, Any]]
GradLike = Union[Grad, Sequence[Any], Mapping[str, Any]]
LimitsLike = Union[Limits, Sequence[Any], Mapping[str, Any]]

# ---- Numbers, lists and arrays ----------------------------------------------------------------


def _fields(kind: Any, value: Any) -> Tuple[Any, ...]:
    """The fields of a value that comes as itself, as a sequence, or as a mapping of a problem file,
    which may have others besides."""
    if isinstance(value, Mapping):
        known = {**kind._field_defaults, **value}
        missing = [name for name in kind._fields if name not in known]
        if missing:
            raise TypeError(f"{kind.__name__} has no {missing[0]}: {dict(value)!r}")
        return tuple(known[name] for name in kind._fields)
    return tuple(kind(*value))


def _whole(value: Any, bits: int = 64) -> int:
    """An integer that C can hold."""
    whole = int(value)
    if whole != value:
        raise ValueError(f"expected a whole number, got {value!r}")
    if not -(1 << bits - 1) <= whole < 1 << bits - 1:
        raise OverflowError(f"{value!r} is too large a number")
    return whole


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple, range))


def _rows(values: Sequence[Any]) -> Tuple[List[Tuple[Any, ...]], Callable[[List[Any]], Any]]:
    """The values as rows of plain numbers, and what makes of a column of results the shape that
    they all have together: a number, a list or an array."""
    if any(getattr(value, "ndim", 0) > 0 for value in values):
        import numpy

        arrays = numpy.broadcast_arrays(*values)
        shape = arrays[0].shape
        rows = list(zip(*(array.ravel().tolist() for array in arrays)))
        return rows, lambda column: numpy.array(column).reshape(shape)
    if any(_is_list(value) for value in values):
        length = max(len(value) for value in values if _is_list(value))
        columns = [value if _is_list(value) else [value] * length for value in values]
        if any(len(column) != length for column in columns):
            raise ValueError("lists must have equal lengths")
        return list(zip(*columns)), list
    return [tuple(values)], lambda column: column[0]


def _each(function: Callable[..., Any], *values: Any) -> Any:
    """A function of plain numbers, for all of them."""
    rows, shape = _rows(values)
    return shape([function(*row) for row in rows])


# ---- Goodput ----------------------------------------------------------------------------------


def _placement(replicas: Any, nodes: Any, m: Any, s: Any) -> Tuple[CShape, CBatch]:
    return CShape(_whole(nodes, 32), _whole(replicas, 32)), CBatch(_whole(m), _whole(s))


def step_time(model: ModelLike, replicas: Any, m: Any, s: Any = 0, *, nodes: Any = 1) -> Any:
    """Seconds of one whole iteration: s micro-steps, then one overlapped with synchronisation."""
    c = library().pollux_iter_time

    def one(*row: Any) -> float:
        return c(CModel(*row[:7]), *_placement(*row[7:]))

    return _each(one, *_fields(Model, model), replicas, nodes, m, s)


def throughput(model: ModelLike, replicas: Any, m: Any, s: Any = 0, *, nodes: Any = 1) -> Any:
    """Samples per second."""
    c = library().pollux_throughput

    def one(*row: Any) -> float:
        return c(CModel(*row[:7]), *_placement(*row[7:]))

    return _each(one, *_fields(Model, model), replicas, nodes, m, s)


def noise_scale(grad: GradLike, init_batch: Any) -> Any:
    """M0 var / sqr, in samples."""
    c = library().pollux_noise_scale
    return _each(
        lambda *row: c(CGrad(*row[:3]), _whole(row[3])), *_fields(Grad, grad), init_batch
    )


def gain(grad: GradLike, scale: Any) -> Any:
    """Progress of one update with batch scale x M0, counted in updates with batch M0."""
    c = library().pollux_gain
    return _each(lambda *row: c(CGrad(*row[:3]), row[3]), *_fields(Grad, grad), scale)


def efficiency(grad: GradLike, init_batch: Any, total_batch: Any) -> Any:
    """Progress per sample relative to M0, in (0, 1], for total_batch >= init_batch."""
    c = library().pollux_efficiency
    return _each(
        lambda *row: c(CGrad(*row[:3]), _whole(row[3]), row[4]),
        *_fields(Grad, grad),
        init_batch,
        total_batch,
    )


def goodput(
    model: ModelLike,
    grad: GradLike,
    init_batch: Any,
    replicas: Any,
    m: Any,
    s: Any = 0,
    *,
    nodes: Any = 1,
) -> Any:
    """Useful samples per second: throughput x efficiency, for M >= M0."""
    c = library().pollux_goodput

    def one(*row: Any) -> float:
        return c(CModel(*row[:7]), CGrad(*row[7:10]), _whole(row[10]), *_placement(*row[11:]))

    return _each(
        one, *_fields(Model, model), *_fields(Grad, grad), init_batch, replicas, nodes, m, s
    )


# ---- The best batch ---------------------------------------------------------------------------

_SEARCHES = ("exact", "reference")


def _search(name: str) -> int:
    if name not in _SEARCHES:
        raise ValueError(f"search is exact or reference, got {name!r}")
    return _SEARCHES.index(name)


def _limits(init: Any, most: Any, low: Any, high: Any, accumulation: Any) -> CLimits:
    return CLimits(_whole(init), _whole(most), _whole(low), _whole(high), bool(accumulation))


def best_batch(
    model: ModelLike,
    grad: GradLike,
    limits: LimitsLike,
    replicas: Any,
    *,
    nodes: Any = 1,
    search: str = "exact",
) -> Best:
    """The batch with most goodput on a placement; the smaller total batch on a tie.  Of arrays, a
    Best of arrays."""
    c, how = library().pollux_best_batch, _search(search)
    best, error = CBest(), CError()

    def one(*row: Any) -> Tuple[int, int, float]:
        shape = CShape(_whole(row[16], 32), _whole(row[15], 32))
        code = c(CModel(*row[:7]), CGrad(*row[7:10]), _limits(*row[10:15]), how, shape, best, error)
        check(code, error)
        return best.batch.m, best.batch.s, best.goodput

    fields = *_fields(Model, model), *_fields(Grad, grad), *_fields(Limits, limits)
    rows, shape = _rows((*fields, replicas, nodes))
    results = [one(*row) for row in rows]
    m, s, most = (shape([result[i] for result in results]) for i in range(3))
    return Best(Batch(m, s), most)


def split_batch(total: int, replicas: int, max_local: int, min_steps: int = 1) -> Batch:
    """Split a total batch over replicas: micro-batches of at most max_local samples, in as few
    micro-steps as possible."""
    return Batch.of(library().pollux_split_batch(total, replicas, max_local, min_steps))


def curve(
    model: ModelLike,
    grad: GradLike,
    limits: LimitsLike,
    max_replicas: int,
    *,
    search: str = "exact",
) -> Curve:
    """The best batches for 1 to max_replicas replicas at once, much faster than one by one.  Takes
    numbers only."""
    count, error = _whole(max_replicas, 32), CError()
    one_node, many_nodes = ((CBest * max(count, 1))() for _ in range(2))
    code = library().pollux_curve(
        CModel(*_fields(Model, model)),
        CGrad(*_fields(Grad, grad)),
        _limits(*_fields(Limits, limits)),
        _search(search),
        count,
        one_node,
        many_nodes,
        error,
    )
    check(code, error)
    return Curve([Best.of(c) for c in one_node], [Best.of(c) for c in many_nodes])


# ---- Fitting ----------------------------------------------------------------------------------


def fit(
    replicas: Any,
    m: Any,
    grad_s: Any,
    step_s: Any,
    *,
    nodes: Any = 1,
    weight: Any = 1.0,
    last: Optional[ModelLike] = None,
) -> Fit:
    """Fit the throughput model to measured step times, a column each: on `replicas` replicas of
    `nodes` nodes with m samples a micro-step without synchronisation took grad_s seconds, and the
    last one with it step_s.  A sample of weight 2 counts like two.  last is the job's previous
    model: parameters that the samples do not determine keep its values."""
    rows, _ = _rows((nodes, replicas, m, grad_s, step_s, weight))
    samples = (CSample * max(len(rows), 1))(
        *(CSample(CShape(_whole(n, 32), _whole(k, 32)), _whole(b), *t) for n, k, b, *t in rows)
    )
    previous = CModel(*_fields(Model, last)) if last is not None else None
    result, error = CFit(), CError()
    code = library().pollux_fit(samples, len(rows), previous, result, error)
    check(code, error)
    return Fit.of(result)
