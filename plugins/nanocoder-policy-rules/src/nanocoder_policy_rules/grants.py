"""Grants: rules for exactly one call, which a person may agree to beyond this time.

A call is granted when every rule that it would offer was granted. So a grant can never allow more
than the calls for which it was offered, and nothing that a person should look at each time.
A tool whose arguments no rule can describe, such as one of a server, is offered by its name: that
grant holds for the session alone.
"""

import re
from typing import TYPE_CHECKING, Final

from nanocoder import Access, Decision, Effect, Risk, Verdict

from nanocoder_policy_rules import addresses, grant_file, programs
from nanocoder_policy_rules.call_context import HERE, REACHES_OUT
from nanocoder_policy_rules.rule_matching import lasting
from nanocoder_policy_rules.rules import SHELL
from nanocoder_policy_rules.unasked import command_only_reads, is_plain

if TYPE_CHECKING:
    from nanocoder_policy_rules.call_context import CallContext
    from nanocoder_policy_rules.shell_text import Command

_WORD: Final = re.compile(r"[A-Za-z0-9_@%+=:,./^-]+")
_PATH: Final = re.compile(r"[\w./+@=,-]+(?: [\w./+@=,-]+)*")
_ADDRESS: Final = re.compile(r"https?://[A-Za-z0-9_.~:/?&=%+,-]+")
_KNOWN_ARGUMENTS: Final = frozenset(("command", "timeout", "workdir", "access", "reason"))
_CHANGES: Final = frozenset((Effect.READ, Effect.WRITE, Effect.IDEMPOTENT, Effect.REVERSIBLE))
_FETCHES: Final = frozenset((Effect.READ, Effect.NETWORK, Effect.IDEMPOTENT, Effect.REVERSIBLE))
_URL: Final = "url"


def offers(context: "CallContext") -> tuple[str, ...]:
    """Return the rules that together allow exactly this call, none if a person should see each."""
    effects = context.tool.effects
    if context.command:
        return _of_command(context)
    if context.started or not effects or context.tool.risk is Risk.DESTRUCTIVE:
        return ()
    if Effect.WRITE in effects and effects <= _CHANGES:
        return _of_path(context)
    if effects <= _FETCHES and _URL in context.call.arguments:
        return _of_address(context)
    is_described = context.tool.commands or context.tool.composed_of
    return () if is_described or not effects & REACHES_OUT else (context.call.name,)


def granted(context: "CallContext", offered: tuple[str, ...]) -> Verdict | None:
    """Return the verdict of the grants that hold here, if they are all that is offered."""
    if not offered or grant_file.holds_for_session_only(offered):
        return None
    by_rule = grant_file.valid(context.session)
    if not all(text in by_rule for text in offered):
        return None
    grant = by_rule[offered[0]]
    reason = f"you granted {', '.join(map(repr, offered))} {grant.extent}"
    return Verdict(Decision.ALLOW, reason, offered[0], f"grant {grant.id} ({grant.scope})")


def _of_command(context: "CallContext") -> tuple[str, ...]:
    """Return a rule for each command that needs one; none for what a sandbox only lets write."""
    arguments, script = context.call.arguments, context.script
    if context.sandbox and context.requested is Access.WRITE:
        return ()
    if context.directory != HERE or not {*arguments} <= _KNOWN_ARGUMENTS:
        return ()
    if not is_plain(script) or lasting(script):
        return ()
    unknown = [each for each in script.commands if not command_only_reads(each, context)]
    if not unknown or not all(_may_be_granted(each, context) for each in unknown):
        return ()
    texts = (" ".join(word.text for word in each.words) for each in unknown)
    return tuple(dict.fromkeys(f"{SHELL}({text})" for text in texts))


def _may_be_granted(command: "Command", context: "CallContext") -> bool:
    """Return True if one command is plain, and does nothing that a person should see each time."""
    words = [word.text for word in command.words]
    if not words or not all(each.is_harmless for each in command.redirects):
        return False
    # A program that is named by its path may be one that the model has written.
    names = {words[0], " ".join(words[:2])}
    if "/" in words[0] or names & programs.NOT_GRANTED or not all(map(_WORD.fullmatch, words)):
        return False
    # A word that becomes a link later is no longer offered, and so no longer granted.
    has_links = any(len({*context.operand(word).names}) > 1 for word in words[1:])
    return not has_links and not command.assignments


def _of_path(context: "CallContext") -> tuple[str, ...]:
    if len(context.paths) != 1:
        return ()
    [path] = context.paths
    is_plain_path = {*path.names} == {path.path} and _PATH.fullmatch(path.path)
    if not is_plain_path or not path.is_inside or path.protection is not None:
        return ()
    return (f"{context.call.name}({path.path})",)


def _of_address(context: "CallContext") -> tuple[str, ...]:
    arguments = context.call.arguments
    named = [key for key, value in arguments.items() if isinstance(value, str | list | dict)]
    url = str(arguments.get(_URL))
    address = addresses.pattern(url) if named == [_URL] and _ADDRESS.fullmatch(url) else None
    return (f"{context.call.name}({url})",) if address and address.allows(url) else ()
