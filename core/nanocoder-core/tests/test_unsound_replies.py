"""What a provider says is checked before anything is done with it."""

from types import SimpleNamespace

import pytest
from nanocoder import Finished, ProviderSpec, TextDelta, ToolCall, hookimpl, tool
from nanocoder_testing import opened


class Saying:
    """A provider, and the plugin that offers it: says *pieces*, and in the next turn "Done."."""

    profile = "full"
    context = 0

    def __init__(self, *pieces):
        self._turns = [pieces, (Finished("Done."),)]

    def stream(self, _request, _cancel):
        yield from self._turns.pop(0)

    def close(self):
        """Keep nothing open."""

    @hookimpl
    def nanocoder_providers(self):
        return [ProviderSpec("script", lambda *_: self)]


def run(cwd, *pieces):
    @tool(risk="safe", effects={"read"})
    def echo(text: str = "") -> str:
        """Say it again, for tests."""
        return f"said {text}"

    echoing = SimpleNamespace(nanocoder_tools=hookimpl(lambda: [echo]))
    with opened(cwd, plugins={"echoing": echoing}, model=Saying(*pieces), mode="auto") as (
        session,
        _,
    ):
        events = list(session.run("go"))
        return session.report, [one for one in events if one.kind == "call.returned"]


def calling(*calls):
    return Finished("", calls=tuple(calls))


@pytest.mark.parametrize(
    "piece",
    [
        *("text", None, TextDelta(5), Finished(None), Finished("", calls=(5,))),
        Finished("", usage=None),
    ],
)
def test_a_piece_that_is_none_is_the_providers_error(tmp_path, piece):
    report, _ = run(tmp_path, piece)
    assert report.exit_code == 4
    assert "the provider of script failed" in report.error["message"]


@pytest.mark.parametrize("arguments", [None, [], "text", 5])
def test_arguments_that_are_no_object_are_an_error_that_the_model_reads(tmp_path, arguments):
    report, returned = run(tmp_path, calling(ToolCall("a", "echo", arguments)))
    assert [one.data["error_class"] for one in returned] == ["invalid_arguments"]
    assert type(arguments).__name__ in returned[0].data["output"]
    assert report.text == "Done."


@pytest.mark.parametrize("name", [None, 5, ["echo"]])
def test_a_name_that_is_no_text_is_an_error_that_the_model_reads(tmp_path, name):
    report, returned = run(tmp_path, calling(ToolCall("a", name, {}), ToolCall(7, "echo", {})))
    outputs = {one.data["status"]: one.data["output"] for one in returned}  # in any order
    assert len(returned) == len(outputs) == 2
    assert f"must be text, not {type(name).__name__}" in outputs["error"]
    assert report.text == "Done."


def test_calls_with_one_id_or_none_get_ids_of_their_own_and_each_its_result(tmp_path):
    wanted = [("same", "one"), ("same", "two"), ("", "three"), ("", "four")]
    calls = [ToolCall(name, "echo", {"text": text}) for name, text in wanted]
    _, returned = run(tmp_path, calling(*calls))
    assert sorted(one.data["output"] for one in returned) == [
        "said four",
        "said one",
        "said three",
        "said two",
    ]
    assert len({one.call_id for one in returned}) == 4
    assert all(one.call_id for one in returned)


def test_a_call_whose_arguments_were_cut_off_by_the_token_limit_does_not_run(tmp_path):
    calls = (ToolCall("a", "echo", {"text": "whole"}), ToolCall("b", "echo", {}))
    _, returned = run(tmp_path, Finished("", calls=calls, truncated=True))
    assert {one.call_id: one.data["status"] for one in returned} == {"a": "ok", "b": "error"}
    assert "reached its output limit" in str([one.data["output"] for one in returned])
