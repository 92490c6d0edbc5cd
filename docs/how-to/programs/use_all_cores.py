# SPDX-License-Identifier: BSD-2-Clause
"""A batch of images through SciPy, whose filters know nothing of batches: one thread, then one per core."""

import os
import time
from typing import Any

import jax
import numpy as np
import scipy.ndimage
from jaxbind import get_linear_call

Arrays = tuple[np.ndarray, ...]


def blur(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Blur one image. SciPy's compiled loop runs without the GIL."""
    scipy.ndimage.gaussian_filter(args[0], 3.0, output=out[0], mode="constant")


def same(image: Any) -> Any:
    """One output, like the input."""
    return ((image.shape, image.dtype),)


def blurred_batch(threads: int) -> Any:
    """The operator over a batch; the filter is symmetric, so it is its own transpose."""
    operator = get_linear_call(blur, blur, same, same, batch_threads=threads)
    return jax.jit(jax.vmap(lambda image: operator(image)[0]))


def seconds(function: Any, images: Any) -> float:
    """The fastest of five runs."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        function(images).block_until_ready()
        times.append(time.perf_counter() - start)
    return min(times)


images = np.random.default_rng(0).normal(size=(32, 256, 256)).astype(np.float32)
one, all_cores = blurred_batch(1), blurred_batch(0)
np.testing.assert_array_equal(one(images), all_cores(images))
alone, shared = seconds(one, images), seconds(all_cores, images)
print(f"one thread {1e3 * alone:.0f} ms, {os.cpu_count()} threads {1e3 * shared:.0f} ms: {alone / shared:.1f}x faster")
