"""What was said, decided, changed and left open outlives several compactions in a row."""

import re

import nanocoder_compact_summary as plugin
import pytest
from nanocoder import (
    ApprovalAnswer,
    Effect,
    Finished,
    ToolCall,
    ToolError,
    ToolResult,
    hookimpl,
    tool,
)
from nanocoder_testing import Scripted, opened

WINDOW = 6_000
NOISE = "a stone, another stone, and nothing that matters. " * 70
SAID = (
    "The staging server listens on port 8432.",
    "Never touch the folder legacy_billing.",
    "Releases are called after birds; the next one is Kestrel.",
    "Dates are written as 2031-04-05, in UTC.",
)
DECIDED = (
    "FACT: I take sqlite instead of postgres, since the customer has no server.",
    "FACT: The cache is kept for 90 seconds.",
)
FOUND = ("FACT: the license key is read in src/keys.py line 214.",)
CHANGED = ("src/parser/tokens.py", "docs/upgrade.md")
PROBLEM = ("AssertionError: expected 17 rows, got 16",)
OPEN = ("write the migration for invoices", "rename Basket to Cart")
FACTS = (*SAID, *DECIDED, *FOUND, *CHANGED, *PROBLEM, *OPEN)


@tool(risk="safe", effects={Effect.READ})
def look(at: str) -> str:
    """Look there."""
    return f"{at}\n{NOISE}"


@tool(risk="medium", effects={Effect.WRITE})
def change(path: str) -> ToolResult:
    """Change a file."""
    return ToolResult("changed", metadata={"path": path})


@tool(risk="safe", effects={Effect.READ})
def check() -> str:
    """Check."""
    raise ToolError(f"{NOISE}\n{PROBLEM[0]}", error_class="exit_nonzero")


@tool(risk="safe", effects={Effect.READ})
def plan() -> ToolResult:
    """Plan."""
    return ToolResult("saved", metadata={"lasting": "\n".join(f"[ ] {item}" for item in OPEN)})


class Tools:
    @hookimpl
    def nanocoder_tools(self):
        return [look, change, check, plan]


class Agent(Scripted):
    """Works as told, and sums up as a model would: it copies the lines that hold a fact."""

    def __init__(self, turns):
        super().__init__([], context=WINDOW)
        self.turns, self.summaries, self.latest = list(turns), 0, ""

    def stream(self, request, _cancel):
        if request.system.startswith("You sum up"):
            self.summaries += 1
            facts = re.findall(r"FACT: [^\n]+", request.messages[0].text)
            yield Finished("\n".join(dict.fromkeys(facts)) or "Nothing so far.")
            return
        self.latest = "\n".join(
            "\n".join([message.text, *(result.output for result in message.results)])
            for message in request.messages
        )
        turn = self.turns.pop(0)
        if isinstance(turn, str):
            yield Finished(turn)
        else:
            name, arguments = turn
            yield Finished("", (ToolCall(f"c{len(self.turns)}", name, arguments),))


def yes(request):
    return ApprovalAnswer(request.id, request.digest, approved=True)


def steps(*calls):
    looks = [("look", {"at": "nothing"})] * 6
    return [*calls, *looks, "Done."]


@pytest.mark.contract("G5")
def test_twelve_facts_are_known_after_four_compactions(tmp_path):
    agent = Agent(
        [
            *steps(("plan", {}), ("change", {"path": CHANGED[0]})),
            *steps(("look", {"at": FOUND[0]}), ("check", {})),
            *[("change", {"path": CHANGED[1]}), *steps()[:-1], DECIDED[0]],
            *[*steps()[:-1], DECIDED[1]],
            *steps(*steps()[:-1]),
            "I know.",
        ]
    )
    plugins = {"compact-summary": plugin, "tools": Tools()}
    compacted = 0
    options = {"plugins": plugins, "model": agent, "approve": yes}
    with opened(tmp_path, **options) as (session, _):
        for said in (*SAID, "Go on.", "What do you know?"):
            events = list(session.run(said))
            compacted += sum(event.kind == "transcript.compacted" for event in events)
            assert session.report.error is None
    assert compacted >= 4
    assert agent.summaries == compacted
    assert [fact for fact in FACTS if fact not in agent.latest] == []
