# SPDX-License-Identifier: BSD-2-Clause
"""`jaxbind_ducc.wgridder`: values and derivatives against the measurement equation, weights, masks, messages."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import ducc0
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxbind_ducc import wgridder

RNG = np.random.default_rng(42)
SPEED_OF_LIGHT = 299792458.0
UVW = RNG.normal(size=(4, 3)) * 30
FREQ = np.array([1.0e9, 1.3e9])
IMAGE = RNG.normal(size=(6, 8))
VIS = RNG.normal(size=(4, 2)) + 1j * RNG.normal(size=(4, 2))
WGT = RNG.uniform(0.5, 2, (4, 2))
MASK = np.array([[1, 0], [1, 1], [0, 1], [1, 1]])
SIZE: dict[str, Any] = {"pixsize_x": 0.03, "pixsize_y": 0.02}
TIGHT: dict[str, Any] = SIZE | {"epsilon": 1e-12}
NPIX: dict[str, Any] = {"npix_x": 6, "npix_y": 8}
SETTINGS: list[dict[str, Any]] = [
    {"do_wgridding": False},
    {"do_wgridding": True},
    {"do_wgridding": True, "divide_by_n": False},
    {"do_wgridding": True, "center_x": 0.1, "center_y": -0.05},
    {"do_wgridding": True, "center_x": 0.1, "center_y": -0.05, "flip_u": True, "flip_w": True},
    {"do_wgridding": False, "center_y": 0.2, "flip_v": True, "flip_u": True},
]


def measurement(
    uvw: Any,
    freq: Any,
    do_wgridding: bool = False,
    divide_by_n: bool = True,
    center_x: float = 0,
    center_y: float = 0,
    flip_u: bool = False,
    flip_v: bool = False,
    flip_w: bool = False,
) -> Any:
    """The measurement equation as a matrix: rows, channels, pixels in x and y."""
    offset_x, offset_y = (np.arange(6) - 3) * 0.03, (np.arange(8) - 4) * 0.02
    along_x = center_x + (-1 if flip_u else 1) * offset_x[:, None]
    along_y = center_y + (-1 if flip_v else 1) * offset_y
    n = np.sqrt(1 - along_x**2 - along_y**2) if do_wgridding else np.ones((6, 8))
    waves = jnp.asarray(uvw).T[:, :, None] * freq / SPEED_OF_LIGHT
    u, v, w = waves[..., None, None]
    # Flips in ducc0 turn the coordinate and mirror the image about its centre; together, only the pixels' direction.
    delay = u * along_x + v * along_y - (-1 if flip_w else 1) * w * (n - 1)
    return jnp.exp(-2j * np.pi * delay.astype(complex)) / (n if divide_by_n else np.ones_like(n)).astype(complex)


def direct_dirty2vis(image: Any, wgt: Any, uvw: Any, freq: Any, **settings: Any) -> Any:
    return jnp.einsum("rcxy,xy->rc", measurement(uvw, freq, **settings), image.astype(complex)) * wgt.astype(complex)


def direct_vis2dirty(vis: Any, wgt: Any, uvw: Any, freq: Any, **settings: Any) -> Any:
    matrix = measurement(uvw, freq, **settings)
    return jnp.einsum("rcxy,rc->xy", jnp.conj(matrix), vis * wgt.astype(complex)).real


def our_dirty2vis(image: Any, wgt: Any, uvw: Any, freq: Any, **settings: Any) -> Any:
    return wgridder.dirty2vis(uvw, freq, image, wgt, **TIGHT, **settings)


def our_vis2dirty(vis: Any, wgt: Any, uvw: Any, freq: Any, **settings: Any) -> Any:
    return wgridder.vis2dirty(uvw, freq, vis, wgt, **NPIX, **TIGHT, **settings)


PAIRS = [
    pytest.param(our_dirty2vis, direct_dirty2vis, IMAGE, id="dirty2vis"),
    pytest.param(our_vis2dirty, direct_vis2dirty, VIS, id="vis2dirty"),
]


def loss(f: Callable[..., Any], **settings: Any) -> Callable[..., Any]:
    """A real function of the result in which every entry counts differently."""

    def value(*args: Any) -> Any:
        y = f(*args, **settings)
        return jnp.sum(jnp.abs(y) ** 2 * jnp.cos(jnp.arange(y.size, dtype=y.real.dtype)).reshape(y.shape))

    return value


def assert_close(found: Any, expected: Any, accuracy: float = 1e-8) -> None:
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=0, atol=accuracy * np.abs(b).max())


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize(("ours", "direct", "values"), PAIRS)
def test_values_are_those_of_the_measurement_equation(ours: Any, direct: Any, values: Any, settings: Any) -> None:
    assert_close(ours(values, WGT, UVW, FREQ, **settings), direct(values, WGT, UVW, FREQ, **settings))


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize(("ours", "direct", "values"), PAIRS)
def test_gradient_is_that_of_the_measurement_equation(ours: Any, direct: Any, values: Any, settings: Any) -> None:
    every = (0, 1, 2, 3)
    found, expected = (jax.jit(jax.grad(loss(f, **settings), every))(values, WGT, UVW, FREQ) for f in (ours, direct))
    assert_close(found, expected)


@pytest.mark.parametrize("do_wgridding", [True, False])
@pytest.mark.parametrize(("ours", "direct", "values"), PAIRS)
def test_second_derivative_is_that_of_the_measurement_equation(
    ours: Any, direct: Any, values: Any, do_wgridding: bool
) -> None:
    args = (values, WGT, UVW, FREQ)
    tangents = (*map(jnp.cos, args[:3]), FREQ * 0.1)

    def second(f: Any) -> Any:
        gradient = jax.grad(loss(f, do_wgridding=do_wgridding), (0, 1, 2, 3))
        return jax.jit(lambda: jax.jvp(gradient, args, tangents))()

    assert_close(second(ours), second(direct), 1e-7)


@pytest.mark.parametrize(("ours", "direct", "values"), PAIRS)
def test_batches_equal_those_of_the_measurement_equation(ours: Any, direct: Any, values: Any) -> None:
    args = np.stack([values, 2 * values[::-1]], -1), WGT, np.stack([UVW, UVW[::-1]]), FREQ

    def batched(f: Any) -> Any:
        along_images = jax.vmap(lambda *a: f(*a, do_wgridding=True), (-1, None, None, None))
        return jax.vmap(along_images, (None, None, 0, None), out_axes=1)

    for f in (lambda g: g, lambda g: jax.grad(loss(g), (0, 2))):
        assert_close(jax.jit(f(batched(ours)))(*args), jax.jit(f(batched(direct)))(*args))


@pytest.mark.parametrize("flips", list(itertools.product([False, True], repeat=3)))
@pytest.mark.parametrize("do_wgridding", [True, False])
def test_transposes_are_exact_to_rounding(do_wgridding: bool, flips: tuple[bool, bool, bool]) -> None:
    """Gridding and degridding use the same kernel, so that the identity holds far below `epsilon`."""
    settings = dict(zip(("flip_u", "flip_v", "flip_w"), flips, strict=True)) | {"center_x": 0.1, "center_y": 0.05}
    options: dict[str, Any] = SIZE | settings | {"epsilon": 1e-2, "do_wgridding": do_wgridding}
    both: list[tuple[Callable[[Any], Any], Any, Any]] = [
        (lambda i: wgridder.dirty2vis(UVW, FREQ, i, mask=MASK, **options), IMAGE, VIS),
        (lambda v: wgridder.vis2dirty(UVW, FREQ, v, mask=MASK, **NPIX, **options), VIS, IMAGE),
    ]
    for f, x, c in both:
        [pulled_back] = jax.linear_transpose(f, x)(c)
        assert float(jnp.sum(pulled_back * x).real) == pytest.approx(float(jnp.sum(f(x) * c).real), rel=1e-12)


@pytest.mark.parametrize("mask_dtype", [bool, np.uint8, np.int32])
def test_masked_visibilities_are_zero_and_ignored(mask_dtype: Any) -> None:
    mask = MASK.astype(mask_dtype)
    vis = wgridder.dirty2vis(UVW, FREQ, IMAGE, WGT, mask, **TIGHT)
    assert_close(vis, direct_dirty2vis(IMAGE, WGT * MASK, UVW, FREQ))
    spoiled = np.where(MASK, VIS, np.nan)
    found = wgridder.vis2dirty(UVW, FREQ, spoiled, WGT, mask, **NPIX, **TIGHT)
    assert_close(found, direct_vis2dirty(VIS, WGT * MASK, UVW, FREQ))


def test_gradient_in_uvw_of_masked_visibilities() -> None:
    def masked(uvw: Any) -> Any:
        return wgridder.dirty2vis(uvw, FREQ, IMAGE, None, MASK, do_wgridding=True, **TIGHT)

    def direct(uvw: Any) -> Any:
        return direct_dirty2vis(IMAGE, jnp.asarray(MASK), uvw, FREQ, do_wgridding=True)

    for f in (jax.grad, jax.hessian):
        assert_close(jax.jit(f(loss(masked)))(UVW), jax.jit(f(loss(direct)))(UVW))


@pytest.mark.parametrize("do_wstacking", [True, False])
def test_older_names_are_those_of_ducc0(do_wstacking: bool) -> None:
    options: dict[str, Any] = {"epsilon": 1e-6, "do_wstacking": do_wstacking}
    ours = wgridder.dirty2ms(UVW, FREQ, IMAGE, WGT, 0.03, 0.02, **options)
    theirs = ducc0.wgridder.dirty2ms(UVW, FREQ, IMAGE, WGT, 0.03, 0.02, 0, 0, **options)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    image = wgridder.ms2dirty(UVW, FREQ, VIS, WGT, 6, 8, 0.03, 0.02, **options)
    theirs = ducc0.wgridder.ms2dirty(UVW, FREQ, VIS, WGT, 6, 8, 0.03, 0.02, 0, 0, **options)
    np.testing.assert_allclose(image, theirs, rtol=1e-12, atol=1e-12)


def without_arrays(kwargs: dict[str, Any]) -> dict[str, Any]:
    """What may be kept after the call: the buffers belong to XLA."""
    return {name: value for name, value in kwargs.items() if not isinstance(value, np.ndarray)}


OPTIONS: list[dict[str, Any]] = [
    {"sigma_min": 1.8, "sigma_max": 2.0},
    {"allow_nshift": False},
    {"nthreads": 1},
    {"flip_w": True},
    {"divide_by_n": False},
    {"center_x": 0.01},
]


@pytest.mark.parametrize("option", OPTIONS)
def test_options_reach_ducc0(option: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, Any]] = []
    original = ducc0.wgridder.dirty2vis

    def recorded(**kwargs: Any) -> Any:
        seen.append(without_arrays(kwargs))
        return original(**kwargs)

    monkeypatch.setattr(ducc0.wgridder, "dirty2vis", recorded)
    wgridder.dirty2vis(UVW, FREQ, IMAGE, do_wgridding=True, **TIGHT, **option).block_until_ready()
    [kwargs] = seen
    assert {name: kwargs[name] for name in option} == option


@pytest.mark.parametrize("accumulation", [True, False])
def test_accumulation_reaches_ducc0(accumulation: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, Any]] = []
    monkeypatch.setattr(ducc0.wgridder, "vis2dirty", lambda **kwargs: seen.append(without_arrays(kwargs)))
    options: dict[str, Any] = SIZE | NPIX | {"epsilon": 1e-3, "double_precision_accumulation": accumulation}
    wgridder.vis2dirty(UVW, FREQ, VIS.astype(np.complex64), **options).block_until_ready()
    assert seen[0]["double_precision_accumulation"] is accumulation


def test_single_precision_stays_single() -> None:
    options: dict[str, Any] = SIZE | {"epsilon": 1e-4}
    uvw, freq = UVW.astype(np.float32), FREQ.astype(np.float32)
    vis = wgridder.dirty2vis(uvw, freq, IMAGE.astype(np.float32), WGT.astype(np.float32), **options)
    assert_close(vis, direct_dirty2vis(IMAGE, WGT, UVW, FREQ).astype(np.complex64), 1e-3)
    image = wgridder.vis2dirty(uvw, freq, VIS.astype(np.complex64), **NPIX, **options)
    assert_close(image, direct_vis2dirty(VIS, np.ones((4, 2)), UVW, FREQ).astype(np.float32), 1e-3)


def test_no_rows_give_an_empty_sky() -> None:
    none = UVW[:0]
    assert wgridder.dirty2vis(none, FREQ, IMAGE, **TIGHT).shape == (0, 2)
    np.testing.assert_array_equal(wgridder.vis2dirty(none, FREQ, VIS[:0], **NPIX, **TIGHT), np.zeros((6, 8)))


LISTS: dict[str, Any] = {"freqlist_id": np.array([0, 1, 0, 2]), "freqlist_nfreqs": np.array([2, 1, 3])}
LIST_FREQS = np.array([1.0e9, 1.3e9, 1.1e9, 1.0e9, 1.2e9, 1.4e9])
ROWS, CHANNELS = np.array([0, 0, 1, 2, 2, 3, 3, 3]), np.array([0, 1, 2, 0, 1, 3, 4, 5])
LIST_VIS, LIST_WGT = RNG.normal(size=8) + 1j * RNG.normal(size=8), RNG.uniform(0.5, 2, 8)
LIST_MASK = np.array([1, 1, 0, 1, 0, 1, 1, 1])


@pytest.mark.parametrize("mask", [None, LIST_MASK])
def test_lists_of_frequencies_pick_rows_and_channels(mask: Any) -> None:
    """Against all rows in all frequencies, of which the lists take some; derivatives included."""
    order = np.argsort(LIST_FREQS, kind="stable")
    picked = (ROWS, np.argsort(order)[CHANNELS])
    kept = np.ones(8) if mask is None else mask.astype(float)

    def ours(image: Any, wgt: Any, uvw: Any, freqs: Any) -> Any:
        return wgridder.dirty2vis_bda(
            uvw, **LISTS, freqlist_freqs=freqs, dirty=image, wgt=wgt, mask=mask, do_wgridding=True, **TIGHT
        )

    def direct(image: Any, wgt: Any, uvw: Any, freqs: Any) -> Any:
        every = direct_dirty2vis(image, jnp.ones((4, 6)), uvw, freqs[order], do_wgridding=True)
        return every[picked] * (wgt * kept).astype(complex)

    args = IMAGE, LIST_WGT, UVW, LIST_FREQS
    for f in (lambda g: g, lambda g: jax.grad(loss(g), (0, 1, 2, 3))):
        assert_close(jax.jit(f(ours))(*args), jax.jit(f(direct))(*args))


def test_image_from_lists_of_frequencies_is_the_adjoint() -> None:
    options: dict[str, Any] = LISTS | TIGHT | {"mask": LIST_MASK, "do_wgridding": True}

    def forward(image: Any, uvw: Any) -> Any:
        return wgridder.dirty2vis_bda(uvw, freqlist_freqs=LIST_FREQS, dirty=image, **options)

    def adjoint(vis: Any, uvw: Any) -> Any:
        return wgridder.vis2dirty_bda(uvw, freqlist_freqs=LIST_FREQS, vis=vis, **NPIX, **options)

    def transposed(vis: Any, uvw: Any) -> Any:
        return jax.linear_transpose(lambda image: forward(image, uvw), jnp.asarray(IMAGE))(jnp.conj(vis))[0]

    for f in (lambda g: g, lambda g: jax.grad(loss(g), (0, 1))):
        assert_close(jax.jit(f(adjoint))(LIST_VIS, UVW), jax.jit(f(transposed))(LIST_VIS, UVW))


def test_descending_channels_are_named_at_run_time() -> None:
    # JAX raises one or the other, depending on the version, where a result is waited for.
    with pytest.raises(
        (RuntimeError, ValueError), match=r"argument freq is \[1\.3e\+09 1\.0e\+09\]; expected .* ascending order"
    ):
        wgridder.dirty2vis(UVW, FREQ[::-1], IMAGE, **TIGHT).block_until_ready()


def to_vis(
    uvw: Any = UVW, freq: Any = FREQ, dirty: Any = IMAGE, wgt: Any = None, mask: Any = None, **options: Any
) -> Any:
    return wgridder.dirty2vis(uvw, freq, dirty, wgt, mask, **(TIGHT | options))


def by_list(**changes: Any) -> Any:
    return wgridder.dirty2vis_bda(
        **(LISTS | TIGHT | {"uvw": UVW, "freqlist_freqs": LIST_FREQS, "dirty": IMAGE} | changes)
    )


MISTAKES: list[tuple[Callable[[], Any], type[Exception], list[str]]] = [
    (lambda: to_vis(dirty=VIS), TypeError, ["dirty2vis: argument dirty", "complex128", "float64"]),
    (lambda: to_vis(dirty=IMAGE[None]), ValueError, ["argument dirty", "(1, 6, 8)", "(npix_x, npix_y)", "vmap"]),
    (lambda: to_vis(dirty=IMAGE[:5]), ValueError, ["argument npix_x", "5", "even", "Pad"]),
    (lambda: to_vis(uvw=UVW.T), ValueError, ["argument uvw", "(3, 4)", "(nrow, 3)"]),
    (lambda: to_vis(freq=FREQ[0]), ValueError, ["argument freq", "()", "(nchan,)"]),
    (lambda: to_vis(wgt=WGT.T), ValueError, ["argument wgt", "(2, 4)", "(4, 2)", "visibilities"]),
    (lambda: to_vis(wgt=WGT.astype(np.float32)), TypeError, ["argument wgt", "float32", "float64"]),
    (lambda: to_vis(mask=MASK[0]), ValueError, ["argument mask", "(2,)", "(4, 2)"]),
    (lambda: to_vis(epsilon=1e-16), ValueError, ["argument epsilon", "1e-16", "double precision"]),
    (lambda: to_vis(pixsize_x=0.5, do_wgridding=True), ValueError, ["argument pixsize", "horizon", "radians"]),
    (lambda: by_list(freqlist_id=LISTS["freqlist_id"][:2]), ValueError, ["argument freqlist_id", "4 integers"]),
    (lambda: by_list(freqlist_nfreqs=[3, 3]), ValueError, ["argument freqlist_id", "0 and 2", "2 lists"]),
    (lambda: by_list(freqlist_freqs=FREQ), ValueError, ["argument freqlist_freqs", "(2,)", "6 numbers"]),
    (lambda: by_list(wgt=WGT), ValueError, ["argument wgt", "(4, 2)", "(8,)"]),
    (lambda: by_list(width=3), TypeError, ["dirty2vis_bda", "unexpected width"]),
    (
        lambda: wgridder.vis2dirty(UVW, FREQ, VIS.T, **NPIX, **TIGHT),
        ValueError,
        ["vis2dirty: argument vis", "(2, 4)", "(4, 2)"],
    ),
]


@pytest.mark.parametrize(("mistake", "kind", "fragments"), MISTAKES)
def test_mistakes_are_named_while_tracing(
    mistake: Callable[[], Any], kind: type[Exception], fragments: list[str]
) -> None:
    with pytest.raises(kind) as raised:
        jax.eval_shape(mistake)
    for fragment in fragments:
        assert fragment in str(raised.value)
