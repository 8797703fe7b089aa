"""Ripgrep and the search in Python find the same lines, in the same order."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nanocoder import ToolContext, Workspace
from nanocoder_tool_grep import Settings, grep
from nanocoder_tool_grep.literals import find_literals, fold_case

atoms = st.sampled_from(
    [*"abB _0", ".", r"\d", r"\w", r"\s", r"\S", r"\b", "[ab]", "[^a]", "[a-c]", "é", r"\.", "ab"]
)
repeated = st.builds(lambda atom, times: atom + times, atoms, st.sampled_from(["", "", "*", "+?"]))
plain = st.lists(repeated, min_size=1, max_size=4).map("".join)
groups = st.builds(
    lambda a, b, c: f"(?:{a}|{b}){c}", plain, plain, st.sampled_from(["", "?", "{2}"])
)
patterns = st.builds(
    lambda start, parts, end: start + "".join(parts) + end,
    st.sampled_from(["", "^"]),
    st.lists(plain | groups, min_size=1, max_size=2),
    st.sampled_from(["", "$"]),
)

lines = st.lists(st.text(st.sampled_from("abB _0.é\t"), max_size=6), max_size=8)
contents = st.builds(
    lambda parts, newline, end: newline.join(parts) + end,
    lines,
    st.sampled_from(["\n", "\n", "\r\n"]),
    st.sampled_from(["", "\n"]),
)
names = st.sampled_from(["a", "a.b", "a-b", "B", "b/a", "b/c/a", "b.a", "é"])


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("tree")


def answers(root, **arguments):
    with Workspace(root) as workspace:
        for engine in ("ripgrep", "python"):
            ctx = ToolContext(
                session_id="s",
                message_id="c1",
                workspace=workspace,
                working_directory=root,
                settings=Settings(engine=engine),
            )
            result = grep.invoke(ctx, grep.signature.check(arguments))
            metadata = dict(result.metadata)
            yield metadata.pop("engine"), (result.output, result.data, metadata)


def fill(root, files):
    for path in sorted(root.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        data = content if isinstance(content, bytes) else content.encode()
        (root / name).write_bytes(data)


@pytest.mark.contract("MA-47")
@pytest.mark.contract("NT-39")
@pytest.mark.timeout(120)
@settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    files=st.dictionaries(names, contents, min_size=1, max_size=4),
    pattern=patterns,
    output=st.sampled_from(["content", "content", "files", "count"]),
    context=st.sampled_from([0, 0, 1, 2]),
    ignore_case=st.booleans(),
    limit=st.sampled_from([1, 3, 100]),
    offset=st.sampled_from([0, 0, 1, 4]),
)
def test_both_engines_give_the_same_answer(root, files, pattern, **options):
    # In "\r\n" files ripgrep lets [^a], \s and \S match the "\r", which no caller wants.
    if any(part in pattern for part in ("[^", r"\s", r"\S", ".")):
        files = {name: content.replace("\r", "") for name, content in files.items()}
    fill(root, files)
    (first, by_ripgrep), (second, by_python) = answers(root, pattern=pattern, **options)
    assert (first, second) == ("ripgrep", "python")
    assert by_ripgrep == by_python


# Whole trees: what is ignored, what is no text, and what lies where ripgrep changes its buffer.
ODD = {
    "empty": b"",
    "newline": b"\n",
    "crlf": b"\r\n\r\nab\r\n",
    "cr": b"ab\rb\nab\r",
    "bom": b"\xef\xbb\xbfab first\nab\n",
    "utf16": "ab \u00e9\nB\n".encode("utf-16"),
    "latin": b"ab \xff\xfe ab\n\xe9\n_0\n",
    "long": b"ab" * 300 + "\u00e9".encode() * 300 + b" ab\nab\n",
    "wide": "\U0001f600".encode() * 700 + b"\nab\n",
    "many": b"ab\n\0ab\n",
    "null": b"ab 0\n" * 13_200,
    "boundary": b"0" * 65_530 + b"\nab\nab\n",
    "longest": b"0" * 70_000 + b"ab\nab\n" + b"B\n" * 40_000 + b"ab",
    "accents": b"_\n" * 32_767 + b"ab\n\xc3\xa9ab\n" * 3,
}
odd_contents = st.sampled_from(sorted(ODD))
rules = st.lists(
    st.sampled_from(
        ["a", "*.b", "/b/", "!a", "!*.b", "b/c", "**/a", "c/", "# no", "\\!x", "é", "*a*", "b/*"]
    ),
    max_size=3,
).map(lambda lines: "\n".join(["# rules", *lines]))
trees = st.builds(
    lambda files, ignore, nested: {**files, ".gitignore": ignore, "b/.gitignore": nested},
    st.dictionaries(
        st.sampled_from(
            ["a", "a.b", "x.py", "b/a", "b/c/a", "b/c/x.py", "é", ".hidden", "c/d/e", "b/Makefile"]
        ),
        odd_contents,
        min_size=1,
        max_size=5,
    ),
    rules,
    rules,
)


@pytest.mark.contract("MA-47")
@pytest.mark.contract("MA-49")
@pytest.mark.contract("MA-50")
@pytest.mark.timeout(60)
@settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    files=trees,
    pattern=st.sampled_from(
        ["ab", "a", "B", "ab$", "^ab", "ab|B", r"\bab\b", "a+b", "é", "^$", "_", "(ab|é)+ ?", "."]
    ),
    glob=st.sampled_from(["", "", "", "*.py", "!*.py", "b/**", "*.{py,b}", "**/a"]),
    path=st.sampled_from([".", ".", "b", "b/c"]),
    output=st.sampled_from(["content", "content", "files", "count"]),
    context=st.sampled_from([0, 0, 1, 3]),
    ignore_case=st.booleans(),
    fixed_string=st.booleans(),
    limit=st.sampled_from([1, 7, 100]),
    offset=st.sampled_from([0, 0, 1, 5]),
    type=st.sampled_from(["", "", "", "py", "make", "r"]),
)
def test_they_agree_on_odd_trees(root, files, pattern, **options):
    fill(root, {"b/c/z": b"ab\n", **{name: ODD.get(key, key) for name, key in files.items()}})
    if options["path"] == "b/c":  # with rules in between ripgrep is not asked
        (root / "b/.gitignore").unlink()
    # A dot matches the "\r" in ripgrep, and one byte that is no UTF-8 here: known limits.
    pattern = "ab" if pattern == "." and not options["fixed_string"] else pattern
    (first, by_ripgrep), (second, by_python) = answers(root, pattern=pattern, **options)
    assert (first, second) == ("ripgrep", "python")
    assert by_ripgrep == by_python


@pytest.mark.contract("MA-54")
@pytest.mark.parametrize("output", ["content", "files", "count"])
def test_a_nul_far_behind_ends_a_file_for_both(root, output):
    # Where exactly depends on what else ripgrep has read, so nothing to find is near it.
    filler = b"0" * 49 + b"\n"
    fill(root, {"a": b"ab\n" + filler * 9_000 + b"\0\nab\n", "b": filler * 9_000 + b"\0\nab\n"})
    (_, by_ripgrep), (_, by_python) = answers(root, pattern="ab", output=output)
    assert by_ripgrep == by_python
    assert by_python[2]["count"] == (output != "count")


@pytest.mark.contract("MA-47")
@pytest.mark.timeout(60)
def test_they_agree_on_a_tree_that_is_searched_by_many_processes(root, monkeypatch):
    monkeypatch.setattr("nanocoder_tool_grep.workers.count_workers", lambda: 2)
    files = {f"{n % 7}/{n % 3}/f{n}.txt": f"line {n}\nfoo {n % 11}\nend\n" for n in range(1_500)}
    # On both sides of where one piece ends and the next begins, and in letters of no usual case.
    files["8/seam"] = "x" * 65_533 + "foo 7\n"
    files["8/odd"] = "x" * 65_530 + "\n\u212aelvi\u017f\n" + "KELVI\u017f kelvis\n"
    files |= {"6/\udcff": "foo 7\n", r"6/\xfe": "foo 7\n", "7/big": "x\n" * 90_000 + "foo 7\n"}
    fill(root, files)
    for options in (
        {"pattern": "foo 7"},
        {"pattern": r"fo+ \d$", "limit": 900},
        {"pattern": "FOO 7", "ignore_case": True, "context": 1},
        {"pattern": "kelvis", "ignore_case": True},
        {"pattern": "kelvis|foo 7", "ignore_case": True, "output": "count", "limit": 900},
        {"pattern": "foo 7|end", "output": "count", "limit": 700, "offset": 600},
        {"pattern": "^line", "output": "files", "glob": "*7.txt"},
    ):
        (_, by_ripgrep), (_, by_python) = answers(root, **options)
        assert by_ripgrep == by_python


@pytest.mark.parametrize("letters", ["\u212aelvis", "kelvi\u017f", "KELVIS", "kelvi", "\u017f"])
def test_they_agree_on_letters_that_stand_for_others_in_any_case(root, letters):
    fill(root, {"a": f"\u2014 one {letters}\n", "b": f"{letters} kelvis\n", "c": "\u212a\n"})
    (_, by_ripgrep), (_, by_python) = answers(root, pattern="kelvis", ignore_case=True)
    assert by_ripgrep == by_python
    assert by_python[2]["count"] == (1 if letters in {"kelvi", "\u017f"} else 2)


@pytest.mark.contract("MA-47")
@pytest.mark.parametrize(
    "pattern",
    [r"foo$", "^$", r"a\.b", r"\bfoo\b", "fo+", "(?i)FOO", r"[[:alpha:]]{3}", r"\w+$", "."],
)
def test_they_agree_on_windows_line_ends_too(root, pattern):
    fill(root, {"a": "foo\r\n\r\nbar foo\r\n", "b": "a.b foo", "c": "", "d": "\n\n"})
    (_, by_ripgrep), (_, by_python) = answers(root, pattern=pattern)
    assert by_ripgrep == by_python


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("needle", ["needle"]),
        (r"needle_\w+_now", ["needle_"]),
        ("colou?r", ["colo"]),
        (r"a+bc\.def", ["bc.def"]),
        (r"\bword\b", ["word"]),
        ("x*", []),
        ("abc*", ["ab"]),
        (r"abc\*d", ["abc*d"]),
        (r"a\\nb", ["a\\nb"]),
        (r"a\nb", []),
        ("a|b", ["a", "b"]),
        ("one|t(wo|en)x|", []),
        ("(one|two)_three", ["_three"]),
        ("(first|second)_x", ["first", "second"]),
        ("(?:abc)+d", ["abc"]),
        ("(abc)?", []),
        ("(abc){0,2}de", ["de"]),
        ("ab{2}c", ["ab"]),
        ("a{e<=1}bc", []),
        ("a{bc", []),
        ("(?i)abc", []),
        ("(?=abc)", []),
        ("[]x]abc[[:alpha:]a]d", ["abc"]),
        ("[a[b]c]def", []),
        ("[abc", []),
        ("(abc", []),
        ("abc)", []),
        ("a.bc", ["bc"]),
        ("^ab$", ["ab"]),
        (r"\x41bc", []),
        ("é+é", ["é"]),
        ("a+?b*?cd", ["cd"]),
        ("(" * 50 + "abc" + ")" * 50, []),
        ("", []),
    ],
)
def test_what_every_match_has_is_known_beforehand(pattern, expected):
    assert list(find_literals(pattern)) == expected


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["Handler"], ["handler"]),
        (["Bookshelf"], ["bookshelf"]),
        (["naïve", "x"], ["na", "x"]),
        (["né", "é"], []),
    ],
)
def test_letters_beyond_ascii_are_not_relied_on_in_any_case(texts, expected):
    assert list(fold_case(tuple(texts))) == expected
