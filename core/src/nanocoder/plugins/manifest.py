"""The manifest cache: what every plugin offers, kept so that a start imports none of them."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from attrs import field, frozen

from nanocoder.plugins.discovery import Found, mtime_of, package_files
from nanocoder.values import Value
from nanocoder.version import VERSION

FORMAT = 4
DESCRIBE_DEADLINE_S = 10.0
"""How long one plugin may take to import before it is set aside."""

_CHILD = "from nanocoder.plugins.describe import main; main()"


@frozen(eq=False, repr=False)
class Entry(Value):
    """One plugin as the manifest knows it.

    *error* says why it is set aside, *clash* that its name is taken.
    """

    name: str
    module: str
    distribution: str = ""
    version: str = ""
    description: Mapping[str, Any] = field(factory=dict)

    @property
    def error(self) -> str:
        """Why the plugin is set aside, or nothing."""
        return str(self.description.get("error", ""))

    @property
    def hooks(self) -> Mapping[str, Sequence[str]]:
        """The hooks that it implements, each with the names of the arguments that it takes."""
        return self.description.get("hooks", {})  # type: ignore[no-any-return]

    @property
    def is_policy(self) -> bool:
        """Tell whether it stands in the way of calls or requests, and may not be left out."""
        return bool(self.description.get("policy"))

    def offers(self, what: str) -> Sequence[Mapping[str, Any]]:
        """Return the descriptions of its tools, or providers, or commands."""
        return self.description.get(what, ())  # type: ignore[no-any-return]


@frozen(eq=False, repr=False)
class Manifest(Value):
    """All entries by name, and the names of those that are new or changed since last time."""

    entries: Mapping[str, Entry]
    fresh: tuple[str, ...] = ()


def load(
    found: Sequence[Found], cache: Path | None, deadline_s: float = DESCRIBE_DEADLINE_S
) -> Manifest:
    """Return the manifest of *found*; a child process describes what the cache lacks.

    A cache that cannot be read is rebuilt; one that cannot be written is done without.
    """
    known = _read(cache)
    described: dict[str, dict[str, Any]] = {}
    missing: list[Found] = []
    for one in _unclashed(found, described):
        record = known.get(one.name)
        if record is not None and _still_holds(record, one):
            described[one.name] = record
        else:
            missing.append(one)
    if missing:
        answers = _described_by_child([(one.name, one.module) for one in missing], deadline_s)
        for one in missing:
            description = answers[one.name]
            if "error" in description:
                description |= _failure(one)
            described[one.name] = _record(one, description)
    if missing or known.keys() != described.keys():
        _write(cache, described)
    entries = {name: _entry(record) for name, record in sorted(described.items())}
    whole = [one.name for one in missing if not entries[one.name].error]
    fresh = tuple(whole) if known else ()
    return Manifest(entries, fresh)


def _unclashed(found: Sequence[Found], described: dict[str, dict[str, Any]]) -> list[Found]:
    """Set aside every plugin whose name two distributions claim.

    Neither may win by the order of a directory.
    """
    owners: dict[str, list[Found]] = {}
    for one in found:
        owners.setdefault(one.name, []).append(one)
    for name, claims in owners.items():
        if len(claims) > 1:
            both = " and ".join(sorted(f"{one.distribution} {one.version}" for one in claims))
            error = f"{both} both call themselves {name!r}; uninstall one"
            described[name] = _record(
                claims[0], {"error": error, "policy": "policy" in name.split("-")}
            )
    return [claims[0] for claims in owners.values() if len(claims) == 1]


def _record(one: Found, description: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": one.name,
        "module": one.module,
        "distribution": one.distribution,
        "version": one.version,
        "stamp": [one.site, one.stamp],
        "description": description,
    }


def _entry(record: Mapping[str, Any]) -> Entry:
    return Entry(
        record["name"],
        record["module"],
        record["distribution"],
        record["version"],
        record["description"],
    )


def _still_holds(record: Mapping[str, Any], one: Found) -> bool:
    """Tell whether a cached record is of this installation and its files are untouched.

    Failures are tried again.
    """
    description = record["description"]
    # A failure is tried again when anything was installed: what it missed may be there now.
    sites = [mtime_of(one.site)]
    return (
        record["module"] == one.module
        and record["version"] == one.version
        and record["stamp"] == [one.site, one.stamp]
        and description.get("sites", sites) == sites
        and all(mtime_of(path) == mtime for path, mtime in description.get("files", ()))
    )


def _key() -> list[Any]:
    return [FORMAT, VERSION, sys.version, sys.prefix]


def _read(cache: Path | None) -> dict[str, dict[str, Any]]:
    if cache is None:
        return {}
    try:
        # A FIFO in its place would never end; whatever is no file is no cache.
        if not cache.is_file():
            return {}
        with open(cache, "rb") as file:
            data = json.load(file)
        records = data["plugins"] if data["key"] == _key() else {}
        return {record["name"]: record for record in records.values() if _is_whole(record)}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _is_whole(record: Mapping[str, Any]) -> bool:
    wanted = {"name", "module", "distribution", "version", "stamp", "description"}
    return wanted <= record.keys() and isinstance(record["description"], dict)


def _write(cache: Path | None, described: Mapping[str, Any]) -> None:
    if cache is None:
        return
    temporary = cache.with_name(f".{cache.name}.{os.getpid()}")
    try:
        cache.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary.write_text(json.dumps({"key": _key(), "plugins": described}), encoding="utf-8")
        os.replace(temporary, cache)
    except OSError:
        # Where the folder is no folder, there is nothing to remove either.
        with suppress(OSError):
            temporary.unlink()


def _described_by_child(
    wanted: Sequence[tuple[str, str]], deadline_s: float
) -> dict[str, dict[str, Any]]:
    """Describe each plugin in a child.

    When one ends or hangs the child, blame that one and go on with the rest.
    """
    answers: dict[str, dict[str, Any]] = {}
    rest = list(wanted)
    while rest:
        got, problem = _ask_child(rest, deadline_s)
        answers.update(got)
        rest = [pair for pair in rest if pair[0] not in answers]
        if rest:
            name, _ = rest.pop(0)
            answers[name] = {"error": problem or "the import ended the process"}
    return answers


def _ask_child(
    wanted: Sequence[tuple[str, str]], deadline_s: float
) -> tuple[dict[str, dict[str, Any]], str]:
    import subprocess

    # -P: the current directory must not be importable here either.
    flags = ["-I"] if sys.flags.isolated else ["-P"]
    with subprocess.Popen(
        [sys.executable, *flags, "-c", _CHILD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_child_environment(),
        start_new_session=True,
    ) as process:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the pipes of the describing process are missing")
        try:
            process.stdin.write(json.dumps(list(wanted)).encode())
            process.stdin.close()
        except BrokenPipeError:
            return {}, "the describing process could not start"
        lines, timed_out = _lines_until_silence(process.stdout.fileno(), len(wanted), deadline_s)
        process.kill()
    answers = dict(json.loads(line) for line in lines)
    return answers, f"its import took over {deadline_s:g} s" if timed_out else ""


def _child_environment() -> dict[str, str]:
    """Return our environment without what the command line took out of the module search path."""
    environment = dict(os.environ)
    given = environment.pop("PYTHONPATH", "").split(os.pathsep)
    kept = [entry for entry in given if os.path.abspath(entry) in sys.path]  # as `site` does
    return {**environment, "PYTHONPATH": os.pathsep.join(kept)} if kept else environment


def _lines_until_silence(
    descriptor: int, expected: int, deadline_s: float
) -> tuple[list[bytes], bool]:
    """Read lines until *expected* came, the writer ended, or nothing came for the deadline."""
    import select

    data = b""
    while data.count(b"\n") < expected:
        ready, _, _ = select.select([descriptor], [], [], deadline_s)
        if not ready:
            return data.split(b"\n")[:-1], True
        piece = os.read(descriptor, 1 << 20)
        if not piece:
            break
        data += piece
    return data.split(b"\n")[:-1], False


def _failure(one: Found) -> dict[str, Any]:
    """Say what a plugin that does not import may be, so that leaving it out opens no gate."""
    from importlib.machinery import PathFinder

    from nanocoder.plugins.describe import GATES

    spec = PathFinder.find_spec(one.module.split(".")[0])
    files = package_files(spec.origin or "") if spec else []
    guards = any(gate in _text_of(Path(path)) for path, _ in files for gate in GATES)
    policy = guards or "policy" in one.name.split("-")
    return {"policy": policy, "files": files, "sites": [mtime_of(one.site)]}


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
