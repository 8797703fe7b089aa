"""nanocoder: a coding agent for the terminal in which every capability is a plugin.

Everything a plugin needs is a name of this module; names load their room when they are first used,
because a command that needs none of them should not wait for them.
"""

import sys
from types import ModuleType

# Importing typing would cost `--version` more than all the rest; type checkers know the name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from nanocoder.api import open_session
    from nanocoder.cancel import Cancel
    from nanocoder.errors import (
        ApprovalNeeded,
        BadArguments,
        Cancelled,
        ConfigError,
        Denied,
        NanocoderError,
        PersonError,
        PluginError,
        ProviderError,
        TimedOut,
        ToolError,
        UnknownTool,
        UsageError,
        WorkspaceError,
    )
    from nanocoder.hookspecs import hookimpl
    from nanocoder.loop import Session
    from nanocoder.offers import Command, Dialect, Display, Resource, Sandbox, Screen
    from nanocoder.plugins import Plugins
    from nanocoder.provider import (
        Finished,
        ModelInfo,
        Notice,
        Provider,
        ProviderSpec,
        Request,
        Retrying,
        TextDelta,
        ThinkingDelta,
        ToolDefinition,
    )
    from nanocoder.readable import PathFilter, Readable
    from nanocoder.redaction import without_password
    from nanocoder.repetition import repeats_itself
    from nanocoder.schema import Param, parse_json, structure
    from nanocoder.text import (
        OutputLimit,
        clip,
        clip_output,
        count_tokens,
        counted,
        for_model,
        for_terminal,
    )
    from nanocoder.tool import SessionInfo, Tool, ToolContext, ToolInfo, tool
    from nanocoder.values import (
        ApprovalAnswer,
        ApprovalRequest,
        Attachment,
        Decision,
        Effect,
        Event,
        Message,
        Mode,
        Question,
        Risk,
        StopReason,
        ToolCall,
        ToolResult,
        Usage,
        Verdict,
    )
    from nanocoder.version import VERSION as __version__  # noqa: N811 - the name is Python's
    from nanocoder.workspace import (
        Entry,
        Files,
        LeftOut,
        Protection,
        ProtectionKind,
        ResolvedPath,
        TextFile,
        Workspace,
        Written,
        escape_path,
        fold_name,
        named_paths,
        unescape_path,
    )
    from nanocoder.wrappers import with_fallback, with_retry, with_timeout

_ROOMS = {
    "api": ("open_session",),
    "cancel": ("Cancel",),
    "errors": (
        "ApprovalNeeded",
        "BadArguments",
        "Cancelled",
        "ConfigError",
        "Denied",
        "NanocoderError",
        "PersonError",
        "PluginError",
        "ProviderError",
        "TimedOut",
        "ToolError",
        "UnknownTool",
        "UsageError",
        "WorkspaceError",
    ),
    "hookspecs": ("hookimpl",),
    "loop": ("Session",),
    "offers": ("Command", "Dialect", "Display", "Resource", "Sandbox", "Screen"),
    "readable": ("PathFilter", "Readable"),
    "plugins": ("Plugins",),
    "provider": (
        "Finished",
        "ModelInfo",
        "Notice",
        "Provider",
        "ProviderSpec",
        "Request",
        "Retrying",
        "TextDelta",
        "ThinkingDelta",
        "ToolDefinition",
    ),
    "redaction": ("without_password",),
    "repetition": ("repeats_itself",),
    "schema": ("Param", "parse_json", "structure"),
    "text": (
        *("OutputLimit", "clip", "clip_output", "count_tokens"),
        *("counted", "for_model", "for_terminal"),
    ),
    "tool": ("SessionInfo", "Tool", "ToolContext", "ToolInfo", "tool"),
    "values": (
        "ApprovalAnswer",
        "ApprovalRequest",
        "Attachment",
        "Decision",
        "Effect",
        "Event",
        "Message",
        "Mode",
        "Question",
        "Risk",
        "StopReason",
        "ToolCall",
        "ToolResult",
        "Usage",
        "Verdict",
    ),
    "workspace": (
        "Entry",
        "Files",
        "LeftOut",
        "Protection",
        "ProtectionKind",
        "ResolvedPath",
        "TextFile",
        "Workspace",
        "Written",
        "escape_path",
        "fold_name",
        "named_paths",
        "unescape_path",
    ),
    "wrappers": ("with_fallback", "with_retry", "with_timeout"),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "ApprovalAnswer",
    "ApprovalNeeded",
    "ApprovalRequest",
    "Attachment",
    "BadArguments",
    "Cancel",
    "Cancelled",
    "Command",
    "ConfigError",
    "Decision",
    "Denied",
    "Dialect",
    "Display",
    "Effect",
    "Entry",
    "Event",
    "Files",
    "Finished",
    "LeftOut",
    "Message",
    "Mode",
    "ModelInfo",
    "NanocoderError",
    "Notice",
    "OutputLimit",
    "Param",
    "PathFilter",
    "PersonError",
    "PluginError",
    "Plugins",
    "Protection",
    "ProtectionKind",
    "Provider",
    "ProviderError",
    "ProviderSpec",
    "Question",
    "Readable",
    "Request",
    "ResolvedPath",
    "Resource",
    "Retrying",
    "Risk",
    "Sandbox",
    "Screen",
    "Session",
    "SessionInfo",
    "StopReason",
    "TextDelta",
    "TextFile",
    "ThinkingDelta",
    "TimedOut",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolDefinition",
    "ToolError",
    "ToolInfo",
    "ToolResult",
    "UnknownTool",
    "Usage",
    "UsageError",
    "Verdict",
    "Workspace",
    "WorkspaceError",
    "Written",
    "__version__",
    "clip",
    "clip_output",
    "count_tokens",
    "counted",
    "escape_path",
    "fold_name",
    "for_model",
    "for_terminal",
    "hookimpl",
    "named_paths",
    "open_session",
    "parse_json",
    "repeats_itself",
    "structure",
    "tool",
    "unescape_path",
    "with_fallback",
    "with_retry",
    "with_timeout",
    "without_password",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from nanocoder.version import VERSION

        return VERSION
    room = _HOME.get(name)
    if room is None:
        raise AttributeError(f"module 'nanocoder' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"nanocoder.{room}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


class _Package(ModuleType):
    """Keeps exported names: importing the module `nanocoder.tool` would put it over `tool`."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
