"""What is left out of a long conversation, in which order, and what stays."""

from pathlib import Path

import nanocoder_compact_trim as plugin
import pytest
from nanocoder import (
    Attachment,
    Effect,
    Finished,
    Message,
    Plugins,
    ProviderError,
    SessionInfo,
    ToolCall,
    ToolResult,
    encode_message,
    hookimpl,
    message_tokens,
    open_session,
    spoken,
    tool,
)
from nanocoder_compact_trim import trimming
from nanocoder_kit_sessions import testing
from nanocoder_kit_sessions.context import NoteWriter, earlier_note
from nanocoder_testing import Scripted, opened


def trim(messages, limit_tokens, **options):
    writer = NoteWriter(messages, limit_tokens, {}, SessionInfo("s", Path("/")))
    return trimming.trim(writer, **options)


def step(number, words=400, **fields):
    call = ToolCall(f"c{number}", "look", {"at": number})
    result = ToolResult("word " * words, call_id=call.id, **fields)
    return Message("assistant", calls=(call,)), Message("tool", results=(result,))


def steps(count, words=400):
    return [message for number in range(count) for message in step(number, words)]


def tokens(messages):
    return sum(map(message_tokens, messages))


def pairs_are_whole(messages):
    following = [*messages[1:], Message("user")]
    return all(
        [call.id for call in message.calls] == [result.call_id for result in after.results]
        for message, after in zip(messages, following, strict=True)
    )


@pytest.mark.contract("G5")
def test_old_results_go_first_and_their_calls_stay():
    messages = [Message("user", "go"), *steps(20)]
    shorter = trim(messages, 10_000, target=0.5, recent=0.25)
    assert len(shorter) == len(messages) + 1, "all, and a note"
    assert shorter[2].results[0].output.startswith("[output left out")
    assert shorter[-4:] == messages[-4:], "what is recent stays as it is"
    assert tokens(shorter) <= 5_000
    assert pairs_are_whole(shorter)


def test_a_result_that_was_kept_in_a_file_names_it():
    messages = [Message("user", "go"), *step(0, artifact="/s/out.txt"), *steps(9)]
    shorter = trim(messages, 4_000, target=0.5, recent=0.2)
    assert "whole output: /s/out.txt" in shorter[2].results[0].output


@pytest.mark.contract("G5")
def test_then_old_steps_go_and_a_note_counts_them_all():
    messages = [Message("user", "build it"), *steps(400, words=5)]
    shorter = trim(messages, 4_000, target=0.5, recent=0.25)
    again = trim([*shorter, *steps(200, words=5)], 4_000, target=0.5, recent=0.25)
    first, second = (len(each) - 1 for each in (shorter, again))
    assert earlier_note(again).count == len(messages) + 400 - second
    assert earlier_note(shorter).count == len(messages) - first
    assert [message.text[:8] for message in again if message.role == "user"] == [
        "build it",
        "[Earlier",
    ]
    assert pairs_are_whole(again)


def test_the_first_and_the_latest_request_outlive_the_talk_between_them():
    talk = [
        message
        for number in range(50)
        for message in (Message("user", f"ask {number} " * 30), Message("assistant", "so " * 60))
    ]
    messages = [*talk, Message("user", "the latest"), *steps(3, words=300)]
    shorter = trim(messages, 2_000, target=0.5, recent=0.2)
    typed = [spoken(message)[0] for message in shorter if message.role == "user"]
    typed = [text for text in typed if text]
    assert (typed[0], typed[-1]) == (messages[0].text, "the latest")
    assert len(typed) < 10


def test_a_result_too_long_for_the_window_is_cut_at_last():
    messages = [Message("user", "go"), *step(0, words=9_000)]
    shorter = trim(messages, 4_000, target=0.5, recent=0.25)
    assert "characters left out" in shorter[-1].results[0].output
    assert tokens(shorter) < 2_000


def test_a_conversation_of_nothing_but_its_request_stays():
    assert trim([Message("user", "word " * 9_000)], 4_000, target=0.5, recent=0.25) is None


@tool(risk="safe", effects={Effect.READ})
def look(at: int) -> str:
    """Look there."""
    return f"at {at}: " + "stone " * 200


class Looking:
    @hookimpl
    def nanocoder_tools(self):
        return [look]


class Server(Scripted):
    """Asks for one call after the other, and refuses what is too long for it, as servers do."""

    def __init__(self, turns, window):
        super().__init__([], context=window)
        self.left, self.window, self.largest = turns, window, 0

    def stream(self, request, _cancel):
        size = tokens(request.messages)
        self.largest = max(self.largest, size)
        if size > self.window:
            raise ProviderError("too long", kind="context_overflow")
        assert pairs_are_whole(request.messages)
        self.left -= 1
        call = ToolCall(f"c{self.left}", "look", {"at": self.left})
        yield Finished("", (call,)) if self.left else Finished("Done.")


@pytest.mark.contract("G5")
def test_many_turns_fit_a_small_window_and_resume_as_they_were(tmp_path):
    server, plugins = Server(120, 4_096), Plugins()
    for each, name in ((plugin, "compact-trim"), (Looking(), "looking"), (server, "script")):
        plugins.add(each, name)
    plugins.add(testing, "files")
    options = {"plugins": plugins, "environment": {"HOME": str(tmp_path)}, "model": "script"}
    with open_session(tmp_path, max_turns=3_000, **options) as session:
        compacted = [event for event in session.run("go") if event.kind == "transcript.compacted"]
        assert session.report.text == "Done."
        assert session.report.turns == 120
        messages = session.messages
    assert len(compacted) > 5
    assert 0.6 * 4_096 < server.largest < 0.85 * 4_096
    with open_session(tmp_path, resume=session.id, **options) as again:
        assert list(map(encode_message, again.messages)) == list(map(encode_message, messages))
        assert pairs_are_whole(again.messages)


@pytest.mark.contract("G5")
def test_a_server_with_a_smaller_window_than_declared_is_asked_once_more(tmp_path):
    server = Server(30, 2_500)
    server.context = 100_000
    plugins = {"compact-trim": plugin, "looking": Looking()}
    with opened(tmp_path, plugins=plugins, model=server) as (session, _):
        reasons = [
            event.data["reason"]
            for event in session.run("go")
            if event.kind == "transcript.compacted"
        ]
        assert session.report.text == "Done."
    assert reasons.count("overflow") == 1, "one refusal shows how large the window is"
    assert len(reasons) > 1


@tool(risk="safe", effects={Effect.READ})
def search(ctx, path: str, word: str) -> str:
    """Search a file."""
    lines = ctx.workspace.read_text(path).splitlines()
    return "\n".join(line[:40] for line in lines if word in line)


class Reading:
    @hookimpl
    def nanocoder_tools(self):
        return [look, search]


class Searcher(Server):
    """Looks around until its turns are over, then reads the file that the note names."""

    def stream(self, request, _cancel):
        self.left -= 1
        if self.left > 1:
            yield Finished("", (ToolCall(f"c{self.left}", "look", {"at": self.left}),))
        elif self.left:
            note = next(each.text for each in request.messages if each.typed == "")
            path = note.partition("<transcript>\n")[2].partition(" (")[0]
            yield Finished("", (ToolCall("c", "search", {"path": path, "word": "User: "}),))
        else:
            yield Finished(request.messages[-1].results[0].output)


@pytest.mark.contract("G5")
def test_what_was_left_out_can_be_read_in_the_file_that_the_note_names(tmp_path):
    plugins = Plugins()
    for each, name in ((plugin, "compact-trim"), (Reading(), "t"), (testing, "files")):
        plugins.add(each, name)
    model = Searcher(12, 3_000)
    plugins.add(model, "script")
    options = {"plugins": plugins, "environment": {"HOME": str(tmp_path)}, "model": "script"}
    (tmp_path / "work").mkdir()
    with open_session(tmp_path / "work", **options) as session:
        facts = ["the port is 8432", "never touch legacy_billing", "releases are birds"]
        for fact in facts:
            model.left = 12
            list(session.run(fact))
        compacted = session.compaction.earlier
    assert len(compacted) >= 4
    said = [line for line in session.report.text.splitlines() if line.startswith("User: ")]
    assert said[:2] == [f"User: {fact}" for fact in facts[:2]]


PICTURE = Attachment("image/png", b"\x89PNG", "shot.png")


class Blind(Scripted):
    """Asks for a picture, and refuses each request that has one."""

    def stream(self, request, _cancel):
        results = [result for message in request.messages for result in message.results]
        if any(each.attachments for each in (*request.messages, *results)):
            raise ProviderError("Could not process image", kind="media", status=400)
        yield Finished("Done.") if results else Finished("", (ToolCall("c", "photograph", {}),))


@tool(risk="safe", effects={Effect.READ})
def photograph() -> ToolResult:
    """Take a picture."""
    return ToolResult("taken", attachments=(PICTURE,))


class Photographing:
    @hookimpl
    def nanocoder_tools(self):
        return [photograph]


def test_a_conversation_goes_on_without_the_pictures_that_its_server_refuses(tmp_path):
    plugins = {"compact-trim": plugin, "photographing": Photographing()}
    with opened(tmp_path, plugins=plugins, model=Blind([])) as (session, _):
        events = list(session.run("look", attachments=[PICTURE]))
        reasons = [e.data["reason"] for e in events if e.kind == "transcript.compacted"]
        assert session.report.text == "Done."
        typed, result = session.messages[0], session.messages[2].results[0]
    assert reasons == ["refused", "refused"]
    assert typed.text == "look\n[shot.png left out: the model's server refused a request with it]"
    assert spoken(typed)[0] == "look"
    assert result.output.startswith("taken\n[shot.png left out")


def test_a_refusal_without_pictures_in_the_conversation_ends_the_run(tmp_path):
    model = Scripted([ProviderError("bad image", kind="media", status=400), "never"])
    with opened(tmp_path, plugins={"compact-trim": plugin}, model=model) as (session, _):
        list(session.run("look"))
        assert session.report.error["kind"] == "media"
        assert len(model.requests) == 1
