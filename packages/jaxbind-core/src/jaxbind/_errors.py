# SPDX-License-Identifier: BSD-2-Clause
"""Every message that a user may see, built in one place.

Form: ``<operator>: argument <i> <what was found>; expected <what>. <What to do>.`` The functions return exceptions (or,
for the bridge, text); the caller raises. This module knows nothing of operators: names and numbers come in.
"""

from __future__ import annotations

import traceback
from typing import Any

import numpy as np


def spell_aval(aval: Any) -> str:
    """Dtype and shape as JAX writes them, for example ``float64[3,2]``."""
    return f"{aval.dtype}[{','.join(map(str, aval.shape))}]"


def not_callable(what: str, found: object) -> TypeError:
    """A parameter of a constructor that must be a function is not one."""
    return TypeError(f"{what} has type {type(found).__name__}; expected a function. Pass the function itself.")


def bad_fixed_count(name: str, found: object) -> ValueError:
    """``first_n_args_fixed`` is not a non-negative integer."""
    return ValueError(
        f"{name}: first_n_args_fixed is {found!r}; expected an integer >= 0. Count the leading arguments."
    )


def bad_batch_threads(name: str, found: object, most: int) -> ValueError:
    """``batch_threads`` is not a number of threads."""
    return ValueError(
        f"{name}: batch_threads is {found!r}; expected an integer from 0 to {most}. Pass 0 for one thread per core, 1 "
        "for a loop without other threads."
    )


def no_batch_loop(name: str, found: int) -> ValueError:
    """``batch_threads`` for a function that batches itself."""
    return ValueError(
        f"{name}: batch_threads is {found} with func_can_batch=True; expected 1, because a function that batches "
        "itself leaves no loop to share. Drop one of the two."
    )


def bad_transposes(name: str, found: str, expected: str) -> ValueError:
    """``f_T`` and ``abstract_T`` do not fit together or do not fit the arguments."""
    return ValueError(
        f"{name}: {found}; expected {expected}. Give f_T and abstract_T one entry "
        "per argument, None for the fixed ones."
    )


def bad_derivative(found: object) -> TypeError:
    """``f_derivative`` is not a pair of functions."""
    return TypeError(
        f"get_nonlinear_call: f_derivative is {found!r}; expected a tuple (jvp, vjp) of host functions, one "
        "rule (primals, tangents, **kwargs) -> tangents_out, or None. Pass None for an operator without derivatives."
    )


def too_few_arguments(name: str, found: int, fixed: int) -> TypeError:
    """All arguments of a call would be fixed."""
    return TypeError(
        f"{name}: called with {found} arguments, of which the first {fixed} are fixed; expected at least one that is "
        f"not. Pass more arrays, or bind with a smaller first_n_args_fixed."
    )


def wrong_argument_count(name: str, found: int, expected: int) -> TypeError:
    """A multilinear operator got another number of arguments than it has transposes."""
    return TypeError(
        f"{name}: called with {found} arguments, but f_T has {expected} entries; expected one entry per argument. "
        "Pass that many arrays, or give f_T and abstract_T one entry per argument, None for the fixed ones."
    )


def bad_argument(name: str, position: int, found: object) -> TypeError:
    """A positional argument is not an array that JAX can hold."""
    dtype = f" and dtype {found.dtype}" if isinstance(found, (np.ndarray, np.generic)) else ""
    return TypeError(
        f"{name}: argument {position} has type {type(found).__name__}{dtype}; expected an array or a number. "
        "Convert it first, for example with jnp.asarray, or pass it as a keyword argument."
    )


def unviewable_dtype(name: str, where: str, dtype: object) -> TypeError:
    """NumPy cannot view buffers of this dtype."""
    return TypeError(
        f"{name}: {where} has dtype {dtype}; expected a dtype that NumPy can view without a copy. "
        "Cast it first, for example x.astype(jnp.int8)."
    )


def array_as_keyword(name: str, key: str, found: object) -> TypeError:
    """A JAX array or tracer came as keyword argument."""
    return TypeError(
        f"{name}: keyword argument {key!r} is or contains a JAX array of type {type(found).__name__}; expected a "
        "static value. Pass arrays positionally (first_n_args_fixed covers those without derivative), or convert a "
        "constant with numpy.asarray."
    )


def bad_keyword_value(name: str, error: Exception) -> TypeError:
    """A keyword argument that cannot be encoded."""
    return TypeError(
        f"{name}: a keyword argument cannot be encoded ({type(error).__name__}: {error}); expected values of finite "
        "depth and integers of at most a few thousand digits. Pass something smaller."
    )


def reserved_keyword(name: str, key: str) -> TypeError:
    """A keyword argument that the batching protocol uses itself."""
    return TypeError(
        f"{name}: keyword argument {key!r} is set by vmap for an operator with func_can_batch=True; expected none from "
        "the caller. Rename it."
    )


def foreign_reference(described: str) -> RuntimeError:
    """An artifact of another process names an object that was kept by reference there."""
    return RuntimeError(
        f"the keyword arguments hold {described}, which was kept by reference in the process that made this program; "
        "expected values that can be encoded (numbers, strings, lists, dicts, NumPy arrays, dtypes). Such a program "
        "cannot be exported. Pass a string or number and look the object up in the host function."
    )


def malformed_keywords(reason: Exception) -> RuntimeError:
    """A compiled program carries keyword arguments that nothing in this version encodes."""
    found = f"{type(reason).__name__}: {ascii(str(reason))[:200]}"
    return RuntimeError(
        f"the keyword arguments of the compiled call are malformed ({found}); "
        "expected what this version of jaxbind encodes. Export or compile the program anew."
    )


def bad_abstract(name: str, function: str, found: str) -> TypeError:
    """The user's abstract function returned something else than output descriptions."""
    return TypeError(
        f"{name}: {function} {found}; expected a tuple with one (shape, dtype) per output. "
        "Return for example ((x.shape, x.dtype),) with the trailing comma."
    )


def bad_output_axis(name: str, function: str, output: int, found: object, expected: str) -> ValueError:
    """The third entry of an output description does not name its batch axis."""
    return ValueError(
        f"{name}: {function} gave output {output} the batch axis {found!r}; expected {expected}. With "
        "func_can_batch=True the third entry of each output is the axis of its newest batch dimension."
    )


def bad_cotangent_count(name: str, function: str, found: int, expected: int) -> TypeError:
    """``abstract_T`` describes another number of outputs than there are arguments to transpose."""
    return TypeError(
        f"{name}: {function} described {found} outputs; expected {expected}, one per argument that the transpose gives "
        "a cotangent for. One output per non-fixed argument is needed."
    )


def bad_cotangent(name: str, function: str, position: int, found: str, expected: str) -> TypeError:
    """A cotangent has another shape or dtype than the argument it belongs to."""
    return TypeError(
        f"{name}: {function} gave argument {position} a cotangent of type {found}; expected {expected}, the type of "
        "the argument itself. Correct the shape and dtype there."
    )


def fixed_argument(name: str, position: int, fixed: int, remedy: str) -> TypeError:
    """A derivative with respect to a fixed argument was asked for."""
    return TypeError(
        f"{name}: cannot differentiate with respect to argument {position} (fixed: the first {fixed} arguments are); "
        f"expected no derivative there. {remedy}"
    )


CLOSE_OVER_IT = "Close over it, apply jax.lax.stop_gradient, or bind the operator with fixed_derivative."


def second_order(f: str) -> str:
    """What to do about a second derivative of an operator with host derivatives of first order."""
    return (
        f"A second derivative of {f} is needed here, and its (jvp, vjp) host functions give the first order only. Give "
        "get_nonlinear_call one rule (primals, tangents, **kwargs) -> tangents_out written with other operators."
    )


def no_derivative(name: str) -> TypeError:
    """A derivative of an operator that was bound with ``f_derivative=None``."""
    return TypeError(
        f"{name}: cannot differentiate, because it was bound with f_derivative=None; expected derivatives. "
        "Give get_nonlinear_call (jvp, vjp) host functions or a rule."
    )


def not_linear(name: str, positions: list[int]) -> TypeError:
    """A transposition with respect to arguments in which the operator is not jointly linear."""
    return TypeError(
        f"{name}: cannot transpose with respect to arguments {positions}, because the operator is not linear in these "
        "arguments together; expected arguments of one slot. Transpose with respect to one argument of a multilinear "
        "operator at a time; for a nonlinear one, use jax.vjp."
    )


def returned_value(name: str, found: object) -> TypeError:
    """A host function returned something."""
    return TypeError(
        f"{name}: the host function returned a value of type {type(found).__name__}; it must fill `out` and return "
        "None. Write out[0][...] = result."
    )


def not_exportable(name: str, host: str) -> TypeError:
    """jax.export of an operator that another process could not find again."""
    return TypeError(
        f"{name}: cannot be exported, because its host function {host} or one of its keyword arguments exists in this "
        "process only; expected a function defined at the top level of a module, and keyword arguments that are values "
        "(numbers, strings, lists, dicts, NumPy arrays, dtypes). Move the function there, or pass a value."
    )


def unknown_target(name: str) -> RuntimeError:
    """A compiled program calls a host function that is not bound in this process."""
    module = name.partition(":")[0]
    return RuntimeError(
        f"no operator with the host function {name} is bound in this process; expected one, because a compiled program "
        f"calls it. Import the module that binds it first (import {module}), and keep the operator alive."
    )


def both_installed() -> str:
    """Two distributions own the same import folder."""
    return (
        "The distributions 'jaxbind' and 'jaxbind-core' are both installed and share the import folder 'jaxbind'; "
        "expected one of them. Run: pip uninstall jaxbind jaxbind-core && pip install jaxbind-core"
    )


def describe_exception(name: str, exception: BaseException) -> str:
    """The text of the error that a call ends with when the bridge met a Python exception.

    Parameters
    ----------
    name
        Name of the host function.
    exception
        What was raised, with its traceback.

    Returns
    -------
    str
        Name, type, message and traceback of the host function.
    """
    summary = "".join(traceback.format_exception_only(exception)).strip()
    trace = "".join(traceback.format_tb(exception.__traceback__))
    text = (
        f"{name}: the host function raised {summary}\nTraceback of the host function (most recent call last):\n{trace}"
    )
    return text.encode("utf-8", "backslashreplace").decode()  # A lone surrogate would not fit into the error.


def broken_invariant(what: str) -> RuntimeError:
    """Something that no use of the public functions can bring about."""
    return RuntimeError(
        f"jaxbind: {what}; expected this never to happen. Please report it with the program that did it."
    )


def bad_rule(name: str, found: object, expected: int) -> TypeError:
    """A derivative rule written in JAX returned something else than tangents."""
    return TypeError(
        f"{name}: the derivative rule returned {type(found).__name__}"
        f"{f' of length {len(found)}' if isinstance(found, (tuple, list)) else ''}; expected a tuple of {expected} "
        "tangents, one per output. Return (tangent,) for a single output, None for an output that does not change."
    )


def bad_rule_tangent(name: str, output: int, found: str, expected: str) -> TypeError:
    """A tangent from a derivative rule has another shape or dtype than its output."""
    return TypeError(
        f"{name}: the derivative rule gave output {output} a tangent of type {found}; expected {expected}, the type of "
        "the output itself. Correct the shape and dtype there."
    )
