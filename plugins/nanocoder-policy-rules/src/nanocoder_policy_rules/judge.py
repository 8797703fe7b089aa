"""The steps of judging a call in their order: what forbids comes first, what allows last.

A command in a sandbox is held by the kernel, so it needs no question; what asks for more than the
sandbox gives is asked about. Without one, only a short list of commands runs unasked.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from attrs import evolve
from nanocoder import Access, Decision, Effect, Mode, ProtectionKind, Risk, Verdict, one_line

from nanocoder_policy_rules import paths, rule_matching
from nanocoder_policy_rules.call_context import ANY_TOOL, REACHES_OUT, CallContext
from nanocoder_policy_rules.destruction import damage
from nanocoder_policy_rules.grants import granted, offers
from nanocoder_policy_rules.rule_matching import Match, allows
from nanocoder_policy_rules.rule_tables import RuleVerdict
from nanocoder_policy_rules.rules import SHELL
from nanocoder_policy_rules.unasked import (
    covering_rule,
    only_reads,
    why_not_covered,
    why_not_reading,
)

if TYPE_CHECKING:
    from nanocoder import ResolvedPath, SessionInfo, Tool, ToolCall

    from nanocoder_policy_rules.settings import Settings

_TABLE: Final = "plugins.policy-rules"
_DEFAULT: Final = "default"
_PROTECTED: Final = "protected names"
_NAMED_OFTEN: Final = frozenset((ProtectionKind.PROGRAM, ProtectionKind.REPOSITORY))
_STARTING_GIT: Final = frozenset(("hooks", "config", "config.worktree", "commondir"))
_DEEDS: Final = {Effect.WRITE: "writes", Effect.EXECUTE: "runs programs"}
_NEEDS: Final = "needs your approval"
_UNDECLARED: Final = "does not declare its effects"
_SHOWN_CHARS: Final = 60
_UNSURE: Final = (
    "a part of it is computed when it runs, an argument that may be run, or perhaps another"
    " spelling of the same option"
)


def judge(
    call: "ToolCall", tool: "Tool[..., Any]", session: "SessionInfo", settings: "Settings"
) -> Verdict:
    """Return the verdict of the first step that has one."""
    context, verdict = CallContext(call, tool, session, settings), None
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
    """Return True if a path is in the directory with the full outputs of this session."""
    outputs = context.session.outputs
    return outputs is not None and f"{path.place}/".startswith(f"{outputs}/")


def _deny_damage(context: CallContext) -> Verdict | None:
    if not context.settings.blocklist or not context.started:
        return None
    if not (deed := damage(context)):
        return None
    reason = f"blocked: this {deed} ({_TABLE}.blocklist)"
    return Verdict(Decision.DENY, reason, rule="blocklist", source=_DEFAULT)


def _deny_secret(context: CallContext) -> Verdict | None:
    names = [name for path in (*context.paths, *context.operands) for name in path.names]
    secret = paths.secret(names, *context.settings.secret_names) if names else ""
    if not secret:
        return None
    reason = paths.WHY_DENIED.format(secret)
    return Verdict(Decision.DENY, reason, rule=f"secrets: {secret}", source=_DEFAULT)


def _judge_reading(context: CallContext, decision: Decision) -> Verdict | None:
    """Judge a tool that reads, or a command, by what all policies say about the paths it names."""
    reads, readable = context.tool.is_read_only, context.session.readable
    question = readable.refuses if decision is Decision.DENY else readable.asks
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
        each for each in rules if not each.pattern or (not is_command and allows(each, context))
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
    reason = f"{what}: {one_line(why, _SHOWN_CHARS)}" if isinstance(why, str) and why else what
    return _ask(context, reason)


def _allow_by_default(context: CallContext) -> Verdict | None:
    """Allow what the sandbox holds, what only reads, and what the mode lets through."""
    tool, source = context.tool, _DEFAULT
    if ANY_TOOL in tool.composed_of:
        reason = "each of its calls is judged by itself"
    elif context.may_use_sandbox and _is_held_as_asked(context):
        what = "read-only" if context.access is Access.READ else "the workspace writable"
        reason, source = f"it runs in the sandbox {context.sandbox}, {what}", f"{_TABLE}.sandboxed"
    elif context.command and only_reads(context):
        reason = "a command that only reads"
    elif context.mode == Mode.AUTO and not context.lacks_sandbox:
        reason, source = "mode auto does not ask", "mode auto"
    elif _is_safe(context):
        reason = f"{tool.name} is rated safe"
    elif context.mode == Mode.EDITS and _only_edits(context):
        reason, source = "mode edits allows changes to files", "mode edits"
    else:
        return None
    return Verdict(Decision.ALLOW, reason, source=source)


def _is_held_as_asked(context: CallContext) -> bool:
    # A tool that has no argument for more access gets it at once, so in mode ask it is asked about.
    return context.call.name == SHELL or context.mode in {Mode.EDITS, Mode.AUTO}


def _is_safe(context: CallContext) -> bool:
    tool = context.tool
    is_harmless = bool(tool.effects) and not tool.effects & REACHES_OUT
    changes_paths = Effect.WRITE in tool.effects and context.paths
    return tool.risk is Risk.SAFE and is_harmless and not changes_paths


def _only_edits(context: CallContext) -> bool:
    """Return True if a call only changes files of the workspace, and destroys none."""
    tool, paths = context.tool, context.paths
    changes_files = Effect.WRITE in tool.effects and not tool.effects & REACHES_OUT
    is_inside = bool(paths) and all(path.is_inside for path in paths)
    return changes_files and is_inside and tool.risk is not Risk.DESTRUCTIVE


def _ask(context: CallContext, reason: str = "") -> Verdict:
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
    part = why_not_reading(context) or f"`{one_line(context.command, _SHOWN_CHARS)}`"
    if part.startswith("`"):
        return f"{one_line(part, _SHOWN_CHARS)} is not known to be read-only"
    return f"`{one_line(context.command, _SHOWN_CHARS)}` is not known to be read-only: {part}"


def _rating(tool: "Tool[..., Any]") -> str:
    if Effect.NETWORK in tool.effects and not tool.effects & {Effect.WRITE, Effect.EXECUTE}:
        return "reaches the network"
    return f"is rated {tool.risk}" if tool.effects else _UNDECLARED


_STEPS: tuple[Callable[[CallContext], Verdict | None], ...] = (
    partial(_apply_rules, kind="deny", match=Match.YES),
    _deny_damage,
    _deny_secret,
    partial(_judge_reading, decision=Decision.DENY),
    _deny_in_plan,
    _ask_about_protected,
    partial(_apply_rules, kind="ask", match=Match.YES),
    partial(_judge_reading, decision=Decision.ASK),
    _ask_about_unchangeable,
    # A rule that forbids may be about a command that cannot be read for certain.
    partial(_apply_rules, kind="deny", match=Match.MAYBE),
    partial(_apply_rules, kind="ask", match=Match.MAYBE),
    _allow_by_rule,
    _ask_about_lasting,
    _ask_to_confirm,
    _ask_to_leave,
    _allow_by_default,
)
