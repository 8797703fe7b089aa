"""Looks at one image or PDF, in a process of its own, with little memory and time.

What it reads may be made to do harm: to be huge when it is unpacked, or to crash the library.
`python -I viewer.py OPTIONS` gets the file as standard input, and writes one line of JSON and then
the bytes of its pictures. Only the standard library, pillow and pypdfium2 are imported here.
"""

import io
import json
import resource
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

MEMORY_BYTES = 1_500_000_000  # of addresses; libraries and stacks are in it
CPU_S = 20
FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
QUALITIES = (85, 60, 35)
MOST_SCALE = 3.0
NO_PASSWORD = 4  # what PDFium says of an encrypted file


class Refused(Exception):
    """The file is not shown; *kind* is the class of the error."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def limit_resources() -> None:
    """Let the system end this process, or refuse it memory, when it takes too much."""
    for what, most in ((resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_CPU, CPU_S)):
        hard = resource.getrlimit(what)[1]
        low = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (low, hard))


def image(file: BinaryIO, options: dict[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Return an image, not larger than *side* pixels and *bytes*."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = None  # the size is looked at below, before anything is unpacked
    data = file.read()
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as opened:
            refuse_size(*opened.size, options["pixels"])
            about: dict[str, Any] = {
                "width": opened.width,
                "height": opened.height,
                "format": opened.format,
            }
            about["animated"] = bool(getattr(opened, "is_animated", False))
            opened.seek(0)
            opened.draft("RGB", (options["side"], options["side"]))
            turned = ImageOps.exif_transpose(opened)
            turned.load()
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, IndexError) as error:
        raise Refused("broken_file", f"is not a readable image: {error}") from None
    is_turned = opened.getexif().get(0x0112, 1) != 1
    fits = max(about["width"], about["height"]) <= options["side"] and len(data) <= options["bytes"]
    if fits and not is_turned and not about["animated"]:
        return {**about, "kept": True, "shown": list(turned.size)}, [data]
    media, made, size = encoded(turned, options, is_photo=about["format"] == "JPEG")
    return {**about, "kept": False, "media_type": media, "shown": list(size)}, [made]


def refuse_size(width: int, height: int, most: int) -> None:
    """Refuse an image of more pixels than *most*."""
    if width * height > most:
        raise Refused(
            "too_large",
            f"has {width:,} x {height:,} pixels; at most {most:,} in all are unpacked",
        )


def encoded(
    picture: Any, options: dict[str, Any], *, is_photo: bool = False
) -> tuple[str, bytes, tuple[int, int]]:
    """Make *picture* small enough: first in size, then as JPEG ever coarser."""
    from PIL import Image

    sees_through = picture.mode in {"RGBA", "LA", "PA"} or "transparency" in picture.info
    picture = picture.convert("RGBA" if sees_through else "RGB")
    picture.thumbnail((options["side"], options["side"]))
    if not is_photo:
        out = io.BytesIO()
        picture.save(out, "PNG")
        if out.tell() <= options["bytes"] // 4:
            return "image/png", out.getvalue(), picture.size
    ground = Image.new("RGB", picture.size, "white")
    ground.paste(picture, mask=picture if sees_through else None)
    while True:
        for quality in QUALITIES:
            out = io.BytesIO()
            ground.save(out, "JPEG", quality=quality)
            if out.tell() <= options["bytes"]:
                return "image/jpeg", out.getvalue(), ground.size
        ground.thumbnail((max(1, ground.width // 2), max(1, ground.height // 2)))


def pdf(file: BinaryIO, options: dict[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Return the text of some pages, and pictures of those that have none."""
    import pypdfium2  # type: ignore[import-untyped]

    try:
        document = pypdfium2.PdfDocument(file)
        total = len(document)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) == NO_PASSWORD or "password" in str(error).lower():
            raise Refused("encrypted", "is encrypted; make a copy without a password") from None
        raise Refused("broken_file", f"is not a readable PDF: {error}") from None
    pages: list[dict[str, Any]] = []
    pictures: list[bytes] = []
    last = min(total, options["first"] + options["limit"] - 1)
    for page, told in pages_of(document, options["first"], last, options["characters"]):
        if page is not None and not told["text"].strip():
            show(page, told, pictures, options)
        pages.append(told)
    return {"total": total, "pages": pages}, pictures


def pages_of(
    document: Any, first: int, last: int, most: int
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield each page with its number and text, no page where it is broken."""
    import pypdfium2

    for number in range(first, last + 1):
        try:
            page = document[number - 1]
            text = page.get_textpage().get_text_bounded()
        except pypdfium2.PdfiumError as error:
            yield None, {"number": number, "text": "", "note": f"cannot be read: {error}"}
            continue
        clean = text.replace("\r\n", "\n").replace("\r", "\n").replace("\ufffe", "-")
        told = {"number": number, "text": clean[:most], "cut": max(0, len(clean) - most)}
        yield page, told
        page.close()


def show(page: Any, told: dict[str, Any], pictures: list[bytes], options: dict[str, Any]) -> None:
    """Add a picture of *page*, or say in *told* why there is none."""
    if not options["pictures"]:
        told["note"] = options["no_pictures"]
    elif len(pictures) >= options["pictures"]:
        told["note"] = f"no text; only {options['pictures']} pages are shown as images in one call"
    else:
        width, height = page.get_size()
        scale = min(MOST_SCALE, options["side"] / max(width, height, 1))
        picture = page.render(scale=scale).to_pil()
        media, data, _ = encoded(picture, options)
        told["media_type"] = media
        pictures.append(data)


def main() -> None:
    """Answer on standard output; a refusal is an answer, too."""
    limit_resources()
    options = json.loads(sys.argv[1])
    look = {"image": image, "pdf": pdf}[options["kind"]]
    try:
        about, pictures = look(sys.stdin.buffer, options)
    except Refused as error:
        about, pictures = {"error": error.kind, "message": str(error)}, []
    except MemoryError:
        about, pictures = {"error": "too_large", "message": "takes too much memory to unpack"}, []
    head = {**about, "sizes": [len(one) for one in pictures]}
    sys.stdout.buffer.write(json.dumps(head).encode() + b"\n" + b"".join(pictures))


if __name__ == "__main__":
    main()
