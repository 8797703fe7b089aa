import io
from pathlib import Path

import pytest
from nanocoder import Notice, ProviderError
from nanocoder_provider_local import nanocoder_providers
from nanocoder_provider_local.locate import is_usable, locate
from nanocoder_provider_local.progress import Report, tell_loading
from nanocoder_provider_local.settings import DEFAULT_MODEL, Settings


def no_progress(processed, total, deed):
    pass


@pytest.fixture
def gguf(tmp_path):
    path = tmp_path / "tiny.gguf"
    path.write_bytes(b"GGUF and more")
    return path


def test_an_absolute_path_is_taken_as_it_is(gguf):
    assert locate(str(gguf), Settings())(no_progress) == gguf


def test_a_file_in_the_settings_replaces_the_weights(gguf):
    settings = Settings(weights=str(gguf))

    assert locate(DEFAULT_MODEL, settings)(no_progress) == gguf
    assert is_usable(settings)


def test_a_file_that_is_not_there_is_said_with_the_ways_out(tmp_path):
    with pytest.raises(ProviderError, match=r"none.gguf.*No such file.*--model local/") as caught:
        locate(str(tmp_path / "none.gguf"), Settings())

    assert caught.value.kind == "not_found"


def test_an_unknown_name_is_said_with_the_ways_out():
    with pytest.raises(ProviderError, match=r"no embedded model 'gpt-9'.*local//path/to") as caught:
        locate("gpt-9", Settings())

    assert caught.value.kind == "not_found"


def test_a_file_of_another_format_is_refused(tmp_path):
    (tmp_path / "model.gguf").write_text("import this")

    with pytest.raises(ProviderError, match="not a GGUF file") as caught:
        locate(str(tmp_path / "model.gguf"), Settings())

    assert caught.value.kind == "bad_request"


def test_the_embedded_model_is_the_last_choice():
    [spec] = nanocoder_providers()

    assert (spec.name, spec.rank, spec.default_model) == ("local", 90, DEFAULT_MODEL)
    assert not spec.key_variables


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="context"):
        Settings(context=10)


def test_without_a_terminal_progress_is_a_few_lines():
    stream = io.StringIO()
    report = Report(Path("/cache/models"), stream)
    for processed in range(1001):
        report(processed, 1000, "joining")

    lines = stream.getvalue().splitlines()
    assert lines[0].startswith(
        "nanocoder: joining the embedded model, once: 0.0 GB into /cache/models (Ctrl-C stops"
    )
    assert [line.split(": ")[2].split(" of")[0] for line in lines[1:]] == [
        "0 %",
        "25 %",
        "50 %",
        "75 %",
        "100 %",
    ]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_on_a_terminal_progress_is_one_line():
    stream = Terminal()
    report = Report(Path("/cache/models"), stream, io.StringIO())
    assert [
        notice for processed in range(1001) for notice in report(processed, 1000, "joining")
    ] == []
    assert stream.getvalue().count("\n") == 2
    assert stream.getvalue().count("\r") == 101


def test_where_a_screen_draws_it_gets_the_progress_and_nothing_is_written_between():
    stream = Terminal()
    report = Report(Path("/cache/models"), stream, Terminal())
    first, *others = [notice for done in range(1001) for notice in report(done, 1000, "joining")]
    assert first.text.startswith("joining the embedded model, once: 0.0 GB into /cache/models")
    assert not first.is_passing
    assert len(others) == 101
    assert others[50] == Notice("joining the embedded model: 50 %", is_passing=True)
    assert others[-1] == Notice("loading the embedded model", is_passing=True)
    assert stream.getvalue() == ""


@pytest.mark.parametrize(
    ("words", "answer", "expected"), [(True, False, 1), (True, True, 0), (False, False, 0)]
)
def test_the_wait_for_loading_is_said_on_a_terminal_where_nobody_draws(words, answer, expected):
    class Stream(io.StringIO):
        def __init__(self, *, is_terminal):
            super().__init__()
            self.isatty = lambda: is_terminal

    stream = Stream(is_terminal=words)
    tell_loading(stream, Stream(is_terminal=answer))
    assert stream.getvalue().count("loading the embedded model") == expected
