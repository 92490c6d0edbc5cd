# SPDX-License-Identifier: BSD-2-Clause
"""The one driver of this repository: tests, checks, builds, the demo, the benchmarks.

`python noxfile.py -s tests` needs nothing but Python >= 3.11 and a C++17 compiler: nox and the environments of the
sessions are made under .nox/, the wheels that the sessions install under dist/sessions/. What follows `--` is passed on
to the tool that a session calls: `python noxfile.py -s "tests(core)" -- -k vmap`. `-P 3.13` runs on another Python.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent
# One folder per Python that runs this file: nox reuses an environment without asking which Python made it.
ENVIRONMENTS = ROOT / ".nox" / "{}.{}".format(*sys.version_info)


def bootstrap() -> None:
    """Install nox into an environment of its own and start again in it."""
    folder = ENVIRONMENTS / "bootstrap"
    scripts = Path(sysconfig.get_path("scripts", "venv", vars={"base": str(folder)}))
    if not (scripts / "nox").exists():
        print(f"Installing nox into {folder.relative_to(ROOT)} ...", flush=True)
        venv.create(folder, clear=True, with_pip=True)
        subprocess.run([scripts / "python", "-m", "pip", "install", "--quiet", "nox[uv]"], check=True)
    os.execv(scripts / "python", [str(scripts / "python"), __file__, *sys.argv[1:]])


try:
    import nox
except ModuleNotFoundError:
    bootstrap()

# Part of tests/ -> the distributions that it is tested with, and no others, in build order.
PACKAGES = {
    "core": ("jaxbind-core",),
    "ducc": ("jaxbind-core", "jaxbind-ducc"),
    "finufft": ("jaxbind-core", "jaxbind-finufft"),
    "together": ("jaxbind-core", "jaxbind-ducc", "jaxbind-finufft"),
    "docs": ("jaxbind-core", "jaxbind-ducc", "jaxbind-finufft"),
}
# Groups of the root pyproject.toml that a part's tests need; tests run the examples too.
TEST_GROUPS = {
    "core": ("test", "demo"),
    "ducc": ("test", "demo-ducc"),
    "finufft": ("test", "demo"),
    "docs": ("test", "docs", "demo-ducc"),
}
# Benchmark -> group with the packages that it compares ours with.
BENCH_GROUPS = {"run": "bench", "nufft": "bench-finufft"}

# One process per core; an idle one takes over tests of a busy one. `-- -n 0` keeps everything in one process.
PARALLEL = ("-n", "auto", "--dist", "worksteal")

GROUPS = nox.project.load_toml(ROOT / "pyproject.toml")
# Distribution -> what its metadata requires from elsewhere.
REQUIREMENTS = {
    name: [
        requirement
        for requirement in nox.project.load_toml(ROOT / "packages" / name / "pyproject.toml")["project"]["dependencies"]
        if not requirement.startswith("jaxbind")
    ]
    for name in PACKAGES["together"]
}
OLDEST_JAX = next(r.removeprefix("jax>=") for r in REQUIREMENTS["jaxbind-core"] if r.startswith("jax>="))
# Python -> JAX that the core is tested with on it: the oldest that both support, one between, the newest.
VERSIONS = {
    "3.11": (OLDEST_JAX, "0.8.0", "0.10.2"),
    "3.12": (OLDEST_JAX, "0.8.0", "0.12.1"),
    "3.13": (OLDEST_JAX, "0.10.2", "0.12.1"),
    "3.14": ("0.8.0", "0.10.2", "0.12.1"),
}

nox.needs_version = ">=2025.5.1"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.envdir = str(ENVIRONMENTS)
nox.options.reuse_venv = "yes"
nox.options.sessions = ["lint", "typing", "tests"]

if shutil.which("pyenv"):
    # pyenv's commands run only the versions that are selected; an installed interpreter would count as missing.
    versions = [
        subprocess.run(["pyenv", *command], capture_output=True, text=True, check=False).stdout.replace(":", "\n")
        for command in (["version-name"], ["versions", "--bare"])
    ]
    os.environ["PYENV_VERSION"] = ":".join(dict.fromkeys("\n".join(versions).split()))


def wheel(session: nox.Session, name: str) -> str:
    """Path of a distribution's wheel, built when its folder has changed; the core's once per binary interface."""
    source = ROOT / "packages" / name
    version = tuple(map(int, str(session.python or sysconfig.get_python_version()).split(".")))
    abi = "py3" if name != "jaxbind-core" else "abi3" if version >= (3, 12) else "cp311"
    digest = hashlib.sha256()
    for path in sorted(source.rglob("*")):
        inner = path.relative_to(source)
        if path.is_file() and not {"build", "__pycache__"} & set(inner.parts) and path.suffix != ".so":
            digest.update(str(inner).encode() + b"\0" + path.read_bytes())
    folder = ROOT / "dist" / "sessions" / f"{name}-{abi}-{digest.hexdigest()[:12]}"
    if not list(folder.glob("*.whl")):
        for outdated in folder.parent.glob(f"{name}-{abi}-*"):
            shutil.rmtree(outdated)
        build(session, "--wheel", "-o", str(folder), str(source))
    return str(next(folder.glob("*.whl")))


def build(session: nox.Session, *arguments: str) -> None:
    """Call the build frontend for the session's Python."""
    if session.venv_backend == "uv":
        session.run_install("uv", "build", "--quiet", "--python", f"{session.bin}/python", *arguments)
    else:
        session.install("build")
        session.run_install("python", "-m", "build", *arguments)


def install(session: nox.Session, part: str, *groups: str, pins: Sequence[str] = ()) -> None:
    """Install the distributions of a part and dependency groups, resolved in one go."""
    wheels = [wheel(session, name) for name in PACKAGES[part]]
    session.install(*pins, *wheels, *nox.project.dependency_groups(GROUPS, *groups))


def run_tests(session: nox.Session, part: str, *pins: str) -> None:
    """Run a part's tests with exactly its distributions, and particular versions of what they require."""
    install(session, part, *TEST_GROUPS.get(part, ("test",)), pins=pins)
    session.run("pytest", *PARALLEL, f"tests/{part}", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check layout, likely mistakes and spelling (`-- --fix` repairs what a tool can repair)."""
    fix = "--fix" in session.posargs
    session.install(*nox.project.dependency_groups(GROUPS, "lint"))
    bridge = sorted(str(path) for path in ROOT.glob("packages/jaxbind-core/bridge/*.*"))
    session.run("ruff", "check", *(["--fix"] if fix else []))
    session.run("ruff", "format", *([] if fix else ["--diff"]))
    session.run("clang-format", *(["-i"] if fix else ["--dry-run", "--Werror"]), *bridge)
    session.run("codespell")


@nox.session
def typing(session: nox.Session) -> None:
    """Check types strictly, and that the compiled module's stub is the one it has (`-- --fix` writes it)."""
    install(session, "together", "typing")
    stub = ROOT / "packages/jaxbind-core/src/jaxbind/_bridge.pyi"
    fresh = Path(session.create_tmp()) / "_bridge.pyi"
    session.run("python", "-m", "nanobind.stubgen", "-q", "-m", "jaxbind._bridge", "-o", str(fresh))
    text = "# SPDX-License-Identifier: BSD-2-Clause\n" + fresh.read_text()
    if "--fix" in session.posargs:
        stub.write_text(text)
    elif not stub.exists() or stub.read_text() != text:
        session.error("_bridge.pyi does not describe the compiled module: `python noxfile.py -s typing -- --fix`.")
    session.run("mypy", *(str(ROOT / "packages" / name / "src") for name in PACKAGES["together"]))


@nox.session
@nox.parametrize("part", [nox.param(part, id=part) for part in PACKAGES])
def tests(session: nox.Session, part: str) -> None:
    """Run a part's tests with exactly its distributions installed."""
    run_tests(session, part)


@nox.session(default=False)
@nox.parametrize(
    "python,version",
    [nox.param(python, version, id=f"{python}-{version}") for python in VERSIONS for version in VERSIONS[python]],
)
def versions(session: nox.Session, version: str) -> None:
    """Run the core's tests on every Python with old and new JAX, one wheel per binary interface (`-p 3.12`: some)."""
    run_tests(session, "core", f"jax=={version}", f"jaxlib=={version}")


@nox.session(default=False)
def prereleases(session: nox.Session) -> None:
    """Run the core's tests with the newest JAX and NumPy that the package index has, unfinished ones included."""
    run_tests(session, "core", "--prerelease=allow", "--upgrade")


@nox.session(python=min(VERSIONS), default=False)
@nox.parametrize("part", [nox.param(part, id=part) for part in PACKAGES if part != "docs"])  # written for today's
def minimums(session: nox.Session, part: str) -> None:
    """Run a part's tests with the lowest versions that its metadata and the dependency groups allow."""
    if session.venv_backend != "uv":
        session.error("Only uv resolves to the lowest versions: install nox[uv].")
    floors = [requirement for name in PACKAGES[part] for requirement in REQUIREMENTS[name]]
    run_tests(session, part, "--resolution=lowest-direct", f"jaxlib=={OLDEST_JAX}", *floors)


@nox.session(default=False)
def demo(session: nox.Session) -> None:
    """Restore a blurred photograph of the Hubble Deep Field through a bound SciPy function."""
    install(session, "core", "demo")
    session.run("python", "docs/examples/restore_hubble.py", *session.posargs)


@nox.session(default=False)
def examples(session: nox.Session) -> None:
    """Run every program of docs/examples/."""
    install(session, "together", "demo-ducc")
    for example in sorted(ROOT.glob("docs/examples/**/*.py")):
        session.run("python", str(example), *session.posargs)


@nox.session(default=False, reuse_venv=False)
def readme(session: nox.Session) -> None:
    """Run every Python block of the READMEs in a fresh environment."""
    install(session, "together", "demo")
    session.run("python", "tools/run_readme.py", "README.md", *map(str, sorted(ROOT.glob("packages/*/README.md"))))


@nox.session(default=False)
def docs(session: nox.Session) -> None:
    """Build the documentation, with warnings as errors."""
    if not (ROOT / "docs/conf.py").exists():
        session.skip("docs/conf.py does not exist yet")
    install(session, "together", "docs", "demo-ducc")
    session.run("sphinx-build", "-W", "-b", "html", "docs", "docs/_build/html", *session.posargs)


@nox.session(default=False)
def bench(session: nox.Session) -> None:
    """Measure the bridge, or what `-- fft`, `-- sht`, `-- nufft` name, beside others (`--quick`: shorter)."""
    named = session.posargs[:1] if session.posargs and not session.posargs[0].startswith("-") else []
    name = named[0] if named else "run"
    install(session, "together" if named else "core", BENCH_GROUPS.get(name, "bench-ducc"))
    session.run("python", f"benchmarks/{name}.py", *session.posargs[len(named) :])


@nox.session(default=False)
def mutants(session: nox.Session) -> None:
    """Break one rule at a time in a copy of the core and demand that the tests notice (`-- -k NAME` for some)."""
    install(session, "core", *TEST_GROUPS["core"])
    session.install("uv")
    session.run("python", "tools/mutants.py", *session.posargs)


@nox.session(default=False)
@nox.parametrize("sanitizer", [nox.param(name, id=name.partition(",")[0]) for name in ("address,undefined", "thread")])
def sanitize(session: nox.Session, sanitizer: str) -> None:
    """Run the core's tests with a bridge that GCC's sanitizers watch (Linux)."""
    folder = Path(session.create_tmp())
    settings = {"cmake.build-type": "Debug", "cmake.define.JAXBIND_SANITIZE": sanitizer, "install.strip": "false"}
    shutil.rmtree(folder / "wheel", ignore_errors=True)
    settings_arguments = [f"--config-setting={key}={value}" for key, value in settings.items()]
    build(session, "--wheel", *settings_arguments, "-o", str(folder / "wheel"), str(ROOT / "packages" / "jaxbind-core"))
    groups = nox.project.dependency_groups(GROUPS, *TEST_GROUPS["core"])
    session.install("--reinstall-package=jaxbind-core", *map(str, folder.glob("wheel/*.whl")), *groups)
    session.run("python", "tools/sanitize.py", sanitizer.partition(",")[0], *session.posargs)


@nox.session(default=False)
def growth(session: nox.Session) -> None:
    """Make a million calls on every way through the bridge and demand that nothing grows (`-- --calls N`)."""
    install(session, "core")
    session.run("python", "tests/support/growth.py", *session.posargs)


@nox.session(default=False)
def stress(session: nox.Session) -> None:
    """Make, run, drop and break operators at random on many threads (`-- --seconds N --seed N`)."""
    install(session, "core")
    session.run("python", "tests/support/stress.py", *session.posargs)


@nox.session(default=False)
def fuzz(session: nox.Session) -> None:
    """Run the tests that hypothesis drives with thousands of cases each (`-- -k NAME` for some)."""
    install(session, "core", "test")
    files = ("hostile_programs", "kwargs", "properties", "vmap")
    arguments = (*PARALLEL, "--hypothesis-profile=fuzz", *(f"tests/core/test_{name}.py" for name in files))
    session.run("pytest", *arguments, *session.posargs)


@nox.session(default=False, reuse_venv=False)
def wheels(session: nox.Session) -> None:
    """Build what is released into dist/release/, check every file in it, and test it in a bare environment."""
    release = ROOT / "dist" / "release"
    shutil.rmtree(release, ignore_errors=True)
    for name in PACKAGES["together"]:  # each wheel is built from the sdist
        build(session, "-o", str(release), str(ROOT / "packages" / name))
    files = sorted(str(path) for path in release.glob("jaxbind*"))
    built = [path for path in files if path.endswith(".whl")]
    core = next(path for path in built if "jaxbind_core" in path)
    session.install(*nox.project.dependency_groups(GROUPS, "release", *TEST_GROUPS["core"]))
    session.run("python", "tools/check_distributions.py", str(release))
    session.run("twine", "check", "--strict", *files)
    if sys.platform == "linux":  # the wheel needs no library that a Linux system may lack
        session.run("auditwheel", "repair", "--wheel-dir", str(Path(session.create_tmp()) / "repaired"), core)
    if "-abi3-" in core:  # the module uses nothing outside the limited API that its name promises
        session.run("abi3audit", "--strict", core)
    session.install(*built)
    session.run("mypy", "--strict", "tests/support/typed_program.py")
    session.run("pytest", *PARALLEL, "tests/core", *session.posargs)


@nox.session(default=False, reuse_venv=False)
def sdists(session: nox.Session) -> None:
    """Build every sdist from its unpacked archive, without network and without the repository."""
    folder = Path(session.create_tmp())
    shutil.rmtree(folder / "unpacked", ignore_errors=True)
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    for name in PACKAGES["together"]:
        build(session, "--sdist", "-o", str(folder / "unpacked"), str(ROOT / "packages" / name))
        archive = next((folder / "unpacked").glob(f"{name.replace('-', '_')}-*.tar.gz"))
        shutil.unpack_archive(archive, folder / "unpacked", filter="data")
        source = archive.with_name(archive.name.removesuffix(".tar.gz"))
        session.install(
            "build", "cmake", "ninja", *nox.project.load_toml(source / "pyproject.toml")["build-system"]["requires"]
        )
        session.run("python", "-m", "build", "--no-isolation", "--wheel", str(source), env=nowhere)


@nox.session(default=False, venv_backend="none")
def set_version(session: nox.Session) -> None:
    """Give all three distributions one version, and the plugins a core of that minor release: `-- 2.1.0`."""
    session.run(sys.executable, "tools/set_version.py", *session.posargs)


if __name__ == "__main__":
    os.chdir(ROOT)
    nox.main()
