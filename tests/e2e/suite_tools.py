"""A plugin with the tools that scenarios of the official MCP suite call by name."""

import base64
import json
import time
from typing import Any

from nanocoder import (
    Attachment,
    Question,
    Resource,
    Tool,
    ToolError,
    ToolResult,
    hookimpl,
    tool,
)
from nanocoder_kit_ui.questions import DECLINE, Folders, Form, Prompt, Several, ask_all
from nanocoder_mcp.raw_schema import signature_of

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
PICTURE = Attachment("image/png", PIXEL)
SILENCE = b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0@\x1f\0\0@\x1f\0\0\1\0\x08\0data\0\0\0\0"
NOTE = Attachment("text/plain", b"This is a file in a result.", name="note.txt")
TABLE = Attachment("application/json", b'{"test": "data", "value": 123}', name="table.json")
ADDRESS = {
    "$anchor": "addressDef",
    "type": "object",
    "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
}
TEXT = {"type": "string"}
HAS_PHONE = {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]}
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": ADDRESS},
    "properties": {
        "name": TEXT,
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": TEXT,
        "email": TEXT,
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": HAS_PHONE,
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
REGION = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
}
HARMLESS: dict[str, Any] = {"risk": "safe", "effects": ["read"]}


@tool(name="test_simple_text", **HARMLESS)
def simple_text() -> str:
    """Return a text."""
    return "This is a simple text response for testing."


@tool(name="test_image_content", **HARMLESS)
def image_content() -> ToolResult:
    """Return an image."""
    return ToolResult("an image", attachments=(Attachment("image/png", PIXEL),))


@tool(name="test_audio_content", **HARMLESS)
def audio_content() -> ToolResult:
    """Return a sound."""
    return ToolResult("a sound", attachments=(Attachment("audio/wav", SILENCE),))


@tool(name="test_embedded_resource", **HARMLESS)
def embedded_resource() -> ToolResult:
    """Return a file."""
    return ToolResult("a file", attachments=(NOTE,))


@tool(name="test_multiple_content_types", **HARMLESS)
def multiple_content_types() -> ToolResult:
    """Return a text, an image and a file."""
    return ToolResult("all of them", attachments=(Attachment("image/png", PIXEL), TABLE))


@tool(name="test_error_handling", **HARMLESS)
def error_handling() -> str:
    """Fail."""
    raise ToolError("This tool intentionally returns an error for testing")


@tool(name="test_tool_with_progress", **HARMLESS)
def tool_with_progress(ctx: Any) -> str:
    """Say how far it is, three times."""
    for share in ("0", "50", "100"):
        ctx.progress(f"{share} of 100")
        time.sleep(0.05)
    return "done"


@tool(name="test_elicitation", **HARMLESS)
def elicitation(ctx: Any, message: str) -> str:
    """Ask the person."""
    return f"answer: {ctx.ask(Question(message))}"


@tool(name="test_tool_with_logging", **HARMLESS)
def tool_with_logging(ctx: Any) -> str:
    """Say what it does, three times."""
    for text in ("started", "working", "completed"):
        ctx.progress(text)
    return "done"


@tool(name="test_sampling", **HARMLESS)
def sampling(ctx: Any, prompt: str) -> str:
    """Ask the client's model."""
    return f"answer: {ctx.ask(Prompt('Ask the model?', prompt=prompt, max_tokens=100))}"


DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
SIZES = {"enum": ["small", "medium"], "enumNames": ["Small", "Medium"]}
TITLED = [{"const": "low", "title": "Low"}, {"const": "high", "title": "High"}]
CHOICES = {
    "untitledSingle": {"type": "string", "enum": ["active", "inactive"]},
    "titledSingle": {"type": "string", "oneOf": TITLED},
    "legacyEnum": {"type": "string", **SIZES},
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["read", "write"]}},
    "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
}


def asked(ctx: Any, properties: dict[str, Any]) -> str:
    """Return what the person filled in."""
    fields = {"type": "object", "properties": properties}
    return f"answer: {ctx.ask(Form('Fill it in.', ('answer', DECLINE), fields=fields))}"


@tool(name="test_elicitation_sep1034_defaults", **HARMLESS)
def elicitation_defaults(ctx: Any) -> str:
    """Ask for values that have defaults."""
    return asked(ctx, DEFAULTS)


@tool(name="test_elicitation_sep1330_enums", **HARMLESS)
def elicitation_choices(ctx: Any) -> str:
    """Ask for choices of each kind."""
    return asked(ctx, CHOICES)


NAME = {"type": "object", "properties": {"name": TEXT}, "required": ["name"]}
COLOR = {"type": "object", "properties": {"color": TEXT}, "required": ["color"]}
YES = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
CONTEXT = {"type": "object", "properties": {"context": TEXT}, "required": ["context"]}


def filled_in(ctx: Any, text: str, fields: dict[str, Any], name: str) -> str | None:
    """Return what the person answers to the question *name*."""
    return ctx.ask(Form(text, ("answer", DECLINE), fields=fields, name=name))


@tool(name="test_input_required_result_elicitation", **HARMLESS)
def asked_name(ctx: Any) -> str:
    """Ask for a name."""
    return f"answer: {filled_in(ctx, 'What is your name?', NAME, 'user_name')}"


@tool(name="test_input_required_result_sampling", **HARMLESS)
def asked_model(ctx: Any) -> str:
    """Ask the client's model."""
    prompt = "What is the capital of France?"
    offer = Prompt("Ask it?", prompt=prompt, max_tokens=100, name="capital_question")
    return f"answer: {ctx.ask(offer)}"


@tool(name="test_input_required_result_list_roots", **HARMLESS)
def asked_folders(ctx: Any) -> str:
    """Ask for the client's folders."""
    return f"answer: {ctx.ask(Folders('Which folders?', name='client_roots'))}"


@tool(name="test_input_required_result_multiple_inputs", **HARMLESS)
def asked_together(ctx: Any) -> str:
    """Ask the person, the model and the client at once."""
    questions = (
        Form("What is your name?", ("answer", DECLINE), fields=NAME, name="user_name"),
        Prompt("Ask it?", prompt="Generate a greeting", max_tokens=50, name="greeting"),
        Folders("Which folders?", name="client_roots"),
    )
    answers = ask_all(ctx.ask, Several("Three questions?", questions=questions))
    if None in answers.values():
        raise ToolError("not all of them have an answer")
    return json.dumps(answers)


@tool(name="test_input_required_result_request_state", **HARMLESS)
def asked_once(ctx: Any) -> str:
    """Ask for a yes."""
    answer = filled_in(ctx, "Please confirm", YES, "confirm")
    return f"state-ok: {answer}" if answer else "nobody has answered"


@tool(name="test_input_required_result_tampered_state", **HARMLESS)
def asked_with_state(ctx: Any) -> str:
    """Ask for a yes."""
    return f"answer: {filled_in(ctx, 'Please confirm', YES, 'confirm')}"


@tool(name="test_input_required_result_multi_round", **HARMLESS)
def asked_twice(ctx: Any) -> str:
    """Ask for a name, and then for a colour."""
    name = filled_in(ctx, "Step 1: What is your name?", NAME, "step1")
    return f"{name} likes {filled_in(ctx, 'Step 2: Which colour?', COLOR, 'step2')}"


@tool(name="test_input_required_result_capabilities", **HARMLESS)
def asked_as_it_can(ctx: Any) -> str:
    """Ask a model, or the person of a client without one."""
    return f"answer: {ctx.ask(Prompt('Say hello?', prompt='Say hello', max_tokens=50))}"


@tool(name="test_missing_capability", **HARMLESS)
def needs_model(ctx: Any) -> str:
    """Fail without a model."""
    answer = ctx.ask(Prompt("Ask it?", prompt="Say hello", max_tokens=50))
    if answer is None:
        raise ToolError("it needs a model")
    return answer


@tool(name="test_context", **HARMLESS)
def asked_context(ctx: Any) -> str:
    """Ask for the context of a prompt."""
    return f"Use this: {filled_in(ctx, 'Which context?', CONTEXT, 'user_context')}"


@tool(name="test_reconnection", **HARMLESS)
def reconnection() -> str:
    """Answer; the connection stays open."""
    return "done"


RESOURCES = {
    "test://static-text": Attachment("text/plain", b"This is the text of a resource."),
    "test://static-binary": Attachment("image/png", PIXEL),
    "test://watched-resource": Attachment("text/plain", b"Watched."),
}
PROMPTS = {
    "test_simple_prompt": "",
    "test_prompt_with_arguments": "ARG1 ARG2",
    "test_prompt_with_embedded_resource": "RESOURCEURI",
    "test_prompt_with_image": "",
}
ASKING_PROMPT = "test_input_required_result_prompt"
FILES = {"test_prompt_with_embedded_resource": (NOTE,), "test_prompt_with_image": (PICTURE,)}


@tool(name="test_read", **HARMLESS)
def read(name: str, argument: str = "") -> ToolResult:
    """Read a prompt or a resource."""
    if name in PROMPTS:
        return ToolResult(f"The prompt {name}: {argument}", attachments=FILES.get(name, ()))
    number = name.removeprefix("test://template/").removesuffix("/data")
    templated = Attachment("application/json", json.dumps({"id": number}).encode())
    return ToolResult("a resource", attachments=(RESOURCES.get(name, templated),))


class Part:
    """What the plugin adds to a conversation; a server offers it as resources and prompts."""

    mentions = dict.fromkeys(RESOURCES, "a resource of the suite")
    notices = ()

    @property
    def commands(self) -> dict[str, tuple[str, str]]:
        """The prompts, and what they take."""
        prompts = {**PROMPTS, ASKING_PROMPT: ""}
        return {name: (takes, "a prompt of the suite") for name, takes in prompts.items()}

    def rows(self, name: str) -> None:
        """Return nothing: each makes a call."""

    def call(self, name: str, argument: str) -> tuple[str, dict[str, str]]:
        """Return the call that reads a prompt."""
        if name == ASKING_PROMPT:
            return "test_context", {}
        return "test_read", {"name": name, "argument": argument}

    def mention(self, name: str) -> tuple[str, dict[str, str]] | None:
        """Return the call that reads a resource."""
        is_known = name in RESOURCES or name.startswith("test://template/")
        return ("test_read", {"name": name}) if is_known else None


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Offer what a conversation shows."""
    return [Resource("chat", lambda _session, _settings: Part())]


def given_back(arguments: dict[str, Any]) -> str:
    """Return the arguments."""
    return json.dumps(arguments)


@hookimpl
def nanocoder_tools() -> list[Tool[..., Any]]:
    """Offer them, and one whose schema is handed on as it is."""
    schemas = {"json_schema_2020_12_tool": SCHEMA, "test_x_mcp_header": REGION}
    raw = [
        Tool(
            name=name,
            description="Take what its schema says.",
            handler=given_back,
            signature=signature_of(schema),
            schema=schema,
            **HARMLESS,
        )
        for name, schema in schemas.items()
    ]
    files = [image_content, audio_content, embedded_resource, multiple_content_types]
    talking = [tool_with_progress, tool_with_logging, elicitation, sampling]
    forms = [elicitation_defaults, elicitation_choices]
    required = [asked_name, asked_model, asked_once, asked_with_state, asked_twice]
    required += [asked_as_it_can, needs_model, asked_context, asked_folders, asked_together]
    results = [simple_text, *files, error_handling, reconnection, read]
    return [*raw, *results, *talking, *forms, *required]
