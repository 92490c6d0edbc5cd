# SPDX-License-Identifier: BSD-2-Clause
"""Run the core's tests with a bridge that was built with a sanitizer: `python tools/sanitize.py address|thread`.

`nox -s sanitize` builds that bridge and calls this. The sanitizer's runtime must be in the process before anything
else, so the tests run in a process of their own that preloads it; programs that the tests start inherit it. Arguments
that follow are pytest's; without a file among them the files are those of the table below.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
CORE = ROOT / "tests" / "core"
SUPPRESSIONS = ROOT / "tools" / "sanitizers" / "thread.supp"
# Not about the bridge, or counting what a sanitizer's allocator keeps.
OUTSIDE = {"test_architecture.py", "test_examples.py", "test_growth.py"}


class Sanitizer(NamedTuple):
    """What is preloaded, how it is set up, and which files of tests/core run under it."""

    runtime: str
    environment: dict[str, str]
    files: list[str]


SANITIZERS = {
    "address": Sanitizer(
        "libasan.so",
        {
            # Leaks are not counted at exit: an interpreter never gives everything back, and JAX keeps its clients.
            # tests/support/growth.py counts them where it matters, per call.
            "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1",
            "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
            # Python's own allocator would hide what is read or written after it was freed.
            "PYTHONMALLOC": "malloc",
        },
        sorted(path.name for path in CORE.glob("test_*.py") if path.name not in OUTSIDE),
    ),
    "thread": Sanitizer(
        "libtsan.so",
        {
            # jaxlib and CPython are not instrumented: their atomics are invisible, and each of their accesses looks
            # like a race. Accesses of the bridge are checked all the same, and locks count wherever they are taken.
            "TSAN_OPTIONS": f"ignore_noninstrumented_modules=1:exitcode=66:suppressions={SUPPRESSIONS}",
        },
        [f"test_{name}.py" for name in ("batch_threads", "threads", "lifetimes", "errors", "vmap", "hostile_programs")],
    ),
}


def main() -> int:
    """Run pytest under the sanitizer that the first argument names."""
    sanitizer = SANITIZERS[sys.argv[1]]
    compiler = shutil.which("g++")
    if compiler is None:
        sys.exit("The sanitizers' runtimes come with GCC: install g++ (Debian: apt-get install g++).")
    # The C++ runtime too: the sanitizer looks for its exception functions at the start, and Python does not link it.
    preload = [
        subprocess.run(
            [compiler, f"-print-file-name={name}"], check=True, capture_output=True, text=True
        ).stdout.strip()
        for name in (sanitizer.runtime, "libstdc++.so")
    ]
    chosen = sys.argv[2:]
    files = [] if any(".py" in argument for argument in chosen) else [str(CORE / name) for name in sanitizer.files]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *files, *chosen],
        env=os.environ | sanitizer.environment | {"LD_PRELOAD": " ".join(preload)},
        cwd=ROOT,
        check=False,
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
