"""Calls that follow each other share a thread, and nothing else of it."""

import threading
from contextvars import ContextVar

from nanocoder import Effect, ToolContext, hookimpl, tool
from nanocoder.cancel import idle_threads
from nanocoder_testing import opened

seen: list[threading.Thread] = []
word: ContextVar[str] = ContextVar("word", default="none")
gate = threading.Event()


@tool(risk="safe", effects={Effect.READ})
def remember(text: str) -> str:
    """Set a word for what follows here, and return the one from before."""
    seen.append(threading.current_thread())
    before = word.get()
    word.set(text)
    return before


@tool(risk="safe", effects={Effect.READ}, timeout_s=0.1)
def stay(ctx: ToolContext) -> str:
    """Go on for as long as the gate is closed."""
    seen.append(threading.current_thread())
    gate.wait(30)
    return "late"


class Tools:
    @hookimpl
    def nanocoder_tools(self):
        return [remember, stay]


def called(session, name, **arguments):
    return list(session.call(name, arguments))[-1].data


def test_the_next_call_takes_the_thread_and_sees_nothing_of_the_one_before(tmp_path):
    seen.clear()
    with opened(tmp_path, plugins={"tools": Tools()}) as (session, _):
        outputs = [called(session, "remember", text=text)["output"] for text in ("a", "b", "c")]
    assert outputs == ["none"] * 3
    assert len(set(seen)) == 1
    assert seen[0] in idle_threads()


def test_the_thread_of_a_call_that_was_left_behind_ends_with_it(tmp_path):
    seen.clear()
    gate.clear()
    with opened(tmp_path, plugins={"tools": Tools()}) as (session, _):
        late = called(session, "stay")
        assert late["error_class"] == "timeout"
        assert called(session, "remember", text="a")["output"] == "none"
        assert seen[0] is not seen[1]
        gate.set()
    assert not seen[0].is_alive()
    assert seen[0] not in idle_threads()
