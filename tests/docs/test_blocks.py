"""What we show, we run: every code block of the documentation."""

import re

import blocks
import pytest
import repository
from blocks import Block, BlockError

PAGES = pytest.mark.parametrize("page", blocks.pages(), ids=repository.shown)
REASON_CHARS = 10
NEEDS = re.compile(r"^<!-- needs: (\S+) -->$", re.MULTILINE)
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)(?:#[^)]*)?\)")
pytestmark = pytest.mark.timeout(600)


def runnable_pages():
    """Yield each page, marked with the programs that a comment in it says it needs."""
    for page in blocks.pages():
        programs = NEEDS.findall(page.read_text(encoding="utf-8"))
        marks = [pytest.mark.needs(program) for program in programs]
        yield pytest.param(page, id=repository.shown(page), marks=marks)


@pytest.mark.parametrize("page", list(runnable_pages()))
@pytest.mark.contract("NT-104")
def test_the_blocks_of_a_page_run_in_order(page, tmp_path, warm):
    folder = blocks.new_folder(tmp_path)
    warm(tmp_path / "home")
    for block in blocks.blocks(page):
        blocks.run(block, folder)


@PAGES
def test_a_block_that_is_not_run_says_why(page):
    silent = [
        block.where
        for block in blocks.blocks(page)
        if block.what == "not run" and len(block.value) < REASON_CHARS
    ]
    assert silent == []


@PAGES
def test_every_fence_of_a_page_is_closed_and_read(page):
    fences = re.findall(r"^ *```", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(fences) == 2 * len(list(blocks.blocks(page)))


@PAGES
def test_links_inside_the_repository_lead_somewhere(page):
    targets = LINK.findall(page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def block(language, text, **more):
    return Block(repository.ROOT / "page.md", 1, language, text, **more)


@pytest.mark.parametrize(
    ("language", "text", "problem"),
    [
        ("console", "$ false\n", "`false` ended with 1"),
        ("console", "$ echo one\ntwo\n", "instead of\ntwo"),
        ("console", "$ true\n$ echo a b c\na ... d\n", "`echo a b c` printed"),
        ("console", "echo one\n", "shows `\\$ command` lines"),
        ("console", "$ pip install nanocoder-tool-nil\n", "no package 'nanocoder-tool-nil'"),
        ("console", "$ nanocoder plugins install tool-nil\n", "no package 'tool-nil'"),
        ("python", "raise SystemExit(3)\n", "ended with 3"),
        ("json", "{", "Expecting property name"),
        ("toml", "a = \n", "Invalid value"),
        ("bash", "if true\n", "syntax error"),
        ("cobol", "STOP RUN.\n", "no check for the language 'cobol' is known"),
    ],
)
def test_a_wrong_block_is_reported_with_its_place(tmp_path, language, text, problem):
    folder = blocks.new_folder(tmp_path)
    with pytest.raises(BlockError, match=rf"page\.md:1: [\s\S]*{problem}"):
        blocks.run(block(language, text), folder)


def test_output_may_be_left_out_and_a_folder_change_lasts_for_the_block(tmp_path):
    folder = blocks.new_folder(tmp_path)
    text = "$ mkdir a && cd a\n$ basename \\\n  $PWD\na\n$ printf '1\\n2\\n3\\n'\n1\n...\n"
    blocks.run(block("console", text), folder)


def test_a_comment_belongs_to_the_block_behind_it_alone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- file: a -->\n```toml\n```\n<!-- file: b -->\n```toml\n```\n")
    assert [(one.what, one.value) for one in blocks.blocks(page)] == [("file", "a"), ("file", "b")]


def test_a_file_block_is_there_for_the_blocks_after_it(tmp_path):
    folder = blocks.new_folder(tmp_path)
    blocks.run(block("python", "x = 7\n", what="file", value="made.py"), folder)
    blocks.run(block("python", "import made\nassert made.x == 7\n"), folder)


def test_a_block_from_a_file_must_be_in_that_file():
    with pytest.raises(BlockError, match="does not have these lines"):
        blocks.run(block("python", "x = 7\n", what="from", value="LICENSE"), repository.ROOT)
