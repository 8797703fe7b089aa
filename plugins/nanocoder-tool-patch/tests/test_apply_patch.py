"""What apply_patch does and answers."""

import json
from difflib import unified_diff
from pathlib import Path

import nanocoder_tool_patch
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from nanocoder import (
    ApprovalAnswer,
    Cancelled,
    SessionInfo,
    ToolCall,
    ToolContext,
    ToolError,
    Workspace,
    named_paths,
)
from nanocoder_kit_files.diff import unified
from nanocoder_kit_files.text import OBJECTIONS, Objections
from nanocoder_testing.playing import called, opened
from nanocoder_tool_patch import apply_patch, nanocoder_render
from nanocoder_tool_patch.parse import parse

CODE = """\
class First:
    def start(self):
        return 1

    def stop(self):
        return 0


class Second:
    def start(self):
        return 1
"""


@pytest.fixture
def ctx(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (root / "m.py").write_text(CODE)
    (root / "old.txt").write_text("one\ntwo\n")
    with Workspace(root, backups=tmp_path / "backups") as workspace:
        yield ToolContext(
            session_id="s", message_id="c1", workspace=workspace, working_directory=root
        )


@pytest.fixture
def root(ctx):
    return ctx.working_directory


def agree(request):
    return ApprovalAnswer(request.id, request.digest, approved=True)


def apply(ctx, patch):
    return apply_patch.invoke(ctx, apply_patch.signature.check({"patch": patch}))


def error_of(ctx, patch):
    before = tree(ctx.working_directory)
    error, _ = apply_as_a_call(ctx, ctx.workspace, patch)
    assert error is not None
    assert tree(ctx.working_directory) == before
    return error


def tree(root):
    paths = sorted(root.rglob("*"))
    return {str(path): path.read_bytes() if path.is_file() else None for path in paths}


def envelope(*lines):
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def test_a_patch_adds_changes_renames_and_deletes(ctx, root):
    (root / "kept.sh").write_text("echo 1\n")
    (root / "kept.sh").chmod(0o755)
    result = apply(
        ctx,
        envelope(
            "*** Add File: docs/new.md",
            "+# New",
            "+",
            "+Text.",
            "*** Update File: m.py",
            "@@",
            "     def stop(self):",
            "-        return 0",
            "+        return -1",
            "+        # never",
            "*** Update File: kept.sh",
            "*** Move to: bin/run.sh",
            "@@",
            "-echo 1",
            "+echo 2",
            "*** Delete File: old.txt",
        ),
    )
    assert result.output == (
        "Patch applied: 4 files\n"
        "A docs/new.md (+3 -0)\n"
        "M m.py (+2 -1)\n"
        "R kept.sh -> bin/run.sh (+1 -1)\n"
        "D old.txt (+0 -2)"
    )
    assert (root / "docs/new.md").read_text() == "# New\n\nText.\n"
    assert (root / "m.py").read_text() == CODE.replace("return 0", "return -1\n        # never")
    assert (root / "bin/run.sh").read_text() == "echo 2\n"
    assert (root / "bin/run.sh").stat().st_mode & 0o777 == 0o755
    assert not (root / "old.txt").exists()
    assert not (root / "kept.sh").exists()
    metadata = result.metadata
    assert metadata["files_changed"] == ["docs/new.md", "m.py", "kept.sh", "bin/run.sh", "old.txt"]
    assert (metadata["added"], metadata["removed"]) == (6, 4)
    assert "rename to bin/run.sh" in metadata["diff"]


def test_a_unified_diff_does_the_same(ctx, root):
    result = apply(
        ctx,
        "diff --git a/m.py b/m.py\nindex 1..2 100644\n--- a/m.py\n+++ b/m.py\n"
        "@@ -5,2 +5,3 @@ class First:\n     def stop(self):\n-        return 0\n"
        "+        return -1\n+        # never\n"
        "diff --git a/old.txt b/old.txt\ndeleted file mode 100644\n--- a/old.txt\n+++ /dev/null\n"
        "@@ -1,2 +0,0 @@\n-one\n-two\n"
        "diff --git a/n.txt b/n.txt\nnew file mode 100644\n--- /dev/null\n+++ b/n.txt\n"
        "@@ -0,0 +1 @@\n+new\n\\ No newline at end of file\n"
        "-- \n2.39.2\n",
    )
    assert result.output.splitlines()[1:] == [
        "M m.py (+2 -1)",
        "D old.txt (+0 -2)",
        "A n.txt (+1 -0)",
    ]
    assert (root / "n.txt").read_bytes() == b"new"
    assert not (root / "old.txt").exists()


def test_gits_renames_are_renames(ctx, root):
    apply(
        ctx,
        "diff --git a/old.txt b/sub/new.txt\nsimilarity index 100%\nrename from old.txt\n"
        "rename to sub/new.txt\n"
        "diff --git a/m.py b/n.py\nsimilarity index 90%\nrename from m.py\nrename to n.py\n"
        "--- a/m.py\n+++ b/n.py\n@@ -9,1 +9,1 @@\n-class Second:\n+class Third:\n",
    )
    assert sorted(path.name for path in root.rglob("*.*")) == ["n.py", "new.txt"]
    assert "class Third:" in (root / "n.py").read_text()


def test_empty_files_come_and_go_without_a_hunk(ctx, root):
    (root / "empty.txt").touch()
    apply(
        ctx,
        """\
diff --git a/empty.txt b/empty.txt
deleted file mode 100644
index e69de29..0000000
diff --git a/m.py b/m.py
deleted file mode 100644
index 1..0
--- a/m.py
+++ /dev/null
@@ -1,6 +0,0 @@
{}
diff --git a/pkg/__init__.py b/pkg/__init__.py
new file mode 100644
index 0000000..e69de29
""".format("\n".join(f"-{line}" for line in (root / "m.py").read_text().splitlines())),
    )
    assert not (root / "empty.txt").exists()
    assert not (root / "m.py").exists()
    assert (root / "pkg/__init__.py").read_bytes() == b""


def test_wrong_numbers_and_a_fence_do_no_harm(ctx, root):
    apply(
        ctx,
        "```diff\n--- m.py\n+++ m.py\n@@ -100,7 +100,9 @@\n     def stop(self):\n"
        "-        return 0\n+        return 2\n\n\n class Second:\n```\n",
    )
    assert "return 2" in (root / "m.py").read_text()


def test_a_removed_line_may_look_like_a_header(ctx, root):
    (root / "q.sql").write_text("-- a/x\n++ b/x\nselect 1;\n")
    apply(ctx, "--- a/q.sql\n+++ b/q.sql\n@@ -1,3 +1,2 @@\n--- a/x\n+++ c\n-++ b/x\n select 1;\n")
    assert (root / "q.sql").read_text() == "++ c\nselect 1;\n"


def test_numbers_decide_between_exact_matches(ctx, root):
    apply(ctx, "--- a/m.py\n+++ b/m.py\n@@ -11 +11 @@\n-        return 1\n+        return 3\n")
    assert (root / "m.py").read_text().splitlines()[10] == "        return 3"


def test_an_anchor_says_behind_which_line_to_look(ctx, root):
    change = ("@@ class Second:", "     def start(self):", "-        return 1", "+        return 3")
    apply(ctx, envelope("*** Update File: m.py", *change))
    assert (root / "m.py").read_text().splitlines()[10] == "        return 3"


def test_the_end_of_the_file_ties_a_hunk_down(ctx, root):
    change = ("@@", "     def start(self):", "-        return 1", "*** End of File")
    apply(ctx, envelope("*** Update File: m.py", *change))
    assert (root / "m.py").read_text() == CODE.removesuffix("        return 1\n")


def test_lines_are_added_behind_an_anchor_or_at_the_end(ctx, root):
    first = ("@@     def stop(self):", "+        # stops")
    last = ("@@", "+# end", "*** End of File")
    apply(ctx, envelope("*** Update File: m.py", *first, *last))
    assert (root / "m.py").read_text() == (
        CODE.replace("def stop(self):\n", "def stop(self):\n        # stops\n") + "# end\n"
    )


def test_several_matches_are_refused_with_their_lines(ctx):
    error = error_of(ctx, envelope("*** Update File: m.py", "@@", "-        return 1", "+x"))
    assert error.error_class == "several_matches"
    assert error.data["lines"] == [3, 11]
    assert "at lines 3, 11" in str(error)


def test_white_space_at_line_ends_may_differ_and_stays_as_the_file_has_it(ctx, root):
    (root / "w.txt").write_text("a  \nb\t\nc\n")
    result = apply(ctx, envelope("*** Update File: w.txt", "@@", " a", " b", "-c ", "+d"))
    assert (root / "w.txt").read_text() == "a  \nb\t\nd\n"
    assert "white space or signs differ at line 1" in result.output


def test_a_text_that_is_not_there_is_explained(ctx):
    error = error_of(
        ctx,
        envelope("*** Update File: m.py", "@@", "     def stop(self):", "-        return 5", "+x"),
    )
    assert error.error_class == "text_not_found"
    assert "line 6 is '        return 0', and the patch says '        return 5'" in str(error)


def test_hunks_out_of_order_are_explained(ctx):
    error = error_of(
        ctx,
        envelope("*** Update File: m.py", "@@", "-class Second:", "+x", "@@", "-class First:"),
    )
    assert "is at line 1, before line 9; write hunks in the order of the file" in str(error)


# FS-026
def test_every_file_that_does_not_fit_is_named_and_none_is_changed(ctx):
    error = error_of(
        ctx,
        envelope(
            "*** Add File: fine.txt",
            "+x",
            "*** Add File: old.txt",
            "+x",
            "*** Delete File: missing.txt",
            "*** Update File: m.py",
            "@@",
            "-nothing like it",
        ),
    )
    assert str(error).startswith("nothing was changed\nold.txt: it exists")
    assert "missing.txt: " in str(error)
    assert "none of its old lines is in the file" in str(error)
    assert error.data["paths"] == ["old.txt", "missing.txt", "m.py"]


@pytest.mark.parametrize(
    ("patch", "reason"),
    [
        ("hello", "line 1 of the patch: it names no file"),
        ("@@ -1 +1 @@\n-a\n+b\n", "a hunk without '--- a/PATH'"),
        ("--- a/m.py\n+++ b/m.py\n", "no hunk for 'm.py'"),
        ("--- a/m.py\n+++ b/n.py\n@@ -1 +1 @@\n-a\n+b\n", "rename from m.py"),
        ("--- a/m.py\n+++ b/m.py\n@@ -1,2 +1,2 @@\nclass First:\n", "line 4 of the patch: 'class"),
        ('--- "a/m.py"\n+++ "b/m.py"\n@@ -1 +1 @@\n-a\n+b\n', "without quotes"),
        ("diff --git a/x b/x\nGIT binary patch\n", "binary patches"),
        ("diff --git a/x b/y\ndeleted file mode 100644\n", "is not a path"),
        ('diff --git "a/x" "b/x"\ndeleted file mode 100644\n', "is not a path"),
        ("diff --git a/x b/x\ndeleted file mode 100644\n", "x: there is no file 'x'"),
        (envelope("*** Update File: m.py"), "no hunk for 'm.py'"),
        (envelope("*** Update File: m.py", "@@", "*** End of File"), "a hunk without lines"),
        (envelope("*** Update File: m.py", "@@", " class First:"), "neither adds nor removes"),
        (envelope("*** Add File: n.py", "x"), "every line of a new file begins with '+'"),
        (envelope("*** Copy File: n.py"), "found '*** Copy File: n.py', expected"),
        (envelope("*** Delete File: m.py", "*** Update File: ./m.py", "-x"), "in the patch twice"),
        (
            envelope("*** Update File: m.py", "@@", "-class First:", "+class First:"),
            "nothing would",
        ),
        ("--- a/m.py\n+++ b/m.py\n@@ -99,0 +99 @@\n+x", "line 100, which is not there"),
        (envelope("*** Update File: m.py", "@@ nowhere", "+x"), "the anchor 'nowhere'"),
        (envelope("*** Update File: m.py", "*** Move to: old.txt"), "'old.txt' exists"),
    ],
)
def test_what_makes_no_sense_is_explained(ctx, patch, reason):
    assert reason in str(error_of(ctx, patch))


# PATH-060
@pytest.mark.parametrize("path", ["../x", "/etc/x", ".git/hooks/pre-commit", "out/x"])
@pytest.mark.parametrize("what", ["*** Add File: {}\n+x", "*** Update File: m.py\n*** Move to: {}"])
def test_nothing_outside_and_nothing_of_gits_is_touched(ctx, root, tmp_path, path, what):
    (root / "out").symlink_to(tmp_path)
    error = error_of(ctx, envelope(what.format(path)))
    assert error.error_class in {"path_outside_workspace", "protected_path"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["root"]


def test_links_are_neither_deleted_nor_renamed(ctx, root):
    (root / "link").symlink_to("old.txt")
    assert "it is a link" in str(error_of(ctx, envelope("*** Delete File: link")))


def test_a_deletion_that_does_not_know_the_whole_file_is_refused(ctx):
    error = error_of(ctx, "--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n")
    assert "more lines than the patch deletes" in str(error)


def test_a_file_that_is_not_text_can_be_deleted(ctx, root):
    (root / "x.bin").write_bytes(b"\0\1")
    assert apply(ctx, envelope("*** Delete File: x.bin")).output.endswith("D x.bin (+0 -0)")
    assert not (root / "x.bin").exists()


def half_way(last):
    return envelope(
        "*** Add File: made/deep/n.txt",
        "+n",
        "*** Update File: m.py",
        "@@",
        "-class First:",
        "+class Zeroth:",
        "*** Update File: old.txt",
        "*** Move to: other/new.txt",
        f"*** Delete File: {last}",
    )


class Interrupting(Workspace):
    """Does what a person or another program does while a patch is being written."""

    def __init__(self, root, then):
        super().__init__(root)
        self.then = then

    def recording(self, name, title, *, processes=False):
        view, rollback = super().recording(name, title, processes=processes)
        move = view.move

        def move_and_interrupt(source, target, *, replace=False):
            outcome = move(source, target, replace=replace)
            if target == "other/new.txt":
                self.then()
            return outcome

        view.move = move_and_interrupt
        return view, rollback


def apply_as_a_call(ctx, workspace, patch):
    """Apply as the core does, and take back what fails; return the error and what was restored."""
    ctx.workspace, rollback = workspace.recording("c1", "a patch")
    try:
        apply(ctx, patch)
    except ToolError as error:
        return error, rollback.restore()
    rollback.discard()
    return None, None


@pytest.mark.contract("CO-15")
def test_a_file_that_changes_meanwhile_puts_everything_back(ctx, root):
    (root / "z.txt").write_text("z\n")
    then = lambda: (root / "z.txt").write_text("changed\n")  # noqa: E731 - as short as it gets
    with Interrupting(root, then) as workspace:
        error, _ = apply_as_a_call(ctx, workspace, half_way("z.txt"))
    assert error.error_class == "stale_read"
    assert (root / "z.txt").read_text() == "changed\n"
    assert sorted(path.name for path in root.iterdir()) == ["m.py", "old.txt", "z.txt"]
    assert (root / "m.py").read_text() == CODE


@pytest.mark.contract("CO-15")
def test_an_interruption_puts_everything_back(ctx, root):
    (root / "z.txt").write_text("z\n")
    before = tree(root)
    with Interrupting(root, ctx.cancelled.set) as workspace:
        error, restored = apply_as_a_call(ctx, workspace, half_way("z.txt"))
    assert isinstance(error, Cancelled)
    assert restored.lost == ()
    assert tree(root) == before


def test_what_somebody_else_has_changed_stays_and_is_said(ctx, root):
    (root / "z.txt").write_text("z\n")

    def meddle():
        (root / "m.py").write_text("somebody else was here\n")
        ctx.cancelled.set()

    with Interrupting(root, meddle) as workspace:
        _, restored = apply_as_a_call(ctx, workspace, half_way("z.txt"))
    assert restored.lost == ("'m.py' has changed since and was left as it is",)
    assert (root / "m.py").read_text() == "somebody else was here\n"
    assert (root / "old.txt").read_text() == "one\ntwo\n"


@pytest.mark.contract("CO-15")
def test_a_session_takes_back_what_could_not_be_finished(root):
    (root / "folder").mkdir()
    (root / "folder/kept.txt").write_text("kept\n")
    before = tree(root)
    last = ("*** Add File: m.py/below", "+x")  # there is a file where a folder would have to be
    patch = envelope("*** Add File: folder/new.txt", "+new", "*** Delete File: old.txt", *last)
    with opened(root, plugins={"patch": nanocoder_tool_patch}, approve=agree) as (session, _):
        result, _ = called(session, "apply_patch", {"patch": patch})
    assert result.metadata["restored"] == ["folder/new.txt", "old.txt"]
    assert tree(root) == before


@pytest.mark.parametrize(
    "data", [b"\xef\xbb\xbfa\r\nb\r\nc", b"a\nb\r\nc\r\n", "a\nb\nü\n".encode("cp1252")]
)
def test_marks_line_ends_and_encoding_stay(ctx, root, data):
    (root / "f").write_bytes(data)
    apply(ctx, envelope("*** Update File: f", "@@", "-b", "+B"))
    assert (root / "f").read_bytes() == data.replace(b"b", b"B")


def test_a_person_sees_the_diffs_beforehand(ctx, root):
    session = SessionInfo(id="s", cwd=root)
    patch = envelope("*** Delete File: old.txt", "*** Add File: e", "*** Update File: m.py",
                     "*** Move to: n.py")  # fmt: skip
    call = ToolCall("c", "apply_patch", {"patch": patch})
    preview = nanocoder_render(call, None, session)
    assert preview.splitlines() == [
        "--- a/old.txt",
        "+++ /dev/null",
        "@@ -1,2 +0,0 @@",
        "-one",
        "-two",
        "add e (0 bytes)",
        "rename from m.py",
        "rename to n.py",
    ]
    broken = ToolCall("c", "apply_patch", {"patch": "nothing"})
    with pytest.raises(ToolError) as refused:
        nanocoder_render(broken, None, session)
    assert refused.value.error_class == "invalid_patch"
    assert nanocoder_render(ToolCall("c", "other", {}), None, session) is None


line = st.sampled_from(
    ["a", "b", "", "  c", "-- a/x", "++ b/x", "@@ -1 +1 @@", "*** End Patch", "\\"]
)
text = st.builds(
    lambda lines, end: "\n".join(lines) + end,
    st.lists(line, min_size=1, max_size=14),
    st.sampled_from(["\n", "\n", ""]),
).filter(lambda text: text.strip("\n"))


def difflib_diff(old, new, name):
    """Return what difflib makes of it, with the mark that it leaves out."""
    rows = unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), f"a/{name}", f"b/{name}"
    )
    return "".join(
        row if row.endswith("\n") else f"{row}\n\\ No newline at end of file\n" for row in rows
    )


@pytest.mark.timeout(120)
@given(old=text, new=text, crlf=st.booleans())
@example(old="a\na\na", new="a\na\n", crlf=False)
def test_the_diff_of_any_edit_applied_gives_the_edited_text(ctx, root, old, new, crlf):
    assume(old != new)
    newline = "\r\n" if crlf and "\n" in old else "\n"
    for diff in (unified(old, new, "f").text, difflib_diff(old, new, "f")):
        (root / "f").write_bytes(old.replace("\n", newline).encode())
        apply(ctx, diff)
        assert (root / "f").read_bytes().decode() == new.replace("\n", newline)


@pytest.mark.timeout(120)
@given(patch=st.lists(line | st.sampled_from(
    ["--- a/m.py", "+++ b/m.py", "@@", "*** Begin Patch", "*** Update File: m.py", "+x",
     " class First:", "-class First:", "*** Add File: n", "```", "rename from m.py", "rename to q"]
), max_size=9).map("\n".join).filter(bool))  # fmt: skip
def test_whatever_comes_is_applied_or_refused_with_nothing_changed(ctx, root, patch):
    for path in root.iterdir():
        path.unlink()
    (root / "m.py").write_text(CODE)
    before = tree(root)
    with Workspace(root) as workspace:
        error, _ = apply_as_a_call(ctx, workspace, patch)
    assert (tree(root) == before) == (error is not None)


def test_a_large_file_is_patched_quickly(ctx, root):
    big = "".join(f"line {number}\n" for number in range(200_000))
    (root / "big").write_text(big)
    apply(ctx, envelope("*** Update File: big", "@@", "-line 199999", "+end"))
    assert Path(root / "big").read_text() == big.replace("line 199999", "end")


@pytest.mark.parametrize(
    ("header", "path"),
    [
        ("--- a/b/x\n+++ b/b/x", "b/x"),
        ("--- b/x\n+++ b/x", "b/x"),
        ("--- a/x\n+++ a/x", "a/x"),
        ("---  a/x\n+++  a/x", "a/x"),
        ("--- a/ x\n+++ b/ x", "x"),
        ("--- /dev/null\n+++ b/x", "x"),
        ("---  /dev/null\n+++ b/x", "x"),
        ("--- a/x\t2026-01-01\n+++ b/x\t2026-01-02", "x"),
    ],
)
def test_paths_are_read_as_a_policy_reads_them(header, path):
    (section,) = parse(f"{header}\n@@ -1 +1 @@\n+a\n")
    assert section.path == path


def test_a_rename_goes_where_its_own_lines_say():
    (section,) = parse(
        "rename from a/x\nrename to c/y\n--- a/other\n+++ b/b/other\n@@ -1 +1 @@\n-a\n+b\n"
    )
    assert (section.path, section.target) == ("a/x", "c/y")


@pytest.mark.contract("A13")
@pytest.mark.parametrize("line", ["        # ... rest of the code ...", "    # ...", "// ..."])
def test_a_line_that_stands_for_code_that_is_left_out_is_not_added(ctx, line):
    error = error_of(ctx, envelope("*** Update File: m.py", "@@", "-        return 0", f"+{line}"))
    assert error.error_class == "placeholder"
    assert f"in 'm.py', {line.strip()!r} stands for code that is left out" in str(error)


@pytest.mark.contract("A14")
def test_a_file_that_no_longer_parses_is_told(ctx):
    patch = envelope("*** Update File: m.py", "@@", "-        return 0", "+\treturn 0")
    output = apply(ctx, patch).output
    assert "[this change broke m.py: Python 3." in output
    assert "cannot parse line 6: " in output


def update(*lines, name="a.txt"):
    return envelope(f"*** Update File: {name}", *lines)


MESSY = {
    "two sections": envelope(
        *("*** Update File: a.txt", "@@", "-two", "+2"),
        *("*** Update File: a.txt", "@@", "-one", "+1"),
    ),
    "blanks around markers": "*** Begin Patch \n  *** Update File: a.txt \n@@\n-one\n+1\n-two\n+2\n"
    " *** End Patch\n",
    "blank lines between": update("", "@@", "-one", "+1", "", "@@", "-two", "+2", ""),
    "blank lines in a diff": "--- a/a.txt\n+++ b/a.txt\n\n@@ -1 +1 @@\n-one\n+1\n\n"
    "@@ -2 +2 @@\n-two\n+2\n",
    "here document": "<<'EOF'\n" + update("@@", "-one", "+1", "-two", "+2") + "\nEOF\n",
    "command": "apply_patch <<PATCH\n" + update("@@", "-one", "+1", "-two", "+2") + "\nPATCH",
    "pipe": "cat <<'EOF' | apply_patch\n" + update("@@", "-one", "+1", "-two", "+2") + "\nEOF\n",
    "shell": "bash -lc \"apply_patch <<'EOF'\n"
    + update("@@", "-one", "+1", "-two", "+2")
    + '\nEOF"\n',
    "fence": "```diff\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n-two\n+1\n+2\n```",
    "prose": "Here it is:\n\n```\n" + update("@@", "-one", "+1", "-two", "+2") + "\n```\nDone.",
    "fence inside": update("```diff", "@@", "-one", "+1", "-two", "+2", "```"),
    "diff inside": envelope("--- a/a.txt", "+++ b/a.txt", "@@", "-one", "+1", "-two", "+2"),
    "headers inside": update("--- a/a.txt", "+++ b/a.txt", "@@", "-one", "+1", "-two", "+2"),
}


@pytest.mark.parametrize("kind", MESSY)
def test_a_patch_is_read_as_it_was_meant(ctx, root, kind):
    (root / "a.txt").write_text("one\ntwo\n")
    apply(ctx, MESSY[kind])
    assert (root / "a.txt").read_text() == "1\n2\n"


@pytest.mark.parametrize("marker", ["*** End Patch", "*** Update File: x", "*** Delete File: x"])
def test_context_that_looks_like_an_instruction_is_context(ctx, root, marker):
    (root / "a.txt").write_text(f"{marker}\none\ntwo\n")
    apply(ctx, update("@@", f" {marker}", "-one", "+1", " two"))
    assert (root / "a.txt").read_text() == f"{marker}\n1\ntwo\n"


def test_a_policy_sees_the_path_of_an_instruction_behind_blanks():
    patch = "*** Begin Patch\n \t *** Update File: key.pem\n@@\n-a\n+b\n*** End Patch"
    assert {*named_paths({"patch": patch})} == {"key.pem"} == {each.path for each in parse(patch)}
    odd = patch.replace(" \t ", "\xa0")
    assert named_paths({"patch": odd}) == []
    with pytest.raises(ToolError):
        parse(odd)


@pytest.mark.parametrize(
    ("text", "old", "expected"),
    [
        ("say \u201chi\u201d\none\n", ' say "hi"', "say \u201chi\u201d\n1\n"),
        ("1\u20132\xa0x\none\n", " 1-2 x", "1\u20132\xa0x\n1\n"),
        ("it's - x\none\n", " it\u2019s \u2014 x", "it's - x\n1\n"),
    ],
)
def test_signs_that_look_alike_are_found_and_those_of_the_file_stay(ctx, root, text, old, expected):
    (root / "a.txt").write_text(text)
    output = apply(ctx, update("@@", old, "-one", "+1")).output
    assert (root / "a.txt").read_text() == expected
    assert "white space or signs differ at line 1" in output


@pytest.mark.parametrize("anchor", ["def start(self):", "class Nowhere:", "def start(self): @@"])
def test_an_anchor_that_is_not_unique_does_no_harm_where_the_text_is(ctx, root, anchor):
    apply(ctx, update(f"@@ {anchor}", "-        return 0", "+        return 9", name="m.py"))
    assert (root / "m.py").read_text() == CODE.replace("return 0", "return 9")


def test_an_anchor_and_a_text_that_both_occur_twice_are_refused(ctx):
    patch = update("@@ def start(self):", "-        return 1", "+        return 9", name="m.py")
    assert error_of(ctx, patch).error_class == "several_matches"


def test_lines_without_context_come_at_the_end_and_that_is_said(ctx, root):
    output = apply(ctx, update("@@", "+three", name="old.txt")).output
    assert (root / "old.txt").read_text() == "one\ntwo\nthree\n"
    assert "[old.txt: lines that came without context were added at the end]" in output


def test_the_mode_of_a_file_is_set(ctx, root):
    result = apply(
        ctx,
        "diff --git a/run.sh b/run.sh\nnew file mode 100755\n--- /dev/null\n+++ b/run.sh\n"
        "@@ -0,0 +1 @@\n+echo\n"
        "diff --git a/m.py b/m.py\nold mode 100644\nnew mode 100755\n"
        "diff --git a/e b/e\nnew file mode 100644\nindex 0..e\n",
    )
    modes = {name: (root / name).stat().st_mode & 0o777 for name in ("run.sh", "m.py", "e")}
    assert modes["run.sh"] == modes["m.py"] == 0o755
    assert modes["e"] & 0o111 == 0
    assert "A run.sh (+1 -0, mode 755)\nM m.py (+0 -0, mode 755)\nA e (+0 -0)" in result.output
    assert (root / "m.py").read_text() == CODE


def test_a_notebook_is_patched_by_its_cells_or_by_its_json(ctx, root):
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": ["a\n", "b"]}
    data = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    (root / "n.ipynb").write_text(json.dumps(data, indent=1))
    apply(ctx, update("@@ [cell 1: code]", " a", "-b", '+"c"', name="n.ipynb"))
    apply(ctx, update('-    "a\\n",', '+    "z\\n",', name="n.ipynb"))
    [patched] = json.loads((root / "n.ipynb").read_text())["cells"]
    assert patched["source"] == ["z\n", '"c"']


def test_a_patch_that_breaks_a_valid_file_is_applied_when_it_is_sent_again(ctx, root):
    ctx.session = SessionInfo("s", root, model="m/large")
    objections = Objections()
    ctx.resource = {OBJECTIONS: objections}.__getitem__
    (root / "c.json").write_text('{"a": 1}\n')
    patch = update('-{"a": 1}', '+{"a": 1', name="c.json")
    with pytest.raises(ToolError, match="no longer be valid JSON"):
        apply(ctx, patch)
    assert (root / "c.json").read_text() == '{"a": 1}\n'
    assert "[c.json is not valid JSON" in apply(ctx, patch).output


def test_the_same_file_is_not_deleted_and_changed(ctx):
    patch = envelope("*** Update File: m.py", "-class First:", "+class A:", "*** Delete File: m.py")
    assert "in the patch twice" in str(error_of(ctx, patch))


ADDITION = envelope("*** Add File: sub/new.txt", "+it's new")


def yes(request):
    return ApprovalAnswer(request.id, request.digest, approved=True)


QUOTED = ADDITION.replace("'", "'\\''")


@pytest.mark.parametrize(
    "command",
    [
        f"apply_patch <<'EOF'\n{ADDITION}\nEOF\n",
        f'applypatch <<"PATCH"\n{ADDITION}\nPATCH',
        f"cat <<'EOF' | apply_patch\n{ADDITION}\nEOF",
        f"bash -lc \"apply_patch <<'EOF'\n{ADDITION}\nEOF\"",
        f"apply_patch '{QUOTED}'",
        ["bash", "-lc", f"apply_patch <<'EOF'\n{ADDITION}\nEOF"],
        ["applypatch", ADDITION],
    ],
)
def test_a_command_that_does_nothing_but_apply_a_patch_is_this_tool(tmp_path, command):
    with opened(tmp_path, plugins={"tool-patch": nanocoder_tool_patch}, approve=yes) as (it, _):
        result, _ = called(it, "bash", {"command": command})
    assert not result.is_error, result.output
    assert (tmp_path / "sub/new.txt").read_text() == "it's new\n"


@pytest.mark.parametrize(
    "command",
    [
        f"cd sub && apply_patch <<'EOF'\n{ADDITION}\nEOF\n",
        f"apply_patch <<'EOF'\n{ADDITION}\nEOF\ncat sub/new.txt",
        f"cat <<'EOF'\n{ADDITION}\nEOF",
        "apply_patch < p.txt",
        f'apply_patch "{ADDITION.replace("new", "$HOME")}"',
        f"apply_patch '{ADDITION}",
        f"python -c \"apply_patch '{QUOTED}'\"",
    ],
)
def test_a_command_that_does_more_stays_a_command(tmp_path, command):
    with opened(tmp_path, plugins={"tool-patch": nanocoder_tool_patch}, approve=yes) as (it, _):
        result, _ = called(it, "bash", {"command": command})
    assert result.error_class == "unknown_tool"
