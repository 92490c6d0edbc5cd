# SPDX-License-Identifier: BSD-2-Clause
"""The two constructors: from functions to operators.

Owns the checks of what the user passes and the calling convention; everything after is the primitive's.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbind import _errors, _register  # noqa: F401  # _register gives the primitive its rules
from jaxbind._kwargs import Kwargs, load_kwargs
from jaxbind._lowering import FFI_TARGET, MOST_BATCH_THREADS
from jaxbind._operator import Abstract, LinearOperator, NonlinearOperator, Record
from jaxbind._primitive import bind
from jaxbind._targets import HostFunction, host_function

__all__ = ["export_checks", "get_linear_call", "get_nonlinear_call", "load_kwargs"]

Host = Callable[..., None]
Rule = Callable[..., Any]


def get_linear_call(
    f: Host,
    f_T: Host | Sequence[Host | None],  # noqa: N803
    /,
    abstract: Abstract,
    abstract_T: Abstract | Sequence[Abstract | None],  # noqa: N803
    *,
    first_n_args_fixed: int = 0,
    func_can_batch: bool = False,
    batch_threads: int = 1,
    fixed_derivative: Rule | None = None,
) -> functools.partial[list[jax.Array]]:
    """Bind a linear or multilinear function as a JAX primitive.

    Use it for a function that is linear in its non-fixed arguments together (then `f_T` is one function), or linear in
    each of them alone (then `f_T` has one entry per argument). For anything else use `get_nonlinear_call`.

    Parameters
    ----------
    f
        The host function ``(out, args, kwargs_dump) -> None``. `args` is a tuple of read-only NumPy arrays, one per
        argument; `out` is a tuple of NumPy arrays to be filled, one per output; `kwargs_dump` goes to `load_kwargs`. No
        reference to either may be kept after the call.
    f_T
        The transpose, with the same signature. Linear: `args` holds the fixed arguments, then one cotangent per output
        of `f`; `out` takes one cotangent per non-fixed argument. Multilinear: entry i gets all arguments but the i-th,
        then the cotangents, and fills the cotangent of argument i; entries of fixed arguments are None.
    abstract
        ``(*args, **kwargs) -> ((shape, dtype), ...)``, one entry per output of `f`. `args` have ``shape`` and
        ``dtype``.
    abstract_T
        The same for `f_T`; a sequence like `f_T` for a multilinear function.
    first_n_args_fixed
        How many leading arguments have no derivative. The function need not be linear in them.
    func_can_batch
        Whether `f` and `f_T` process batches themselves. Then they get a keyword argument ``batch_axes``: None outside
        vmap, else one tuple per argument with the axes of its batch dimensions, oldest vmap level first. `abstract`
        gets it too, sees the batched arguments, and adds to each output a third entry, the axis of its newest batch
        dimension. Otherwise a batch is a loop over its elements in compiled code.
    batch_threads
        How many threads share that loop, 0 for one per core. Pays for host functions that release the GIL for most of
        their time; they must allow calls at the same time, and should not start threads of their own.
    fixed_derivative
        Makes the fixed arguments differentiable, to every order: a JAX-traceable rule ``(primals, tangents, **kwargs)
        -> tangents_out``, usually written with other operators. `primals` are all arguments of `f`; `tangents` has one
        entry per fixed argument, None where it does not change; the result is a tuple with one tangent per output, None
        where it does not change. It must be linear in the tangents, and in the other arguments what `f` is: the
        transposes follow from it.

    Returns
    -------
    functools.partial
        The operator. Call it with arrays, and static keyword arguments; it returns a list with one array per output.

    Raises
    ------
    TypeError, ValueError
        If a function is not callable, or `f_T` and `abstract_T` do not fit together. A call raises them for arguments
        that are not arrays, outputs that `abstract` does not describe, and derivatives of fixed arguments.

    Notes
    -----
    Transposes are plain ones, not adjoints, also for complex numbers: ``sum(c * f(x)) == sum(f_T(c) * x)``. That is the
    convention of JAX. The adjoint follows as ``conj(f_T(conj(c)))``.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, numpy as np
    >>> def forward(out, args, kwargs_dump):
    ...     np.cumsum(args[0], out=out[0])
    >>> def backward(out, args, kwargs_dump):
    ...     out[0][...] = np.cumsum(args[0][::-1])[::-1]
    >>> def same(x, **kwargs):
    ...     return ((x.shape, x.dtype),)
    >>> cumsum = get_linear_call(forward, backward, same, same)
    >>> [y] = cumsum(jnp.array([1.0, 2.0, 3.0]))
    >>> y.tolist()
    [1.0, 3.0, 6.0]
    >>> jax.grad(lambda x: cumsum(x)[0].sum())(jnp.zeros(3)).tolist()
    [3.0, 2.0, 1.0]
    """
    host = _host("get_linear_call", "f", f)
    name = host.display_name
    fixed = _checked_fixed(name, first_n_args_fixed)
    transposes, abstracts = _slots(name, f_T, abstract_T, fixed)
    operator = LinearOperator(
        f=host,
        T=tuple(_host(name, "f_T", function) for function in transposes),
        abstract=_callable(name, "abstract", abstract),
        abstract_T=tuple(_callable(name, "abstract_T", function) for function in abstracts),
        first_n_args_fixed=fixed,
        can_batch=bool(func_can_batch),
        batch_threads=_checked_threads(name, batch_threads, func_can_batch),
        fixed_derivative=fixed_derivative and _callable(name, "fixed_derivative", fixed_derivative),
    )
    return functools.partial(_call, _func=operator)


def get_nonlinear_call(
    f: Host,
    f_derivative: tuple[Host, Host] | Rule | None,
    /,
    abstract: Abstract,
    abstract_reverse: Abstract | None = None,
    *,
    first_n_args_fixed: int = 0,
    func_can_batch: bool = False,
    batch_threads: int = 1,
) -> functools.partial[list[jax.Array]]:
    """Bind a differentiable function as a JAX primitive.

    Use it for functions that are not linear. Derivatives given as a JAX-traceable rule work to every order, those given
    as host functions to the first.

    Parameters
    ----------
    f
        The host function ``(out, args, kwargs_dump) -> None``, see `get_linear_call`.
    f_derivative
        The host functions ``(jvp, vjp)``. `jvp` gets all primals, then the tangents of the non-fixed arguments, and
        fills one tangent per output. `vjp` gets all primals, then one cotangent per output, and fills one cotangent per
        non-fixed argument. Or one JAX-traceable rule ``(primals, tangents, **kwargs) -> tangents_out``, usually written
        with other operators: both have one entry per argument, a tangent is None where its argument does not change,
        and the result is a tuple with one tangent per output. None for a function without derivatives.
    abstract
        ``(*args, **kwargs) -> ((shape, dtype), ...)`` for the outputs of `f` and of `jvp`; take what is needed from the
        front of `args`.
    abstract_reverse
        The same for the outputs of `vjp`; only needed with ``(jvp, vjp)``.
    first_n_args_fixed
        How many leading arguments have no derivative.
    func_can_batch
        Whether the functions process batches themselves, see `get_linear_call`.
    batch_threads
        How many threads share the loop over a batch, see `get_linear_call`.

    Returns
    -------
    functools.partial
        The operator. Call it with arrays, and static keyword arguments; it returns a list with one array per output.

    Raises
    ------
    TypeError, ValueError
        If a function is not callable or `f_derivative` is not a pair. A call raises them as for `get_linear_call`, and
        for second derivatives.

    Notes
    -----
    With the Jacobian J at the primals: `jvp` computes ``J t``, `vjp` the plain transpose ``J^T c`` (no conjugation).

    Examples
    --------
    >>> import jax, jax.numpy as jnp, numpy as np
    >>> def forward(out, args, kwargs_dump):
    ...     out[0][...] = args[0] ** 3
    >>> def derivative(out, args, kwargs_dump):
    ...     out[0][...] = 3 * args[0] ** 2 * args[1]
    >>> def same(x, *rest, **kwargs):
    ...     return ((x.shape, x.dtype),)
    >>> cube = get_nonlinear_call(forward, (derivative, derivative), same, same)
    >>> jax.grad(lambda x: cube(x)[0])(2.0).item()
    12.0
    """
    host = _host("get_nonlinear_call", "f", f)
    name = host.display_name
    rule = f_derivative if callable(f_derivative) else None
    pair = (None, None) if f_derivative is None or rule else f_derivative
    if not (isinstance(pair, (tuple, list)) and len(pair) == 2):
        raise _errors.bad_derivative(f_derivative)
    jvp, vjp = pair
    operator = NonlinearOperator(
        f=host,
        jvp=jvp and _host(name, "f_derivative[0]", jvp),
        vjp=vjp and _host(name, "f_derivative[1]", vjp),
        abstract=_callable(name, "abstract", abstract),
        abstract_reverse=vjp and _callable(name, "abstract_reverse", abstract_reverse),
        rule=rule,
        first_n_args_fixed=_checked_fixed(name, first_n_args_fixed),
        can_batch=bool(func_can_batch),
        batch_threads=_checked_threads(name, batch_threads, func_can_batch),
    )
    return functools.partial(_call, _func=operator)


def export_checks() -> list[Any]:
    """What `jax.export.export` wants to be told before it exports a program that calls operators.

    JAX does not know whether a custom call keeps its meaning in later versions, and refuses those that it is not told
    of. This one does: its name changes with its meaning.

    Returns
    -------
    list
        Of `jax.export.DisabledSafetyCheck`, for the parameter `disabled_checks`.

    Notes
    -----
    The exported program finds its host functions by name. The process that runs it must import the module that binds
    the operators, and the host functions must be defined at the top level of a module.

    Examples
    --------
    >>> import jax
    >>> from jax import export
    >>> program = export.export(jax.jit(lambda x: 2 * x), disabled_checks=export_checks())
    >>> program(jax.ShapeDtypeStruct((3,), "float32")).call(jax.numpy.ones(3, "float32")).tolist()
    [2.0, 2.0, 2.0]
    """
    from jax import export  # noqa: PLC0415  # JAX does not load it by itself, and it needs absl in JAX 0.6.

    return [export.DisabledSafetyCheck.custom_call(FFI_TARGET)]


def _call(*args: Any, _func: Record, **kwargs: Any) -> list[jax.Array]:
    """Call an operator: what the partial objects of both constructors run."""
    _check_count(_func, len(args))
    arrays = [_as_array(_func, position, arg) for position, arg in enumerate(args)]
    static = Kwargs.make(kwargs, _func.name)
    if _func.can_batch and "batch_axes" in static:
        raise _errors.reserved_keyword(_func.name, "batch_axes")
    return bind(_func, static, ((),) * len(arrays), arrays)


def _check_count(operator: Record, count: int) -> None:
    if count <= operator.first_n_args_fixed:
        raise _errors.too_few_arguments(operator.name, count, operator.first_n_args_fixed)
    if isinstance(operator, LinearOperator) and len(operator.T) > 1:
        expected = operator.first_n_args_fixed + len(operator.T)
        if count != expected:
            raise _errors.wrong_argument_count(operator.name, count, expected)


def _as_array(operator: Record, position: int, arg: Any) -> Any:
    if isinstance(arg, (jax.Array, np.ndarray, np.generic, bool, int, float, complex)) or hasattr(arg, "__jax_array__"):
        if isinstance(arg, np.ndarray) and not arg.dtype.isnative:
            arg = arg.astype(arg.dtype.newbyteorder("="))
        try:
            return jnp.asarray(arg)
        except (TypeError, ValueError) as error:  # Strings, objects, dates, long doubles.
            raise _errors.bad_argument(operator.name, position, arg) from error
    raise _errors.bad_argument(operator.name, position, arg)


def _slots(name: str, f_T: Any, abstract_T: Any, fixed: int) -> tuple[Sequence[Any], Sequence[Any]]:  # noqa: N803
    """One transpose and abstract function per slot: one of a linear function, one per non-fixed argument else."""
    several = isinstance(f_T, (tuple, list))
    if several != isinstance(abstract_T, (tuple, list)):
        raise _errors.bad_transposes(name, "only one of f_T and abstract_T is a sequence", "both or none")
    if not several:
        return [f_T], [abstract_T]
    found = f"f_T has {len(f_T)} entries and abstract_T {len(abstract_T)}"
    if len(f_T) != len(abstract_T):
        raise _errors.bad_transposes(name, found, "as many of one as of the other")
    if len(f_T) <= fixed:
        raise _errors.bad_transposes(name, f"{found}, of which the first {fixed} are fixed", "more entries than that")
    return f_T[fixed:], abstract_T[fixed:]


def _host(operator: str, parameter: str, function: Any) -> HostFunction:
    return host_function(_callable(operator, parameter, function))


def _callable(operator: str, parameter: str, function: Any) -> Any:
    if not callable(function):
        raise _errors.not_callable(f"{operator}: {parameter}", function)
    return function


def _checked_fixed(name: str, count: Any) -> int:
    if not _is_count(count):
        raise _errors.bad_fixed_count(name, count)
    return int(count)


def _checked_threads(name: str, threads: Any, can_batch: bool) -> int:
    if not _is_count(threads) or threads > MOST_BATCH_THREADS:
        raise _errors.bad_batch_threads(name, threads, MOST_BATCH_THREADS)
    if can_batch and threads != 1:
        raise _errors.no_batch_loop(name, int(threads))
    return int(threads)


def _is_count(number: Any) -> bool:
    return isinstance(number, (int, np.integer)) and not isinstance(number, bool) and int(number) >= 0
