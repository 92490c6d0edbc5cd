# SPDX-License-Identifier: BSD-2-Clause
"""The documentation: every program and every block of Python in it runs, shows what it claims, and links to what is."""

from __future__ import annotations

import functools
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# f2py calls meson and ninja by name: those beside this Python, as in an activated environment.
SEARCHED = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
NO_PAGES = {"_build", "gallery", "plugin"}  # the last is a package to copy, with a README of its own
PAGES = sorted(page for page in DOCS.rglob("*.md") if not NO_PAGES & set(page.relative_to(DOCS).parts))
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INCLUDED = re.compile(r"^```\{run-program\} (\S+)", re.MULTILINE)
NEEDS = re.compile(r"^```\{run-program\} (\S+)\n:needs: (\S+)$", re.MULTILINE)

# Program -> what it must print. Each compares its numbers with an independent calculation itself, and fails if they
# differ; the lines here are what its page says of it.
CLAIMS = {
    "how-to/programs/batch_natively.py": [r"shape \(2, 8, 3, 5\), batch_axes \(\(2, 0\),\)"],
    "how-to/programs/bind_a_c_library.py": [r"gradient \[0.125 0.25 +0.5 +1. +\]"],
    "how-to/programs/bind_a_cpp_class.py": [r"A x +\[ 2. -3.  0. 13.\]", r"TypeError: apply\(\): incompatible"],
    "how-to/programs/bind_a_fortran_subroutine.py": [r"peak at  3 -> 8"],
    "how-to/programs/bind_a_multilinear_function.py": [r"third derivative \(3, 3, 2\)"],
    "how-to/programs/bind_a_numba_function.py": [r"gradient +\[8.136 7.869"],
    "how-to/programs/check_an_operator.py": [r"passed all \d+ checks", r"FAILED +transpose "],
    "how-to/programs/debug_a_call.py": [r"ValueError: window of 7 on 5 points", r"line \d+, in smooth"],
    "how-to/programs/export_and_cache.py": [r"values +\[\[1.0, 3.0, 6.0\]", r"cache: False\n.*\n.*cache: True"],
    "how-to/programs/find_a_root.py": [r"third derivative in the load +\(5, 5, 5\)"],
    "how-to/programs/fixed_arguments.py": [
        r"cannot differentiate with respect to argument 0",
        r"positions \[1. 5. 9.\]",
    ],
    "how-to/programs/from_pure_callback.py": [r"before .* first order only", r"after .* second order too"],
    "how-to/programs/hessian_vector_products.py": [r"step 5: misfit +83.52\d, .* error of the start 0.072"],
    "how-to/programs/move_from_jax_finufft.py": [
        r"least-squares solution \d\.\de-(0[89]|1\d)\n",
        r"points \(2, 200, 200\)",
        r"20 times and more: True",
        r"real strengths complex128",
        r"shape \(200,\); expected 199",
    ],
    "how-to/programs/move_from_jaxbind_1.py": [r"\[0. 2. 4.\] \[0. 4. 8.\]"],
    "how-to/programs/sample_a_posterior.py": [r"deviation sampled \[0\.\d+"],
    "how-to/programs/second_derivatives.py": [r"zeros \[2.40482556 5.52007811 8.65372791\]"],
    "how-to/programs/shard_a_batch.py": [r"devices 4, calls .* 8\n", r"over all devices: True"],
    "how-to/programs/solve_with_conjugate_gradients.py": [r"lineax +error 0.777454, derivative in the weight 6.56637"],
    "how-to/programs/use_a_scipy_solver.py": [r"Hessian in A +\(3, 6, 3, 6\)"],
    "how-to/programs/use_all_cores.py": [r"one thread \d+ ms, \d+ threads \d+ ms"],
    "how-to/programs/use_in_an_optax_loop.py": [r"loss 14.516 -> 1.6358"],
    "reference/programs/batch_axes.py": [r"f_T shapes \(2, 3\) \(5, 2\), batch_axes \(\(\), \(0,\)\)"],
    "explanation/programs/call_jax_from_a_host_function.py": [r"\[0.0, 3.0, 6.0, 9.0, 12.0, 15.0, 18.0, 21.0\]"],
    "explanation/programs/one_call.py": [r"custom_call @jaxbind_call_v1", r"memory of x: True\n.*memory of y:  True"],
    "explanation/programs/real_and_complex.py": [r"real to complex: .*\ncomplex to real"],
    "tutorials/first_operator.py": [
        r"\[3.439 2.71 +1.9 +1. +\]",
        r"must fill `out` and return None",
        r"'tuple' object does not support item assignment",
        r"assignment destination is read-only",
        r"kept a reference to args\[0\]",
        r"from shape \(5,\) into shape \(4,\)",
        r"with the trailing comma",
        r"argument 0 has type list",
        r"keyword argument 'decay' is or contains a JAX array",
    ],
}


# Program -> command that it needs and that pip does not install. Where the command is missing, what is tested is the
# recorded output, which the page then shows.
NEEDED = {
    (page.parent / program).relative_to(DOCS).as_posix(): command
    for page in PAGES
    for program, command in NEEDS.findall(page.read_text())
}
RUN_HERE = [program for program in CLAIMS if shutil.which(NEEDED.get(program, sys.executable))]


@functools.cache
def output(program: str, folder: Path) -> str:
    """Run a program as a reader would, in an empty folder; once, however many claims are checked."""
    finished = start(folder, program)
    printed, errors = finished.communicate(timeout=300)
    assert finished.returncode == 0, errors
    return printed


def start(folder: Path, program: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    """Start a program of the documentation without what the tests' own environment asks of JAX."""
    inherited = {key: value for key, value in os.environ.items() if key != "XLA_FLAGS"}
    return subprocess.Popen(
        [sys.executable, str(DOCS / program), *arguments],
        cwd=folder,
        env=inherited | {"MPLBACKEND": "agg", "PATH": SEARCHED} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the programs run."""
    return tmp_path_factory.mktemp("documentation")


@pytest.mark.parametrize("program", RUN_HERE)
def test_program_shows_what_its_page_claims(program: str, folder: Path) -> None:
    printed = output(program, folder)
    assert [claim for claim in CLAIMS[program] if not re.search(claim, printed)] == [], printed


@pytest.mark.parametrize("program", NEEDED)
def test_recorded_output_is_what_the_program_prints(program: str, folder: Path) -> None:
    record = (DOCS / program).with_suffix(".txt").read_text()
    assert [claim for claim in CLAIMS[program] if not re.search(claim, record)] == []
    assert program not in RUN_HERE or output(program, folder) == record


def test_every_program_is_tested() -> None:
    found = {*DOCS.glob("*/programs/*.py"), *DOCS.glob("tutorials/*.py")}
    assert {path.relative_to(DOCS).as_posix() for path in found} == set(CLAIMS)


def test_every_program_is_on_a_page() -> None:
    shown = {(page.parent / name).resolve() for page in PAGES for name in INCLUDED.findall(page.read_text())}
    assert shown >= set(DOCS.glob("*/programs/*.py"))


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if BLOCK.search(page.read_text())],
    ids=lambda page: page.relative_to(DOCS).as_posix(),
)
def test_blocks_of_a_page_run(page: Path, folder: Path) -> None:
    runner = [sys.executable, str(ROOT / "tools/run_readme.py"), str(page)]
    finished = subprocess.run(runner, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert finished.returncode == 0, finished.stderr


@pytest.mark.parametrize("page", [p for p in PAGES if p.name != "index.md" or p.parent != DOCS], ids=lambda p: p.stem)
def test_a_page_opens_with_what_its_reader_will_be_able_to_do(page: Path) -> None:
    title, _, opening, *_ = page.read_text().splitlines()
    assert title.startswith("# ")
    assert opening.startswith("After this page you ")


def free_port() -> int:
    """Find a port on which nobody listens."""
    with socket.create_server(("localhost", 0)) as server:
        return int(server.getsockname()[1])


@pytest.mark.parametrize("launcher", ["slurm", "by hand"])
def test_one_program_is_split_over_the_processes_of_a_cluster_job(launcher: str, folder: Path) -> None:
    program = "how-to/programs/shard_a_batch.py"
    if launcher == "slurm":
        job = {"SLURM_JOB_ID": str(os.getpid()), "SLURM_STEP_NODELIST": "localhost", "SLURM_NTASKS": "2"}
        ranks = [{"SLURM_PROCID": rank, "SLURM_LOCALID": rank} for rank in "01"]
        processes = [start(folder, program, "--job", **job, **rank) for rank in ranks]
    else:
        first = f"localhost:{free_port()}"
        processes = [start(folder, program, "--job", first, "2", rank) for rank in "01"]
    outputs = [process.communicate(timeout=180) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outputs
    for printed, _ in outputs:
        assert "devices 2, calls of the host function in this process 4" in printed
        assert "over all devices: True" in printed
