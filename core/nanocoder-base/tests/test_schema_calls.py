"""The forms in which calls arrive, and the JSON text they arrive in."""

import json
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nanocoder_schema import BadArguments, Signature, canonical_json, normalise, parse_json


# PROV-045
@pytest.mark.contract("MA-112")
@pytest.mark.parametrize(
    "call",
    [
        {"name": "read_file", "params": {"path": "a", "limit": 2}},
        {"name": "read_file", "arguments": {"path": "a", "limit": 2}},
        {"name": "read_file", "path": "a", "limit": 2},
        {"name": "read_file", "arguments": '{"path": "a", "limit": 2}'},
        '{"name": "read_file", "params": {"path": "a", "limit": 2}}',
    ],
)
def test_all_forms_of_a_call_are_the_same_call(call):
    assert normalise(call) == ("read_file", {"path": "a", "limit": 2})


@pytest.mark.contract("MA-112")
def test_arguments_wrapped_twice_are_unwrapped_when_the_tool_is_known():
    call = {"name": "read_file", "arguments": {"params": {"path": "a"}}}
    assert normalise(call, lambda _: ("path",)) == ("read_file", {"path": "a"})
    assert normalise(call) == ("read_file", {"params": {"path": "a"}})


@pytest.mark.contract("MA-112")
@pytest.mark.parametrize(
    "call",
    [
        {"name": "request", "params": {"q": "x"}},
        {"name": "request", "params": {"params": {"q": "x"}}},
        {"name": "request", "arguments": {"params": {"q": "x"}}},
    ],
)
def test_a_tool_that_has_a_parameter_called_params_still_gets_it(call):
    assert normalise(call, lambda _: ("params",)) == ("request", {"params": {"q": "x"}})


@pytest.mark.contract("MA-112")
def test_a_tool_that_has_a_parameter_called_name_still_gets_it():
    call = {"name": "greet", "params": {"name": "Ada"}}
    assert normalise(call, lambda _: ("name",)) == ("greet", {"name": "Ada"})


@pytest.mark.contract("MA-112")
def test_params_beside_other_parameters_is_a_parameter():
    call = {"name": "request", "params": {"q": "x"}, "url": "/"}
    assert normalise(call) == ("request", {"params": {"q": "x"}, "url": "/"})


@pytest.mark.parametrize("call", [{"name": "now"}, {"name": "now", "params": None}])
def test_a_call_without_arguments_has_none(call):
    assert normalise(call) == ("now", {})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ([], "expected a call"),
        (None, "expected a call"),
        ({}, "name: expected the name of a tool"),
        ({"name": ""}, "name: expected the name of a tool"),
        ({"name": 5, "path": "a"}, "name: expected the name of a tool"),
        ({"name": "t", "params": [1]}, "params: expected an object of arguments, got a list of 1"),
        ({"name": "t", "arguments": "5"}, "arguments: expected an object of arguments, got 5"),
        ("{", "invalid JSON"),
    ],
)
def test_what_is_no_call_is_refused(call, message):
    with pytest.raises(BadArguments, match=message):
        normalise(call)


@pytest.mark.contract("MA-113")
def test_a_call_has_at_most_a_thousand_parameters():
    thousand = {f"p{i}": i for i in range(1_000)}
    assert normalise({"name": "t", "params": thousand}) == ("t", thousand)
    with pytest.raises(BadArguments, match="1,001 parameters; a call may have 1,000"):
        normalise({"name": "t", "params": {**thousand, "more": 1}})
    with pytest.raises(BadArguments, match="1,001 parameters"):
        normalise({"name": "t", **thousand, "more": 1})


@pytest.mark.contract("MA-117")
def test_invalid_json_is_an_error_with_a_short_excerpt():
    text = json.dumps({"content": "x" * 5_000})[:-2] + " oops" + "y" * 5_000
    with pytest.raises(BadArguments) as caught:
        parse_json(text)
    assert len(str(caught.value)) < 250


WINDOWS = [
    ('{"path": a.py}', 'Expecting value at line 1 column 10, after «{"path": », before «a.py}»'),
    (
        '{"old_string":\n"' + "x" * 90 + 'say "hi" now", "new_string": ""}',
        "Expecting ',' delimiter at line 2 column 97, after «" + "x" * 35 + 'say "», before «hi"'
        ' now", "new_string": ""}»; a quote inside a string is written \\"',
    ),
    (
        '{"new_string": "' + "a\\n" * 90 + "tail",
        'the string «"'
        + "a\\n" * 13
        + "» at line 1 column 16 has no end; the text ends with «"
        + "a\\n" * 12
        + "tail»",
    ),
    (
        '{"a": "b\x1b[2J\u202e"}',
        'control character at line 1 column 9, after «{"a": "b», before «\\x1b[2J\\u202e"}»',
    ),
    ('{"a": "\\q"}', "a backslash inside a string is written \\\\"),
    (
        '{"a": 1',
        "Expecting ',' delimiter at line 1 column 8, where the text ends, after «{\"a\": 1»",
    ),
]


@pytest.mark.contract("MA-117")
@pytest.mark.parametrize(("text", "message"), WINDOWS)
def test_invalid_json_is_shown_where_it_is_wrong(text, message):
    with pytest.raises(BadArguments) as caught:
        parse_json(text)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_list_that_came_as_a_text_is_told_what_is_wrong_with_the_text():
    def many(items: Annotated[list[dict[str, Any]], "Some."]): ...

    signature = Signature.of_function(many)
    with pytest.raises(BadArguments, match="send it as it is, not as a text"):
        signature.check({"items": '[{"a": 1}]'})
    with pytest.raises(BadArguments, match=r"items: .* at line 1 column 107, after .*, before"):
        signature.check({"items": '[{"a": 1},' + '{"bb": 2},' * 9 + '{"c": oops}]'})
    with pytest.raises(
        BadArguments, match=r"items\[0\]: expected an object, got '\{a' \(invalid JSON"
    ):
        signature.check({"items": ["{a"]})


@pytest.mark.contract("MA-117")
@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_no_text_at_all_means_no_arguments(text):
    assert parse_json(text) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1, "a": 2}', "the key 'a' appears twice"),
        ('{"b": [{"a": 1, "a": 1}]}', "the key 'a' appears twice"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ("[-Infinity]", "-Infinity is not a JSON number"),
        ("[1e999]", "the number 1e999 is too large"),
        (f"[{'9' * 5_000}]", "9 has more digits than 64 bits hold"),
        ('{"a": -12345678901234567890}', "the number -12345678901234567890 has more digits"),
        ('["\\ud800"]', "half of a surrogate pair"),
        ("[" * 65 + "]" * 65, "nested deeper than 64 levels"),
        ('{"a":' * 65 + "1" + "}" * 65, "nested deeper than 64 levels"),
        ("[" * 100_000, "invalid JSON"),
        ("{} {}", "invalid JSON: Extra data"),
        ("{'a': 1}", "invalid JSON"),
    ],
)
def test_json_that_means_two_things_or_none_is_refused(text, message):
    with pytest.raises(BadArguments) as caught:
        parse_json(text)
    assert message in str(caught.value)


def test_brackets_in_strings_and_64_levels_are_fine():
    assert parse_json(json.dumps({"code": "[" * 500})) == {"code": "[" * 500}
    deep = parse_json("[" * 64 + "]" * 64)
    assert isinstance(deep, list)
    assert parse_json('["\\ud83d\\ude00", "ä"]') == ["\U0001f600", "ä"]


@given(st.text())
def test_any_text_is_read_or_refused(text):
    try:
        value = parse_json(text)
    except BadArguments:
        return
    assert value == ({} if not text.strip() else json.loads(text))


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


@given(JSON)
def test_canonical_text_reads_back_to_the_same_value(value):
    assert json.loads(canonical_json(value)) == value


@given(st.dictionaries(st.text(), JSON))
def test_canonical_text_does_not_depend_on_the_order_of_keys(value):
    assert canonical_json(value) == canonical_json(dict(reversed(value.items())))


def test_canonical_text_has_no_spaces_and_only_ascii():
    assert canonical_json({"b": [1, "ä"], "a": None}) == '{"a":null,"b":[1,"\\u00e4"]}'
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json(float("nan"))
