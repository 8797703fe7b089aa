"""A server that wants a login, with its own authorization server: the server side of the SDK.

It listens on a free port of the loopback interface and prints its address. Files in the folder of
its argument say how it behaves, and `log` in it says what was asked for:

* `seconds`: how long a token lasts
* `deny`: the person refuses
* `revoked`: no token that was given out counts any more, nor can it be renewed
* `forgotten`: no access token counts any more, but each can be renewed
"""

import secrets
import socket
import sys
import time
from pathlib import Path
from urllib.parse import urlencode

import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    RefreshToken,
    TokenError,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthToken

FOLDER = Path(sys.argv[1])
SCOPE = "notes"


class People:
    """The authorization server: everybody who comes is the same person, who agrees at once."""

    def __init__(self, issuer):
        self.issuer = issuer
        self.clients, self.codes, self.access, self.renewals = {}, {}, {}, {}

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client_info):
        note("register")
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client, params):
        note("authorize")
        answer = {"state": params.state, "iss": self.issuer}
        if (FOLDER / "deny").exists():
            answer |= {"error": "access_denied", "error_description": "not\x1b[2J today"}
        else:
            code = AuthorizationCode(
                code=secrets.token_urlsafe(32),
                scopes=params.scopes or [],
                expires_at=time.time() + 60,
                client_id=client.client_id,
                code_challenge=params.code_challenge,
                redirect_uri=params.redirect_uri,
                redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
                resource=params.resource,
            )
            self.codes[code.code] = code
            answer["code"] = code.code
        return f"{params.redirect_uri}?{urlencode(answer)}"

    async def load_authorization_code(self, client, authorization_code):
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client, authorization_code):
        note("exchange")
        del self.codes[authorization_code.code]
        return self._issue(client.client_id, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(self, client, refresh_token):
        if (FOLDER / "revoked").exists():
            return None
        return self.renewals.get(refresh_token)

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        if self.renewals.pop(refresh_token.token, None) is None:
            raise TokenError("invalid_grant")
        note("renew")
        (FOLDER / "forgotten").unlink(missing_ok=True)
        return self._issue(client.client_id, scopes, refresh_token.resource)

    async def load_access_token(self, token):
        found = self.access.get(token)
        gone = (FOLDER / "revoked").exists() or (FOLDER / "forgotten").exists()
        if found is None or gone or found.expires_at < time.time():
            return None
        return found

    async def revoke_token(self, token):
        self.access.pop(token.token, None)

    def _issue(self, client_id, scopes, resource):
        file = FOLDER / "seconds"
        seconds = int(file.read_text()) if file.exists() else 3_600
        access, renewal = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self.access[access] = AccessToken(
            token=access,
            client_id=client_id,
            scopes=scopes,
            expires_at=int(time.time()) + seconds,
            resource=resource,
        )
        self.renewals[renewal] = RefreshToken(
            token=renewal, client_id=client_id, scopes=scopes, resource=resource
        )
        return OAuthToken(
            access_token=access,
            expires_in=seconds,
            scope=" ".join(scopes),
            refresh_token=renewal,
        )


def note(what):
    """Write down what was asked for."""
    with (FOLDER / "log").open("a") as file:
        file.write(f"{what}\n")


def main():
    """Listen until somebody ends it."""
    listener = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    settings = AuthSettings(
        issuer_url=address,
        resource_server_url=f"{address}/mcp",
        required_scopes=[SCOPE],
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=[SCOPE], default_scopes=[SCOPE]
        ),
        validate_token_resource=True,
    )
    server = MCPServer("notes", auth_server_provider=People(address), auth=settings)

    @server.tool()
    def read_note(name: str) -> str:
        """Read a note."""
        return f"the note {name}"

    print(f"{address}/mcp", flush=True)
    config = uvicorn.Config(server.streamable_http_app(), log_level="error")
    uvicorn.Server(config).run(sockets=[listener])


main()
