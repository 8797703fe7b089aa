"""Calls of the official client in this process: what they return, what they ask, how they end."""

import json
import threading
from contextlib import asynccontextmanager, contextmanager

import anyio
import mcp_types
import pytest
from mcp import Client, MCPError
from nanocoder import Attachment, Question, ToolError, ToolResult, hookimpl, tool
from nanocoder_kit_ui.questions import DECLINE, Folders, Form, Prompt, Several, ask_all
from nanocoder_mcp_server.calls import Calls
from nanocoder_mcp_server.protocol import server_of
from nanocoder_testing import opened

pytestmark = [pytest.mark.timeout(60), pytest.mark.contract("I25")]
FIELDS = {
    "type": "object",
    "properties": {"name": {"type": "string", "title": "Name\x1b[2J"}, "age": {"type": "integer"}},
    "required": ["name"],
}
MODES = ("legacy", "auto")
HARMLESS = {"risk": "safe", "effects": ["read"]}
FILES = (
    Attachment("image/png", b"\x89PNG"),
    Attachment("audio/wav", b"RIFF"),
    Attachment("text/plain", b"hello", name="a b.txt"),
    Attachment("text/plain", b"\xff\xfe", name="broken.txt"),
    Attachment("application/pdf", b"%PDF"),
)


class Tools:
    """Tools of a session; *starts* and *may_end* follow one that waits."""

    def __init__(self):
        self.starts = threading.Semaphore(0)
        self.may_end = threading.Event()
        self.ran = []

    @hookimpl
    def nanocoder_tools(self):
        @tool(**HARMLESS)
        def files() -> ToolResult:
            """Return files."""
            return ToolResult("five files", data={"files": 5}, attachments=FILES)

        @tool(**HARMLESS)
        def steps(ctx) -> str:
            """Say how far it is."""
            for name in ("one", "two", "three"):
                ctx.progress(name)
            return "done"

        @tool(**HARMLESS)
        def ask(ctx, choices: list[str]) -> str:
            """Ask the person."""
            question = Question("Which one?", tuple(choices), custom=not choices)
            return f"answer: {ctx.ask(question)}"

        @tool(**HARMLESS)
        def wait(ctx, name: str) -> str:
            """Wait until the test lets it go, or the call is interrupted."""
            self.ran.append(name)
            self.starts.release()
            while not self.may_end.wait(0.02):
                ctx.cancelled.check()
            return f"{name} is done"

        @tool(risk="dangerous", effects=["write"])
        def change() -> str:
            """Change something."""
            return "changed"

        return [files, steps, ask, wait, change, *self.asking()]

    def asking(self):
        """Return the tools that ask for more than a word."""

        @tool(**HARMLESS)
        def form(ctx) -> str:
            """Ask the person for several values."""
            question = Form("Who?", ("answer", DECLINE), custom=False, fields=FIELDS)
            return f"answer: {ctx.ask(question)}"

        @tool(**HARMLESS)
        def model(ctx) -> str:
            """Ask a model."""
            question = Prompt("Ask it?", ("no", "yes"), custom=False, prompt="2+2?", max_tokens=9)
            return f"answer: {ctx.ask(question)}"

        @tool(**HARMLESS)
        def twice(ctx) -> str:
            """Do one half, ask, do the other half, and ask again."""
            answers = []
            for name in ("first", "second"):
                self.ran.append(name)
                answers.append(str(ctx.ask(Question(f"The {name}?"))))
            return ", ".join(answers)

        @tool(**HARMLESS)
        def needs_model(ctx) -> str:
            """Fail without a model."""
            if ctx.ask(Prompt("Ask it?", prompt="2+2?")) is None:
                raise ToolError("it needs a model")
            return "done"

        return [form, model, twice, needs_model, *self.asking_clients()]

    def asking_clients(self):
        """Return the tools that ask for the folders of a client."""

        @tool(**HARMLESS)
        def folders(ctx) -> str:
            """Ask for the folders."""
            return f"answer: {ctx.ask(Folders('Which folders?'))}"

        @tool(**HARMLESS)
        def together(ctx) -> str:
            """Ask three questions at once."""
            questions = (
                Form("Who?", ("answer", DECLINE), custom=False, fields=FIELDS),
                Prompt("Ask it?", ("no", "yes"), custom=False, prompt="2+2?"),
                Folders("Which folders?"),
            )
            return json.dumps(ask_all(ctx.ask, Several("Three?", questions=questions)))

        return [folders, together]


@contextmanager
def served(folder, patience_s=30.0):
    tools, calls = Tools(), Calls(patience_s=patience_s)
    folder.mkdir(exist_ok=True)
    options = {"approve": calls.approve, "ask": calls.answer, "mode": "ask"}
    with opened(folder, plugins={"tools": tools}, **options) as (session, _):
        calls.session = session
        yield server_of(calls, session.tools), tools


@asynccontextmanager
async def connected(server, person=None, mode="legacy", model=None, roots=None):
    async with Client(
        server,
        mode=mode,
        elicitation_callback=person,
        sampling_callback=model,
        list_roots_callback=roots,
    ) as client:
        yield client


def test_every_attachment_of_a_result_reaches_the_client(tmp_path):
    async def use(server):
        async with connected(server) as client:
            return await client.call_tool("files", {})

    with served(tmp_path / "w") as (server, _):
        result = anyio.run(use, server)
    text, image, sound, note, broken, page = result.content
    assert result.structured_content is None  # clients would show it in place of the text
    assert text.text == "five files"
    assert (image.type, image.mime_type) == ("image", "image/png")
    assert (sound.type, sound.mime_type) == ("audio", "audio/wav")
    assert (note.resource.text, str(note.resource.uri)) == ("hello", "attachment:///a%20b.txt")
    assert broken.resource.blob == "//4="
    assert (page.resource.mime_type, page.resource.blob) == ("application/pdf", "JVBERg==")


@pytest.mark.parametrize("mode", MODES)
def test_each_note_of_progress_has_a_higher_number_than_the_one_before(tmp_path, mode):
    notes = []

    async def note(progress, _total, message):
        notes.append((progress, message))

    async def use(server):
        async with connected(server, mode=mode) as client:
            await client.call_tool("steps", {}, progress_callback=note)

    with served(tmp_path / "w") as (server, _):
        anyio.run(use, server)
    assert notes == [(1.0, "one"), (2.0, "two"), (3.0, "three")]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("choices", "sent", "answer"),
    [
        ([], {"answer": "blue"}, "blue"),
        (["red", "blue"], {"answer": "blue"}, "blue"),
        (["red", "blue"], {"answer": "green"}, "None"),
        ([], {"answer": 5}, "None"),
        ([], None, "None"),
    ],
)
def test_a_question_of_a_tool_is_put_to_the_person_of_the_client(
    tmp_path, choices, sent, answer, mode
):
    asked = []

    async def person(_context, params):
        asked.append((params.message, params.requested_schema["properties"]["answer"]))
        action = "accept" if sent else "decline"
        return mcp_types.ElicitResult(action=action, content=sent)

    async def use(server):
        async with connected(server, person, mode) as client:
            return (await client.call_tool("ask", {"choices": choices})).content[0].text

    with served(tmp_path / "w") as (server, _):
        assert anyio.run(use, server) == f"answer: {answer}"
    ((message, field),) = asked
    assert message == "Which one?"
    assert field.get("enum", []) == choices


@pytest.mark.parametrize("mode", MODES)
def test_nobody_answers_for_a_client_that_cannot_be_asked(tmp_path, mode):
    async def use(server):
        async with connected(server, mode=mode) as client:
            return (await client.call_tool("ask", {"choices": []})).content[0].text

    with served(tmp_path / "w") as (server, _):
        assert anyio.run(use, server) == "answer: None"


def test_a_cancelled_call_that_waits_for_its_turn_never_runs_and_stops_no_other(tmp_path):
    results = {}

    async def call(client, name):
        results[name] = (await client.call_tool("wait", {"name": name})).content[0].text

    async def use(server, tools):
        async with connected(server) as first, connected(server) as second:
            async with anyio.create_task_group() as group:
                group.start_soon(call, first, "first")
                await anyio.to_thread.run_sync(tools.starts.acquire)
                with anyio.move_on_after(0.5):
                    await call(second, "second")
                await anyio.sleep(0.3)
                tools.may_end.set()
            await call(second, "third")

    with served(tmp_path / "w") as (server, tools):
        anyio.run(use, server, tools)
    assert results == {"first": "first is done", "third": "third is done"}
    assert tools.ran == ["first", "third"]


def test_a_client_that_never_answers_and_gives_up_keeps_nobody_else_waiting(tmp_path):
    async def silent(_context, _params):
        await anyio.sleep(600)

    async def use(server):
        async with connected(server, silent) as first, connected(server) as second:
            with anyio.move_on_after(0.5):
                await first.call_tool("change", {})
            with anyio.fail_after(20):
                return (await second.call_tool("files", {})).content[0].text

    with served(tmp_path / "w") as (server, _):
        assert anyio.run(use, server) == "five files"


@pytest.mark.filterwarnings("ignore:.*2026-07-28")  # of the client's SDK
@pytest.mark.parametrize(("level", "texts"), [("", 3), ("debug", 3), ("warning", 0)])
def test_what_a_tool_says_is_logged_at_the_level_that_a_client_wants(tmp_path, level, texts):
    messages = []

    async def log(params):
        messages.append((params.level, params.logger, params.data))

    async def use(server):
        async with Client(server, mode="legacy", logging_callback=log) as client:
            if level:
                await client.set_logging_level(level)
            await client.call_tool("steps", {})

    with served(tmp_path / "w") as (server, _):
        anyio.run(use, server)
    assert messages == [("info", "steps", text) for text in ("one", "two", "three")][:texts]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("action", "content", "answer"),
    [
        ("accept", {"name": "Ada", "age": 36}, 'answer: {"name": "Ada", "age": 36}'),
        ("decline", None, "answer: decline"),
        ("cancel", None, "answer: None"),
    ],
)
def test_a_form_is_shown_whole_to_the_clients_person(tmp_path, action, content, answer, mode):
    forms = []

    async def person(_context, params):
        forms.append(params.requested_schema)
        return mcp_types.ElicitResult(action=action, content=content)

    async def use(server):
        async with connected(server, person, mode) as client:
            return (await client.call_tool("form", {})).content[0].text

    with served(tmp_path / "w") as (server, _):
        assert anyio.run(use, server) == answer
    (shown,) = forms
    assert "\x1b" not in shown["properties"]["name"]["title"]
    assert shown["required"] == ["name"]


def test_a_prompt_is_answered_by_the_model_of_the_client(tmp_path):
    prompts = []

    async def model(_context, params):
        prompts.append((params.messages[0].content.text, params.max_tokens))
        if len(prompts) > 1:
            return mcp_types.ErrorData(code=-1, message="the person refused it")
        content = mcp_types.TextContent(type="text", text="4")
        return mcp_types.CreateMessageResult(role="assistant", content=content, model="theirs")

    async def person(_context, _params):
        return mcp_types.ElicitResult(action="accept", content={"answer": "yes"})

    async def use(server):
        async with connected(server, model=model) as client:
            both = [(await client.call_tool("model", {})).content[0].text for _ in range(2)]
        async with connected(server, person) as client:  # a client without a model
            return [*both, (await client.call_tool("model", {})).content[0].text]

    with served(tmp_path / "w") as (server, _):
        answers = anyio.run(use, server)
    assert answers == ['answer: {"reply": "4"}', "answer: {}", "answer: yes"]
    assert prompts == [("2+2?", 9)] * 2


def test_a_tool_that_asks_in_the_middle_of_its_work_goes_on_with_the_answer(tmp_path):
    async def person(_context, params):
        return mcp_types.ElicitResult(action="accept", content={"answer": params.message})

    async def use(server):
        async with connected(server, person, "auto") as client:
            return (await client.call_tool("twice", {})).content[0].text

    with served(tmp_path / "w") as (server, tools):
        assert anyio.run(use, server) == "The first?, The second?"
    assert tools.ran == ["first", "second"]


async def asked(client):
    """Call a tool that asks, and return its question; nobody answers."""
    answer = await client.session.call_tool("twice", {}, allow_input_required=True)
    assert isinstance(answer, mcp_types.InputRequiredResult)
    return answer


async def nobody(_context, _params):
    raise AssertionError("the client asks nobody by itself")


def test_others_wait_only_so_long_for_an_answer_that_does_not_come(tmp_path):
    async def use(server):
        async with connected(server, nobody, "auto") as client:
            await asked(client)
            with anyio.fail_after(20):
                return (await client.call_tool("files", {})).content[0].text

    with served(tmp_path / "w", patience_s=0.2) as (server, _):
        assert anyio.run(use, server) == "five files"


@pytest.mark.parametrize(
    ("tool_name", "arguments", "change"), [("twice", {}, "x"), ("ask", {"choices": []}, "")]
)
def test_an_answer_counts_for_the_call_that_asked_and_for_no_other(
    tmp_path, tool_name, arguments, change
):
    async def use(server):
        async with connected(server, nobody, "auto") as client:
            question = await asked(client)
            answer = mcp_types.ElicitResult(action="accept", content={"answer": "yes"})
            with pytest.raises(MCPError, match="nothing waits for an answer"):
                await client.session.call_tool(
                    tool_name,
                    arguments,
                    input_responses={"answer": answer},
                    request_state=f"{question.request_state}{change}",
                    allow_input_required=True,
                )
            unanswered = await client.session.call_tool(
                "twice", {}, request_state=question.request_state, allow_input_required=True
            )
            assert unanswered.input_requests.keys() == {"answer"}

    with served(tmp_path / "w", patience_s=0.2) as (server, _):
        anyio.run(use, server)


def test_a_client_learns_which_capability_a_call_needs(tmp_path):
    async def use(server):
        async with connected(server, mode="auto") as client:
            with pytest.raises(MCPError) as raised:
                await client.call_tool("needs_model", {})
            return raised.value.error

    with served(tmp_path / "w") as (server, _):
        error = anyio.run(use, server)
    assert error.code == mcp_types.MISSING_REQUIRED_CLIENT_CAPABILITY
    assert error.data == {"requiredCapabilities": {"sampling": {}}}


WHERE = {"folders": [{"uri": "file:///home/ada", "name": "home"}]}


async def their_roots(_context):
    return mcp_types.ListRootsResult.model_validate({"roots": WHERE["folders"]})


async def their_model(_context, _params):
    content = mcp_types.TextContent(type="text", text="4")
    return mcp_types.CreateMessageResult(role="assistant", content=content, model="theirs")


async def their_person(_context, params):
    is_form = "name" in params.requested_schema["properties"]
    content = {"name": "Ada"} if is_form else {"answer": f"typed: {params.message}"}
    return mcp_types.ElicitResult(action="accept", content=content)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("roots", "person", "answer"),
    [
        (their_roots, None, json.dumps(WHERE)),
        (None, their_person, "typed: Which folders?"),
        (None, None, "None"),
    ],
)
def test_a_tool_learns_the_folders_of_a_client(tmp_path, mode, roots, person, answer):
    async def use(server):
        async with connected(server, person, mode, roots=roots) as client:
            return (await client.call_tool("folders", {})).content[0].text

    with served(tmp_path / "w") as (server, _):
        assert anyio.run(use, server) == f"answer: {answer}"


@pytest.mark.parametrize("mode", MODES)
def test_questions_that_need_not_wait_for_each_other_are_put_at_once(tmp_path, mode):
    async def use(server):
        async with connected(server, their_person, mode, their_model, their_roots) as client:
            every = (await client.call_tool("together", {})).content[0].text
        async with connected(server, their_person, mode) as client:
            return every, (await client.call_tool("together", {})).content[0].text

    with served(tmp_path / "w") as (server, _):
        every, of_the_person = anyio.run(use, server)
    person = {"form": '{"name": "Ada"}'}
    assert json.loads(every) == {
        **person,
        "prompt": '{"reply": "4"}',
        "folders": json.dumps(WHERE),
    }
    # "typed: Ask it?" is none of the choices of that question.
    typed = {"prompt": None, "folders": "typed: Which folders?"}
    assert json.loads(of_the_person) == {**person, **typed}


def test_only_what_has_no_answer_is_asked_again(tmp_path):
    async def use(server):
        async with connected(server, nobody, "auto", their_model, their_roots) as client:
            answer, brought = None, {}
            for name in ("folders", "form", "prompt"):
                state = answer.request_state if answer else None
                answer = await client.session.call_tool(
                    "together",
                    {},
                    input_responses=brought or None,
                    request_state=state,
                    allow_input_required=True,
                )
                asked_for.append([*answer.input_requests])
                brought = {name: await replies[name]}

    asked_for = []
    replies = {
        "folders": their_roots(None),
        "form": form_reply(),
        "prompt": their_model(None, None),
    }
    with served(tmp_path / "w", patience_s=0.2) as (server, _):
        anyio.run(use, server)
    assert asked_for == [["form", "prompt", "folders"], ["form", "prompt"], ["prompt"]]


async def form_reply():
    return mcp_types.ElicitResult(action="accept", content={"name": "Ada"})
