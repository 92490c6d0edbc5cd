# SPDX-License-Identifier: BSD-2-Clause
"""Platforms without the bridge: the fallback is lowered for them, and run on this machine in the bridge's place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import jaxbind
import numpy as np
import pytest
from jaxbind import _host_fallback, _lowering, _register
from support import ramp, zoo
from support.meeting import Meeting

Function = Callable[..., Any]
P = np.linspace(0.5, 1.5, 5)
X = np.random.default_rng(0).normal(size=(3, 4, 5))


@pytest.fixture
def without_bridge() -> Iterator[None]:
    """Lower calls as on a platform that has no bridge."""
    _register.register_lowering(_host_fallback.lower_elsewhere, "cpu")
    jax.clear_caches()
    yield
    _register.register_lowering(_lowering.lower_cpu, "cpu")
    jax.clear_caches()


def _value(f: Function) -> Function:
    return lambda p, x: f(p, x[0, 0])


def _nested(f: Function) -> Function:
    return jax.vmap(jax.vmap(f, (None, 0)), (None, 1), out_axes=1)


def _mixed(f: Function) -> Function:
    return lambda p, x: jax.vmap(jax.vmap(f, (None, 0)), (0, None))(p * x[:, 0], x[0])


def _gradient(f: Function) -> Function:
    return jax.grad(lambda p, x: jnp.sum(jnp.sin(_nested(f)(p, x))), argnums=1)


@pytest.mark.usefixtures("without_bridge")
@pytest.mark.parametrize("operator", [ramp.looped, ramp.native])
@pytest.mark.parametrize("transform", [_value, _nested, _mixed, _gradient])
def test_the_fallback_computes_the_same(transform: Function, operator: Function) -> None:
    text = jax.jit(transform(operator)).lower(P, X).as_text()
    assert "jaxbind_call" not in text
    result = jax.jit(transform(operator))(P, X)
    np.testing.assert_allclose(result, transform(ramp.twin)(P, X), rtol=1e-12)


@pytest.mark.usefixtures("without_bridge")
def test_a_returned_value_is_an_error_in_the_fallback_too() -> None:
    def returns(out: Any, args: Any, kwargs_dump: Any) -> Any:
        return args[0]

    operator = jaxbind.get_linear_call(
        returns, returns, lambda x: ((x.shape, x.dtype),), lambda x: ((x.shape, x.dtype),)
    )
    with pytest.raises(Exception, match="returned a value of type ndarray; it must fill `out`"):
        jax.block_until_ready(operator(X))


@pytest.mark.usefixtures("without_bridge")
def test_threads_share_a_batch() -> None:
    meeting = Meeting(2)
    operator = jaxbind.get_linear_call(meeting, meeting, zoo.like(0), zoo.like(0), batch_threads=2)
    x = jnp.arange(6.0)
    np.testing.assert_array_equal(jax.jit(jax.vmap(lambda x: operator(x)[0]))(x), 3 * x)
    assert meeting.most == 2


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
@pytest.mark.parametrize("transform", [_value, _nested])
def test_other_platforms_stage_the_call_through_the_host(
    transform: Function, platform: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JAX lowers a callback only where the device is; so the callback is caught on its way and called here."""
    staged = []

    def catch(callback: Any, outputs: Any, *args: Any) -> Any:
        staged.append(callback)
        return [jnp.zeros(out.shape, out.dtype) for out in outputs]

    monkeypatch.setattr(jax, "pure_callback", catch)
    text = jax.jit(transform(ramp.looped)).trace(P, X).lower(lowering_platforms=(platform,)).as_text()
    assert "jaxbind_call" not in text
    (callback,) = staged
    args = (P, X[0, 0]) if transform is _value else (P, np.moveaxis(X, 1, 0))
    (result,) = callback(*args)
    expected = transform(ramp.twin)(P, X)
    np.testing.assert_allclose(result, expected if transform is _value else np.moveaxis(expected, 1, 0), rtol=1e-12)
