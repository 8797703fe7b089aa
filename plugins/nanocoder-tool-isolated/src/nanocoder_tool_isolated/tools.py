"""The tools that run in processes of their own, isolated of plugins and of tools.toml files."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Final

from attrs import evolve, frozen
from nanocoder import (
    PluginError,
    Risk,
    SessionInfo,
    Tool,
    ToolContext,
    ToolError,
    ToolResult,
    did_you_mean,
)
from nanocoder_kit_process.capabilities import (
    NONE,
    Capabilities,
    ManifestError,
    Package,
    outline,
    packages_in,
)

from nanocoder_tool_isolated.budget import Budget
from nanocoder_tool_isolated.folders import Program, read_folder
from nanocoder_tool_isolated.jail import jailed, variables
from nanocoder_tool_isolated.process import Crash, Limits, run
from nanocoder_tool_isolated.schema import signature_of
from nanocoder_tool_isolated.settings import Settings

NAME: Final = "tool-isolated"
VERSION: Final = "0.1.0"
KILOBYTE: Final = 1_024
STARTS: Final = 5
NOT_STARTED: Final = "without a result: bwrap: "
IN_PROCESS: Final = frozenset({"nanocoder_tools"})
"""The hooks that are not needed inside nanocoder once a plugin's tools are elsewhere."""
Tools = Mapping[str, Tool[..., Any]]


@frozen(eq=False)
class Isolated:
    """A plugin, or a program, whose calls run in a process each."""

    name: str
    argv: Sequence[str]
    capabilities: Capabilities
    folders: Sequence[Path]
    request: Mapping[str, Any]
    settings: Settings
    budget: Budget

    def call(self, tool: str, ctx: ToolContext, arguments: Mapping[str, Any]) -> ToolResult:
        """Run one call and return its result; a failure of the process is a result, too."""
        self.budget.spend()
        try:
            result = self._run(tool, ctx, arguments)
        except ToolError as error:
            result = ToolResult(
                f"{self.name}: {error}", is_error=True, error_class=error.error_class
            )
        self.budget.note(result.error_class)
        return evolve(result, metadata={**result.metadata, "isolated": self.name})

    def _run(self, tool: str, ctx: ToolContext, arguments: Mapping[str, Any]) -> ToolResult:
        session = ctx.session or SessionInfo(ctx.session_id, ctx.workspace.root)
        settings = self.settings
        limits = Limits(settings.timeout_s, settings.output_kb * KILOBYTE)
        own = {"id": ctx.message_id, "call": tool, "workspace": str(session.cwd)}
        request = {**self.request, **own, "arguments": dict(arguments)}
        env = variables(self.capabilities)
        for attempt in range(1, STARTS + 1):
            undone: list[str] = []
            try:
                with self._inside(session, undone) as argv:
                    result = run(argv, env, request, limits, ctx.cancelled, ctx.progress)
                note = "".join(f"\n[not let out of the sandbox: {line}]" for line in undone)
                return evolve(result, output=result.output + note)
            except Crash as error:
                # Files of an earlier sandbox, or a socket, were removed meanwhile; nothing has run.
                if NOT_STARTED not in str(error) or attempt == STARTS:
                    raise
        raise RuntimeError("a call neither ended nor failed")

    def _inside(self, session: SessionInfo, undone: list[str]) -> AbstractContextManager[list[str]]:
        if not self.settings.sandbox:
            return nullcontext([*self.argv])
        memory_mb = self.settings.memory_mb
        return jailed(session, self.argv, self.capabilities, self.folders, memory_mb, undone)


def isolated_tools(tools: Tools, settings: Settings) -> list[Tool[..., Any]]:
    """Return the tools of the plugins and of the programs in *settings*.

    Raises: PluginError for a plugin that cannot be isolated.
    """
    isolated = [_tool_of_plugin(tool, group) for group, tool in _of_plugins(tools, settings)]
    for folder in settings.folders:
        program = _program(Path(folder).expanduser(), settings)
        isolated += program
    return isolated


def _of_plugins(tools: Tools, settings: Settings) -> list[tuple[Isolated, Tool[..., Any]]]:
    if not settings.process:
        return []
    packages = {plugin: package for package in packages_in() for plugin in package.plugins}
    rows = []
    for plugin in settings.process:
        if plugin not in packages:
            raise _problem(
                "process", f"no plugin {plugin!r} is installed{did_you_mean(plugin, packages)}"
            )
        group = _group(plugin, packages[plugin], settings)
        rows += [(group, tool) for tool in tools.values() if tool.plugin == plugin]
    return rows


def _group(plugin: str, package: Package, settings: Settings) -> Isolated:
    hooks = {hook for folder in package.folders for hook in outline(folder).hooks}
    if others := sorted(hooks - IN_PROCESS):
        listed = ", ".join(hook.removeprefix("nanocoder_") for hook in others)
        raise _problem(
            "process",
            f"{plugin} cannot run in a process of its own: its hooks {listed} run inside nanocoder",
        )
    try:
        capabilities = package.capabilities or NONE
    except ManifestError as error:
        raise _problem("process", str(error)) from error
    module = package.folders[0].stem
    argv = [sys.executable, "-P", "-m", "nanocoder_tool_isolated.worker"]
    paths = sorted({str(folder.parent) for folder in package.folders})
    names = sorted(capabilities.names)
    request = {"module": module, "capabilities": names, "paths": paths}
    budget = Budget(plugin, settings)
    return Isolated(plugin, argv, capabilities, package.folders, request, settings, budget)


def _tool_of_plugin(tool: Tool[..., Any], group: Isolated) -> Tool[..., Any]:
    def handler(ctx: ToolContext, arguments: Mapping[str, Any]) -> ToolResult:
        return group.call(tool.name, ctx, arguments)

    return evolve(
        tool,
        handler=handler,
        signature=signature_of(tool.parameters),
        load=None,
        timeout_s=0,
        # Only the tool's own process knows whether the tool requires approval.
        confirm=None if tool.risk is Risk.SAFE else lambda _: True,
        only_reads=None,
    )


def _program(folder: Path, settings: Settings) -> list[Tool[..., Any]]:
    try:
        program: Program = read_folder(folder)
    except ValueError as error:
        raise _problem("folders", f"{folder}: {error}") from error
    group = Isolated(
        folder.name,
        program.command,
        program.capabilities,
        [folder, Path(program.command[0])],
        {},
        settings,
        Budget(folder.name, settings),
    )
    return [_tool_of_program(tool, group) for tool in program.tools]


def _tool_of_program(tool: Mapping[str, Any], group: Isolated) -> Tool[..., Any]:
    def handler(ctx: ToolContext, arguments: Mapping[str, Any]) -> ToolResult:
        return group.call(tool["name"], ctx, arguments)

    signature = signature_of(tool["parameters"])
    fields = {name: tool[name] for name in ("name", "description", "risk", "effects")}
    isolated = Tool(handler=handler, signature=signature, timeout_s=0, **fields)
    return isolated.owned(NAME, VERSION)


def _problem(key: str, text: str) -> PluginError:
    return PluginError(NAME, f"plugins.{NAME}.{key}: {text}")
