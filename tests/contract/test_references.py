"""The reference pages name what the code has: every command, setting, event, error and field."""

import ast
import inspect
import re
import tomllib

import attrs
import nanocoder
import pytest
import references
import repository
from nanocoder import errors
from nanocoder.session.report import EXIT_CODES

IDENTIFIER = re.compile(
    r"""error_class(?:: str)?\s*=\s*"([a-z_]+)\""""
    r"""|_fault\(\s*"(session_[a-z_]+)"|errno\.\w+: \("([a-z_]+)\""""
)
EXAMPLES = {"template", "testing"}
OURS = (repository.core(), *repository.plugins())
VALUES = (
    nanocoder.Tool,
    nanocoder.ToolContext,
    nanocoder.ToolInfo,
    nanocoder.ToolResult,
    nanocoder.ToolCall,
    nanocoder.Attachment,
    nanocoder.Verdict,
    nanocoder.SessionInfo,
    nanocoder.ApprovalRequest,
    nanocoder.ApprovalAnswer,
    nanocoder.Question,
    nanocoder.Event,
    nanocoder.Message,
    nanocoder.Usage,
    nanocoder.Request,
    nanocoder.ToolDefinition,
    nanocoder.Finished,
    nanocoder.ProviderSpec,
    nanocoder.ModelInfo,
    nanocoder.Command,
    nanocoder.Argument,
    nanocoder.Store,
    nanocoder.StoredSession,
    nanocoder.Screen,
    nanocoder.Resource,
)
OF_THE_CORE = {"handler", "signature", "plugin", "version", "schema", "tokens", "load"}


def page(name):
    return (references.FOLDER / name).read_text(encoding="utf-8")


def test_the_generated_sections_are_what_the_code_says():
    # Not as parameters: each worker would import every plugin just to collect these.
    for section in references.sections():
        text = section.page.read_text(encoding="utf-8")
        assert text == section.placed(), "write it with `nox -s reference`"


def core_trees():
    """Yield the parsed modules of the core that make events."""
    for path in sorted(repository.core().source.rglob("*.py")):
        if "testing" not in path.parts:
            yield repository.tree(path)


def functions():
    """Yield every function of the core."""
    for tree in core_trees():
        yield from (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def literal_keys(node):
    """Return the keys of a dictionary as it is written, of none if it is something else."""
    keys = node.keys if isinstance(node, ast.Dict) else []
    return [key.value for key in keys if isinstance(key, ast.Constant)]


def keys_by_function():
    """Return what each function that ends in a dictionary puts into it."""
    return {
        function.name: literal_keys(node.value)
        for function in functions()
        for node in function.body
        if isinstance(node, ast.Return)
    }


def events():
    """Yield the kind and the known keys of every event that the core makes."""
    made = keys_by_function()
    for function in functions():
        named = {}
        for node in ast.walk(function):
            if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                named.setdefault(ast.unparse(target), []).extend(literal_keys(node.value))
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and makes_event(node.func) and node.args:
                yield from events_of(node, named, made)


def makes_event(function):
    """Tell the class `Event`, and the methods `event` and `change` of a call in flight."""
    name = ast.unparse(function)
    return name == "Event" or name.endswith((".event", "state.change"))


def events_of(node, named, made):
    data = [node.args[1]] if len(node.args) > 1 else []
    if ast.unparse(node.func).endswith("state.change"):
        data, named = [ast.Name("arguments")], {"arguments": ["arguments"]}
    keys = [keyword.arg for keyword in node.keywords if keyword.arg is not None]
    data += [keyword.value for keyword in node.keywords if keyword.arg is None]
    for part in data:
        if isinstance(part, ast.Name):
            keys += named.get(part.id, [])
        elif isinstance(part, ast.Call):
            keys += made.get(ast.unparse(part.func), [])
        else:
            keys += literal_keys(part)
    kind = node.args[0]
    if isinstance(kind, ast.Constant):
        yield kind.value, keys
    elif isinstance(kind, ast.Name) and "arguments" not in keys:  # a refused call is one of two
        yield from (("call.denied", keys), ("call.failed", keys))


def rows(text):
    """Return the table rows of a page by what their first cell holds between backticks."""
    found = re.findall(r"^\| `([^`]+)` \|(.*)$", text, flags=re.MULTILINE)
    return dict(found)


def test_the_page_of_events_has_every_event_with_its_keys():
    documented = rows(page("events.md"))
    made = list(events())
    assert {kind for kind, _ in made} == documented.keys()
    missing = {
        (kind, key) for kind, keys in made for key in keys if f"`{key}`" not in documented[kind]
    }
    assert missing == set()


def test_the_page_of_events_says_which_ones_the_journal_keeps():
    from nanocoder.session.session import RECORDED

    kept = {kind for kind, row in rows(page("events.md")).items() if row.endswith("| yes |")}
    assert kept == RECORDED


def exceptions():
    return [
        one
        for one in vars(errors).values()
        if isinstance(one, type) and one.__module__ == errors.__name__
    ]


def test_the_page_of_errors_has_every_exception_with_its_identifier_and_exit_code():
    documented = rows(page("errors.md"))
    for one in exceptions():
        *_, identifier, code, _ = map(str.strip, documented[one.__name__].split("|"))
        assert identifier == f"`{one.error_class}`"
        assert code == str(getattr(one, "exit_code", ""))


def identifiers(package):
    """Return the identifiers that a package's sources spell out."""
    files = (path for path in package.files if not EXAMPLES & set(path.parts))
    texts = (path.read_text(encoding="utf-8") for path in files)
    found = IDENTIFIER.findall("\n".join(texts))
    return {one for groups in found for one in groups if one}


@pytest.mark.parametrize("package", OURS, ids=lambda one: one.name)
def test_every_identifier_of_an_error_is_documented(package):
    """Those of the core on the page of errors, a plugin's own there or in its README."""
    text = page("errors.md")
    if package.is_first_party:
        text += (package.folder / "README.md").read_text(encoding="utf-8")
    assert identifiers(package) - set(re.findall(r"`([a-z_]+)`", text)) == set()


def test_the_page_of_errors_has_the_exit_code_of_every_stop_reason():
    documented = rows(page("errors.md"))
    for reason, code in EXIT_CODES.items():
        assert documented[reason].startswith(f" {code} |")


@pytest.mark.parametrize("value", VALUES, ids=lambda one: one.__name__)
def test_the_page_of_values_has_every_field(value):
    _, _, rest = page("values.md").partition(f"\n## `{value.__name__}`\n")
    assert rest, "it has no heading of its own"
    part = rest.partition("\n## ")[0]
    names = {one.name for one in attrs.fields(value) if not one.name.startswith("_")}
    if value is nanocoder.Tool:
        names -= OF_THE_CORE
    assert {name for name in names if f"`{name}`" not in part} == set()


@pytest.mark.parametrize(
    "value", [nanocoder.ToolContext, nanocoder.Host], ids=lambda one: one.__name__
)
def test_the_page_of_values_has_every_member_of_what_plugins_are_handed(value):
    _, _, rest = page("values.md").partition(f"\n## `{value.__name__}`\n")
    part = rest.partition("\n## ")[0]
    names = {name for name in vars(value) if not name.startswith("_")}
    assert {name for name in names if f"`{name}" not in part} == set()


def test_the_page_of_the_python_api_has_every_option():
    text = (repository.ROOT / "docs/how-to/python-api.md").read_text(encoding="utf-8")
    options = set(inspect.signature(nanocoder.open_session).parameters) - {"environment"}
    assert options - rows(text).keys() == set()


def test_the_page_of_the_architecture_has_every_component():
    project = tomllib.loads((repository.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    layers = {contract["id"]: " ".join(contract["layers"]) for contract in contracts}
    components = set(re.findall(r"\b[a-z]\w+", layers["ladder"]))
    distributions = set(re.findall(r"\b[a-z]\w+", layers["family"])) - {"nanocoder"}
    text = (repository.ROOT / "docs/explanation/architecture.md").read_text(encoding="utf-8")
    assert [name for name in distributions if f"\n- `{name}`: " not in text] == []
    listed = text.partition("\n## The modules\n")[2].partition("\n\nFive distributions")[0]
    named = set(re.findall(r"`([a-z_]+)`", "".join(re.findall(r"^- .*:", listed, re.MULTILINE))))
    assert components - named == {"version"}
