"""An agent loop of one's own: messages of plain dictionaries, tools and models of nanocoder."""

from acme_nanocoder_loop.loop import agent_loop
from acme_nanocoder_loop.model import Model, Response
from acme_nanocoder_loop.tools import Tools

__all__ = ["Model", "Response", "Tools", "agent_loop"]
