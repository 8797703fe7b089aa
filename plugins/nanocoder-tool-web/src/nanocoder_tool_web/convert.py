"""HTML to markdown or text, as a program: reads a page from standard input, writes JSON.

Run by `page.py` in a process of its own, which can be killed: a hundred kilobytes of "<a " occupy
the HTML parser for two minutes, and would block the whole interpreter.
"""

import json
import re
import sys
import threading
from typing import Any
from urllib.parse import urljoin

from bs4 import BeautifulSoup, Tag
from markdownify import MarkdownConverter

HIDDEN_TAGS = ("script", "style", "noscript", "template", "svg", "iframe", "object", "nav", "head")
_INVISIBLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_LANGUAGE = re.compile(r"(?:language|lang|highlight-source)-([\w+#-]+)")
_BLANK = re.compile(r"[ \t]*\n(?:[ \t]*\n)+")
MAX_DEPTH = 20_000
STACK_BYTES = 512 * 1024 * 1024


def convert_page(html: str, base: str, form: str) -> dict[str, str]:
    """Return title and text of a page; *form* is "markdown" or "text", *base* its address."""
    soup = BeautifulSoup(html, "html.parser")
    title = " ".join(soup.title.get_text().split()) if soup.title else ""
    _drop_hidden(soup)
    if form == "markdown":
        _make_absolute(soup, base)
        text = _markdown(soup)
    else:
        text = soup.get_text("\n")
    return {"title": title, "text": _BLANK.sub("\n\n", text).strip()}


def _drop_hidden(soup: BeautifulSoup) -> None:
    """Remove text that a reader does not see: it could contain instructions for the model."""
    for tag in soup.find_all(_is_hidden):
        if not tag.decomposed:
            tag.decompose()


def _is_hidden(tag: Tag) -> bool:
    return (
        tag.name in HIDDEN_TAGS
        or tag.has_attr("hidden")
        or tag.get("aria-hidden") == "true"
        or bool(_INVISIBLE.search(str(tag.get("style", ""))))
    )


def _make_absolute(soup: BeautifulSoup, base: str) -> None:
    for name, attribute in (("a", "href"), ("img", "src")):
        for tag in soup.find_all(name):
            address = str(tag.get(attribute, ""))
            if address.startswith("data:"):
                tag.attrs.pop(attribute)
            elif address:
                tag[attribute] = _join(base, address)


def _join(base: str, address: str) -> str:
    try:
        return urljoin(base, address)
    except ValueError:  # brackets around an invalid IPv6 address
        return address


def _markdown(soup: BeautifulSoup) -> str:
    converter = MarkdownConverter(
        heading_style="ATX", bullets="-", code_language_callback=_language, escape_misc=False
    )
    return str(converter.convert_soup(soup))


def _language(tag: Any) -> str:
    """Return the language of a code block, which pages write into one of two classes."""
    inner = tag.find("code")
    classes = [*(tag.get("class") or ()), *((inner.get("class") or ()) if inner else ())]
    match = _LANGUAGE.search(" ".join(classes))
    return match[1] if match else ""


def main(arguments: list[str]) -> None:
    """Convert standard input; the arguments are the page's address and the form."""
    html = sys.stdin.buffer.read().decode("utf-8", "replace")
    pages: list[dict[str, str]] = []
    # The converter recurses for each level of a page, and pages may be deep.
    sys.setrecursionlimit(MAX_DEPTH)
    threading.stack_size(STACK_BYTES)
    thread = threading.Thread(target=lambda: pages.append(convert_page(html, *arguments)))
    thread.start()
    thread.join()
    sys.stdout.write(json.dumps(pages[0]))


if __name__ == "__main__":
    main(sys.argv[1:])
