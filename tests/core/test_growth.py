# SPDX-License-Identifier: BSD-2-Clause
"""Nothing is left behind by a call, whichever way it goes; `nox -s growth` makes a million of them."""

from __future__ import annotations

import pytest
from support import growth

WAYS = growth.ways()


@pytest.mark.parametrize("way", WAYS)
def test_calls_leave_no_references_and_no_memory(way: str) -> None:
    left = growth.grown(WAYS[way], 1000)
    assert max(map(abs, left.references)) <= 4
    assert left.blocks < 800
