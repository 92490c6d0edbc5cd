# SPDX-License-Identifier: BSD-2-Clause
"""What no careful program does: everything at once, forks, signals, functions that delete themselves.

`nox -s stress` runs the first test for minutes, with another seed each time.
"""

from __future__ import annotations

import pytest
from support import process, stress


def test_random_programs_on_many_threads_have_the_right_values() -> None:
    workers = stress.run(seed=1, steps=25)
    assert [text for worker in workers for text in worker.wrong] == []
    assert all(sum(worker.done.values()) >= 25 for worker in workers)


# What is bound before the fork serves both processes. (After JAX has started its threads, JAX itself cannot be forked.)
FORKED = """
import os
def double(out, args, kwargs_dump):
    out[0][...] = 2 * args[0]
operator = jaxbind.get_linear_call(double, double, same, same)
child = os.fork()
print(jax.vmap(lambda x: operator(x)[0])(np.arange(3.0)).tolist(), flush=True)
if child:
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""

# The handler interrupts the main thread wherever it is, in our code, in JAX's or in the host function.
ALARMED = """
rings = 0
def ring(*_):
    global rings
    rings += 1
signal.signal(signal.SIGALRM, ring)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
def double(out, args, kwargs_dump):
    time.sleep(0.0002)
    out[0][...] = 2 * args[0]
operator = jaxbind.get_linear_call(double, double, same, same, batch_threads=2)
x = np.arange(300.0)
for _ in range(5):
    np.testing.assert_array_equal(jax.vmap(lambda x: operator(x)[0])(x), 2 * x)
    np.testing.assert_array_equal(operator(x)[0], 2 * x)
signal.setitimer(signal.ITIMER_REAL, 0)
print(rings > 10)
"""

# Nothing but the running call holds the function any more when its last line runs.
DELETED = """
def build():
    def double(out, args, kwargs_dump):
        holder.clear()
        jax.clear_caches()
        gc.collect()
        out[0][...] = 2 * args[0]
    holder.append(jaxbind.get_linear_call(double, double, same, same))
    return weakref.ref(double)
holder = []
alive = build()
print(jax.jit(lambda x: holder[0](x)[0])(np.arange(3.0)).tolist())
gc.collect()
print(len(holder))
print(jax.jit(lambda x: x + 1)(1.0).item())
"""

PROGRAMS = {
    "fork": (FORKED, "[0.0, 2.0, 4.0]\n[0.0, 2.0, 4.0]\n0\n"),
    "signals": (ALARMED, "True\n"),
    "deletes its own operator": (DELETED, "[0.0, 2.0, 4.0]\n0\n2.0\n"),
}


@pytest.mark.parametrize("case", PROGRAMS)
def test_a_rough_program_has_the_right_values(case: str) -> None:
    program, expected = PROGRAMS[case]
    assert process.run(program) == expected
