"""Grep finds the lines that match in the text that the tools which read show."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nanocoder import ToolContext, Workspace, WorkspaceError
from nanocoder_kit_files.text import decode
from nanocoder_tool_grep import grep

atoms = st.sampled_from(
    [*"abB _0", ".", r"\d", r"\w", "[ab]", "[a-c]", "é", r"\.", "ab", "[^a]", r"\S"]
)
repeated = st.builds(lambda atom, times: atom + times, atoms, st.sampled_from(["", "", "*", "+?"]))
plain = st.lists(repeated | st.just(r"\b"), min_size=1, max_size=4).map("".join)
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
texts = st.builds(
    lambda parts, newline, end, encoding: (newline.join(parts) + newline * end).encode(encoding),
    lines,
    st.sampled_from(["\n", "\n", "\r\n", "\r"]),
    st.booleans(),
    st.sampled_from(["utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1"]),
)
# By name, so that a case that fails can be read.
ODD = {
    "empty": b"",
    "newline": b"\n",
    "returns": b"ab\rb\rab\r",
    "latin": b"ab \xff\xfe ab\n\xe9\n_0\n",
    "long": b"ab" * 300 + "\u00e9".encode() * 300 + b" ab\nab\n",
    "binary": b"many\0ab\n",
    "boundary": b"0" * 65_530 + b"\nab\nab\n",
}
contents = texts | st.sampled_from(sorted(ODD))
names = st.sampled_from(["a", "a.b", "a-b", "B", "b/a", "b/c/a", "b.a", "é", ".hidden", "[x] {y}"])


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("tree")


def fill(root, files):
    for path in sorted(root.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)


def expected(files, pattern, *, ignore_case):
    """Yield path and number of each line that matches, in order."""
    matches = re.compile(pattern, re.IGNORECASE if ignore_case else 0).search
    for name in sorted(files, key=lambda name: name.split("/")):
        try:
            text = decode(name, files[name]).text
        except WorkspaceError:
            continue
        for number, line in enumerate(text.removesuffix("\n").split("\n") if text else [], 1):
            if matches(line):
                yield name, number


@pytest.mark.contract("MA-47")
@pytest.mark.contract("NT-39")
@pytest.mark.timeout(120)
@given(
    files=st.dictionaries(names, contents, min_size=1, max_size=4),
    pattern=patterns,
    ignore_case=st.booleans(),
)
def test_the_lines_that_match_are_found(root, tmp_path_factory, files, pattern, ignore_case):
    files = {name: ODD.get(data, data) for name, data in files.items()}
    # Some expressions match the "\r" before the end of a line: a known limit.
    if "\\S" in pattern or "[^" in pattern:
        files = {name: data.replace(b"\r\n", b"\n") for name, data in files.items()}
    fill(root, files)
    wanted = [*expected(files, pattern, ignore_case=ignore_case)]
    with Workspace(root) as workspace:
        ctx = ToolContext(
            session_id="s",
            message_id="c1",
            workspace=workspace,
            working_directory=root,
            make_tmp=lambda: tmp_path_factory.mktemp("call"),
        )
        arguments = {"pattern": pattern, "ignore_case": ignore_case, "limit": 1_000}
        result = grep.invoke(ctx, grep.signature.check(arguments))
    found = [(line["path"], line["line"]) for line in result.data["lines"]]
    assert found == wanted
