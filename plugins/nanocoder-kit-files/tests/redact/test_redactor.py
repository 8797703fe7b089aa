"""The redactor finds secrets, leaves the rest alone, and does not care how a text is cut."""

import base64
import hashlib
import json
import random
import string
import sys
import time
import uuid
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nanocoder_kit_files.redact import (
    Redactor,
    RedactorStream,
    placeholders_in,
    redact_value,
    remember,
)
from nanocoder_kit_files.redact.clean_texts import MAX_CHARS, MAX_TEXT_CHARS, CleanTexts

B62 = string.ascii_letters + string.digits
REDACTOR = Redactor({})


def body(length: int, letters: str = B62) -> str:
    return "".join(random.Random(length).choices(letters, k=length))


PEM = "\n".join(
    ["-----BEGIN RSA PRIVATE KEY-----", *[body(64)] * 20, "-----END RSA PRIVATE KEY-----"]
)
JWT = f"eyJ{body(30)}.eyJ{body(60)}.{body(43)}"
SECRETS = {
    f"ghp_{'c' * 36}": "github-token",
    f"ghs_{body(36)}": "github-token",
    f"github_pat_{body(22)}_{body(59)}": "github-token",
    f"glpat-{body(20)}": "gitlab-token",
    f"sk-ant-api03-{body(95)}": "anthropic-key",
    f"sk-or-v1-{body(64, '0123456789abcdef')}": "openrouter-key",
    f"sk-proj-{body(48)}": "openai-key",
    f"sk-{'c' * 48}": "openai-key",
    f"sk_live_{body(24)}": "stripe-key",
    f"AKIA{body(16, string.ascii_uppercase)}": "aws-key-id",
    f"AIza{body(35)}": "google-key",
    f"xoxb-{body(12, string.digits)}-{body(24)}": "slack-token",
    f"hf_{body(34)}": "huggingface-token",
    f"npm_{body(36)}": "npm-token",
    f"pypi-AgEIcHlwaS5vcmc{body(100)}": "pypi-token",
    f"SG.{body(22)}.{body(43)}": "sendgrid-key",
    f"dop_v1_{body(64, '0123456789abcdef')}": "digitalocean-token",
    f"glsa_{body(32)}_deadbeef": "grafana-token",
    JWT: "jwt",
    PEM: "private-key",
    PEM.replace("\n", "\\n"): "private-key",
}


@pytest.mark.parametrize(("secret", "kind"), SECRETS.items(), ids=lambda text: text[:14])
@pytest.mark.parametrize(
    "frame",
    [
        "{}",
        "key={}\n",
        '{{"k":"{}"}}',
        "a {} b",
        "x\\n{}",
        "q%3D{}&b",
        "({})",
        "'{}',",
        "\x1b[1m{}\x1b[0m",
        "\\u001b[1;31m{}",
    ],
)
def test_a_secret_becomes_its_placeholder(secret, kind, frame):
    assert REDACTOR.redact(frame.format(secret)) == frame.format(f"[secret: {kind}]")


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        (
            "psql postgres://ann:hunter2@db.example/x",
            "psql postgres://ann:[secret: url-password]@db.example/x",
        ),
        ("https://:s3cr3t@host/", "https://:[secret: url-password]@host/"),
        (f"Authorization: Bearer {body(40)}", "Authorization: Bearer [secret: authorization]"),
        (
            f"aws_secret_access_key = {body(40)}\n",
            "aws_secret_access_key = [secret: aws-secret-key]\n",
        ),
        (f"bot 123456789:AA{body(33)} x", "bot 123456789:[secret: telegram-token] x"),
        (
            f"https://hooks.slack.com/services/T{body(9)}/B{body(9)}/{body(24)}",
            "https://hooks.slack.com/services/[secret: slack-webhook]",
        ),
    ],
)
def test_only_the_secret_part_is_replaced(text, redacted):
    assert REDACTOR.redact(text) == redacted


def test_a_key_whose_end_was_cut_off_is_a_key():
    assert REDACTOR.redact(PEM[:300]) == "[secret: private-key]"
    numbered = "\n".join(f"{n:>4}\t{line}" for n, line in enumerate(PEM.splitlines(), 1))
    assert REDACTOR.redact(numbered) == "   1\t[secret: private-key]"


HARMLESS = [
    hashlib.sha1(b"x").hexdigest(),
    hashlib.sha256(b"x").hexdigest(),
    f'"integrity": "sha512-{base64.b64encode(hashlib.sha512(b"x").digest()).decode()}"',
    str(uuid.UUID(int=2**127 - 1)),
    "git@github.com:owner/name.git",
    "postgres://postgres:postgres@localhost/x",
    "postgres://user:${PASSWORD}@host postgres://user:<password>@host redis://u:****@h",
    "sk-estimator-doc-link sk-text-repr-fallback pypi-publish-to-the-index npm_config_registry_x",
    'if line == "-----BEGIN RSA PRIVATE KEY-----":  # the first line of such a file',
    "-----BEGIN PRIVATE KEY-----\nThis line is prose. So is the next,\nand this one.",
    "-----BEGIN CERTIFICATE-----\nMIIB" + body(60) + "\n-----END CERTIFICATE-----",
    "Authorization: Bearer YOUR_TOKEN_HERE_PLEASE",
    "task-force-of-the-nation desk-lamp-with-a-very-long-name risk-assessment-2024-q3-report",
    "[secret: github-token]",
]


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text):
    assert REDACTOR.redact(text) == text


def test_base64_and_hashes_are_no_secrets():
    data = random.Random(7).randbytes(3_000_000)
    for text in (base64.b64encode(data).decode(), data.hex(), base64.encodebytes(data).decode()):
        assert REDACTOR.redact(text) == text


@given(st.uuids(), st.binary(min_size=20, max_size=64))
def test_ids_and_digests_are_no_secrets(number, digest):
    text = f"{number} {digest.hex()} sha512-{base64.b64encode(digest).decode()} =="
    assert REDACTOR.redact(text) == text


TEXT = (
    f"a {next(iter(SECRETS))}\nb={list(SECRETS)[4]} {JWT}\n{PEM}\nplain words\n"
    f"x://u:hunter2@h -----BEGIN PRIVATE KEY-----\n{body(64)}\nknown-value-1 end"
)
ENVIRONMENT = {"MY_API_KEY": "known-value-1"}


def in_pieces(text: str, cuts: list[int], environment: dict[str, str] = ENVIRONMENT) -> str:
    stream = Redactor(environment).stream()
    edges = [0, *sorted(cuts), len(text)]
    pieces = [text[start:end] for start, end in pairwise(edges)]
    return "".join([*map(stream.feed, pieces), stream.finish()])


def test_every_place_to_cut_gives_the_same():
    whole = Redactor(ENVIRONMENT).redact(TEXT)
    assert len(placeholders_in(whole)) == 6
    for cut in range(len(TEXT) + 1):
        assert in_pieces(TEXT, [cut]) == whole
    assert in_pieces(TEXT, list(range(len(TEXT)))) == whole


PARTS = [*SECRETS, *HARMLESS, "known-value-1", "\n", " ", "-", "x", "://u:", "@", body(30_000)]


@given(st.lists(st.sampled_from(PARTS), max_size=12), st.data())
def test_no_cut_changes_what_a_stream_returns(parts, data):
    text = "".join(parts)
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=8))
    assert in_pieces(text, cuts) == Redactor(ENVIRONMENT).redact(text)


@given(st.lists(st.sampled_from(PARTS), max_size=12))
def test_redacting_twice_changes_nothing(parts):
    once = Redactor(ENVIRONMENT).redact(" ".join(parts))
    assert Redactor(ENVIRONMENT).redact(once) == once


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=20) | st.sampled_from(list(SECRETS)),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
        max_leaves=12,
    )
)
def test_json_stays_json(value):
    redacted = redact_value(value, REDACTOR)
    assert json.loads(REDACTOR.redact(json.dumps(value))) is not None or value is None
    for secret in SECRETS:
        assert secret not in json.dumps(redacted, ensure_ascii=False).replace("\\n", "\n")


def test_places_keep_their_names():
    token = next(iter(SECRETS))
    value = {"path": f"notes/{token}", "text": token, "rows": [{"host": token, "line": token}]}
    assert redact_value(value, REDACTOR) == {
        "path": f"notes/{token}",
        "text": "[secret: github-token]",
        "rows": [{"host": token, "line": "[secret: github-token]"}],
    }
    harmless = {"a": ["b", {"c": "d"}]}
    assert redact_value(harmless, REDACTOR) is harmless


@pytest.mark.parametrize("name", ["tool", "name"])
def test_nothing_that_a_model_wrote_into_a_call_stays(name):
    token = next(iter(SECRETS))
    value = {name: token, "arguments": {"path": f"notes/{token}", "edits": [{"id": token}]}}
    assert redact_value(value, REDACTOR) == {
        name: "secret_github-token",
        "arguments": {
            "path": "notes/[secret: github-token]",
            "edits": [{"id": "[secret: github-token]"}],
        },
    }
    assert redact_value({name: "read_file"}, REDACTOR) == {name: "read_file"}


def test_values_of_secret_variables_are_known():
    environment = {
        "ACME_TOKEN": 'quo"ted/value',
        "SERVICE_KEY": '{\n "private_key_id": "x",\n "abcdefghijklmnopqrstuvwx"\n}',
        "SSH_AUTH_SOCK": "/tmp/agent.sock",
        "OPENAI_API_KEY_FILE": "keys/openai",
        "SHORT_KEY": "abc",
        "EDITOR": "vim-and-more",
    }
    text = (
        'quo"ted/value quo\\"ted/value quo%22ted%2Fvalue'
        " /tmp/agent.sock keys/openai abc vim-and-more"
    )
    assert Redactor(environment).redact(text) == (
        "[secret: ACME_TOKEN] [secret: ACME_TOKEN] [secret: ACME_TOKEN]"
        " /tmp/agent.sock keys/openai abc vim-and-more"
    )


def test_a_key_that_was_read_is_known_from_then_on():
    value = f"odd key {uuid.uuid4()}"
    redactor = Redactor({})
    assert redactor.redact(value) == value
    remember(value, "the keyring/acme")
    assert redactor.redact(f"<{value}>") == "<[secret: the-keyring-acme]>"


def test_a_text_without_a_secret_has_one_once_its_value_is_known():
    value = f"odd key {uuid.uuid4()}"
    redactor, other = Redactor({}), Redactor({})
    record = {"texts": [value, "harmless text"], "more": value}
    assert redact_value(record, redactor) is record
    assert redact_value(record, other) is record
    remember(value, "late")
    expected = {"texts": ["[secret: late]", "harmless text"], "more": "[secret: late]"}
    assert redact_value(record, redactor) == redact_value(record, other) == expected


def test_a_key_too_short_to_be_looked_for_lets_no_redactor_forget_its_texts():
    redactor, text = Redactor({}), f"harmless {uuid.uuid4()}"
    redactor.json_of({"text": text})
    for _ in range(2):
        remember("none", "the environment")
        assert text in redactor.clean_texts
    counts = []
    sys.setprofile(lambda _frame, event, _argument: counts.append(event))
    try:
        redactor.json_of({"text": text})
    finally:
        sys.setprofile(None)
    assert counts.count("call") < 6


def test_a_text_is_looked_at_once_whichever_redactor_gets_it():
    texts = [f"line {number} of {uuid.uuid4()}" for number in range(50)]
    record = {"output": "\n".join(texts), "data": {"lines": texts}}
    looks = []

    def note(frame, event, _argument):
        if event == "call" and frame.f_code is CleanTexts.may_hold_secret.__code__:
            looks.append(frame.f_locals["text"])

    sys.setprofile(note)
    try:
        for redactor in (Redactor({}), Redactor({})):
            assert redact_value(record, redactor) is record
            assert redactor.redact(record["output"]) is record["output"]
    finally:
        sys.setprofile(None)
    assert sorted(looks) == sorted([record["output"], *texts])


def test_what_is_remembered_of_texts_is_limited():
    clean = CleanTexts(())
    for number in range(300):
        clean.add(f"{number:,}" * 4_000)
        clean.add(str(number))
    clean.add("x" * (MAX_TEXT_CHARS + 1))
    assert 0 < sum(map(len, clean.texts)) <= MAX_CHARS
    assert "299" in clean.texts
    assert max(map(len, clean.texts)) <= MAX_TEXT_CHARS


@given(st.lists(st.sampled_from(PARTS), max_size=6), st.sampled_from(["a", "arguments", "tool"]))
def test_a_value_that_was_seen_is_redacted_as_one_that_is_new(parts, key):
    def redacted(text):
        stream = RedactorStream({"known-value-1": "A_KEY"})
        return stream.feed(text) + stream.finish()

    redactor = Redactor({"A_KEY": "known-value-1"})
    value = {"rows": [{key: {"path": part}, "text": part} for part in parts], "all": "".join(parts)}
    rows = [
        {key: {"path": redacted(part) if key == "arguments" else part}, "text": redacted(part)}
        for part in parts
    ]
    expected = {"rows": rows, "all": redacted("".join(parts))}
    assert [redact_value(value, redactor) for _ in range(2)] == [expected] * 2


@pytest.mark.rows(5)
@pytest.mark.parametrize(
    "unit",
    [
        *("sk-", "ghp_", "eyJ.", "eyJaaaaaaaa.", "://", "://a:", "-----BEGIN PRIVATE KEY-----\n"),
        *("x" * 50, "-----BEGIN ", f"{'a' * 64}\n", "Authorization: Bearer ", "AKIA", " \n", "-"),
        "-----BEGIN PRIVATE KEY-----\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n",
    ],
)
def test_no_text_takes_more_than_linear_time(unit):
    text = unit * (2_000_000 // len(unit))
    start = time.process_time()
    REDACTOR.redact(text)
    assert time.process_time() - start < 4


def test_10_mb_of_source_take_a_second():
    text = Path(__file__).read_text() * (10_000_000 // Path(__file__).stat().st_size)
    start = time.process_time()
    REDACTOR.redact(text)
    assert time.process_time() - start < 4


@pytest.mark.parametrize(
    "spelling",
    [
        "p@ss w/rd+1",
        "p@ss w\\/rd+1",
        "p%40ss%20w%2Frd%2B1",
        "p%40ss%20w%2frd%2b1",
        "p%40ss%20w/rd%2B1",
        "p%40ss+w%2Frd%2B1",
        "p%40ss+w%2frd%2b1",
    ],
)
def test_a_known_value_is_found_as_every_encoder_spells_it(spelling):
    redactor = Redactor({"DB_PASSWORD": "p@ss w/rd+1"})
    assert redactor.redact(f"x={spelling}&y") == "x=[secret: DB_PASSWORD]&y"


def test_a_password_in_an_address_with_escaped_slashes_is_found():
    text = r'{"url": "https:\/\/ann:hunter2x@db\/x", "see": "https:\/\/db\/x"}'
    placed = text.replace("hunter2x", "[secret: url-password]")
    assert Redactor({}).redact(text) == placed
