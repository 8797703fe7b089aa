"""OAuth for servers at a URL, by the client of the official SDK.

A session only sends and refreshes tokens: a server that requires a new login ends the call.
Only `nanocoder mcp login` registers a client and opens a login page.
"""

import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

import httpx2
from attrs import evolve
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from nanocoder import ToolError

from nanocoder_mcp import credentials
from nanocoder_mcp.credentials import Credentials, may_send_tokens
from nanocoder_mcp.grants import granted_auth
from nanocoder_mcp.server import Server

Flow = AsyncGenerator[httpx2.Request, httpx2.Response]
ShowAddress = Callable[[str], Awaitable[None]]
AwaitCode = Callable[[], Awaitable[AuthorizationCodeResult]]

CLIENT_NAME: Final = "nanocoder"
PLACEHOLDER: Final = "http://127.0.0.1/callback"
"""Redirect URI that the SDK requires even if no login takes place."""
FIRST_ERROR: Final = 400
UNAUTHORIZED: Final = 401
FORBIDDEN: Final = 403
CHALLENGE: Final = "WWW-Authenticate"
CHALLENGE_CHARS: Final = 4_000
EARLY_S: Final = 10.0
"""Seconds before its expiry at which a token is refreshed."""


class KeptLogin:
    """The storage that the SDK reads and writes: the private file of one server."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.provider: OAuthClientProvider | None = None
        self.kept = credentials.read(server)

    async def get_tokens(self) -> OAuthToken | None:
        """Return the tokens of the last login."""
        with suppress(ValueError):  # an edited file may be invalid
            return OAuthToken.model_validate(self.kept.tokens)
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Store new tokens, with the metadata that another process needs to refresh them."""
        expires_at = time.time() + tokens.expires_in - EARLY_S if tokens.expires_in else 0.0
        self.write(tokens=_as_json(tokens), expires_at=expires_at, challenge=None)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return our client registration: of a login, else of the configuration."""
        if self.kept.client:
            return OAuthClientInformationFull.model_validate(self.kept.client)
        return _registered_before(self._server)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Hold our client registration; it is written to disk with the first tokens."""
        self.kept = evolve(self.kept, client=_as_json(client_info))

    def write(self, **changes: Any) -> None:
        """Store *changes* and the metadata that the SDK discovered; raises ToolError."""
        context = self.provider.context if self.provider is not None else None
        if context is not None and context.oauth_metadata is not None:
            changes["authorization"] = _as_json(context.oauth_metadata)
        if context is not None and context.protected_resource_metadata is not None:
            changes["resource"] = _as_json(context.protected_resource_metadata)
        self.kept = evolve(self.kept, **changes)
        credentials.write(self._server, self.kept)


class SessionAuth(httpx2.Auth):
    """Sends and refreshes the tokens of a login; *problem* asks for a new login, or is ""."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._storage = KeptLogin(server)
        self._provider = _provider(server, self._storage)
        self.problem = ""

    async def async_auth_flow(self, request: httpx2.Request) -> Flow:
        """Yield the request; before it or after a 401, yield one that refreshes the tokens."""
        for is_last in (False, True):
            self._adopt_newer()
            flow = self._provider.async_auth_flow(request)
            try:
                outgoing = await anext(flow)
                while True:
                    response = yield outgoing
                    if outgoing is request:
                        break
                    outgoing = await flow.asend(response)
            finally:
                await flow.aclose()
            context = self._provider.context
            if response.status_code != UNAUTHORIZED or is_last or not context.can_refresh_token():
                break
            context.token_expiry_time = 1.0  # it was revoked, or our clock is wrong: renew it
        self._record_challenge(response)

    def _adopt_newer(self) -> None:
        """Load tokens that another session refreshed: most can be refreshed only once."""
        newer = KeptLogin(self._server)
        if newer.kept.tokens and newer.kept.tokens != self._storage.kept.tokens:
            self._storage, self._provider = newer, _provider(self._server, newer)

    def _record_challenge(self, response: httpx2.Response) -> None:
        """Store the server's challenge for the next login, and set *problem*."""
        header = str(response.headers.get(CHALLENGE, ""))[:CHALLENGE_CHARS]
        wants_more = response.status_code == FORBIDDEN and "insufficient_scope" in header
        if response.status_code != UNAUTHORIZED and not wants_more:
            # The SDK tries an older revision after a refusal, and a server may answer that with
            # another error, which is unrelated to the login.
            if response.status_code < FIRST_ERROR:
                self.problem = ""
            return
        has_logged_in = bool(self._storage.kept.tokens)
        why = "asks for a login"
        if wants_more:
            why = "requires more rights than the login granted"
        elif has_logged_in:
            why = "no longer accepts the login"
        self.problem = f"{why}: nanocoder mcp login {self._server.name}"
        with suppress(ToolError):
            self._storage.write(challenge=(response.status_code, header))


class LoginAuth(httpx2.Auth):
    """Starts a login as soon as the server asks for one, or at once if it asked before."""

    def __init__(
        self, server: Server, redirect: str, show: ShowAddress, await_code: AwaitCode
    ) -> None:
        self._storage = KeptLogin(server)
        self._challenge = self._storage.kept.challenge
        if not server.oauth.get("client_id"):
            # The old registration names another port of the redirect.
            self._storage.kept = evolve(self._storage.kept, client={})
        self._provider = _provider(server, self._storage, redirect, show, await_code)

    @property
    def found_login(self) -> bool:
        """Return True if the server or its authorization server has login metadata."""
        context = self._provider.context
        return bool(context.oauth_metadata or context.protected_resource_metadata)

    async def async_auth_flow(self, request: httpx2.Request) -> Flow:
        """Yield the request, and those of the login."""
        flow = self._provider.async_auth_flow(request)
        try:
            outgoing = await anext(flow)
            while True:
                if outgoing is request and self._challenge is not None:
                    response = _repeated(request, self._challenge)
                    self._challenge = None
                else:
                    response = yield outgoing
                outgoing = await flow.asend(response)
        except StopAsyncIteration:
            pass
        finally:
            await flow.aclose()


def auth_of(server: Server) -> httpx2.Auth | None:
    """Return the auth handler that sends our tokens to *server*, or None."""
    if not may_send_tokens(server):
        return None
    if "grant" in server.oauth:
        return granted_auth(server)
    return SessionAuth(server)


def _provider(
    server: Server,
    storage: KeptLogin,
    redirect: str = PLACEHOLDER,
    show: ShowAddress | None = None,
    await_code: AwaitCode | None = None,
) -> OAuthClientProvider:
    """Return the SDK's client with the metadata of earlier logins."""
    client_id = server.oauth.get("client_id", "")
    is_document = client_id.startswith("https://")
    metadata = OAuthClientMetadata.model_validate(
        {"client_name": CLIENT_NAME, "redirect_uris": [redirect]}
    )
    provider = OAuthClientProvider(
        server.url, metadata, storage, show, await_code, client_id if is_document else None
    )
    storage.provider = provider
    _restore(provider, storage.kept)
    return provider


def _restore(provider: OAuthClientProvider, login: Credentials) -> None:
    """Set the metadata that the SDK does not load from its storage.

    Without it the SDK would send the refresh to the wrong URL.
    """
    context = provider.context
    context.token_expiry_time = login.expires_at or None
    with suppress(ValueError):  # an edited file may be invalid
        if login.authorization:
            context.oauth_metadata = OAuthMetadata.model_validate(login.authorization)
        if login.resource:
            resource = ProtectedResourceMetadata.model_validate(login.resource)
            context.protected_resource_metadata = resource
            context.auth_server_url = str(resource.authorization_servers[0])


def _registered_before(server: Server) -> OAuthClientInformationFull | None:
    """Return the client that the person registered by hand; raises ToolError without its secret."""
    client_id = server.oauth.get("client_id", "")
    if not client_id or client_id.startswith("https://"):
        return None
    variable = server.oauth.get("client_secret_variable", "")
    secret = os.environ.get(variable, "") if variable else ""
    if variable and not secret:
        raise ToolError(f"the variable {variable}, which has the client's secret, is not set")
    client = {
        "client_id": client_id,
        "client_secret": secret,
        "token_endpoint_auth_method": "client_secret_basic" if secret else "none",
        "issuer": server.oauth.get("issuer", ""),
    }
    return OAuthClientInformationFull.model_validate(client)


def _repeated(request: httpx2.Request, challenge: tuple[int, str]) -> httpx2.Response:
    status, header = challenge
    return httpx2.Response(status, headers={CHALLENGE: header}, request=request)


def _as_json(value: Any) -> dict[str, Any]:
    data: dict[str, Any] = value.model_dump(mode="json", exclude_none=True)
    return data
