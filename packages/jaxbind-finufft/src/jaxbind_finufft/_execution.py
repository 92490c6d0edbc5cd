# SPDX-License-Identifier: BSD-2-Clause
"""The host functions: what runs inside a compiled program, batches included.

Owns the way from the arrays of a call to calls of FINUFFT. Arguments are one array per dimension of points (for type 3
also of targets), then the strengths with a leading axis, the stack of arrays that have the same points. Results have
that axis too.

    points not mapped    the batch joins the stack: one call of FINUFFT
    points mapped        one call per set of points. Levels of `vmap` along which all points are equal, bit by bit,
                         join the stack: JAX repeats arrays that are mapped at one level and not at another.

Every function is found by its module and name in compiled programs that were stored.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxbind import load_kwargs

from jaxbind_finufft import _errors, _threads, _upsampling
from jaxbind_finufft._plan_cache import plan_cache
from jaxbind_finufft._plans import Lane, Request

BatchAxes = Sequence[Sequence[int]]
Options = tuple[tuple[str, int | float], ...]
Transform = Callable[[Sequence[Any], Any, Any], None]

# Names of the arguments in messages: FINUFFT's.
_AXES = ("points[0] (x)", "points[1] (y)", "points[2] (z)")
_TARGET_AXES = ("targets[0] (s)", "targets[1] (t)", "targets[2] (u)")


def nufft1_host(out: Sequence[Any], args: Sequence[Any], kwargs_dump: Any) -> None:
    """Points to modes."""
    _run(_grid_settings(1, kwargs_dump), args, out[0])


def nufft2_host(out: Sequence[Any], args: Sequence[Any], kwargs_dump: Any) -> None:
    """Modes to points."""
    _run(_grid_settings(2, kwargs_dump), args, out[0])


def nufft3_host(out: Sequence[Any], args: Sequence[Any], kwargs_dump: Any) -> None:
    """Points to targets."""
    _run(_target_settings("forward", kwargs_dump), args, out[0])


def nufft3_transposed_host(out: Sequence[Any], args: Sequence[Any], kwargs_dump: Any) -> None:
    """Targets to points: the same sum with both exchanged."""
    _run(_target_settings("backward", kwargs_dump), args, out[0])


class _Settings:
    """What the keyword arguments of a call say, and the plans that it led to.

    Parameters
    ----------
    kind, modes
        As in `Request`.
    names
        Of the arrays of points, for messages.
    options
        For FINUFFT.
    kwargs
        All keyword arguments.
    """

    def __init__(
        self, kind: int, modes: tuple[int, ...] | int, names: Sequence[str], options: Options, kwargs: dict[str, Any]
    ) -> None:
        self.kind, self.modes, self.names = kind, modes, names
        self.options = dict(options)
        self.operator, self.sign, self.eps = kwargs["name"], kwargs["sign"], kwargs["eps"]
        self.batch_axes: BatchAxes | None = kwargs["batch_axes"]
        self.exchanged = False
        self.lanes: dict[tuple[int, ...], Lane] = {}

    def check(self, points: Sequence[Any]) -> None:
        """Refuse NaN and infinite points: FINUFFT spreads NaN everywhere, or crashes in type 3."""
        for name, p in zip(self.names, points, strict=True):
            with np.errstate(all="ignore"):  # one pass without temporary arrays, whose overflow is no error
                total = p.sum()
            if not math.isfinite(total):
                bad = int(np.count_nonzero(~np.isfinite(p)))
                if bad:
                    raise _errors.not_finite(self.operator, name, p, bad)

    def transform(self, points: Sequence[Any], strengths: Any, out: Any) -> None:
        """Run FINUFFT for a stack of arrays with the same points."""
        if self.exchanged:
            half = len(points) // 2
            points = (*points[half:], *points[:half])
        key = (len(points[0]), len(points[-1]), len(strengths), strengths.itemsize)
        lane = self.lanes.get(key)
        if lane is None:
            if not out.size:
                return
            if not strengths.size:
                out[...] = 0
                return
            lane = self._new_lane(key, strengths.dtype.name)
        plan_cache.execute(lane, points, strengths, out, self.check)

    def _new_lane(self, key: tuple[int, ...], dtype: str) -> Lane:
        first, last, transforms, _ = key
        options = dict(self.options)
        if isinstance(self.modes, int):
            # The size of the fine grid follows from the extents of points and targets; their number stands in for it.
            operations = 2 * _threads.work(first + last, first + last, self.modes, self.eps, transforms)
        else:
            operations = _threads.work(first, math.prod(self.modes), len(self.modes), self.eps, transforms)
            if not options.get("upsampfac"):
                chosen = _upsampling.choose(self.kind, self.modes, first, self.eps, dtype)
                options |= {"upsampfac": chosen} if chosen else {}
        options["nthreads"] = _threads.choose(int(options.get("nthreads", 0)), operations)
        if len(self.lanes) > 256:  # the number of points changes all the time
            self.lanes.clear()
        request = Request(self.kind, self.modes, transforms, self.sign, self.eps, dtype, tuple(options.items()))
        lane = plan_cache.lane(request)
        return self.lanes.setdefault(key, lane)


# A compiled program passes the same keyword arguments with every call; finding them is quicker than reading them.
@functools.lru_cache(maxsize=256)
def _grid_settings(kind: int, kwargs_dump: Any) -> _Settings:
    kwargs = load_kwargs(kwargs_dump)
    modes = kwargs["modes"]
    return _Settings(kind, modes, _AXES[: len(modes)], kwargs[f"type{kind}"], kwargs)


@functools.lru_cache(maxsize=256)
def _target_settings(direction: str, kwargs_dump: Any) -> _Settings:
    kwargs = load_kwargs(kwargs_dump)
    ndim = kwargs["ndim"]
    own, other = _AXES[:ndim], _TARGET_AXES[:ndim]
    forward = direction == "forward"
    names = own + other if forward else other + own
    settings = _Settings(3, ndim, names, kwargs[direction], kwargs)
    settings.exchanged = not forward
    return settings


def _run(settings: _Settings, args: Sequence[Any], out: Any) -> None:
    if settings.batch_axes:
        run_batch(settings.transform, args, settings.batch_axes, out)
    else:  # Most calls; a few microseconds matter where a transform takes some ten.
        settings.transform(args[:-1], args[-1], out)


def run_batch(transform: Transform, args: Sequence[Any], batch_axes: BatchAxes, out: Any) -> None:
    """Call a transform for all elements of a batch.

    Parameters
    ----------
    transform
        ``(points, strengths, out) -> None`` for contiguous arrays with one stack axis in strengths and out.
    args
        Arrays of points, then the strengths, as they arrive.
    batch_axes
        Axes of each that are mapped, oldest level of `vmap` first.
    out
        The result, batch axes in front, newest level first.
    """
    sizes = batch_sizes("nufft", args, batch_axes)
    if 0 in sizes:
        return
    arrays = [_batch_first(array, axes) for array, axes in zip(args, batch_axes, strict=True)]
    mapped = [bool(axes) for axes in batch_axes]
    points, strengths = arrays[:-1], arrays[-1]
    if not mapped[-1]:
        strengths = np.broadcast_to(strengths, (*sizes, *strengths.shape))
    levels = range(len(sizes))
    varied = [k for k in levels if any(m and _varies(p, k) for p, m in zip(points, mapped, strict=False))]
    shared = [k for k in levels if k not in varied]
    first = tuple(0 if k in shared else slice(None) for k in levels)
    points = [p[first] if m else p for p, m in zip(points, mapped, strict=False)]
    strengths, out = (a.transpose(*varied, *shared, *range(len(sizes), a.ndim)) for a in (strengths, out))
    count, core = math.prod(sizes[k] for k in shared) * strengths.shape[len(sizes)], len(sizes) + 1
    for index in np.ndindex(*(sizes[k] for k in varied)):
        own = [np.ascontiguousarray(p[index]) if m else p for p, m in zip(points, mapped, strict=False)]
        given = np.ascontiguousarray(strengths[index]).reshape(count, *strengths.shape[core:])
        wanted = out[index]
        filled = wanted if wanted.flags.c_contiguous else np.empty(wanted.shape, wanted.dtype)
        transform(own, given, filled.reshape(count, *out.shape[core:]))
        if filled is not wanted:
            wanted[...] = filled


def batch_sizes(name: str, args: Sequence[Any], axes: BatchAxes) -> tuple[int, ...]:
    """Sizes of the batch dimensions, newest first, from the axes of each argument, oldest first."""
    found = {tuple(arg.shape[axis] for axis in reversed(own)) for arg, own in zip(args, axes, strict=True) if own}
    if len(found) > 1:
        raise _errors.mixed_levels(name, tuple(axes))
    return found.pop() if found else ()


def _batch_first(array: Any, axes: Sequence[int]) -> Any:
    """A view with the batch axes in front, newest first."""
    return np.moveaxis(array, axes, range(len(axes) - 1, -1, -1)) if axes else array


def _varies(points: Any, axis: int) -> bool:
    """Whether the points differ along a batch axis."""
    if points.shape[axis] == 1:
        return False
    start = points.take([0], axis)
    return bool((points.take([-1], axis) != start).any() or (points != start).any())
