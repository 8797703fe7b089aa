"""The kind of a file, from its first bytes."""

import mimetypes

_MEDIA = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
)
_BINARIES = (
    (b"\x7fELF", "ELF program or library"),
    (b"PK\x03\x04", "zip archive"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\0", "xz data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"SQLite format 3\0", "SQLite database"),
    (b"\0asm", "WebAssembly module"),
    (b"\xca\xfe\xba\xbe", "Java class or Mach-O program"),
    (b"MZ", "Windows program"),
)


def attachment_type(head: bytes) -> str:
    """Return the media type of a file that models can view, or ""."""
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "image/webp"
    return next((media for mark, media in _MEDIA if head.startswith(mark)), "")


def describe_binary(head: bytes, path: str) -> str:
    """Return the kind of the file, by its content or else its name."""
    for mark, kind in _BINARIES:
        if head.startswith(mark):
            return kind
    return mimetypes.guess_type(path)[0] or "unknown type"
