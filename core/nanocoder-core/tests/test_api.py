"""The door of the Python API, as an editor and a person at a prompt see it."""

import inspect

import nanocoder
import pytest


def test_every_option_of_open_session_is_typed_and_explained():
    signature = inspect.signature(nanocoder.open_session)
    for name, parameter in signature.parameters.items():
        assert parameter.annotation is not inspect.Parameter.empty
        assert f"*{name}*" in (nanocoder.open_session.__doc__ or "")
    # A default is shown by help(): it must not be the process's variables, keys and all.
    assert signature.parameters["environment"].default is None


def test_a_session_says_where_it_is_and_usage_has_one_set_of_names(tmp_path):
    script = tmp_path / "script.json"
    script.write_text('{"turns": [{"text": "Hi.", "usage": {"input_tokens": 3}}]}')
    work = tmp_path / "work"
    work.mkdir()
    options = {"model": f"scripted/{script}", "environment": {"HOME": str(tmp_path / "home")}}
    with nanocoder.open_session(work, persist=False, **options) as session:
        events = list(session.run("Hello"))
        assert repr(session) == f"<Session unsaved in {work}: mode ask, scripted/{script}>"
        (usage,) = (one.data["usage"] for one in events if one.kind == "request.finished")
        assert usage == session.report.data()["usage"]
        assert usage["input_tokens"] == 3


def encoded(session):
    return [nanocoder.encode_message(message) for message in session.messages]


@pytest.mark.contract("G3")
def test_a_session_goes_on_with_what_its_journal_has_after_a_rewind(tmp_path):
    script = tmp_path / "script.json"
    script.write_text('{"turns": [{"text": "ONE"}, {"text": "TWO"}, {"text": "THREE"}]}')
    work = tmp_path / "work"
    work.mkdir()
    options = {"model": f"scripted/{script}", "environment": {"HOME": str(tmp_path / "home")}}
    with nanocoder.open_session(work, **options) as session:
        list(session.run("one"))
        before = encoded(session)
        seen = len(session.journal.records())
        list(session.run("two"))
        session.journal.append("transcript.rewound", {"from": seen + 1})
        session.reread()
        assert encoded(session) == before
        list(session.run("three"))
    with nanocoder.open_session(work, resume=session.id, **options) as resumed:
        assert encoded(resumed) == encoded(session)
        prompts = [message.text for message in resumed.messages if message.role == "user"]
    assert prompts == ["one", "three"]
