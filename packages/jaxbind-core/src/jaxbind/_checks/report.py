# SPDX-License-Identifier: BSD-2-Clause
"""What a check found, in words."""

from __future__ import annotations

import dataclasses


class OperatorCheckError(AssertionError):
    """A check of `jaxbind.testing.check_operator` failed; the text is the whole report."""


@dataclasses.dataclass(frozen=True)
class Check:
    """The outcome of one check.

    Attributes
    ----------
    name
        What was checked.
    passed
        Whether it holds.
    detail
        In words: what was found, and what usually causes it.
    error, tolerance
        Largest difference relative to the scale of the values, and the largest accepted one; None where nothing is
        measured.
    """

    name: str
    passed: bool
    detail: str = ""
    error: float | None = None
    tolerance: float | None = None

    def __str__(self) -> str:
        measured = "" if self.error is None else f" (error {self.error:.1e}, tolerance {self.tolerance:.1e})"
        explained = f"\n      {self.detail}" if self.detail and not self.passed else ""
        return f"{'ok  ' if self.passed else 'FAIL'}  {self.name}{measured}{explained}"


@dataclasses.dataclass(frozen=True)
class Report:
    """The outcome of all checks of one operator."""

    operator: str
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether every check holds."""
        return all(check.passed for check in self.checks)

    @property
    def failures(self) -> tuple[Check, ...]:
        """The checks that do not hold."""
        return tuple(check for check in self.checks if not check.passed)

    def raise_if_failed(self) -> None:
        """Raise `OperatorCheckError` with the report if a check does not hold."""
        if not self.passed:
            raise OperatorCheckError(str(self))

    def __str__(self) -> str:
        verdict = f"{self.operator}: {len(self.failures)} of {len(self.checks)} checks failed"
        return "\n".join([verdict, *map(str, self.checks)])
