import pytest
from hypothesis import given
from hypothesis import strategies as st
from nanocoder import Workspace, WorkspaceError
from nanocoder_kit_files.text import decode, encode, is_binary, read_text_file


@pytest.fixture(scope="module")
def ground(tmp_path_factory):
    folder = tmp_path_factory.mktemp("content")
    with Workspace(folder) as workspace:
        yield workspace, folder


def edited(ground, data: bytes, old: str, new: str) -> bytes:
    workspace, folder = ground
    (folder / "f").write_bytes(data)
    file = read_text_file(workspace, "f")
    workspace.write_bytes("f", encode(file.text.replace(old, new, 1), file))
    return (folder / "f").read_bytes()


@pytest.mark.parametrize(
    ("data", "encoding", "newline", "text"),
    [
        (b"", "utf-8", "\n", ""),
        (b"a\nb\n", "utf-8", "\n", "a\nb\n"),
        (b"a\r\nb\r\n", "utf-8", "\r\n", "a\nb\n"),
        (b"a\rb", "utf-8", "\r", "a\nb"),
        (b"a\r\nb\nc", "utf-8", "mixed", "a\nb\nc"),
        (b"a\rb\n", "utf-8", "\n", "a\rb\n"),
        (b"a\r\r\nb\n", "utf-8", "raw", "a\r\r\nb\n"),
        (b"\xef\xbb\xbfa\n", "utf-8", "\n", "a\n"),
        ("é\n".encode("utf-16"), "utf-16-le", "\n", "é\n"),
        (b"\xfe\xff" + "é\r\n".encode("utf-16-be"), "utf-16-be", "\r\n", "é\n"),
        ("é\n".encode("utf-32"), "utf-32-le", "\n", "é\n"),
        (b"\xe9t\na\n", "cp1252", "\n", "ét\na\n"),
        (b"\x81 \xe9t\xe9\n", "latin-1", "\n", "\x81 été\n"),
        ("\u2028é\x85\n".encode(), "utf-8", "\n", "\u2028é\x85\n"),
    ],
)
def test_text_is_read_and_written_back_byte_for_byte(ground, data, encoding, newline, text):
    workspace, folder = ground
    (folder / "f").write_bytes(data)
    file = read_text_file(workspace, "f")
    assert (file.encoding, file.newline, file.text) == (encoding, newline, text)
    assert (file.size, file.final_newline) == (len(data), text.endswith("\n"))
    assert file.lines == len(text.split("\n")) - text.endswith("\n") - (text == "")
    assert encode(file.text, file) == data


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ('# 测试编码\nprint("测试")\nx=1\n', "gbk"),
        ("你好", "gbk"),
        ("/* 注释 */ int 变量 = 1;\n㐀\n", "gb18030"),
        ("// 這個函數返回使用者的名字\n", "big5"),
        ('# テスト\nprint("こんにちは")\n', "cp932"),
        ("設定ファイル\nname=田中\n", "cp932"),
        ("日本語のテキスト", "euc_jp"),
        ('printf("오류");\n', "cp949"),
        ("이름,나이\n김철수,20\n", "cp949"),
        ('# Привет мир\nprint("Привет")\n', "cp1251"),
        ("// Этот комментарий на русском\n", "koi8_r"),
        ("Καλημέρα κόσμε\n", "cp1253"),
        ("مرحبا بالعالم\n", "cp1256"),
        ("Größe: ä ö ü ß\n", "cp1252"),
        ('temp = "20°C"\n', "cp1252"),
        ("“déjà”, ½ cup, 5 €\n", "cp1252"),
        ("smörgåsbord åäö\n", "cp1252"),
    ],
)
def test_an_encoding_of_before_unicode_is_told_from_a_few_words(text, encoding):
    code = "int value = 0;\n" * 50
    file = decode("f", (code + text).encode(encoding))
    assert (file.encoding, file.text) == (encoding, code + text)
    assert file.is_guessed
    assert not decode("f", text.encode()).is_guessed
    assert not decode("f", text.encode("utf-16")).is_guessed


def test_the_encoding_of_one_endless_line_is_told_too():
    data = "这是一个很长的文件。".encode("gbk") * 10_000
    assert decode("f", data).encoding == "gbk"


@given(st.one_of(st.binary(), st.text("a\r\né\u2028").map(str.encode)))
def test_whatever_is_text_survives(ground, data):
    workspace, folder = ground
    (folder / "f").write_bytes(data)
    try:
        file = read_text_file(workspace, "f")
    except WorkspaceError as error:
        assert error.error_class == "binary_file"  # noqa: PT017 - most bytes are text
    else:
        assert encode(file.text, file) == data


@pytest.mark.parametrize(
    ("data", "old", "new", "result"),
    [
        (b"a\r\nb\r\nc\r\n", "a\nb", "a\nB", b"a\r\nB\r\nc\r\n"),
        (b"a\r\nb\r\n", "b", "b\nc\r\nd", b"a\r\nb\r\nc\r\nd\r\n"),
        (b"a\r\nb\nc\r\nd\r\ne\n", "b\n", "B\nnew\n", b"a\r\nB\r\nnew\r\nc\r\nd\r\ne\n"),
        (b"a\nb\nc\r\nd\n", "a\n", "", b"b\nc\r\nd\n"),
        (b"a\nb", "a", "A", b"A\nb"),
        (b"\xef\xbb\xbfa\n", "a", "b", b"\xef\xbb\xbfb\n"),
        (b"\xe9ta\n", "a", "b", b"\xe9tb\n"),
        ("aé".encode("utf-16"), "a", "→", "→é".encode("utf-16")),
    ],
)
def test_an_edit_changes_nothing_else(ground, data, old, new, result):
    assert edited(ground, data, old, new) == result


def test_a_character_that_the_encoding_lacks_is_named(ground):
    with pytest.raises(WorkspaceError, match="cp1252") as caught:
        edited(ground, b"\xe9ta\n", "a", "→")
    assert caught.value.error_class == "invalid_arguments"


def test_bytes_that_are_no_text_are_refused(ground):
    workspace, folder = ground
    for data in (
        b"a\0b",
        bytes(range(1, 32)) * 40 + b"\xff\xfe",
        b"\xff\xfea",
        b"\x89PNG\x01\x02\x03",
    ):
        (folder / "f").write_bytes(data)
        with pytest.raises(WorkspaceError) as caught:
            read_text_file(workspace, "f")
        assert caught.value.error_class == "binary_file"
        assert workspace.read_bytes("f") == data


def test_a_binary_file_is_known_by_its_first_bytes():
    assert is_binary(b"a\0b")
    assert is_binary(bytes(range(1, 32)))
    assert not is_binary(b"")
    assert not is_binary("é\r\n\t\x1b[0m text".encode())
    assert not is_binary("é".encode("utf-16"))
