"""The file of grants in the user's state directory, and the commands that edit it.

Decisions in a session's journal are history and are never read as grants.
"""

import json
import os
import time
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from attrs import asdict, frozen
from nanocoder import (
    BadArguments,
    ConfigError,
    Host,
    SessionInfo,
    UsageError,
    counted,
    did_you_mean,
    parse_json,
    state_dir,
    structure,
)
from nanocoder_files import holding, open_private, replace_file

NAME: Final = "grants.json"
MAX_BYTES: Final = 16_777_216
MAX_GRANTS: Final = 5_000
PROJECT: Final = "project"


@frozen
class Grant:
    """Rules that a person granted: *since* and *expires* are seconds since the epoch.

    *expires* is 0.0 for a grant without an end. A grant of the scope "project" holds in *folder*.
    """

    id: str
    rules: tuple[str, ...]
    scope: str
    folder: str
    since: float
    expires: float = 0.0
    session: str = ""

    @property
    def extent(self) -> str:
        """The scope and the expiry of the grant, in words."""
        where = f"in {self.folder}" if self.folder else "everywhere"
        return f"{where}, until {moment(self.expires)}" if self.expires else where


def moment(seconds: float) -> str:
    """Return a time of the clock on the wall, to the minute."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def folder_of(session: SessionInfo) -> str:
    """Return the folder that a session's project is in; of a copy the original's."""
    return str((session.cwd, *session.origins)[-1].resolve())


def valid(session: SessionInfo) -> Mapping[str, Grant]:
    """Return the grants that hold for *session* now, by their rules; none from a broken file."""
    try:
        grants = load()
    except ConfigError:  # `nanocoder grants list` says what is wrong
        return {}
    folder = folder_of(session)
    return {text: grant for grant in grants if grant.folder in {"", folder} for text in grant.rules}


def load() -> tuple[Grant, ...]:
    """Return every grant that has not expired; raises ConfigError for a broken file."""
    path = state_dir() / NAME
    try:
        with os.fdopen(open_private(path), "rb") as file:
            entries = parse_json(file.read(MAX_BYTES).decode())["grants"]
        grants = [structure(Grant, entry) for entry in entries]
        return tuple(grant for grant in grants if not 0 < grant.expires <= time.time())
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    except (BadArguments, UnicodeDecodeError, KeyError, TypeError) as error:
        problem = f"{path} holds no grants that can be read: {error}"
        raise ConfigError(f"{problem}; repair it or remove it, which revokes all") from None


def holds_for_session_only(rules: Iterable[str]) -> bool:
    """Return True if a rule is the name of a tool, with any arguments."""
    return any("(" not in rule for rule in rules)


def save(session: SessionInfo, approved: Mapping[str, Any]) -> None:
    """Save the rules that a person granted beyond the session; raises ConfigError."""
    if holds_for_session_only(approved["grants"]):
        return
    now, lasts_s = time.time(), approved["lasts_s"]
    folder = folder_of(session) if approved["scope"] == PROJECT else ""
    place = tuple(approved["grants"]), approved["scope"], folder
    expires = now + lasts_s if lasts_s else 0.0
    grant = Grant(os.urandom(4).hex(), *place, now, expires, session.id)

    def renewed(grants: tuple[Grant, ...]) -> list[Grant]:
        rest = [each for each in grants if (each.rules, each.scope, each.folder) != place]
        if len(rest) >= MAX_GRANTS:
            raise ConfigError(f"there are {MAX_GRANTS:,} grants; revoke some: nanocoder grants")
        return [*rest, grant]

    _change(renewed)


def _change(change: Callable[[tuple[Grant, ...]], list[Grant]]) -> None:
    """Change the file in one step, with all that other processes have written until now."""
    path = state_dir() / NAME
    try:
        with holding(path.with_suffix(".lock")):
            grants = [asdict(each) for each in change(load())]
            content = json.dumps({"grants": grants}, indent=1)
            replace_file(path, content.encode())
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}; nothing was changed") from None


def list_grants(arguments: Namespace, host: Host) -> int:
    """Print every grant, the latest first; raises ConfigError for a broken file."""
    grants = sorted(load(), key=lambda grant: -grant.since)
    if arguments.output == "json":
        host.print_json([asdict(each) for each in grants])
    elif not grants:
        host.print_line("nothing is granted; answer a question with `a` to grant a rule")
    else:
        from nanocoder_kit_files.table import print_table  # judging asks for grants, too

        rows = [_row(grant, rule) for grant in grants for rule in grant.rules]
        print_table(("id", "rule", "where", "granted", "until"), rows)
    return 0


def _row(grant: Grant, rule: str) -> tuple[str, ...]:
    where = grant.folder or "everywhere"
    until = moment(grant.expires) if grant.expires else "no end"
    return grant.id, rule, where, moment(grant.since), until


def revoke_grants(arguments: Namespace, host: Host) -> int:
    """Take grants back; raises UsageError for an ID that no grant has, and takes none back then."""
    ids = [grant.id for grant in load()]
    if arguments.all and arguments.id:
        raise UsageError("give the IDs of grants or --all, not both")
    wanted_ids = ids if arguments.all else list(dict.fromkeys(arguments.id))
    if not wanted_ids and not arguments.all:
        raise UsageError("which grant? Give its ID, as `nanocoder grants list` shows it, or --all")
    if unknown := [each for each in wanted_ids if each not in ids]:
        hint = did_you_mean(unknown[0], ids, "; `nanocoder grants list` shows them all")
        raise UsageError(f"there is no grant {unknown[0]!r}{hint}")
    _change(lambda grants: [grant for grant in grants if grant.id not in wanted_ids])
    host.print_line(f"revoked {counted(len(wanted_ids), 'grant')}")
    return 0
