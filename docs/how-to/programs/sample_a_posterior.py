# SPDX-License-Identifier: BSD-2-Clause
"""Sample a posterior with NumPyro's NUTS, with a SciPy function in the model, in four chains at once."""

from typing import Any

import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
import scipy.signal
from jaxbind import get_linear_call
from numpyro.infer import MCMC, NUTS

Arrays = tuple[np.ndarray, ...]


def decay(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Record pulses with a detector whose signal dies away."""
    out[0][...] = scipy.signal.lfilter([1.0], [1.0, -0.8], args[0])


def decay_transposed(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Run the recursion backward in time."""
    out[0][...] = scipy.signal.lfilter([1.0], [1.0, -0.8], args[0][::-1])[::-1]


def same(x: Any) -> Any:
    """One output, like the input."""
    return ((x.shape, x.dtype),)


jax.config.update("jax_enable_x64", True)
detector = get_linear_call(decay, decay_transposed, same, same)
NOISE = 0.3


def model(recording: np.ndarray) -> None:
    """Unknown light, recorded with noise."""
    light = numpyro.sample("light", dist.Normal(0, 1).expand([recording.size]).to_event(1))
    numpyro.sample("recording", dist.Normal(detector(light)[0], NOISE).to_event(1), obs=recording)


random = np.random.default_rng(1)
A = np.tril(0.8 ** np.subtract.outer(np.arange(10), np.arange(10)))
recording = A @ random.normal(size=10) + NOISE * random.normal(size=10)

# "vectorized" runs the chains under vmap: one compiled program for all of them.
sampler = MCMC(
    NUTS(model), num_warmup=300, num_samples=1000, num_chains=4, chain_method="vectorized", progress_bar=False
)
sampler.run(jax.random.key(0), recording)
samples = np.asarray(sampler.get_samples()["light"])

# Prior, noise and operator are Gaussian and linear, so the posterior is known.
covariance = np.linalg.inv(A.T @ A / NOISE**2 + np.eye(10))
mean = covariance @ A.T @ recording / NOISE**2
deviation = np.sqrt(np.diag(covariance))
print("mean      exact  ", mean[:5].round(2))
print("mean      sampled", samples.mean(axis=0)[:5].round(2))
print("deviation exact  ", deviation[:5].round(3))
print("deviation sampled", samples.std(axis=0)[:5].round(3))
np.testing.assert_allclose(samples.mean(axis=0), mean, atol=0.15 * deviation.max())
np.testing.assert_allclose(samples.std(axis=0), deviation, rtol=0.15)
