"""The steps of judging a call in their order: what forbids comes first, what allows last."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from attrs import evolve
from nanocoder import (
    Decision,
    Effect,
    Mode,
    Risk,
    Verdict,
)

from nanocoder_policy_rules import command_steps, fitting, paths
from nanocoder_policy_rules.case import ANY_TOOL, Case
from nanocoder_policy_rules.command_search import Match
from nanocoder_policy_rules.protected_names import needs_person
from nanocoder_policy_rules.rulebook import RuleBook
from nanocoder_policy_rules.rules import SHELL, Rule
from nanocoder_policy_rules.unproven import ask_about_history, ask_when_unproven
from nanocoder_policy_rules.writing_rules import rule_for_changes

if TYPE_CHECKING:
    from nanocoder import ResolvedPath, Tool


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
            return _with_place_outside(case, verdict)
    return _with_place_outside(case, _ask(case))


def _with_place_outside(case: Case, verdict: Verdict) -> Verdict:
    """Say of a call that may run, or is asked about, that no tool opens a path outside."""
    if verdict.decision is Decision.DENY or case.started:
        return verdict
    for name, path in zip(case.named, case.paths, strict=False):
        if not path.is_inside and not case.reach.is_output(path):
            problem = f"{name!r} is outside the workspace, where tools for files open nothing"
            return evolve(verdict, reason=f"{verdict.reason}; but {problem}")
    return verdict


def _deny_by_rule(case: Case) -> Verdict | None:
    return _apply_rules(case, case.settings.denying, Decision.DENY)


def _deny_secret(case: Case) -> Verdict | None:
    names = [name for path in case.paths for name in path.names]
    secret = case.secret_in(names) if names else ""
    if not secret and case.started:
        secret = case.secret_in(case.words)
    if not secret:
        return None
    reason = paths.WHY_DENIED.format(secret)
    if case.missing:  # not a secret; a model that knows it is missing looks elsewhere
        reason = f"there is no file {case.missing!r}, and {reason}"
    return Verdict(Decision.DENY, reason, rule=f"secrets: {secret}", source=_DEFAULT)


def _deny_reading(case: Case) -> Verdict | None:
    return _judge_reading(case, case.reach.refuses, Decision.DENY)


def _ask_about_reading(case: Case) -> Verdict | None:
    return _judge_reading(case, case.reach.asks, Decision.ASK)


def _judge_reading(
    case: Case, question: "Callable[[ResolvedPath], str]", decision: Decision
) -> Verdict | None:
    """Judge a tool that reads, or a command, by what all policies say about the paths it names."""
    resolved: Iterable[ResolvedPath] = ()
    if case.tool.is_read_only:
        resolved = case.paths
    elif len(case.paths) > 1:  # a file that is moved or copied can be read afterwards
        resolved = [path for path in case.paths if path.exists]
    elif case.started and not case.is_safe:  # a safe one reads only what all may read
        resolved = case.places
    if reason := next(filter(None, map(question, resolved)), ""):
        return Verdict(decision, reason, rule=reason, source=f"{_TABLE}.{decision}")
    return None


def _deny_in_plan(case: Case) -> Verdict | None:
    if case.mode != Mode.PLAN or case.tool.is_read_only:
        return None
    # A tool that only calls others is judged by their calls, unless it asks for consent itself.
    if ANY_TOOL in case.tool.composed_of and not _wants_consent(case):
        return None
    if case.command and case.is_safe:
        return None
    deeds = [deed for effect, deed in _DEEDS.items() if effect in case.tool.effects]
    effects = f"{case.call.name} {' and '.join(deeds) or _UNDECLARED}"
    reason = f"plan mode is read-only; {command_steps.unknown_part(case) or effects}"
    return Verdict(Decision.DENY, reason, source="mode plan")


def _ask_by_rule(case: Case) -> Verdict | None:
    return _apply_rules(case, case.settings.asking, Decision.ASK)


def _ask_when_unsure(case: Case) -> Verdict | None:
    if not case.started or not case.text.is_computed:
        return None
    for book, kind in ((case.settings.denying, "deny"), (case.settings.asking, "ask")):
        for rule in book.forbidding(case):
            if fitting.forbids(rule, case) is Match.MAYBE:
                why = "a part of the command is computed only when it runs"
                if rule.words and case.text.copies(rule.words[0]):
                    why = "it may give the program another name"
                reason = f"the rule {rule.text!r} may be about it: {why}, so it needs your approval"
                return _verdict(rule, case, Decision.ASK, reason, kind)
    return None


def _allow_by_rule(case: Case) -> Verdict | None:
    candidates = case.settings.allowing.of_tool(case)
    for rule in candidates:
        if rule.fits_any or (case.call.name != SHELL and fitting.allows(rule, case)):
            return command_steps.verdict_of_rule(rule)
    return command_steps.allow_by_rules(case, candidates)


def _allow_calling(case: Case) -> Verdict | None:
    if ANY_TOOL not in case.tool.composed_of:
        return None
    return Verdict(Decision.ALLOW, "each of its calls is judged by itself", source=_DEFAULT)


def _ask_to_confirm(case: Case) -> Verdict | None:
    if case.mode == Mode.AUTO or not _wants_consent(case):
        return None
    return Verdict(Decision.ASK, f"{case.call.name} needs these arguments confirmed", source="tool")


def _wants_consent(case: Case) -> bool:
    confirm = case.tool.confirm
    return confirm is not None and confirm(case.call.arguments)


def _allow_in_sandbox(case: Case) -> Verdict | None:
    settings = case.settings
    if settings.sandboxed != "allow" or settings.only_managed_allow or not case.started:
        return None
    if not (inside := case.session.sandbox):
        return None
    reason = f"it runs in the sandbox {inside}"
    return Verdict(Decision.ALLOW, reason, source=f"{_TABLE}.sandboxed", sandbox=True)


def _allow_in_auto(case: Case) -> Verdict | None:
    if case.mode != Mode.AUTO:
        return None
    return Verdict(Decision.ALLOW, "mode auto does not ask", source="mode auto")


def _allow_safe(case: Case) -> Verdict | None:
    tool = case.tool
    if tool.risk is not Risk.SAFE or not tool.effects or tool.effects & _REACHES_OUT:
        return None
    if Effect.WRITE in tool.effects and case.paths:
        return None
    return Verdict(Decision.ALLOW, f"{tool.name} is rated safe", source=_DEFAULT)


def _allow_edits(case: Case) -> Verdict | None:
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


def _ask(case: Case) -> Verdict:
    from nanocoder_policy_rules.grants import granted, offers  # most calls are decided before

    # An administrator who leaves no rule of `allow` to users leaves no grant either.
    offered = () if case.settings.only_managed_allow else offers(case)
    return granted(case, offered) or _ask_by_mode(case, offered)


def _ask_by_mode(case: Case, offered: tuple[str, ...]) -> Verdict:
    cause = command_steps.unknown_part(case) or f"{case.tool.name} {_rating(case.tool)}"
    reason = f"{cause}, so mode {case.mode} needs your approval"
    return Verdict(Decision.ASK, reason, source=f"mode {case.mode}", grants=offered)


def _rating(tool: "Tool[..., Any]") -> str:
    if tool.risk is Risk.SAFE and Effect.NETWORK in tool.effects:
        return "reaches the network"
    return f"is rated {tool.risk}" if tool.effects else _UNDECLARED


_STEPS: tuple[Callable[[Case], Verdict | None], ...] = (
    _deny_by_rule,
    command_steps.deny_damage,
    _deny_secret,
    _deny_reading,
    _deny_in_plan,
    needs_person,
    _ask_by_rule,
    _ask_about_reading,
    _ask_when_unsure,
    ask_when_unproven,
    _allow_by_rule,
    command_steps.ask_about_lasting,
    _ask_to_confirm,
    _allow_calling,
    command_steps.allow_reading,
    ask_about_history,
    _allow_in_sandbox,
    _allow_in_auto,
    _allow_safe,
    _allow_edits,
)


def _apply_rules(case: Case, book: RuleBook, decision: Decision) -> Verdict | None:
    for rule in book.forbidding(case):
        if fitting.forbids(rule, case) is Match.YES:
            verb = "forbids it" if decision is Decision.DENY else "needs your approval"
            reason = f"the rule {rule.text!r} {verb}"
            return _verdict(rule, case, decision, reason, str(decision))
    if (changed := rule_for_changes(book, case)) is None:
        return None
    reason = f"the rule {changed.text!r} is about a file that the command changes"
    return _verdict(changed, case, decision, reason, str(decision))


def _verdict(rule: Rule, case: Case, decision: Decision, reason: str, kind: str) -> Verdict:
    asks_inside_composed = decision is Decision.ASK and case.settings.ask_in_steps
    return Verdict(
        decision,
        f"{rule.reason} ({reason})" if rule.reason else reason,
        rule.text,
        rule.source(f"{_TABLE}.{kind}"),
        asks_inside_composed=asks_inside_composed,
    )
