# SPDX-License-Identifier: BSD-2-Clause
"""A host function that shows whether the elements of a batch run at the same time."""

from __future__ import annotations

import threading
from typing import Any

PATIENCE = 60  # Seconds after which a meeting that did not happen fails the test.


class Meeting:
    """A host function of which `count` calls have to be under way at the same time; notes the most that ever were."""

    def __init__(self, count: int) -> None:
        self.barrier = threading.Barrier(count)
        self.lock = threading.Lock()
        self.running = self.most = 0

    def __call__(self, out: Any, args: Any, kwargs_dump: Any) -> None:
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
        self.barrier.wait(PATIENCE)
        with self.lock:
            self.running -= 1
        out[0][...] = 3 * args[0]
