"""What write_file does and answers."""

import json
from pathlib import Path

import nanocoder_tool_write
import pytest
from nanocoder import (
    ApprovalAnswer,
    Effect,
    SessionInfo,
    ToolCall,
    ToolContext,
    ToolError,
    Workspace,
    hookimpl,
    tool,
)
from nanocoder_kit_files.text import read_text_file
from nanocoder_testing import play
from nanocoder_tool_write import (
    Settings,
    nanocoder_render,
    nanocoder_resources,
    write_file,
)

CELL = {"cell_type": "markdown", "metadata": {}, "source": ["text"]}
CODE = "def one():\n    return 1\n\n\nclass Two:\n    pass\n"


@pytest.fixture
def ctx(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    opened = {}
    session = SessionInfo("s", root, model="local/small")
    [resource] = nanocoder_resources()

    def resource_of(name):
        assert name == resource.name
        return opened.setdefault(name, resource.open(session, Settings()))

    with Workspace(root, backups=tmp_path / "backups") as workspace:
        yield ToolContext(
            session_id="s",
            message_id="c1",
            workspace=workspace,
            working_directory=root,
            session=session,
            resource=resource_of,
        )


@pytest.fixture
def root(ctx):
    return ctx.working_directory


def write(ctx, path, content):
    arguments = write_file.signature.check({"path": path, "content": content})
    return write_file.invoke(ctx, arguments)


def read(ctx, path, text):
    (ctx.working_directory / path).write_text(text)
    ctx.workspace.read_text(path)


def error_of(ctx, path, content):
    with pytest.raises(ToolError) as caught:
        write(ctx, path, content)
    return caught.value


@pytest.mark.contract("NT-16")
@pytest.mark.contract("NT-19")
@pytest.mark.contract("NT-21")
@pytest.mark.contract("MA-18")
@pytest.mark.contract("NA-34")
@pytest.mark.contract("NA-35")
@pytest.mark.contract("NA-36")
def test_a_new_file_is_created_with_its_directories(ctx, root):
    result = write(ctx, "a/b/c.txt", "é\n")
    assert result.output == "File created: a/b/c.txt (3 bytes)"
    assert (root / "a/b/c.txt").read_bytes() == b"\xc3\xa9\n"
    assert result.metadata == {
        "path": "a/b/c.txt",
        "size": 3,
        "lines": 1,
        "created": True,
        "added": 1,
        "removed": 0,
        "diff": "",
        "backup": "",
        "encoding": "utf-8",
    }


@pytest.mark.contract("NT-18")
def test_a_changed_file_is_answered_with_its_size_and_a_person_gets_the_diff(ctx, root):
    read(ctx, "a.txt", "one\ntwo\n")
    result = write(ctx, "a.txt", "one\n2\n")
    assert result.output == "File updated: a.txt (+1 -1 lines)"
    assert result.metadata["diff"] == ("--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2")
    assert (result.metadata["added"], result.metadata["removed"]) == (1, 1)


def test_an_empty_file_is_updated_not_created(ctx, root):
    (root / "empty").touch()
    filled = write(ctx, "empty", "x\n")
    assert filled.output == "File updated: empty (+1 -0 lines)"
    assert filled.metadata["diff"].startswith("--- a/empty\n+++ b/empty\n")
    assert write(ctx, "empty", "").metadata["diff"].startswith("--- a/empty\n+++ b/empty\n")


@pytest.mark.contract("NT-17")
def test_outside_the_workspace_nothing_is_written(ctx, root):
    (root / "link").symlink_to("/etc/passwd")
    for path in ("../x", "/tmp/x", "link", f"{root}-evil"):
        assert error_of(ctx, path, "x").error_class == "path_outside_workspace"


@pytest.mark.contract("NT-22")
def test_a_directory_and_a_file_in_the_way_are_named(ctx, root):
    (root / "dir").mkdir()
    (root / "file").touch()
    assert error_of(ctx, "dir", "x").error_class == "is_a_directory"
    assert error_of(ctx, "file/x", "x").error_class == "not_a_directory"


@pytest.mark.contract("MA-16")
def test_the_mode_stays(ctx, root):
    read(ctx, "run.sh", "a\n")
    (root / "run.sh").chmod(0o750)
    write(ctx, "run.sh", "b\n")
    assert (root / "run.sh").stat().st_mode & 0o777 == 0o750
    assert [path.name for path in root.iterdir()] == ["run.sh"]


@pytest.mark.contract("MA-17")
def test_the_old_content_is_kept(ctx, root):
    read(ctx, "a.txt", "old\n")
    backup = write(ctx, "a.txt", "new\n").metadata["backup"]
    assert Path(backup).read_text() == "old\n"


@pytest.mark.contract("MA-19")
def test_binary_content_is_refused(ctx, root):
    error = error_of(ctx, "a.txt", "ab\0")
    assert str(error) == "content has a NUL at character 3; write_file writes text only"
    assert not (root / "a.txt").exists()


def test_half_a_character_is_refused_with_its_line(ctx, root):
    error = error_of(ctx, "a.txt", "a\nb\ud83d\n")
    assert "'\\ud83d', in line 2" in str(error)
    assert not (root / "a.txt").exists()


def test_equal_content_is_not_written(ctx, root):
    path = root / "a.txt"
    path.write_bytes(b"a\r\n")
    before = path.stat()
    for content in ("a\n", "a\r\n"):
        result = write(ctx, "a.txt", content)
        assert result.output.startswith("File unchanged: a.txt")
        assert "path" not in result.metadata  # the report lists it as a changed file
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize(
    ("old", "content", "new"),
    [
        (b"a\r\nb\r\n", "a\nc\n", b"a\r\nc\r\n"),
        (b"a\nb\n", "a\r\nc\r\n", b"a\r\nc\r\n"),
        (b"\xef\xbb\xbfa\n", "c\n", b"\xef\xbb\xbfc\n"),
        ("a".encode("utf-16"), "ü", "ü".encode("utf-16")),
        (b"caf\xe9", "th\xe9", b"th\xe9"),
    ],
)
def test_encoding_and_line_ends_of_the_old_file_stay(ctx, root, old, content, new):
    (root / "f").write_bytes(old)
    read_text_file(ctx.workspace, "f")
    write(ctx, "f", content)
    assert (root / "f").read_bytes() == new


def test_a_character_that_the_old_encoding_lacks_makes_the_file_utf_8(ctx, root):
    (root / "f").write_bytes(b"caf\xe9")
    read_text_file(ctx.workspace, "f")
    assert write(ctx, "f", "語").output.endswith("[the file was cp1252 and is now utf-8]")
    assert (root / "f").read_text() == "語"


def test_a_binary_file_can_be_replaced_by_text(ctx, root):
    (root / "f").write_bytes(b"\0\1")
    assert write(ctx, "f", "text\n").output == "File updated: f (5 bytes; the old file was binary)"


def test_a_file_that_changed_since_it_was_read_is_not_overwritten(ctx, root):
    (root / "a.txt").write_text("one\n")
    ctx.workspace.read_text("a.txt")
    (root / "a.txt").write_text("somebody else\n")
    assert error_of(ctx, "a.txt", "mine\n").error_class == "stale_read"
    assert (root / "a.txt").read_text() == "somebody else\n"


def test_a_rewrite_that_drops_definitions_is_refused_once(ctx, root):
    read(ctx, "m.py", CODE)
    error = error_of(ctx, "m.py", "x = 1\n")
    assert error.error_class == "lost_definitions"
    assert error.data == {"lost": ["def one", "class Two"]}
    assert str(error).endswith("If they are meant to go, send the same again.")
    assert error_of(ctx, "m.py", "y = 1\n").error_class == "lost_definitions", "another content"
    assert (root / "m.py").read_text() == CODE
    assert write(ctx, "m.py", "x = 1\n").output.startswith("File updated")


def test_a_small_model_has_to_read_the_file_again_before_definitions_go(ctx, root):
    ctx.session = SessionInfo("s", root, model="local/small", profile="small")
    read(ctx, "m.js", "function one() {}\nfunction two() {}\n")
    assert error_of(ctx, "m.js", "x = 1\n").error_class == "lost_definitions"
    for _ in range(3):
        assert error_of(ctx, "m.js", "x = 1\n").error_class == "not_read"
    ctx.workspace.read_text("m.js")
    assert write(ctx, "m.js", "x = 1\n").output.startswith("File updated")


def test_a_file_of_which_a_part_was_read_is_not_replaced(ctx, root):
    (root / "a.txt").write_text("x\n" * 50)
    version = ctx.workspace.digest_of("a.txt")
    ctx.workspace.note_read("a.txt", version, range(1, 6), 50)
    error = error_of(ctx, "a.txt", "y\n")
    assert "(50 lines, 100 bytes) and you have not read all of it" in str(error)
    ctx.workspace.note_read("a.txt", version, range(6, 51), 50)
    assert write(ctx, "a.txt", "y\n").output == "File updated: a.txt (+1 -50 lines)"


@pytest.mark.parametrize(
    ("name", "old", "new", "form"),
    [
        ("c.json", '{\n"a": 1}\n', '{"a": 1,}\n', "JSON: "),
        ("c.toml", "a = 1\nb = 2\n", "a = \n", "TOML: "),
        ("n.ipynb", '{\n"cells": []}\n', '{"a": 1}\n', "notebook: it has no list of cells"),
        ("n.ipynb", '{\n"cells": []}\n', "[cell 1: code]\nx\n", "notebook: "),
    ],
)
def test_a_file_of_a_known_form_stays_valid_unless_asked_again(ctx, root, name, old, new, form):
    read(ctx, name, old)
    error = error_of(ctx, name, new)
    assert error.error_class == "invalid_form"
    assert f"'{name}' would no longer be valid {form}" in str(error)
    assert (root / name).read_text() == old
    assert f"[{name} is not valid {form}" in write(ctx, name, new).output
    assert (root / name).read_text() == new
    assert write(ctx, name, "{\n").output.startswith("File updated"), "it was broken before"


def test_a_person_and_a_new_file_are_only_told_that_it_is_not_valid(ctx, root):
    assert "[new.json is not valid JSON: " in write(ctx, "new.json", "{").output
    (root / "c.json").write_text("{}")
    ctx.session = SessionInfo("s", root)
    assert "[c.json is not valid JSON: " in preview(ctx, "c.json", "{")
    assert "[c.json is not valid JSON: " in write(ctx, "c.json", "{").output


def test_what_is_written_by_a_guess_is_said(ctx, root):
    (root / "f").write_bytes("你好".encode("gbk"))
    output = write(ctx, "f", "世界").output
    assert output.endswith("[written as gbk, which is a guess]")
    assert (root / "f").read_bytes() == "世界".encode("gbk")


@pytest.mark.parametrize("name", ["ci.yaml", ".gitignore", "notes.md", "m.py", "data.json"])
def test_no_file_is_replaced_that_was_not_read(ctx, root, name):
    (root / name).write_text("one\ntwo\nthree\n")
    for _ in range(2):
        error = error_of(ctx, name, "one\n")
        assert error.error_class == "not_read"
        assert str(error) == (
            f"not written: {name!r} exists (3 lines, 14 bytes) and you have not read all of it."
            " Read it first, or change a part with edit_file: that is the only way if a line is too"
            " long to be read whole"
        )
    ctx.workspace.read_text(name)
    assert write(ctx, name, "one\n").output.startswith("File updated")
    assert write(ctx, name, "none\n").output.startswith("File updated"), "its own content"


@pytest.mark.parametrize("old", ["", "\n", "\n\n", "one line\n", "x" * 200])
def test_a_file_of_one_short_line_need_not_be_read(ctx, root, old):
    (root / "a.txt").write_text(old)
    assert write(ctx, "a.txt", "one\n").output.startswith("File updated")


@pytest.mark.parametrize(
    ("name", "old"),
    [
        ("users.json", json.dumps([{"name": f"user {number}"} for number in range(3_000)])),
        ("n.ipynb", json.dumps({"cells": [CELL] * 30, "metadata": {}, "nbformat": 4})),
        ("app.min.js", "x" * 201),
        ("é.txt", "é" * 101 + "\n"),
    ],
)
def test_a_single_long_line_is_replaced_only_after_it_was_read(ctx, root, name, old):
    (root / name).write_text(old)
    assert error_of(ctx, name, "[]\n").error_class == "not_read"
    with pytest.raises(ToolError, match=r"edit_file: that is the only way if a line is too long"):
        preview(ctx, name, "[]\n")
    assert (root / name).read_text() == old
    ctx.workspace.note_read(name, ctx.workspace.digest_of(name), range(1, 61), 60)
    assert write(ctx, name, old.replace("1", "2") + "\n").output.startswith("File updated")


@pytest.mark.contract("A13")
@pytest.mark.parametrize(
    "line",
    [
        "    # ... existing code ...",
        "    # ... rest of the code ...",
        "// ...",
        "# ...",
        "<!-- ... -->",
        "{/* ... */}",
        "/* rest of the file is unchanged */",
        "# (unchanged)",
        "// ... other imports",
        "-- \u2026 remaining rows",
        "... rest of the file",
        "    (rest of methods ...)",
        "[remaining tests\u2026]",
        "(the rest of the class)",
        "...  # rest unchanged",
        "# [previous code]",
        "[... 40 lines omitted ...]",
        "<!-- rest of the file -->",
        "{/* existing JSX */}",
        "/* rest of styles */",
        "-- other columns unchanged",
        "// -- snip --",
        "# --- snip ---",
        "# the code is the same as before.",
    ],
)
def test_what_stands_for_code_that_is_left_out_replaces_nothing(ctx, root, line):
    read(ctx, "m.py", CODE)
    error = error_of(ctx, "m.py", f"{CODE}{line}\n")
    assert (error.error_class, error.data) == ("placeholder", {"line": line.strip()})
    assert (root / "m.py").read_text() == CODE


@pytest.mark.parametrize(
    "line",
    [
        "    ...",
        "x = [1, ...]",
        "# wait...",
        "print('...')",
        "# for existing users",
        "# 1 ...",
        "(rest)",
        "# [other]",
        "[previous]",
        "# the remaining functions",
        "// rest of the code.",
        "// previous value",
    ],
)
def test_dots_that_are_code_or_prose_pass(ctx, root, line):
    read(ctx, "m.py", CODE)
    assert write(ctx, "m.py", f"{CODE}{line}\n").output.startswith("File updated")


@pytest.mark.contract("A14")
def test_a_file_that_python_cannot_parse_is_told(ctx, root):
    read(ctx, "m.py", CODE)
    output = write(ctx, "m.py", CODE + "if x:\n\ty = 1\n        z = 2\n").output
    assert "\n[this change broke m.py: Python 3." in output
    assert "line 9: inconsistent use of tabs and spaces in indentation]" in output
    assert "broke" not in write(ctx, "m.py", CODE + "x ===\n").output, "it was broken before"
    assert "[this change broke n.py: " in write(ctx, "n.py", "def f(:\n").output


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("m.py", CODE, "class Two: ...\nasync def one(x): ...\ndef three(): ...\n"),
        ("notes.md", "class struggle\n", "nothing\n"),
        ("m.ts", "export default class A {}\n", "abstract class A {}\n"),
    ],
)
def test_a_rewrite_that_keeps_them_passes(ctx, root, name, old, new):
    read(ctx, name, old)
    assert write(ctx, name, new).output.startswith("File updated")


@pytest.mark.parametrize(
    ("name", "line", "lost"),
    [
        ("m.go", "func (s *Server) Start(x int) error {", "func Start"),
        ("m.rs", "pub(crate) async fn go<T>() {", "fn go"),
        ("m.ts", "export async function load() {", "function load"),
        ("M.java", "public final class Big {", "class Big"),
        ("m.rb", "  def self.make", "def self.make"),
    ],
)
def test_definitions_of_many_languages_are_known(ctx, root, name, line, lost):
    read(ctx, name, line + "\n")
    assert error_of(ctx, name, "nothing\n").data == {"lost": [lost]}


def test_the_guard_can_be_switched_off_and_needs_a_model(ctx, root):
    (root / "m.py").write_text(CODE)
    ctx.settings = Settings(keep_definitions=False, read_first=False)
    assert write(ctx, "m.py", "x = 1\n").output.startswith("File updated")
    (root / "m.py").write_text(CODE)
    ctx.settings = None
    ctx.session = SessionInfo("s", root)
    ctx.workspace.read_text("m.py")
    assert write(ctx, "m.py", "x = 1\n").output.startswith("File updated")


def preview(ctx, path, content):
    call = ToolCall("c1", "write_file", {"path": path, "content": content})
    return nanocoder_render(call, write_file, None, ctx.session, Settings())


@pytest.mark.contract("NT-23")
@pytest.mark.contract("NT-44")
def test_the_diff_is_visible_before_anything_is_written(ctx, root):
    (root / "a.txt").write_text("one\n")
    assert preview(ctx, "a.txt", "two\n") == ("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two")
    assert preview(ctx, "a.txt", "one\n") == "a.txt stays as it is"
    assert preview(ctx, "new.txt", "one\n") == "new file new.txt, 4 bytes\n\none\n"
    assert [path.name for path in root.iterdir()] == ["a.txt"]


@pytest.mark.contract("NT-44")
def test_the_preview_of_a_write_that_cannot_work_says_why(ctx):
    with pytest.raises(ToolError, match="outside the workspace"):
        preview(ctx, "../x", "one\n")


def test_only_writes_that_have_not_happened_are_previewed(ctx):
    call = ToolCall("c1", "write_file", {"path": "a", "content": "b"})
    result = write(ctx, "a", "b")
    assert nanocoder_render(call, write_file, result, ctx.session, Settings()) is None


@pytest.mark.contract("NT-23")
def test_it_writes_and_so_needs_approval():
    assert write_file.risk == "medium"
    assert not write_file.is_read_only


@pytest.mark.parametrize("is_read", [True, False])
def test_nobody_is_asked_about_a_file_that_the_model_has_not_read(tmp_path, is_read):
    (tmp_path / "m.txt").write_text("one\ntwo\n")
    questions = []

    def agree(request):
        questions.append(request)
        return ApprovalAnswer(request.id, request.digest, approved=True)

    @tool(risk="safe", effects={Effect.READ})
    def look(ctx: ToolContext) -> str:
        """Read m.txt."""
        return ctx.workspace.read_text("m.txt")

    class Looking:
        @hookimpl
        def nanocoder_tools(self):
            return [look]

    write = ("write_file", {"path": "m.txt", "content": "three\n"})
    turns = [[("look", {})], [write], "done"] if is_read else [[write], "done"]
    plugins = {"tool-write": nanocoder_tool_write, "tool-look": Looking()}
    played = play(tmp_path, turns, plugins=plugins, approve=agree, mode="ask")
    assert len(questions) == is_read
    assert (tmp_path / "m.txt").read_text() == ("three\n" if is_read else "one\ntwo\n")
    assert is_read or played.results[-1].error_class == "not_read"
