"""What a plugin is, learned by importing it.

In a child process, so that one that crashes or hangs harms nobody.
"""

import inspect
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

import pluggy
from attrs import asdict
from nanocoder_schema import canonical_json, did_you_mean, for_model_schema

from nanocoder.errors import PluginError
from nanocoder.hooks import specs
from nanocoder.hooks.contributions import Command, Dialect, Resource, Sandbox, Screen
from nanocoder.hooks.specs import PROJECT, RANK, STYLES
from nanocoder.hooks.styles import problem_of
from nanocoder.plugins.discovery import package_files
from nanocoder.provider import ProviderSpec
from nanocoder.text import count_tokens
from nanocoder.tools.tool import Tool

API_VERSION = 1
MARK = f"{PROJECT}_impl"
GATES = (
    "nanocoder_readable",
    "nanocoder_before_execute",
    "nanocoder_after_execute",
    "nanocoder_before_request",
)
"""Hooks of the judge and chain styles: who has one is never lazy and never optional."""

MAX_TEXT_CHARS = 4_096
"""How long a description, or any other text of a tool's definition, may be."""

OFFERS: dict[str, type] = {
    "nanocoder_commands": Command,
    "nanocoder_providers": ProviderSpec,
    "nanocoder_tools": Tool,
    "nanocoder_dialects": Dialect,
    "nanocoder_sandboxes": Sandbox,
    "nanocoder_resources": Resource,
    "nanocoder_screens": Screen,
}


def new_manager() -> pluggy.PluginManager:
    """Return a plugin manager that knows our hooks and no plugin."""
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(specs)
    return manager


def register(manager: pluggy.PluginManager, plugin: object, name: str) -> dict[str, Any]:
    """Register *plugin* and return its hooks' implementations by hook.

    Raises PluginError and registers nothing.

    Refused: coroutine hooks, unknown hooks and arguments, wrappers around a judge or a chain, a
    plugin without hooks.
    """
    for hook, function in _marked(plugin):
        _refuse_unfit(name, hook, function)
    try:
        manager.register(plugin, name)
        manager.check_pending()
    except (pluggy.PluginValidationError, ValueError) as error:
        if manager.has_plugin(name):
            manager.unregister(name=name)
        raise PluginError(name, " ".join(str(error).split())) from error
    callers = manager.get_hookcallers(plugin) or []
    found = {
        caller.name: implementation
        for caller in callers
        for implementation in caller.get_hookimpls()
        if implementation.plugin is plugin
    }
    if not found:
        manager.unregister(name=name)
        raise PluginError(name, "implements no hook; mark its functions with @nanocoder.hookimpl")
    return found


def _marked(plugin: object) -> list[tuple[str, Callable[..., Any]]]:
    found = []
    for attribute in dir(plugin):
        value = inspect.getattr_static(plugin, attribute, None)
        function = getattr(plugin, attribute, None) if inspect.isroutine(value) else None
        if function is not None and getattr(function, MARK, None):
            found.append((getattr(function, MARK).get("specname") or attribute, function))
    return found


def _refuse_unfit(name: str, hook: str, function: Callable[..., Any]) -> None:
    if hook not in STYLES:
        raise PluginError(name, f"there is no hook {hook!r}{did_you_mean(hook, STYLES)}")
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise PluginError(name, f"{hook} is `async def`; hooks are plain functions")
    options = getattr(function, MARK)
    if (options.get("wrapper") or options.get("hookwrapper")) and STYLES[hook] in {
        "judge",
        "chain",
    }:
        raise PluginError(name, f"{hook} may not be wrapped: a wrapper could overrule the others")


def describe(plugin: object, name: str) -> dict[str, Any]:
    """Return the JSON-ready description of a plugin; raises PluginError."""
    found = register(new_manager(), plugin, name)
    hooks = {hook: list(one.argnames) for hook, one in sorted(found.items())}
    description: dict[str, Any] = {"hooks": hooks, "policy": any(hook in hooks for hook in GATES)}
    ranks = {hook: _rank(name, hook, one.function) for hook, one in sorted(found.items())}
    description["ranks"] = {hook: rank for hook, rank in ranks.items() if rank != RANK}
    if "nanocoder_settings" in found:
        description["settings"] = settings_class(
            name, found["nanocoder_settings"].function()
        ).__name__
    for hook, expected in OFFERS.items():
        if hook in found:
            description[hook.removeprefix(f"{PROJECT}_")] = [
                _offer(name, one) for one in offered(name, hook, found[hook].function(), expected)
            ]
    return description


def _rank(name: str, hook: str, function: Callable[..., Any]) -> int:
    rank = getattr(function, MARK).get("rank", RANK)
    if type(rank) is not int:
        raise PluginError(name, f"the rank of {hook} is {rank!r:.60}, expected a whole number")
    return rank


def offered(name: str, hook: str, value: Any, expected: type) -> list[Any]:
    """Check what a collect hook returned: a list of *expected*; raises PluginError."""
    if not isinstance(value, (list, tuple)):
        raise PluginError(
            name, f"{hook} returned {type(value).__name__}, expected a list of {expected.__name__}"
        )
    for one in value:
        if not isinstance(one, expected):
            raise PluginError(
                name,
                f"{hook} offered {type(one).__name__} {one!r:.60}, expected {expected.__name__}",
            )
    return list(value)


def settings_class(name: str, value: Any) -> type:
    """Check what `nanocoder_settings` returned: an attrs class whose fields all have defaults."""
    if not (isinstance(value, type) and hasattr(value, "__attrs_attrs__")):
        raise PluginError(
            name, f"nanocoder_settings returned {value!r:.60}, expected an attrs class"
        )
    try:
        value()
    except TypeError as error:
        raise PluginError(
            name, f"every field of {value.__name__} needs a default: {error}"
        ) from error
    return value


def _offer(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, Tool):
        return tool_manifest(name, value)
    if isinstance(value, Command):
        arguments = [asdict(argument) for argument in value.arguments]
        return {"name": value.name, "help": value.help, "arguments": arguments}
    if isinstance(value, ProviderSpec):
        return {
            "name": value.name,
            "description": value.description,
            "default_model": value.default_model,
            "key_variables": list(value.key_variables),
            "rank": value.rank,
            "probe": value.probe is not None,
            "hint": value.hint,
            "servers": dict(value.servers),
        }
    return {"name": value.name}


def tool_manifest(plugin: str, tool: Tool[..., Any]) -> dict[str, Any]:
    """Return all of a tool but its handler, with what its definition costs in tokens."""
    try:
        parameters = dict(tool.parameters)
    except Exception as error:
        raise PluginError(
            plugin, f"tool {tool.name!r} has no schema: {problem_of(error)}"
        ) from error
    if tool.name.startswith("_"):
        raise PluginError(plugin, f"{tool.name!r} is not a tool name; let it begin with a letter")
    wire = {
        "name": tool.name,
        "description": tool.description,
        "parameters": for_model_schema(parameters),
    }
    problem = next(filter(None, map(_unfit, _texts([wire, tool.short]))), "")
    if problem:
        raise PluginError(plugin, f"the definition of {tool.name!r} holds {problem}")
    return {
        "name": tool.name,
        "description": tool.description,
        "schema": parameters,
        "risk": str(tool.risk),
        "effects": sorted(map(str, tool.effects)),
        "composed_of": list(tool.composed_of),
        "single_confirmation": tool.single_confirmation,
        "transactional": tool.transactional,
        "timeout_s": tool.timeout_s,
        "examples": [dict(example) for example in tool.examples],
        "repeatable": tool.repeatable,
        "reveals": tool.reveals,
        "commands": list(tool.commands),
        "short": tool.short,
        "tokens": count_tokens(canonical_json(wire)),
    }


def _unfit(text: str) -> str:
    """Say what is wrong with a text that a model is to read and a person cannot look through."""
    if len(text) > MAX_TEXT_CHARS:
        return f"a text of {len(text):,} characters; at most {MAX_TEXT_CHARS:,} may go to a model"
    if all(letter.isprintable() or letter in "\n\t" for letter in text):
        return ""
    return f"invisible characters: {text[:60]!r}"


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _texts([name, inner])
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)


def import_and_describe(name: str, module: str) -> dict[str, Any]:
    """Import a plugin and describe it; every failure is in the description's "error"."""
    try:
        __import__(module)
        plugin: ModuleType = sys.modules[module]
        description = describe(plugin, name)
    except PluginError as error:
        return {"error": error.problem}
    except BaseException as error:  # noqa: BLE001 - sys.exit in a plugin is a failure like any other
        return {"error": f"import failed: {problem_of(error)}"}
    description["files"] = package_files(getattr(plugin, "__file__", "") or "")
    return description


def main() -> None:
    """Read [[name, module], …] from stdin; write a line of JSON for each to what was stdout."""
    wanted: list[list[str]] = json.load(sys.stdin)
    out = os.dup(1)
    # A plugin that prints at import must not write into the answers.
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    for name, module in wanted:
        line = json.dumps([name, import_and_describe(name, module)]) + "\n"
        data = line.encode()
        while data:
            data = data[os.write(out, data) :]
    os._exit(0)
