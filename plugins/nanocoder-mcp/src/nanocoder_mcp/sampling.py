"""An answer of the model for a server: only during a call, and with the user's approval.

The tool of this module is a step of the server's tools. It opens a session without tools for one
turn, so policies, budget, redaction and journal are those of every request.
"""

import secrets
from collections.abc import Mapping
from typing import Any, Final

from nanocoder import (
    Effect,
    Question,
    Risk,
    Tool,
    ToolContext,
    ToolError,
    ToolResult,
    __version__,
    for_model,
    for_terminal,
    one_line,
)
from nanocoder_kit_ui.questions import REPLY, Prompt, object_of

from nanocoder_mcp.raw_schema import signature_of
from nanocoder_mcp.server import PLUGIN, SAMPLER

REFUSE: Final = "refuse"
SEND: Final = "send it to the model"
KEEP: Final = "keep the answer"
GIVE: Final = "give it the answer"
MAX_PROMPT_CHARS: Final = 20_000
"""Limit of a prompt: a user can approve only what they can read."""
PROBLEM_CHARS: Final = 300
ANSWER_S: Final = 300.0
"""Timeout of each of the two questions to the user, in seconds."""
FRAME: Final = (
    'The MCP server "{server}" asks for an answer to what follows. You have no tools. Answer it'
    " alone, in at most about {tokens} tokens, and say nothing of this session or its files.\n\n"
)
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "server": {"type": "string"},
        "prompt": {"type": "string"},
        "max_tokens": {"type": "integer"},
        "ticket": {"type": "string"},
    },
    "required": ["server", "prompt", "max_tokens", "ticket"],
    "additionalProperties": False,
}


def sampling_tool() -> Tool[..., Any]:
    """Return the tool that asks the model for a server; a model cannot call it directly."""
    tool: Tool[..., Any] = Tool(
        name=SAMPLER,
        description="Only MCP servers use it, in their own calls.",
        handler=_sample,
        signature=signature_of(SCHEMA),
        # It asks the person itself, in every mode.
        risk=Risk.SAFE,
        effects=frozenset({Effect.READ, Effect.NETWORK}),
        composed_of=("*",),
        timeout_s=0,
        schema=SCHEMA,
    )
    return tool.owned(PLUGIN, __version__)


def sampled(ctx: ToolContext, server: str, params: Any) -> ToolResult:
    """Return the answer for the request *params* of *server* in the call of *ctx*."""
    ticket = secrets.token_hex(16)
    ctx.state[ticket] = server
    try:
        prompt, tokens = prompt_of(params), int(params.max_tokens)
        arguments = {"server": server, "prompt": prompt, "max_tokens": tokens, "ticket": ticket}
        return ctx.call(SAMPLER, arguments)
    except ToolError as error:
        return ToolResult(str(error), is_error=True, error_class=error.error_class)
    finally:
        ctx.state.pop(ticket, None)


def prompt_of(params: Any) -> str:
    """Return the messages that a server sends to a model, as one text; raises ToolError."""
    if params.tools:
        raise _refused("it requests tools for the model, which are not offered")
    parts = [f"system: {params.system_prompt}"] if params.system_prompt else []
    for message in params.messages:
        content = message.content if isinstance(message.content, list) else [message.content]
        if any(part.type != "text" for part in content):
            raise _refused("it sends more than text")
        parts += [f"{message.role}: {part.text}" for part in content]
    text = parts[0].partition(": ")[2] if len(parts) == 1 else "\n\n".join(parts)
    if len(text) > MAX_PROMPT_CHARS:
        raise _refused(f"its prompt has more than {MAX_PROMPT_CHARS:,} characters")
    return for_model(text)


def _sample(ctx: ToolContext, arguments: Mapping[str, Any]) -> ToolResult:
    server, prompt = arguments["server"], arguments["prompt"]
    if ctx.state.get(arguments["ticket"]) != server:
        raise _refused(f"{SAMPLER} is for MCP servers alone, in their own calls")
    if ctx.session is not None and ctx.session.parent:
        raise _refused("a server of a sub-agent gets no model")
    question = f"The MCP server {server} asks the model, at your cost:\n{for_terminal(prompt)}"
    tokens = arguments["max_tokens"]
    framed = FRAME.format(server=server, tokens=tokens) + prompt
    offer = Prompt(question, (REFUSE, SEND), False, ANSWER_S, prompt=framed, max_tokens=tokens)
    answer = ctx.ask(offer)
    reply = object_of(answer)
    if reply is None:
        _agreed(answer, SEND)
        text = _answer_of_session(ctx, server, framed)
    else:  # of the client's model: its person has agreed to it there
        text = _text_of(reply)
    return ToolResult(text, title=f"{server}: asks the model", data={"server": server})


def _answer_of_session(ctx: ToolContext, server: str, prompt: str) -> str:
    """Return the answer of the session's model that the user released; raises ToolError."""
    with ctx.child(
        agent=PLUGIN, title=f"MCP server {server}", tools=lambda _: False, max_turns=1
    ) as session:
        for _ in session.run(prompt):
            ctx.cancelled.check()
        report = session.report
    if not report.text:
        why = (report.error or {}).get("message") or str(report.stop_reason)
        raise ToolError(f"the model gave no answer: {one_line(why, PROBLEM_CHARS)}")
    display = f"The model answers the MCP server {server}:\n{for_terminal(report.text)}"
    _agreed(ctx.ask(Question(display, (KEEP, GIVE), custom=False, timeout_s=ANSWER_S)), GIVE)
    return report.text


def _text_of(reply: Mapping[str, Any]) -> str:
    text = reply.get(REPLY)
    if not isinstance(text, str):
        raise _refused("the client refused it")
    return text


def _agreed(answer: str | None, yes: str) -> None:
    """Raise ToolError for any answer of the person but *yes*."""
    if answer is None:
        raise _refused("no person is here to agree to it")
    if answer != yes:
        raise _refused("the person refused it")


def _refused(why: str) -> ToolError:
    return ToolError(
        f"the model was not asked, or its answer not given: {why}", error_class="sampling_refused"
    )
