"""The forms of secrets: an anchor for `str.find`, then a pattern.

Patterns are bounded and possessive, so that every text takes linear time, and only that of a PEM
block contains a line end. Forms that any word could have, such as `password = …`, are not included:
false positives would make files unreadable.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final, NamedTuple

PEM_CHARS: Final = 16_384
AHEAD: Final = 20_000
"""Limit of the characters that a pattern matches, its anchor included."""
BEHIND: Final = 12
"""Characters before an anchor that decide whether a secret can begin there."""
PEM_ANCHOR: Final = "-----BEGIN "

_RANDOM_RUN: Final = 20
_TRIVIAL: Final = frozenset(
    (
        *("password", "passwd", "pass", "pwd", "secret", "token", "user", "username", "root"),
        *("admin", "postgres", "mysql", "redis", "guest", "example", "changeme", "test", "x"),
    )
)


class Form(NamedTuple):
    """One form: *kind* names it; every secret of it contains one of *anchors*.

    *pattern* matches from the anchor on; its group 1, or else all of it, is the secret. *accepts*
    rejects false positives. Without *is_word* it may begin inside a word.
    """

    kind: str
    anchors: tuple[str, ...]
    pattern: str
    accepts: Callable[[str], bool] | None = None
    is_word: bool = True

    def spans(self, text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the spans of secrets whose anchors begin in *start* to *end*, exclusive."""
        for anchor in self.anchors:
            offset = text.find(anchor, start, end + len(anchor) - 1)
            while offset >= 0:
                span = self._span(text, offset)
                if span is not None:
                    yield span
                offset = text.find(anchor, offset + 1, end + len(anchor) - 1)

    def _span(self, text: str, offset: int) -> tuple[int, int] | None:
        if self.is_word and not _can_begin(text, offset):
            return None
        match = _compiled(self.pattern).match(text, offset)
        if match is None:
            return None
        group = match.re.groups
        if self.accepts is not None and not self.accepts(match.group(group)):
            return None
        return match.span(group)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _can_begin(text: str, offset: int) -> bool:
    r"""Return True if a word begins at *offset*, also after `\n`, `%3D` or an escape."""
    last = text[offset - 1] if offset else " "
    if not (last.isalnum() or last in {"_", "-"}):
        return True
    before = text[max(0, offset - BEHIND) : offset]
    return before[-2:-1] == "\\" or before[-3:-2] == "%" or _ends_in_escape(before)


def _ends_in_escape(text: str) -> bool:
    """Return True if *text* ends in a sequence of a terminal, such as the one before bold text."""
    parameters = text.rpartition("[")[2][:-1]
    return "[" in text and not parameters.strip("0123456789;") and text[-1].isalpha()


def _is_random(text: str) -> bool:
    """Return True for a token, not for words with hyphens such as the class names of a page."""
    if any(letter.isdigit() for letter in text):
        return True
    return max(map(len, re.split(r"[-_]", text))) >= _RANDOM_RUN


def _is_password(text: str) -> bool:
    """Return True for a password, not for an example or the name of a variable."""
    return text.lower() not in _TRIVIAL and text.strip("*x.") != "" and text[0] not in "$%{<["


_WORD_CHARS: Final = "[A-Za-z0-9_-]"
_BREAK: Final = r"(?:\r?\n|\\r\\n|\\n)"
# All of a key, also quoted in JSON, behind line numbers or in a diff.
_KEY_TEXT: Final = r"(?:[A-Za-z0-9+/=\s|>:,.]|\\[nr]|-(?!----))"
# The beginning of a key whose end was cut off: only lines that can be nothing else.
_KEY_HEADERS: Final = rf"(?:[A-Za-z-]{{2,20}}: [^\n\\\"]{{0,80}}{_BREAK}){{0,4}}+"
_KEY_LINE: Final = rf"(?:{_BREAK}|[ \t0-9|>+]){{0,12}}+[A-Za-z0-9+/=]{{16,76}}+"
_KEY_REST: Final = rf"(?:{_BREAK}[ \t0-9|>+]{{0,8}}[A-Za-z0-9+/=]{{1,16}}(?![^\s\\\"']))?"
_PEM: Final = (
    r"-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----"
    rf"(?:{_KEY_TEXT}{{16,{PEM_CHARS}}}+-----END [A-Z0-9 ]{{0,32}}PRIVATE KEY(?: BLOCK)?-----"
    rf"|[ \t]{{0,8}}{_BREAK}{_KEY_HEADERS}(?:{_KEY_LINE}){{1,200}}+{_KEY_REST})"
)
# In JSON each "/" may be escaped.
_BEFORE_HOST: Final = r":(?:\\?/){2}[^/\s:@\"'<>\\]{0,256}+:([^/\s@\"'<>\\]{1,512}+)@"
_AUTHORIZATION: Final = (
    r"(?i:uthorization)[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?(?i:bearer|basic|token)[ \t]{1,4}"
    r"([A-Za-z0-9._~+/-]{12,4096}+={0,2})"
)
_AWS_SETTING: Final = (
    r"(?i:(?:aws[_-]?)?secret[_-]?access[_-]?key)[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?"
    r"([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])"
)


def _token(kind: str, *prefixes: str, least: int, chars: str = "[A-Za-z0-9]") -> Form:
    """Return the form of a vendor's tokens: a prefix, and *least* or more characters."""
    pattern = f"(?:{'|'.join(map(re.escape, prefixes))}){chars}{{{least},512}}+"
    return Form(kind, prefixes, pattern)


FORMS: Final = (
    Form("private-key", (PEM_ANCHOR,), _PEM, is_word=False),
    Form("url-password", ("://", ":\\/\\/"), _BEFORE_HOST, _is_password, is_word=False),
    _token("github-token", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", least=20),
    _token("github-token", "github_pat_", least=20, chars=r"\w"),
    _token(
        "gitlab-token",
        *("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glsoat-"),
        least=16,
        chars=r"[\w.-]",
    ),
    Form("anthropic-key", ("sk-ant-",), rf"sk-ant-{_WORD_CHARS}{{16,512}}+", _is_random),
    Form("openrouter-key", ("sk-or-",), rf"sk-or-{_WORD_CHARS}{{16,512}}+", _is_random),
    Form("openai-key", ("sk-",), rf"sk-(?!ant-|or-){_WORD_CHARS}{{16,512}}+", _is_random),
    _token("stripe-key", "sk_live_", "rk_live_", "sk_test_", "rk_test_", "whsec_", least=16),
    Form(
        "aws-key-id",
        ("AKIA", "ASIA", "ABIA", "ACCA"),
        r"A(?:KIA|SIA|BIA|CCA)[0-9A-Z]{16}(?![0-9A-Za-z+/=_-])",
    ),
    Form(
        "aws-secret-key",
        ("aws_secret", "AWS_SECRET", "SecretAccessKey", "secretAccessKey", "secret_access_key"),
        _AWS_SETTING,
        is_word=False,
    ),
    Form("google-key", ("AIza",), r"AIza[\w-]{35}(?![\w-])"),
    _token("google-token", "ya29.", "GOCSPX-", least=20, chars=r"[\w-]"),
    Form("slack-token", ("xox",), r"xox[abeoprs]-[\w-]{10,512}+"),
    _token("slack-token", "xapp-", least=20, chars=r"[\w-]"),
    Form("slack-webhook", ("hooks.slack.com/services/",), r".{25}(T\w{6,16}/B\w{6,16}/\w{16,64})"),
    _token("huggingface-token", "hf_", least=30),
    _token("npm-token", "npm_", least=30),
    Form("pypi-token", ("pypi-",), r"pypi-(?:Ag[\w-]{16,512}+|\w{40,512}+)"),
    _token("groq-key", "gsk_", least=30),
    _token("xai-key", "xai-", least=30),
    _token("perplexity-key", "pplx-", least=30),
    _token("nvidia-key", "nvapi-", least=30, chars=r"[\w-]"),
    _token("replicate-token", "r8_", least=30),
    _token("digitalocean-token", "dop_v1_", "doo_v1_", "dor_v1_", least=40, chars="[0-9a-f]"),
    Form("sendgrid-key", ("SG.",), r"SG\.[\w-]{16,64}\.[\w-]{16,128}"),
    _token("shopify-token", "shpat_", "shpss_", "shpca_", "shppa_", least=32, chars="[0-9a-fA-F]"),
    _token("square-token", "sq0atp-", "sq0csp-", least=20, chars=r"[\w-]"),
    _token("grafana-token", "glsa_", least=20, chars=r"\w"),
    _token("linear-key", "lin_api_", least=30),
    Form("databricks-token", ("dapi",), r"dapi[0-9a-f]{32}(?:-\d)?(?![0-9A-Za-z])"),
    _token("age-key", "AGE-SECRET-KEY-1", least=40, chars="[0-9A-Z]"),
    _token("vault-token", "hvs.", "hvb.", least=24, chars=r"[\w-]"),
    _token("docker-token", "dckr_pat_", least=20, chars=r"[\w-]"),
    _token("figma-token", "figd_", least=20, chars=r"[\w-]"),
    _token("atlassian-token", "ATATT3", least=40, chars=r"[\w=-]"),
    _token("postman-key", "PMAK-", least=24, chars=r"[0-9a-f-]"),
    _token("sentry-token", "sntrys_", "sntryu_", least=30, chars=r"[\w=+/]"),
    _token("tailscale-key", "tskey-", least=20, chars=r"[\w-]"),
    Form("telegram-token", (":AA",), r"(?<=\d):(AA[\w-]{33})(?![\w-])", is_word=False),
    Form(
        "azure-key", ("AccountKey=", "SharedAccessKey="), r"\w{10,15}=([A-Za-z0-9+/]{40,100}={0,2})"
    ),
    Form("jwt", ("eyJ",), r"eyJ[\w-]{8,4096}+\.eyJ[\w-]{8,8192}+(?:\.[\w-]{0,2048}+)?"),
    Form(
        "authorization", ("uthorization", "UTHORIZATION"), _AUTHORIZATION, _is_random, is_word=False
    ),
)
"""The forms of secrets; of two at the same offset the longer wins, then the first."""

ANCHORS: Final = tuple(anchor for form in FORMS for anchor in form.anchors)
"""All anchors: a text without any of them has no secret of any form."""
