"""Questions to clients in the words of the protocol, and the meaning of the answers."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import mcp_types
from nanocoder import ApprovalRequest, Question, for_terminal
from nanocoder_kit_questions import DECLINE, REPLY, Form, Prompt

QUESTION: Final = "approval"
ANSWER: Final = "answer"
SHOWN: Final = frozenset({"title", "description"})
"""What of a form's fields a person reads, and no program."""
CAN_ASK: Final = mcp_types.ClientCapabilities(elicitation=mcp_types.ElicitationCapability())
HAS_MODEL: Final = mcp_types.ClientCapabilities(sampling=mcp_types.SamplingCapability())
APPROVAL: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "approve": {
            "type": "boolean",
            "title": "Run it?",
            "description": "Whether the call may run.",
            "default": False,
        }
    },
    "required": ["approve"],
}
NO_REPLY: Final = "{}"
Has = Callable[[mcp_types.ClientCapabilities], bool]
Request = mcp_types.ElicitRequest | mcp_types.CreateMessageRequest


def approval_of(request: ApprovalRequest) -> mcp_types.ElicitRequest:
    """Return the form with which a person approves a call."""
    preview = for_terminal(request.preview)
    parts = [f"{request.call.name} needs your approval: {request.reason}", preview]
    return _elicitation("\n".join(filter(None, parts)), APPROVAL)


def is_approval(response: Any) -> bool:
    """Tell whether *response* is a clear yes."""
    is_accepted = getattr(response, "action", "") == "accept"
    return is_accepted and (response.content or {}).get("approve") is True


def request_of(question: Question, has: Has) -> Request | None:
    """Return what puts *question* to a client that *has* capabilities; None if it has too few."""
    if isinstance(question, Prompt) and has(HAS_MODEL):
        return _sampling(question)
    if not has(CAN_ASK):
        return None
    text = for_terminal(question.text)
    if isinstance(question, Form):
        return _elicitation(text, shown_fields(question.fields))
    return _elicitation(text, question_form(question))


def missing_for(question: Question) -> mcp_types.ClientCapabilities:
    """Return what a client needs for *question*."""
    return HAS_MODEL if isinstance(question, Prompt) else CAN_ASK


def answer_of(question: Question, request: Request, response: Any) -> str | None:
    """Return what *response* means to the tool that asked; None where it is no answer."""
    if isinstance(request, mcp_types.CreateMessageRequest):
        text = getattr(getattr(response, "content", None), "text", None)
        return json.dumps({REPLY: text}) if isinstance(text, str) else NO_REPLY
    action, content = getattr(response, "action", ""), getattr(response, "content", None) or {}
    if isinstance(question, Form):
        return json.dumps(content) if action == "accept" else _declined(action)
    answer = content.get(ANSWER) if action == "accept" else None
    is_choice = question.custom or answer in question.choices
    return answer if isinstance(answer, str) and is_choice else None


def question_form(question: Question) -> dict[str, Any]:
    """Return the form that asks *question*: one field, with its choices."""
    field: dict[str, Any] = {"type": "string", "title": "Answer"}
    choices = [for_terminal(choice) for choice in question.choices]
    if choices == [*question.choices] and choices and not question.custom:
        field["enum"] = choices
    elif choices:
        field["description"] = f"For example: {'; '.join(choices)}"
    return {"type": "object", "properties": {ANSWER: field}, "required": [ANSWER]}


def shown_fields(fields: Any) -> Any:
    """Return the schema of a form without what a terminal could obey in its texts."""
    if isinstance(fields, list | tuple):
        return [shown_fields(each) for each in fields]
    if not isinstance(fields, Mapping):
        return fields
    return {
        key: for_terminal(value) if key in SHOWN and isinstance(value, str) else shown_fields(value)
        for key, value in fields.items()
    }


def _declined(action: str) -> str | None:
    return DECLINE if action == "decline" else None


def _elicitation(message: str, form: dict[str, Any]) -> mcp_types.ElicitRequest:
    params = mcp_types.ElicitRequestFormParams(message=message, requested_schema=form)
    return mcp_types.ElicitRequest(params=params)


def _sampling(prompt: Prompt) -> mcp_types.CreateMessageRequest:
    content = mcp_types.TextContent(type="text", text=prompt.prompt)
    message = mcp_types.SamplingMessage(role="user", content=content)
    params = mcp_types.CreateMessageRequestParams(messages=[message], max_tokens=prompt.max_tokens)
    return mcp_types.CreateMessageRequest(params=params)
