# SPDX-License-Identifier: BSD-2-Clause
"""`jaxbind_ducc.fft`: values against NumPy and SciPy, transposes against dense matrices, batches, messages."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import ducc0
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.fft
import scipy.signal
from jaxbind_ducc import fft

AXES = [(0,), (1,), (0, 1), (1, 0), (-1,), None]
REAL_TRANSFORMS = ["separable_hartley", "genuine_hartley", "separable_fht", "genuine_fht"]


def draw(shape: tuple[int, ...], dtype: Any = np.float64) -> Any:
    rng = np.random.default_rng(sum(shape))
    values = rng.normal(size=shape) + 1j * rng.normal(size=shape)
    return (values if np.issubdtype(dtype, np.complexfloating) else values.real).astype(dtype)


def pairing(a: Any, b: Any) -> float:
    """The pairing of JAX's transposes: no conjugation, and the real part for maps that are linear over real numbers."""
    return float(np.sum(np.asarray(a) * np.asarray(b)).real)


def unit_arrays(x: Any) -> Iterator[Any]:
    """A basis over the real numbers of the arrays like x."""
    for index, unit in itertools.product(np.ndindex(x.shape), [1, 1j] if np.iscomplexobj(x) else [1]):
        element = np.zeros_like(x)
        element[index] = unit
        yield element


def assert_transpose_is_exact(ours: Callable[[Any], Any], theirs: Callable[[Any], Any], x: Any) -> None:
    """Compare with the library's own values for every basis array, which is the dense matrix column by column."""
    y = theirs(x)
    np.testing.assert_allclose(ours(x), y, rtol=1e-12, atol=1e-12)
    cotangent = draw(y.shape, y.dtype)
    [found] = jax.linear_transpose(ours, x)(cotangent)
    assert found.dtype == x.dtype
    for element in unit_arrays(x):
        assert pairing(found, element) == pytest.approx(pairing(cotangent, theirs(element)), abs=1e-10)


@pytest.mark.parametrize("inorm", [0, 1, 2])
@pytest.mark.parametrize("axes", AXES)
def test_c2c_is_numpy_fft(axes: Any, inorm: int) -> None:
    x = draw((4, 5), np.complex128)
    norm: Any = {0: "backward", 1: "ortho", 2: "forward"}[inorm]
    np.testing.assert_allclose(fft.c2c(x, axes, inorm=inorm), np.fft.fftn(x, axes=axes, norm=norm))
    length = np.fft.fftn(x, axes=axes, norm="forward") * np.fft.fftn(np.ones_like(x), axes=axes).flat[0]
    np.testing.assert_allclose(fft.c2c(x, axes), length)


@pytest.mark.parametrize("n", [4, 5])
def test_r2c_and_c2r_undo_each_other(n: int) -> None:
    x = draw((3, n))
    spectrum = fft.r2c(x)
    np.testing.assert_allclose(spectrum, np.fft.rfftn(x))
    np.testing.assert_allclose(fft.c2r(spectrum, lastsize=n, forward=False, inorm=2), x)


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
@pytest.mark.parametrize("name", ["dct", "dst"])
def test_cosine_and_sine_transforms_are_those_of_scipy(name: str, kind: int) -> None:
    x = draw((3, 5))
    ours, theirs = getattr(fft, name), getattr(scipy.fft, name)
    np.testing.assert_allclose(ours(x, kind, axes=(1,)), theirs(x, kind, axis=1))
    orthogonal = theirs(x, kind, axis=1, norm="ortho", orthogonalize=True)
    np.testing.assert_allclose(ours(x, kind, axes=(1,), inorm=1), orthogonal)


@pytest.mark.parametrize(("name", "sign"), [("genuine_fht", -1), ("genuine_hartley", 1)])
def test_genuine_hartley_transforms_are_real_and_imaginary_parts(name: str, sign: int) -> None:
    x = draw((4, 5))
    spectrum = np.fft.fftn(x)
    np.testing.assert_allclose(getattr(fft, name)(x), spectrum.real + sign * spectrum.imag)


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("inorm", [0, 1, 2])
@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("dtype", [np.complex128, np.float64])
def test_transpose_of_c2c_is_exact(dtype: Any, axes: Any, inorm: int, forward: bool) -> None:
    options = {"axes": axes, "inorm": inorm, "forward": forward}
    assert_transpose_is_exact(
        functools.partial(fft.c2c, **options), functools.partial(ducc0.fft.c2c, **options), draw((3, 4), dtype)
    )


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_transpose_of_r2c_is_exact(n: int, axes: Any, forward: bool) -> None:
    options = {"axes": axes, "inorm": 1, "forward": forward}
    assert_transpose_is_exact(
        functools.partial(fft.r2c, **options), functools.partial(ducc0.fft.r2c, **options), draw((n, 4))
    )
    assert_transpose_is_exact(
        functools.partial(fft.r2c, **options), functools.partial(ducc0.fft.r2c, **options), draw((3, n))
    )


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("lastsize", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("axes", [(1,), (0, 1), (-1,), None])
def test_transpose_of_c2r_is_exact(axes: Any, lastsize: int, forward: bool) -> None:
    options = {"axes": axes, "inorm": 1, "forward": forward, "lastsize": lastsize}
    x = draw((3, lastsize // 2 + 1), np.complex128)
    assert_transpose_is_exact(functools.partial(fft.c2r, **options), functools.partial(ducc0.fft.c2r, **options), x)


@pytest.mark.parametrize("inorm", [0, 1, 2])
@pytest.mark.parametrize("axes", [(0,), (0, 1), (-1,)])
@pytest.mark.parametrize("kind", [1, 2, 3, 4])
@pytest.mark.parametrize("name", ["dct", "dst"])
def test_transposes_of_cosine_and_sine_transforms_are_exact(name: str, kind: int, axes: Any, inorm: int) -> None:
    options = {"type": kind, "axes": axes, "inorm": inorm}
    ours = functools.partial(getattr(fft, name), **options)
    theirs = functools.partial(getattr(ducc0.fft, name), **options)
    assert_transpose_is_exact(ours, theirs, draw((4, 3)))


@pytest.mark.parametrize("options", [{"real2hermitian": r, "forward": f} for r in (True, False) for f in (True, False)])
@pytest.mark.parametrize("n", [1, 2, 4, 5])
def test_transpose_of_r2r_fftpack_is_exact(n: int, options: dict[str, Any]) -> None:
    ours = functools.partial(fft.r2r_fftpack, axes=(0, 1), inorm=1, **options)
    theirs = functools.partial(ducc0.fft.r2r_fftpack, axes=(0, 1), inorm=1, **options)
    assert_transpose_is_exact(ours, theirs, draw((3, n)))


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("n", [1, 2, 4, 5])
def test_transpose_of_r2r_fftw_is_exact(n: int, forward: bool) -> None:
    ours = functools.partial(fft.r2r_fftw, axes=(0, 1), inorm=2, forward=forward)
    theirs = functools.partial(ducc0.fft.r2r_fftw, axes=(0, 1), inorm=2, forward=forward)
    assert_transpose_is_exact(ours, theirs, draw((3, n)))


@pytest.mark.parametrize("axes", [(0,), (1, 0), None])
@pytest.mark.parametrize("name", REAL_TRANSFORMS)
def test_transposes_of_hartley_transforms_are_exact(name: str, axes: Any) -> None:
    ours = functools.partial(getattr(fft, name), axes=axes, inorm=1)
    theirs = functools.partial(getattr(ducc0.fft, name), axes=axes, inorm=1)
    assert_transpose_is_exact(ours, theirs, draw((4, 3)))


def convolved(a: Any, axis: int, kernel: Any, size: int) -> Any:
    out = np.empty((*a.shape[:axis], size, *a.shape[axis + 1 :]), a.dtype)
    return ducc0.fft.convolve_axis(a, out, axis, kernel)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize(
    ("n", "size"), [(6, 6), (6, 8), (6, 9), (7, 10), (8, 6), (8, 5), (9, 6), (1, 4), (4, 1), (2, 1)]
)
def test_convolution_is_bilinear_with_exact_transposes(n: int, size: int, dtype: Any) -> None:
    a, kernel = draw((2, n, 3), dtype), draw((n,), dtype)
    circular = np.fft.ifft(np.fft.fft(a, axis=1) * np.fft.fft(kernel)[:, None], axis=1)
    circular = circular if dtype is np.complex128 else circular.real
    found = fft.convolve_axis(a, 1, kernel, size=size)
    np.testing.assert_allclose(found, scipy.signal.resample(circular, size, axis=1), atol=1e-12)
    assert_transpose_is_exact(
        lambda x: fft.convolve_axis(x, -2, kernel, size=size), lambda x: convolved(x, 1, kernel, size), a
    )
    assert_transpose_is_exact(
        lambda k: fft.convolve_axis(a, 1, k, size=size), lambda k: convolved(a, 1, k, size), kernel
    )


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("name", ["c2c", "r2c", "dct", "genuine_fht"])
def test_batch_on_any_axis_equals_a_loop(name: str, axis: int) -> None:
    transform = functools.partial(getattr(fft, name), **({"type": 2} if name == "dct" else {}), axes=(-1, 0))
    x = draw((2, 3, 4), np.complex128 if name == "c2c" else np.float64)
    expected = np.stack([transform(element) for element in np.moveaxis(x, axis, 0)])
    np.testing.assert_allclose(jax.vmap(transform, axis)(x), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("in_axes", [(0, 0), (2, 1), (1, 2), (-1, -1)])
def test_batch_of_any_order_is_one_call_of_ducc0(in_axes: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    original = ducc0.fft.r2c

    def counted(*args: Any, **kwargs: Any) -> Any:
        calls.append(args[1])
        return original(*args, **kwargs)

    monkeypatch.setattr(ducc0.fft, "r2c", counted)
    x = draw((2, 3, 4, 5))
    found = jax.vmap(jax.vmap(functools.partial(fft.r2c, axes=(0,)), in_axes[1]), in_axes[0])(x)
    moved = np.moveaxis(x, in_axes[0], 0)
    np.testing.assert_allclose(found, np.fft.rfft(np.moveaxis(moved, in_axes[1] % 3 + 1, 1), axis=2), atol=1e-12)
    assert len(calls) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_precision_is_that_of_the_input(dtype: Any) -> None:
    y = fft.c2c(draw((6,), dtype))
    assert y.dtype == np.result_type(dtype, np.complex64)
    np.testing.assert_allclose(y, np.fft.fft(draw((6,), dtype)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(0, 4), (3, 0, 4)])
def test_empty_batch_gives_an_empty_result(shape: tuple[int, ...]) -> None:
    assert fft.c2c(jnp.zeros(shape), axes=(-1,)).shape == shape
    assert jax.vmap(fft.c2c)(jnp.zeros((0, 3, 4))).shape == (0, 3, 4)


def test_no_axes_is_the_identity() -> None:
    x = draw((2, 3))
    np.testing.assert_array_equal(fft.c2c(x, axes=()), x)
    np.testing.assert_array_equal(fft.genuine_fht(x, axes=()), x)


@pytest.mark.parametrize("nthreads", [0, 1, 2])
def test_threads_do_not_change_the_result(nthreads: int) -> None:
    x = draw((256, 300))
    np.testing.assert_allclose(fft.c2c(x, nthreads=nthreads), np.fft.fftn(x), atol=1e-9)


@pytest.mark.parametrize(("n", "size"), [(7, 7), (13, 14), (1021, 1024)])
def test_good_size_is_fast_and_not_smaller(n: int, size: int) -> None:
    assert n <= fft.good_size(n) <= size


MISTAKES: list[tuple[Callable[[], Any], type[Exception], list[str]]] = [
    (lambda: fft.c2c(jnp.arange(3)), TypeError, ["c2c: argument a", "int", "complex128", "astype"]),
    (lambda: fft.r2c(draw((3,), np.complex128)), TypeError, ["r2c: argument a", "complex128", "float64"]),
    (lambda: fft.c2r(draw((3,))), TypeError, ["c2r: argument a", "float64", "complex64"]),
    (lambda: fft.c2c(draw((3, 4)), axes=(2,)), ValueError, ["c2c: argument axes", "(2,)", "(3, 4)", "-2 and 1"]),
    (lambda: fft.c2c(draw((3, 4)), axes=(0, -2)), ValueError, ["argument axes", "(0, -2)", "each axis once"]),
    (lambda: fft.c2c(draw((3, 0))), ValueError, ["argument a", "(3, 0)", "at least one element"]),
    (lambda: fft.c2c(draw((3, 4)), inorm=3), ValueError, ["argument inorm", "3", "0, 1 or 2"]),
    (lambda: fft.c2r(draw((3,), np.complex128), lastsize=6), ValueError, ["c2r: argument lastsize", "6", "4 or 5"]),
    (lambda: fft.r2c(draw((3,)), axes=()), ValueError, ["r2c: argument axes", "at least one axis"]),
    (lambda: fft.dct(draw((3,)), 5), ValueError, ["dct: argument type", "5", "1, 2, 3 or 4"]),
    (lambda: fft.dct(draw((3, 1)), 1), ValueError, ["dct: argument a", "(3, 1)", "at least 2 entries"]),
    (lambda: fft.convolve_axis(draw((3, 4)), 1, draw((3,))), ValueError, ["argument kernel", "(3,)", "(4,)"]),
    (lambda: fft.convolve_axis(draw((4,)), 0, draw((4,), np.float32)), TypeError, ["argument kernel", "float32"]),
    (lambda: fft.convolve_axis(draw((4,)), 0, draw((4,)), size=0), ValueError, ["argument size", "0", "positive"]),
]


@pytest.mark.parametrize(("mistake", "kind", "fragments"), MISTAKES)
def test_mistakes_are_named_while_tracing(
    mistake: Callable[[], Any], kind: type[Exception], fragments: list[str]
) -> None:
    with pytest.raises(kind) as raised:
        jax.eval_shape(mistake)
    for fragment in fragments:
        assert fragment in str(raised.value)
