# SPDX-License-Identifier: BSD-2-Clause
"""Split a batch over devices, or over the processes of a cluster job, with one and the same program.

python shard_a_batch.py                          one process, four devices of its own
srun -n 2 python shard_a_batch.py --job          one device per process, any number of hosts
python shard_a_batch.py --job node1:9876 2 0     the first of two processes that are started by hand
"""

import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.fft
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxbind import get_linear_call

if "--job" in sys.argv:
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    by_hand = sys.argv[
        sys.argv.index("--job") + 1 :
    ]  # where the first process listens, how many they are, which this is
    if by_hand:
        jax.distributed.initialize(by_hand[0], int(by_hand[1]), int(by_hand[2]))
    else:
        jax.distributed.initialize()  # Slurm, Open MPI and others tell it who the others are
else:
    jax.config.update("jax_num_cpu_devices", 4)  # let one CPU count as four devices

Arrays = tuple[np.ndarray, ...]
calls = []


def dct(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Transform one element of the batch."""
    calls.append(args[0].shape)
    out[0][...] = scipy.fft.dct(args[0], norm="ortho")


def idct(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Apply the transpose."""
    out[0][...] = scipy.fft.idct(args[0], norm="ortho")


def same(x: Any) -> Any:
    """One output, like the input."""
    return ((x.shape, x.dtype),)


op = get_linear_call(dct, idct, same, same)

mesh = Mesh(np.array(jax.devices()), ("batch",))
split = NamedSharding(mesh, PartitionSpec("batch"))  # a part of the batch on each device
whole = NamedSharding(mesh, PartitionSpec())  # a copy on each device

data = np.random.default_rng(0).normal(size=(8, 16)).astype(np.float32)
model = np.zeros(16, dtype=np.float32)


def put(array: np.ndarray, sharding: NamedSharding) -> jax.Array:
    """Make a global array of which every process holds its own part."""
    return jax.make_array_from_callback(array.shape, sharding, lambda index: array[index])


def loss(model: jax.Array, data: jax.Array) -> jax.Array:
    """The model is shared by all devices, the data are not."""
    return jnp.sum((jax.vmap(lambda d: op(d - model)[0])(data)) ** 2) / 2


gradient = jax.jit(jax.grad(loss))(put(model, whole), put(data, split))
gradient.block_until_ready()
print(f"devices {jax.device_count()}, calls of the host function in this process {len(calls)}")
print("gradient is summed over all devices:", np.allclose(gradient.addressable_data(0), -data.sum(0), atol=1e-4))
