"""nanocoder as an agent of Inspect: it works in the sample's sandbox, with the task's model."""

import json
from typing import Any, Final, Literal

from inspect_ai.agent import Agent, AgentState, agent, sandbox_agent_bridge
from inspect_ai.util import sandbox, store

PORT: Final = 13_131
MODEL: Final = "openai/inspect"
"""The name by which Inspect's bridge knows the model of the task."""
STOPPED: Final = frozenset({4, 5, 130, 143})
"""Exit codes of a run that a provider, a limit or a signal ended; its report has the reason."""


class NanocoderError(RuntimeError):
    """nanocoder could not be run in the sandbox."""


@agent
def nanocoder(
    *,
    model: str = MODEL,
    mode: Literal["plan", "ask", "edits", "auto"] = "auto",
    options: tuple[str, ...] = (),
    program: str = "nanocoder",
    sandbox_name: str | None = None,
    port: int = PORT,
) -> Agent:
    """Return an agent that runs `nanocoder run` in the sandbox of each sample.

    *model* is called through Inspect, so that its limits, its log and its cost apply; another name,
    such as "scripted//script.json", is a model that nanocoder calls by itself. *options* are
    further arguments of `nanocoder run`. The report of a run is in the sample's store as
    "nanocoder".
    """

    async def execute(state: AgentState) -> AgentState:
        async with sandbox_agent_bridge(state, sandbox=sandbox_name, port=port) as bridge:
            words = ["run", "--mode", mode, "--output", "json", "--model", model, *options, "-"]
            done = await sandbox(sandbox_name).exec(
                [program, *words],
                input=prompt_of(state),
                env={"OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1", "OPENAI_API_KEY": "inspect"},
            )
        report = report_of(done.returncode, done.stdout, done.stderr)
        store().set("nanocoder", report)
        if model != MODEL:
            bridge.state.output.completion = report["text"]
        return bridge.state

    return execute


def prompt_of(state: AgentState) -> str:
    """Return the prompt of the sample: the text of its user messages."""
    return "\n\n".join(message.text for message in state.messages if message.role == "user")


def report_of(exit_code: int, out: str, error: str) -> dict[str, Any]:
    """Return the report of a run; raises NanocoderError where nanocoder itself failed."""
    try:
        report: dict[str, Any] = json.loads(out)
    except ValueError:
        report = {}
    if "stop_reason" not in report or exit_code not in {0, 1, 3, *STOPPED}:
        raise NanocoderError(f"nanocoder ended with {exit_code}: {error.strip() or out.strip()}")
    return report
