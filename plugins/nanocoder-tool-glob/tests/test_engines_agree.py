"""With ripgrep and without it, the same files are found."""

import os
import shutil

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from nanocoder import ToolContext, Workspace, WorkspaceError
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


def answers(root, **arguments):
    with Workspace(root) as workspace:
        for engine in ("ripgrep", "python"):
            ctx = ToolContext(
                session_id="s",
                message_id="c1",
                workspace=workspace,
                working_directory=root,
                settings=Settings(engine=engine, max_results=5, skip=("vendor", "c.py")),
            )
            try:
                result = glob.invoke(ctx, glob.signature.check(arguments))
            except WorkspaceError as error:
                yield "", str(error)
                continue
            metadata = dict(result.metadata)
            yield metadata.pop("engine"), (result.output, result.data, metadata)


@pytest.mark.contract("MA-40")
@pytest.mark.contract("MA-44")
@pytest.mark.timeout(60)
@settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    files=st.lists(paths, min_size=1, max_size=12, unique=True),
    ignores=st.dictionaries(homes, rules, max_size=3),
    links=st.dictionaries(paths, st.sampled_from(["a", "..", "/etc", "c.py", "no"]), max_size=2),
    pattern=patterns,
    path=st.sampled_from([".", ".", ".", "a", "a/b", "sub"]),
)
@example([b"a/b/c.py", b"a/x", b"d.ts"], {b"": "a/b\n", b"a/": "!b\n"}, {}, "**/*", "a")
@example([b"\xff/\xfe.py"], {}, {}, "**/*fe.py", ".")
def test_they_find_the_same_files(root, files, ignores, links, pattern, path):
    fill(root, files, ignores, links)
    (_, by_ripgrep), (_, by_python) = answers(root, pattern=pattern, path=path)
    assert by_ripgrep == by_python


@pytest.mark.parametrize("pattern", ["**/*", "**/*.py"])
def test_rules_that_only_ripgrep_knows_do_not_count(root, pattern):
    fill(root, [b"a/b.py", b"c/d.py"], {}, {})
    (root / "a/.rgignore").write_text("*\n!.rgignore\n")
    (root / ".ignore").write_text("*.py\n")
    (root / "c/.git/info").mkdir(parents=True)
    (root / "c/.git/info/exclude").write_text("*.py\n")
    (_, by_ripgrep), (_, by_python) = answers(root, pattern=pattern)
    assert by_ripgrep == by_python


@pytest.mark.parametrize("name", [".gitignore", ".git/info/exclude", ".rgignore"])
def test_rules_behind_a_link_are_not_read(root, name):
    fill(root, [b"a/b.py", b"rules", b".git/info/x"], {}, {})
    (root / "rules").write_text("*.py\n")
    (root / name).symlink_to(root / "rules")
    (engine, by_ripgrep), (_, by_python) = answers(root, pattern="**/*.py")
    assert by_ripgrep == by_python
    assert engine == "python"


def test_the_rules_of_the_root_count_below_it_too(root):
    fill(root, [b"a/b.py", b"a/c.ts", b"a/d.ts", b".git/info/exclude"], {b"": "*.py\n"}, {})
    (root / ".git/info/exclude").write_text("c.*\n!b.py\n")
    for path in (".", "a"):
        (engine, by_ripgrep), (_, by_python) = answers(root, pattern="**/?.*", path=path)
        assert by_ripgrep == by_python
        assert by_python[1]["files"] == ["a/d.ts"]
        assert engine == "ripgrep"


def test_very_deep_directories_are_gone_into(root):
    fill(root, [b"/".join([b"a"] * depth) + b"/f.ts" for depth in (1, 70, 90)], {}, {})
    (engine, by_ripgrep), (_, by_python) = answers(root, pattern="**/*.ts")
    assert by_ripgrep == by_python
    assert (engine, by_python[2]["count"]) == ("ripgrep", 3)
