# SPDX-License-Identifier: BSD-2-Clause
"""Forward mode: tangents of every operator, along all arguments together and along each alone."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from support import zoo
from support.arrays import draw_like
from support.oracles import assert_close


@zoo.every()
def test_tangent_along_all_arguments(case: zoo.Case) -> None:
    primals = tuple(case.args[i] for i in case.moving)
    tangents = tuple(draw_like(10 + i, x) for i, x in enumerate(primals))
    found, expected = (jax.jvp(case.freeze(f), primals, tangents) for f in (case.call, case.twin))
    assert_close(found, expected)


@zoo.every()
def test_tangent_along_one_argument(case: zoo.Case) -> None:
    for i in case.moving:
        tangent = (draw_like(10 + i, case.args[i]),)

        def alone(f: object, x: object, i: int = i) -> object:
            return f(*case.args[:i], x, *case.args[i + 1 :])  # type: ignore[operator]

        found, expected = (
            jax.jvp(lambda x, f=f: alone(f, x), (case.args[i],), tangent) for f in (case.call, case.twin)
        )
        assert_close(found, expected)


@zoo.every()
def test_linearize_equals_jvp(case: zoo.Case) -> None:
    primals = tuple(case.args[i] for i in case.moving)
    tangents = tuple(draw_like(20 + i, x) for i, x in enumerate(primals))
    out, linear = jax.linearize(case.freeze(case.call), *primals)
    assert_close((out, linear(*tangents)), jax.jvp(case.freeze(case.twin), primals, tangents))


@zoo.every("linear")
def test_no_call_is_made_for_a_tangent_that_is_zero(case: zoo.Case) -> None:
    def unmoved(x: jax.Array) -> object:
        return case.call(*case.args), 2 * x

    program = jax.make_jaxpr(lambda x: jax.jvp(unmoved, (x,), (x,)))(1.0)
    assert [e.primitive.name for e in program.eqns].count("jaxbind_call") == 1


def test_integer_arguments_have_float0_tangents() -> None:
    (case,) = (c for c in zoo.ALL if c.name == "nonlinear, integer fixed argument")
    n, x, z = case.args
    zero = np.zeros(n.shape, jax.dtypes.float0)
    found = jax.jvp(case.call, (n, x, z), (zero, draw_like(1, x), np.float64(2.0)))
    expected = jax.jvp(case.twin, (jnp.asarray(n), x, z), (zero, draw_like(1, x), np.float64(2.0)))
    assert_close(found, expected)
