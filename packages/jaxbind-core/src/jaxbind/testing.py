# SPDX-License-Identifier: BSD-2-Clause
"""Verify an operator: what was bound is what it says it is.

`check_operator` takes an operator and example inputs, calls the host functions directly and through JAX, and reports in
words what is wrong, by how much, and what usually causes it.
"""

from __future__ import annotations

from typing import Any

from jaxbind._checks.batches import check_batches, check_jit
from jaxbind._checks.buffers import check_buffers
from jaxbind._checks.derivatives import check_derivatives, check_linearity
from jaxbind._checks.descriptions import check_descriptions, check_outputs
from jaxbind._checks.keywords import check_keywords
from jaxbind._checks.report import Check, Collector, OperatorCheckError, Report
from jaxbind._checks.subject import subject_of

__all__ = ["Check", "OperatorCheckError", "Report", "check_operator"]

# In the order in which a mistake shows first where it is made.
CHECKS = (
    check_descriptions,
    check_buffers,
    check_jit,
    check_linearity,
    check_derivatives,
    check_batches,
    check_keywords,
)


def check_operator(
    op: Any,
    *args: Any,
    rtol: float | None = None,
    atol: float | None = None,
    seed: int = 0,
    raise_on_failure: bool = True,
    **kwargs: Any,
) -> Report:
    """Check that an operator and its derivatives are right.

    Use it in the tests of every function that you bind, once for each kind of input. Small inputs (tens of elements,
    all dimensions of different sizes) are fast and find most.

    Parameters
    ----------
    op
        What `get_linear_call` or `get_nonlinear_call` returned, or a `functools.partial` of it.
    *args
        Example inputs. Nonlinear operators are checked here, so choose a point where the function is smooth. Linear
        ones are checked at random values of the same shapes; their fixed arguments stay as given.
    rtol, atol
        An error may be ``atol + rtol * scale``, where the scale is the largest element of what is compared. By default
        `rtol` is the rounding error of the coarsest dtype to the power 2/3 (4e-11 for float64, 2e-5 for float32) and
        `atol` is 0. Give the accuracy of a function that is approximate by itself.
    seed
        Of the random numbers. Equal seeds give equal reports.
    raise_on_failure
        Whether to raise if a check fails.
    **kwargs
        Keyword arguments of the operator. (One that is named like a parameter above can be bound with
        `functools.partial`.)

    Returns
    -------
    Report
        All checks, in words: ``print`` it.

    Raises
    ------
    OperatorCheckError
        An `AssertionError` with the report as its text, if a check fails.
    TypeError
        If `op` is no operator.

    Notes
    -----
    What is checked, for the function and for its transposes or derivatives:

    - the abstract functions describe outputs and cotangents with the right shapes and dtypes;
    - every element of every output is written, arguments are left alone, no reference to a buffer is kept;
    - linearity over the real numbers, which is all that JAX's rules need; the report says where it is complex;
    - tangents against finite differences (central, extrapolated, with their own error estimate);
    - cotangents against tangents: with J the derivative (of a linear operator, the operator itself),

          Re <c, J dx> = Re <J^T c, dx>,      <a, b> = sum_k a_k b_k  (no conjugation),

      for random c and dx, one output and one argument at a time. The real part makes it right for maps between real
      and complex arrays. Where everything is complex nothing is lost, since it holds for dx and for i dx. This is what
      JAX calls a transpose: `jax.numpy.fft.rfft` and `jax.numpy.real` fulfil it.
    - `jax.jit` and `jax.vmap` against plain calls: every argument alone on every axis, all together, and nested;
    - keyword arguments reach all host functions unchanged, under jit, vmap and differentiation.

    What cannot be seen: a pointer that compiled code keeps, and mistakes smaller than the tolerance.

    Examples
    --------
    >>> import numpy as np
    >>> from jaxbind import get_linear_call
    >>> def total(out, args, kwargs_dump):
    ...     out[0][...] = args[0].sum()
    >>> def total_t(out, args, kwargs_dump):
    ...     out[0][...] = args[0]
    >>> op = get_linear_call(total, total_t, lambda x: (((), x.dtype),), lambda c: (((3,), c.dtype),))
    >>> check_operator(op, np.arange(3.0, dtype="float32")).passed
    True
    """
    subject = subject_of(op, args, kwargs, rtol, atol, seed)
    collector = Collector()
    if check_outputs(subject, collector):
        for check in CHECKS:
            check(subject, collector)
    report = Report(subject.describe(), tuple(collector.checks), tuple(collector.not_run))
    if raise_on_failure:
        report.raise_if_failed()
    return report
