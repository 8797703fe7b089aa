"""What glob answers."""

import os

import pytest
from nanocoder import ToolContext, ToolError, Workspace
from nanocoder_tool_glob import Settings, glob


@pytest.fixture
def ctx(tmp_path):
    with Workspace(tmp_path) as workspace:
        yield ToolContext(
            session_id="s",
            message_id="c1",
            workspace=workspace,
            working_directory=tmp_path,
        )


def make(ctx, *paths):
    """Create files, each a second newer than the one before."""
    for second, path in enumerate(paths):
        file = ctx.working_directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        os.utime(file, (1_000_000 + second, 1_000_000 + second))


def found(ctx, pattern, **arguments):
    result = glob.invoke(ctx, glob.signature.check({"pattern": pattern, **arguments}))
    return result.data["files"]


@pytest.mark.contract("MA-40")
@pytest.mark.contract("NA-48")
def test_files_are_found_by_pattern_below_a_directory(ctx):
    make(ctx, "a.go", "src/b.go", "src/x/c.ts", "src/x/d.tsx", "lib/e.ts")
    assert found(ctx, "**/*.go") == ["src/b.go", "a.go"]
    assert found(ctx, "src/**/*.ts") == ["src/x/c.ts"]
    assert found(ctx, "src/**/*.{ts,tsx}") == ["src/x/d.tsx", "src/x/c.ts"]
    assert found(ctx, "**/*.ts", path="lib") == ["lib/e.ts"]
    assert found(ctx, "x/*.ts", path="src") == ["src/x/c.ts"]


def test_folders_with_brackets_in_their_names_are_found_as_they_are_written(ctx):
    make(ctx, "app/[id]/page.tsx", "app/other/page.tsx", "app/[[...all]]/x/page.tsx")
    assert found(ctx, "app/[id]/**/*.tsx") == ["app/[id]/page.tsx"]
    assert found(ctx, "app/[id]/page.tsx") == ["app/[id]/page.tsx"]
    assert found(ctx, "app/[[...all]]/**") == ["app/[[...all]]/x/page.tsx"]
    assert found(ctx, "**.tsx", path="app/[id]") == ["app/[id]/page.tsx"]


@pytest.mark.contract("MA-43")
@pytest.mark.contract("NA-51")
def test_the_newest_comes_first_and_equal_ones_by_name(ctx):
    make(ctx, "b", "a", "d", "c")
    os.utime(ctx.working_directory / "a", (1_000_000, 1_000_000))
    assert found(ctx, "*") == ["c", "d", "a", "b"]


@pytest.mark.contract("MA-41")
def test_more_than_the_limit_is_counted(ctx):
    ctx.settings = Settings(max_results=2)
    make(ctx, "a", "b", "c")
    result = glob(ctx, pattern="*")
    assert result.output == "3 files:\nc\nb\n[1 more files]"
    assert (result.metadata["count"], result.metadata["truncated"]) == (3, True)


@pytest.mark.contract("MA-41")
def test_a_thousand_are_named_by_default(ctx):
    make(ctx, *(f"f{n}" for n in range(1_001)))
    result = glob(ctx, pattern="f*")
    assert len(result.data["files"]) == 1_000
    assert result.output.endswith("[1 more files]")


@pytest.fixture
def asked_of_the_disk(ctx, monkeypatch):
    """Count the directories that are read and the files whose times are asked for."""
    counts = {"read": 0, "stat": 0}

    def counted(name, what):
        real = getattr(os, name)

        def call(*arguments, **options):
            # Each path first makes sure that the workspace is still there, which is no file.
            counts[what] += arguments[:1] != (str(ctx.workspace.root),)
            return real(*arguments, **options)

        monkeypatch.setattr(os, name, call)

    ctx.workspace.exists("a")  # the first look finds out what the system can do
    counted("scandir", "read")
    counted("stat", "stat")
    return counts


@pytest.mark.parametrize(
    ("pattern", "read", "stat"),
    [
        ("**/*", 3, 25),  # the root and two and a half of ten directories of ten files
        ("**/*.py", 6, 25),
        ("d4/*", 1, 10),
        ("**/*.rs", 11, 0),
    ],
)
def test_the_search_ends_when_there_is_more_than_enough_and_asks_no_file_in_vain(
    ctx, asked_of_the_disk, pattern, read, stat
):
    make(ctx, *(f"d{n}/{m}.{'py' if m % 2 else 'md'}" for n in range(10) for m in range(10)))
    ctx.settings = Settings(max_matches=25, max_results=5)
    asked_of_the_disk.update(read=0, stat=0)
    found(ctx, pattern)
    assert asked_of_the_disk["stat"] - stat in range(4), "no more than where the search starts"
    assert asked_of_the_disk["read"] <= read + 1


def test_a_search_that_ended_names_the_newest_of_what_it_saw(ctx, asked_of_the_disk):
    make(ctx, *(f"f{n:03}" for n in range(100)))
    ctx.settings = Settings(max_matches=25, max_results=2)
    asked_of_the_disk.update(stat=0)
    result = glob(ctx, pattern="*")
    assert result.output.splitlines() == [
        "More than 25 files; the newest of the first 25:",
        "f024",
        "f023",
        "[the search ended there; narrow the pattern]",
        "[23 more files]",
    ]
    assert asked_of_the_disk["stat"] < 30, "of a directory with many files, too"
    assert (result.metadata["count"], result.metadata["truncated"]) == (25, True)
    ctx.settings = Settings(max_matches=100)
    assert glob(ctx, pattern="*").output.startswith("100 files:")


@pytest.mark.contract("MA-42")
@pytest.mark.parametrize(
    ("pattern", "wider"),
    [
        ("*.go", "**/*.go"),
        ("lib/*.go", "**/*.go"),
        ("b.go", "**/b.go"),
        ("nowhere/b.go", "**/b.go"),
    ],
)
def test_without_a_hit_a_wider_pattern_is_tried_and_that_is_said(ctx, pattern, wider):
    make(ctx, "src/b.go")
    result = glob(ctx, pattern=pattern)
    assert result.output == f"No files match {pattern!r}. 1 match {wider!r}:\nsrc/b.go"
    assert result.metadata["retried_as"] == wider


@pytest.mark.contract("MA-42")
@pytest.mark.parametrize("pattern", ["c.go", "src/c.go", "**/c.go", "src/c*.go", "lib/c?.go"])
def test_a_name_that_is_nowhere_leads_to_files_of_its_kind(ctx, pattern):
    make(ctx, "src/b.go", "src/c.ts")
    result = glob(ctx, pattern=pattern)
    assert result.data["files"] == ["src/b.go"]
    assert result.output.startswith(f"No files match {pattern!r}")
    assert result.output.endswith(". 1 match '**/*.go':\nsrc/b.go")
    assert result.metadata["retried_as"] == "**/*.go"


def test_of_files_that_are_only_of_the_kind_those_most_like_the_name_are_shown(ctx):
    make(ctx, "src/button.tsx", *(f"src/{n}/other{n}.tsx" for n in range(60)))
    result = glob(ctx, pattern="src/buttons.tsx")
    assert result.data["files"][0] == "src/button.tsx"
    assert len(result.data["files"]) == 10
    assert result.output.startswith(
        "No files match 'src/buttons.tsx', nor '**/buttons.tsx'. 61 match '**/*.tsx':"
    )
    assert result.output.endswith("\n[51 more files]")
    assert len(found(ctx, "lib/*.tsx")) == 61


@pytest.mark.contract("NA-52")
def test_nothing_at_all_is_said_and_is_no_error(ctx):
    result = glob(ctx, pattern="*.go")
    assert result.output == "No files match '*.go', nor '**/*.go'"
    assert not result.is_error
    assert result.metadata == {
        "pattern": "*.go",
        "path": ".",
        "count": 0,
        "truncated": False,
        "retried_as": "",
        "summary": "0 paths",
    }


@pytest.mark.contract("MA-44")
@pytest.mark.contract("NA-50")
def test_what_tools_made_and_git_ignores_is_left_out(ctx):
    skipped = ["node_modules", "vendor", ".next", "dist", "build", "target", ".venv", "__pycache__"]
    make(ctx, ".git/config", "log/x", "keep/x", *(f"a/{name}/x" for name in skipped))
    (ctx.working_directory / ".gitignore").write_text("log/\n")
    (ctx.working_directory / "a/link").symlink_to("../keep/x")
    assert found(ctx, "**/*") == [".gitignore", "keep/x"]
    assert found(ctx, "**", path="a/vendor") == ["a/vendor/x"]


def test_what_was_not_looked_into_is_said(ctx):
    make(ctx, "a.py", "node_modules/x.js", "out/y.js", "z.gen")
    (ctx.working_directory / ".gitignore").write_text("out/\n*.gen\n")
    by_name = "[left out: 1 folder (node_modules/) by name"
    assert glob(ctx, pattern="*.py").output == (
        f"1 file:\na.py\n{by_name}. Name a folder in path to look into it]"
    )
    assert glob(ctx, pattern="*.js").output == (
        "No files match '*.js', nor '**/*.js'\n"
        f"{by_name}; 1 folder (out/), which git ignores. Name a folder in path to look into it]"
    )
    assert "1 file and 1 folder (z.gen, out/), which" in glob(ctx, pattern="*.gen").output


# PATH-034, 035
@pytest.mark.contract("NA-49")
@pytest.mark.parametrize(
    ("pattern", "path"),
    [("*", ".."), ("../*", "."), ("/etc/*", "."), ("*", "out"), ("*", "/etc")],
)
def test_outside_the_workspace_nothing_is_found(ctx, pattern, path):
    (ctx.working_directory / "out").symlink_to("/etc")
    with pytest.raises(ToolError) as caught:
        glob(ctx, pattern=pattern, path=path)
    assert caught.value.error_class == "path_outside_workspace"


def test_an_absolute_pattern_inside_is_fine(ctx):
    make(ctx, "src/a.py")
    assert found(ctx, f"{ctx.working_directory}/src/*.py") == ["src/a.py"]


def test_a_directory_that_is_missing_or_a_file_is_an_error(ctx):
    make(ctx, "src/a.py")
    for path, error_class in (("scr", "file_not_found"), ("src/a.py", "not_a_directory")):
        for pattern in ("*", "x/*"):
            with pytest.raises(ToolError) as caught:
                glob(ctx, pattern=pattern, path=path)
            assert caught.value.error_class == error_class


# PATH-038
def test_a_bomb_of_braces_and_an_empty_pattern_are_refused(ctx):
    for pattern in ("{a,b}" * 20, ""):
        with pytest.raises(ToolError) as caught:
            glob(ctx, pattern=pattern)
        assert caught.value.error_class == "invalid_arguments"


def test_a_linked_directory_can_be_looked_into(ctx):
    make(ctx, "real/a.py")
    (ctx.working_directory / "link").symlink_to("real")
    assert found(ctx, "*.py", path="link") == ["real/a.py"]


def test_a_cancelled_search_stops(ctx):
    make(ctx, "a")
    ctx.cancelled.set()
    with pytest.raises(ToolError) as caught:
        glob(ctx, pattern="*")
    assert caught.value.error_class == "cancelled"
