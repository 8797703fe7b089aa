"""Random edits of random files: never a wrong place, never another byte.

What an edit should do is worked out here in another, slower way.
"""

import re
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nanocoder import ToolContext, ToolError, Workspace
from nanocoder_tool_edit import edit_file

WORDS = st.sampled_from(["a", "b", "ab", "if x:", "return a", "}", "\u00e9", "\U0001f600", ""])
INDENTS = st.sampled_from(["", "  ", "    ", "\t", "\t\t", " \t"])
LINES = st.lists(
    st.tuples(INDENTS, WORDS, st.sampled_from(["", "", " ", "\t"])).map("".join), max_size=20
)
# An empty text deletes lines, and blanks may be those that a line has already.
NEW_TEXTS = LINES.map("\n".join).map(lambda text: text if text[:1].strip() else f"n{text}")
NEWLINES = st.sampled_from(["\n", "\r\n", "\r", "mixed"])
ENCODINGS = st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"])
CASES = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)
# 10,000 cases take minutes.
pytestmark = pytest.mark.timeout(3_600)


@pytest.fixture
def ctx(tmp_path):
    with Workspace(tmp_path) as workspace:
        yield ToolContext(
            session_id="s", message_id="c1", workspace=workspace, working_directory=tmp_path
        )


class File:
    """A file as its text and, behind each line, the end that it has."""

    def __init__(self, draw):
        self.lines = draw(LINES)
        newline = draw(NEWLINES)
        ends = st.sampled_from(["\n", "\r\n"]) if newline == "mixed" else st.just(newline)
        self.ends = [draw(ends) for _ in self.lines]
        if self.lines and draw(st.booleans()):
            self.ends[-1] = ""
        self.encoding = draw(ENCODINGS)

    @property
    def text(self):
        """The text with newline characters."""
        return "".join(
            line + "\n" * bool(end) for line, end in zip(self.lines, self.ends, strict=True)
        )

    @property
    def data(self):
        """The bytes."""
        return "".join(map("".join, zip(self.lines, self.ends, strict=True))).encode(self.encoding)


def text_of(data, encoding):
    return re.sub("\r\n|\r", "\n", data.decode(encoding))


def run(ctx, **arguments):
    return edit_file.invoke(ctx, edit_file.signature.check({"path": "f", **arguments}))


def draw_old(draw, text):
    """Draw a part of *text*, as it is or with other white space, or something else."""
    start = draw(st.integers(0, len(text)))
    old = text[start : draw(st.integers(start, min(len(text), start + 30)))]
    change = draw(st.sampled_from(["none", "none", "indent", "trim", "blank", "other"]))
    if change == "indent":
        return "\n".join(f"  {line}" if line.strip() else line for line in old.split("\n"))
    if change == "trim":
        return "\n".join(line.rstrip() for line in old.split("\n"))
    if change == "blank":
        return old.replace("\n", "\n\n")
    return draw(LINES.map("\n".join)) if change == "other" else old


def places(text, old):
    """Return every position of *old*, those that overlap included."""
    return [at for at in range(len(text)) if text.startswith(old, at)]


def runs_like(lines, old):
    """Yield the first and last line of each run with the words of *old*, white space apart."""
    sought = [line.split() for line in old.split("\n")]
    while sought and not sought[-1]:  # such lines may go, too, where they are
        sought.pop()
    blank = len(old.split("\n")) - len(sought)
    early = next((n for n, words in enumerate(sought) if words), 0)
    sought = [words for words in sought if words]
    filled = [(number, line.split()) for number, line in enumerate(lines) if line.strip()]
    for at in range(len(filled) - len(sought) + 1):
        window = filled[at : at + len(sought)]
        if [words for _, words in window] == sought:
            for first in range(window[0][0] - early, window[0][0] + 1):
                for last in range(window[-1][0], window[-1][0] + blank + 1):
                    around = [
                        *lines[max(first, 0) : window[0][0]],
                        *lines[window[-1][0] + 1 : last + 1],
                    ]
                    if not any(map(str.strip, around)):
                        yield max(first, 0), last


def same_around(before, after, first, last, *, ends_line):
    """Return True if all that stands before line *first* and behind line *last* is as it was.

    The end of line *last* stays, too, unless it is one of those that were to go.
    """
    lines = before.split("\n")
    head = "".join(f"{line}\n" for line in lines[:first])
    tail = "\n".join(lines[last + 1 :])
    if last + 1 < len(lines) and not ends_line:
        tail = "\n" + tail
    return after.startswith(head) and after[len(head) :].endswith(tail)


@pytest.mark.contract("MA-35")
@pytest.mark.contract("MA-38")
@CASES
@given(data=st.data())
def test_an_edit_is_made_in_the_right_place_or_not_at_all(ctx, tmp_path, data):
    file = File(data.draw)
    path = tmp_path / "f"
    path.write_bytes(file.data)
    text = text_of(file.data, file.encoding)
    old, new = draw_old(data.draw, text), data.draw(NEW_TEXTS)
    replace_all = data.draw(st.booleans())
    there = places(text, old) if old else []
    try:
        metadata = run(ctx, old_string=old, new_string=new, replace_all=replace_all).metadata
    except ToolError as error:
        assert path.read_bytes() == file.data
        if error.error_class in {"several_matches", "text_not_found"}:
            assert len(there) != 1
        return
    after = text_of(path.read_bytes(), file.encoding)
    if not old:
        assert after.startswith(text)
        assert after[len(text) :].strip("\n") == new.strip("\n")
    elif metadata["strategy"] == "exact":
        assert len(there) == 1 or replace_all
        assert after == text.replace(old, new)
    else:
        assert not there
        if metadata["strategy"] != "fuzzy_anchor" and metadata["replacements"] == 1:
            like = runs_like(text.split("\n"), old)
            assert any(
                same_around(text, after, *lines, ends_line=old.endswith("\n")) for lines in like
            )


@pytest.mark.contract("MA-38")
@CASES
@given(data=st.data())
def test_the_bytes_around_an_edit_stay(ctx, tmp_path, data):
    head, tail = File(data.draw), File(data.draw)
    coding = data.draw(st.sampled_from(["utf-8", "utf-16-le", "cp1252"]))
    mark = "\ufeff" if coding == "utf-16-le" else ""
    raw = [
        "".join(map("".join, zip(file.lines, file.ends, strict=True))).replace("\U0001f600", "x")
        for file in (head, tail)
    ]
    before, after = (text.encode(coding) for text in (mark + raw[0], raw[1]))
    (tmp_path / "f").write_bytes(before + "<old>".encode(coding) + after)
    run(ctx, old_string="<old>", new_string="<new>")
    assert (tmp_path / "f").read_bytes() == before + "<new>".encode(coding) + after


@CASES
@given(data=st.data())
def test_several_edits_are_what_one_after_the_other_would_be(ctx, tmp_path, data):
    file = File(data.draw)
    (tmp_path / "f").write_bytes(file.data)
    expected = text_of(file.data, file.encoding)
    edits = []
    for _ in range(data.draw(st.integers(1, 6))):
        start = data.draw(st.integers(0, len(expected)))
        old = expected[start : data.draw(st.integers(start, min(len(expected), start + 12)))]
        new = data.draw(NEW_TEXTS)
        if old and old != new and len(places(expected, old)) == 1:
            edits.append({"old_string": old, "new_string": new})
            expected = expected.replace(old, new)
    if not edits or expected == text_of(file.data, file.encoding):
        return
    metadata = run(ctx, edits=edits).metadata
    after = (tmp_path / "f").read_bytes()
    assert text_of(after, file.encoding) == expected
    assert metadata["size"] == len(after)
    assert patched(text_of(file.data, file.encoding), metadata["diff"]) == expected


def patched(text, diff):
    """Apply a unified diff, as `patch` would."""
    lines = re.split("(?<=\n)", text)
    lines = lines[:-1] if not lines[-1] else lines
    result, at = [], 0
    body = diff.split("\n")[2:]
    for row, after in pairwise([*body, ""]):
        if row.startswith("@@"):
            row_numbers = re.match(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))?", row).groups()
            start = int(row_numbers[0]) - (row_numbers[1] != "0")
            result += lines[at:start]
            assert len(result) == int(row_numbers[2]) - (row_numbers[3] != "0")
            at = start
            continue
        if row.startswith("\\"):
            continue
        line = row[1:] + ("" if after.startswith("\\") else "\n")
        if row.startswith("+"):
            result.append(line)
            continue
        assert lines[at] == line, (lines[at], line)
        at += 1
        if row.startswith(" "):
            result.append(line)
    return "".join(result + lines[at:])
