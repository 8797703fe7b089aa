"""Import plugins and describe them; a child process does that for the installed ones."""

import inspect
from collections.abc import Callable, Mapping
from types import FunctionType, MethodType, ModuleType
from typing import Any

import pluggy
from attrs import asdict
from nanocoder_console import Command
from nanocoder_discovery import import_plugin, import_problem, package_files, serve
from nanocoder_schema import (
    canonical_json,
    count_tokens,
    did_you_mean,
    for_model_schema,
    problem_of,
)

from nanocoder.errors import PluginError
from nanocoder.hooks import specs
from nanocoder.hooks.interfaces import Dialect, Resource, Runner, Sandbox, Screen, Store
from nanocoder.hooks.marks import PROJECT, RANK
from nanocoder.hooks.specs import GATES, STYLES
from nanocoder.provider import ProviderSpec
from nanocoder.tools.tool import Tool
from nanocoder.values import manifest_of

MARK, SPEC_MARK = f"{PROJECT}_impl", f"{PROJECT}_spec"
HOOKABLE = (FunctionType, MethodType, staticmethod, classmethod)
NO_HOOK = "implements no hook; mark its functions with @nanocoder.hookimpl"
LINE_BREAKS = str.maketrans("", "", "\n\t")
MAX_TEXT_CHARS = 4_096
"""The longest description, or any other text, of a tool's definition."""

OFFERS: dict[str, type] = {
    "nanocoder_commands": Command,
    "nanocoder_providers": ProviderSpec,
    "nanocoder_tools": Tool,
    "nanocoder_dialects": Dialect,
    "nanocoder_sandboxes": Sandbox,
    "nanocoder_resources": Resource,
    "nanocoder_screens": Screen,
    "nanocoder_stores": Store,
    "nanocoder_runners": Runner,
}


def new_manager() -> pluggy.PluginManager:
    """Return a plugin manager that knows our hooks and no plugin."""
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(_marked(specs, SPEC_MARK))
    return manager


def _marked(module: ModuleType, mark: str = MARK) -> ModuleType:
    """Return the hooks of *module* alone: pluggy inspects each of its hundreds of names slowly."""
    marked, members = ModuleType(module.__name__), vars(module).items()
    vars(marked).clear()
    hooks = {it: member for it, member in members if isinstance(member, HOOKABLE)}
    vars(marked).update((it, member) for it, member in hooks.items() if hasattr(member, mark))
    return marked


def register(manager: pluggy.PluginManager, plugin: object, name: str) -> dict[str, Any]:
    """Register *plugin* and return its hooks' implementations by hook.

    Raises PluginError and registers nothing.

    Refused: coroutine hooks, unknown hooks and arguments, wrappers around a judge or a chain, a
    plugin without hooks.
    """
    hookimpls: dict[str, pluggy.HookImpl] = {}
    plugin = _marked(plugin) if isinstance(plugin, ModuleType) else plugin
    try:
        manager.register(plugin, name)
        # One pass; `get_hookcallers` goes through all plugins' implementations, too.
        for caller in vars(manager.hook).values():
            for implementation in caller.get_hookimpls():
                if implementation.plugin is plugin:
                    hookimpls[caller.name] = implementation
        problem = "" if hookimpls else NO_HOOK
    except (pluggy.PluginValidationError, ValueError) as error:
        problem = " ".join(str(error).split())
    # Our messages name the nearest hook; those of pluggy do not.
    problem = next(filter(None, map(_hook_problem, hookimpls, hookimpls.values())), problem)
    if problem:
        # pluggy finds some mistakes only after the registration.
        if manager.has_plugin(name):
            manager.unregister(name=name)
        raise PluginError(name, problem)
    return hookimpls


def _hook_problem(hook: str, implementation: pluggy.HookImpl) -> str:
    """Return the reason why an implementation is not valid, or ""."""
    function = implementation.function
    if hook not in STYLES:
        return f"there is no hook {hook!r}{did_you_mean(hook, STYLES)}"
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        return f"{hook} is `async def`; hooks are plain functions"
    if hook in GATES and (implementation.wrapper or implementation.hookwrapper):
        return f"{hook} may not be wrapped: a wrapper could overrule the others"
    return ""


def describe(plugin: object, name: str) -> dict[str, Any]:
    """Return the JSON-ready description of a plugin; raises PluginError."""
    hookimpls = register(new_manager(), plugin, name)
    hooks = {hook: list(hookimpl.argnames) for hook, hookimpl in sorted(hookimpls.items())}
    ranks = {hook: _rank(name, hook, hookimpls[hook].function) for hook in hooks}
    description: dict[str, Any] = {
        "hooks": hooks,
        "policy": not GATES.isdisjoint(hooks),
        "ranks": {hook: rank for hook, rank in ranks.items() if rank != RANK},
    }
    if "nanocoder_settings" in hookimpls:
        settings_class(name, hookimpls["nanocoder_settings"].function())
    for hook, expected in OFFERS.items():
        # A plugin that takes `tools` wraps those of others: it has none before a session has them.
        if hook in hookimpls and "tools" not in hooks[hook]:
            offers = offered(name, hook, hookimpls[hook].function(), expected)
            description[hook.removeprefix(f"{PROJECT}_")] = [_offer(name, each) for each in offers]
    return description


def _rank(name: str, hook: str, function: Callable[..., Any]) -> int:
    rank = getattr(function, MARK).get("rank", RANK)
    # By the exact type: in Python True is an int, too.
    if type(rank) is not int:
        raise PluginError(name, f"the rank of {hook} is {rank!r:.60}, expected a whole number")
    return rank


def offered(name: str, hook: str, value: Any, expected: type) -> list[Any]:
    """Return the answer of a collect hook, a list of *expected*; raises PluginError."""
    if not isinstance(value, (list, tuple)):
        actual = type(value).__name__
        raise PluginError(name, f"{hook} returned {actual}, expected a list of {expected.__name__}")
    for offer in value:
        if not isinstance(offer, expected):
            actual = f"{type(offer).__name__} {offer!r:.60}"
            raise PluginError(name, f"{hook} offered {actual}, expected {expected.__name__}")
    return list(value)


def settings_class(name: str, value: Any) -> type:
    """Return the settings class, which must be an attrs class with defaults; raises PluginError."""
    if not (isinstance(value, type) and hasattr(value, "__attrs_attrs__")):
        problem = f"nanocoder_settings returned {value!r:.60}, expected an attrs class"
        raise PluginError(name, problem)
    try:
        value()
    except TypeError as error:
        problem = f"every field of {value.__name__} needs a default: {error}"
        raise PluginError(name, problem) from error
    return value


def _offer(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, Tool):
        return tool_manifest(name, value)
    if isinstance(value, Command):
        return asdict(value, filter=lambda field, _: field.name not in {"run", "outside_calls"})
    if isinstance(value, ProviderSpec):
        return {**manifest_of(value), "probe": value.probe is not None}
    if isinstance(value, Sandbox):
        return {"name": value.name, "rank": value.rank, "system": value.system}
    return {"name": value.name}


def tool_manifest(plugin: str, tool: Tool[..., Any]) -> dict[str, Any]:
    """Return a tool's fields without its handler, and the tokens of its definition."""
    try:
        parameters = dict(tool.parameters)
    except Exception as error:
        problem = f"tool {tool.name!r} has no schema: {problem_of(error)}"
        raise PluginError(plugin, problem) from error
    if tool.name.startswith("_"):
        raise PluginError(plugin, f"{tool.name!r} is not a tool name; let it begin with a letter")
    schema = for_model_schema(parameters)
    wire = {"name": tool.name, "description": tool.description, "parameters": schema}
    if problem := _text_problem([wire, tool.short]):
        raise PluginError(plugin, f"the definition of {tool.name!r} holds {problem}")
    return {**manifest_of(tool), "schema": parameters, "tokens": count_tokens(canonical_json(wire))}


def _text_problem(values: list[Any]) -> str:
    """Return the reason to refuse a text in *values*: a person could not read all of it; or ""."""
    most = f"at most {MAX_TEXT_CHARS:,} may go to a model"
    for value in values:  # it grows
        if isinstance(value, Mapping):
            values += [*value, *value.values()]
        elif isinstance(value, list | tuple):
            values += value
        elif isinstance(value, str) and len(value) > MAX_TEXT_CHARS:
            return f"a text of {len(value):,} characters; {most}"
        elif isinstance(value, str) and not value.translate(LINE_BREAKS).isprintable():
            return f"invisible characters: {value[:60]!r}"
    return ""


def import_and_describe(name: str, module: str) -> dict[str, Any]:
    """Import a plugin and describe it; every failure is in the description's "error"."""
    try:
        plugin = import_plugin(module)
        description = describe(plugin, name)
    except PluginError as error:
        return {"error": error.problem}
    except BaseException as error:  # noqa: BLE001 - sys.exit in a plugin is a failure like any other
        import traceback  # few imports fail

        problem = import_problem(error, module)
        return {"error": problem, "traceback": "".join(traceback.format_exception(error))[-9_999:]}
    description["files"] = package_files(getattr(plugin, "__file__", "") or "")
    return description


def main() -> None:
    """Describe plugins in a child process, for `nanocoder_discovery`."""
    serve(import_and_describe)
