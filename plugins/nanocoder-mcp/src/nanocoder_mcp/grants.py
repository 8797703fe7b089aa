"""Tokens without a person: a client that was registered by hand gets them with its own secret.

They are held in memory and fetched anew in each session. The secret is sent only to the
authorization server that the user named.
"""

import os
from typing import Any, Final

import httpx2
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from nanocoder import ToolError

from nanocoder_mcp.server import Server

ALGORITHM: Final = "ES256"


class InMemory:
    """The storage that the SDK reads and writes, for one session."""

    def __init__(self) -> None:
        self._tokens: OAuthToken | None = None
        self._client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        """Return the tokens."""
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Store new tokens."""
        self._tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return our client registration, if any."""
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Store our client registration."""
        self._client = client_info


def granted_auth(server: Server) -> httpx2.Auth:
    """Return the auth handler of *server*'s grant; raises ToolError if its secret is not set."""
    oauth = server.oauth
    common: dict[str, Any] = {
        "server_url": server.url,
        "storage": InMemory(),
        "client_id": oauth["client_id"],
        "scope": oauth.get("scope"),
        "issuer": oauth["issuer"],
    }
    if variable := oauth.get("private_key_variable"):
        claims = SignedJWTParameters(
            issuer=oauth["client_id"],
            subject=oauth["client_id"],
            signing_key=_secret(server, variable),
            signing_algorithm=oauth.get("algorithm", ALGORITHM),
        )
        assertion = claims.create_assertion_provider()
        return PrivateKeyJWTOAuthProvider(assertion_provider=assertion, **common)
    secret = _secret(server, oauth["client_secret_variable"])
    return ClientCredentialsOAuthProvider(client_secret=secret, **common)


def _secret(server: Server, variable: str) -> str:
    secret = os.environ.get(variable, "")
    if not secret:
        problem = f"cannot be reached: the variable {variable} for its tokens is not set"
        raise ToolError(f"the MCP server {server.name!r} {problem}", error_class="login_needed")
    return secret
