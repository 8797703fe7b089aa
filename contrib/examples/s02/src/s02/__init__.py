"""An agent loop of one's own: messages of plain dictionaries, tools and models of nanocoder."""

from s02.loop import agent_loop
from s02.model import Model, Response
from s02.tools import Tools

__all__ = ["Model", "Response", "Tools", "agent_loop"]
