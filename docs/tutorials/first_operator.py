# SPDX-License-Identifier: BSD-2-Clause
# ruff: noqa: D205, D400  # the gallery wants a title
"""
Bind a function in fifteen minutes
==================================

After this page you can take a function that JAX knows nothing about and use it under ``jit``, ``vmap`` and ``grad``,
and you know the mistakes that everybody makes once, with the messages they bring.

You need ``pip install jaxbind-core scipy matplotlib`` and nothing else. Type along: the blocks below are one program.
"""

# %%
# The function
# ------------
#
# A slow detector sees short pulses of light. Each pulse leaves a signal that dies away, so the signals pile up. SciPy
# has the recursion ``y[t] = decay * y[t-1] + x[t]``, compiled and tested:

from typing import Any

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import scipy.signal
from jaxbind import get_linear_call, load_kwargs
from jaxbind.testing import check_operator


def detector(x: Any, decay: float = 0.9) -> Any:
    """Compute what the detector records when the light is `x`."""
    return scipy.signal.lfilter([1.0], [1.0, -decay], x)


print(detector(np.array([1.0, 0.0, 0.0, 2.0])))

# %%
# It would be natural to put it into a jitted function. That fails, because while JAX traces a function there are no
# numbers yet, and SciPy wants numbers:


def first_line(error: Exception) -> str:
    """Shorten a message for this page."""
    return f"{type(error).__name__}: {str(error).splitlines()[0]}"


x = jnp.array([1.0, 0.0, 0.0, 2.0])
try:
    jax.jit(detector)(x)
except Exception as error:
    print(first_line(error))

# %%
# Three small functions
# ---------------------
#
# To bind it, say three things.
#
# 1. **What to compute.** A *host function* reads NumPy arrays from the tuple ``args``, writes into the NumPy arrays of
#    the tuple ``out``, and returns nothing. The arrays are views of JAX's own memory: no copies.

Arrays = tuple[np.ndarray, ...]


def record(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Compute y = A x."""
    out[0][...] = detector(args[0])


# %%
# 2. **Its transpose.** A linear function is a matrix ``A``, although nobody writes it down; reverse-mode
#    differentiation multiplies with ``A^T``. Here ``A[t, s] = decay ** (t - s)`` for ``t >= s``. The transpose has
#    the two times exchanged: the same recursion, run backward in time.


def record_transposed(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Compute x = A^T y."""
    out[0][...] = detector(args[0][::-1])[::-1]


# %%
# 3. **What comes out.** While tracing, JAX asks for the shape and dtype of each output, given those of the arguments.
#    One output is a tuple with one entry: mind the comma.


def same(x: Any) -> Any:
    """One output, with the shape and dtype of the argument."""
    return ((x.shape, x.dtype),)


# %%
# Now bind:

op = get_linear_call(record, record_transposed, same, same)
print(op(x))

# %%
# The result is a list, one array per output, always. Take the first:

[y] = op(x)
print(y)

# %%
# What you have now
# -----------------
#
# **Compiled.** The operator is a primitive of JAX. Everything around it is compiled, and the call goes from compiled
# code into your function and back in about a microsecond:

print(jax.jit(lambda x: 2 * op(x)[0] + 1)(x))

# %%
# **Batched.** Your function still sees one time series per call; the loop runs in compiled code:

batch = jnp.stack([x, 10 * x])
print(jax.vmap(op)(batch)[0])

# %%
# **Differentiable,** in forward and reverse mode and to every order. The gradient of ``sum(y)`` is ``A^T 1``:

print(jax.grad(lambda x: op(x)[0].sum())(x))
print(jax.hessian(lambda x: jnp.sum(op(x)[0] ** 2))(x).round(2))

# %%
# Is the transpose right?
# -----------------------
#
# Nothing fails if it is wrong: gradients are silently wrong. So check it, with the one identity that defines a
# transpose, ``sum(c * A x) == sum(A^T c * x)``, at random points:

random = np.random.default_rng(0)
v, c = (jnp.asarray(random.normal(size=50), dtype=jnp.float32) for _ in range(2))
[Av] = op(v)
[ATc] = jax.linear_transpose(lambda v: op(v)[0], v)(c)
print(jnp.sum(c * Av), jnp.sum(ATc * v))

# %%
# :func:`jaxbind.testing.check_operator` does this and much more, for every kind of operator. Keep it as a
# test of yours:

print(check_operator(op, v[:5]))

# %%
# Use it
# ------
#
# Recover pulses from a noisy recording, by gradient descent on the misfit, with light that cannot be negative. The loop
# is one compiled program that calls SciPy twice per step:

light = np.zeros(200, dtype=np.float32)
light[[20, 24, 60, 110, 118, 121, 170]] = [3, 2, 4, 1, 3, 2, 2]
recording = jnp.asarray(detector(light) + 0.15 * random.normal(size=200), dtype=jnp.float32)


def misfit(light: jax.Array) -> jax.Array:
    """Half the sum of squares, and a weak preference for little light."""
    return jnp.sum((op(light)[0] - recording) ** 2) / 2 + 0.5 * jnp.sum(light)


@jax.jit
def restore(light: jax.Array) -> jax.Array:
    """Run a thousand steps; the step is one over the largest eigenvalue of A^T A, which is (1 - decay)^-2."""

    def step(light: jax.Array, _: None) -> tuple[jax.Array, None]:
        return jnp.maximum(light - 0.01 * jax.grad(misfit)(light), 0), None

    return jax.lax.scan(step, light, length=1000)[0]


restored = restore(jnp.zeros(200))

figure, (above, below) = plt.subplots(2, 1, figsize=(7, 4), sharex=True, layout="constrained")
above.plot(recording, color="tab:gray")
above.set_title("recorded")
below.vlines(np.arange(200), 0, light, color="tab:blue", lw=4, alpha=0.35, label="truth")
below.plot(restored, color="tab:red", lw=1, label="restored")
below.set(title="light", xlabel="time")
below.legend()
plt.show()

# %%
# Parameters
# ----------
#
# The decay is a number that you choose, not data: a *keyword argument*. It travels beside the arrays, and the host
# function unpacks it with ``load_kwargs``. The description of the outputs gets it as an ordinary keyword:


def record_with(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Compute y = A x for a decay given at the call."""
    out[0][...] = detector(args[0], **load_kwargs(kwargs_dump))


def record_with_transposed(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Compute x = A^T y."""
    out[0][...] = detector(args[0][::-1], **load_kwargs(kwargs_dump))[::-1]


def same_for_any(x: Any, *, decay: float) -> Any:
    """The decay does not change the shape."""
    return ((x.shape, x.dtype),)


op = get_linear_call(record_with, record_with_transposed, same_for_any, same_for_any)
print(op(x, decay=0.5)[0], op(x, decay=0.1)[0])

# %%
# Mistakes that everybody makes once
# ----------------------------------
#
# Each block is one mistake and the first line of what you are told. Errors inside a host function arrive as
# ``JaxRuntimeError``, because they happen while a compiled program runs; the process goes on, and the next call works.


def try_to(call: Any) -> None:
    """Print the first line of the error that a call ends with."""
    try:
        jax.block_until_ready(call())
    except Exception as error:
        print(first_line(error))


def bind(f: Any, abstract: Any = same) -> Any:
    """Bind a function with some transpose, which is not called here."""
    return get_linear_call(f, record_transposed, abstract, abstract)


# %%
# *Returning the result* instead of writing it:


def returns(out: Arrays, args: Arrays, kwargs_dump: Any) -> Any:
    """Forget `out`."""
    return detector(args[0])


try_to(lambda: bind(returns)(x))

# %%
# *Assigning to the tuple* instead of into the array. It is ``out[0][...] = y``, not ``out[0] = y``:


def assigns(out: Any, args: Arrays, kwargs_dump: Any) -> None:
    """Replace the array."""
    out[0] = detector(args[0])


try_to(lambda: bind(assigns)(x))

# %%
# *Working in place* on an argument. Arguments are read-only, because the rest of the program still needs them:


def in_place(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Scribble on the argument."""
    args[0][0] = 0
    out[0][...] = args[0]


try_to(lambda: bind(in_place)(x))

# %%
# *Keeping an array* beyond the call. Its memory belongs to the call; keep a copy:

kept = []


def keeps(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Remember the argument."""
    kept.append(args[0])
    out[0][...] = args[0]


try_to(lambda: bind(keeps)(x))

# %%
# *A shape that does not fit* what was described:


def too_long(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Write one element too many."""
    out[0][...] = np.append(args[0], 0)


try_to(lambda: bind(too_long)(x))

# %%
# *The forgotten comma* in the description. ``((shape, dtype))`` is ``(shape, dtype)``:

try_to(lambda: bind(record, lambda x: ((x.shape, x.dtype)))(x))

# %%
# *A list* where an array is needed:

try_to(lambda: bind(record)([1.0, 2.0]))

# %%
# *An array as a keyword argument.* Keyword arguments are static; data go by position. An argument in which the function
# is not linear is a :doc:`fixed argument </how-to/fixed-arguments>`:

try_to(lambda: jax.jit(lambda decay: op(x, decay=decay))(0.5))

# %%
# *An error in the library:* its type, message and traceback arrive with the name of the operator:

try_to(lambda: op(x, decay="slow"))

# %%
# *A linear operator that is not linear.* No message: JAX believes you. A function with an offset, a threshold, a
# ``abs`` or a square needs :func:`jaxbind.get_nonlinear_call`, and the checker tells them apart.
#
# Where to go on
# --------------
#
# - your function is in C, or comes from a library with a C interface: :doc:`/how-to/bind-a-c-library`
# - it is not linear: :doc:`/how-to/second-derivatives`
# - it can process batches itself: :doc:`/how-to/batch-natively`
# - the rules, in one page: :doc:`/reference/conventions`
