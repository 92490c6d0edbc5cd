# SPDX-License-Identifier: BSD-2-Clause
"""Options of FINUFFT: records that are checked when they are made, and reach FINUFFT as they are.

Owns the names and the allowed values, and which options a transform uses in its own direction and in derivatives. If
unsure, use none: FINUFFT's own choices are good, and the number of threads follows the size of the problem.

Source: the page "Options" of FINUFFT's manual, https://finufft.readthedocs.io/en/latest/opts.html.
"""

from __future__ import annotations

import dataclasses
import enum
import operator

from jaxbind_finufft import _errors

__all__ = ["DebugLevel", "FftwFlags", "NestedOpts", "Opts", "SpreadSort", "SpreadThread", "unpack_opts"]


class DebugLevel(enum.IntEnum):
    """How much FINUFFT prints."""

    Silent = 0
    Verbose = 1
    Noisy = 2


class FftwFlags(enum.IntEnum):
    """How long FFTW may look for the fastest transform; without effect where FINUFFT uses ducc0's FFT, as on PyPI."""

    Estimate = 64
    Measure = 0
    Patient = 32
    Exhaustive = 8
    WisdomOnly = 2097152


class SpreadSort(enum.IntEnum):
    """Whether FINUFFT sorts the points by grid cell before it spreads."""

    NoSort = 0
    Sort = 1
    Heuristic = 2


class SpreadThread(enum.IntEnum):
    """How several transforms share the threads: one after the other with all threads, or one thread for each."""

    Auto = 0
    Sequential = 1
    Parallel = 2


@dataclasses.dataclass(frozen=True)
class Opts:
    """Options of one transform.

    Parameters
    ----------
    modeord
        False if modes run from ``-(n // 2)`` on, True if mode 0 comes first, as in `numpy.fft`.
    debug, spread_debug
        What FINUFFT prints, see `DebugLevel`.
    showwarn
        Whether FINUFFT may print its warnings to the standard error stream.
    nthreads
        Number of threads; 0 to choose it from the size of the problem.
    fftw
        Planning of FFTW, see `FftwFlags`; other combinations of FFTW's flags are passed on.
    spread_sort
        See `SpreadSort`.
    spread_kerevalmeth, spread_kerpad
        How the kernel is evaluated; recent versions of FINUFFT ignore both.
    upsampfac
        Size of the fine grid relative to the modes, above 1; 0 for FINUFFT's choice, or 1.5 to 2 where that is faster.
    spread_thread
        See `SpreadThread`.
    maxbatchsize
        How many transforms are processed at once; 0 for FINUFFT's choice.
    spread_nthr_atomic
        Number of threads up to which atomic writes are used; -1 for FINUFFT's choice.
    spread_max_sp_size
        Largest number of points in one piece of work of a thread; 0 for FINUFFT's choice.

    Raises
    ------
    TypeError, ValueError
        If a value is not one of FINUFFT's. Options of its GPU library do not exist here.

    Examples
    --------
    >>> Opts(modeord=True).modeord
    True
    """

    modeord: bool = False
    debug: int = DebugLevel.Silent
    spread_debug: int = DebugLevel.Silent
    showwarn: bool = False
    nthreads: int = 0
    fftw: int = FftwFlags.Estimate
    spread_sort: int = SpreadSort.Heuristic
    spread_kerevalmeth: bool = True
    spread_kerpad: bool = True
    upsampfac: float = 0.0
    spread_thread: int = SpreadThread.Auto
    maxbatchsize: int = 0
    spread_nthr_atomic: int = -1
    spread_max_sp_size: int = 0

    def __post_init__(self) -> None:
        """Bring every field to its type, or say which value is wrong."""
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, _checked(field.name, getattr(self, field.name)))

    def changed(self) -> tuple[tuple[str, int | float], ...]:
        """Names and values of the options that are not FINUFFT's defaults, as plain numbers.

        Returns
        -------
        tuple
            Of pairs; empty for ``Opts()``.
        """
        numbers = []
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value != field.default:
                numbers.append((field.name, value if isinstance(value, float) else int(value)))
        return tuple(numbers)


@dataclasses.dataclass(frozen=True)
class NestedOpts:
    """Different options for the transforms that one call leads to.

    The transform itself uses `forward`, or the field of its type where `forward` is None. Its transpose, which reverse
    mode runs, uses `backward`, or the field of its type. What nobody says is FINUFFT's default. The order of the modes
    belongs to the arrays and not to how they are computed: the transpose takes `modeord` from the transform itself.

    Parameters
    ----------
    type1, type2, type3
        Options of the transforms of a type. The transpose of a type 1 is a type 2, and the other way round.
    forward
        Options of the transform that is called, and of its derivatives in forward mode.
    backward
        Options of the transposes; may be nested itself.

    Examples
    --------
    >>> options = NestedOpts(forward=Opts(nthreads=1), type2=Opts(nthreads=2))
    >>> unpack_opts(options, 1, True).nthreads, unpack_opts(options, 2, False).nthreads
    (1, 2)
    """

    type1: Opts | None = None
    type2: Opts | None = None
    type3: Opts | None = None
    forward: Opts | None = None
    backward: Opts | NestedOpts | None = None

    def __post_init__(self) -> None:
        """Refuse fields that are not options."""
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            allowed = (Opts, NestedOpts) if field.name == "backward" else (Opts,)
            if value is not None and not isinstance(value, allowed):
                expected = " or ".join(["None", *(kind.__name__ for kind in allowed)])
                raise _errors.bad_type("NestedOpts", field.name, value, expected, "Make it with options.Opts")


def unpack_opts(opts: Opts | NestedOpts | None, finufft_type: int, forward: bool) -> Opts:
    """The options of one transform.

    Parameters
    ----------
    opts
        What the user gave.
    finufft_type
        1, 2 or 3: the type of the transform that will run.
    forward
        True for the transform itself, False for its transpose.

    Returns
    -------
    Opts
        The defaults where nothing was said.
    """
    if not isinstance(opts, NestedOpts):
        return Opts() if opts is None else opts
    direction = opts.forward if forward else opts.backward
    if isinstance(direction, NestedOpts):
        return unpack_opts(direction, finufft_type, True)
    return direction or getattr(opts, f"type{finufft_type}") or Opts()


_ALLOWED: dict[str, type[enum.IntEnum]] = {
    "debug": DebugLevel,
    "spread_debug": DebugLevel,
    "spread_sort": SpreadSort,
    "spread_thread": SpreadThread,
}
_LOWEST = {"maxbatchsize": 0, "nthreads": 0, "spread_max_sp_size": 0, "spread_nthr_atomic": -1, "fftw": 0}
_SWITCHES = {"modeord", "showwarn", "spread_kerevalmeth", "spread_kerpad"}


def _checked(name: str, value: object) -> bool | int | float:
    """A field of `Opts` in its type."""
    if name == "upsampfac":
        if not isinstance(value, (int, float)):
            raise _errors.bad_type("Opts", name, value, "a number", "Use 0 for FINUFFT's choice")
        if not (value == 0 or 1 < value < float("inf")):
            raise _errors.bad_value("Opts", name, value, "a number above 1, or 0", "Use 0 for FINUFFT's choice")
        return float(value)
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise _errors.bad_type("Opts", name, value, "an integer", "See the docstring of Opts") from None
    if name in _SWITCHES:
        if number not in (0, 1):
            raise _errors.bad_value("Opts", name, value, "True or False", "See the docstring of Opts")
        return bool(number)
    if name in _ALLOWED:
        kind = _ALLOWED[name]
        if number not in list(kind):
            raise _errors.bad_value("Opts", name, value, f"one of {[int(k) for k in kind]}", f"See {kind.__name__}")
        return kind(number)
    if number < _LOWEST[name]:
        raise _errors.bad_value("Opts", name, value, f"at least {_LOWEST[name]}", "See the docstring of Opts")
    return number
