"""Display of packages before any of them is installed or run, and the user's consent."""

import textwrap
import tomllib
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from attrs import frozen
from nanocoder import Host, UsageError, counted, for_terminal, known_packages, one_line
from nanocoder_kit_process.capabilities import (
    Capabilities,
    ManifestError,
    Package,
    outline,
    runs_at_start,
    scan,
)
from nanocoder_kit_process.capabilities.capabilities import sentence_of

GROUP: Final = "nanocoder"
SET: Final = "nanocoder-set-"
NEEDS_PERSON: Final = 3
MAX_USES: Final = 3
"""Limit of the source lines named for a package that does not declare its capabilities."""
LINE_COLUMNS: Final = 300
LIBRARIES: Final = "and the libraries "
NOT_HELD: Final = (
    "Plugins run inside nanocoder with your rights: what they declare is shown and checked, and"
    " only a process of its own in a sandbox holds a plugin to it."
)
NOT_CONFIRMED: Final = (
    "nothing was installed: there is no terminal to ask on; read the lines above and repeat the"
    " command with --yes"
)


@frozen
class Proposal:
    """A package to be installed, and its installed version *now*, if any.

    *building* is its build program, "" for a wheel. *is_named* means that the user named it, and
    *may_be_plugin* that only its build would show whether it has a plugin.
    """

    package: Package
    now: Package | None
    building: str = ""
    is_named: bool = False
    may_be_plugin: bool = False

    @property
    def is_foreign(self) -> bool:
        """Return True if the user named a package that is no plugin, no set and none of ours."""
        name = normal(self.package.distribution)
        is_ours = name.startswith(SET) or name in known_packages().values()
        return self.is_named and not (self.package.plugins or self.may_be_plugin or is_ours)

    @property
    def is_plain(self) -> bool:
        """Return True if the package is a library that adds nothing but modules."""
        package = self.package
        parts = package.plugins or package.start_files or package.scripts
        return not (parts or self.is_named or self.building)

    @property
    def capabilities(self) -> Capabilities:
        """Declared capabilities, else those inferred from the source."""
        return capabilities_of(self.package)

    @property
    def is_more(self) -> bool:
        """Return True if consent is required: it is new, or wants more than before."""
        if self.now is None or self.building:
            return True
        hooks, tools = (_parts(self.package, kind) for kind in ("hooks", "tools"))
        return bool(
            self.capabilities.beyond(capabilities_of(self.now))
            or hooks - _parts(self.now, "hooks")
            or tools - _parts(self.now, "tools")
            or set(self.package.start_files) - set(self.now.start_files)
            or set(self.package.scripts) - set(self.now.scripts)
        )


def normal(name: str) -> str:
    """Return the name of a package as indexes compare it."""
    return name.lower().replace("_", "-").replace(".", "-")


def capabilities_of(package: Package) -> Capabilities:
    """Return declared capabilities, else those inferred from the source; raises UsageError."""
    try:
        declared = package.capabilities
    except ManifestError as error:
        raise UsageError(f"{error}. Nothing was installed") from error
    if declared is not None:
        return declared
    return Capabilities(frozenset(use.capability for each in package.folders for use in scan(each)))


def is_agreed(proposals: Iterable[Proposal], arguments: Namespace, host: Host) -> int:
    """Show what would be installed and ask for consent; return 0 to go on, or the exit code.

    Raises: UsageError for a package that is no plugin.
    """
    packages = list(proposals)
    for line in _all_lines(packages):
        for part in _folded(line, host.columns or LINE_COLUMNS):
            host.print_line(part)
    if foreign := next((each.package.distribution for each in packages if each.is_foreign), ""):
        problem = f"{foreign} is no plugin of nanocoder: nothing was installed"
        if arguments.yes or host.is_interactive:
            raise UsageError(f"{problem}; pip or uv install it anyway, without showing it")
        host.say(problem)
        return NEEDS_PERSON
    if not any(each.is_more for each in packages):
        return 0
    for part in _folded(NOT_HELD, host.columns or LINE_COLUMNS):
        host.print_line(part)
    if arguments.yes:
        return 0
    if not host.is_interactive:
        host.say(NOT_CONFIRMED)
        return NEEDS_PERSON
    if host.agrees("Install this?"):
        return 0
    host.print_line("Nothing was installed.")
    return 1


def _all_lines(packages: list[Proposal]) -> Iterator[str]:
    """Yield the lines of all *packages*, named ones first, with a blank line after each.

    Libraries that add only modules come last, in one line.
    """
    plain = [each for each in packages if each.is_plain]
    for each in sorted(packages, key=lambda each: (not each.is_named, not each.package.plugins)):
        lines = [] if each in plain else [*lines_of(each)]
        yield from [*lines, ""] if len(lines) > 1 else lines
    if new := [each.package for each in plain if each.now is None]:
        yield LIBRARIES + ", ".join(_named(package) for package in new)
        yield ""


def _folded(line: str, columns: int) -> list[str]:
    """Return *line*, made safe, in lines of at most *columns*, all of them indented as it is."""
    indent = line[: len(line) - len(line.lstrip(" "))]
    wrapper = textwrap.TextWrapper(columns, initial_indent=indent, subsequent_indent=f"{indent}  ")
    wrapper.break_on_hyphens = False  # a name stays one word
    is_list = line.startswith(LIBRARIES)
    text = for_terminal(line.strip()) if is_list else one_line(line, LINE_COLUMNS)
    return wrapper.wrap(text) or [""]


def _named(package: Package) -> str:
    return f"{package.distribution} {package.version}"


def lines_of(proposal: Proposal) -> Iterator[str]:
    """Yield the lines that a user reads before a package is installed."""
    package, now = proposal.package, proposal.now
    name = _named(package)
    if now is not None and not proposal.is_more:
        if now.version == package.version and not proposal.is_named:
            return  # it stays as it is
        yield f"{name} (now {now.version}): wants no more than before"
        return
    yield name if now is None else f"{name} (now {now.version})"
    more = proposal.capabilities.beyond(capabilities_of(now)) if now is not None else ()
    if len(package.plugins) > 1:
        yield f"  plugins: {', '.join(package.plugins)}"
    for capability in sorted(proposal.capabilities.names):
        yield f"  {'also ' if capability in more else ''}may {sentence_of(capability)}"
    if not package.plugins:
        yield f"  it is {'no plugin of nanocoder' if proposal.is_foreign else 'a library'}"
    elif package.capabilities is None:
        yield from _undeclared(package)
    tools = [tool for folder in package.folders for tool in outline(folder).tools]
    for tool in tools:
        effects = ", ".join(tool.effects) or "no effect declared"
        size = f"about {counted(tool.tokens, 'token')} of each request"
        yield f"  tool {tool.name}: {tool.risk}, {effects}, {size}"
    if len(tools) > 1:
        total = sum(tool.tokens for tool in tools)
        yield f"  its tools take about {total:,} tokens of each request together"
    if hooks := sorted(_parts(package, "hooks")):
        yield f"  hooks: {', '.join(hook.removeprefix('nanocoder_') for hook in hooks)}"
    yield from _lines_of_programs(proposal)


def _lines_of_programs(proposal: Proposal) -> Iterator[str]:
    """Yield a line for each program that runs outside nanocoder, or during the installation."""
    package = proposal.package
    for file in package.start_files:
        yield f"  {file} runs code whenever Python starts, with or without nanocoder"
    if package.scripts:
        yield f"  it adds the programs {', '.join(package.scripts)}"
    if proposal.building:
        yield "  it is a folder of sources: installing it runs its build program with your rights"
        yield f"  its build program: {proposal.building}; libraries that it needs come unseen"


def proposal_of_source(folder: Path) -> Proposal:
    """Return the package that a folder of sources builds, as far as its files show it.

    Raises: UsageError if its pyproject.toml cannot be read.
    """
    try:
        document = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))
        project, build = document["project"], document.get("build-system", {})
        points: Mapping[str, str] = project.get("entry-points", {}).get(GROUP, {})
        scripts = {*project.get("scripts", {}), *project.get("gui-scripts", {})}
        name, version = str(project["name"]), str(project.get("version", ""))
        modules = {point.partition(":")[0].replace(".", "/") for point in points.values()}
        is_open = "entry-points" in project.get("dynamic", ())
        program = str(build.get("build-backend", "setuptools"))
        needs = [*map(str, build.get("requires", ())), *map(str, build.get("backend-path", ()))]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{folder}/pyproject.toml cannot be read: {error}") from error
    candidates = [
        folder / root / f"{module}{end}"
        for module in sorted(modules)
        for root in ("src", "")
        for end in ("", ".py")
    ]
    starting = sorted(path.name for path in folder.rglob("*") if runs_at_start(folder, str(path)))
    existing = tuple(place for place in candidates if place.exists())
    parts = tuple(sorted(points)), existing, tuple(starting), tuple(sorted(scripts))
    return Proposal(
        Package(name, version, *parts),
        None,
        f"{program} ({', '.join(needs)})" if needs else program,
        is_named=True,
        may_be_plugin=is_open,
    )


def _undeclared(package: Package) -> Iterator[str]:
    uses = [use for folder in package.folders for use in scan(folder)]
    yield "  it declares nothing (nanocoder-plugin.toml); the lines above are from its source"
    for use in uses[:MAX_USES]:
        yield f"    {use}"
    if len(uses) > MAX_USES:
        yield f"    and {counted(len(uses) - MAX_USES, 'other place')}"


def _parts(package: Package, kind: str) -> set[str]:
    outlines = [outline(folder) for folder in package.folders]
    if kind == "hooks":
        return {hook for each in outlines for hook in each.hooks}
    return {tool.name for each in outlines for tool in each.tools}
