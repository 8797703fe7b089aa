"""Questions to clients in the words of the protocol, and the meaning of the answers."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import mcp_types
from nanocoder import ApprovalRequest, Question, for_terminal
from nanocoder_kit_ui.questions import DECLINE, FOLDERS, REPLY, Folders, Form, Prompt, Several

QUESTION: Final = "approval"
ANSWER: Final = "answer"
SHOWN: Final = frozenset({"title", "description"})
"""Keys of a form's fields that only a person reads."""
CAN_ASK: Final = mcp_types.ClientCapabilities(elicitation=mcp_types.ElicitationCapability())
HAS_MODEL: Final = mcp_types.ClientCapabilities(sampling=mcp_types.SamplingCapability())
HAS_ROOTS: Final = mcp_types.ClientCapabilities(roots=mcp_types.RootsCapability())
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
Request = mcp_types.ElicitRequest | mcp_types.CreateMessageRequest | mcp_types.ListRootsRequest


def approval_of(request: ApprovalRequest) -> mcp_types.ElicitRequest:
    """Return the form with which a person approves a call."""
    preview = for_terminal(request.preview)
    parts = [f"{request.call.name} needs your approval: {request.reason}", preview]
    return _elicitation("\n".join(filter(None, parts)), APPROVAL)


def is_approval(response: Any) -> bool:
    """Return True if *response* is a clear yes."""
    is_accepted = getattr(response, "action", "") == "accept"
    return is_accepted and (response.content or {}).get("approve") is True


def requests_of(question: Question, has: Has) -> dict[str, Request]:
    """Return the requests for *question*, or its parts, by name, as the client *has* support."""
    requests = {name: request_of(part, has) for name, part in _parts(question).items()}
    return {name: request for name, request in requests.items() if request is not None}


def request_of(question: Question, has: Has) -> Request | None:
    """Return the request that asks *question*, or None if the client lacks a capability."""
    if isinstance(question, Prompt) and has(HAS_MODEL):
        return _sampling(question)
    if isinstance(question, Folders) and has(HAS_ROOTS):
        return mcp_types.ListRootsRequest()
    if not has(CAN_ASK):
        return None
    text = for_terminal(question.text)
    if isinstance(question, Form):
        return _elicitation(text, shown_fields(question.fields))
    return _elicitation(text, question_form(question))


def missing_for(question: Question, has: Has) -> mcp_types.ClientCapabilities | None:
    """Return the capabilities that a client lacks for *question*, or None."""
    parts = [part for part in _parts(question).values() if request_of(part, has) is None]
    needed = {
        name: capability
        for part in parts
        for name, capability in _needed_for(part)
        if capability is not None
    }
    return mcp_types.ClientCapabilities(**needed) if needed else None


def answer_of(
    question: Question, requests: Mapping[str, Request], responses: Mapping[str, Any]
) -> str | None:
    """Return *responses* as the answer to the tool that asked, or None if there is none."""
    answers = {
        name: _meaning(part, requests[name], responses.get(name))
        for name, part in _parts(question).items()
        if name in requests
    }
    if isinstance(question, Several):
        return json.dumps(answers) if responses else None
    return next(iter(answers.values()), None)


def _parts(question: Question) -> dict[str, Question]:
    if isinstance(question, Several):
        return {part.name: part for part in question.questions}
    return {question.name if isinstance(question, Form | Prompt | Folders) else ANSWER: question}


def _needed_for(question: Question) -> mcp_types.ClientCapabilities:
    if isinstance(question, Folders):
        return HAS_ROOTS
    return HAS_MODEL if isinstance(question, Prompt) else CAN_ASK


def _meaning(question: Question, request: Request, response: Any) -> str | None:
    if isinstance(request, mcp_types.ListRootsRequest):
        return _folders(response)
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
    """Return the schema of a form without control characters in its texts."""
    if isinstance(fields, list | tuple):
        return [shown_fields(each) for each in fields]
    if not isinstance(fields, Mapping):
        return fields
    return {
        key: for_terminal(value) if key in SHOWN and isinstance(value, str) else shown_fields(value)
        for key, value in fields.items()
    }


def _folders(response: Any) -> str | None:
    if not isinstance(response, mcp_types.ListRootsResult):
        return None
    folders = [{"uri": str(root.uri), "name": root.name} for root in response.roots]
    return json.dumps({FOLDERS: folders})


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
