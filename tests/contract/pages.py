"""The generated parts of the documentation: the reference of the hooks, the table of plugins."""

import ast
import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

import repository
from nanocoder.plugins.introspect import import_and_describe
from repository import Package

HOOKS_PAGE = repository.ROOT / "docs/reference/hooks.md"
HOOKSPECS = repository.CORE / "src/nanocoder/hooks/specs.py"
HEADINGS = ("Called", "Results", "Raises", "Example")
PLUGINS_PAGE = repository.ROOT / "docs/reference/plugins.md"
PACKAGES_LIST = repository.CORE / "src/nanocoder/plugins/packages.json"
LISTED_OFFERS = (
    "tools",
    "providers",
    "commands",
    "screens",
    "dialects",
    "sandboxes",
    "stores",
    "runners",
)
RESOURCES = ("answers", "sets")
"""The resources that an option of the command line needs."""
TABLE_START = "<!-- plugins: written by `nox -s table` -->"
TABLE_END = "<!-- end of plugins -->"


def hooks() -> list[ast.FunctionDef]:
    """Return the hook specifications in firing order."""
    functions = (
        node for node in repository.tree(HOOKSPECS).body if isinstance(node, ast.FunctionDef)
    )
    return [node for node in functions if node.name.startswith("nanocoder_")]


def signature(hook: ast.FunctionDef) -> str:
    """Return a hook's signature as a plugin author writes it, without quotes around types."""
    arguments = ast.unparse(hook.args)
    returns = f" -> {ast.unparse(hook.returns)}" if hook.returns else ""
    return f"{hook.name}({arguments}){returns}".replace("'", "").replace('"', "")


def sections(hook: ast.FunctionDef) -> dict[str, str]:
    """Return a hook's docstring in parts: "" is what stands before the first heading."""
    parts: dict[str, list[str]] = {"": []}
    for line in (ast.get_docstring(hook) or "").splitlines():
        word, colon, rest = line.partition(":")
        if colon and word in HEADINGS:
            parts[word] = [rest.strip()]
        else:
            parts[list(parts)[-1]].append(line)
    return {word: "\n".join(lines).strip() for word, lines in parts.items()}


def hooks_page() -> str:
    """Return docs/reference/hooks.md as it has to be."""
    return "\n".join(_page_lines())


def _page_lines() -> Iterator[str]:
    module = ast.get_docstring(repository.tree(HOOKSPECS)) or ""
    yield "# Hooks\n"
    source = repository.shown(HOOKSPECS)
    yield f"Written from `{source}` by `nox -s reference`; a test compares the two.\n"
    yield f"{module}\n"
    styles = _styles()
    for hook in hooks():
        parts = sections(hook)
        yield f"## `{signature(hook)}`\n"
        yield f"Style: {styles[hook.name]}\n"
        yield f"{parts['']}\n"
        for word in HEADINGS[:-1]:
            yield f"**{word}:** {parts.get(word, '')}\n"
        yield f"<!-- not run: a fragment -->\n{example(hook)}\n"


def example(hook: ast.FunctionDef) -> str:
    """Return a hook's example as the whole implementation, in a block of Python."""
    arguments = ", ".join(argument.arg for argument in hook.args.args)
    body = textwrap.indent(sections(hook).get("Example", "").strip("`"), "    ")
    return f"```python\n@hookimpl\ndef {hook.name}({arguments}):\n{body}\n```"


def _styles() -> dict[str, str]:
    return {hook.name: ast.unparse(hook.decorator_list[0]) for hook in hooks()}


def plugin_table() -> str:
    """Return the list of first-party plugins."""
    rows = [
        f"- [{package.name}](../../{package.label}/){_members(package)}: {_purpose(package)}"
        for package in _by_kind()
    ]
    return "\n".join([TABLE_START, *rows, TABLE_END])


def _by_kind() -> list[Package]:
    return sorted(
        repository.plugins(), key=lambda plugin: (repository.KINDS.index(plugin.kind), plugin.name)
    )


def _members(package: Package) -> str:
    names = [f"`{name}`" for name in package.entry_points]
    return f" ({', '.join(names)})" if len(names) > 1 else ""


def _purpose(plugin: Package) -> str:
    description = str(plugin.project["project"]["description"])
    return re.sub(r" (of|for) nanocoder\b", "", description)


def plugins_page() -> str:
    """Return the page of plugins with its table brought up to date."""
    text = PLUGINS_PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(TABLE_START)
    _, _, after = rest.partition(TABLE_END)
    return before + plugin_table() + after


def packages_list() -> str:
    """Return the core's list of packages as it has to be: by kind and name who offers what."""
    packages = sorted((*repository.family(), *repository.plugins()), key=lambda one: one.name)
    offers: dict[str, dict[str, str]] = {}
    hints = {}
    for package in packages:
        for what, offer in _offers(package):
            offers.setdefault(what, {}).setdefault(offer["name"], package.name)
            if what == "providers" and (hint := _hint(offer)):
                first, rest = hint.split("\n", 1)
                install = f"nanocoder plugins install {package.name.removeprefix('nanocoder-')}"
                hints[offer["name"]] = f"{install}\n(then {first})\n{rest}"
    short = {package.name.removeprefix("nanocoder-"): package.name for package in packages}
    plugins = {name: each.name for each in repository.plugins() for name in each.entry_points}
    names = dict(sorted((short | plugins).items()))
    return json.dumps({"packages": names, "offers": offers, "hints": hints}, indent=1) + "\n"


def _offers(package: Package) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if not package.is_first_party:
        return
    for plugin, module in package.entry_points.items():
        description = import_and_describe(plugin, module)
        if "error" in description:  # else the list would lose what the package offers
            raise RuntimeError(f"{plugin}: {description['error']}; run `uv sync` first")
        for what in LISTED_OFFERS:
            yield from ((what, offer) for offer in description.get(what, ()))
        resources = description.get("resources", ())
        yield from (("resources", offer) for offer in resources if offer["name"] in RESOURCES)


def _hint(offer: Mapping[str, Any]) -> str:
    """Return how to get a model that needs neither a key nor a server, "" for the others."""
    is_alone = offer["default_model"] and not offer["key_variables"]
    return str(offer["hint"]) if is_alone else ""
