from collections.abc import Callable

import pytest
from nanocoder import Effect, Risk, Tool, ToolCall, Verdict, tool
from nanocoder_policy_shell import Settings, nanocoder_before_execute

Judge = Callable[..., Verdict | None]


def _handler(command: str = "") -> str:
    return command


@pytest.fixture
def judge() -> Judge:
    """Judge a command: judge("ls", deny=("eval",))."""
    bash: Tool[..., str] = tool(
        name="bash", description="bash", risk=Risk.DANGEROUS, effects=[Effect.EXECUTE]
    )(_handler)

    def ask(command: object, **settings: object) -> Verdict | None:
        call = ToolCall("1", "bash", {"command": command})
        return nanocoder_before_execute(call, bash, Settings(**settings))

    return ask
