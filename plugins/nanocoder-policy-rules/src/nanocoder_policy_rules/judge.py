"""The order in which a call is looked at: what forbids comes first, what allows last."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from nanocoder import (
    Decision,
    Effect,
    Mode,
    Risk,
    Verdict,
)

from nanocoder_policy_rules import (
    command_steps,
    paths,
    rules,
)
from nanocoder_policy_rules.case import ANY_TOOL, Case
from nanocoder_policy_rules.protected_names import needs_person
from nanocoder_policy_rules.rules import SHELL, Rule
from nanocoder_policy_rules.search import Match

if TYPE_CHECKING:
    from nanocoder import ResolvedPath


_TABLE = "plugins.policy-rules"
_DEFAULT = "default"
_DEEDS = {Effect.WRITE: "writes", Effect.EXECUTE: "runs programs"}
_UNDECLARED = "does not declare its effects"
_REACHES_OUT = frozenset({Effect.EXECUTE, Effect.NETWORK})


def judge(case: Case) -> Verdict:
    """Return the verdict of the first step that has one."""
    for step in _STEPS:
        verdict = step(case)
        if verdict is not None:
            return verdict
    return _asks(case)


def _denied_by_rule(case: Case) -> Verdict | None:
    return _by_rule(case, case.settings.deny, Decision.DENY)


def _secret(case: Case) -> Verdict | None:
    found = case.secret_in(name for path in case.paths for name in path.names)
    if not found and case.started:
        found = case.secret_in(case.words)
    if not found:
        return None
    reason = paths.WHY_DENIED.format(found)
    if case.missing:  # that is no secret, and a model that knows it looks elsewhere
        reason = f"there is no file {case.missing!r}, and {reason}"
    return Verdict(Decision.DENY, reason, rule=f"secrets: {found}", source=_DEFAULT)


def _unreadable(case: Case) -> Verdict | None:
    return _about_reading(case, case.session.readable.refuses, Decision.DENY)


def _asked_to_read(case: Case) -> Verdict | None:
    return _about_reading(case, case.session.readable.asks, Decision.ASK)


def _about_reading(
    case: Case, question: Callable[[str], str], decision: Decision
) -> Verdict | None:
    """Judge a tool that reads, or a command, by what all policies say of the paths it names."""
    if case.tool.is_read_only:
        resolved: Iterable[ResolvedPath] = case.paths
    elif len(case.paths) > 1:  # what is moved, or copied, can be read afterwards
        resolved = [path for path in case.paths if path.exists]
    else:
        resolved = command_steps.paths_in_words(case)
    for name in (name for path in resolved for name in path.names):
        if not name.startswith("/") and (reason := question(name)):
            return Verdict(decision, reason, rule=reason, source=f"{_TABLE}.{decision}")
    return None


def _planning(case: Case) -> Verdict | None:
    if case.mode != Mode.PLAN or case.tool.is_read_only:
        return None
    # What only calls other tools is judged by those; what wants consent acts by itself.
    if ANY_TOOL in case.tool.composed_of and not _wants_consent(case):
        return None
    deeds = [deed for effect, deed in _DEEDS.items() if effect in case.tool.effects]
    reason = f"plan mode is read-only; {case.call.name} {' and '.join(deeds) or _UNDECLARED}"
    return Verdict(Decision.DENY, reason, source="mode plan")


def _asked_by_rule(case: Case) -> Verdict | None:
    return _by_rule(case, case.settings.ask, Decision.ASK)


def _perhaps_forbidden(case: Case) -> Verdict | None:
    if not case.started:
        return None
    for one in case.forbidding((*case.settings.deny, *case.settings.ask)):
        if _fits(one, case) is Match.MAYBE:
            reason = (
                f"the rule {one.text!r} may be about it: a part of the command is computed only "
                "when it runs, so it needs your approval"
            )
            return _verdict(one, case, Decision.ASK, reason)
    return None


def _allowed_by_rule(case: Case) -> Verdict | None:
    fitting = case.fitting(case.settings.allow)
    for one in fitting:
        if not one.pattern or (case.call.name != SHELL and _allows(one, case)):
            return command_steps.by_rule(one)
    return command_steps.allowed(case, fitting)


def _only_calls(case: Case) -> Verdict | None:
    if ANY_TOOL not in case.tool.composed_of:
        return None
    return Verdict(Decision.ALLOW, "each of its calls is judged by itself", source=_DEFAULT)


def _confirms(case: Case) -> Verdict | None:
    if case.mode == Mode.AUTO or not _wants_consent(case):
        return None
    return Verdict(Decision.ASK, f"{case.call.name} needs these arguments confirmed", source="tool")


def _wants_consent(case: Case) -> bool:
    confirm = case.tool.confirm
    return confirm is not None and confirm(case.call.arguments)


def _automatic(case: Case) -> Verdict | None:
    if case.mode != Mode.AUTO:
        return None
    return Verdict(Decision.ALLOW, "mode auto asks nobody", source="mode auto")


def _harmless(case: Case) -> Verdict | None:
    tool = case.tool
    if tool.risk is not Risk.SAFE or not tool.effects or tool.effects & _REACHES_OUT:
        return None
    if Effect.WRITE in tool.effects and case.paths:
        return None
    return Verdict(Decision.ALLOW, f"{tool.name} is rated safe", source=_DEFAULT)


def _edit(case: Case) -> Verdict | None:
    tool = case.tool
    changes_files = Effect.WRITE in tool.effects and not tool.effects & {
        Effect.EXECUTE,
        Effect.NETWORK,
    }
    if case.mode != Mode.EDITS or not changes_files or tool.risk is Risk.DESTRUCTIVE:
        return None
    if not case.paths or not all(path.is_inside for path in case.paths):
        return None
    return Verdict(Decision.ALLOW, "mode edits allows changes to files", source="mode edits")


def _asks(case: Case) -> Verdict:
    tool = case.tool
    rating = f"is rated {tool.risk}" if tool.effects else _UNDECLARED
    if tool.risk is Risk.SAFE and Effect.NETWORK in tool.effects:
        rating = "reaches the network"
    cause = command_steps.unknown_part(case) or f"{tool.name} {rating}"
    reason = f"{cause}, so mode {case.mode} needs your approval"
    return Verdict(Decision.ASK, reason, source=f"mode {case.mode}")


_STEPS: tuple[Callable[[Case], Verdict | None], ...] = (
    _denied_by_rule,
    command_steps.blocked,
    _secret,
    _unreadable,
    _planning,
    needs_person,
    _asked_by_rule,
    _asked_to_read,
    _perhaps_forbidden,
    _allowed_by_rule,
    command_steps.cannot_be_undone,
    _confirms,
    _only_calls,
    command_steps.only_reads,
    _automatic,
    _harmless,
    _edit,
)


def _by_rule(case: Case, texts: Sequence[str], decision: Decision) -> Verdict | None:
    for one in case.forbidding(texts):
        if _fits(one, case) is Match.YES:
            verb = "forbids it" if decision is Decision.DENY else "needs your approval"
            return _verdict(one, case, decision, f"the rule {one.text!r} {verb}")
    return None


def _verdict(one: Rule, case: Case, decision: Decision, reason: str) -> Verdict:
    pierces = decision is Decision.ASK and case.settings.ask_in_steps
    kind = "deny" if one.text in case.settings.deny else "ask"
    return Verdict(decision, reason, one.text, f"{_TABLE}.{kind}", pierces=pierces)


def _fits(one: Rule, case: Case) -> Match:
    """Tell how certainly a rule that forbids is about this call; in doubt it is."""
    if not one.pattern:
        return Match.YES
    match = case.text.match(one.words) if case.started else Match.NO
    if match is Match.YES or case.command:
        return match
    return max(match, Match.YES if _names_argument(one, case) else Match.NO)


def _names_argument(one: Rule, case: Case) -> bool:
    if case.paths:
        is_named = any(rules.names_path(one, path.names) for path in case.paths)
        places = [path.places for path in case.paths]
        return is_named or (one.is_absolute and rules.names_place(one, places))
    return rules.names_argument(one, case.call.arguments, any_of=True)


def _allows(one: Rule, case: Case) -> bool:
    """Tell whether a rule that allows is about the whole of this call; in doubt it is not."""
    if case.paths:
        names = (name for path in case.paths for name in path.names)
        return all(rules.names_path(one, (name,)) for name in names)
    return rules.names_argument(one, case.call.arguments, any_of=False)
