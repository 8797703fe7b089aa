"""What code_map answers."""

import json
import os
import time

import nanocoder_tool_codemap
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nanocoder import Cancelled, SessionInfo, ToolContext, ToolError, Workspace, count_tokens
from nanocoder_testing import Scripted, opened, play
from nanocoder_tool_codemap import Settings, code_map, nanocoder_resources
from nanocoder_tool_codemap.budget import Budget
from nanocoder_tool_codemap.graph import rank
from nanocoder_tool_codemap.store import file_of

TREE = {
    "app/__init__.py": "",
    "app/core.py": (
        "import os\nfrom . import store\nfrom app.errors import AppError as Bad\n\n\n"
        "class Engine:\n    def run(self):\n        # load_state in a comment\n"
        "        return store.load_state('load_state')\n\n\nLIMIT = 3\n"
    ),
    "app/store.py": (
        "from app.errors import AppError\n\n\ndef load_state(path):\n    raise AppError\n"
    ),
    "app/errors.py": "class AppError(Exception):\n    pass\n",
    "main.py": "from app.core import Engine\n\nEngine().run()\n",
    "web/index.ts": (
        "import { View } from './view';\nimport React from 'react';\n"
        "export const start = async (): Promise<void> => { new View().draw(); };\n"
    ),
    "web/view.tsx": (
        "export interface Props { a: number }\nexport class View {\n  draw(): void {}\n}\n"
        "export type Kind = 'a';\n"
    ),
    "web/old.js": "const v = require('./view');\nfunction legacy() { return v; }\n",
    "go.mod": "module example.org/m\n",
    "cmd/main.go": 'package main\n\nimport (\n\t"fmt"\n\t"example.org/m/geo"\n)\n\n'
    "func main() { fmt.Println(geo.Area()) }\n",
    "geo/area.go": "package geo\n\ntype Shape struct{}\n\nfunc Area() int { return helper() }\n",
    "geo/help.go": "package geo\n\nfunc helper() int { return 1 }\n",
    "rs/src/lib.rs": (
        "mod parts;\nuse crate::parts::Part;\nuse std::fmt;\n\npub fn go(p: Part) {}\n"
    ),
    "rs/src/parts.rs": (
        "pub struct Part;\nimpl Part {\n    pub fn new() -> Self { Part }\n}\n"
        "trait Shown { fn show(&self); }\n"
    ),
    "ignored/x.py": "def hidden(): pass\n",
    ".gitignore": "ignored/\n",
    "notes.md": "load_state\n",
}


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "root"
    fill(folder, TREE)
    return folder.resolve()


def fill(root, files):
    old = time.time() - 100
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        os.utime(path, (old, old))


class Map:
    """A session that asks."""

    def __init__(self, root, settings=None):
        self.workspace = Workspace(root)
        (resource,) = nanocoder_resources()
        self.index = resource.open(SessionInfo("s", root), settings)
        self.ctx = ToolContext(
            "s", "c", self.workspace, root, settings=settings, resource=lambda _: self.index
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.index.close()
        self.workspace.close()

    def result(self, operation="structure", target="."):
        checked = code_map.signature.check({"operation": operation, "target": target})
        return code_map.invoke(self.ctx, checked)

    def lines(self, operation, target="."):
        return self.result(operation, target).output.splitlines()


@pytest.fixture
def ask(root):
    with Map(root) as session:
        yield session.lines


@pytest.mark.contract("MA-59")
def test_the_structure_is_what_there_is_and_what_matters_first(ask):
    lines = ask("structure")
    assert (
        lines[0] == "13 files, 58 lines: python 5, go 3, rust 2, typescript 1, javascript 1, tsx 1"
    )
    assert "  app/ 4 files, 19 lines" in lines
    files = lines[lines.index("Files, those that others need most first:") + 1 :]
    assert len(files) == 13
    assert files[0] == "app/errors.py (2): AppError"
    assert "app/core.py (12): Engine, LIMIT" in files
    assert not any("hidden" in line for line in lines)


@pytest.mark.contract("MA-60")
def test_symbols_are_an_outline(ask):
    assert ask("symbols", "app/core.py") == [
        "app/core.py",
        "  6 class Engine",
        "    7 def run(self)",
        "  12 LIMIT = 3",
    ]
    assert ask("symbols", "web") == [
        "web/index.ts",
        "  3 export const start = async (): Promise<void> => { new View().draw(); };",
        "web/old.js",
        "  2 function legacy() { return v; }",
        "web/view.tsx",
        "  1 export interface Props { a: number }",
        "  2 export class View",
        "    3 draw(): void {}",
        "  5 export type Kind = 'a';",
    ]
    assert ask("symbols", "rs/src/parts.rs")[1:] == [
        "  1 pub struct Part;",
        "  2 impl Part",
        "    3 pub fn new() -> Self { Part }",
        "  5 trait Shown { fn show(&self); }",
        "    5 trait Shown { fn show(&self); }",
    ]


@pytest.mark.contract("MA-61")
def test_dependencies_are_followed_in_every_language(ask):
    assert ask("dependencies") == [
        "app/core.py -> app/__init__.py, app/errors.py, app/store.py",
        "app/core.py -> outside: os",
        "app/store.py -> app/errors.py",
        "cmd/main.go -> geo/area.go, geo/help.go",
        "cmd/main.go -> outside: fmt",
        "geo/area.go -> geo/help.go",
        "main.py -> app/core.py",
        "rs/src/lib.rs -> rs/src/parts.rs",
        "rs/src/lib.rs -> outside: std",
        "web/index.ts -> web/view.tsx",
        "web/index.ts -> outside: react",
        "web/old.js -> web/view.tsx",
    ]


@pytest.mark.contract("MA-61")
def test_upstream_and_downstream_say_how_far(ask):
    assert ask("upstream", "main.py") == [
        "main.py needs 4 files:",
        "1 app/core.py",
        "2 app/__init__.py",
        "2 app/errors.py",
        "2 app/store.py",
    ]
    assert ask("downstream", "app/errors.py") == [
        "app/errors.py is needed by 3 files:",
        "1 app/core.py",
        "1 app/store.py",
        "2 main.py",
    ]
    assert ask("downstream", "load_state") == [
        "app/store.py is needed by 2 files:",
        "1 app/core.py",
        "2 main.py",
    ]


@pytest.mark.contract("MA-61")
def test_a_definition_is_found_by_its_name(ask):
    assert ask("define", "load_state") == ["app/store.py:4-5 function: def load_state(path)"]
    assert ask("define", "Engine.run") == ["app/core.py:7-9 method in Engine: def run(self)"]
    assert ask("define", "Part::new") == [
        "rs/src/parts.rs:3-3 method in Part: pub fn new() -> Self { Part }"
    ]


@pytest.mark.contract("MA-61")
def test_references_leave_out_comments_and_strings(ask):
    assert sorted(ask("references", "load_state")) == [
        "app/core.py:9: return store.load_state('load_state')",
        "app/store.py:4: def load_state(path): [definition]",
    ]
    assert ask("references", "nowhere_used") == ["Nothing found"]


@pytest.mark.contract("MA-61")
def test_words_lead_to_the_files_that_matter(ask):
    lines = ask("relevant", "where is the state loaded")
    assert lines[0] == "app/store.py (5): load_state"
    assert "app/errors.py (2): AppError" in lines  # the matching file depends on it
    assert ask("relevant", "zzz") == ["Nothing found"]


@pytest.mark.parametrize(
    ("operation", "target", "error_class", "message"),
    [
        ("define", "load_stat", "not_found", "near it: load_state"),
        ("define", "qqqq", "not_found", "search with grep"),
        ("define", " ", "invalid_arguments", "as target"),
        ("symbols", "missing.py", "file_not_found", "missing.py"),
        ("downstream", "app/missing.py", "file_not_found", "missing.py"),
        ("symbols", "notes.md", "not_found", "it reads Python"),
        ("symbols", "../x", "path_outside_workspace", "outside"),
    ],
)
def test_what_is_not_there_is_said(ask, operation, target, error_class, message):
    with pytest.raises(ToolError) as caught:
        ask(operation, target)
    assert (caught.value.error_class, message in str(caught.value)) == (error_class, True)


def test_an_answer_stays_within_its_tokens(root):
    fill(root, {f"many/f{number}.py": "def one(): pass\n" for number in range(300)})
    with Map(root, Settings(max_tokens=300)) as session:
        result = session.result()
    assert result.metadata["truncated"]
    assert count_tokens(result.output) <= 300
    assert "more lines; choose a narrower target]" in result.output


LANGUAGES = {
    "srv/go.mod": "module example.com/app\n",
    "srv/main.go": (
        'package main\n\nimport (\n\t"fmt"\n\tst "example.com/app/inner/store"\n)\n\n'
        "var Global = 3\n\ntype Server[T any] struct{ s *st.Store }\n\n"
        "func (s *Server[T]) Run() error { return s.s.Open() }\n"
    ),
    "srv/inner/store/store.go": "package store\n\ntype Store struct{}\n\n"
    "func (Store) Open() error { return nil }\n",
    "rs/src/main.rs": "mod net;\nuse crate::net::{client::Client as C, server};\nfn main() {}\n",
    "rs/src/net/mod.rs": "pub mod client;\npub mod server;\n",
    "rs/src/net/client.rs": (
        "pub struct Client<'a> { n: &'a str }\n"
        "impl<'a> Client<'a> {\n    pub fn open() {}\n}\npub static LIMIT: i32 = 1;\n"
    ),
    "rs/src/net/server.rs": "pub fn serve() {}\n",
    "ts/app.ts": (
        "export const MAX = 3;\nexport abstract class Base {\n  abstract go(): void;\n"
        "  handle = (a: number) => a;\n}\nconst path = require('path');\n"
    ),
    "js/a.js": "const g = function* () {};\nclass K {\n  on = () => 1;\n}\n",
}


@pytest.mark.contract("MA-60")
@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("Server.Run", "srv/main.go:12-12 method in Server"),
        ("Store.Open", "srv/inner/store/store.go:5-5 method in Store"),
        ("Global", "srv/main.go:8-8 constant"),
        ("Client::open", "rs/src/net/client.rs:3-3 method in Client"),
        ("LIMIT", "rs/src/net/client.rs:5-5 constant"),
        ("MAX", "ts/app.ts:1-1 constant"),
        ("Base.go", "ts/app.ts:3-3 method in Base"),
        ("Base.handle", "ts/app.ts:4-4 method in Base"),
        ("g", "js/a.js:1-1 function"),
        ("K.on", "js/a.js:3-3 method in K"),
    ],
)
def test_a_definition_is_found_in_each_language(tmp_path, name, where):
    fill(tmp_path, LANGUAGES)
    with Map(tmp_path) as session:
        assert session.lines("define", name)[0].startswith(f"{where}: ")


@pytest.mark.contract("MA-61")
def test_imports_lead_to_files_wherever_the_module_lies(tmp_path):
    fill(tmp_path, LANGUAGES)
    with Map(tmp_path) as session:
        lines = session.lines("dependencies")
    assert "srv/main.go -> srv/inner/store/store.go" in lines
    assert "srv/main.go -> outside: fmt" in lines
    (rust,) = (line for line in lines if line.startswith("rs/src/main.rs -> "))
    assert set(rust.partition(" -> ")[2].split(", ")) == {
        "rs/src/net/mod.rs",
        "rs/src/net/client.rs",
        "rs/src/net/server.rs",
    }


def test_braces_in_braces_without_end_harm_nothing(tmp_path):
    fill(tmp_path, {"a.rs": "use a::" + "{b::" * 5_000 + "c" + "}" * 5_000 + ";\nfn f() {}\n"})
    with Map(tmp_path) as session:
        assert session.lines("define", "f")


@given(
    lines=st.lists(st.text(max_size=40) | st.just("def run(self, *args) -> None"), max_size=60),
    tokens=st.integers(4, 200),
    most=st.sampled_from([1, 10, 1_000]),
)
def test_no_answer_is_longer_than_its_tokens(lines, tokens, most):
    budget = Budget(tokens)
    budget.extend(lines, most)
    assert count_tokens(budget.text()) <= tokens
    assert len(budget.lines) + min(most, len(lines)) >= min(len(lines), budget.left_out)
    assert bool(budget.text()) or not any(lines)


def test_references_are_counted_only_so_far(root):
    fill(root, {f"many/f{number}.py": "load_state()\n" * 5 for number in range(60)})
    with Map(root, Settings(max_tokens=100)) as session:
        result = session.result("references", "load_state")
    assert result.output.endswith("[more than 100 more lines; choose a narrower target]")


@pytest.mark.parametrize(
    "content",
    [
        "def broken(:\n  x = (((\ndef fine(): pass\n",
        "\0\1\2",
        "class A:\n" * 2000,
        "\ufeffdef a(): 1\n",
    ],
)
@pytest.mark.parametrize("name", ["bad.py", "bad.ts", "bad.go", "bad.rs", "bad.jsx"])
def test_code_that_does_not_parse_harms_nothing(root, name, content):
    fill(root, {name: content})
    with Map(root) as session:
        assert session.result().metadata["files"] == 14
        assert session.lines("define", "load_state")


def test_a_large_file_is_counted_and_not_read(root):
    fill(root, {"big.py": "x = 1\n" * 200_000})
    with Map(root) as session:
        assert "[1 file too large or too many to read]" in session.lines("structure")


def test_only_what_has_changed_is_read_again(root):
    with Map(root) as session:
        assert session.result().metadata["parsed"] == 13
        (root / "app/store.py").write_text("def save_state():\n    pass\n")
        assert session.lines("define", "save_state") == [
            "app/store.py:1-2 function: def save_state()"
        ]
        assert session.result().metadata["parsed"] == 1
        (root / "app/store.py").unlink()
        with pytest.raises(ToolError):
            session.result("define", "save_state")


def test_the_next_session_knows_what_this_one_learnt(root, cache):
    with Map(root) as session:
        first = session.result()
    (file,) = cache.iterdir()
    assert file == file_of(root)
    assert (file.stat().st_mode & 0o777, cache.stat().st_mode & 0o777) == (0o600, 0o700)
    with Map(root) as session:
        second = session.result()
        assert session.lines("references", "load_state")
    assert second.output == first.output
    assert second.metadata["parsed"] == 0


@pytest.mark.parametrize(
    "spoil",
    [
        lambda value: "{",
        lambda value: json.dumps({**value, "version": -1}),
        lambda value: json.dumps({**value, "records": {key: [1] for key in value["records"]}}),
        lambda value: json.dumps({**value, "records": {}}),
        lambda value: json.dumps({**value, "stamps": {"a.py": [1]}}),
        lambda value: json.dumps([value]),
        lambda value: json.dumps({**value, "ranks": {"x": 1}}),
    ],
)
def test_a_broken_cache_is_made_anew(root, cache, spoil):
    with Map(root) as session:
        first = session.result()
    (file,) = cache.iterdir()
    file.write_text(spoil(json.loads(file.read_text())))
    with Map(root) as session:
        assert session.result().output == first.output
    assert json.loads(file.read_text())["ranks"]


def test_a_cache_that_others_can_write_is_not_believed(root, cache):
    with Map(root) as session:
        session.result()
    (file,) = cache.iterdir()
    file.chmod(0o666)
    with Map(root) as session:
        assert session.result().metadata["parsed"] == 13


def test_without_a_cache_nothing_is_kept(root, cache):
    with Map(root, Settings(cache=False)) as session:
        session.result()
    assert not cache.exists()


def test_a_cancelled_call_stops_reading(root):
    with Map(root) as session:
        session.ctx.cancelled.set()
        with pytest.raises(Cancelled):
            session.result()


def test_ranks_are_a_distribution_and_prefer_what_is_needed():
    edges = {"a": {"c": 1.0}, "b": {"c": 1.0}, "c": {"d": 1.0}, "d": {}, "e": {}}
    ranks = rank(edges)
    assert sum(ranks.values()) == pytest.approx(1.0)
    assert sorted(ranks, key=ranks.__getitem__)[-2:] == ["c", "d"]
    near = rank(edges, {"a": 1.0})
    assert near["b"] == near["e"] == 0.0


@pytest.mark.timeout(60)
def test_two_thousand_files_are_mapped(tmp_path, record_property):
    root = tmp_path / "large"
    fill(
        root,
        {
            f"p{number // 50}/m{number}.py": f"from p{number * 7 % 40}.m{number * 13 % 2000} import"
            f" thing_{number * 13 % 2000}_0\n\n\n"
            + "".join(
                f"def thing_{number}_{index}(value):\n    return value + {index}\n"
                for index in range(12)
            )
            for number in range(2_000)
        },
    )
    for name in ("cold", "warm"):
        started = time.perf_counter()
        with Map(root) as session:
            metadata = session.result().metadata
            record_property(f"{name}_s", round(time.perf_counter() - started, 3))
        assert metadata["files"] == 2_000
    assert metadata["parsed"] == 0


@pytest.mark.contract("H6")
def test_the_map_is_offered_to_the_model_and_costs_only_what_is_asked_for(root):
    plugins = {"tool-codemap": nanocoder_tool_codemap}
    played = play(root, [[("code_map", {})], "Done."], plugins=plugins)
    first, second = played.model.requests
    (definition,) = first.tools
    assert count_tokens(str((definition.description, definition.parameters))) < 200
    assert "Engine" not in first.system, "no request carries the map by itself"
    (result,) = second.messages[-1].results
    assert "Engine" in result.output
    assert count_tokens(result.output) <= Settings().max_tokens


@pytest.mark.contract("H6")
def test_a_person_can_have_the_map_in_the_prompt_within_so_many_tokens(root):
    plugins = {"tool-codemap": nanocoder_tool_codemap}
    systems = {}
    for tokens in (0, 400):
        settings = {"tool-codemap": Settings(prompt_tokens=tokens, cache=False)}
        with opened(root, ["a", "b"], plugins=plugins, settings=settings) as (session, model):
            list(session.run("go"))
            (root / "later.py").write_text("def later(): pass\n")
            list(session.run("go on"))
            first, second = model.requests
        (root / "later.py").unlink()
        assert first.system == second.system, "what a server has cached stays valid"
        systems[tokens] = first.system
    added = systems[400].removeprefix(systems[0])
    assert "rs/src/lib.rs (5): parts, go" in added
    assert "hidden" not in added, "what git ignores is not in it"
    assert 100 < count_tokens(added) <= 410
    assert "rs/src" not in systems[0]


def test_a_small_model_and_a_folder_without_code_get_no_map(root, tmp_path):
    plugins = {"tool-codemap": nanocoder_tool_codemap}
    settings = {"tool-codemap": Settings(prompt_tokens=400, cache=False)}
    (tmp_path / "empty").mkdir()
    for folder, profile in ((root, "small"), (tmp_path / "empty", "full")):
        model = Scripted(["a"], profile=profile)
        with opened(folder, plugins=plugins, settings=settings, model=model) as (session, _):
            list(session.run("go"))
        assert "map of this project" not in model.requests[0].system
