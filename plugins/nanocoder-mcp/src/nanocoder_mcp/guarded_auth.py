"""The requests of a login: a server may name any URL for them, so each one is checked.

A server on this machine can reach whatever we can. Any other may send us only to public addresses
over https, to its own, and to the authorization server that the user named.
"""

import asyncio
import urllib.request
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Final, cast
from urllib.parse import urlsplit

import httpx2
from nanocoder import ToolError
from nanocoder_kit_llm.net import Guard, Target, parse_url

from nanocoder_mcp.credentials import LOOPBACK
from nanocoder_mcp.server import Server

REQUEST_S: Final = 30.0
MAX_ANSWER_BYTES: Final = 1_000_000
REFUSED: Final = "login_refused"
HINT: Final = "if that is right, set that address as oauth.issuer of the server"


class GuardedAuth(httpx2.Auth):
    """Sends the requests that *login* adds by a client of its own, which checks their targets."""

    def __init__(self, server: Server, login: httpx2.Auth) -> None:
        self._server = server
        self._login = login

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Yield the request alone; raises ToolError for an address that is refused."""
        flow = self._login.async_auth_flow(request)
        try:
            outgoing = await anext(flow)
            while True:
                if outgoing is request:
                    response = yield outgoing
                else:
                    response = await self._answer(outgoing)
                outgoing = await flow.asend(response)
        except StopAsyncIteration:
            pass
        finally:
            await flow.aclose()

    async def _answer(self, request: httpx2.Request) -> httpx2.Response:
        target = judged(self._server, str(request.url))
        transport = _Pinned(self._server, target)
        try:
            async with (
                asyncio.timeout(REQUEST_S),
                httpx2.AsyncClient(transport=transport) as client,
            ):
                client.event_hooks = {"response": [_limit]}
                request.headers["Accept-Encoding"] = "identity"
                return await client.send(request)
        except TimeoutError:
            problem = f"{target.host!r} did not answer within {REQUEST_S:g} s"
            raise ToolError(problem, error_class="login_needed") from None


def judged(server: Server, url: str) -> Target:
    """Return *url* parsed, if *server* may send a login there; raises ToolError."""
    try:
        target = parse_url(url)
        _guard(server, target).check(target)
    except ToolError as error:
        raise _refused(server, url, error) from None
    if target.scheme != "https" and not _is_here(server):
        in_the_open = ToolError("that is not https, so others could read the login on its way")
        raise _refused(server, url, in_the_open)
    return target


def _refused(server: Server, url: str, error: ToolError) -> ToolError:
    hint = f"; {HINT}" if error.error_class == "private_address" else ""
    problem = f"the MCP server {server.name!r} sends its login to {url[:80]!r}: {error}{hint}"
    return ToolError(problem, error_class=REFUSED)


def _guard(server: Server, target: Target) -> Guard:
    """Return the address guard for *target* alone."""
    endpoint = (target.host, target.port)
    trusted = (_host_and_port(server.url), _host_and_port(server.oauth.get("issuer", "")))
    return Guard(trusted=endpoint if _is_here(server) or endpoint in trusted else None)


def _is_here(server: Server) -> bool:
    return urlsplit(server.url).hostname in LOOPBACK


def _host_and_port(url: str) -> tuple[str, int] | None:
    try:
        target = parse_url(url)
    except ToolError:
        return None
    return target.host, target.port


class _Pinned(httpx2.AsyncBaseTransport):
    """Connects to the addresses that were judged: a name may mean another one a moment later."""

    def __init__(self, server: Server, target: Target) -> None:
        self._server = server
        self._target = target
        self._proxy = _proxy_of(target)
        self._inner = httpx2.AsyncHTTPTransport(proxy=self._proxy or None)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send *request* to the first address that takes it."""
        if self._proxy:  # the proxy resolves the name
            return await self._inner.handle_async_request(request)
        *others, last = await self._addresses()
        for address in others:
            try:
                return await self._inner.handle_async_request(_at(address, request))
            except httpx2.ConnectError:
                continue
        return await self._inner.handle_async_request(_at(last, request))

    async def aclose(self) -> None:
        """Close the connection."""
        await self._inner.aclose()

    async def _addresses(self) -> list[str]:
        target = self._target
        resolve = _guard(self._server, target).resolve
        try:
            return await asyncio.to_thread(resolve, target.host, target.port)
        except ToolError as error:
            raise _refused(self._server, target.url, error) from None


def _at(address: str, request: httpx2.Request) -> httpx2.Request:
    """Return *request* to *address*, with the name that the server has to prove."""
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.host},
    )


def _proxy_of(target: Target) -> str:
    """Return the proxy that the environment names for *target*, or ""."""
    if urllib.request.proxy_bypass(target.host):
        return ""
    proxies = urllib.request.getproxies()
    return proxies.get(target.scheme) or proxies.get("all", "")


async def _limit(response: httpx2.Response) -> None:
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise ToolError("sent a packed answer, which was not asked for", error_class="protocol")
    stream = cast("httpx2.AsyncByteStream", response.stream)
    response.stream = Limited(stream, MAX_ANSWER_BYTES)


class Limited(httpx2.AsyncByteStream):
    """A body that raises an error beyond *most* bytes."""

    def __init__(self, stream: httpx2.AsyncByteStream, most: int) -> None:
        self._stream = stream
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._stream:
            size += len(piece)
            if size > self._most:
                problem = f"sent a message of more than {self._most:,} bytes"
                raise ToolError(problem, error_class="protocol")
            yield piece

    async def aclose(self) -> None:
        """Close the connection."""
        await self._stream.aclose()
