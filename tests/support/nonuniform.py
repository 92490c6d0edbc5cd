# SPDX-License-Identifier: BSD-2-Clause
"""Direct sums of the non-uniform Fourier transforms: in long double for values, in JAX for derivatives; drawn problems.

They share no code with the package. A problem is one type in one number of dimensions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import jaxbind_finufft
import numpy as np
from support.arrays import draw

SIZES = {1: (7,), 2: (5, 4), 3: (3, 4, 2)}


class Problem(NamedTuple):
    """A transform with its arguments: strengths, then points, then targets."""

    kind: int
    ndim: int
    iflag: int = 1
    modeord: bool = False
    modes: tuple[int, ...] = ()

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of modes."""
        return self.modes or SIZES[self.ndim]

    def arguments(self, dtype: Any = np.complex128, count: int = 6, targets: int = 5) -> tuple[Any, ...]:
        """Strengths, points and targets; the points fill a little more than one period."""
        real = np.finfo(dtype).dtype
        source = draw(1, self.sizes if self.kind == 2 else (count,), dtype)
        points = [np.random.default_rng(10 + a).uniform(-4, 4, count).astype(real) for a in range(self.ndim)]
        goals = [np.random.default_rng(20 + a).uniform(-5, 5, targets).astype(real) for a in range(self.ndim)]
        return (source, *points, *(goals if self.kind == 3 else ()))

    def fast(self, eps: float = 1e-12, **options: Any) -> Callable[..., Any]:
        """The package's function of the arguments."""
        opts = jaxbind_finufft.options.Opts(modeord=self.modeord, **options)
        keywords: dict[str, Any] = {"iflag": self.iflag, "eps": eps, "opts": opts}
        if self.kind == 1:
            return lambda *args: jaxbind_finufft.nufft1(self.sizes, *args, **keywords)
        function = jaxbind_finufft.nufft2 if self.kind == 2 else jaxbind_finufft.nufft3
        return lambda *args: function(*args, **keywords)

    def direct(self, *args: Any) -> Any:
        """The sum itself, with JAX."""
        return self._sum(jnp, complex, *args)

    def exact(self, *args: Any) -> Any:
        """The sum itself, in long double."""
        source, *rest = args
        return self._sum(np, np.clongdouble, source, *(p.astype(np.longdouble) for p in rest))

    def _sum(self, xp: Any, dtype: Any, source: Any, *rest: Any) -> Any:
        points, goals = rest[: self.ndim], rest[self.ndim :]
        source = source.astype(dtype)
        if self.kind == 3:
            turns = sum(xp.outer(s, x) for s, x in zip(goals, points, strict=True))
            return self._waves(xp, dtype, turns) @ source
        # One row per mode, in the order of the modes; one column per point.
        turns = xp.zeros_like(points[0])
        for n, x in zip(self.sizes, points, strict=True):
            wave = np.arange(n) - n // 2
            wave = np.fft.ifftshift(wave) if self.modeord else wave
            turns = turns[..., None, :] + wave[:, None].astype(x.dtype) * x
        waves = self._waves(xp, dtype, turns)
        if self.kind == 1:
            return waves @ source
        return xp.tensordot(source, waves, self.ndim)

    def _waves(self, xp: Any, dtype: Any, turns: Any) -> Any:
        return xp.exp(dtype(1j) * xp.asarray(self.iflag * turns).astype(dtype))


PROBLEMS = [Problem(kind, ndim) for kind in (1, 2, 3) for ndim in (1, 2, 3)]


def name(problem: Problem) -> str:
    """Of a problem, for the names of tests."""
    return f"type{problem.kind}-{problem.ndim}d"


def distance(found: Any, expected: Any) -> float:
    """Relative error in the Euclidean norm."""
    expected = np.asarray(expected)
    return float(np.linalg.norm(np.ravel(np.asarray(found) - expected)) / np.linalg.norm(np.ravel(expected)))
