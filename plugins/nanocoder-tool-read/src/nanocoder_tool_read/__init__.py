"""The tool read_file: text by line window; images and PDF as attachments; notebooks as cells."""

import os
from collections.abc import Sequence
from typing import Annotated, Any, BinaryIO

from attrs import Factory, frozen
from nanocoder import (
    Attachment,
    Effect,
    Param,
    ToolContext,
    ToolError,
    ToolResult,
    WorkspaceError,
    count_tokens,
    counted,
    hookimpl,
    tool,
)
from nanocoder_kit_files.text import (
    TextFile,
    decode,
    notebook_of,
    picture_problem,
    show_hidden,
)

from nanocoder_tool_read.media import attachment_type, describe_binary
from nanocoder_tool_read.window import (
    Window,
    has_mark,
    is_binary,
    window_of_file,
    window_of_text,
)

DEFAULT_LINES = 2_000
HEAD_BYTES = 8_192
SAMPLE_BYTES = 200_000  # the part of which tokens are counted
AT_ONCE_BYTES = 1_000_000  # larger files are read in pieces
MAX_NAMED = 20  # entries of a directory, where a file was meant
NEW_CELL = "[edit_file changes these lines; a new cell begins with the line [cell new: code]]"
UNKNOWN = 1 << 62  # lines of a file that were not counted
# A factory hides these defaults from the schema: a model need not know them.
FIRST = Factory(lambda: 1)
ALL = Factory(lambda: DEFAULT_LINES)


@frozen
class Media:
    """A file that is no text: its *type*, its first bytes and its size in bytes."""

    path: str
    type: str
    head: bytes
    size: int


@frozen
class Settings:
    """The settings of `[plugins.tool-read]`.

    *max_bytes* is the limit for notebooks, for text in UTF-16, for more than a page of text and for
    files attached unchanged, *max_media_bytes* the one of images and PDF where the extras are there
    to read them; *max_line* the characters of a line that are shown.
    """

    max_bytes: int = 5_000_000
    max_media_bytes: int = 50_000_000
    max_line: int = 2_000


@tool(
    risk="safe",
    effects={Effect.READ, Effect.IDEMPOTENT},
    examples=[{"path": "hello.py"}, {"path": "hello.py", "offset": 1, "limit": 20}],
    always_listed=True,
    short="Read a file; lines come with their numbers.",
)
def read_file(
    ctx: ToolContext,
    path: Annotated[str, "File; relative to the workspace, e.g. src/app.py."],
    offset: Annotated[int, Param("First line or PDF page, from 1; to continue.", ge=1)] = FIRST,
    limit: Annotated[int, Param("How many; lines, or pages of a PDF.", ge=1)] = ALL,
    *,
    info: Annotated[bool, "Only sizes; lines, bytes and tokens, no content."] = False,
) -> ToolResult:
    """Read a file: numbered lines of text, cells of a notebook, an image, a PDF.

    Returns at most 2,000 lines, each cut at 2,000 characters, and says how to continue. To search
    in files use grep; for a directory use list_files.
    """
    settings: Settings = ctx.settings or Settings()
    with _open(ctx, path) as file:
        size = os.fstat(file.fileno()).st_size
        head = file.read(HEAD_BYTES)
        media = attachment_type(head)
        if info:
            return _info(ctx, file, Media(path, media or "", head, size))
        if media:
            return _media(ctx, file, Media(path, media, head, size), offset, limit, settings)
        if is_binary(head):
            return _binary_result(ctx, head, path, size)
        _check_size(path, size, limit, settings)
        if size > AT_ONCE_BYTES and not (has_mark(head) or path.endswith(".ipynb")):
            file.seek(0)
            window = window_of_file(file, offset, limit, settings.max_line)
            # The digest of a large file would cost more than the window.
            status = os.fstat(file.fileno())
            return _text_result(ctx, path, window, status, is_guessed=window.encoding != "utf-8")
        data = head + file.read(max(0, settings.max_bytes + 1 - len(head)))
    if len(data) > settings.max_bytes:
        advice = "read a part of it or search in it"
        raise _too_large(path, max(size, len(data)), settings.max_bytes, advice)
    return _read_at_once(ctx, path, data, offset, limit, settings.max_line)


@hookimpl
def nanocoder_tools() -> list[Any]:
    """Offer read_file."""
    return [read_file]


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of `[plugins.tool-read]`."""
    return Settings


def _open(ctx: ToolContext, path: str) -> BinaryIO:
    try:
        return ctx.workspace.open(path)
    except WorkspaceError as error:
        if error.error_class != "is_a_directory":
            raise
        names = [repr(entry.path) for entry in ctx.workspace.scan(path)]
        there = f": {', '.join(names[:MAX_NAMED])}" if names else ""
        more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
        raise WorkspaceError(
            f"{path!r} is a directory; list_files shows what is in it{there}{more}",
            error_class=error.error_class,
        ) from None


def _read_at_once(
    ctx: ToolContext, path: str, data: bytes, offset: int, limit: int, max_line: int
) -> ToolResult:
    try:
        file = decode(path, data)
    except WorkspaceError:
        return _binary_result(ctx, data[:HEAD_BYTES], path, len(data))
    notebook = notebook_of(file)
    text = notebook.text if notebook else file.text
    window = window_of_text(text, offset, limit, max_line, encoding=file.encoding)
    more = (NEW_CELL,) if notebook else ()
    return _text_result(ctx, path, window, file, more, is_guessed=file.is_guessed)


def _text_result(
    ctx: ToolContext,
    path: str,
    window: Window,
    version: TextFile | os.stat_result,
    more_notes: Sequence[str] = (),
    *,
    is_guessed: bool,
) -> ToolResult:
    where = ctx.workspace.relative(path)
    if not window.lines:
        _check_offset(where, window)
    page = window.page()
    size, digest = (
        (version.size, version.digest) if isinstance(version, TextFile) else (version.st_size, "")
    )
    total = UNKNOWN if window.total is None else window.total
    ctx.workspace.note_read(path, digest or version, page.read_lines, total)  # type: ignore[arg-type]
    numbered = [f"{number}\t{line}" for number, line in enumerate(page.lines, page.first)]
    notes = [*_notes(ctx, page), *more_notes]
    if is_guessed:
        notes.append(f"[not UTF-8: read as {window.encoding}, which is a guess]")
    return ToolResult(
        "\n".join([show_hidden("\n".join(numbered)), *notes] if numbered else notes),
        title=where,
        data={
            "path": where,
            "first": window.first,
            "total": window.total,
            "lines": list(window.lines),
        },
        metadata={
            "path": where,
            "lines": window.total,
            "first": window.first,
            "last": page.last,
            "size": size,
            "encoding": window.encoding,
            "digest": digest,
            "truncated": page.more,
            "summary": counted(len(page.lines), "line"),
        },
    )


def _notes(ctx: ToolContext, window: Window) -> list[str]:
    if not window.lines:
        return ["[the file is empty]"]
    notes = []
    if window.clipped:
        are = "line is" if len(window.clipped) == 1 else "lines are"
        notes.append(f"[{len(window.clipped)} {are} longer than shown; grep finds what is there]")
    total = "" if window.total is None else f" of {window.total}"
    if window.more:
        can_go_on = ctx.offers("read_file", "offset")
        rest = f"continue with offset {window.last + 1}" if can_go_on else "grep finds the others"
        notes.append(f"[lines {window.first}-{window.last}{total}; {rest}]")
    elif window.first > 1:
        notes.append(f"[lines {window.first}-{window.last}{total}]")
    return notes


def _check_offset(path: str, window: Window) -> None:
    if window.first > 1:
        has = counted(window.total or 0, "line")
        raise ToolError(
            f"offset {window.first} is past the end: {path!r} has {has}",
            error_class="invalid_arguments",
            data={"lines": window.total},
        )


def _check_size(path: str, size: int, limit: int, settings: Settings) -> None:
    if size > settings.max_bytes and limit > DEFAULT_LINES:
        advice = f"read at most {DEFAULT_LINES:,} lines of it, or use grep"
        raise _too_large(path, size, settings.max_bytes, advice)


def _too_large(path: str, size: int, most: int, advice: str) -> WorkspaceError:
    return WorkspaceError(
        f"{path!r} has {size:,} bytes, more than the {most:,} that are read at once; {advice}",
        error_class="too_large",
        data={"size": size, "limit": most},
    )


def _media(
    ctx: ToolContext, file: BinaryIO, media: Media, offset: int, limit: int, settings: Settings
) -> ToolResult:
    """Show an image or PDF by the library that reads it, or attach it unchanged without one."""
    from nanocoder_tool_read import media_process

    is_pdf = media.type == "application/pdf"
    extra, library = ("pdf", "pypdfium2") if is_pdf else ("images", "PIL")
    if not media_process.has(library):
        most, package = media_process.MAX_IMAGE_BYTES, f"nanocoder-tool-read[{extra}]"
        return _attach_unchanged(ctx, file, media, settings, most, package)
    if media.size > settings.max_media_bytes:
        raise _too_large(media.path, media.size, settings.max_media_bytes, "make a smaller copy")
    where = ctx.workspace.relative(media.path)
    metadata: dict[str, Any] = {"path": where, "size": media.size, "media_type": media.type}
    if is_pdf:
        text, page_metadata, attachments = media_process.pages(ctx, file, where, offset, limit)
        metadata |= page_metadata
    else:
        image, text = media_process.image(ctx, file, where)
        attachments = (image,)
        metadata |= {"media_type": image.media_type, "truncated": False}
    return ToolResult(text, title=where, data=metadata, metadata=metadata, attachments=attachments)


def _attach_unchanged(
    ctx: ToolContext, file: BinaryIO, media: Media, settings: Settings, most: int, package: str
) -> ToolResult:
    """Attach a file whose library is not installed, an image only up to *most* bytes."""
    if media.size > settings.max_bytes:
        advice = f"make a smaller copy, or install {package}"
        raise _too_large(media.path, media.size, settings.max_bytes, advice)
    where = ctx.workspace.relative(media.path)
    data = media.head + file.read(settings.max_bytes)
    is_small = media.type == "application/pdf" or len(data) <= most
    if is_small and (problem := picture_problem(data, media.type)):
        raise ToolError(f"{where!r} is not attached: {problem}", error_class="broken_file")
    how = "attached" if is_small else f"not attached: to make it smaller install {package}"
    if media.type == "application/pdf":
        how += f"; to read it by page install {package}"
    return ToolResult(
        f"[{media.type}, {counted(len(data), 'byte')}, {how}]",
        title=where,
        data={"path": where, "media_type": media.type, "size": len(data)},
        metadata={
            "path": where,
            "size": len(data),
            "media_type": media.type,
            "truncated": not is_small,
        },
        attachments=(Attachment(media.type, data, where),) if is_small else (),
    )


def _info(ctx: ToolContext, file: BinaryIO, media: Media) -> ToolResult:
    """Return size, lines and tokens of a file without its content."""
    where = ctx.workspace.relative(media.path)
    metadata: dict[str, Any] = {"path": where, "size": media.size}
    if media.type or is_binary(media.head):
        kind = media.type or f"binary file: {describe_binary(media.head, where)}"
        metadata |= {"kind": kind}
        text = f"{kind}, {counted(media.size, 'byte')}"
        return ToolResult(text, title=where, data=metadata, metadata=metadata)
    sample = media.head + file.read(SAMPLE_BYTES - len(media.head))
    tokens = count_tokens(sample.decode("utf-8", "replace"))
    lines, last = sample.count(b"\n"), sample[-1:]
    while piece := file.read(AT_ONCE_BYTES):
        ctx.cancelled.check()
        lines, last = lines + piece.count(b"\n"), piece[-1:]
    lines += last not in {b"", b"\n"}
    tokens = tokens * media.size // len(sample) if sample else 0
    metadata |= {"lines": lines, "tokens": tokens}
    size = f"{counted(lines, 'line')}, {counted(media.size, 'byte')}"
    text = f"{size}, about {counted(tokens, 'token')}"
    return ToolResult(text, title=where, data=metadata, metadata=metadata)


def _binary_result(ctx: ToolContext, head: bytes, path: str, size: int) -> ToolResult:
    where = ctx.workspace.relative(path)
    kind = describe_binary(head, where)
    return ToolResult(
        f"[binary file: {kind}, {counted(size, 'byte')}; its content is not shown]",
        title=where,
        data={"path": where, "kind": kind, "size": size},
        metadata={"path": where, "size": size, "kind": kind, "truncated": True},
    )
