"""The tool http_check: compares a server's answer with expectations."""

from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import Annotated, Any, Literal

from attrs import field, frozen
from nanocoder import (
    Effect,
    Param,
    Tool,
    ToolCall,
    ToolContext,
    ToolError,
    ToolResult,
    counted,
    hookimpl,
    tool,
)
from nanocoder_kit_llm.net import Answer, Guard, Limits, Target, fetch, parse_rules, parse_url

TIMEOUT_S = 15.0
MAX_REDIRECTS = 10
MAX_BODY_BYTES = 1_048_576
SHOWN_CHARS = 300
_READING = ("GET", "HEAD", "OPTIONS")
_REDIRECTS = range(300, 400)

Method = Literal["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"]


def _validate_rules(_: object, __: object, texts: tuple[str, ...]) -> None:
    parse_rules(texts)


@frozen
class Settings:
    """The settings of `[plugins.tool-http]`.

    *allow*: addresses that may be requested although they are not public: "loopback",
    "127.0.0.1:8000", "10.0.0.0/8", "[::1]:443".
    """

    allow: tuple[str, ...] = field(
        default=("loopback",), validator=_validate_rules, metadata={"user_only": True}
    )


@frozen
class Check:
    """One expectation, and whether it was met."""

    label: str
    is_met: bool

    @property
    def line(self) -> str:
        """The check as the model reads it."""
        return f"- {self.label}: {'ok' if self.is_met else 'FAILED'}"


def _needs_person(arguments: Mapping[str, Any]) -> bool:
    """Return True if a person must agree: the request leaves this machine, or changes something."""
    if arguments.get("method", "GET") not in _READING:
        return True
    try:
        return not _is_here(parse_url(str(arguments.get("url", ""))))
    except ToolError:
        return True


def _is_here(target: Target) -> bool:
    try:
        return target.host == "localhost" or ip_address(target.host).is_loopback
    except ValueError:
        return False


def _refuse_to_leave(target: Target) -> Target:
    """Refuse a redirect away from this machine: a person approved a request to it alone."""
    if _is_here(target):
        return target
    raise ToolError(
        f"redirected from this machine to {target.url}, which was not requested; check that address"
        " itself, or expect the status of the redirect",
        error_class="redirected_away",
    )


@tool(
    risk="safe",
    effects={Effect.READ, Effect.NETWORK},
    confirm=_needs_person,
    repeatable=True,
    timeout_s=0,
    examples=[{"url": "http://127.0.0.1:8000/", "expected_content": ["<h1>"]}],
)
def http_check(
    ctx: ToolContext,
    url: Annotated[str, "Address."],
    method: Annotated[Method, "HTTP verb."] = "GET",
    expected_status: Annotated[int, "Final status."] = 200,
    expected_content: Annotated[tuple[str, ...], "In body."] = (),
    not_expected_content: Annotated[tuple[str, ...], "Not in body."] = (),
    max_body_bytes: Annotated[int, Param("Limit.", ge=1, le=MAX_BODY_BYTES)] = MAX_BODY_BYTES,
) -> ToolResult:
    """Check a server's answer."""
    settings: Settings = ctx.settings or Settings()
    target = parse_url(url)
    answer = fetch(
        target,
        Guard(parse_rules(settings.allow)),
        cancel=ctx.cancelled,
        limits=Limits(TIMEOUT_S, MAX_REDIRECTS, max_body_bytes),
        method=method,
        on_hop=_refuse_to_leave if _is_here(target) else None,
        follow=expected_status not in _REDIRECTS,
    )
    text = answer.text
    checks = [Check(f"status is {expected_status}", answer.status == expected_status)]
    checks += [Check(f"has {_quote(part)}", part in text) for part in expected_content]
    checks += [Check(f"lacks {_quote(part)}", part not in text) for part in not_expected_content]
    return _result(method, answer, text, checks)


@hookimpl
def nanocoder_tools() -> list[Tool[..., Any]]:
    """Offer http_check."""
    return [http_check]


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of `[plugins.tool-http]`."""
    return Settings


@hookimpl
def nanocoder_render(call: ToolCall, result: ToolResult | None, settings: Any) -> None:
    """Check the address before a person is asked.

    Raises: ToolError for a forbidden address; this resolves no host name.
    """
    if call.name == http_check.name and result is None:
        allowed = parse_rules((settings or Settings()).allow)
        Guard(allowed).check(parse_url(str(call.arguments.get("url", ""))))


def _result(method: str, answer: Answer, text: str, checks: Sequence[Check]) -> ToolResult:
    passed = all(check.is_met for check in checks)
    milliseconds = round(answer.seconds * 1_000)
    size = counted(len(answer.body), "byte")
    request = f"{method} {answer.url} -> {answer.status}, {size}, {milliseconds} ms"
    lines = [f"{'PASS' if passed else 'FAIL'} {request}", *(check.line for check in checks)]
    if answer.hops:
        lines.append(f"[redirected from {' -> '.join(answer.hops)}]")
    if answer.is_cut:
        lines.append(f"[the body is longer than {size}; only that much was looked at]")
    if not passed and text:
        lines.append(f"the body begins with:\n{text[:SHOWN_CHARS]}")
    return ToolResult(
        "\n".join(lines),
        title=f"{method} {answer.url}",
        data={
            "passed": passed,
            "url": answer.url,
            "status": answer.status,
            "checks": [{"check": check.label, "passed": check.is_met} for check in checks],
        },
        metadata={
            "status": answer.status,
            "bytes": len(answer.body),
            "truncated": answer.is_cut,
            "milliseconds": milliseconds,
            "content_type": answer.media_type,
            "redirects": list(answer.hops),
        },
        is_error=not passed,
        error_class="" if passed else "check_failed",
    )


def _quote(text: str) -> str:
    return repr(text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}...")
