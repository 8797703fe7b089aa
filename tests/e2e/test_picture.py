"""The picture of the README."""

import html
import re

import pytest
from picture import PICTURE, drawn, record

NUMBER = re.compile(r"[0-9][0-9.,]*")
TEXT = re.compile(r'<text class="nanocoder-r[^>]* y="([^"]*)"[^>]*>([^<]*)</text>')


def lines_of(svg: str) -> list[str]:
    """Return the lines of a picture; versions, times and sizes of tokens are left open."""
    lines: dict[str, str] = {}
    for place, text in TEXT.findall(svg):
        lines[place] = lines.get(place, "") + html.unescape(text).replace("\xa0", " ")
    return [re.sub(r" (ms|s|min)\b", " TIME", NUMBER.sub("N", line)) for line in lines.values()]


@pytest.mark.needs("tmux")
@pytest.mark.timeout(300)
def test_the_picture_of_the_readme_shows_what_nanocoder_shows_today() -> None:
    shown = lines_of(PICTURE.read_text(encoding="utf-8"))
    assert any("Approve?" in line for line in shown)
    assert 20 < len(shown) <= 32
    assert shown == lines_of(drawn(record())), "draw it again: nox -s picture"
