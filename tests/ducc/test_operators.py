# SPDX-License-Identifier: BSD-2-Clause
"""`jaxbind.testing` on every public operator, in both precisions: linearity, transposes, writes, batches.

What is checked are the bound calls that a public function makes, with the arrays and keyword arguments that it gives
them. A new public function, or a new operator behind one, is found missing here.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import jax
import jaxbind_ducc
import numpy as np
import pytest
from jaxbind import load_kwargs
from jaxbind.contrib import jaxducc0
from jaxbind.testing import check_operator
from jaxbind_ducc import fft, healpix, noise, nufft, pointing, sht, totalconvolve, wgridder
from support.sphere import draw

MODULES = {module.__name__.rpartition(".")[2]: module for module in (fft, nufft, sht, healpix, pointing)}
MODULES |= {"totalconvolve": totalconvolve, "wgridder": wgridder, "noise": noise, "jaxducc0": jaxducc0}
# Functions of these modules that bind nothing: numbers for set-up, and one that is written in JAX.
UNBOUND = {"fft.good_size", "healpix.npix", "healpix.pixel_centres", "jaxducc0.nalm", "pointing.get_deflected_angles"}


class Call(NamedTuple):
    """A call of a public function: what makes it, arrays, keyword arguments, and the relative errors that may be found.

    They are for double and single precision; None is the checker's own choice, for functions that are exact.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = MappingProxyType({})
    accuracy: tuple[float | None, float | None] = (None, None)


# Accuracies of transforms that are approximate by themselves: with a fast algorithm, on the sphere, by iterations.
FAST = (None, 1e-4)
SPHERE = (1e-8, 1e-3)
SOLVED = (1e-8, 1e-2)

REAL, COMPLEX = draw((4, 5), float), draw((4, 3))
POINTS, OTHER_POINTS = np.random.default_rng(7).uniform(-2, 2, (2, 6, 2))
NUFFT: dict[str, Any] = {"forward": True, "epsilon": 1e-13}
UVW, FREQ = draw((3, 3), float) * 20, np.array([1.0, 1.2]) * 299792458.0
VIS, MASK = draw((3, 2)), np.array([[1, 0], [1, 1], [0, 1]], np.uint8)
NPIX: dict[str, Any] = {"npix_x": 4, "npix_y": 6}
SKY: dict[str, Any] = {"pixsize_x": 0.02, "pixsize_y": 0.03, "epsilon": 1e-12}
WIDE: dict[str, Any] = SKY | {"do_wgridding": True}
LISTS: tuple[Any, ...] = (UVW, np.array([0, 1, 0]), np.array([2, 1]), FREQ[[0, 1, 0]])
LIST_MASK = np.array([1, 0, 1, 1, 1], np.uint8)
# A storage scheme with gaps, and rings with gaps.
STORAGE: dict[str, Any] = {"lmax": 3, "mmax": 2, "mstart": (0, 15, 4), "lstride": 2}
RINGS: dict[str, Any] = {"theta": [0.5, 1.5], "nphi": [5, 7], "phi0": [0.1, 0.2], "ringstart": [8, 0]}
ON_RINGS: dict[str, Any] = STORAGE | RINGS | {"spin": 2}
ON_GRID: dict[str, Any] = STORAGE | {"geometry": "F1", "phi0": 0.3, "spin": 2}
GRID: dict[str, Any] = {"ntheta": 5, "nphi": 6}
AT_POINTS: dict[str, Any] = STORAGE | {"spin": 2, "epsilon": 1e-12}
ORDERS: dict[str, Any] = {"theta": [0.4, 2.0], "mval": [2, 0], "mstart": [1, 6], "lstride": 1, "lmax": 4}
LOC = np.array([[0.3, 0.2], [1.2, 4.0], [3.3, 6.2]])
MAP, GRIDS, ALM = draw((2, 14), float), draw((2, 5, 6), float), draw((2, 23))
SOLVER: dict[str, Any] = {"epsilon": 1e-11, "maxiter": 200}
CONVOLVED: dict[str, Any] = {"lmax": 3, "kmax": 1, "epsilon": 1e-12}
BEAM, PTG = draw((2, 7), seed=1), draw((4, 3), float)
ONE_OVER_F: dict[str, Any] = {"sigmawhite": 1.5, "f_knee": 0.5, "f_min": 0.02, "f_samp": 10.0, "slope": -1.4}

CALLS = {
    "fft.c2c": Call(fft.c2c, (COMPLEX,), {"inorm": 1}),
    "fft.c2c of real numbers": Call(fft.c2c, (REAL,), {"axes": (1,), "forward": False}),
    "fft.r2c odd": Call(fft.r2c, (REAL,)),
    "fft.r2c even": Call(fft.r2c, (REAL,), {"axes": (1, 0)}),
    "fft.c2r odd": Call(fft.c2r, (COMPLEX,), {"lastsize": 5}),
    "fft.c2r even": Call(fft.c2r, (COMPLEX,), {"lastsize": 4, "forward": False}),
    "fft.dct": Call(fft.dct, (REAL, 1), {"axes": (1, 0)}),
    "fft.dst": Call(fft.dst, (REAL, 2), {"inorm": 2}),
    "fft.r2r_fftw": Call(fft.r2r_fftw, (REAL,), {"axes": (1, 0), "forward": True, "inorm": 1}),
    "fft.r2r_fftpack": Call(fft.r2r_fftpack, (REAL,), {"axes": (1, 0), "real2hermitian": False, "forward": True}),
    "fft.separable_hartley": Call(fft.separable_hartley, (REAL,)),
    "fft.genuine_hartley": Call(fft.genuine_hartley, (REAL,)),
    "fft.separable_fht": Call(fft.separable_fht, (REAL,), {"axes": (1,), "inorm": 1}),
    "fft.genuine_fht": Call(fft.genuine_fht, (REAL,)),
    "fft.convolve_axis": Call(fft.convolve_axis, (REAL, 1, draw((5,), float)), {"size": 8}),
    "nufft.u2nu": Call(nufft.u2nu, (COMPLEX, POINTS), NUFFT | {"periodicity": (3.0, 4.0)}, FAST),
    "nufft.nu2u": Call(nufft.nu2u, (draw((6,)), POINTS), NUFFT | {"grid_shape": (4, 3), "fft_order": True}, FAST),
    "nufft.nu2nu": Call(nufft.nu2nu, (draw((6,)), POINTS, OTHER_POINTS[:4]), NUFFT, FAST),
    "sht.synthesis": Call(sht.synthesis, (ALM,), ON_RINGS),
    "sht.synthesis of a gradient": Call(sht.synthesis, (ALM[:1],), ON_RINGS | {"mode": "GRAD_ONLY", "npix": 15}),
    "sht.adjoint_synthesis": Call(sht.adjoint_synthesis, (MAP,), ON_RINGS | {"ncoeff": 23}),
    "sht.synthesis_deriv1": Call(sht.synthesis_deriv1, (ALM[:1],), STORAGE | RINGS),
    "sht.pseudo_analysis": Call(sht.pseudo_analysis, (MAP,), ON_RINGS | SOLVER, SOLVED),
    "sht.synthesis_2d": Call(sht.synthesis_2d, (ALM,), ON_GRID | GRID),
    "sht.adjoint_synthesis_2d": Call(sht.adjoint_synthesis_2d, (GRIDS,), ON_GRID),
    "sht.synthesis_2d_deriv1": Call(
        sht.synthesis_2d_deriv1, (ALM[:1],), {k: v for k, v in (ON_GRID | GRID).items() if k != "spin"}
    ),
    "sht.analysis_2d": Call(sht.analysis_2d, (GRIDS,), ON_GRID),
    "sht.adjoint_analysis_2d": Call(sht.adjoint_analysis_2d, (ALM,), ON_GRID | GRID),
    "sht.synthesis_general": Call(sht.synthesis_general, (ALM, LOC), AT_POINTS, SPHERE),
    "sht.adjoint_synthesis_general": Call(sht.adjoint_synthesis_general, (MAP[:, :3], LOC), AT_POINTS, SPHERE),
    "sht.pseudo_analysis_general": Call(
        sht.pseudo_analysis_general, (MAP[:, :3], LOC), STORAGE | SOLVER | {"spin": 2}, SOLVED
    ),
    "sht.alm2leg": Call(sht.alm2leg, (draw((2, 12)),), ORDERS | {"spin": 2}),
    "sht.alm2leg_deriv1": Call(sht.alm2leg_deriv1, (draw((1, 12)),), ORDERS),
    "sht.leg2alm": Call(sht.leg2alm, (draw((2, 2, 2)),), ORDERS | {"spin": 2}),
    "sht.leg2map": Call(sht.leg2map, (draw((2, 2, 4)),), RINGS),
    "sht.map2leg": Call(sht.map2leg, (MAP,), RINGS | {"mmax": 3}),
    "sht.rotate_alm": Call(sht.rotate_alm, (draw((9,)), 3, 0.3, 0.7, -1.1), {"mmax_in": 2, "mmax_out": 1}),
    "healpix.synthesis": Call(healpix.synthesis, (ALM,), STORAGE | {"nside": 1, "spin": 2}),
    "healpix.adjoint_synthesis": Call(healpix.adjoint_synthesis, (draw((2, 12), float),), STORAGE | {"spin": 1}),
    "healpix.analysis": Call(healpix.analysis, (draw((1, 12), float),), {"lmax": 2, "iterations": 1}),
    "totalconvolve.interpol": Call(totalconvolve.interpol, (draw((2, 10)), BEAM, PTG), CONVOLVED, SPHERE),
    "wgridder.dirty2vis": Call(wgridder.dirty2vis, (UVW, FREQ, draw((4, 6), float)), WIDE, FAST),
    "wgridder.dirty2vis with a mask": Call(wgridder.dirty2vis, (UVW, FREQ, draw((4, 6), float), None, MASK), SKY, FAST),
    "wgridder.vis2dirty": Call(wgridder.vis2dirty, (UVW, FREQ, VIS), SKY | NPIX, FAST),
    "wgridder.vis2dirty with a mask": Call(wgridder.vis2dirty, (UVW, FREQ, VIS, None, MASK), WIDE | NPIX, FAST),
    "wgridder.dirty2vis_bda": Call(wgridder.dirty2vis_bda, (*LISTS, draw((4, 6), float)), SKY, FAST),
    "wgridder.dirty2vis_bda with a mask": Call(
        wgridder.dirty2vis_bda, (*LISTS, draw((4, 6), float), None, LIST_MASK), SKY, FAST
    ),
    "wgridder.vis2dirty_bda": Call(wgridder.vis2dirty_bda, (*LISTS, draw((5,))), SKY | NPIX, FAST),
    "wgridder.vis2dirty_bda with a mask": Call(
        wgridder.vis2dirty_bda, (*LISTS, draw((5,)), None, LIST_MASK), WIDE | NPIX, FAST
    ),
    "noise.filter_gaussian": Call(noise.filter_gaussian, (draw((9,), float),), ONE_OVER_F),
    "jaxducc0.get_healpix_sht": Call(
        lambda x, **options: jaxducc0.get_healpix_sht(**options)(x),
        (draw((2, 14), float),),
        {"nside": 1, "lmax": 3, "mmax": 2, "spin": 2},
    ),
}


# Functions that bind what a function above binds, and so need no check of their own.
SAME = {
    "fft.c2c_operator": ("fft.c2c", Call(fft.c2c_operator, (COMPLEX,))),
    "fft.genuine_fht_operator": ("fft.genuine_fht", Call(fft.genuine_fht_operator, (REAL,))),
    "wgridder.dirty2vis_operator": (
        "wgridder.dirty2vis",
        Call(wgridder.dirty2vis_operator, (UVW, FREQ, draw((4, 6), float)), WIDE | NPIX),
    ),
    "wgridder.dirty2ms": (
        "wgridder.dirty2vis",
        Call(wgridder.dirty2ms, (UVW, FREQ, draw((4, 6), float), None, 0.02, 0.03), {"epsilon": 1e-12}),
    ),
    "wgridder.ms2dirty": (
        "wgridder.vis2dirty",
        Call(wgridder.ms2dirty, (UVW, FREQ, VIS, None, 4, 6, 0.02, 0.03), {"epsilon": 1e-12}),
    ),
    "totalconvolve.deinterpol": (
        "totalconvolve.interpol",
        Call(totalconvolve.deinterpol, (draw((4,), float), BEAM, PTG), CONVOLVED),
    ),
    "jaxducc0.c2c": ("fft.c2c", Call(jaxducc0.c2c, (COMPLEX,))),
    "jaxducc0.genuine_fht": ("fft.genuine_fht", Call(jaxducc0.genuine_fht, (REAL,))),
    "jaxducc0.get_wgridder": (
        "wgridder.dirty2vis",
        Call(
            lambda *args, **options: jaxducc0.get_wgridder(**options)(*args),
            (UVW, FREQ, draw((4, 6), float)),
            WIDE | NPIX,
        ),
    ),
}


class Bound(NamedTuple):
    """A call of an operator."""

    record: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@pytest.fixture
def bound_calls(monkeypatch: pytest.MonkeyPatch) -> Callable[[Call], list[Bound]]:
    """What a call of a public function binds: one call of each operator."""
    constructors = importlib.import_module("jaxbind.jaxbind")
    original, found = constructors.bind, {}

    def bind(record: Any, kwargs: Any, axes: Any, args: Any) -> Any:
        # A function that is transposed has no values; any will do.
        values = [draw(a.shape, a.dtype) if isinstance(a, jax.core.Tracer) else np.asarray(a) for a in args]
        found.setdefault(record, Bound(record, tuple(values), load_kwargs(kwargs)))
        return original(record, kwargs, axes, args)

    def bound(call: Call) -> list[Bound]:
        found.clear()
        call.function(*call.args, **call.kwargs)
        return list(found.values())

    monkeypatch.setattr(constructors, "bind", bind)
    return bound


def in_precision(call: Call, dtype: Any) -> Call:
    """The call with arrays of a precision, and an `epsilon` that can be had in it."""

    def cast(array: Any) -> Any:
        if not isinstance(array, np.ndarray) or not np.issubdtype(array.dtype, np.inexact):
            return array
        return array.astype(np.result_type(dtype, 1j) if np.iscomplexobj(array) else dtype)

    lowered = {"epsilon": 1e-4} if dtype is np.float32 and "epsilon" in call.kwargs else {}
    return call._replace(args=tuple(map(cast, call.args)), kwargs={**call.kwargs, **lowered})


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_checker_finds_nothing(call: Call, dtype: Any, bound_calls: Callable[[Call], list[Bound]]) -> None:
    found = bound_calls(in_precision(call, dtype))
    assert found
    for record, args, kwargs in found:
        rtol = call.accuracy[dtype is np.float32]
        operator = functools.partial(fft.c2c_operator.func, _func=record)
        report = check_operator(operator, *args, rtol=rtol, **kwargs)
        assert len(report.checks) > 5


@pytest.mark.parametrize("name", SAME)
def test_function_binds_what_another_one_does(name: str, bound_calls: Callable[[Call], list[Bound]]) -> None:
    checked, call = SAME[name]
    assert [bound.record for bound in bound_calls(call)] == [bound.record for bound in bound_calls(CALLS[checked])]


def test_every_public_function_is_checked() -> None:
    public = {
        f"{short}.{name}"
        for short, module in MODULES.items()
        for name in module.__all__
        if not inspect.isclass(getattr(module, name))
    }
    same = {f"pointing.{name}" for name in sht.__all__ if getattr(pointing, name, None) is getattr(sht, name)}
    assert public - same - UNBOUND == {name.split()[0] for name in CALLS} | set(SAME)


def test_every_public_module_is_looked_at() -> None:
    public = {name for name in jaxbind_ducc.__all__ if inspect.ismodule(getattr(jaxbind_ducc, name))}
    assert public - set(MODULES) == {"alm"}  # Written in JAX.


def operators(value: Any) -> Iterator[Any]:
    """The records of the operators that a value holds."""
    if isinstance(value, functools.partial) and "_func" in value.keywords:
        yield value.keywords["_func"]
    elif isinstance(value, dict | tuple | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from operators(one)


def bound_operators() -> dict[Any, str]:
    """Every operator that a module of the package binds, and the old names; with a name for messages."""
    names = [f"jaxbind_ducc.{found.name}" for found in pkgutil.iter_modules(jaxbind_ducc.__path__)]
    modules = [importlib.import_module(name) for name in names] + [jaxducc0]
    return {
        record: module.__name__ for module in modules for value in vars(module).values() for record in operators(value)
    }


def test_every_bound_operator_is_checked(bound_calls: Callable[[Call], list[Bound]]) -> None:
    checked = {bound.record for call in CALLS.values() for bound in bound_calls(call)}
    assert len(checked) > 30
    assert {f"{module}: {record}" for record, module in bound_operators().items() if record not in checked} == set()


@pytest.mark.parametrize("record", bound_operators(), ids=lambda record: record.name)
def test_host_functions_are_found_by_name_in_another_process(record: Any) -> None:
    for host in (record.f, *record.T):
        module, _, name = host.name.partition(":")
        assert getattr(importlib.import_module(module), name) is host.call
