"""Everything that is checked, and a few things that are written. No session names a package.

The default sessions share one environment below .nox; only those that need an empty one make one.
"""

import os
import re
import sys
from pathlib import Path

import nox

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT / "tests/contract"))
# Sessions run in an environment of their own: it has every package, and those of the examples,
# one of which makes calls fail on purpose, have no business where a contributor works.
ENVIRONMENT = ROOT / ".nox/everything"
os.environ["UV_PROJECT_ENVIRONMENT"] = str(ENVIRONMENT)
# `uv run` says in UV where uv is, which need not be on the PATH.
os.environ["PATH"] = os.pathsep.join(
    [
        *(str(ENVIRONMENT / "bin"), str(Path(sys.executable).parent)),
        *(str(Path(uv).parent) for uv in [os.environ.get("UV")] if uv),
        os.environ["PATH"],
    ]
)

import environment  # noqa: E402  the path to it is set above
import repository  # noqa: E402

DIST = ROOT / "dist"
REPORTS = ROOT / ".nox/reports"
# Tests often wait, for a terminal or a process, so three workers suit two cores. A group keeps
# together the tests of the embedded model, which fills the machine alone.
PARALLEL = ("-n", "3", "--dist", "loadgroup")
E2E = ("tests", "e2e")

nox.options.default_venv_backend = "none"
nox.options.sessions = ["lint", "types", "tests", "contract", "docs", "wheels", "e2e"]


def sync(session: nox.Session, *options: str) -> None:
    """Install every package of the workspace into the sessions' environment; keep the rest."""
    session.run("uv", "sync", "--quiet", "--all-packages", "--inexact", *options, external=True)
    environment.write(ENVIRONMENT)


def pytest(session: nox.Session, *arguments: str) -> None:
    """Run pytest and leave a report of what it counted."""
    # In CI the tests of the embedded model must run, so its weights (1.1 GB) have to be there.
    sync(session, *(("--extra", "weights") if os.environ.get("CI") else ()))
    report = REPORTS / f"{session.name}.xml"
    session.run("pytest", "-q", f"--junit-xml={report}", *arguments, *session.posargs)


def daily(session: nox.Session) -> None:
    """Run the tests in the session's folders, all but those marked `full`."""
    # git keeps no empty folder, and contrib/ may be one.
    folders = (name for name in repository.SESSIONS[session.name] if (ROOT / name).is_dir())
    pytest(session, *PARALLEL, "-m", "not full", *folders)


@nox.session
def quick(session: nox.Session) -> None:
    """Check the style of everything, and test the packages that differ from the upstream branch."""
    sync(session)
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    changed = repository.changed()
    folders = [package.folder for package in repository.packages()]
    tests = [
        *(folder for folder in folders if any(file.is_relative_to(folder) for file in changed)),
        *(file for file in changed if file.match("tests/*/test_*.py")),
    ]
    if tests:
        pytest(session, *PARALLEL, "-m", "not full", *map(str, tests))


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, format and the ladder of imports."""
    sync(session)
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("lint-imports", "--no-cache", silent=True)


@nox.session
def types(session: nox.Session) -> None:
    """Check the types of every package, strictly."""
    sync(session)
    sources = [str(source) for package in repository.packages() for source in package.sources]
    session.log("mypy noxfile.py and the sources of %d packages", len(sources))
    session.run("mypy", "noxfile.py", *sources, log=False)


@nox.session
def tests(session: nox.Session) -> None:
    """Test core, plugins and contributions."""
    daily(session)


@nox.session
def contract(session: nox.Session) -> None:
    """Run the gates and the hostile cases; print the rows of the contract that no test meets."""
    import rows  # it reads every test file, which other sessions need not wait for

    daily(session)
    session.log("rows of the contract without a test\n%s", rows.report())


@nox.session
def docs(session: nox.Session) -> None:
    """Run every code block of the documentation."""
    daily(session)


@nox.session
def wheels(session: nox.Session) -> None:
    """Build every package, install the wheels into empty environments and look at them."""
    build(session)
    daily(session)


@nox.session
def e2e(session: nox.Session) -> None:
    """Use the built wheels in a real terminal."""
    build(session)
    daily(session)


@nox.session
def programs(session: nox.Session) -> None:
    """Run the tests that need a program of the machine; CI hides those programs from the others."""
    build(session)
    # Those of tests/e2e first: the longest are among them, and none is left for the end.
    files = sorted(repository.tests_with_programs(), key=lambda file: file.parts[:2] != E2E)
    pytest(session, *PARALLEL, "-m", "needs and not full", *map(str, files))


@nox.session
def full(session: nox.Session) -> None:
    """Run the tests marked `full` and many examples of each property; then mutation and soak.

    Of mutation a group, and of soak two packages, drawn by the date; in CI none, where no change
    may fail for what another one did.
    """
    build(session)
    long = ("--hypothesis-profile=long", "--timeout=600")
    folders = (name for names in repository.SESSIONS.values() for name in names)
    pytest(session, *PARALLEL, "-m", "full or hypothesis", *long, *folders)
    if not os.environ.get("CI"):
        session.notify("mutation", [repository.mutation_group()])
        session.notify("soak", ["--minutes=3", *(package.label for package in repository.drawn(2))])


def build(session: nox.Session) -> None:
    """Build all wheels into dist/ and tell the tests where they are."""
    arguments = ("--quiet", "--all-packages", "--wheel", "--clear", "--out-dir", str(DIST))
    session.run("uv", "build", *arguments, external=True)
    session.env["NANOCODER_DIST"] = str(DIST)


@nox.session
def release(session: nox.Session) -> None:
    """Build what a release publishes into dist/, upload it to a local index, install from that."""
    arguments = ("--quiet", "--all-packages", "--clear", "--out-dir", str(DIST))
    session.run("uv", "build", *arguments, external=True)
    names = {package.name.replace("-", "_") for package in repository.published()}
    for file in DIST.iterdir():
        if file.name.split("-")[0] not in names:
            file.unlink()
    session.env["NANOCODER_DIST"] = str(DIST)
    pytest(session, "tests/wheels/test_release.py")


@nox.session
def bench(session: nox.Session) -> None:
    """Measure and record; nothing fails for being slow."""
    pytest(session, "tests/bench", "--timeout=600")


@nox.session
def soak(session: nox.Session) -> None:
    """Run the tests that wait 20 times beside busy loops; takes PATHS and `--minutes N`."""
    sync(session)
    session.run("python", "tests/soak/soak.py", *session.posargs)


@nox.session
def mutation(session: nox.Session) -> None:
    """Put small faults into what decides, and count those that no test finds; takes GROUPS."""
    sync(session)
    session.run("python", "tests/mutation/mutation.py", *session.posargs)


@nox.session
@nox.parametrize("name", [package.name for package in repository.packages()])
def plugin(session: nox.Session, name: str) -> None:
    """Check one package: `nox -s "plugin(name='…')"`."""
    package = next(package for package in repository.packages() if package.name == name)
    sync(session)
    session.run("ruff", "check", str(package.folder))
    session.run("mypy", *map(str, package.sources))
    session.run("pytest", "-q", str(package.folder), *session.posargs)


@nox.session(venv_backend="uv")
def minimums(session: nox.Session) -> None:
    """Test core and plugins with the oldest versions of what they say they need."""
    folders = [f"--editable={package.folder}" for package in repository.packages()]
    # Without --no-config the workspace's pins of tested versions would win.
    session.install("--no-config", "--resolution=lowest-direct", "--group=test", *folders)
    session.run("pytest", "-q", *PARALLEL, "core", "plugins", *session.posargs)


INTEGRATIONS = sorted(
    path.parent.name for path in ROOT.glob("contrib/integrations/*/pyproject.toml")
)


@nox.session(venv_backend="uv", python="3.12")
@nox.parametrize("name", INTEGRATIONS)
def integrations(session: nox.Session, name: str) -> None:
    """Test what joins nanocoder to other programs, each with its program in an environment."""
    folder = ROOT / "contrib/integrations" / name
    packages = [f"--editable={package.folder}" for package in repository.packages()]
    session.install("--no-config", f"--editable={folder}", *packages, "pytest", "pytest-timeout")
    alone = ("-p", "no:cacheprovider", f"--confcutdir={folder}", "-c", f"{folder}/pyproject.toml")
    session.run("pytest", "-q", *alone, f"{folder}/tests", *session.posargs)


@nox.session
def lock(session: nox.Session) -> None:
    """Resolve anew: write the tested versions into pyproject.toml and requirements.lock."""
    write_pins([])
    session.run("uv", "lock", "--quiet", "--upgrade", external=True)
    options = ("--all-packages", "--no-emit-workspace", "--no-header", "--no-annotate")
    everything = ("--all-groups", "--no-hashes", "--all-extras")
    pinned = session.run("uv", "export", *options, *everything, external=True, silent=True)
    write_pins(pins_in(str(pinned)))
    session.run("uv", "lock", "--quiet", external=True)
    file = ("--no-default-groups", "--quiet", "--output-file=requirements.lock")
    # The test kit brings pytest and hypothesis, which an installation of nanocoder does not need.
    installed = [package for package in repository.packages() if package != repository.testing()]
    only = [f"--package={package.name}" for package in installed]
    session.run("uv", "export", *options[1:], *only, *file, external=True)


def pins_in(exported: str) -> list[str]:
    """Return the pins of an export; the condition stays where a name has several versions."""
    pins = re.findall(r"^([\w.-]+)(==[^\s;]+)(?: (; .+))?$", exported, flags=re.MULTILINE)
    names = [name for name, *_ in pins]
    return [
        f"{name}{version} {condition}" if names.count(name) > 1 else f"{name}{version}"
        for name, version, condition in pins
    ]


def write_pins(pins: list[str]) -> None:
    """Replace the constraints in pyproject.toml."""
    path = ROOT / "pyproject.toml"
    lines = "".join(f'  "{pin}",\n' for pin in sorted(set(pins)))
    table = f"constraint-dependencies = [\n{lines}]"
    pattern = r"constraint-dependencies = \[[^]]*\]"
    path.write_text(re.sub(pattern, table, path.read_text(encoding="utf-8")), encoding="utf-8")


@nox.session
def models(session: nox.Session) -> None:
    """Write the tables that plugins generate from other packages, such as that of prices."""
    sync(session, "--all-groups")
    for script in sorted(ROOT.glob("plugins/*/tests/**/generate.py")):
        session.run("python", str(script))


@nox.session
def conformance(session: nox.Session) -> None:
    """Run the providers' conformance suite and the vendors' libraries, and record what passed."""
    import conformance

    report = REPORTS / "conformance.xml"
    files = [str(file.relative_to(ROOT)) for file in conformance.test_files()]
    sync(session, "--all-groups")
    session.run("pytest", "-q", f"--junit-xml={report}", *files, success_codes=[0, 1])
    conformance.PAGE.write_text(conformance.page(report), encoding="utf-8")


@nox.session
def version(session: nox.Session) -> None:
    """Write a version: `nox -s version -- 0.1.1 NAME…`; without a name, of every package.

    Ranges of the other packages move only where they do not take the new version.
    """
    new, *names = session.posargs
    packages = [one for one in repository.packages() if not names or one.name in names]
    paths = [package.folder / "pyproject.toml" for package in packages]
    if not names or repository.core().name in names:
        paths.append(ROOT / "pyproject.toml")
        replace(
            repository.CORE / "src/nanocoder/version.py",
            r'(?m)^VERSION = ".*"$',
            f'VERSION = "{new}"',
        )
    for path in paths:
        replace(path, r'(?m)^version = ".*"$', f'version = "{new}"')
    move_ranges({package.name for package in packages}, new)


def move_ranges(names: set[str], new: str) -> None:
    """Let every requirement of *names* take the minor version of *new*, where it does not yet."""
    major, minor = map(int, new.split(".")[:2])
    after = f"<{major}.{minor + 1}"
    pattern = re.compile(rf'"({"|".join(names)})(\[[\w,-]+\])?>=[\d.]+,(?!{after}")<[\d.]+"')
    for package in repository.packages():
        path = package.folder / "pyproject.toml"
        text = path.read_text(encoding="utf-8")
        path.write_text(pattern.sub(rf'"\1\2>={major}.{minor},{after}"', text), encoding="utf-8")


def replace(path: Path, pattern: str, text: str) -> None:
    """Replace the one place in a file that *pattern* finds."""
    changed, count = re.subn(pattern, text, path.read_text(encoding="utf-8"))
    if count != 1:
        raise LookupError(f"{path}: {count} places match {pattern!r}, not one")
    path.write_text(changed, encoding="utf-8")


@nox.session
def reference(_: nox.Session) -> None:
    """Write the reference of the hooks, and the generated sections of other pages."""
    import pages
    import prompt_page
    import references
    import retries

    pages.HOOKS_PAGE.write_text(pages.hooks_page(), encoding="utf-8")
    prompt_page.PAGE.write_text(prompt_page.page(), encoding="utf-8")
    for section in [*references.sections(), *retries.sections()]:
        section.page.write_text(section.placed(), encoding="utf-8")


@nox.session
def table(_: nox.Session) -> None:
    """Write the table of plugins, and the list of packages, from their folders."""
    import pages

    pages.PLUGINS_PAGE.write_text(pages.plugins_page(), encoding="utf-8")
    pages.PACKAGES_LIST.write_text(pages.packages_list(), encoding="utf-8")


@nox.session(venv_backend="uv")
def house(session: nox.Session) -> None:
    """Measure the core's components, beside other projects; write the tables of layout.md."""
    session.install("attrs", "pluggy", "tox", "mini-swe-agent")
    session.run("python", "tests/contract/house.py", "--write")


@nox.session
def changelog(session: nox.Session) -> None:
    """Gather the fragments of docs/changelog into CHANGELOG.md: `nox -s changelog -- 1.2.0`."""
    session.run("towncrier", "build", "--yes", "--version", *session.posargs)


@nox.session
def picture(session: nox.Session) -> None:
    """Record the picture of the README: one run in a real terminal, drawn by rich."""
    sync(session)
    session.run("python", "tests/e2e/picture.py", *session.posargs)
