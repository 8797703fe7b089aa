import json

import pytest
from nanocoder import ProviderError
from nanocoder_kit_llm.http import (
    decode_json,
    decode_objects,
    encode_json,
    parse_arguments,
    replace_surrogates,
)


def test_arguments_are_an_object_and_nothing_at_all_is_an_empty_one():
    assert parse_arguments('{"path": "a", "n": [1, 2.5, true, null]}') == (
        {"path": "a", "n": [1, 2.5, True, None]},
        "",
    )
    assert parse_arguments("") == ({}, "")
    assert parse_arguments(" \n") == ({}, "")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"path": "a.txt"', "line 1 column 17"),
        ("[]", "not list"),
        ("null", "not NoneType"),
        ('"ls"', "not str"),
        ("42", "not int"),
        ('{"a": 1, "a": 2}', "the key 'a' appears twice"),
        ('{"x": {"a": 1, "a": 2}}', "the key 'a' appears twice"),
        ('{"a": NaN}', "NaN"),
        ('{"a": -Infinity}', "-Infinity"),
        ('{"a": 1e999}', "too large"),
        ('{"a": 123456789012345678901234567890}', "64 bits"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested"),
        ('{"a": ' + "[" * 80 + "]" * 80 + "}", "nested deeper than 64"),
    ],
)
def test_arguments_that_mean_two_things_or_none_are_refused_with_a_reason(text, problem):
    arguments, error = parse_arguments(text)
    assert arguments == {}
    assert problem in error


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('{"a": "x", }', {"a": "x"}),
        ('{"a": [1, 2,], "b": {"c": ",}",},}', {"a": [1, 2], "b": {"c": ",}"}}),
        ('{"a": "one\n\ttwo"}', {"a": "one\n\ttwo"}),
        ('```json\n{"a": "```"}\n```', {"a": "```"}),
        ('```\n{"a": "one\ntwo",}\n```\n', {"a": "one\ntwo"}),
        ('"{\\"a\\": \\"x\\"}"', {"a": "x"}),
        ('{"a": "say \\"hi\\", }"}', {"a": 'say "hi", }'}),
    ],
)
def test_faults_with_one_meaning_are_read_as_meant(text, meant):
    assert parse_arguments(text) == (meant, "")


@pytest.mark.parametrize(
    "text", ['{"a": "x', '{"a": "x",', '{"a": "x"', '{"a": "b", "c": "x,}', '"text"', "{'a': 1}"]
)
def test_what_may_be_cut_off_or_lacks_a_meaning_is_refused(text):
    assert parse_arguments(text)[1]


def test_surrogates_are_joined_or_replaced():
    assert replace_surrogates("\ud83d\ude00") == "\U0001f600"
    assert replace_surrogates("a\ud83db") == "a\ufffdb"
    assert parse_arguments('{"\\ud83d": ["\\ude00x"]}') == ({"\ufffd": ["\ufffdx"]}, "")
    text = '{"a": "\\ud83d\\ude00 \\\\ud83d \ud83d"}'
    assert parse_arguments(text) == ({"a": "\U0001f600 \\ud83d \ufffd"}, "")


def test_what_leaves_is_valid_utf8():
    assert json.loads(encode_json({"text": "\ud83d é \u2028"}).decode("utf-8")) == {
        "text": "\ufffd é \u2028"
    }
    with pytest.raises(ProviderError, match="cannot be written as JSON"):
        encode_json({"n": float("nan")})


def test_bad_utf8_from_a_server_is_replaced_and_broken_json_is_an_error():
    assert decode_json(b'{"a": "x\xff"}') == {"a": "x\ufffd"}
    for broken in (b"{", b"<html>", b"[" * 100_000):
        with pytest.raises(ProviderError, match="not JSON") as caught:
            decode_json(broken)
        assert caught.value.kind == "protocol"


def test_objects_are_decoded_together_or_not_at_all():
    assert decode_objects([b'{"a": 1}', b'{"b": "\xff"}']) == [{"a": 1}, {"b": "\ufffd"}]
    assert decode_objects([b'{"a": 1}', b"[DONE]"]) is None
    assert decode_objects([b'{"a": 1}', b'"DONE"']) is None
    assert decode_objects([b'{"a": [1', b"2]}"]) is None
    assert decode_objects([b'{"a":' + b"[" * 100_000]) is None


def test_a_long_open_string_is_parsed_in_linear_time():
    assert "no end" in parse_arguments('{"a": "' + '\\"' * 500_000)[1]
