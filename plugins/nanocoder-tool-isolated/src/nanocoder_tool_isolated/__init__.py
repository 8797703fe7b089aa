"""Tools that run in a process of their own: of installed plugins, and programs in any language."""

from collections.abc import Mapping
from typing import Any

from nanocoder import Tool, hookimpl

from nanocoder_tool_isolated.settings import Settings
from nanocoder_tool_isolated.tools import isolated_tools

Tools = Mapping[str, Tool[..., Any]]


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of the table [plugins.tool-isolated]."""
    return Settings


@hookimpl
def nanocoder_tools(tools: Tools, settings: Settings) -> list[Tool[..., Any]]:
    """Return the tools of the plugins in `process`, and those of the programs in `folders`."""
    return isolated_tools(tools, settings)


__all__ = ["Settings"]
