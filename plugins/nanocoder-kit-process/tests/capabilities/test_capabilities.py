"""Capabilities: how they are written, and what covers what."""

import pytest
from nanocoder_kit_process.capabilities import Capabilities, ManifestError, read_manifest


@pytest.mark.parametrize(
    ("wanted", "agreed", "more"),
    [
        ([], [], ()),
        (["exec", "fs.read"], ["fs.read"], ("exec",)),
        (["net:a.example.org"], ["net:*.example.org"], ()),
        (["net:example.org"], ["net:*.example.org"], ("net:example.org",)),
        (["net:evilexample.org"], ["net:*.example.org"], ("net:evilexample.org",)),
        (["net:*"], ["net:*.example.org"], ("net:*",)),
        (["net:a.b", "env:KEY"], ["net:*", "env:*"], ()),
        (["env:*"], ["env:KEY"], ("env:*",)),
        (["fs.write"], ["fs.read", "net:*"], ("fs.write",)),
    ],
)
def test_what_goes_beyond_an_agreement_is_named(wanted, agreed, more):
    assert Capabilities.of(wanted).beyond(Capabilities.of(agreed)) == more


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fs.raed", "'fs.raed' is no capability; did you mean 'fs.read'?"),
        ("net", "'net' is no capability"),
        ("net:EXAMPLE.org", "is not a host name in lower case"),
        ("net:*.*", "is not a host name"),
        ("net:a b", "is not a host name"),
        ("net:", "is not a host name"),
        ("env:A-B", "is not the name of a variable"),
        ("exec:git", "'exec:git' is no capability"),
        (7, "7 is no capability"),
    ],
)
def test_a_word_that_is_no_capability_is_refused(text, message):
    with pytest.raises(ValueError, match=message.replace("?", r"\?").replace("*", r"\*")):
        Capabilities.of([text])


def test_a_manifest_is_read_strictly(tmp_path):
    assert read_manifest(tmp_path) is None
    file = tmp_path / "nanocoder-plugin.toml"
    file.write_text('api = 1\ncapabilities = ["exec", "env:KEY"]\n')
    manifest = read_manifest(tmp_path)
    assert manifest is not None
    assert manifest.capabilities.sentences() == ["read the variable KEY", "start programs"]
    for text, message in [
        ("api = 2\ncapabilities = []\n", "api is 2"),
        ("api = 1\n", "capabilities is missing"),
        ("api = 1\ncapabilites = []\n", "did you mean 'capabilities'"),
        ('api = 1\ncapabilities = ["root"]\n', "'root' is no capability"),
        ("api = ", "Invalid value"),
        ("x" * 70_000, "more than 65,536 bytes"),
    ]:
        file.write_text(text)
        with pytest.raises(ManifestError, match=message) as caught:
            read_manifest(tmp_path)
        assert str(file) in str(caught.value)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ManifestError):
        read_manifest(tmp_path)
