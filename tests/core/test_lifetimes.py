# SPDX-License-Identifier: BSD-2-Clause
"""Who keeps a host function alive, what its name is, and what happens after it is gone; in fresh processes."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.process import run

MAKE = """
def make(factor):
    def f(out, args, kwargs_dump):
        out[0][...] = factor * args[0]
    return jaxbind.get_linear_call(f, f, same, same), weakref.ref(f)

def collect():
    jax.clear_caches()
    for _ in range(3):
        gc.collect()
"""


def test_a_compiled_program_outlives_everything_else() -> None:
    program = """
op, f = make(7.0)
compiled = jax.jit(lambda x: op(x)[0]).lower(jnp.ones(3)).compile()
del op
collect()
others = [make(i)[0](1.0) for i in range(50)]
print(compiled(jnp.ones(3)).tolist(), f() is not None)
del compiled
collect()
print(f() is None)
"""
    assert run(MAKE + program) == "[7.0, 7.0, 7.0] True\nTrue\n"


def test_a_derivative_keeps_the_transpose_alive() -> None:
    program = """
op, f = make(2.0)
compiled = jax.jit(jax.grad(lambda x: op(x)[0].sum())).lower(jnp.ones(2)).compile()
del op
collect()
print(compiled(jnp.ones(2)).tolist())
"""
    assert run(MAKE + program) == "[2.0, 2.0]\n"


@pytest.mark.parametrize(
    "use", ["op", "op(1.0)", "jax.jit(lambda x: op(x)[0])(1.0)", "jax.grad(lambda x: op(x)[0])(1.0)"]
)
def test_functions_are_freed_when_nobody_needs_them(use: str) -> None:
    program = f"""
def once(i):
    op, f = make(float(i))
    {use}
    return f
refs = [once(i) for i in range(20)]
collect()
print(sum(ref() is not None for ref in refs))
"""
    assert run(MAKE + program) == "0\n"


def test_ten_thousand_operators_do_not_leak() -> None:
    program = """
def memory():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
for i in range(2000):
    make(i)
gc.collect()
before = memory()
for i in range(10000):
    make(i)
gc.collect()
print(memory() - before < 2_000_000, len(jaxbind._targets._functions), len(jaxbind._targets._by_name))
"""
    assert run(MAKE + "import jaxbind._targets\n" + program) == "True 0 0\n"


def test_names() -> None:
    program = """
def stable(out, args, kwargs_dump):
    out[0][...] = args[0]
name = lambda op: op.keywords["_func"].f.name
first = jaxbind.get_linear_call(stable, stable, same, same)
print(name(first))
held, original = first, stable
def stable(out, args, kwargs_dump):
    out[0][...] = 2 * args[0]
second = jaxbind.get_linear_call(stable, stable, same, same)
print(name(second).startswith("__main__:stable#"), name(first))
print(first(1.0)[0], second(1.0)[0])
del first, held, original
collect()
third = jaxbind.get_linear_call(stable, stable, same, same)
print(name(third) != "__main__:stable", third(1.0)[0])
local, _ = make(1.0)
print(name(local).startswith("__main__:make.<locals>.f#"))
"""
    expected = "__main__:stable\nTrue __main__:stable\n1.0 2.0\nTrue 2.0\nTrue\n"
    assert run(MAKE + program) == expected


def test_a_program_that_ends_right_after_a_call_exits_cleanly() -> None:
    program = """
def slow(out, args, kwargs_dump):
    time.sleep(0.1)
    out[0][...] = args[0]
op = jaxbind.get_linear_call(slow, slow, same, same)
twice = jax.jit(lambda x: op(x + 1)[0] + op(x * 2)[0])
x = jnp.ones(300_000)
jax.block_until_ready(twice(x))
pending = twice(twice(x))
# Not a daemon: one that is inside any call of JAX when Python ends aborts the process, with jnp alone too.
threading.Thread(target=lambda: twice(x)).start()
print("dispatched")
"""
    assert run(program) == "dispatched\n"


def test_a_call_after_the_gate_is_closed_is_an_error() -> None:
    program = """
import atexit
def f(out, args, kwargs_dump):
    out[0][...] = args[0]
op = jaxbind.get_linear_call(f, f, same, same)
call = jax.jit(lambda x: op(x)[0])
call(1.0)
jaxbind._bridge.close()
try:
    jax.block_until_ready(call(1.0))
except Exception as error:
    print("f: called while the interpreter is shutting down" in str(error))
"""
    assert run(program) == "True\n"


def test_the_persistent_compilation_cache_hits_in_the_next_process(tmp_path: Path) -> None:
    program = f"""
jax.config.update("jax_compilation_cache_dir", {str(tmp_path)!r})
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
events = []
jax.monitoring.register_event_listener(lambda event, **_: events.append(event.rpartition("/")[2]))
def f(out, args, kwargs_dump):
    out[0][...] = jaxbind.load_kwargs(kwargs_dump)["factor"][0] * args[0]
op = jaxbind.get_linear_call(f, f, same, same)
step = jax.jit(jax.vmap(jax.grad(lambda x: jnp.sum(op(x, factor=[3.0])[0] ** 2))))
events.clear()
print(step(jnp.ones((2, 2))).tolist(), events.count("cache_hits") > 0, events.count("cache_misses") > 0)
"""
    value = "[[18.0, 18.0], [18.0, 18.0]]"
    assert run(program) == f"{value} False True\n"
    assert run(program) == f"{value} True False\n"


def test_importing_beside_the_other_distribution_warns(tmp_path: Path) -> None:
    metadata = tmp_path / "jaxbind-1.3.1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: jaxbind\nVersion: 1.3.1\n")
    preamble = f"import sys, warnings\nsys.path.append({str(tmp_path)!r})\n"
    program = """
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import jaxbind
print([str(w.message) for w in caught if "jaxbind-core" in str(w.message)])
"""
    assert "pip uninstall jaxbind jaxbind-core" in run(program, preamble=preamble)
