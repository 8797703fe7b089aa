"""What read_file answers."""

import base64
import os
import tracemalloc

import pytest
from nanocoder import BadArguments, ToolContext, ToolError, Workspace
from nanocoder_tool_read import Settings, read_file

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
GIF = "R0lGODdhAQABAIEAAP8AAAAAAAAAAAAAACwAAAAAAQABAAAIBAABBAQAOw=="


@pytest.fixture
def ctx(tmp_path):
    with Workspace(tmp_path) as workspace:
        yield ToolContext(
            session_id="s", message_id="c1", workspace=workspace, working_directory=tmp_path
        )


@pytest.fixture
def bare(monkeypatch):
    """Do without the libraries of the extras."""
    monkeypatch.setattr("nanocoder_tool_read.media_process.has", lambda _: False)


def read(ctx, path, **arguments):
    return read_file.invoke(ctx, read_file.signature.check({"path": path, **arguments}))


def error_of(ctx, path, **arguments):
    with pytest.raises(ToolError) as caught:
        read(ctx, path, **arguments)
    return caught.value


@pytest.mark.contract("NT-10")
@pytest.mark.contract("NT-13")
@pytest.mark.contract("MA-12")
def test_lines_come_with_their_numbers(ctx, tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    result = read(ctx, "a.txt")
    assert result.output == "1\tone\n2\ttwo"
    assert result.data == {"path": "a.txt", "first": 1, "total": 2, "lines": ["one", "two"]}
    assert result.title == "a.txt"


@pytest.mark.contract("NT-11")
@pytest.mark.contract("NA-28")
@pytest.mark.contract("MA-15")
def test_outside_the_workspace_nothing_is_read(ctx, tmp_path):
    (tmp_path / "link").symlink_to("/etc/passwd")
    for path in ("../x", "/etc/passwd", "link", f"{tmp_path}-evil/x"):
        assert error_of(ctx, path).error_class == "path_outside_workspace"


@pytest.mark.contract("NT-12")
@pytest.mark.contract("MA-11")
@pytest.mark.contract("NA-27")
@pytest.mark.contract("NA-32")
def test_a_window_says_where_to_go_on(ctx, tmp_path):
    (tmp_path / "n.txt").write_text("".join(f"line {n}\n" for n in range(1, 101)))
    result = read(ctx, "n.txt", offset=11, limit=2)
    assert (
        result.output == "11\tline 11\n12\tline 12\n[lines 11-12 of 100; continue with offset 13]"
    )
    assert result.metadata["truncated"]
    assert read(ctx, "n.txt", offset=99).output.endswith("100\tline 100\n[lines 99-100 of 100]")


@pytest.mark.contract("NT-12")
def test_without_a_limit_2000_lines_are_read(ctx, tmp_path):
    (tmp_path / "n.txt").write_text("x\n" * 2_001)
    assert read(ctx, "n.txt").output.endswith("[lines 1-2000 of 2001; continue with offset 2001]")


@pytest.mark.contract("NA-33")
def test_metadata_describes_the_file(ctx, tmp_path):
    (tmp_path / "a.txt").write_bytes("\ufeffé\r\nb".encode())
    metadata = dict(read(ctx, "a.txt").metadata)
    assert len(metadata.pop("digest")) == 64
    assert metadata == {
        "path": "a.txt",
        "lines": 2,
        "first": 1,
        "last": 2,
        "size": 8,
        "encoding": "utf-8",
        "truncated": False,
        "summary": "2 lines",
    }


@pytest.mark.contract("NT-15b")
def test_offset_and_limit_below_one_are_refused(ctx, tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    for arguments in ({"offset": 0}, {"offset": -1}, {"limit": 0}):
        with pytest.raises(BadArguments, match=next(iter(arguments))):
            read(ctx, "a.txt", **arguments)


@pytest.mark.contract("NT-15b")
def test_an_offset_past_the_end_says_how_many_lines_there_are(ctx, tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    error = error_of(ctx, "a.txt", offset=3)
    assert str(error) == "offset 3 is past the end: 'a.txt' has 2 lines"
    assert error.data == {"lines": 2}


@pytest.mark.contract("NT-15b")
@pytest.mark.parametrize(
    ("data", "output"),
    [
        (b"", "[the file is empty]"),
        (b"\n", "1\t"),
        (b"a", "1\ta"),
        (b"a\r\nb\r\n", "1\ta\n2\tb"),
        (b"\xef\xbb\xbfa\n", "1\ta"),
        (b"caf\xe9\n", "1\tcafé\n[not UTF-8: read as cp1252, which is a guess]"),
        ("# 测试编码".encode("gbk"), "1\t# 测试编码\n[not UTF-8: read as gbk, which is a guess]"),
        ("ü\n".encode("utf-16"), "1\tü"),
        (b"form\x0cfeed\n", "1\tform<U+000C>feed"),
        ('"\u200b"\n"\\u200b"\n'.encode(), '1\t"<U+200B>"\n2\t"\\u200b"'),
        ("می\u200cشود 👩\u200d💻\ufe0f\n".encode(), "1\tمی\u200cشود 👩\u200d💻\ufe0f"),
    ],
)
def test_odd_files_read_as_a_person_would_expect(ctx, tmp_path, data, output):
    (tmp_path / "odd.txt").write_bytes(data)
    assert read(ctx, "odd.txt").output == output


@pytest.mark.contract("NT-14")
@pytest.mark.contract("NT-15b")
@pytest.mark.contract("MA-15")
@pytest.mark.contract("NA-29")
def test_what_is_no_file_gets_its_own_error(ctx, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "main.py").touch()
    os.mkfifo(tmp_path / "pipe")
    directory = error_of(ctx, "sub")
    assert directory.error_class == "is_a_directory"
    assert str(directory).endswith("list_files shows what is in it")
    for number in range(22):
        (tmp_path / f"sub/{number:02}.py").touch()
    assert "in it: 'sub/00.py', 'sub/01.py', " in str(error_of(ctx, "sub"))
    assert str(error_of(ctx, "sub")).endswith(", 'sub/19.py' and 2 more")
    missing = error_of(ctx, "mian.py")
    assert missing.error_class == "file_not_found"
    assert "main.py" in str(missing)
    assert error_of(ctx, "pipe").error_class == "not_a_regular_file"


@pytest.mark.contract("MA-10")
@pytest.mark.contract("NA-30")
def test_of_a_huge_file_the_first_page_is_read(ctx, tmp_path):
    ctx.settings = Settings(max_bytes=2_000_000)
    (tmp_path / "big.txt").write_text("".join(f"line {n}\n" for n in range(1, 300_001)))
    result = read(ctx, "big.txt")
    assert result.output.endswith("\n[lines 1-2000 of 300000; continue with offset 2001]")
    window = read(ctx, "big.txt", offset=299_999)
    assert (
        window.output == "299999\tline 299999\n300000\tline 300000\n[lines 299999-300000 of 300000]"
    )


@pytest.mark.contract("MA-10")
def test_more_than_a_page_of_a_huge_file_is_refused(ctx, tmp_path):
    ctx.settings = Settings(max_bytes=2_000)
    (tmp_path / "big.txt").write_text("x\n" * 3_000)
    error = error_of(ctx, "big.txt", limit=3_000)
    assert error.error_class == "too_large"
    assert str(error).endswith("read at most 2,000 lines of it, or use grep")


@pytest.mark.parametrize("at_once", [0, 1_000_000])
def test_a_page_has_no_more_characters_than_a_model_is_shown(ctx, tmp_path, monkeypatch, at_once):
    monkeypatch.setattr("nanocoder_tool_read.AT_ONCE_BYTES", at_once)
    (tmp_path / "wide.txt").write_text(("x" * 3_000 + "\n") * 100)
    result = read(ctx, "wide.txt")
    assert 40_000 < len(result.output) < 50_000
    last = result.metadata["last"]
    assert result.output.endswith(f"[lines 1-{last} of 100; continue with offset {last + 1}]")
    assert read(ctx, "wide.txt", offset=last + 1).data["first"] == last + 1


@pytest.mark.parametrize("at_once", [0, 1_000_000])
def test_only_lines_that_were_shown_count_as_read(ctx, tmp_path, monkeypatch, at_once):
    monkeypatch.setattr("nanocoder_tool_read.AT_ONCE_BYTES", at_once)
    (tmp_path / "n.txt").write_text("x\n" * 50)
    error_of(ctx, "n.txt", offset=99)
    assert not ctx.workspace.has_read("n.txt"), "a read that fails shows nothing"
    read(ctx, "n.txt", limit=5)
    read(ctx, "n.txt", offset=7)
    assert not ctx.workspace.has_read("n.txt"), "line 6 is missing"
    read(ctx, "n.txt", offset=6, limit=1)
    assert ctx.workspace.has_read("n.txt")
    (tmp_path / "long.txt").write_text("x" * 2_001 + "\ny\n")
    read(ctx, "long.txt")
    assert not ctx.workspace.has_read("long.txt"), "the first line was cut"


@pytest.mark.contract("NT-15b")
def test_large_and_small_files_read_alike(ctx, tmp_path, monkeypatch):
    content = "\ufeffé one\r\n\ntwo\rtwo\n" + "x" * 2_500 + "\nlast"
    (tmp_path / "f.txt").write_bytes(content.encode())
    small = {
        (first, limit): read(ctx, "f.txt", offset=first, limit=limit).output
        for first in range(1, 6)
        for limit in range(1, 7)
    }
    monkeypatch.setattr("nanocoder_tool_read.AT_ONCE_BYTES", 0)
    monkeypatch.setattr("nanocoder_tool_read.window.CHUNK_BYTES", 3)
    for (first, limit), output in small.items():
        assert read(ctx, "f.txt", offset=first, limit=limit).output == output
    assert error_of(ctx, "f.txt", offset=6).data == {"lines": 5}


# INJ-025
@pytest.mark.contract("MA-13")
def test_a_long_line_is_cut_and_that_is_said(ctx, tmp_path):
    (tmp_path / "l.txt").write_text("é" * 2_001 + "\n" + "b" * 2_000 + "\n")
    lines = read(ctx, "l.txt").output.split("\n")
    assert lines[0] == "1\t" + "é" * 2_000
    assert lines[1] == "2\t" + "b" * 2_000
    assert lines[2] == "[1 line is longer than shown; grep finds what is there]"


def test_a_window_of_a_huge_file_needs_little_memory(ctx, tmp_path):
    with (tmp_path / "huge.txt").open("wb") as file:
        for _ in range(40):
            file.write(b"y" * 1_000_000)  # one line of 40 MB
        file.write(b"\nsecond\n")
    read(ctx, "huge.txt", limit=1)
    tracemalloc.start()
    result = read(ctx, "huge.txt", offset=1, limit=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.data["lines"] == ["y" * 2_000, "second"]
    assert peak < 2_000_000


@pytest.mark.parametrize(("text", "encoding"), [("café\n", "cp1252"), ("你好 世界\n", "gb18030")])
def test_a_large_file_that_is_not_utf_8_is_read_as_a_small_one(ctx, tmp_path, text, encoding):
    (tmp_path / "l.txt").write_bytes(text.encode(encoding) * 250_000)
    result = read(ctx, "l.txt", limit=1)
    assert result.output.startswith(f"1\t{text}[lines 1-1 of 250000")
    assert f"read as {encoding}, which is a guess" in result.output


def test_a_large_file_in_utf_16_is_read(ctx, tmp_path):
    (tmp_path / "l.txt").write_bytes(("é\n" * 300_000).encode("utf-16"))
    assert read(ctx, "l.txt", limit=1).data["lines"] == ["é"]


def test_a_file_that_grew_past_a_window_can_still_be_written(ctx, tmp_path):
    path = tmp_path / "log.txt"
    path.write_text("first\n")
    read(ctx, "log.txt")
    path.write_text("more\n" * 300_000)
    read(ctx, "log.txt", limit=10)
    ctx.workspace.write_text("log.txt", "mine\n")
    assert path.read_text() == "mine\n"


@pytest.mark.contract("MA-14")
@pytest.mark.parametrize(
    ("data", "media"),
    [
        (base64.b64decode(PNG), "image/png"),
        (base64.b64decode(GIF), "image/gif"),
        (b"%PDF-1.7\n\0", "application/pdf"),
    ],
)
def test_without_the_extras_images_and_pdf_are_attached_as_they_are(
    ctx, tmp_path, data, media, bare
):
    (tmp_path / "picture.bin").write_bytes(data * 2_000)
    result = read(ctx, "picture.bin")
    [attachment] = result.attachments
    assert (attachment.media_type, attachment.data) == (media, data * 2_000)
    assert media in result.output


@pytest.mark.contract("A3")
@pytest.mark.parametrize("size", [8, 60])
def test_without_the_extras_a_broken_image_is_not_attached(ctx, tmp_path, bare, size):
    (tmp_path / "picture.png").write_bytes(base64.b64decode(PNG)[:size])
    error = error_of(ctx, "picture.png")
    assert error.error_class == "broken_file"
    assert str(error) == "'picture.png' is not attached: it is no valid PNG: it is cut short"


@pytest.mark.contract("MA-10")
def test_an_image_over_the_cap_is_refused(ctx, tmp_path, bare):
    ctx.settings = Settings(max_bytes=10)
    (tmp_path / "p.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 10)
    error = error_of(ctx, "p.png")
    assert error.error_class == "too_large"
    assert "install nanocoder-tool-read[images]" in str(error)


def test_without_the_extra_an_image_too_large_for_models_is_named(ctx, tmp_path, bare):
    (tmp_path / "p.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 4_000_000)
    result = read(ctx, "p.png")
    assert result.attachments == ()
    assert "not attached: to make it smaller install nanocoder-tool-read[images]" in result.output


# INJ-024
@pytest.mark.contract("MA-15")
@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("prog", b"\x7fELF\0\0", "ELF program"),
        ("a.wasm", b"\0asm", "WebAssembly"),
        ("sound.mp3", b"ID3\0\0\0", "audio/mpeg"),
        ("late", b"text\n" * 4_000 + b"\0", "unknown type"),
    ],
)
def test_other_binaries_are_named_and_not_shown(ctx, tmp_path, name, data, kind):
    (tmp_path / name).write_bytes(data)
    output = read(ctx, name).output
    assert kind in output
    assert f"{len(data):,} bytes" in output


NOTEBOOK = """{"cells": [
 {"cell_type": "markdown", "source": ["# Title\\n", "text"]},
 {"cell_type": "code", "source": "1 / 0", "outputs": [
   {"output_type": "stream", "text": ["hi\\n"]},
   {"output_type": "display_data", "data": {"image/png": "aGk="}},
   {"output_type": "error", "ename": "ZeroDivisionError", "evalue": "division by zero"}]}
]}"""


def test_a_notebook_is_shown_as_its_cells(ctx, tmp_path):
    (tmp_path / "n.ipynb").write_text(NOTEBOOK)
    result = read(ctx, "n.ipynb")
    assert result.output.endswith("a new cell begins with the line [cell new: code]]")
    assert result.data["lines"] == [
        "[cell 1: markdown]",
        "# Title",
        "text",
        "[cell 2: code, output left out: 1 line, image/png, ZeroDivisionError: division by zero]",
        "1 / 0",
    ]


def test_a_broken_notebook_is_shown_as_text(ctx, tmp_path):
    (tmp_path / "n.ipynb").write_text('{"cells": 7}')
    assert read(ctx, "n.ipynb").output == '1\t{"cells": 7}'


@pytest.mark.contract("NT-15")
def test_it_is_safe_and_needs_no_approval():
    assert read_file.risk == "safe"
    assert read_file.is_read_only
