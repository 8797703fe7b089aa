"""The tools web_fetch and web_search: pages as markdown, results of a SearXNG."""

from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal

from attrs import evolve, field, frozen
from nanocoder import (
    Attachment,
    Effect,
    Param,
    Resource,
    SessionInfo,
    Tool,
    ToolCall,
    ToolContext,
    ToolError,
    ToolResult,
    counted,
    hookimpl,
    tool,
)
from nanocoder_kit_files.text import picture_problem
from nanocoder_kit_llm.net import (
    Answer,
    Guard,
    Limits,
    RateLimit,
    Target,
    fetch,
    parse_host_rules,
    parse_rules,
    parse_url,
)

from nanocoder_tool_web.page import MAX_CHARS, make_readable
from nanocoder_tool_web.search import search

DEFAULT_TIMEOUT_S = 30.0
MAX_TIMEOUT_S = 120.0
MAX_REDIRECTS = 20
MAX_BYTES = 10_485_760
MAX_QUERY_CHARS = 500
ERROR_CHARS = 2_000
HTTPS_PORT = 443
FIRST_ERROR = 400
HTML_TYPES = ("text/html", "application/xhtml+xml")
ATTACHED_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf")
NO_SEARCH = (
    "web search is not configured: `instance` in [plugins.tool-web] has to name the address of a"
    " SearXNG"
)
_NUL = b"\0"


def _validate_by(check: Callable[[Any], object]) -> Callable[[object, object, Any], None]:
    def validate(_: object, __: object, value: Any) -> None:
        try:
            if value:
                check(value)
        except ToolError as error:
            raise ValueError(str(error)) from None

    return validate


def _validate_range(low: int, high: int) -> Callable[[object, Any, int], None]:
    def validate(_: object, attribute: Any, value: int) -> None:
        if not low <= value <= high:
            raise ValueError(f"{attribute.name} is {value}; it must be from {low} to {high}")

    return validate


@frozen
class Settings:
    """The settings of `[plugins.tool-web]`.

    *instance*: the address of a SearXNG. *hosts*: the only hosts to fetch from, "example.org" or
    "*.example.org"; without it every public one. *allow*: addresses that are not public and may be
    fetched from. *max_redirects*, *max_bytes* of a page, requests *per_minute* to one host.
    """

    instance: str = field(
        default="", validator=_validate_by(parse_url), metadata={"user_only": True}
    )
    hosts: tuple[str, ...] | None = field(
        default=None, validator=_validate_by(parse_host_rules), metadata={"user_only": True}
    )
    allow: tuple[str, ...] = field(
        default=(), validator=_validate_by(parse_rules), metadata={"user_only": True}
    )
    max_redirects: int = field(
        default=5, validator=_validate_range(0, MAX_REDIRECTS), metadata={"tighten": "min"}
    )
    max_bytes: int = field(
        default=5_000_000, validator=_validate_range(1, MAX_BYTES), metadata={"tighten": "min"}
    )
    per_minute: int = field(
        default=30, validator=_validate_range(1, 1_000), metadata={"tighten": "min"}
    )

    def checks(self, _trusted_folder: object) -> Iterator[tuple[str, str, str]]:
        """Yield a check for `nanocoder doctor` if every search would fail."""
        if not self.instance:
            yield "web_search", "note", NO_SEARCH


@tool(
    risk="medium",
    effects={Effect.READ, Effect.NETWORK, Effect.IDEMPOTENT},
    timeout_s=0,
    examples=[{"url": "https://example.org/"}],
)
def web_fetch(
    ctx: ToolContext,
    url: Annotated[str, "Address; e.g. https://example.org/page."],
    format: Annotated[  # noqa: A002 - the name in the tool's schema
        Literal["markdown", "text", "html"], "Form; html is the page as it is."
    ] = "markdown",
    timeout: Annotated[
        float, Param("Seconds; for all of it.", ge=1, le=MAX_TIMEOUT_S)
    ] = DEFAULT_TIMEOUT_S,
) -> ToolResult:
    """Fetch a public web page as text; images and PDF are attached. Not for this machine."""
    settings: Settings = ctx.settings or Settings()
    target = parse_url(url)
    rate_limit: RateLimit = ctx.resource("rate_limit")
    try:
        answer = fetch(
            target,
            _guard(settings),
            cancel=ctx.cancelled,
            limits=Limits(timeout, settings.max_redirects, settings.max_bytes),
            headers={"accept": "text/markdown, text/html;q=0.9, */*;q=0.5"},
            on_hop=lambda hop: _count_request(rate_limit, _prefer_https(hop)),
        )
    except ToolError as error:
        raise _explain(error, target) from None
    return _page_result(ctx, answer, format)


@tool(
    risk="safe",
    effects={Effect.READ, Effect.NETWORK, Effect.IDEMPOTENT},
    timeout_s=0,
    needs=("instance",),
    examples=[{"query": "python 3.14 release notes"}],
)
def web_search(
    ctx: ToolContext,
    query: Annotated[str, Param("Words; to look for.", min_length=1, max_length=MAX_QUERY_CHARS)],
    count: Annotated[int, Param("How many.", ge=1, le=10)] = 5,
) -> ToolResult:
    """Search the web: titles, addresses, snippets. Read a page with web_fetch."""
    hits = search(_instance(ctx.settings), query, count, ctx.cancelled)
    lines = [
        f"{number}. {hit.title}\n   {hit.url}" + (f"\n   {hit.snippet}" if hit.snippet else "")
        for number, hit in enumerate(hits, 1)
    ]
    results = [{"title": hit.title, "url": hit.url, "snippet": hit.snippet} for hit in hits]
    return ToolResult(
        "\n".join(lines) or f"No results for {query!r}.",
        title=f"Search: {query[:80]}",
        data={"query": query, "results": results},
        metadata={"count": len(hits)},
    )


@hookimpl
def nanocoder_tools() -> list[Tool[..., Any]]:
    """Offer web_fetch and web_search."""
    return [web_fetch, web_search]


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of `[plugins.tool-web]`."""
    return Settings


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Provide the count of a session's requests."""
    return [Resource("rate_limit", _open_rate_limit)]


@hookimpl
def nanocoder_render(call: ToolCall, result: ToolResult | None, settings: Any) -> str | None:
    """Show the requested host apart from the rest of the address.

    Raises: ToolError for a forbidden address, and for a search if none is configured, so that no
    approval is requested for a call that cannot work. Resolves no host name.
    """
    if call.name == web_search.name and result is None:
        _instance(settings)
    if call.name != web_fetch.name or result is not None:
        return None
    target = _prefer_https(parse_url(str(call.arguments.get("url", ""))))
    _guard(settings or Settings()).check(target)
    return f"fetch from {target.authority}\n{target.url}"


def _open_rate_limit(_session: SessionInfo, settings: Any) -> RateLimit:
    return RateLimit((settings or Settings()).per_minute)


def _instance(settings: Settings | None) -> str:
    """Return the address of the SearXNG; raises ToolError if none is configured."""
    if settings is None or not settings.instance:
        raise ToolError(NO_SEARCH, error_class="not_configured")
    return settings.instance


def _guard(settings: Settings) -> Guard:
    hosts = None if settings.hosts is None else parse_host_rules(settings.hosts)
    return Guard(parse_rules(settings.allow), hosts)


def _prefer_https(target: Target) -> Target:
    """Ask over TLS, unless the address names a port: a named port is meant as it is."""
    if target.scheme == "http" and target.is_plain:
        return evolve(target, scheme="https", port=HTTPS_PORT)
    return target


def _count_request(rate_limit: RateLimit, target: Target) -> Target:
    rate_limit.take(target.host)
    return target


def _explain(error: ToolError, target: Target) -> ToolError:
    if error.error_class != "connect_failed" or not (target.scheme == "http" and target.is_plain):
        return error
    return ToolError(
        f"{error}; https was tried instead of http, http://{target.host}:80 asks without",
        error_class=error.error_class,
    )


def _page_result(ctx: ToolContext, answer: Answer, form: str) -> ToolResult:
    title, text, notes, attachments = _content(ctx, answer, form)
    if answer.hops:
        notes.append(f"redirected from {answer.hops[0]}")
    if answer.is_cut:
        notes.append(f"cut after {counted(len(answer.body), 'byte')}; there is more")
    failed = answer.status >= FIRST_ERROR
    head = f"{answer.url} answered with status {answer.status}\n\n" if failed else ""
    body = text[:ERROR_CHARS] if failed else text
    lines = [f"{head}{body}".rstrip(), *(f"[{note}]" for note in notes)]
    return ToolResult(
        "\n".join(line for line in lines if line) or "[the answer is empty]",
        title=title or answer.url,
        data={"url": answer.url, "status": answer.status, "title": title, "content": body},
        metadata={
            "url": answer.url,
            "status": answer.status,
            "content_type": answer.media_type,
            "bytes": len(answer.body),
            "truncated": answer.is_cut,
            "redirects": list(answer.hops),
        },
        attachments=attachments,
        is_error=failed,
        error_class="http_error" if failed else "",
    )


def _content(
    ctx: ToolContext, answer: Answer, form: str
) -> tuple[str, str, list[str], tuple[Attachment, ...]]:
    """Return title, text, notes and attachments of an answer, by its content type."""
    kind = answer.media_type
    if kind in ATTACHED_TYPES and not answer.is_cut:
        name = answer.url.partition("?")[0].rpartition("/")[2]
        size = counted(len(answer.body), "byte")
        if problem := picture_problem(answer.body, kind):
            return "", "", [f"{kind}, {size}, not attached: {problem}"], ()
        note = f"{kind}, {size}, attached"
        return "", "", [note], (Attachment(kind, answer.body, name),)
    # Text in UTF-16 has NULs, too; in UTF-8 a NUL means binary content.
    if _NUL in answer.body[:8_192] and answer.charset == "utf-8":
        return "", "", [f"{kind or 'unknown'}, {counted(len(answer.body), 'byte')}, not shown"], ()
    text = answer.text
    if form == "html" or not (kind in HTML_TYPES or (not kind and _looks_like_html(text))):
        return "", text, [], ()
    page = make_readable(text, answer.url, form, ctx.cancelled)
    notes = ["the page could not be converted; only its tags were removed"] if page.is_rough else []
    if len(text) > MAX_CHARS:
        notes.append(f"only the first {MAX_CHARS:,} characters were converted")
    return page.title, page.text, notes, ()


def _looks_like_html(text: str) -> bool:
    return text[:1_000].lstrip().lower().startswith(("<!doctype html", "<html"))
