"""The server's endpoints: the page, the stream of its entries, and the user's actions."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from nanocoder import BadArguments, UsageError, parse_json
from nanocoder_kit_ui.html import STYLES
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from nanocoder_ui_web.access import BROWSER, Access, Guard
from nanocoder_ui_web.conversation import Talk
from nanocoder_ui_web.feed import Feed
from nanocoder_ui_web.questions import LateError, Questions

PAGE: Final = Path(__file__).with_name("page")
FILES: Final = {
    "/": (PAGE / "index.html", "text/html"),
    "/app.css": (PAGE / "app.css", "text/css"),
    "/app.js": (PAGE / "app.js", "text/javascript"),
    "/conversation.css": (STYLES, "text/css"),
}
PING_S: Final = 15
MAX_DIGITS: Final = 18
"""An entry's number has no more; Python refuses to read numbers of thousands of digits."""

Act = Callable[[Mapping[str, Any]], Mapping[str, Any] | None]


def make_app(talk: Talk, questions: Questions, feed: Feed, access: Access) -> Starlette:
    """Return the server of one conversation."""
    acts: Mapping[str, Act] = {
        "/api/answer": lambda values: questions.answer(_text(values, "question"), _answer(values)),
        "/api/complete": lambda values: talk.suggest(_text(values, "text")),
        "/api/invite": lambda _values: {"token": access.invite()},
        "/api/login": lambda values: _login(access, _text(values, "token")),
        "/api/mode": lambda values: talk.set_mode(_text(values, "mode")),
        "/api/prompt": lambda values: talk.submit(_text(values, "text"), _pasted(values)),
        "/api/stop": lambda _values: talk.stop(),
    }
    routes = [Route(path, _file(*file)) for path, file in FILES.items()]
    routes += [Route(path, _action(act), methods=["POST"]) for path, act in acts.items()]
    routes.append(Route("/api/entries", _entries(feed)))
    return Starlette(routes=routes, middleware=[Middleware(Guard, access=access)])


def _file(path: Path, media_type: str) -> Callable[[Request], Response]:
    return lambda _request: FileResponse(path, media_type=media_type)


def _action(act: Act) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint that passes a POST of one JSON object to *act*; errors are sentences."""

    async def respond(request: Request) -> Response:
        try:
            sent = _object(parse_json((await request.body()).decode("utf-8")), "body")
            values = {**sent, BROWSER: request.scope.get(BROWSER, 0)}
            # It may wait for the session, so it must not block the other browsers.
            return JSONResponse(await run_in_threadpool(act, values) or {})
        except (UsageError, BadArguments, UnicodeDecodeError) as error:
            return JSONResponse({"error": str(error)}, 400)
        except LateError as error:
            return JSONResponse({"error": str(error)}, 409)
        except PermissionError as error:
            return JSONResponse({"error": str(error)}, 401)

    return respond


def _entries(feed: Feed) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint that streams the entries after the browser's last one."""

    async def respond(request: Request) -> Response:
        last = request.headers.get("last-event-id", "0")
        number = int(last) if last.isascii() and last.isdigit() and len(last) <= MAX_DIGITS else 0

        async def events() -> AsyncIterator[ServerSentEvent]:
            async for entry_number, text in feed.read(number):
                yield ServerSentEvent(text, id=str(entry_number))

        return EventSourceResponse(events(), ping=PING_S)

    return respond


def _login(access: Access, token: str) -> Mapping[str, str]:
    key = access.exchange(token)
    if key is None:
        raise PermissionError("this link was used before; take a new one")
    return {"key": key}


def _answer(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an answer with the arguments that a person edited as text; raises BadArguments."""
    edited = values.get("edited")
    if not isinstance(edited, str):
        return values
    return {**values, "arguments": _object(parse_json(edited), "text of the arguments")}


def _object(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"the {name} is not a JSON object")
    return value


def _pasted(values: Mapping[str, Any]) -> Sequence[str]:
    """Return the parts of a prompt that came from a clipboard; raises UsageError."""
    pasted = values.get("pasted", [])
    if not isinstance(pasted, list) or not all(isinstance(part, str) for part in pasted):
        raise UsageError("'pasted' is no list of texts")
    return pasted


def _text(values: Mapping[str, Any], name: str) -> str:
    text = values.get(name)
    if not isinstance(text, str):
        raise UsageError(f"{name!r} is missing, or no text")
    return text
