# SPDX-License-Identifier: BSD-2-Clause
"""Reverse mode: cotangents of every operator, and the identities that a transpose keeps."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from support import zoo
from support.arrays import draw_like
from support.oracles import assert_close, pairing


@zoo.every()
def test_cotangents_equal_the_twins(case: zoo.Case) -> None:
    primals = tuple(case.args[i] for i in case.moving)
    (out, pull), (expected, pull_twin) = (jax.vjp(case.freeze(f), *primals) for f in (case.call, case.twin))
    cotangents = tuple(draw_like(30 + i, x) for i, x in enumerate(expected))
    assert_close(out, expected)
    assert_close(pull(cotangents), pull_twin(cotangents))


@zoo.every()
def test_cotangent_of_one_output_alone(case: zoo.Case) -> None:
    primals = tuple(case.args[i] for i in case.moving)
    for k in range(len(case.twin(*map(jnp.asarray, case.args)))):
        (out, pull), (_, pull_twin) = (
            jax.vjp(lambda *xs, f=f, k=k: case.freeze(f)(*xs)[k], *primals) for f in (case.call, case.twin)
        )
        cotangent = jnp.asarray(draw_like(30 + k, out))
        assert_close(pull(cotangent), pull_twin(cotangent))


@zoo.every("linear")
def test_linear_transpose_equals_the_twins(case: zoo.Case) -> None:
    primals = tuple(case.args[i] for i in case.moving)
    cotangents = tuple(map(jnp.asarray, map(draw_like, range(30, 40), case.call(*case.args))))
    found, expected = (jax.linear_transpose(case.freeze(f), *primals)(cotangents) for f in (case.call, case.twin))
    assert_close(found, expected)


@zoo.every("linear")
def test_transpose_of_transpose_is_the_operator(case: zoo.Case) -> None:
    primals = tuple(map(jnp.asarray, (case.args[i] for i in case.moving)))
    forward = case.freeze(case.call)
    outs = forward(*primals)
    backward = jax.linear_transpose(forward, *primals)
    assert_close(jax.linear_transpose(backward, outs)(backward(outs)), (forward(*backward(outs)),))


@zoo.every("linear")
def test_inner_product_identity(case: zoo.Case) -> None:
    primals = tuple(case.args[i] for i in case.moving)
    forward = case.freeze(case.call)
    outs = forward(*primals)
    cotangents = tuple(map(jnp.asarray, map(draw_like, range(30, 40), outs)))
    left, right = pairing(cotangents, outs), pairing(jax.linear_transpose(forward, *primals)(cotangents), primals)
    real = all(jnp.isrealobj(x) for x in (*primals, *outs)) or not all(jnp.iscomplexobj(x) for x in (*primals, *outs))
    np.testing.assert_allclose(*((np.real(left), np.real(right)) if real else (left, right)), rtol=1e-12)


@zoo.every("multilinear")
def test_transpose_with_respect_to_one_argument(case: zoo.Case) -> None:
    for i in case.moving:
        (found, expected) = (
            jax.vjp(lambda x, f=f, i=i: f(*case.args[:i], x, *case.args[i + 1 :]), case.args[i])
            for f in (case.call, case.twin)
        )
        cotangents = tuple(map(draw_like, range(40, 50), expected[0]))
        assert_close(found[1](cotangents), expected[1](cotangents))
