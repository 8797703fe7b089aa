"""A hook is there because plugins of this repository need it: two of them implement it."""

import ast
from collections import defaultdict

import repository
from nanocoder.hooks.specs import STYLES

ENOUGH = 2


def implementers() -> dict[str, set[str]]:
    """Return by hook the plugins whose source implements it, as their functions say."""
    found: dict[str, set[str]] = defaultdict(set)
    for source in (source for package in repository.plugins() for source in package.sources):
        for path in source.rglob("*.py"):
            for node in ast.walk(repository.tree(path)):
                if isinstance(node, ast.FunctionDef) and any(map(_marks, node.decorator_list)):
                    found[node.name].add(source.name)
    return found


def _marks(decorator: ast.expr) -> bool:
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(function).rpartition(".")[2] == "hookimpl"


def test_two_plugins_implement_each_hook_but_the_listed_ones():
    listed = {one["hook"] for one in repository.exceptions("hooks")}
    found = implementers()
    few = {hook for hook in STYLES if len(found[hook]) < ENOUGH}
    assert few == listed, "a hook needs two plugins of ours, or the work that brings them"


def test_no_plugin_implements_a_hook_that_is_not_there():
    assert {hook for hook in implementers() if hook not in STYLES} == set()
