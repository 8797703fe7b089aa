"""`nanocoder audit show`, `verify`, `head` and `export`."""

import os
import subprocess
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from nanocoder import Host, UsageError, counted, one_line
from nanocoder_files import write_private
from nanocoder_kit_process import environment

from nanocoder_policy_audit.chain import Chain, Link, LogFile, Problem, before_first
from nanocoder_policy_audit.log import AuditLog, exists
from nanocoder_policy_audit.settings import Settings

PLUGIN: Final = "policy-audit"
NAMESPACE: Final = "nanocoder-audit"
SIGN_S: Final = 120.0
"""Timeout of ssh-keygen, which may ask for a passphrase or a touch of a key, in seconds."""
AGENT: Final = ("SSH_AUTH_SOCK", "SSH_ASKPASS", "DISPLAY", "WAYLAND_DISPLAY")
"""Variables by which ssh-keygen reaches an agent's keys, and asks for a passphrase."""
LINE_COLUMNS: Final = 200
LEFT_OUT: Final = frozenset({"seq", "at", "event", "prev", "hash"})


def show(arguments: Namespace, host: Host) -> int:
    """Print the records that are whole, the oldest first."""
    with _opened(_log(arguments, host)) as (_, files):
        records = [
            record
            for file in files
            for record in file.records()
            if not arguments.session or arguments.session == record.get("session")
        ]
    if arguments.output == "json":
        host.print_json(records)
        return 0
    for record in records:
        host.print_line(one_line(_line_of(record), LINE_COLUMNS))
    return 0


def verify(arguments: Namespace, host: Host) -> int:
    """Print the problems of a log; the exit code is 1 if there are any."""
    log = _log(arguments, host)
    with _opened(log) as (end, files):
        chain = Chain(end, arguments.head or "")
        problems = list(_problems(log, chain, files))
    if arguments.output == "json":
        rows = [
            {"file": str(path), "line": problem.line or None, "problem": problem.text}
            for path, problem in problems
        ]
        report = {"log": str(log.path), "records": chain.count, "files": len(files)}
        host.print_json({"ok": not rows, **report, "problems": rows})
        return 1 if rows else 0
    if not problems:
        parts = f" in {len(files)} files" if len(files) > 1 else ""
        host.print_line(
            f"{log.path}: {counted(chain.count, 'record')}{parts}, none changed and none missing"
        )
        return 0
    for path, problem in problems:
        where = f"{path}:{problem.line}" if problem.line else str(path)
        host.print_line(f"{where}: {problem.text}")
    return 1


def head(arguments: Namespace, host: Host) -> int:
    """Print the hash of the last record; `audit verify --head` finds out later if it is there."""
    link = _log(arguments, host).head()
    if link is None or not link.seq:
        raise UsageError("the end of the log is not written down; make a call first")
    host.print_line(link.hash)
    return 0


def export(arguments: Namespace, host: Host) -> int:
    """Copy an intact log, and sign the copy; raises UsageError for a damaged one."""
    log = _log(Namespace(file=None), host)
    with _opened(log) as (end, files):
        if (first := next(_problems(log, Chain(end), files), None)) is not None:
            path, problem = first
            raise UsageError(f"{path}: {problem.text}; `nanocoder audit verify` says more")
        content = b"".join(file.content() for file in files)
    target = host.cwd / arguments.file
    try:
        write_private(target, content)
    except FileExistsError:
        raise UsageError(f"{target} exists already; choose another name") from None
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror}") from error
    host.print_line(str(target))
    if arguments.sign:
        host.print_line(str(_sign(target, Path(arguments.sign).expanduser())))
    return 0


def _sign(target: Path, key: Path) -> Path:
    """Sign *target* with ssh-keygen and return the file with the signature; raises UsageError."""
    command = ["ssh-keygen", "-Y", "sign", "-f", str(key), "-n", NAMESPACE, str(target)]
    try:
        signed = subprocess.run(
            command,
            stderr=subprocess.PIPE,
            env=environment(os.environ, AGENT),
            text=True,
            check=False,
            timeout=SIGN_S,
        )
    except FileNotFoundError:
        raise UsageError("ssh-keygen is not installed; it signs the log") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"ssh-keygen did not sign within {SIGN_S:g} s") from None
    if signed.returncode:
        raise UsageError(f"ssh-keygen did not sign: {one_line(signed.stderr, LINE_COLUMNS)}")
    return target.with_name(f"{target.name}.sig")


def _log(arguments: Namespace, host: Host) -> AuditLog:
    """Return the log that *arguments* name, or the user's own; raises UsageError without one."""
    named = getattr(arguments, "file", None)
    log = host.config.settings(PLUGIN, Settings).open_log()
    if named:
        log = _NamedLog(host.cwd / named)
    if not log.files():
        raise UsageError(f"there is no log {str(log.path)!r}; nothing was written down yet")
    return log


@contextmanager
def _opened(log: AuditLog) -> Iterator[tuple[Link | None, Sequence[LogFile]]]:
    """Open the head and the files of *log*; raises UsageError if they cannot be read."""
    try:
        with log.opened() as parts:
            yield parts
    except OSError as error:
        where = error.filename or log.path
        raise UsageError(f"{where} cannot be read: {error.strerror}") from error


class _NamedLog(AuditLog):
    """A log at any path, such as an exported one; its head is beside it or unknown."""

    def __init__(self, path: Path) -> None:
        super().__init__(path.parent)
        self.path = path
        self.head_path = path.with_suffix(".head")

    def files(self) -> list[Path]:
        """Return that file alone."""
        return [self.path] if exists(self.path) else []


def _problems(
    log: AuditLog, chain: Chain, files: Sequence[LogFile]
) -> Iterator[tuple[Path, Problem]]:
    """Yield each problem with its file; a file that is named alone may be any of a log."""
    is_own = type(log) is AuditLog
    for file in files:
        if not is_own:
            chain.begin_after(before_first(file.lines()))
        for problem in chain.problems_of(file.lines()):
            yield file.path, problem
    for problem in chain.problems_at_end():
        yield log.path, problem
    if chain.head is None and is_own:
        text = f"{log.head_path} is missing: records at the end may be missing, too"
        yield log.path, Problem(0, text)


def _line_of(record: Mapping[str, Any]) -> str:
    # The tool first: a line is cut where the terminal ends, and names of models are long.
    names = [name for name, value in record.items() if name not in LEFT_OUT and value]
    names.sort(key=lambda name: name != "tool")
    facts = (f"{name}={record[name]}" for name in names)
    begin = (str(record.get(name, "?")) for name in ("seq", "at", "event"))
    return " ".join((*begin, *facts))
