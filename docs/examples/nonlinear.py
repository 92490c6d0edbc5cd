# SPDX-License-Identifier: BSD-2-Clause
"""Fit a differential equation to data: hares, lynxes, and SciPy's ODE solver bound to JAX.

The adaptive solver `scipy.integrate.solve_ivp` stays what it is; two more host functions tell JAX its derivative,
forward (jvp) and reverse (vjp). A jitted Gauss-Newton loop then fits the Lotka-Volterra model, first to simulated
counts, where the truth is known, then to the furs that the Hudson's Bay Company bought from 1900 to 1920.

    python docs/examples/nonlinear.py [--quick]

The counts, in thousands, are those of B. Carpenter, Predator-Prey Population Dynamics: the Lotka-Volterra model in Stan
(2018), who took them from P. Howard's lecture notes.
"""

from __future__ import annotations

import argparse
from typing import Any

import jax
import jax.numpy as jnp
import jaxbind
import numpy as np
import scipy.integrate

Arrays = tuple[np.ndarray, ...]

YEARS = np.arange(21.0)  # since 1900
HARES = "30 47.2 70.2 77.4 36.3 20.6 18.1 21.4 22 25.4 27.1 40.3 57 76.6 52.3 19.5 11.2 7.6 14.6 16.2 24.7"
LYNXES = "4 6.1 9.8 35.2 59.4 41.7 19 13 8.3 9.1 7.4 8 12.3 19.5 45.7 51.1 29.7 15.8 9.7 10.1 8.6"
FURS = np.array([HARES.split(), LYNXES.split()], dtype=float).T
PUBLISHED = (0.55, 0.028, 0.80, 0.024)  # the rates, by Markov-chain Monte Carlo with priors (Carpenter 2018)
NAMES = ("hare births", "hares caught", "lynx deaths", "lynx births", "hares in 1900", "lynxes in 1900")
TRUTH = (0.5, 0.025, 0.8, 0.025, 30.0, 5.0)  # of the simulation; rates per year
GUESS = (0.7, 0.02, 0.7, 0.02)  # where the rates start
SCATTER = 0.1  # of the simulated counts around the model, relative


def slope(_: float, state: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """Compute d/dt of hares h and lynxes y, and of their derivatives with respect to the six parameters.

    h' = a h - b h y and y' = d h y - c y. The derivative s of (h, y) with respect to any parameter follows the
    linearised equation s' = jacobian s + (explicit dependence on the parameter); the last two parameters are h and y at
    time zero, on which the equations do not depend explicitly.
    """
    a, b, c, d = parameters[:4]
    (h, y), sensitivity = state[:2], state[2:].reshape(2, 6)
    jacobian = np.array([[a - b * y, -b * h], [d * y, d * h - c]])
    explicit = np.array([[h, -h * y, 0, 0, 0, 0], [0, 0, -y, h * y, 0, 0]])
    return np.concatenate([(a * h - b * h * y, d * h * y - c * y), (jacobian @ sensitivity + explicit).ravel()])


def solve(times: np.ndarray, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Integrate; return the populations (time, 2) and their derivatives (time, 2, 6)."""
    start = np.concatenate([parameters[4:], np.eye(2, 6, k=4).ravel()])
    span = (times[0], times[-1])
    solution = scipy.integrate.solve_ivp(
        slope, span, start, method="DOP853", t_eval=times, args=(parameters,), rtol=1e-8, atol=1e-8
    )
    if not solution.success:
        raise RuntimeError(solution.message)  # reaches the caller of the jitted function, with this text
    return solution.y[:2].T, solution.y[2:].T.reshape(-1, 2, 6)


def populations(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Compute the operator's value."""
    out[0][...], _ = solve(*args)


def populations_jvp(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Push a tangent of the parameters forward; the times are fixed and have none."""
    times, parameters, tangent = args
    out[0][...] = solve(times, parameters)[1] @ tangent


def populations_vjp(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Pull a cotangent of the populations back to the parameters."""
    times, parameters, cotangent = args
    out[0][...] = np.tensordot(cotangent, solve(times, parameters)[1], axes=2)


def population_shape(times: Any, parameters: Any, *_: Any) -> tuple[tuple[tuple[int, ...], Any], ...]:
    """Say, for tracing, what the value and the jvp look like."""
    return (((*times.shape, 2), parameters.dtype),)


def parameter_shape(times: Any, parameters: Any, *_: Any) -> tuple[tuple[tuple[int, ...], Any], ...]:
    """Say, for tracing, what the vjp looks like."""
    return ((parameters.shape, parameters.dtype),)


lotka_volterra = jaxbind.get_nonlinear_call(
    populations,
    (populations_jvp, populations_vjp),
    population_shape,
    parameter_shape,
    first_n_args_fixed=1,
)


def residuals(log_parameters: jax.Array, counts: jax.Array) -> jax.Array:
    """Compare model and counts as logarithms: the scatter of counts is relative, and parameters are positive."""
    return jnp.ravel(jnp.log(lotka_volterra(YEARS, jnp.exp(log_parameters))[0]) - jnp.log(counts))


def misfit(log_parameters: jax.Array, counts: jax.Array) -> jax.Array:
    """Sum the squares of the residuals."""
    return jnp.sum(residuals(log_parameters, counts) ** 2)


@jax.jit
def fit(guess: jax.Array, counts: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Minimise the misfit by Gauss-Newton steps; return the parameters and their relative standard errors.

    With J the derivative of the residuals r, a step solves (J'J + damping diag(J'J)) step = -J' r, and is kept only if
    the misfit falls (Levenberg and Marquardt). J comes from six tangents at once, by `vmap` of the jvp.
    """

    def iterate(_: int, state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        position, damping = state
        J = jax.jacfwd(residuals)(position, counts)
        curvature = J.T @ J
        gradient = jax.grad(misfit)(position, counts) / 2  # by the vjp
        trial = position - jnp.linalg.solve(curvature + damping * jnp.diag(jnp.diag(curvature)), gradient)
        better = misfit(trial, counts) < misfit(position, counts)
        return jnp.where(better, trial, position), jnp.where(better, damping / 5, damping * 5)

    position, _ = jax.lax.fori_loop(0, 15, iterate, (jnp.log(guess), jnp.asarray(0.1)))
    J = jax.jacfwd(residuals)(position, counts)
    variance = misfit(position, counts) / (counts.size - position.size)
    return jnp.exp(position), jnp.sqrt(variance * jnp.diag(jnp.linalg.inv(J.T @ J)))


def check_gradient(counts: jax.Array) -> None:
    """Compare the gradient with central differences."""
    at, step = jnp.log(jnp.array(TRUTH)) + 0.05, 1e-5
    exact = jax.jit(jax.grad(misfit))(at, counts)
    shifts = step * jnp.eye(6)
    # Twelve solutions in one call: vmap loops over the host function in compiled code.
    up, down = (jax.vmap(misfit, (0, None))(at + sign * shifts, counts) for sign in (1, -1))
    error = jnp.linalg.norm((up - down) / (2 * step) - exact) / jnp.linalg.norm(exact)
    print(f"gradient against central differences: relative error {error:.1e}")


def report(title: str, reference: tuple[float, ...], found: jax.Array, error: jax.Array) -> None:
    """Print one line per parameter beside the reference, where there is one."""
    print(f"{title:32s} found")
    for i, name in enumerate(NAMES):
        known = f"{reference[i]:7.3f}" if i < len(reference) else ""
        print(f"  {name:16s} {known:10s} {found[i]:7.4f} +- {found[i] * error[i]:.4f}")


def main() -> None:
    """Check the gradient, fit simulated counts, then the real ones."""
    parser = argparse.ArgumentParser(description="Fit the Lotka-Volterra equations to counts of hares and lynxes.")
    parser.add_argument("--quick", action="store_true", help="only the simulated counts")
    quick = parser.parse_args().quick
    jax.config.update("jax_enable_x64", True)

    random = np.random.default_rng(seed=1)
    scatter = np.exp(SCATTER * random.standard_normal((len(YEARS), 2)))
    simulated = jnp.asarray(scatter * solve(YEARS, np.array(TRUTH))[0])
    check_gradient(simulated)

    found, error = fit(jnp.array([*GUESS, *simulated[0]]), simulated)
    report("simulated counts    truth", TRUTH, found, error)
    deviation = jnp.max(jnp.abs(found / jnp.array(TRUTH) - 1) / error)
    print(f"largest deviation from the truth: {deviation:.1f} standard errors")
    if quick:
        return

    furs = jnp.asarray(FURS)
    found, error = fit(jnp.array([*GUESS, *furs[0]]), furs)
    report("furs bought         published", PUBLISHED, found, error)
    remaining = jnp.sqrt(misfit(jnp.log(found), furs) / (furs.size - found.size))
    period = 2 * np.pi / jnp.sqrt(found[0] * found[2])
    print(f"scatter around the model {remaining:.0%}; period of small oscillations {period:.1f} years")


if __name__ == "__main__":
    main()
