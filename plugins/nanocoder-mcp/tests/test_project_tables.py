"""A project's `.mcp.json` as several programs write it, and what it may not do."""

import json
from pathlib import Path

import pytest
from nanocoder_mcp.project_file import ProjectFile, review_of

TABLE = {"command": "python3", "args": ["server.py"]}
PLAIN = json.dumps({"mcpServers": {"shop": TABLE}}, indent=1)
FORMS = {
    "plain": PLAIN,
    "byte order mark": f"\ufeff{PLAIN}",
    "line ends": PLAIN.replace("\n", "\r\n"),
    "comments": f"// mine\n/* all\n of it */{PLAIN} // end",
    "last commas": PLAIN.replace("]", ",]").replace("}", ", }"),
    "comment after a comma": PLAIN.replace("]", ", // last\n]"),
    "another name": json.dumps({"servers": {"shop": TABLE}}),
    "type": json.dumps({"mcpServers": {"shop": {**TABLE, "type": "stdio"}}}),
    "labels": json.dumps({"mcpServers": {"shop": {**TABLE, "alwaysAllow": ["x"], "trust": True}}}),
    "enabled": json.dumps({"mcpServers": {"shop": {**TABLE, "disabled": False}}}),
}


@pytest.fixture
def read(tmp_path):
    def read_text(text):
        (tmp_path / ".mcp.json").write_bytes(text.encode())
        return ProjectFile.of(tmp_path)

    return read_text


def one(**fields):
    return json.dumps({"mcpServers": {"shop": {**TABLE, **fields}}})


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_the_servers_are_read(read, text):
    file = read(text)
    assert file.problems == []
    assert file.servers["shop"].command == ("python3", "server.py")


def test_a_comment_inside_of_a_text_is_text(read):
    file = read(one(args=["http://x/y // z", "/* a */", ",]", 'quote \\" // b']))
    assert file.servers["shop"].command[1:] == (
        "http://x/y // z",
        "/* a */",
        ",]",
        'quote \\" // b',
    )


@pytest.mark.parametrize("text", [PLAIN[:-4], "", "[]", "null", '{"mcpServers": 5}', "{}", "// x"])
def test_a_file_that_cannot_be_read_is_a_problem_and_no_more(read, text):
    file = read(text)
    assert file.servers == {}
    (problem,) = file.problems
    assert ".mcp.json" in problem


def test_the_home_the_project_and_defaults_stand_for_references(read, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("SECRET", "mine")
    args = ["${HOME}/a", "${workspaceFolder}/b", "${SECRET:-c}", "${NONE:-}d", "$HOME"]
    server = read(one(args=args, env={"A": "${HOME}"})).servers["shop"]
    assert server.command[1:] == ("/home/me/a", f"{tmp_path}/b", "c", "d", "$HOME")
    assert server.env == {"A": "/home/me"}


@pytest.mark.parametrize("fields", [{"args": ["${TOKEN}"]}, {"env": {"A": "x ${TOKEN}"}}])
def test_a_variable_of_the_person_is_given_to_nobody(read, fields):
    file = read(one(**fields))
    assert file.servers == {}
    assert "refers to ${TOKEN}; a project's file gets no variables of yours" in file.problems[0]


@pytest.mark.parametrize(
    ("timeout", "seconds"),
    [(60_000, 60), (90, 90), (1.5, 1.5), (1e9, 3_600), (0, None), (True, None), ("5", None)],
)
def test_a_timeout_is_in_seconds_or_milliseconds(read, timeout, seconds):
    assert read(one(timeout=timeout)).servers["shop"].timeout_s == seconds


def test_a_person_reads_what_is_disabled_and_what_does_not_count(read, tmp_path):
    tables = {"off": {**TABLE, "disabled": True}, "shop": {**TABLE, "alwaysAllow": ["x"]}}
    file = read(json.dumps({"mcpServers": tables}))
    assert [*file.servers] == ["shop"]
    lines, _accept = review_of(Path(tmp_path))
    assert lines[-2:] == ["off is disabled in this file", "shop: 'alwaysAllow' does not count here"]
