# SPDX-License-Identifier: BSD-2-Clause
"""What is read in printed programs, compiled programs and profiles: operators by name, with keyword arguments."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import ramp, zoo

Function = Callable[..., Any]
(CUMSUM,) = (case for case in zoo.ALL if case.name == "cumsum")
X = np.arange(5.0)


def scaled(x: Any) -> Any:
    return CUMSUM.operator(x, factor=2.0)[0]


def instructions(function: Function, *args: Any) -> dict[str, str]:
    """Instruction -> op_name of the custom calls in a compiled program."""
    text = jax.jit(function).lower(*args).compile().as_text()
    calls = [line for line in text.splitlines() if "custom-call(" in line]
    found = [re.findall(r'%(\S+) = .*op_name="(.*?)"', line)[0] for line in calls]
    return {instruction: name.encode().decode("unicode_escape") for instruction, name in found}


@zoo.every()
def test_printed_program_names_the_operator(case: zoo.Case) -> None:
    host = case.operator.keywords["_func"].name
    kind = {"linear": "linear", "multilinear": r"\d-linear", "nonlinear": "nonlinear"}[case.kind]
    printed = str(jax.make_jaxpr(jax.vmap(case.call))(*(np.stack([a, a]) for a in case.args)))
    assert re.search(rf"jaxbind_call\[.*operator=<{kind} operator {host}>", printed, re.DOTALL)


def test_printed_program_has_the_keyword_arguments() -> None:
    assert "kwargs=Kwargs(factor=2.0)" in str(jax.make_jaxpr(scaled)(X))


# Transformation -> the custom calls of the compiled program, in order of their names.
NAMED: dict[str, tuple[Function, list[str]]] = {
    "call": (scaled, ["cumsum(factor=2.0)"]),
    "vmap": (lambda x: jax.vmap(scaled)(jnp.stack([x, x])), ["cumsum(factor=2.0)"]),
    "jvp": (lambda x: jax.jvp(scaled, (x,), (2 * x,)), ["cumsum(factor=2.0)", "cumsum(factor=2.0)"]),
    "gradient": (
        jax.grad(lambda x: jnp.sum(scaled(x) ** 2)),
        ["cumsum(factor=2.0)", "cumsum_t(factor=2.0)"],
    ),
    "without keyword arguments": (lambda x: CUMSUM.operator(x)[0], ["cumsum()"]),
}


@pytest.mark.parametrize("case", NAMED)
def test_compiled_program_names_operator_and_keyword_arguments(case: str) -> None:
    function, expected = NAMED[case]
    assert sorted(name.rsplit("/", 1)[-1] for name in instructions(function, X).values()) == expected


def test_scopes_stay_in_front() -> None:
    def within(x: Any) -> Any:
        with jax.named_scope("outer"):
            return scaled(x)

    (name,) = instructions(within, X).values()
    assert re.fullmatch(r"jit\(within\)/.*outer/cumsum\(factor=2\.0\)", name)


def test_a_call_that_is_split_over_devices_has_its_name() -> None:
    mesh = jax.make_mesh((4,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    rows = jax.device_put(np.ones((8, 5)), jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("i")))
    (name,) = instructions(jax.vmap(ramp.looped, (None, 0)), X, rows).values()
    assert "forward()" in name


class Unspeakable:
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        raise ValueError


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a/b", "cumsum(tag='a|b')"),
        ("two\nlines", r"cumsum(tag='two\nlines')"),
        (np.eye(2), "cumsum(tag=array([[1., 0.], [0., 1.]]))"),
        (list(range(1000)), f"cumsum(tag=[{', '.join(map(str, range(1000)))}"[: len("cumsum(") + 117] + "...)"),
        (Unspeakable(), "cumsum(...)"),
    ],
)
def test_keyword_arguments_are_shown_in_one_short_line(value: Any, shown: str) -> None:
    (name,) = instructions(lambda x: CUMSUM.operator(x, tag=value)[0], X).values()
    assert name.split("/", 1)[1].removeprefix("jit(main)/") == shown


def test_the_source_of_an_operation_is_the_users() -> None:
    locations = jax.jit(lambda x: 2 * scaled(x)).lower(X).as_text(debug_info=True)
    assert Path(__file__).name in locations
    assert "/jaxbind/" not in locations


def test_profile_shows_the_host_function_and_the_named_instruction(tmp_path: Path) -> None:
    compiled = jax.jit(scaled).lower(X).compile()
    (instruction,) = instructions(scaled, X)
    compiled(X).block_until_ready()
    with jax.profiler.trace(str(tmp_path)):
        compiled(X).block_until_ready()
    (trace,) = tmp_path.rglob("*.trace.json.gz")
    events = json.loads(gzip.decompress(trace.read_bytes()))["traceEvents"]
    names = {event.get("name", "") for event in events}
    assert instruction in names
    assert any(re.search(r"hosts\.py:\d+ cumsum", name) for name in names)
