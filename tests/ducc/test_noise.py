# SPDX-License-Identifier: BSD-2-Clause
"""`jaxbind_ducc.noise`: the filter of ducc0, its spectrum, its transpose, batches, messages."""

from __future__ import annotations

import functools
from typing import Any

import ducc0
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxbind_ducc import noise
from support.sphere import assert_close, assert_same_transpose, dense_twin, draw

SPECTRUM: dict[str, float] = {"sigmawhite": 1.5, "f_knee": 0.5, "f_min": 0.02, "f_samp": 10.0, "slope": -1.4}
filtered = functools.partial(noise.filter_gaussian, **SPECTRUM)


def direct(x: Any) -> Any:
    return np.asarray(ducc0.misc.OofaNoise(**SPECTRUM).filterGaussian(x.astype(float)))


@pytest.mark.parametrize(("dtype", "accuracy"), [(np.float32, 1e-6), (np.float64, 1e-14)])
@pytest.mark.parametrize("n", [0, 1, 30])
def test_series_is_that_of_a_new_object_of_ducc0(n: int, dtype: Any, accuracy: float) -> None:
    x = draw((n,), dtype)
    for _ in range(2):
        assert_close(jax.jit(filtered)(x), direct(x).astype(dtype), accuracy)


@pytest.mark.parametrize("slope", [-2.0, -1.0, -0.3, 0.0])
def test_spectrum_is_the_formula_of_the_module(slope: float) -> None:
    n = 1 << 14  # Many times 1 / f_min, so that the answer to a kick has died out.
    kick = jnp.zeros(n).at[0].set(1.0)
    found = np.abs(np.fft.rfft(filtered(kick, slope=slope))) ** 2
    f = np.fft.rfftfreq(n, 1 / SPECTRUM["f_samp"])
    falling = ((f**2 + SPECTRUM["f_knee"] ** 2) / (f**2 + SPECTRUM["f_min"] ** 2)) ** (-slope / 2)
    np.testing.assert_allclose(found, SPECTRUM["sigmawhite"] ** 2 * falling, rtol=0.15)


def test_transpose_is_that_of_the_dense_matrix() -> None:
    x, c = draw((30,), float), draw((30,), float, seed=1)
    assert_same_transpose(filtered, dense_twin(direct, x), x)
    [back] = jax.linear_transpose(filtered, x)(c)
    assert float(back @ x) == pytest.approx(float(c @ direct(x)), rel=1e-12)


def test_leading_dimensions_and_vmap_are_batches_of_independent_series() -> None:
    x = draw((2, 3, 20), float)
    expected = np.array([[direct(row) for row in block] for block in x])
    assert_close(filtered(x), expected)
    assert_close(jax.vmap(filtered, 2, 2)(x.swapaxes(1, 2)), expected.swapaxes(1, 2))


@pytest.mark.parametrize(
    ("change", "kind", "fragments"),
    [
        ({"f_min": 0.0}, ValueError, ["argument f_min", "0.0", "below f_knee = 0.5"]),
        ({"f_min": 0.5}, ValueError, ["argument f_min", "0.5", "below f_knee = 0.5"]),
        ({"slope": -2.1}, ValueError, ["argument slope", "-2.1", "between -2 and 0"]),
        ({"f_samp": 0.0}, ValueError, ["argument f_samp", "0.0", "positive"]),
        ({"rnd": np.ones(3, complex)}, TypeError, ["argument rnd", "complex128", "float64"]),
        ({"rnd": np.ones(())}, ValueError, ["argument rnd", "()", "nsamples"]),
    ],
)
def test_mistakes_are_named(change: dict[str, Any], kind: type[Exception], fragments: list[str]) -> None:
    with pytest.raises(kind) as caught:
        noise.filter_gaussian(**({"rnd": np.ones(3)} | SPECTRUM | change))
    assert [part for part in ["filter_gaussian: ", *fragments] if part not in str(caught.value)] == []
