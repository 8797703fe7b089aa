"""`nanocoder policy suggest`: rules for what a person was asked most."""

import json
from argparse import Namespace
from collections.abc import Iterable
from typing import Final

from attrs import field, frozen
from nanocoder import Decision, Host

from nanocoder_command_policy.differences import brief
from nanocoder_command_policy.judging import Judge, judging
from nanocoder_command_policy.stored_calls import StoredCall, calls_of_all_sessions

LIMIT: Final = 10
EXAMPLES: Final = 3
LEAST: Final = 2
"""How often a person must have been asked for a rule to be worth it."""


@frozen
class Suggestion:
    """Rules of one policy, how many questions they would have saved, and some of those calls."""

    plugin: str
    rules: tuple[str, ...]
    times: int = 0
    examples: tuple[str, ...] = field(default=())


def run(arguments: Namespace, host: Host) -> int:
    """Print the proposals as TOML; nothing is changed."""
    stored = calls_of_all_sessions(host)
    with judging(host) as judge:
        proposals = suggestions(judge, stored)[: arguments.limit or LIMIT]
    if arguments.output == "json":
        names = ("plugin", "rules", "times", "examples")
        host.print_json([{name: getattr(it, name) for name in names} for it in proposals])
        return 0
    if not proposals:
        count = sum(it.decision == "ask" for it in stored)
        host.print_line(f"# No rule to propose: you were asked {count} times, and nothing repeats.")
        return 0
    for plugin in dict.fromkeys(it.plugin for it in proposals):
        host.print_line(f"[plugins.{plugin}]\nallow = [")
        for proposal in (it for it in proposals if it.plugin == plugin):
            host.print_line(f"  # asked {proposal.times} times: {'; '.join(proposal.examples)}")
            for rule in proposal.rules:
                host.print_line(f"  {json.dumps(rule, ensure_ascii=False)},")
        host.print_line("]")
    return 0


def suggestions(judge: Judge, stored: Iterable[StoredCall]) -> list[Suggestion]:
    """Return the rules that policies offer for calls that they asked about, by how often.

    A policy offers none for what may run anything: wrappers, interpreters and runners.
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
        examples = dict.fromkeys((*before.examples, brief(it.call)))
        proposals[key] = Suggestion(
            verdict.plugin, verdict.grants, before.times + 1, tuple(examples)[:EXAMPLES]
        )
    frequent = [it for it in proposals.values() if it.times >= LEAST]
    return sorted(frequent, key=lambda it: -it.times)
