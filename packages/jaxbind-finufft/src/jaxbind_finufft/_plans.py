# SPDX-License-Identifier: BSD-2-Clause
"""One plan of FINUFFT: what it depends on, how large it is, how it is made and run.

Owns all that touches `finufft.Plan`. Knows nothing of JAX, and nothing of which plans are kept (`_plan_cache`).
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import finufft
import numpy as np

# Points in bytes per axis up to which two copies are compared as byte strings, which is quicker to call than NumPy.
SHORT = 64 * 1024

Sample = tuple[tuple[int, ...], bytes]
clock = itertools.count()


class Request(NamedTuple):
    """All that a plan depends on besides the points.

    Parameters
    ----------
    kind
        1, 2 or 3, FINUFFT's type.
    modes
        Numbers of modes; for type 3 the number of dimensions.
    transforms
        How many arrays are transformed at once.
    sign
        Sign of the exponent.
    eps
        Relative accuracy.
    dtype
        Of the strengths.
    options
        Names and values of FINUFFT's options.
    """

    kind: int
    modes: tuple[int, ...] | int
    transforms: int
    sign: int
    eps: float
    dtype: str
    options: tuple[tuple[str, int | float], ...]

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self.modes if isinstance(self.modes, int) else len(self.modes)


class Lane:
    """All plans of one request. `last` is the plan to try first."""

    __slots__ = ("__weakref__", "by_sample", "last", "request", "unproven")

    def __init__(self, request: Request) -> None:
        self.request = request
        self.last: Entry | None = None
        self.by_sample: dict[Sample, list[Entry]] = {}
        # The last plan with points that came for the first time.
        self.unproven: Entry | None = None


class Entry:
    """A plan with the points it is set to."""

    __slots__ = ("busy", "contents", "hits", "lane", "nbytes", "plan", "points", "queued", "run", "sample", "used")

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self.plan = make(lane.request)
        self.run = _runner(self.plan, lane.request.kind)
        self.hits = 0
        # When it was used, and when it joined the queue of those to be dropped.
        self.used = self.queued = next(clock)
        # FINUFFT forbids two transforms with one plan at a time, and XLA runs independent calls at once. Also guards
        # the points while they are compared or replaced.
        self.busy = threading.Lock()

    def set_points(self, sample: Sample, points: Sequence[Any]) -> None:
        """Copy the points and sort them. The caller holds `busy`."""
        # FINUFFT reads the arrays that it was given during every transform: the plan stands on the copies.
        self.points = tuple(np.array(p) for p in points)
        self.contents = [p.tobytes() if p.nbytes <= SHORT else None for p in points]
        self.sample = sample
        self.nbytes = estimated_size(self.lane.request, points)
        sort_points(self.plan, self.lane.request.ndim, self.points)

    def claim(self, points: Sequence[Any]) -> bool:
        """Take the plan, if it is free and set to exactly these points; the caller then has to release `busy`."""
        if not self.busy.acquire(blocking=False):
            return False
        for mine, contents, p in zip(self.points, self.contents, points, strict=True):
            if mine.size != p.size or (contents != p.tobytes() if contents is not None else (mine != p).any()):
                self.busy.release()
                return False
        self.hits += 1
        self.used = next(clock)
        self.lane.last = self
        return True


_making = threading.Lock()


def make(request: Request) -> Any:
    """A plan without points."""
    # finufft.Plan changes the filters of `warnings`, which belong to the process, and sets them back: one at a time.
    with _making:
        return finufft.Plan(
            request.kind,
            request.modes,
            request.transforms,
            request.eps,
            request.sign,
            request.dtype,
            **dict(request.options),
        )


def sort_points(plan: Any, ndim: int, points: Sequence[Any]) -> None:
    """Give a plan its points; those after the first `ndim` are the targets of type 3."""
    plan.setpts(**dict(zip("xyz"[:ndim], points, strict=False)), **dict(zip("stu", points[ndim:], strict=False)))


def _runner(plan: Any, kind: int) -> Callable[[Any, Any], None]:
    """``(strengths, out) -> None`` for a plan, as quick as Python allows."""
    try:
        call, inner = plan._execute, plan._inner_plan
    except AttributeError:
        return lambda strengths, out: plan.execute(strengths, out=out)

    # finufft.Plan.execute looks at shapes and dtypes again, for 11 us where the transform of 100 points takes as many.
    # This is the C function below it, whose arguments are the values at points and those at modes or targets.
    def run(strengths: Any, out: Any) -> None:
        given, wanted = strengths.ctypes.data, out.ctypes.data
        if call(inner, wanted, given) if kind == 2 else call(inner, given, wanted):
            plan.execute(strengths, out=out)  # for the text of the error

    return run


def estimated_size(request: Request, points: Sequence[Any]) -> int:
    """Bytes that an entry holds, from above. Measured with FINUFFT 2.5 as the growth of the process per plan.

    Besides our copy of the points a plan has an index of 8 bytes per point and 15 kB of its own; type 3 has copies of
    points and targets, and two complex factors each; the kernel's Fourier series and the FFT take less than 40 bytes
    per mode of one axis.
    """
    copies: int = sum(p.nbytes * (2 if p.nbytes <= SHORT else 1) for p in points)
    count = sum(len(p) for p in points) // request.ndim
    if request.kind == 3:
        return 2 * copies + 40 * count + 100_000
    return copies + 8 * count + 40 * sum(request.modes if isinstance(request.modes, tuple) else ()) + 16_000
