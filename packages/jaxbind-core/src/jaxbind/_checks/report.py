# SPDX-License-Identifier: BSD-2-Clause
"""What a check found, and how it is told: in words, failures first."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Callable, Iterable
from typing import NamedTuple

WIDTH = 110


class Outcome(NamedTuple):
    """What the body of a check returns: whether it passed, what there is to say, the largest error if it has one."""

    passed: bool
    detail: str
    error: float | None = None
    tolerance: float | None = None


@dataclasses.dataclass(frozen=True)
class Check:
    """One property of an operator and whether it has it.

    Attributes
    ----------
    name
        What was checked, for example ``"transpose"`` or ``"f: writes every output"``.
    passed
        Whether the property holds.
    detail
        In words: what was compared, or what is wrong and what usually causes it.
    error, tolerance
        The largest error and how large it may be, where the check compares numbers, else None.
    """

    name: str
    passed: bool
    detail: str
    error: float | None = None
    tolerance: float | None = None

    def __str__(self) -> str:
        return "\n".join(_row(self, len(self.name)))


@dataclasses.dataclass(frozen=True)
class Report:
    """Everything that `check_operator` found out about an operator. Its text is the result in words.

    Attributes
    ----------
    operator
        Kind and name of the operator, and what it was called with.
    checks
        In the order in which they ran.
    not_run
        Names of checks that had no sense after an earlier one failed.
    """

    operator: str
    checks: tuple[Check, ...]
    not_run: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return not self.failures

    @property
    def failures(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if not check.passed)

    def raise_if_failed(self) -> None:
        """Do nothing if the operator is right.

        Raises
        ------
        OperatorCheckError
            Otherwise, with the whole report as its text.
        """
        if not self.passed:
            raise OperatorCheckError(self)

    def __str__(self) -> str:
        count = len(self.checks)
        verdict = f"passed all {count} checks" if self.passed else f"failed {len(self.failures)} of {count} checks"
        lines = [f"{self.operator}: {verdict}"]
        width = max((len(check.name) for check in self.checks), default=0)
        for check in sorted(self.checks, key=lambda check: check.passed):
            lines += _row(check, width)
        if self.not_run:
            names = f"not run because of these failures: {', '.join(self.not_run)}"
            lines += textwrap.wrap(names, WIDTH, initial_indent="  ", subsequent_indent="    ")
        return "\n".join(lines)


class OperatorCheckError(AssertionError):
    """An operator failed a check. The text is the whole report, which is also the attribute `report`."""

    def __init__(self, report: Report) -> None:
        super().__init__(f"\n{report}")
        self.report = report


class Collector:
    """Runs checks one after the other and keeps what they found."""

    def __init__(self) -> None:
        self.checks: list[Check] = []
        self.not_run: list[str] = []

    def run(self, name: str, body: Callable[[], Outcome], needs: Iterable[str] = ()) -> bool:
        """Run a check, unless one that it needs has failed; an exception is a failure too.

        Returns
        -------
        bool
            Whether it ran and passed.
        """
        good = {check.name for check in self.checks if check.passed}
        if not good.issuperset(needs):
            self.not_run.append(name)
            return False
        try:
            outcome = body()
        except Exception as error:  # Whatever a user's function raises belongs into the report.
            outcome = Outcome(False, f"raised {spell_exception(error)}")
        self.checks.append(Check(name, *outcome))
        return outcome.passed


def spell_exception(error: BaseException) -> str:
    """Type and message of an exception, without the traceback that a host function's error carries."""
    message = str(error).partition("Traceback ")[0].strip()
    return f"{type(error).__name__}: {textwrap.shorten(message, 400, placeholder=' ...')}"


def _row(check: Check, width: int) -> list[str]:
    figures = "" if check.error is None else f"error {check.error:.1e}, tolerance {check.tolerance:.1e}"
    head = f"  {'passed' if check.passed else 'FAILED'}  {check.name:<{width}}  "
    if check.passed:
        return [f"{head}{figures or check.detail}".rstrip()]
    detail = textwrap.wrap(check.detail, WIDTH, initial_indent=" " * 10, subsequent_indent=" " * 10)
    return [f"{head}{figures}".rstrip(), *detail]
