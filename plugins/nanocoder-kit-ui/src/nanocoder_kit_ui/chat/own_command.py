"""`!command`: a shell command that the person runs; the model reads it with the next prompt."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from attrs import evolve
from nanocoder import Event, ToolResult, clip

from nanocoder_kit_ui.chat.mentioned_files import Typed, without_pastes

if TYPE_CHECKING:
    from nanocoder_kit_ui.chat.conversation import Conversation

SIGN: Final = "!"
SHELL_TOOL: Final = "bash"
HEAD_CHARS: Final = 4_000
TAIL_CHARS: Final = 6_000  # errors sit at the end
HOW: Final = "! runs the shell command that follows it, as in !git status"
OUTSIDE: Final = "It ran outside the sandbox, as in a terminal of yours."
PASTED: Final = "A pasted ! runs nothing. Type ! and paste the command behind it to run it."


def is_own_command(typed: Typed) -> bool:
    """Return True if *typed* is a command of the shell that the person runs, as after `!`."""
    return not typed.command and typed.text.startswith(SIGN)


def run_own_command(conversation: "Conversation", typed: Typed) -> None:
    """Run what stands behind the sign, and let the model read it with the next prompt."""
    command = typed.text.removeprefix(SIGN).strip()
    session = conversation.session
    # The author of a pasted text may be a stranger.
    if typed.pasted and not without_pastes(typed).lstrip().startswith(SIGN):
        conversation.display.warn(PASTED)
    elif not command:
        conversation.display.say(HOW)
    elif SHELL_TOOL not in session.tools:
        conversation.display.warn(f"nothing is run: the tool {SHELL_TOOL} is not installed")
    else:
        result = _run(conversation, command)
        conversation.ended_well = result is not None and result.error_class != "cancelled"
        if result is not None and "exit_code" in result.metadata:
            if session.info.sandbox:
                conversation.display.say(OUTSIDE)
            conversation.tell_model(_news(command, result))


def _run(conversation: "Conversation", command: str) -> ToolResult | None:
    session = conversation.session
    arguments = {"command": command, **_longest_timeout(session.tools[SHELL_TOOL].parameters)}
    with conversation.running(in_full=True) as view:
        for event in conversation.events(session.call(SHELL_TOOL, arguments, typed=True)):
            view.show(_as_typed(event))
    return session.result


def _as_typed(event: Event) -> Event:
    """Leave the time limit out of an event that shows the call: the person did not type it."""
    if "arguments" not in event.data:
        return event
    arguments = {key: value for key, value in event.data["arguments"].items() if key != "timeout"}
    return evolve(event, data={**event.data, "arguments": arguments})


def _longest_timeout(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the argument that lets a command take its time: the person is there to stop it."""
    longest = schema["properties"].get("timeout", {}).get("maximum")
    return {"timeout": longest} if longest else {}


def _news(command: str, result: ToolResult) -> str:
    """Return the text for the model: the command and its output, of a limited size."""
    text = clip(f"$ {command}\n{result.output}", head=HEAD_CHARS, tail=TAIL_CHARS)
    tag = "user-command"
    while f"</{tag}>" in text:
        tag += "-"
    return f"The user ran this command by themselves:\n<{tag}>\n{text}\n</{tag}>"
