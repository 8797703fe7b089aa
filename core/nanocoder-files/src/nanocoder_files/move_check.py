"""A move must not make readable, under another name, a file that a policy refuses."""

import stat

from nanocoder_files.path_text import escape_path
from nanocoder_files.readable import Readable
from nanocoder_files.root import Root
from nanocoder_files.tree import Tree
from nanocoder_files.walk_filter import LeftOut, WalkFilter, read_denied


def refuse_to_reveal(root: Root, tree: Tree, readable: Readable, source: str, target: str) -> None:
    """Raise read_denied where moving *source* to *target* makes readable what a policy refuses.

    Files below a folder count. A link is only a name: its target stays where it is.
    """
    readable = readable.now()
    here = escape_path(root.resolved(source, follow=False))
    there = escape_path(root.resolved(target, follow=False))
    below = _left_out(tree, readable, source) if _is_folder(root, source) else []
    for path in (here, *below):
        reason = _reveals(readable, path, there + path[len(here) :])
        if reason:
            raise read_denied(path, reason)


def _is_folder(root: Root, raw: str) -> bool:
    try:
        with root.place(raw, follow=False) as place:
            return stat.S_ISDIR(place.stat().st_mode)
    except OSError:  # missing: the move says so
        return False


def _left_out(tree: Tree, readable: Readable, folder: str) -> list[str]:
    """Return what a walk of *folder* leaves out."""
    left_out = LeftOut()
    walk = tree.walk(
        folder,
        ignore=False,
        skip=(),
        hidden=True,
        details=False,
        depth=0,
        walk_filter=WalkFilter(readable, left_out, asks=True),
    )
    for _ in walk:
        pass
    return [*left_out.files, *left_out.folders]


def _reveals(readable: Readable, before: str, after: str) -> str:
    """Return why *before* may not simply be read, if that is no reason for *after*; or ""."""
    if readable.refuses(after):
        return ""
    refusal = readable.refuses(before)
    return refusal or (readable.asks(before) if not readable.asks(after) else "")
