# SPDX-License-Identifier: BSD-2-Clause
"""Verify an operator: linearity, transposes, derivatives, what it does with its buffers, batches.

The public door; the checks are in `jaxbind._checks`, one file per thing that can be wrong.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from jaxbind._checks.batches import batch_checks
from jaxbind._checks.buffers import buffer_checks
from jaxbind._checks.derivatives import derivative_checks
from jaxbind._checks.report import Check, OperatorCheckError, Report
from jaxbind._checks.subject import Subject

__all__ = ["Check", "OperatorCheckError", "Report", "check_operator"]


def check_operator(
    op: functools.partial[Any],
    *args: Any,
    rtol: float | None = None,
    atol: float | None = None,
    seed: int = 0,
    raise_on_failure: bool = True,
    **kwargs: Any,
) -> Report:
    """Check everything about an operator that can be checked from example inputs.

    Use it in a test, once for each operator that you bind. It runs the operator some dozens of times: small inputs do.

    Parameters
    ----------
    op
        What `get_linear_call` or `get_nonlinear_call` returned, or a `functools.partial` of it.
    *args
        Example inputs. Their values matter for nonlinear operators and fixed arguments; elsewhere their shape and
        dtype.
    rtol, atol
        The larger of the two is the largest accepted difference, relative to the largest value. By default 300 rounding
        errors of the least precise dtype; more for finite differences.
    seed
        Of the random test points.
    raise_on_failure
        Whether a failed check raises.
    **kwargs
        Keyword arguments of the call.

    Returns
    -------
    Report
        All checks; ``print`` it.

    Raises
    ------
    OperatorCheckError
        If a check failed; an AssertionError whose text is the report.
    TypeError
        If `op` is no operator.

    Notes
    -----
    With the pairing ``<a, b> = Re sum_k a_k b_k`` (no conjugation) the transpose of a linear operator fulfils
    ``<c, A x> = <A^T c, x>``. That is JAX's convention for maps between real and complex arrays and for maps that are
    linear over the real numbers only; for complex linear ones it implies that the imaginary parts agree. Derivatives
    are compared with central differences, and the reverse mode with the forward mode by the same pairing.

    The host functions are called directly as well, with outputs poisoned in two ways, to see that every element is
    written, that no input is changed, and that nothing of the buffers is kept.

    Examples
    --------
    >>> import numpy as np
    >>> from jaxbind import get_linear_call
    >>> def forward(out, args, kwargs_dump):
    ...     out[0][...] = np.cumsum(args[0])
    >>> def backward(out, args, kwargs_dump):
    ...     out[0][...] = np.cumsum(args[0][::-1])[::-1]
    >>> def same(x):
    ...     return ((x.shape, x.dtype),)
    >>> report = check_operator(get_linear_call(forward, backward, same, same), np.arange(4.0, dtype="float32"))
    >>> report.passed
    True
    """
    subject = Subject.make(op, args, kwargs, seed=seed, rtol=rtol, atol=atol)
    groups = {"buffers": buffer_checks, "derivatives": derivative_checks, "batches": batch_checks}
    checks = tuple(check for name, group in groups.items() for check in _collect(name, group(subject)))
    report = Report(subject.name, checks)
    if raise_on_failure:
        report.raise_if_failed()
    return report


def _collect(group: str, checks: Iterator[Check]) -> Iterator[Check]:
    """The checks of a group; what is raised on the way (an abstract function that does not fit, say) fails too."""
    try:
        yield from checks
    except Exception as error:
        yield Check(f"{group} can be checked", passed=False, detail=f"{type(error).__name__}: {error}")
