"""The steps of judging a call in their order: what forbids comes first, what allows last.

A command in a sandbox is held by the kernel, so it needs no question; what asks for more than the
sandbox gives is asked about. Without one, only a short list of commands runs unasked.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from attrs import evolve
from nanocoder import Access, Decision, Effect, Mode, ProtectionKind, Risk, Verdict

from nanocoder_policy_rules import paths, rule_matching
from nanocoder_policy_rules.call_context import ANY_TOOL, REACHES_OUT, CallContext
from nanocoder_policy_rules.rule_matching import Match, allows
from nanocoder_policy_rules.rule_tables import RuleVerdict
from nanocoder_policy_rules.rules import SHELL
from nanocoder_policy_rules.shell_text import clip_line
from nanocoder_policy_rules.unasked import (
    covering_rule,
    only_reads,
    why_not_covered,
    why_not_reading,
)

if TYPE_CHECKING:
    from nanocoder import ResolvedPath, Tool


_TABLE: Final = "plugins.policy-rules"
_DEFAULT: Final = "default"
_PROTECTED: Final = "protected names"
_NAMED_OFTEN: Final = frozenset((ProtectionKind.PROGRAM, ProtectionKind.REPOSITORY))
_STARTING_GIT: Final = frozenset(("hooks", "config", "config.worktree", "commondir"))
_DEEDS: Final = {Effect.WRITE: "writes", Effect.EXECUTE: "runs programs"}
_NEEDS: Final = "needs your approval"
_UNDECLARED: Final = "does not declare its effects"
_UNSURE: Final = (
    "a part of it is computed when it runs, an argument that may be run, or perhaps another"
    " spelling of the same option"
)


def judge(context: CallContext) -> Verdict:
    """Return the verdict of the first step that has one."""
    verdict = None
    for step in _STEPS:
        verdict = verdict or step(context)
    return _with_access(context, _with_path_outside(context, verdict or _ask(context)))


def _with_access(context: CallContext, verdict: Verdict) -> Verdict:
    if verdict.access is not None or verdict.decision is Decision.DENY:
        return verdict
    access = context.access
    if access is Access.READ and verdict.decision is Decision.ASK:
        access = Access.WRITE  # who is asked anyway is asked once
    return verdict if access is None else evolve(verdict, access=access)


def _with_path_outside(context: CallContext, verdict: Verdict) -> Verdict:
    """Say of a call that may run, or is asked about, that no tool opens a path outside."""
    if verdict.decision is Decision.DENY or context.started:
        return verdict
    outside = (path for path in context.paths if not path.is_inside)
    path = next((each for each in outside if not _is_output(context, each)), None)
    if path is None:
        return verdict
    problem = f"{path.names[0]!r} is outside the workspace, where tools for files open nothing"
    return evolve(verdict, reason=f"{verdict.reason}; but {problem}")


def _is_output(context: CallContext, path: "ResolvedPath") -> bool:
    """Tell whether a path is in the directory with the full outputs of this session."""
    outputs = context.session.outputs
    return outputs is not None and f"{path.place}/".startswith(f"{outputs}/")


def _deny_by_rule(context: CallContext) -> Verdict | None:
    return _apply_rules(context, "deny", Match.YES)


def _deny_damage(context: CallContext) -> Verdict | None:
    if not context.settings.blocklist or not context.started:
        return None
    from nanocoder_policy_rules.destruction import damage

    if not (deed := damage(context)):
        return None
    reason = f"blocked: this {deed} ({_TABLE}.blocklist)"
    return Verdict(Decision.DENY, reason, rule="blocklist", source=_DEFAULT)


def _deny_secret(context: CallContext) -> Verdict | None:
    settings = context.settings
    names = [name for path in (*context.paths, *context.operands) for name in path.names]
    secret = paths.secret(names, settings.all_secrets, settings.all_not_secrets) if names else ""
    if not secret:
        return None
    reason = paths.WHY_DENIED.format(secret)
    return Verdict(Decision.DENY, reason, rule=f"secrets: {secret}", source=_DEFAULT)


def _deny_reading(context: CallContext) -> Verdict | None:
    return _judge_reading(context, context.session.readable.refuses, Decision.DENY)


def _ask_about_reading(context: CallContext) -> Verdict | None:
    return _judge_reading(context, context.session.readable.asks, Decision.ASK)


def _judge_reading(
    context: CallContext, question: Callable[[str], str], decision: Decision
) -> Verdict | None:
    """Judge a tool that reads, or a command, by what all policies say about the paths it names."""
    reads = context.tool.is_read_only
    # A file that is moved or copied can be read afterwards.
    named = context.paths if reads or len(context.paths) > 1 else context.operands
    for path in named:
        is_asked = path.is_inside and (reads or path.exists) and not _is_output(context, path)
        if is_asked and (reason := question(path.path)):
            return Verdict(decision, reason, rule=reason, source=f"{_TABLE}.{decision}")
    return None


def _ask_about_unchangeable(context: CallContext) -> Verdict | None:
    """Ask where no sandbox keeps a command from a file that a rule keeps from being changed."""
    if not context.started or context.is_held or only_reads(context):
        return None
    for path in context.operands:
        if path.is_inside and (why := context.session.readable.why_read_only(path.path)):
            reason = f"{why}, and no sandbox keeps the command from {path.path!r}"
            return Verdict(Decision.ASK, reason, why, f"{_TABLE}.deny")
    return None


def _deny_in_plan(context: CallContext) -> Verdict | None:
    if context.mode != Mode.PLAN or context.tool.is_read_only:
        return None
    # A tool that only calls others is judged by their calls, unless it asks for consent itself.
    if ANY_TOOL in context.tool.composed_of and not _wants_consent(context):
        return None
    wants_more = context.requested in {Access.WRITE, Access.OUTSIDE}
    if context.command and not wants_more and (context.may_use_sandbox or only_reads(context)):
        return None
    deeds = [deed for effect, deed in _DEEDS.items() if effect in context.tool.effects]
    effects = f"{context.call.name} {' and '.join(deeds) or _UNDECLARED}"
    reason = f"plan mode is read-only; {_unknown_part(context) or effects}"
    return Verdict(Decision.DENY, reason, source="mode plan")


def _ask_about_protected(context: CallContext) -> Verdict | None:
    """Ask a person about files that decide what runs, even if a rule allows the call."""
    for path in () if context.tool.is_read_only else (*context.paths, *_protected_words(context)):
        if path.protection is not None:
            link = f", which leads to {path.path!r}," if path.path != path.names[0] else ""
            reason = f"{path.names[0]!r}{link} is protected: {path.protection.reason}"
            if context.mode is not Mode.AUTO:
                return Verdict(Decision.ASK, reason, _PROTECTED, _DEFAULT)
            reason = f"{reason}; only a person can approve it, and mode auto does not ask"
            return Verdict(Decision.DENY, reason, _PROTECTED, _DEFAULT)
    return None


def _protected_words(context: CallContext) -> "Iterator[ResolvedPath]":
    """Yield the protected files that a command names, where no sandbox keeps them from it."""
    if not context.started or only_reads(context):
        return
    for path in context.operands:
        kind = path.protection.kind if path.protection else ProtectionKind.PROGRAM
        # Commands often name `.git` to leave it out, and installed programs to run them.
        is_of_git = kind is ProtectionKind.GIT and _STARTING_GIT.isdisjoint(path.path.split("/"))
        if kind not in _NAMED_OFTEN and not is_of_git:
            yield path


def _ask_by_rule(context: CallContext) -> Verdict | None:
    return _apply_rules(context, "ask", Match.YES)


def _ask_when_unsure(context: CallContext) -> Verdict | None:
    """Ask where a rule that forbids may be about a command that cannot be read for certain."""
    return _apply_rules(context, "deny", Match.MAYBE) or _apply_rules(context, "ask", Match.MAYBE)


def _apply_rules(context: CallContext, kind: RuleVerdict, match: Match) -> Verdict | None:
    """Judge by the first rule of a *kind* that matches so certainly; one that may match asks."""
    for rule, how_certain in rule_matching.matches(context, kind):
        if how_certain is not match:
            continue
        decision, problem = Decision(kind), "forbids it" if kind == "deny" else _NEEDS
        if match is Match.MAYBE:
            decision, why = Decision.ASK, context.script.problem or _UNSURE
            problem = f"may be about it: {why}, so it {_NEEDS}"
        reason = f"the rule {rule.text!r} {problem}"
        return Verdict(
            decision,
            f"{rule.table.reason} ({reason})" if rule.table.reason else reason,
            rule.text,
            rule.source(f"{_TABLE}.{kind}"),
            asks_inside_composed=decision is Decision.ASK and context.settings.ask_in_steps,
        )
    return None


def _allow_by_rule(context: CallContext) -> Verdict | None:
    rules = rule_matching.rules_in_force(context, "allow")
    is_command = context.call.name == SHELL
    fitting = (
        each for each in rules if each.fits_any or (not is_command and allows(each, context))
    )
    rule = next(fitting, None) or (covering_rule(rules, context) if is_command else None)
    if rule is None:
        return None
    verdict = Verdict(
        Decision.ALLOW,
        f"allowed by the rule {rule.text!r}",
        rule.text,
        rule.source(f"{_TABLE}.allow"),
        # A rule for some paths or arguments does not cover the commands among a call's steps.
        covers_steps=rule.is_bare,
    )
    # What a rule allows may change the workspace without being asked for that a second time.
    writes = context.access is Access.READ and context.mode != Mode.PLAN
    return evolve(verdict, access=Access.WRITE) if writes else verdict


def _ask_about_lasting(context: CallContext) -> Verdict | None:
    """Ask in every mode about what others see at once."""
    words = rule_matching.lasting(context.script) if context.started else ""
    if not words:
        return None
    advice = f'allow = ["bash({words} *)"] in {_TABLE} allows it'
    reason = f"this is seen by others at once, which needs your approval in every mode; {advice}"
    access = Access.OUTSIDE if context.sandbox else None
    return Verdict(Decision.ASK, reason, "lasting commands", _DEFAULT, access=access)


def _allow_calling(context: CallContext) -> Verdict | None:
    if ANY_TOOL not in context.tool.composed_of:
        return None
    return Verdict(Decision.ALLOW, "each of its calls is judged by itself", source=_DEFAULT)


def _ask_to_confirm(context: CallContext) -> Verdict | None:
    if context.mode == Mode.AUTO or not _wants_consent(context):
        return None
    reason = f"{context.call.name} needs these arguments confirmed"
    return Verdict(Decision.ASK, reason, source="tool")


def _wants_consent(context: CallContext) -> bool:
    confirm = context.tool.confirm
    return confirm is not None and confirm(context.call.arguments)


def _ask_to_leave(context: CallContext) -> Verdict | None:
    """Ask before a command runs outside of its sandbox, or writes where the mode only reads."""
    access = context.access
    if context.call.typed or access is None or context.requested is None:
        return None
    if access is Access.OUTSIDE:
        what = f"it asks to run once outside the sandbox ({context.sandbox})"
    elif access is Access.WRITE and context.mode == Mode.ASK:
        what = "it asks to change files of the workspace, inside the sandbox"
    else:
        return None
    why = context.call.arguments.get("reason")
    reason = f"{what}: {clip_line(why)}" if isinstance(why, str) and why else what
    return _ask(context, reason)


def _allow_in_sandbox(context: CallContext) -> Verdict | None:
    # A tool that has no argument for more access gets it at once, so in mode ask it is asked about.
    is_for_mode = context.call.name == SHELL or context.mode in {Mode.EDITS, Mode.AUTO}
    if not context.may_use_sandbox or not is_for_mode:
        return None
    what = "read-only" if context.access is Access.READ else "the workspace writable"
    reason = f"it runs in the sandbox {context.sandbox}, {what}"
    return Verdict(Decision.ALLOW, reason, source=f"{_TABLE}.sandboxed")


def _allow_reading(context: CallContext) -> Verdict | None:
    if not context.command or not only_reads(context):
        return None
    return Verdict(Decision.ALLOW, "a command that only reads", source=_DEFAULT)


def _allow_in_auto(context: CallContext) -> Verdict | None:
    if context.mode != Mode.AUTO or context.lacks_sandbox:
        return None
    return Verdict(Decision.ALLOW, "mode auto does not ask", source="mode auto")


def _allow_safe(context: CallContext) -> Verdict | None:
    tool = context.tool
    if tool.risk is not Risk.SAFE or not tool.effects or tool.effects & REACHES_OUT:
        return None
    if Effect.WRITE in tool.effects and context.paths:
        return None
    return Verdict(Decision.ALLOW, f"{tool.name} is rated safe", source=_DEFAULT)


def _allow_edits(context: CallContext) -> Verdict | None:
    tool = context.tool
    changes_files = Effect.WRITE in tool.effects and not tool.effects & REACHES_OUT
    if context.mode != Mode.EDITS or not changes_files or tool.risk is Risk.DESTRUCTIVE:
        return None
    if not context.paths or not all(path.is_inside for path in context.paths):
        return None
    return Verdict(Decision.ALLOW, "mode edits allows changes to files", source="mode edits")


def _ask(context: CallContext, reason: str = "") -> Verdict:
    from nanocoder_policy_rules.grants import granted, offers  # most calls are decided before

    # An administrator who leaves no rule of `allow` to users leaves no grant either.
    offered = () if context.settings.only_managed_allow else offers(context)
    if verdict := granted(context, offered):
        return verdict
    if not reason:
        cause = _unknown_part(context) or f"{context.tool.name} {_rating(context.tool)}"
        reason = f"{cause}, so mode {context.mode} needs your approval"
    if context.command and (rules := rule_matching.rules_in_force(context, "allow")):
        uncovered = why_not_covered(rules, context)
        reason = f"{reason}; {uncovered}" if uncovered else reason
    return Verdict(Decision.ASK, reason, source=f"mode {context.mode}", grants=offered)


def _unknown_part(context: CallContext) -> str:
    """Return the part of a command that keeps it from running unasked, "" without a command."""
    if not context.command:
        return ""
    part = why_not_reading(context) or f"`{clip_line(context.command)}`"
    if part.startswith("`"):
        return f"{clip_line(part)} is not known to be read-only"
    return f"`{clip_line(context.command)}` is not known to be read-only: {part}"


def _rating(tool: "Tool[..., Any]") -> str:
    if Effect.NETWORK in tool.effects and not tool.effects & {Effect.WRITE, Effect.EXECUTE}:
        return "reaches the network"
    return f"is rated {tool.risk}" if tool.effects else _UNDECLARED


_STEPS: tuple[Callable[[CallContext], Verdict | None], ...] = (
    _deny_by_rule,
    _deny_damage,
    _deny_secret,
    _deny_reading,
    _deny_in_plan,
    _ask_about_protected,
    _ask_by_rule,
    _ask_about_reading,
    _ask_about_unchangeable,
    _ask_when_unsure,
    _allow_by_rule,
    _ask_about_lasting,
    _ask_to_confirm,
    _ask_to_leave,
    _allow_calling,
    _allow_in_sandbox,
    _allow_reading,
    _allow_in_auto,
    _allow_safe,
    _allow_edits,
)
