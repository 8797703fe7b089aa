"""`nanocoder policy suggest`: rules for the most frequent questions to the user."""

import json
from argparse import Namespace
from collections.abc import Iterable
from typing import Final

from attrs import evolve, field, frozen
from nanocoder import Decision, Host, counted

from nanocoder_command_policy.differences import brief
from nanocoder_command_policy.judging import Judge, judging
from nanocoder_command_policy.stored_calls import StoredCall, calls_of_all_sessions

LIMIT: Final = 10
EXAMPLES: Final = 3
LEAST: Final = 2
"""Least number of questions that a suggested rule would have saved."""


@frozen
class Suggestion:
    """Rules of one policy, how a person answered the calls they allow, and some of those calls.

    *unanswered* is how often no person could be asked.
    """

    plugin: str
    rules: tuple[str, ...]
    approved: int = 0
    refused: int = 0
    unanswered: int = 0
    examples: tuple[str, ...] = field(default=())

    @property
    def times(self) -> int:
        """The number of questions that the rules would have saved: those not refused."""
        return self.approved + self.unanswered

    @property
    def history(self) -> str:
        """The answers to the questions, in words."""
        if not self.approved and not self.refused:
            return f"asked {counted(self.unanswered, 'time')}"
        answers = {"approved": self.approved, "refused": self.refused}
        parts = [f"{answer} {counted(times, 'time')}" for answer, times in answers.items() if times]
        if self.unanswered:
            parts.append(f"asked {counted(self.unanswered, 'time')} where no person could answer")
        return ", ".join(parts)

    def with_call(self, stored: StoredCall) -> "Suggestion":
        """Return it with one more call that was asked about."""
        name = stored.answer or "unanswered"
        examples = tuple(dict.fromkeys((*self.examples, brief(stored.call))))[:EXAMPLES]
        return evolve(self, examples=examples, **{name: getattr(self, name) + 1})


def run(arguments: Namespace, host: Host) -> int:
    """Print the proposals as TOML; nothing is changed."""
    # A relative path of another directory's session is another file.
    here = str(host.cwd.resolve())
    stored = [it for it in calls_of_all_sessions(host) if it.cwd == here]
    with judging(host) as judge:
        proposals = suggestions(judge, stored)[: arguments.limit or LIMIT]
    if arguments.output == "json":
        names = ("plugin", "rules", "times", "approved", "refused", "examples")
        host.print_json([{name: getattr(it, name) for name in names} for it in proposals])
        return 0
    if not proposals:
        host.print_line(_none(stored))
        return 0
    for plugin in dict.fromkeys(it.plugin for it in proposals):
        host.print_line(f"[plugins.{plugin}]\nallow = [")
        for proposal in (it for it in proposals if it.plugin == plugin):
            host.print_line(f"  # {proposal.history}: {'; '.join(proposal.examples)}")
            for rule in proposal.rules:
                host.print_line(f"  {json.dumps(rule, ensure_ascii=False)},")
        host.print_line("]")
    return 0


def _none(stored: Iterable[StoredCall]) -> str:
    """Return the line to print without suggestions."""
    questions = [it for it in stored if it.decision == "ask"]
    refused = sum(it.answer == "refused" for it in questions)
    times = f"you were asked {counted(len(questions), 'time')} in this directory"
    if refused:
        times += f" and refused {counted(refused, 'time')}"
    return f"# No rule to propose: {times}, and nothing repeats."


def suggestions(judge: Judge, stored: Iterable[StoredCall]) -> list[Suggestion]:
    """Return the rules that policies offer for calls that they asked about, by how often.

    A policy offers none for commands that may run anything: wrappers, interpreters and runners.
    Rules for calls with as many refusals as approvals are left out.
    """
    proposals = dict[tuple[str, ...], Suggestion]()
    for it in stored:
        if it.decision != "ask":
            continue
        verdict = judge.judge(it.call, mode=it.mode).verdict
        if verdict.decision is not Decision.ASK or not verdict.grants:
            continue
        key = (verdict.plugin, *verdict.grants)
        before = proposals.get(key) or Suggestion(verdict.plugin, verdict.grants)
        proposals[key] = before.with_call(it)
    frequent = [it for it in proposals.values() if it.times >= LEAST and it.times > it.refused]
    return sorted(frequent, key=lambda it: -it.times)
