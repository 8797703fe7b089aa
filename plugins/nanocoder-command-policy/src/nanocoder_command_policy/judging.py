"""Verdicts on calls outside of a run, by the very code that a run uses."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from attrs import evolve, frozen
from nanocoder import Config, Decision, Host, Mode, NanocoderError, Session, ToolCall, Verdict


@frozen
class Ruled:
    """The judgement of a call.

    *verdict* is that of all policies, *call* as they rewrote it; *problem* is the reason there is
    none: an unknown tool, or invalid arguments. *votes* are the verdicts of each policy.
    """

    call: ToolCall
    verdict: Verdict
    rewritten_by: str = ""
    problem: str = ""
    votes: Sequence[Verdict] = ()

    @property
    def decision(self) -> str:
        """The decision in a word, "error" without one."""
        if self.problem:
            return "error"
        # A user is not asked about a call that they typed themselves.
        is_typed = self.call.typed and self.verdict.decision is Decision.ASK
        return "allow" if is_typed and self.verdict.persons == 1 else str(self.verdict.decision)

    @property
    def why(self) -> str:
        """The reason, with the rule and its plugin."""
        if self.problem:
            return self.problem
        named = repr(self.verdict.rule)
        rule = f"; rule {named}" if self.verdict.rule and named not in self.verdict.reason else ""
        return f"{self.verdict.reason} ({self.verdict.plugin or 'core'}{rule})"


class Judge:
    """Judges calls as *session* would."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.plugins = session.plugins

    def judge(
        self, call: ToolCall, *, mode: str = "", agent: str = "", interactive: bool | None = None
    ) -> Ruled:
        """Return the judgement of *call*, optionally in another mode or for a sub-agent."""
        info = self.session.info
        as_if = evolve(
            info,
            mode=Mode(mode) if mode else info.mode,
            agent=agent,
            interactive=info.interactive if interactive is None else interactive,
            is_trial=True,
        )
        try:
            tool = self.plugins.tool(call.name).real()
            tool.signature.check(call.arguments)
            # Marked as judged before, so that policies that count calls do not count it.
            judgement = self.session.approvals.judge(evolve(call, edited=True), tool, as_if)
        except NanocoderError as error:
            return Ruled(call, Verdict(Decision.DENY), problem=str(error))
        return Ruled(
            judgement.call, judgement.verdict, judgement.rewritten_by, votes=judgement.votes
        )

    def all(self, calls: Iterable[tuple[ToolCall, str]]) -> list[Ruled]:
        """Judge each call in its mode."""
        return [self.judge(call, mode=mode) for call, mode in calls]


@contextmanager
def judging(host: Host, config: Config | None = None) -> Iterator[Judge]:
    """Open a judge of calls by the host's configuration, or by another one."""
    if config is not None:
        host = Host(str(host.cwd))
        host.config = config
    with host.session(persist=False) as session:
        yield Judge(session)


def call_of(tool: str, arguments: Mapping[str, Any], call_id: str = "judged") -> ToolCall:
    """Return a call to judge."""
    return ToolCall(call_id, tool, dict(arguments))
