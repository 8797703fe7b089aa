"""Grants: rules for exactly one call, which a person may agree to beyond this time.

A call is granted when every rule that it would offer was granted. So a grant can never allow more
than the calls for which it was offered, and nothing that a person should look at each time.
"""

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from nanocoder import Decision, Effect, Risk, Verdict

from nanocoder_policy_rules import addresses, command_steps, grant_file, runners
from nanocoder_policy_rules.operands import paths_in
from nanocoder_policy_rules.reach import HERE
from nanocoder_policy_rules.reading_commands import is_safe, with_input
from nanocoder_policy_rules.rules import SHELL
from nanocoder_policy_rules.shell import Simple, compile_once

if TYPE_CHECKING:
    from nanocoder_policy_rules.case import Case

_WORD: Final = r"[A-Za-z0-9_@%+=:,./^-]+"
_PATH: Final = r"[\w./+@=,-]+(?: [\w./+@=,-]+)*"
_ADDRESS: Final = r"https?://[A-Za-z0-9_.~:/?&=%+,-]+"
_KNOWN_ARGUMENTS: Final = frozenset(("command", "timeout", "workdir"))
_ENTERS: Final = frozenset(("cd", "pushd", "popd"))
# These remove, overwrite or end something, or change what others see.
_LOOK_EACH_TIME: Final = frozenset(
    (
        *("rm", "rmdir", "unlink", "shred", "dd", "truncate", "mv", "cp", "ln", "tee", "install"),
        *("chmod", "chown", "chgrp", "kill", "pkill", "killall", "mkfs", "mount", "umount"),
        *("reboot", "shutdown", "halt", "poweroff", "systemctl", "service", "crontab", "at"),
        *("tar", "unzip", "cpio", "7z", "7za", "patch", "rsync", "scp", "sftp", "ftp", "telnet"),
        *("nc", "ncat", "netcat", "socat", "gh", "glab", "aws", "gcloud", "az", "terraform"),
        *("helm", "ansible", "psql", "mysql", "sqlite3", "redis-cli", "mongosh", "twine", "tmux"),
        *("screen", "crictl", "nerdctl", "pip", "pip3", "apt", "apt-get", "dnf", "brew"),
    )
)
_NOT_GRANTED: Final = _LOOK_EACH_TIME | runners.RUNNERS | runners.UNRULED
# With these words a program sends something out, removes something, or brings others' code here.
_OUTSIDE_WORDS: Final = frozenset(
    (
        *("publish", "unpublish", "login", "logout", "deploy", "upload", "release", "push"),
        *("uninstall", "remove", "clean", "install"),
    )
)
_GIT: Final = frozenset(
    ("status", "diff", "log", "show", "blame", "add", "fetch", "shortlog", "describe", "rev-parse")
)
_PACKAGE_WORDS: Final = frozenset(
    ("exec", "x", "dlx", "create", "init", "add", "i", "ci", "up", "update", "upgrade")
)
_PACKAGE_MANAGERS: Final = frozenset(("npm", "pnpm", "yarn", "bun"))
_CHANGES: Final = frozenset((Effect.READ, Effect.WRITE, Effect.IDEMPOTENT, Effect.REVERSIBLE))
_FETCHES: Final = frozenset((Effect.READ, Effect.NETWORK, Effect.IDEMPOTENT, Effect.REVERSIBLE))


def offers(case: "Case") -> tuple[str, ...]:
    """Return the rules that together allow exactly this call, none if a person should see each."""
    effects = case.tool.effects
    if case.command:
        return _of_command(case)
    if case.started or not effects or case.tool.risk is Risk.DESTRUCTIVE:
        return ()
    if Effect.WRITE in effects and effects <= _CHANGES:
        return _of_path(case)
    return _of_address(case) if Effect.NETWORK in effects and effects <= _FETCHES else ()


def granted(case: "Case", offered: tuple[str, ...]) -> Verdict | None:
    """Return the verdict of the grants that hold here, if they are all that is offered."""
    if not offered:
        return None
    by_rule = grant_file.valid(case.session)
    if not all(text in by_rule for text in offered):
        return None
    grant = by_rule[offered[0]]
    return Verdict(
        Decision.ALLOW,
        f"you granted {', '.join(map(repr, offered))} {grant.extent}",
        offered[0],
        f"grant {grant.id} ({grant.scope})",
    )


def _of_command(case: "Case") -> tuple[str, ...]:
    simples, arguments = case.simples, case.call.arguments
    is_at_root = case.directory in {HERE, "./"}
    if not simples or case.own_program or not is_at_root or not {*arguments} <= _KNOWN_ARGUMENTS:
        return ()
    if not _ENTERS.isdisjoint([simple.words[0] for simple in simples]):
        return ()
    unknown = [simple for simple in simples if not is_safe(with_input(simple), case.reach, HERE)]
    if not all(map(_may_be_granted, unknown)) or not _are_places(case, unknown):
        return ()
    if not unknown or not command_steps.allow_as_named(case, unknown):
        return ()
    return tuple(dict.fromkeys([f"{SHELL}({' '.join(simple.words)})" for simple in unknown]))


def _are_places(case: "Case", simples: list[Simple]) -> bool:
    """Tell whether no word of the commands leads elsewhere, so that a grant is for what was seen.

    A word that becomes a link later is no longer offered, and so no longer granted.
    """
    words = [word for simple in simples for word in simple.words[1:]]
    parts = dict.fromkeys([part for word in words for part in paths_in(word) if part])
    # A plain word that names nothing is no link.
    places = map(case.reach.operand, case.reach.leading(parts, case.reach.folder))
    return all(len({*place.names}) == 1 for place in places)


@lru_cache(maxsize=256)
def _may_be_granted(simple: Simple) -> bool:
    """Tell whether one command is plain, and does nothing that a person should see each time."""
    name, *rest = simple.words
    # A program that is named by its place may be one that the model has written.
    if "/" in name or not all(map(compile_once(_WORD).fullmatch, simple.words)):
        return False
    if name in _NOT_GRANTED:
        return False
    if name == "git" and (not rest or rest[0] not in _GIT):
        return False
    words_to_see = _OUTSIDE_WORDS | (_PACKAGE_WORDS if name in _PACKAGE_MANAGERS else set())
    if not words_to_see.isdisjoint(rest):
        return False
    return not runners.risky_option(simple.words, ())


def _of_path(case: "Case") -> tuple[str, ...]:
    if len(case.paths) != 1:
        return ()
    [path] = case.paths
    is_plain = {*path.names} == {path.path} and compile_once(_PATH).fullmatch(path.path)
    if not is_plain or not path.is_inside or path.protection is not None:
        return ()
    return (f"{case.call.name}({path.path})",)


def _of_address(case: "Case") -> tuple[str, ...]:
    url, *others = [case.call.arguments.get("url"), *_others(case)]
    if not isinstance(url, str) or any(isinstance(other, str) for other in others):
        return ()
    address = addresses.pattern(url) if compile_once(_ADDRESS).fullmatch(url) else None
    if address is None or not address.allows(url):
        return ()
    return (f"{case.call.name}({url})",)


def _others(case: "Case") -> list[object]:
    return [
        str(value) if isinstance(value, (list, tuple, dict)) else value
        for name, value in case.call.arguments.items()
        if name != "url"
    ]
