# SPDX-License-Identifier: BSD-2-Clause
"""Plans of FINUFFT, kept while their points come again.

Owns the cache: what makes two calls share a plan, what is kept and for how long, and that no plan is used by two
threads at once. Knows nothing of JAX.

A plan holds the points sorted by grid cell, the Fourier series of the kernel, and the plan of the FFT. Making one takes
0.2 ms and sorting 0.01 ms per thousand points, on a machine where the transform of a thousand points takes 0.1 ms.

    hit       The points are equal to those of a plan, byte by byte: it is used as it is.
    recycled  New points for a request that was seen before: its last plan, if its points never came again, is given the
              new ones, which saves all but the sorting. Points that change with every call therefore take one plan.
    miss      A plan is made. Points that were seen before but have no plan any more get one that is not recycled: they
              are likely to return.

Points are compared with a copy that the cache owns, because XLA reuses its buffers. Large sets of points are copied
only when they come for the second time, so that a transform that is computed once costs nothing more.
"""

from __future__ import annotations

import atexit
import collections
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jaxbind_finufft._plans import Entry, Lane, Request, clock, estimated_size, make, sort_points

DEFAULT_MAX_BYTES = 256 * 1024**2
# Points in bytes that are copied at first sight: 0.1 ms at the speed of a slow memory.
SMALL = 1024**2
# How many sets of points are remembered as seen, by a number each.
MEMORY = 1024

Check = Callable[[Sequence[Any]], None]


class PlanCacheInfo(NamedTuple):
    """What the cache of plans has done and holds; the numbers of calls count since it was cleared.

    Parameters
    ----------
    hits
        Calls that used a plan as it was.
    recycled
        Calls that gave new points to an old plan.
    misses
        Calls that made a plan.
    plans
        Number of plans that are kept.
    nbytes
        Estimated size of these plans, copies of their points included.
    max_bytes
        Limit of `nbytes`; 0 if the cache is off.
    """

    hits: int
    recycled: int
    misses: int
    plans: int
    nbytes: int
    max_bytes: int


class PlanCache:
    """A bounded, thread-safe collection of plans, those that were used longest ago dropped first.

    Parameters
    ----------
    max_bytes
        Limit of the estimated size of all plans together; 0 keeps none.
    """

    def __init__(self, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        # Guards all that follows and the lanes, but for hints; never held while FINUFFT computes.
        self._lock = threading.Lock()
        self._lanes: weakref.WeakValueDictionary[Request, Lane] = weakref.WeakValueDictionary()
        self._entries: collections.OrderedDict[Entry, None] = collections.OrderedDict()
        self._seen: collections.OrderedDict[int, None] = collections.OrderedDict()
        self._nbytes = self._hits = self._recycled = self._misses = 0
        self._max_bytes = max_bytes

    def lane(self, request: Request) -> Lane:
        """The plans of a request. Whoever calls often keeps it: `execute` takes it from there."""
        with self._lock:
            return self._lanes.setdefault(request, Lane(request))

    def execute(self, lane: Lane, points: Sequence[Any], strengths: Any, out: Any, check: Check) -> None:
        """Transform arrays, with a plan that nobody else uses in the meantime.

        Parameters
        ----------
        lane
            The plans of the transform.
        points
            One array per dimension; for type 3 those of the points, then those of the targets.
        strengths
            The input, contiguous, with a leading axis of ``request.transforms`` elements.
        out
            The output, likewise.
        check
            Called with points before FINUFFT sees them, to raise an error if it must not.
        """
        entry = lane.last
        if entry is None or not entry.claim(points):
            entry = self._find_or_prepare(lane, points, check)
        if entry is None:
            plan = make(lane.request)
            sort_points(plan, lane.request.ndim, points)
            plan.execute(strengths, out=out)
            return
        try:
            entry.run(strengths, out)
        finally:
            entry.busy.release()

    def info(self) -> PlanCacheInfo:
        """What the cache has done and holds."""
        with self._lock:
            hits = self._hits + sum(entry.hits for entry in self._entries)
            return PlanCacheInfo(hits, self._recycled, self._misses, len(self._entries), self._nbytes, self._max_bytes)

    def clear(self) -> None:
        """Forget everything, and free the memory of plans that are not in use."""
        with self._lock:
            for entry in tuple(self._entries):
                self._drop(entry)
            self._seen.clear()
            self._hits = self._recycled = self._misses = 0

    def limit(self, max_bytes: int) -> None:
        """Change the limit, and drop what is above the new one."""
        with self._lock:
            self._max_bytes = max_bytes
            self._evict()

    def _find_or_prepare(self, lane: Lane, points: Sequence[Any], check: Check) -> Entry | None:
        """A plan for the points, claimed for the caller; None if they are not worth keeping (yet)."""
        sample = tuple(map(len, points)), b"".join([p[:: len(p) // 16 + 1].tobytes() for p in points])
        with self._lock:
            candidates = tuple(lane.by_sample.get(sample, ()))
        for entry in candidates:
            if entry.claim(points):
                return entry
        check(points)
        with self._lock:
            seen = self._remember(hash((lane.request, sample)))
            large = sum(p.nbytes for p in points) > SMALL
            keep = estimated_size(lane.request, points) <= self._max_bytes and (seen or not large)
            found = self._take_unproven(lane) if keep and not seen else None
            self._recycled += found is not None
            self._misses += found is None
        if not keep:
            return None
        if found is None:
            found = Entry(lane)
            found.busy.acquire()
        found.set_points(sample, points)  # should this fail, the plan stays busy and is used no more
        self._keep(found, seen)
        return found

    def _keep(self, entry: Entry, seen: bool) -> None:
        """Put a plan into the cache, and drop others for it."""
        lane = entry.lane
        with self._lock:
            entry.used = entry.queued = next(clock)
            self._entries[entry] = None
            self._nbytes += entry.nbytes
            lane.by_sample.setdefault(entry.sample, []).append(entry)
            lane.last = entry
            if not seen:
                lane.unproven = entry
            self._evict()

    def _remember(self, mark: int) -> bool:
        """Note that points came, and say whether they did before. The caller holds the lock."""
        # The mark is a hash and may err, but only memory and time depend on it, not what is computed.
        seen = mark in self._seen
        self._seen[mark] = None
        self._seen.move_to_end(mark)
        if len(self._seen) > MEMORY:
            self._seen.popitem(last=False)
        return seen

    def _take_unproven(self, lane: Lane) -> Entry | None:
        """The last plan of a lane, out of the cache and claimed, if its points came once. The caller holds the lock."""
        entry = lane.unproven
        if entry is None or not entry.busy.acquire(blocking=False):
            return None
        if entry.hits:
            entry.busy.release()
            return None
        self._drop(entry)
        return entry

    def _drop(self, entry: Entry) -> None:
        """Take an entry out of the cache. The caller holds the lock."""
        lane = entry.lane
        del self._entries[entry]
        self._nbytes -= entry.nbytes
        self._hits += entry.hits
        same = lane.by_sample[entry.sample]
        same.remove(entry)
        if not same:
            del lane.by_sample[entry.sample]
        if lane.last is entry:
            lane.last = None
        if lane.unproven is entry:
            lane.unproven = None

    def _evict(self) -> None:
        """Drop the entries that were used longest ago until the rest fits. The caller holds the lock."""
        while self._nbytes > self._max_bytes:
            entry = next(iter(self._entries))
            if entry.used > entry.queued:  # used since it joined the queue: to its end
                entry.queued = entry.used
                self._entries.move_to_end(entry)
            else:
                self._drop(entry)


plan_cache = PlanCache()
# Plans must go before the library that frees them does.
atexit.register(plan_cache.clear)


def plan_cache_info() -> PlanCacheInfo:
    """What the cache of plans has done and holds.

    Returns
    -------
    PlanCacheInfo
        Numbers of calls by outcome, number and estimated size of the plans.

    Examples
    --------
    >>> set_plan_cache_limit(0)
    >>> plan_cache_info().plans
    0
    >>> set_plan_cache_limit(256 * 1024**2)
    """
    return plan_cache.info()


def clear_plan_cache() -> None:
    """Forget all plans, free their memory, and count from zero again."""
    plan_cache.clear()


def set_plan_cache_limit(max_bytes: int) -> None:
    """Limit the memory that plans may take, or switch their reuse off.

    Parameters
    ----------
    max_bytes
        Largest estimated size of all plans together, 256 MiB unless changed. With 0 every call makes its own plan. A
        set of points larger than the limit is never kept. A million points in three dimensions take 32 MB in double
        precision.
    """
    plan_cache.limit(int(max_bytes))
