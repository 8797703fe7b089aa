"""What is found, whatever the names and the rules."""

import os
import shutil

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from nanocoder import ToolContext, Workspace, WorkspaceError
from nanocoder_kit_files.glob import compile_glob, split_base
from nanocoder_kit_files.glob.git_ignore import walk
from nanocoder_tool_glob import Settings, glob

NAMES = rb"a b c.py d.ts .hidden x_y * [q] -v {a} A.PY vendor .git \xff GIT sub"
RULES = r"a *.py /b/ !c.py !*.ts b/c.py **/a sub/ #no *a* b/* * !b/ /a/** [a-c] \[q\] -v !a ?.ts"
PATTERNS = (
    r"**/* ** * **/*.py **/*.{py,ts} */* */*.py a/** a/* b/c.py **/a/* **/[a-c]* {a,b}/**/* **/?.ts"
    r" **/.* **/*ff.py **/*f **/*é sub/**/*.ts ./* **/c.py **/*y a/b/* \* **/*\* **/{a} **/*.py/**"
)

odd_names = st.sampled_from([b"\xff.py", b"a\xff", b"\xc3\xa9", b"new\nline", b"x y"])
parts = st.sampled_from(NAMES.split()) | odd_names
paths = st.lists(parts, min_size=1, max_size=4).map(b"/".join)
rules = st.lists(st.sampled_from([*RULES.split(), r"x\ y"]), max_size=3).map("\n".join)
homes = st.sampled_from([b"", b"a/", b"b/", b"a/b/", b"sub/"])
patterns = st.sampled_from([*PATTERNS.split(), "x y/*", "no/*"])


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("tree")


def fill(root, files, ignores, links):
    shutil.rmtree(root)
    root.mkdir()
    raw = os.fsencode(root)
    for number, path in enumerate(files):
        try:
            os.makedirs(os.path.dirname(os.path.join(raw, path)), exist_ok=True)
            if path.endswith(b"b"):
                os.mkfifo(os.path.join(raw, path))
            else:
                with open(os.path.join(raw, path), "xb"):
                    pass
            os.utime(os.path.join(raw, path), (1_000_000 + number % 3, 1_000_000 + number % 3))
        except OSError:  # a file is where this would have its directory
            continue
    for folder, text in ignores.items():
        if os.path.isdir(os.path.join(raw, folder)):
            with open(os.path.join(raw, folder, b".gitignore"), "w") as file:
                file.write(text)
    for path, target in links.items():
        if os.path.isdir(os.path.dirname(os.path.join(raw, path))):
            try:
                os.symlink(target, os.path.join(raw, path))
            except FileExistsError:
                continue


def found(root, pattern, path="."):
    with Workspace(root) as workspace:
        ctx = ToolContext("s", "c1", workspace, root)
        return sorted(glob(ctx, pattern=pattern, path=path).data["files"])


def looked_up(workspace, pattern, path):
    """Return what is found where each entry of the walk is looked at by itself, in any order."""
    base, rest = split_base(pattern)
    try:
        top = workspace.resolve(f"{path}/{base}" if base else path)
        matches = compile_glob(rest).fullmatch
        start = 0 if top == "." else len(top) + 1
        entries = list(walk(workspace, top, skip=("vendor", "c.py")))
    except WorkspaceError:
        return set()
    return {
        (entry.mtime, entry.path)
        for entry in entries
        if entry.kind == "file" and matches(entry.path[start:])
    }


@pytest.mark.contract("MA-40")
@pytest.mark.contract("MA-44")
@pytest.mark.timeout(60)
@given(
    files=st.lists(paths, min_size=1, max_size=12, unique=True),
    ignores=st.dictionaries(homes, rules, max_size=3),
    links=st.dictionaries(paths, st.sampled_from(["a", "..", "/etc", "c.py", "no"]), max_size=2),
    pattern=patterns,
    path=st.sampled_from([".", ".", ".", "a", "a/b", "sub"]),
)
@example([b"a/b/c.py", b"a/x", b"d.ts"], {b"": "a/b\n", b"a/": "!b\n"}, {}, "**/*", "a")
@example([b"\xff/\xfe.py"], {}, {}, "**/*fe.py", ".")
@example([b"a", b"\\xff/\xff.py"], {}, {}, "**/*", ".")
def test_what_is_found_is_what_a_look_at_every_entry_finds(
    root, files, ignores, links, pattern, path
):
    fill(root, files, ignores, links)
    with Workspace(root) as workspace:
        expected = looked_up(workspace, pattern, path)
        ctx = ToolContext("s", "c1", workspace, root, settings=Settings(5, ("vendor", "c.py")))
        try:
            result = glob.invoke(ctx, glob.signature.check({"pattern": pattern, "path": path}))
        except WorkspaceError:
            assert not expected
            return
        if not expected:  # a wider pattern was tried
            assert not result.data["files"] or result.metadata["retried_as"]
            return
    newest = sorted(expected, key=lambda each: (-each[0], each[1]))[:5]
    assert result.data["files"] == [name for _, name in newest]
    assert result.metadata["count"] == len(expected)


def test_rules_that_only_other_programs_know_do_not_count(root):
    fill(root, [b"a/b.py", b"c/d.py"], {}, {})
    (root / "a/.rgignore").write_text("*\n!.rgignore\n")
    (root / ".ignore").write_text("*.py\n")
    (root / "c/.git/info").mkdir(parents=True)
    (root / "c/.git/info/exclude").write_text("*.py\n")
    assert found(root, "**/*.py") == ["a/b.py", "c/d.py"]


@pytest.mark.parametrize("name", [".gitignore", ".git/info/exclude"])
def test_rules_behind_a_link_are_not_read(root, name):
    fill(root, [b"a/b.py", b"rules", b".git/info/x"], {}, {})
    (root / "rules").write_text("*.py\n")
    (root / name).symlink_to(root / "rules")
    assert found(root, "**/*.py") == ["a/b.py"]


def test_the_rules_of_the_root_count_below_it_too(root):
    fill(root, [b"a/b.py", b"a/c.ts", b"a/d.ts", b".git/info/exclude"], {b"": "*.py\n"}, {})
    (root / ".git/info/exclude").write_text("c.*\n!b.py\n")
    for path in (".", "a"):
        assert found(root, "**/?.*", path) == ["a/d.ts"]


def test_very_deep_directories_are_gone_into(root):
    fill(root, [b"/".join([b"a"] * depth) + b"/f.ts" for depth in (1, 70, 90)], {}, {})
    assert len(found(root, "**/*.ts")) == 3
