# SPDX-License-Identifier: BSD-2-Clause
"""Plans of non-uniform transforms, kept while their coordinates come again.

Owns the cache: what makes two calls share a plan, how many are kept, and that no plan is used by two threads at once. A
plan holds the coordinates sorted by grid cell, which takes 15 to 60 % of the time of a transform. Coordinates are
compared by value with a copy that the cache owns, because buffers of XLA are reused with other contents.
"""

from __future__ import annotations

import collections
import contextlib
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np

# A solver works with a few sets of points at most; derivatives use the same ones again.
MAX_PLANS = 8
# All plans together. At three dimensions that is 0.5 GB for the copy and the plan's own.
MAX_POINTS = 10_000_000


class _Entry:
    """One plan with the coordinates that it was made for."""

    def __init__(self, coordinates: Sequence[Any], plan: Any) -> None:
        self.coordinates = tuple(np.array(c) for c in coordinates)
        self.plan = plan
        self.points = sum(len(c) for c in coordinates)
        # ducc0 forbids two transforms with one plan at a time, and XLA runs independent calls at once.
        self.busy = threading.Lock()

    def fits(self, coordinates: Sequence[Any]) -> bool:
        """Whether the coordinates are the same."""
        for mine, theirs in zip(self.coordinates, coordinates, strict=True):
            if mine.shape != theirs.shape or mine.dtype != theirs.dtype:
                return False
            # Other coordinates differ in the first few already, mostly.
            if len(mine) > 1000 and not (mine[:8] == theirs[:8]).all():
                return False
            if not (mine == theirs).all():
                return False
        return True


_lock = threading.Lock()  # Guards the dictionary, not the plans in it.
_entries: collections.OrderedDict[Hashable, list[_Entry]] = collections.OrderedDict()


@contextlib.contextmanager
def plan(key: Hashable, coordinates: Sequence[Any], make: Callable[[], Any]) -> Iterator[Any]:
    """A plan that nobody else uses in the meantime.

    Parameters
    ----------
    key
        All that a plan depends on besides the coordinates.
    coordinates
        The arrays of points.
    make
        Makes a new plan.

    Yields
    ------
    object
        A plan made before for equal coordinates, or a new one, which is kept unless it is very large.
    """
    entry = _find(key, coordinates)
    if entry is None:
        entry = _Entry(coordinates, make())
        entry.busy.acquire()
        _keep(key, entry)
    try:
        yield entry.plan
    finally:
        entry.busy.release()


def clear() -> None:
    """Forget all plans, and free their memory."""
    with _lock:
        _entries.clear()


def count() -> int:
    """How many plans are kept."""
    with _lock:
        return sum(map(len, _entries.values()))


def _find(key: Hashable, coordinates: Sequence[Any]) -> _Entry | None:
    """A free entry for the coordinates, locked for the caller. None also if all that fit are in use."""
    with _lock:
        candidates = list(_entries.get(key, ()))
    for entry in candidates:
        if entry.fits(coordinates) and entry.busy.acquire(blocking=False):
            with _lock:
                if key in _entries:
                    _entries.move_to_end(key)
            return entry
    return None


def _keep(key: Hashable, entry: _Entry) -> None:
    """Put an entry into the cache and drop the ones that were used longest ago."""
    if entry.points > MAX_POINTS:
        return
    with _lock:
        _entries.setdefault(key, []).append(entry)
        _entries.move_to_end(key)
        while len(_kept()) > MAX_PLANS or sum(e.points for e in _kept()) > MAX_POINTS:
            oldest, entries = next(iter(_entries.items()))
            entries.pop(0)
            if not entries:
                del _entries[oldest]


def _kept() -> list[_Entry]:
    return [entry for entries in _entries.values() for entry in entries]
