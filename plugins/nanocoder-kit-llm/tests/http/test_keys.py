"""Where a key comes from, and how a changed one gets to the server."""

import os

import pytest
from nanocoder import Cancel, ConfigError, ProviderError
from nanocoder_kit_files.redact import Redactor
from nanocoder_kit_llm.http import Client, Key
from nanocoder_kit_llm.http.key_command import KeyCommand
from nanocoder_testing.server import ScriptedServer, events, refusal

ACME = Key("ACME_API_KEY")


@pytest.fixture(autouse=True)
def _no_key(monkeypatch):
    monkeypatch.delenv("ACME_API_KEY", raising=False)
    monkeypatch.delenv("ACME_API_KEY_FILE", raising=False)


@pytest.fixture(autouse=True)
def _only_ours():
    """Make files as a careful person does: for their own eyes."""
    before = os.umask(0o077)
    yield
    os.umask(before)


def test_a_key_in_place_of_its_variable_is_refused_and_not_shown():
    with pytest.raises(ConfigError, match="must be the name of an environment variable") as caught:
        Key("sk-1234").read()
    assert "sk-1234" not in str(caught.value)


def sent_keys(server):
    return [request.headers.get("authorization", "") for request in server.seen]


@pytest.mark.contract("NT-64")
def test_a_file_with_a_new_key_counts_from_the_next_request_on(tmp_path, monkeypatch):
    file = tmp_path / "key"
    monkeypatch.setenv("ACME_API_KEY_FILE", str(file))
    with ScriptedServer(events(1)) as server:
        client = Client(server.url, key=ACME)
        for key in ("first-key", "second-key\n"):
            file.write_text(key)
            list(client.stream_events("/x", b"{}", Cancel()))
        client.close()
    assert sent_keys(server) == ["Bearer first-key", "Bearer second-key"]
    assert Redactor().redact("first-key second-key") == " ".join(
        ["[secret: ACME_API_KEY_FILE]"] * 2
    )
    assert ACME.source == "ACME_API_KEY_FILE"


@pytest.mark.contract("NT-64")
def test_the_variable_itself_wins_over_the_file(tmp_path, monkeypatch):
    monkeypatch.setenv("ACME_API_KEY_FILE", str(tmp_path / "absent"))
    monkeypatch.setenv("ACME_API_KEY", "sk-1")
    assert (ACME.read(), ACME.source) == ("sk-1", "ACME_API_KEY")
    assert Key("ACME_API_KEY", "x-api-key").headers() == {"x-api-key": "sk-1"}


def test_without_a_key_no_header_is_sent():
    assert (ACME.read(), ACME.headers()) == ("", {})


def test_a_file_that_cannot_be_read_is_named_by_its_variable(tmp_path, monkeypatch):
    monkeypatch.setenv("ACME_API_KEY_FILE", str(tmp_path / "absent"))
    with pytest.raises(ConfigError, match="ACME_API_KEY_FILE names a file that cannot be read"):
        ACME.read()


def test_a_pipe_is_refused_and_not_waited_for(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "key")
    monkeypatch.setenv("ACME_API_KEY_FILE", str(tmp_path / "key"))
    with pytest.raises(ConfigError, match=r"ACME_API_KEY_FILE names .*is not a regular file.*key"):
        ACME.read()


@pytest.mark.parametrize("path", ["/", "/dev/zero", "~nobody-of-that-name/key"])
def test_what_is_no_file_is_refused(monkeypatch, path):
    monkeypatch.setenv("ACME_API_KEY_FILE", path)
    with pytest.raises(ConfigError, match="ACME_API_KEY_FILE names a file that cannot be read"):
        ACME.read()


def test_a_link_to_a_file_is_followed_as_for_mounted_secrets(tmp_path, monkeypatch):
    (tmp_path / "target").write_text("sk-1\n")
    (tmp_path / "key").symlink_to("target")
    monkeypatch.setenv("ACME_API_KEY_FILE", str(tmp_path / "key"))
    assert ACME.read() == "sk-1"


def test_a_file_that_is_too_large_for_a_key_is_refused_and_not_cut(tmp_path, monkeypatch):
    (tmp_path / "key").write_text("x" * 16_385)
    monkeypatch.setenv("ACME_API_KEY_FILE", str(tmp_path / "key"))
    with pytest.raises(ConfigError, match="more than 16,384 bytes, which is no key"):
        ACME.read()


@pytest.mark.parametrize("content", ["two words", "a\nb", "é"])
def test_a_file_without_a_usable_key_is_refused(tmp_path, monkeypatch, content):
    file = tmp_path / "key"
    file.write_text(content)
    monkeypatch.setenv("ACME_API_KEY_FILE", str(file))
    with pytest.raises(ConfigError, match="ACME_API_KEY_FILE holds no usable key"):
        ACME.read()


@pytest.mark.contract("NT-64")
def test_a_file_that_others_can_read_is_refused(tmp_path, monkeypatch):
    file = tmp_path / "key"
    file.write_text("sk-1")
    monkeypatch.setenv("ACME_API_KEY_FILE", str(file))
    for mode in (0o640, 0o604, 0o660):
        file.chmod(mode)
        with pytest.raises(ConfigError, match="a file that others can read: chmod 600 /"):
            ACME.read()
    file.chmod(0o400)
    assert ACME.read() == "sk-1"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_refused(tmp_path, monkeypatch):
    file = tmp_path / "key"
    file.write_text("sk-1")
    os.chown(file, 12_345, -1)
    monkeypatch.setenv("ACME_API_KEY_FILE", str(file))
    with pytest.raises(ConfigError, match="names a file of another user"):
        ACME.read()


def program(tmp_path, text, name="keys"):
    path = tmp_path / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return str(path)


@pytest.mark.contract("NT-64")
@pytest.mark.contract("NT-80")
def test_a_key_that_was_renewed_elsewhere_is_used_after_one_refusal(tmp_path):
    (tmp_path / "store").write_text("old-key-1\nlogin: ann\n")
    argv = (program(tmp_path, f'echo run >> {tmp_path}/runs; cat "$1"'), str(tmp_path / "store"))
    key = Key("ACME_API_KEY", command=argv)
    with ScriptedServer(events(1), refusal(401), events(2), refusal(401)) as server:
        client = Client(server.url, key=key)
        list(client.stream_events("/x", b"{}", Cancel()))
        (tmp_path / "store").write_text("new-key-2\n")
        list(client.stream_events("/x", b"{}", Cancel()))
        with pytest.raises(
            ProviderError, match=r"the key in key_command \(/.*keys\) is not accept"
        ):
            list(client.stream_events("/x", b"{}", Cancel()))
        client.close()
    assert sent_keys(server) == ["Bearer old-key-1"] * 2 + ["Bearer new-key-2"] * 2
    assert (tmp_path / "runs").read_text().count("run") == 3
    assert Redactor().redact("new-key-2") == f"[secret: {key_kind(argv)}]"


def key_kind(argv):
    return "key_command-" + argv[0].replace("/", "-").lstrip("-")


def test_a_variable_wins_over_the_command(tmp_path, monkeypatch):
    key = Key("ACME_API_KEY", command=(program(tmp_path, "exit 1"),))
    monkeypatch.setenv("ACME_API_KEY", "sk-1")
    assert (key.read(), key.source) == ("sk-1", "ACME_API_KEY")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("echo 'vault is sealed' >&2; exit 3", "failed with exit code 3: vault is sealed"),
        ("true", "printed no key"),
        ("echo; echo second", "printed no key"),
    ],
)
def test_a_command_without_a_key_says_why(tmp_path, text, problem):
    key = Key("ACME_API_KEY", command=(program(tmp_path, text),))
    with pytest.raises(ConfigError, match=problem):
        key.read()


def test_the_workspace_does_not_choose_the_program(tmp_path, monkeypatch):
    program(tmp_path, "echo planted", "pass")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    for name, problem in (("pass", "is not on PATH"), ("./pass", "is a relative path")):
        with pytest.raises(ConfigError, match=problem):
            Key("ACME_API_KEY", command=(name,)).read()


@pytest.mark.parametrize("written", ['"sk-1"', "'sk-1'", ' "sk-1" \n', "sk-1"])
def test_quotes_around_a_key_are_no_part_of_it(monkeypatch, written):
    monkeypatch.setenv("ACME_KEY", written)
    assert Key("ACME_KEY").read() == "sk-1"


def test_the_program_does_not_start_in_the_workspace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert KeyCommand(("pwd",)).read() == "/"
