"""Images and PDF in a form that a model takes; a process of its own unpacks them."""

import json
import os
import signal
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

from nanocoder import Attachment, ToolContext, ToolError

VIEWER = Path(__file__).with_name("viewer.py")
WAIT_S = 30.0
MAX_SIDE = 1_568  # pixels; the models' servers scale larger images down themselves
MAX_PIXELS = 50_000_000
MAX_IMAGE_BYTES = 3_750_000  # 5 MB in base64
MAX_PAGES = 20
MAX_PICTURES = 10
MAX_CHARACTERS = 20_000  # of a page
MAX_ANSWER_BYTES = MAX_PICTURES * MAX_IMAGE_BYTES + 4 * MAX_PAGES * MAX_CHARACTERS + 1_000_000


def has(module: str) -> bool:
    """Return True if the library of an extra is installed."""
    return bool(sys.executable) and find_spec(module) is not None


def run_viewer(
    ctx: ToolContext, file: BinaryIO, path: str, options: dict[str, Any]
) -> tuple[dict[str, Any], list[bytes]]:
    """Return the viewer's answer about *file*, and its pictures.

    Raises: ToolError (too_large, broken_file, encrypted, timeout).
    """
    request = {"side": MAX_SIDE, "bytes": MAX_IMAGE_BYTES, "pixels": MAX_PIXELS, **options}
    # The viewer's standard input shares its position with our file.
    os.lseek(file.fileno(), 0, os.SEEK_SET)
    out, code = _run(ctx, file, [sys.executable, "-I", str(VIEWER), json.dumps(request)])
    head, _, rest = out.partition(b"\n")
    if code or len(out) > MAX_ANSWER_BYTES:
        raise ToolError(
            f"{path!r} cannot be read: the viewer failed ({code})", error_class="broken_file"
        )
    answer: dict[str, Any] = json.loads(head)
    if "error" in answer:
        raise ToolError(f"{path!r} {answer['message']}", error_class=answer["error"])
    pictures, at = [], 0
    for size in answer["sizes"]:
        pictures.append(rest[at : at + size])
        at += size
    return answer, pictures


def _run(ctx: ToolContext, file: BinaryIO, argv: list[str]) -> tuple[bytes, int]:
    """Return the viewer's output and exit code; a negative one is the signal that ended it.

    Raises: ToolError (timeout).
    """
    late = threading.Event()
    with subprocess.Popen(
        argv,
        stdin=file,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"PATH": os.defpath},
        start_new_session=True,
    ) as child:

        def end() -> None:
            late.set()
            child.kill()

        # A hostile file may stall the library; the viewer's own limit covers only CPU time.
        clock = threading.Timer(WAIT_S, end)
        clock.start()
        forget = ctx.cancelled.on_set(child.kill)
        try:
            out = child.stdout.read(MAX_ANSWER_BYTES + 1) if child.stdout else b""
            if len(out) > MAX_ANSWER_BYTES:
                child.kill()
            code = child.wait()
        except BaseException:
            child.kill()
            raise
        finally:
            clock.cancel()
            forget()
    ctx.cancelled.check()
    if late.is_set() or code == -signal.SIGXCPU:
        raise ToolError(f"the file could not be read in {WAIT_S:.0f} s", error_class="timeout")
    return out, code


def image(ctx: ToolContext, file: BinaryIO, path: str) -> tuple[Attachment, str]:
    """Return an image small enough for a model, and its description.

    Raises: ToolError (too_large, broken_file, timeout).
    """
    answer, (data,) = run_viewer(ctx, file, path, {"kind": "image"})
    media = f"image/{answer['format'].lower()}" if answer["kept"] else answer["media_type"]
    width, height = answer["shown"]
    description = f"{media}, {width} x {height} pixels, {len(data):,} bytes, attached"
    if (width, height) != (answer["width"], answer["height"]):
        description += f"; the file has {answer['width']} x {answer['height']}"
    if answer["animated"]:
        description += "; it is animated, this is the first frame"
    return Attachment(media, data, path), f"[{description}]"


def pages(
    ctx: ToolContext, file: BinaryIO, path: str, first: int, limit: int
) -> tuple[str, dict[str, Any], tuple[Attachment, ...]]:
    """Return the text of some pages of a PDF, their metadata, and pictures of pages without text.

    Raises: ToolError (invalid_arguments, encrypted, broken_file, too_large, timeout).
    """
    count, reason = _picture_limit(ctx)
    answer, pictures = run_viewer(
        ctx,
        file,
        path,
        {
            "kind": "pdf",
            "first": first,
            "limit": min(limit, MAX_PAGES),
            "characters": MAX_CHARACTERS,
            "pictures": count,
            "no_pictures": f"no text; {reason}",
        },
    )
    total = answer["total"]
    if first > total:
        raise ToolError(
            f"offset {first} is past the end: {path!r} has {total} pages",
            error_class="invalid_arguments",
            data={"pages": total},
        )
    page_list = answer["pages"]
    page_pictures = [page for page in page_list if "media_type" in page]
    attachments = tuple(
        Attachment(page["media_type"], data, f"{path}, page {page['number']}")
        for page, data in zip(page_pictures, pictures, strict=True)
    )
    last = page_list[-1]["number"]
    can_go_on = last < total and ctx.offers("read_file", "offset")
    more = f"; continue with offset {last + 1}" if can_go_on else ""
    text = "\n".join([*map(_page, page_list), f"[pages {first}-{last} of {total}{more}]"])
    return (
        text,
        {"pages": total, "first": first, "last": last, "truncated": last < total},
        attachments,
    )


def _page(page: dict[str, Any]) -> str:
    number = page["number"]
    if "media_type" in page:
        return f"[page {number}: no text; attached as an image]"
    if "note" in page:
        return f"[page {number}: {page['note']}]"
    cut = f"\n[{page['cut']:,} characters left out]" if page["cut"] else ""
    return f"[page {number}]\n{page['text'].rstrip()}{cut}"


def _picture_limit(ctx: ToolContext) -> tuple[int, str]:
    """Return the limit of pages shown as images, and the reason if it is 0."""
    if not has("PIL"):
        return 0, "to see it install nanocoder-tool-read[images]"
    if ctx.session is not None and ctx.session.profile == "small":
        return 0, "this model takes no images"
    return MAX_PICTURES, ""
