"""The five calling styles: pluggy collects implementations, this module combines their answers.

Plain pluggy lets any plugin overrule a policy and one failing implementation loses all results;
here each implementation is called by itself, in the order of the plugins' names, and each style
says what a failure means. Hooks that a session waits for have a deadline.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple, TypeVar

from nanocoder_schema import (
    BadArguments,
    canonical_json,
    copy_arguments,
    evolve,
    json_problem,
    problem_of,
    text_of_error,
    value,
    wrong_field,
)

from nanocoder.cancel import LateError, outcome_of, run_each
from nanocoder.errors import PluginError
from nanocoder.tools.tool import ANY_TOOL, Tool
from nanocoder.values import Access, Decision, Risk, ToolCall, Verdict, strictest_access

T = TypeVar("T")
Report = Callable[[PluginError], None]
Arguments = Mapping[str, Any]
Kinds = type[T] | tuple[type[T], ...]

WAITED_FOR = "select_provider event prompt before_request readable before_execute after_execute"
DEADLINES_S: Mapping[str, float] = {f"nanocoder_{hook}": 60.0 for hook in WAITED_FOR.split()}
"""Seconds that one plugin may take: on a busy machine a write to the disk takes seconds.

The other hooks wait for a person, a model, or have their own limit.
"""

OF_PLUGIN = frozenset({"settings", "resource"})
"""Arguments that differ by plugin; the caller passes functions of the plugin's name."""

MAX_REWRITES = 8
"""The most rewrites of one call's arguments by policies before it is refused."""
STRICTNESS = {Decision.ABSTAIN: -1, Decision.ALLOW: 0, Decision.ASK: 1, Decision.DENY: 2}


@value(eq=False)
class Implementation:
    """One plugin's function for one hook, and the names of the arguments that it takes.

    *events* are the kinds of events that it is called for; none means all.
    """

    plugin: str
    hook: str
    function: Callable[..., Any]
    parameters: tuple[str, ...] = ()
    events: Collection[str] = ()

    def __call__(self, arguments: Arguments, expected: Kinds[Any] = object) -> Any:
        """Call the function with those of *arguments* that it takes, and return its answer or None.

        Raises: PluginError if the answer is not *expected*.
        """
        named = {name: arguments[name] for name in self.parameters}
        for name in OF_PLUGIN & named.keys():
            named[name] = named[name](self.plugin)
        answer = self.function(**named)
        if answer is None or isinstance(answer, expected):
            return answer
        kinds = expected if isinstance(expected, tuple) else (expected,)
        names = " or ".join(kind.__name__ for kind in kinds)
        raise self.error(f"returned {type(answer).__name__}, expected {names}")

    def error(self, problem: object) -> PluginError:
        """Return a PluginError that names the plugin and the hook."""
        return PluginError(self.plugin, f"{self.hook} failed: {problem}")


Implementations = Iterable[Implementation]


def attempt(implementation: Implementation, arguments: Arguments) -> Any:
    """Call one implementation and return its answer; raises PluginError if it fails."""
    [(_, answer, failure)] = attempt_each([implementation], lambda hook: hook(arguments))
    if failure is not None:
        raise failure
    return answer


def attempt_each(
    implementations: Implementations, call: Callable[[Implementation], T]
) -> Iterator[tuple[Implementation, T | None, PluginError | None]]:
    """Yield each implementation of a hook with the result of *call* for it, or its failure.

    Every failure, including sys.exit and a missed deadline, becomes a PluginError. If the hook has
    a deadline, the calls run in order on one other thread.
    """
    waiting = list(implementations)
    while waiting:
        limit_s = DEADLINES_S.get(waiting[0].hook)
        works = [partial(call, implementation) for implementation in waiting]
        for answer, error in run_each(works, limit_s) if limit_s else [outcome_of(works[0])]:
            implementation = waiting.pop(0)
            failure = None if error is None else _failure_of(implementation, error)
            yield implementation, answer, failure


def _failure_of(implementation: Implementation, error: BaseException) -> PluginError:
    if isinstance(error, PluginError):
        return error
    # On the main thread it may be a person's Ctrl-C, which is no failure of the running plugin.
    if isinstance(error, KeyboardInterrupt) and implementation.hook not in DEADLINES_S:
        where = f"in {implementation.hook} of plugin {implementation.plugin!r}"
        raise KeyboardInterrupt(where) from error
    failure = implementation.error(problem_of(error, implementation.function.__module__))
    failure.__cause__ = error
    return failure


def collect(
    implementations: Implementations, report: Report, arguments: Arguments, expected: Kinds[T]
) -> list[tuple[str, T]]:
    """Return (plugin, answer) for each answer that is not None; for "tell" nobody reads them.

    A failure, or an answer that is not *expected*, is reported and left out.
    """
    answers = []
    call = partial(Implementation.__call__, arguments=arguments, expected=expected)
    for implementation, answer, failure in attempt_each(implementations, call):
        if failure is not None:
            report(failure)
        elif answer is not None:
            answers.append((implementation.plugin, answer))
    return answers


def choose(
    implementations: Implementations, report: Report, arguments: Arguments, expected: Kinds[T]
) -> T | None:
    """Return the first answer; an answer of another type than *expected* is a failure."""
    # In order: the next plugin is called only if this one has no answer.
    for each in implementations:
        if answers := collect([each], report, arguments, expected):
            return answers[0][1]
    return None


class Judgement(NamedTuple):
    """The verdict on *call*, the *votes* it was made from, and the plugins that rewrote the call.

    *rewritten_by* names these in their order; it is empty if the call is unchanged.
    """

    call: ToolCall
    verdict: Verdict
    votes: Sequence[Verdict]
    rewritten_by: str = ""

    @property
    def is_plain_allow(self) -> bool:
        """Return True if the call may run with its own arguments."""
        return self.verdict.decision is Decision.ALLOW and not self.rewritten_by


def judge_call(
    policies: Sequence[Implementation], report: Report, context: Arguments, call: ToolCall
) -> Judgement:
    """Judge *call*; one that a policy rewrites is checked and judged again, never more loosely.

    All policies are called. A failing one denies; None is no opinion, and if no policy decides, a
    default counts. *context* has the other arguments of the hook, the tool among them.
    """
    votes, rewriters = list[Verdict](), list[str]()
    problem = f"still changes the arguments after {MAX_REWRITES} changes"
    for _ in range(MAX_REWRITES):
        # A copy: a plugin must not change the call that is shown, nor its digest.
        copied = evolve(call, arguments=copy_arguments(call.arguments))
        vote_of = partial(_vote_of, {**context, "call": copied})
        answers = (
            vote if failure is None else _denial(policy, report, failure)
            for policy, vote, failure in attempt_each(policies, vote_of)
        )
        latest = [verdict for verdict in answers if verdict is not None]
        if all(vote.decision is Decision.ABSTAIN for vote in latest):
            latest.append(_default_verdict(call, context["tool"]))
        # Verdicts of every round count: a rewrite cancels neither a denial nor a question.
        votes += latest
        verdict, change = join(votes), _rewriting(latest, call)
        if verdict.decision is Decision.DENY or change is None:
            return Judgement(call, verdict, votes, ", ".join(rewriters))
        plugin, arguments = change[0], copy_arguments(change[1])
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
    """Return the strictest of *verdicts* with the obligations of all; their order is irrelevant.

    A question includes the remarks of policies that abstain.
    """
    # Sorted by name: of two equally strict ones the same counts each time.
    ranked = sorted(verdicts, key=attrgetter("plugin"))
    strictest = max(ranked, key=_strictness)
    remarks = [each.reason for each in ranked if each.decision is Decision.ABSTAIN]
    reasons = [strictest.reason, *(remarks if strictest.decision is Decision.ASK else ())]
    access = strictest_access(it.processes for it in verdicts)
    sandbox, persons = access in (Access.READ, Access.WRITE), max(it.persons for it in verdicts)
    grants = () if persons > 1 else strictest.grants  # a rule cannot replace a second person
    joined = {"sandbox": sandbox, "persons": persons, "grants": grants, "access": access}
    joined["reason"] = "; ".join(dict.fromkeys(filter(None, reasons)))
    return evolve(strictest, arguments=None, **joined)  # type: ignore[arg-type]


def _strictness(verdict: Verdict) -> tuple[int, bool, bool, bool]:
    """Rank verdicts; an ask that comes from a rule outranks a default ask."""
    asks, by_rule = verdict.decision is Decision.ASK, bool(verdict.rule)
    inside = asks and verdict.asks_inside_composed
    return STRICTNESS[verdict.decision], inside, asks and by_rule, not verdict.covers_steps


def _rewriting(verdicts: Iterable[Verdict], call: ToolCall) -> tuple[str, Mapping[str, Any]] | None:
    """Return (plugin, new arguments) of the first plugin by name that rewrites *call*, or None.

    The others have their turn when the call is judged again.
    """
    now = canonical_json(dict(call.arguments))
    rewriting = ((it.plugin, it.arguments) for it in verdicts if it.arguments is not None)
    changes = (each for each in rewriting if canonical_json(dict(each[1])) != now)
    return min(changes, key=itemgetter(0), default=None)


def _vote_of(arguments: Arguments, policy: Implementation) -> Verdict | None:
    value: Verdict | None = policy(arguments, Verdict)
    if value is None:
        return None
    if problem := wrong_field(value) or json_problem(value.arguments, objects=Mapping):
        raise policy.error(f"returned a wrong Verdict: {problem}")
    # Several people can approve only if they are asked.
    is_ask = value.decision is not Decision.DENY and value.persons > 1
    return evolve(value, plugin=policy.plugin, decision=Decision.ASK if is_ask else value.decision)


def _denial(policy: Implementation, report: Report, error: PluginError) -> Verdict:
    """Return the verdict of a failed policy: deny, or ask after a timeout.

    A busy machine must not deny a call that a person would approve.
    """
    report(error)
    decision = Decision.ASK if isinstance(error.__cause__, LateError) else Decision.DENY
    return Verdict(decision, why_closed(error), plugin=policy.plugin)


def why_closed(error: PluginError) -> str:
    """Return the reason of a denial by a policy that failed."""
    cause = error.__cause__
    problem = error.problem if cause is None else text_of_error(cause) or type(cause).__name__
    return f"policy {error.plugin!r} failed: {problem}"


def chain(
    implementations: Implementations,
    arguments: Arguments,
    subject: str,
    expected: type[T],
    accept: Callable[[T, T], T] = lambda _before, after: after,
) -> T:
    """Pass the argument named *subject* through all implementations; None leaves it unchanged.

    *accept* gets the value before and after each, and returns the one to continue with, or raises
    TypeError if it is not valid. Raises: PluginError at the first failure.
    """
    current: T = arguments[subject]

    def pass_on(implementation: Implementation) -> None:
        nonlocal current
        after = implementation({**arguments, subject: current}, expected)
        try:
            current = current if after is None else accept(current, after)
        except TypeError as error:
            raise implementation.error(error) from error

    for _, _, failure in attempt_each(implementations, pass_on):
        if failure is not None:
            raise failure
    return current
