"""Fragments of a conversation: readable, coloured, and inert."""

import base64
import hashlib
import re
import time

import pytest
from nanocoder import Attachment, ToolCall, ToolResult
from nanocoder_kit_ui.html import (
    STYLES,
    attachment_html,
    calls_html,
    code_html,
    diff_html,
    is_diff,
    markdown_html,
    page_html,
    preview_html,
    text_html,
)

DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n-a = 1\n+a = 'b'\n <i>"


def text_of(html):
    return re.sub(r"<[^>]*>", "", html)


def test_text_is_escaped_and_hidden_characters_are_written_out():
    assert text_html('<a href="x">\'&\u202e\x1b[31m') == (
        "&lt;a href=&quot;x&quot;&gt;&#x27;&amp;\\u202e\\x1b[31m"
    )


def test_code_of_a_known_language_has_colours_and_the_same_text():
    html = code_html("def f():\n    return '<b>'  # \u202e", "py")
    assert '<span class="t-k">def</span>' in html
    assert text_of(html) == "def f():\n    return &#x27;&lt;b&gt;&#x27;  # \\u202e"
    assert code_html("<x>", "klingon") == "&lt;x&gt;"


@pytest.mark.rows(2)
@pytest.mark.parametrize(
    ("language", "unit"), [("css", '\\"'), ("java", "a "), ("html", "<!--"), ("cpp", 'R"(')]
)
def test_code_made_to_keep_a_lexer_busy_keeps_its_text_and_loses_colours(language, unit):
    code = "\n".join([(unit * 400)[:400]] * 500)
    answer = f"```{language}\n{code}\n```\n" * 4
    for html in (code_html(code, language), markdown_html(answer)):
        assert text_of(html).startswith(text_html(code))
    lines = "\n".join(f"+{line}" for line in code.split("\n"))
    assert text_of(diff_html(f"+++ b/x.{language}\n{lines}")).endswith(text_html(code[-400:]))


@pytest.mark.parametrize("language", ["bash", "python", "yaml", "html", "rust", "sql"])
def test_a_language_is_found_by_its_name_as_by_the_end_of_a_file(language):
    assert text_of(code_html("if x 'y' 1", language)) == "if x &#x27;y&#x27; 1"


def test_texts_that_a_lexer_may_choke_on_have_no_colours():
    for code in ("x" * 401, "\n" * 2_001):
        began = time.process_time()
        assert "<span" not in code_html(code, "py")
        assert time.process_time() - began < 1


def test_a_diff_has_a_span_for_each_line_with_the_colours_of_its_file():
    html = diff_html(DIFF)
    assert text_of(html).startswith("--- a/x.py+++ b/x.py@@ -1,2 +1,2 @@-a = 1+a = ")
    assert html.count('<span class="file">') == 2
    assert '<span class="del">-a = <span class="t-mi">1</span></span>' in html
    assert "&lt;" in html
    assert "<i>" not in html


def test_a_preview_is_a_diff_a_file_or_plain_text():
    assert is_diff(DIFF)
    assert preview_html(DIFF, "x.py") == diff_html(DIFF)
    assert '<span class="t-kn">import</span>' in preview_html("import os", "a/x.py")
    assert preview_html("$ rm -r <x>") == "<pre>$ rm -r &lt;x&gt;</pre>"


def test_an_answer_is_markdown_that_links_only_where_a_person_expects_it():
    html = markdown_html("[a](javascript:x) [b](https://b.example) ![c](https://c.example/p.png)")
    assert re.findall(r'href="([^"]*)"', html) == ["https://b.example"]
    assert 'rel="noopener noreferrer nofollow"' in html
    assert "<img" not in html
    coloured = markdown_html("```python\ndef f(): ...\n```")
    assert '<span class="t-k">def</span>' in coloured


def test_calls_have_their_own_results_also_when_ids_repeat():
    calls = [ToolCall("1", "bash", {"command": "<x>"}), ToolCall("1", "bash", {"command": "y"})]
    results = [
        ToolResult("first", call_id="1"),
        ToolResult("second", call_id="1", is_error=True, error_class="exit_nonzero"),
    ]
    first, second = calls_html(calls, results)
    assert "first" in first
    assert '<span class="status ok">done</span>' in first
    assert "second" in second
    assert '<span class="status failed">exit_nonzero</span>' in second
    assert "<x>" not in first


def test_only_pictures_that_run_nothing_are_pictures():
    assert attachment_html(Attachment("image/png", b"p", '"><x>')) == (
        '<img alt="&quot;&gt;&lt;x&gt;" src="data:image/png;base64,cA==">'
    )
    assert "<img" not in attachment_html(Attachment("image/svg+xml", b"<svg>", "x"))


def test_every_class_of_a_fragment_has_a_style():
    style = STYLES.read_text()
    for name in ("call", "status", "ok", "failed", "label", "diff", "add", "del", "hunk", "t-k"):
        assert re.search(rf"\.{name}\b", style), name


def test_a_page_lets_nothing_load_but_its_own_style_and_nothing_run(tmp_path):
    (tmp_path / "a.css").write_text("p { margin: 0 }", encoding="utf-8")
    page = page_html("<b>", [STYLES, tmp_path / "a.css"], ["<p>one</p>", "<p>two</p>"])
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="(.*?)"', page)
    assert policy.split("; ")[:2] == ["default-src 'none'", f"style-src 'sha256-{digest}'"]
    assert style.endswith("p { margin: 0 }")
    assert "<title>&lt;b&gt;</title>" in page
    assert page.endswith("<p>one</p>\n<p>two</p>\n</main></body></html>")
