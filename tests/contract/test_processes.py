"""Every process that we start gets an environment that was made for it.

A child shows its environment to every process of the same user; ours holds keys.
"""

import ast
from collections.abc import Iterator

import repository

STARTS = {
    *("Popen", "run", "call", "check_call", "check_output", "getoutput", "getstatusoutput"),
    *("system", "popen", "posix_spawn", "posix_spawnp", "fork", "forkpty"),
    *("create_subprocess_exec", "create_subprocess_shell", "ProcessPoolExecutor"),
}
FAMILIES = ("exec", "spawn")
MODULES = {"subprocess", "os", "asyncio", "pty", "multiprocessing", "futures"}
ENVIRONMENT_AT = {"posix_spawn": 2, "posix_spawnp": 2}


def starts() -> Iterator[tuple[str, ast.Call, str]]:
    """Yield each call that starts a process: where it is, the call, and its name."""
    for path in repository.sources():
        imported = imported_names(repository.tree(path))
        for where, call in calls(path):
            name = started_by(call.func, imported)
            if name:
                yield where, call, name


def calls(path):
    """Yield the calls of a file beside "FILE:FUNCTION"."""
    shown = repository.shown(path)
    stack = [(repository.tree(path), shown)]
    while stack:
        node, where = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            where = f"{shown}:{node.name}"
        if isinstance(node, ast.Call):
            yield where, node
        stack += [(child, where) for child in ast.iter_child_nodes(node)]


def imported_names(tree: ast.Module) -> dict[str, str]:
    """Return what `from subprocess import Popen as P` brings: {"P": "Popen"}."""
    found = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    return {
        alias.asname or alias.name: alias.name
        for node in found
        if (node.module or "").rpartition(".")[2] in MODULES
        for alias in node.names
    }


def started_by(function: ast.expr, imported: dict[str, str]) -> str:
    """Return the name of the function that starts a process, or nothing."""
    if isinstance(function, ast.Name):
        name = imported.get(function.id, "")
    elif isinstance(function, ast.Attribute) and isinstance(
        function.value, ast.Name | ast.Attribute
    ):
        module = function.value.id if isinstance(function.value, ast.Name) else function.value.attr
        name = function.attr if module in MODULES else ""
    else:
        return ""
    is_start = name in STARTS or (name.startswith(FAMILIES) and name != "spec_from_loader")
    return name if is_start else ""


def environment_of(call: ast.Call, name: str) -> ast.expr | None:
    """Return the argument that is the environment."""
    found = {keyword.arg: keyword.value for keyword in call.keywords}.get("env")
    at = ENVIRONMENT_AT.get(name)
    if found is None and at is not None and len(call.args) > at:
        return call.args[at]
    return found


def is_ours(environment: ast.expr) -> bool:
    """Return True if an expression hands on what we have ourselves."""
    if isinstance(environment, ast.Call) and ast.unparse(environment.func) == "environment":
        return False
    text = ast.unparse(environment)
    return text == "None" or "os.environ" in text


def test_every_process_gets_an_environment_of_its_own():
    listed = {one["where"] for one in repository.exceptions("processes")}
    bare = {
        where
        for where, call, name in starts()
        if (environment := environment_of(call, name)) is None or is_ours(environment)
    }
    assert bare == listed, "hand env= on, made for that process; or say in exceptions.toml why not"


def test_the_gate_sees_each_way_to_start_a_process():
    seen = {where.partition(":")[0] for where, _, _ in starts()}
    files = repository.sources()
    textual = {
        repository.shown(path)
        for path in files
        if any(word in path.read_text("utf-8") for word in ("subprocess.", "posix_spawn("))
        and "subprocess.Popen(" in path.read_text("utf-8")
    }
    assert textual <= seen
