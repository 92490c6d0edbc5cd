# SPDX-License-Identifier: BSD-2-Clause
"""Break one rule of the core at a time and demand that the tests notice.

Each mutant is a copy of the installed package (or, for the bridge, of its sources, compiled anew) in which one piece
of text is replaced. The test files named beside it must then fail; a mutant that survives is a rule without a test.
`-k WORD` runs the mutants with this word in their name, `--list` prints the table.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
CORE = ROOT / "packages" / "jaxbind-core"


class Mutant(NamedTuple):
    """One broken rule: what is broken, where, how, and which files of tests/core must notice."""

    name: str
    file: str  # Below src/jaxbind, or below the package's folder for the bridge.
    old: str  # Must occur exactly once.
    new: str
    tests: str


MUTANTS = [
    # Derivatives.
    Mutant("jvp drops a slot", "_linear.py", "slots(operator, len(primals)).values()]", "[*slots(operator, len(primals)).values()][:1]]", "jvp"),
    Mutant("jvp subtracts a slot", "_linear.py", "return jnp.add(left, right)", "return jnp.subtract(left, right)", "jvp"),
    Mutant("jvp keeps the primal beside its tangent", "_linear.py", "if i in slot else primal", "if i == slot[0] else primal", "jvp"),
    Mutant("transposes in reverse order", "_operator.py", "return self.T[self.missing - 1] if", "return self.T[-self.missing] if", "transpose"),
    Mutant("transpose describes itself by the wrong function", "_operator.py", "return self.abstract_T[self.missing - 1] if", "return self.abstract_T[-1] if", "transpose"),
    Mutant("slots in the wrong order", "_linear.py", "order = [*range(1, len(operator.T) + 1), 0]", "order = [0, *range(1, len(operator.T) + 1)]", "higher_order"),
    Mutant("cotangents summed over nothing", "_batching.py", "if t is None and p is not None]", "if t is None and p is None]", "vmap"),
    Mutant("cotangents averaged, not summed", "_batching.py", "array = jnp.sum(array,", "array = jnp.mean(array,", "vmap"),
    Mutant("nonlinear: jvp in place of vjp", "_nonlinear.py", "T=(operator.vjp,)", "T=(operator.jvp,)", "transpose"),
    Mutant("nonlinear: tangents of fixed arguments too", "_nonlinear.py", "moving = range(operator.first_n_args_fixed, len(primals))", "moving = range(len(primals))", "jvp"),
    Mutant("fixed arguments are not refused", "_linear.py", "for i in range(operator.first_n_args_fixed):", "for i in range(0):", "errors"),
    # Batching.
    Mutant("batch axis not moved to the front", "_batching.py", "jnp.moveaxis(arg, dim, 0) for", "arg for", "vmap"),
    Mutant("unmapped argument counted as mapped", "_batching.py", "(*levels, None if dim is None else 0)", "(*levels, 0)", "vmap"),
    Mutant("batch axes returned in the wrong order", "_batching.py", "return jnp.moveaxis(array, source, [t for _, t in kept])", "return jnp.moveaxis(array, source, [t for _, t in kept][::-1])", "native_batching vmap"),
    Mutant("positions not shifted by later axes", "_abstract.py", "positions = [p + 1 if p is not None and p >= axis", "positions = [p + 1 if p is not None and p > axis", "native_batching"),
    Mutant("batch masks in the wrong order", "_lowering.py", "newest_first = [levels[::-1] for levels in axes]", "newest_first = list(axes)", "vmap"),
    Mutant("output sizes in the wrong order", "_abstract.py", "for level in reversed(range(len(axes[0]))))", "for level in range(len(axes[0])))", "vmap"),
    Mutant("natively batching function is not told", "_lowering.py", "if operator.can_batch:\n        kwargs =", "if False:\n        kwargs =", "native_batching"),
    # Rules written in JAX, several devices, other platforms, exported programs.
    Mutant("traced rule: levels applied in reverse", "_traced_rule.py", "for level in range(len(axes[0])):", "for level in reversed(range(len(axes[0]))):", "traced_rules"),
    Mutant("traced rule: transposes do not move with the fixed arguments", "_linear.py", "if operator.missing == 0:\n        return rule", "if True:\n        return rule", "traced_rules"),
    Mutant("sharding: nothing is split", "_sharding.py", "if not axes[0] or not is_partitioned(ctx):", "if True:", "sharding"),
    Mutant("sharding: all levels on one mesh axis", "_sharding.py", 'f"b{level}" for level', 'f"b0" for level', "sharding"),
    Mutant("sharding: core dimensions may be cut", "_sharding.py", 'f"{prefix}{k}d{d}"', 'f"d{d}"', "sharding"),
    Mutant("host fallback: mask bits read backwards", "_host_fallback.py", "if mask >> d & 1", "if mask >> (len(index) - 1 - d) & 1", "host_fallback"),
    Mutant("export keeps what it cannot name", "_lowering.py", "if not target.is_portable:", "if False:", "export"),
    # Checks, keyword arguments, identity.
    Mutant("negative sizes accepted", "_abstract.py", "if not all(0 <= size <", "if not all(-9 <= size <", "errors"),
    Mutant("keyword dict is shared", "_kwargs.py", "return self._decoded.copy()", "return self._decoded", "kwargs"),
    Mutant("keyword arguments compared by length", "_kwargs.py", "= (text, *map(_reference_key, references))", "= (len(text),)", "kwargs equality"),
    Mutant("executable does not keep its target", "_lowering.py", "ctx.module_context.add_keepalive(target)", "pass", "lifetimes"),
    Mutant("name given to a second function", "_targets.py", "if _find(module, qualname) is call and _taken", "if _taken", "lifetimes equality"),
    Mutant("one target for all keyword arguments", "_targets.py", "key = (function.name, encoded)", "key = (function.name, '')", "kwargs"),
    # Bridge.
    Mutant("batch loop: unmapped argument moves on", "bridge/call.cc", "if (!has(d)) continue;", "", "vmap"),
    Mutant("batch loop: carry goes nowhere", "bridge/batch.h", "carry ? 1 - sizes_[d] : 1", "carry ? 0 : 1", "vmap"),
    Mutant("batch loop: mask bits read backwards", "bridge/attributes.h", "(masks[argument] >> dimension) & 1", "(masks[argument] >> (batch_ndim - 1 - dimension)) & 1", "vmap"),
    Mutant("shared batch loop: a thread falls behind", "bridge/call.cc", "here < taken; ++here", "here + 1 < taken; ++here", "batch_threads"),
    Mutant("shared batch loop: any error wins", "bridge/call.cc", "if (element >= failed_) return;", "", "batch_threads"),
    Mutant("shared batch loop: the first error wins", "bridge/call.cc", "if (element >= failed_) return;", "if (failed_ < count_) return;", "batch_threads"),
    Mutant("derivatives forget the threads", "_nonlinear.py", "        batch_threads=operator.batch_threads,\n", "", "batch_threads"),
    Mutant("inputs are writable", "bridge/call.cc", "views(buffers.inputs, 0, index, Access::kRead)", "views(buffers.inputs, 0, index, Access::kWrite)", "shapes"),
    Mutant("a returned value is ignored", "bridge/call.cc", "if (!result.is_none()) {", "if (false) {", "errors"),
    Mutant("escaped views are ignored", "bridge/call.cc", "if (escaped < 0) continue;", "continue;", "errors lifetimes"),
]  # fmt: skip


def test_files(mutant: Mutant) -> list[str]:
    """Paths of the test files that must notice a mutant."""
    return [f"tests/core/test_{name}.py" for name in mutant.tests.split()]


def run_tests(files: Sequence[str], site: Path | None = None) -> int:
    """Exit status of pytest on some files, with the package in `site` before the installed one."""
    environment = os.environ | ({"PYTHONPATH": str(site)} if site else {})
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider", *files]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False).returncode


def source_of(mutant: Mutant) -> Path:
    """The file of the source tree that a mutant changes."""
    return CORE / mutant.file if mutant.file.startswith("bridge/") else CORE / "src/jaxbind" / mutant.file


def make(mutant: Mutant, folder: Path) -> Path:
    """Write the mutated package; returns the folder to import it from."""
    text = source_of(mutant).read_text().replace(mutant.old, mutant.new)
    site = folder / "site"
    if mutant.file.startswith("bridge/"):
        shutil.copytree(CORE, folder / "source", ignore=shutil.ignore_patterns("build"))
        (folder / "source" / mutant.file).write_text(text)
        install = ["uv", "pip", "install", "--quiet", "--no-deps", "--python", sys.executable, "--target", str(site)]
        subprocess.run([sys.executable, "-m", *install, str(folder / "source")], check=True)
    else:
        spec = importlib.util.find_spec("jaxbind")
        if spec is None or spec.origin is None:
            sys.exit("jaxbind is not installed here; run `python noxfile.py -s mutants`")
        shutil.copytree(Path(spec.origin).parent, site / "jaxbind", ignore=shutil.ignore_patterns("__pycache__"))
        (site / "jaxbind" / mutant.file).write_text(text)
    return site


def survives(mutant: Mutant) -> bool:
    """Whether the tests pass with the rule broken."""
    with tempfile.TemporaryDirectory() as folder:
        status = run_tests(test_files(mutant), make(mutant, Path(folder)))
    print(f"{'SURVIVES' if status == 0 else 'killed  '} {mutant.name}", flush=True)
    return status == 0


def main() -> int:
    """Run the table; the exit status says whether a mutant survived or the table is out of date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-k", default="", metavar="WORD", help="only mutants with this word in their name")
    parser.add_argument("--list", action="store_true", help="print the table and stop")
    options = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS if options.k in mutant.name]
    if options.list:
        print("\n".join(f"{mutant.name}: {mutant.file}, tests {mutant.tests}" for mutant in chosen))
        return 0
    outdated = [mutant.name for mutant in chosen if source_of(mutant).read_text().count(mutant.old) != 1]
    if outdated:
        sys.exit(f"the text to replace does not occur exactly once; bring the table up to date: {outdated}")
    files = sorted({file for mutant in chosen for file in test_files(mutant)})
    if not chosen or run_tests(files) != 0:
        sys.exit(f"before anything is broken these must exist and pass: {files}")
    survivors = [mutant.name for mutant in chosen if survives(mutant)]
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} mutants killed")
    return bool(survivors)


if __name__ == "__main__":
    sys.exit(main())
