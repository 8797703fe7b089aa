"""Make a page readable, in a process that can be ended."""

import json
import os
import re
import subprocess
import sys
from contextlib import suppress
from typing import Final

from attrs import frozen
from nanocoder import Cancel

MAX_CHARS: Final = 2_000_000
CONVERT_S: Final = 10.0
_PASSED_VARIABLES: Final = ("HOME", "LANG", "PYTHONPATH")
_TAG = re.compile(r"<[^<>]*>")
_BLANK = re.compile(r"\s*\n\s*")


@frozen
class Page:
    """A page for a model; *is_rough* when only its tags could be removed."""

    title: str
    text: str
    is_rough: bool = False


def make_readable(html: str, base: str, form: str, cancel: Cancel) -> Page:
    """Return an HTML page as "markdown" or "text"; *base* is its address. Raises: Cancelled."""
    html = html[:MAX_CHARS]
    output = _run(html, base, form, cancel)
    cancel.check()
    with suppress(ValueError, TypeError, KeyError):
        page = json.loads(output)
        return Page(str(page["title"]), str(page["text"]))
    return Page("", _BLANK.sub("\n", _TAG.sub(" ", html)).strip(), is_rough=True)


def _run(html: str, base: str, form: str, cancel: Cancel) -> bytes:
    """Run the converter; return nothing when it fails or takes too long."""
    environment = {name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ}
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "nanocoder_tool_web.convert", base, form],
        cwd="/",  # relative entries of PYTHONPATH must not lead into the workspace
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    forget = cancel.on_set(process.kill)
    try:
        output, _ = process.communicate(html.encode("utf-8", "replace"), timeout=CONVERT_S)
    except subprocess.TimeoutExpired:
        return b""
    finally:
        forget()
        process.kill()
        process.communicate()
    return output
