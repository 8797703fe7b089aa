"""The five calling styles: pluggy collects implementations, this decides what they mean.

Plain pluggy lets any plugin overrule a policy and one failing implementation loses all results;
here each implementation is called by itself, in the order of the plugins' names, and each style
says what a failure means. Hooks that a session waits for have a deadline.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

from nanocoder_schema import (
    canonical_json,
    copy_arguments,
    evolve,
    json_problem,
    problem_of,
    text_of_error,
    value,
    wrong_field,
)

from nanocoder.cancel import LateError, run_with_deadline
from nanocoder.errors import BadArguments, PluginError
from nanocoder.tools.tool import ANY_TOOL, Tool
from nanocoder.values import Decision, Risk, ToolCall, Verdict

T = TypeVar("T")
Report = Callable[[PluginError], None]

DEADLINES_S: Mapping[str, float] = {
    "nanocoder_select_provider": 10.0,
    "nanocoder_event": 5.0,
    "nanocoder_prompt": 10.0,
    "nanocoder_before_request": 30.0,
    "nanocoder_readable": 5.0,
    "nanocoder_before_execute": 5.0,
    "nanocoder_after_execute": 30.0,
}
"""How long one plugin may take. The others wait for a person, a model, or have their own limit."""

OF_PLUGIN = frozenset({"settings", "resource"})
"""Arguments that each plugin has of its own; the caller passes functions of the plugin's name."""

MAX_REWRITES = 8
"""How often policies may rewrite the arguments of one call before it is refused."""
STRICTNESS = {Decision.ABSTAIN: -1, Decision.ALLOW: 0, Decision.ASK: 1, Decision.DENY: 2}


@value(eq=False)
class Implementation:
    """One plugin's function for one hook, and the names of the arguments that it takes.

    *events* are the kinds of events that it wants to hear of; none means all.
    """

    plugin: str
    hook: str
    function: Callable[..., Any]
    parameters: tuple[str, ...] = ()
    events: Collection[str] = ()

    def __call__(self, arguments: Mapping[str, Any]) -> Any:
        """Call it with those of *arguments* that it takes."""
        named = {
            name: arguments[name](self.plugin) if name in OF_PLUGIN else arguments[name]
            for name in self.parameters
        }
        return self.function(**named)

    def error(self, problem: object) -> PluginError:
        """Name the plugin and the hook in a problem."""
        return PluginError(self.plugin, f"{self.hook} failed: {problem}")


def attempt(implementation: Implementation, arguments: Mapping[str, Any]) -> Any:
    """Call one implementation.

    Whatever goes wrong, a call of sys.exit or a missed deadline included, is a PluginError.
    """
    limit_s = DEADLINES_S.get(implementation.hook)
    try:
        if limit_s is None:
            return implementation(arguments)
        return run_with_deadline(partial(implementation, arguments), limit_s)
    except LateError as error:
        late = implementation.error(error)
        late.is_late = True
        raise late from error
    # A person's Ctrl-C is no fault of the plugin that runs just then.
    except (KeyboardInterrupt, PluginError):
        raise
    except BaseException as error:
        raise implementation.error(problem_of(error, implementation.function.__module__)) from error


def collect(
    implementations: Iterable[Implementation],
    report: Report,
    arguments: Mapping[str, Any],
    expected: type[T],
) -> list[tuple[str, T]]:
    """Return what each plugin contributes, beside its name; None contributes nothing.

    A failure, or what is not *expected*, is reported and contributes nothing either.
    """
    return list(_answers(implementations, report, arguments, expected))


def choose(
    implementations: Iterable[Implementation],
    report: Report,
    arguments: Mapping[str, Any],
    expected: type[T] | tuple[type[T], ...],
) -> T | None:
    """Return the first answer; an answer of another type than *expected* is a failure."""
    return next((it for _, it in _answers(implementations, report, arguments, expected)), None)


def tell(
    implementations: Iterable[Implementation], report: Report, arguments: Mapping[str, Any]
) -> None:
    """Let everybody know; a failure is reported and changes nothing."""
    collect(implementations, report, arguments, object)


def _answers(
    implementations: Iterable[Implementation],
    report: Report,
    arguments: Mapping[str, Any],
    expected: type[T] | tuple[type[T], ...],
) -> Iterator[tuple[str, T]]:
    """Ask one plugin after the other, as long as the caller wants another answer."""
    for implementation in implementations:
        try:
            value = attempt(implementation, arguments)
            if value is not None and not isinstance(value, expected):
                raise implementation.error(wrong_type(value, expected))
        except PluginError as error:
            report(error)
            continue
        if value is not None:
            yield implementation.plugin, value


class Judgement(NamedTuple):
    """The verdict on *call*, the *votes* that it was made from, and who rewrote the call.

    *rewritten_by* names the plugins in their order; it is empty where the call is as it came.
    """

    call: ToolCall
    verdict: Verdict
    votes: Sequence[Verdict]
    rewritten_by: str = ""

    @property
    def is_plain_allow(self) -> bool:
        """Tell whether the call may run just as it is."""
        return self.verdict.decision is Decision.ALLOW and not self.rewritten_by


def judge_call(
    policies: Sequence[Implementation], report: Report, context: Mapping[str, Any], call: ToolCall
) -> Judgement:
    """Judge *call*; one that a policy rewrites is checked and judged again, never more loosely.

    Every policy is heard. One that fails denies; None is no opinion, and if no policy has one that
    decides, there is a default. *context* has the other arguments of the hook, the tool among them.
    """
    votes, rewriters, plugin = list[Verdict](), list[str](), ""
    problem = f"still changes the arguments after {MAX_REWRITES} changes"
    for _ in range(MAX_REWRITES):
        # A copy: what is asked about, and its digest, stay as they are whatever a plugin does.
        copied = evolve(call, arguments=copy_arguments(call.arguments))
        answers = [_verdict_of(policy, report, {**context, "call": copied}) for policy in policies]
        latest = [verdict for verdict in answers if verdict is not None]
        if all(vote.decision is Decision.ABSTAIN for vote in latest):
            latest.append(_default_verdict(call, context["tool"]))
        # Those of every round count: a rewrite does not shake off a denial, or a question.
        votes += latest
        verdict, change = join(votes), _rewriting(latest, call)
        if verdict.decision is Decision.DENY or change is None:
            return Judgement(call, verdict, votes, ", ".join(rewriters))
        plugin, arguments = change.plugin, copy_arguments(change.arguments or {})
        try:
            context["tool"].signature.check(arguments)
        except BadArguments as error:
            problem = f"made wrong arguments: {error}"
            break
        call = evolve(call, arguments=arguments, edited=True)
        rewriters.append(plugin)
    denial = Verdict(Decision.DENY, f"policy {plugin!r} {problem}", plugin=plugin)
    return Judgement(call, denial, [*votes, denial])


def _default_verdict(call: ToolCall, tool: Tool[..., Any]) -> Verdict:
    if tool.is_read_only and tool.risk is Risk.SAFE and not tool.wants_consent(call.arguments):
        return Verdict(Decision.ALLOW, "a safe tool that only reads", source="default")
    if ANY_TOOL in tool.composed_of:
        return Verdict(Decision.ALLOW, "each call inside it is judged on its own", source="default")
    reason = "no policy is installed, so everything except safe reading needs your approval"
    return Verdict(Decision.ASK, reason, source="default")


def join(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the strictest of *verdicts* with the obligations of all, whatever their order.

    A question has the remarks of those who abstain.
    """
    # By name, so that of two that are equally strict the same one counts each time.
    ranked = sorted(verdicts, key=attrgetter("plugin"))
    strictest = max(ranked, key=_strictness)
    remarks = [each.reason for each in ranked if each.decision is Decision.ABSTAIN]
    reasons = [strictest.reason, *(remarks if strictest.decision is Decision.ASK else ())]
    sandbox = any(verdict.sandbox for verdict in verdicts)
    persons = max(verdict.persons for verdict in verdicts)
    grants = () if persons > 1 else strictest.grants  # no rule stands in for a second person
    joined = evolve(strictest, arguments=None, sandbox=sandbox, persons=persons, grants=grants)
    return evolve(joined, reason="; ".join(dict.fromkeys(filter(None, reasons))))


def _strictness(verdict: Verdict) -> tuple[int, bool, bool, bool]:
    """Rank verdicts; an ask that comes from a rule outranks a default ask."""
    asks = verdict.decision is Decision.ASK
    inside = asks and verdict.asks_inside_composed
    by_rule = asks and bool(verdict.rule)
    return STRICTNESS[verdict.decision], inside, by_rule, not verdict.covers_steps


def _rewriting(verdicts: Iterable[Verdict], call: ToolCall) -> Verdict | None:
    """Return the verdict whose arguments replace those of *call*, the first by its plugin's name.

    The others have their turn when the call is judged again.
    """
    now = canonical_json(dict(call.arguments))
    rewriting = (verdict for verdict in verdicts if verdict.arguments is not None)
    changes = (it for it in rewriting if canonical_json(dict(it.arguments or {})) != now)
    return min(changes, key=attrgetter("plugin"), default=None)


def _verdict_of(
    implementation: Implementation, report: Report, arguments: Mapping[str, Any]
) -> Verdict | None:
    plugin = implementation.plugin
    try:
        value = attempt(implementation, arguments)
        if value is None:
            return None
        if not isinstance(value, Verdict) or not isinstance(value.decision, Decision):
            raise implementation.error(wrong_type(value, Verdict))
        if problem := wrong_field(value) or json_problem(value.arguments, objects=Mapping):
            raise implementation.error(f"returned a wrong Verdict: {problem}")
    except PluginError as error:
        report(error)
        # A policy that breaks never opens the gate.
        return Verdict(Decision.DENY, f"policy {plugin!r} failed: {_cause(error)}", plugin=plugin)
    # Several people can agree only if they are asked.
    is_ask = value.decision is not Decision.DENY and value.persons > 1
    return evolve(value, plugin=plugin, decision=Decision.ASK if is_ask else value.decision)


def _cause(error: PluginError) -> str:
    cause = error.__cause__
    return error.problem if cause is None else text_of_error(cause) or type(cause).__name__


def chain(
    implementations: Iterable[Implementation],
    arguments: Mapping[str, Any],
    subject: str,
    expected: type[T],
    refuse: Callable[[T], None] = lambda _value: None,
) -> T:
    """Pass the argument named *subject* through all; None leaves it as it is.

    *refuse* raises TypeError for a value that is not sound. Raises PluginError at the first
    failure.
    """
    current: T = arguments[subject]
    for implementation in implementations:
        value = attempt(implementation, {**arguments, subject: current})
        if value is None:
            continue
        if not isinstance(value, expected):
            raise implementation.error(wrong_type(value, expected))
        try:
            refuse(value)
        except TypeError as error:
            raise implementation.error(error) from error
        current = value
    return current


def wrong_type(value: object, expected: type | tuple[type, ...]) -> str:
    """Say what came instead of what the hook returns."""
    names = [each.__name__ for each in (expected if isinstance(expected, tuple) else (expected,))]
    return f"returned {type(value).__name__}, expected {' or '.join(names)}"
