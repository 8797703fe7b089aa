"""Unpack one image or PDF in a process of its own, with little memory and time.

The file may be an attack: huge when it is unpacked, or made to crash the library.
`python -I viewer.py OPTIONS` gets the file as standard input, and writes one line of JSON and then
the bytes of its pictures. Only the standard library, pillow and pypdfium2 are imported here.
"""

import io
import json
import resource
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

MEMORY_BYTES = 1_500_000_000  # of address space, libraries and stacks included
CPU_S = 20
FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
QUALITIES = (85, 60, 35)
MAX_SCALE = 3.0
NO_PASSWORD = 4  # PDFium's error for an encrypted file


class Refused(Exception):
    """The file is not shown; *kind* is the class of the error."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def limit_resources() -> None:
    """Let the system end this process, or refuse it memory, when it takes too much."""
    for limit, maximum in ((resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_CPU, CPU_S)):
        hard = resource.getrlimit(limit)[1]
        low = maximum if hard == resource.RLIM_INFINITY else min(maximum, hard)
        resource.setrlimit(limit, (low, hard))


def image(file: BinaryIO, options: dict[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Return an image, not larger than *side* pixels and *bytes*."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = None  # the size is checked below, before anything is unpacked
    data = file.read()
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as opened:
            refuse_size(*opened.size, options["pixels"])
            metadata: dict[str, Any] = {
                "width": opened.width,
                "height": opened.height,
                "format": opened.format,
            }
            metadata["animated"] = bool(getattr(opened, "is_animated", False))
            opened.seek(0)
            opened.draft("RGB", (options["side"], options["side"]))
            turned = ImageOps.exif_transpose(opened)
            turned.load()
    except UnidentifiedImageError:
        raise Refused("broken_file", "is not a readable image: it is cut off or damaged") from None
    except (OSError, ValueError, SyntaxError, IndexError) as error:
        raise Refused("broken_file", f"is not a readable image: {error}") from None
    is_turned = opened.getexif().get(0x0112, 1) != 1
    fits = (
        max(metadata["width"], metadata["height"]) <= options["side"]
        and len(data) <= options["bytes"]
    )
    if fits and not is_turned and not metadata["animated"]:
        return {**metadata, "kept": True, "shown": list(turned.size)}, [data]
    media, encoded, size = encode(turned, options, is_photo=metadata["format"] == "JPEG")
    return {**metadata, "kept": False, "media_type": media, "shown": list(size)}, [encoded]


def refuse_size(width: int, height: int, most: int) -> None:
    """Refuse an image of more pixels than *most*."""
    if width * height > most:
        raise Refused(
            "too_large",
            f"has {width:,} x {height:,} pixels; at most {most:,} in all are unpacked",
        )


def encode(
    picture: Any, options: dict[str, Any], *, is_photo: bool = False
) -> tuple[str, bytes, tuple[int, int]]:
    """Make *picture* small enough: scale it down first, then use JPEG of lower quality."""
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
    """Return the text of some pages, and pictures of pages without text."""
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
    for page, page_data in read_pages(document, options["first"], last, options["characters"]):
        if page is not None and not page_data["text"].strip():
            show(page, page_data, pictures, options)
        pages.append(page_data)
    return {"total": total, "pages": pages}, pictures


def read_pages(
    document: Any, first: int, last: int, most: int
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield each page with its number and text; None for a broken page."""
    import pypdfium2

    for number in range(first, last + 1):
        try:
            page = document[number - 1]
            text = page.get_textpage().get_text_bounded()
        except pypdfium2.PdfiumError as error:
            yield None, {"number": number, "text": "", "note": f"cannot be read: {error}"}
            continue
        clean = text.replace("\r\n", "\n").replace("\r", "\n").replace("\ufffe", "-")
        page_data = {"number": number, "text": clean[:most], "cut": max(0, len(clean) - most)}
        yield page, page_data
        page.close()


def show(
    page: Any, page_data: dict[str, Any], pictures: list[bytes], options: dict[str, Any]
) -> None:
    """Add a picture of *page*, or to *page_data* the reason for none."""
    if not options["pictures"]:
        page_data["note"] = options["no_pictures"]
    elif len(pictures) >= options["pictures"]:
        page_data["note"] = (
            f"no text; only {options['pictures']} pages are shown as images in one call"
        )
    else:
        width, height = page.get_size()
        scale = min(MAX_SCALE, options["side"] / max(width, height, 1))
        picture = page.render(scale=scale).to_pil()
        media, data, _ = encode(picture, options)
        page_data["media_type"] = media
        pictures.append(data)


def main() -> None:
    """Answer on standard output; a refusal is an answer, too."""
    limit_resources()
    options = json.loads(sys.argv[1])
    look = {"image": image, "pdf": pdf}[options["kind"]]
    try:
        metadata, pictures = look(sys.stdin.buffer, options)
    except Refused as error:
        metadata, pictures = {"error": error.kind, "message": str(error)}, []
    except MemoryError:
        metadata, pictures = (
            {"error": "too_large", "message": "takes too much memory to unpack"},
            [],
        )
    head = {**metadata, "sizes": [len(picture) for picture in pictures]}
    sys.stdout.buffer.write(json.dumps(head).encode() + b"\n" + b"".join(pictures))


if __name__ == "__main__":
    main()
