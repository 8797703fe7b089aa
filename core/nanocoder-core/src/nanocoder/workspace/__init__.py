"""The path sandbox: files below one root, opened beneath a directory handle, changed atomically."""

from nanocoder.workspace.content import TextFile
from nanocoder.workspace.entries import Entry
from nanocoder.workspace.gate import LeftOut
from nanocoder.workspace.named import named_paths
from nanocoder.workspace.protected import Protection, ProtectionKind, fold_name
from nanocoder.workspace.reader import MAX_BYTES
from nanocoder.workspace.resolution import ResolvedPath
from nanocoder.workspace.spelling import escape_path, unescape_path
from nanocoder.workspace.tree import Files
from nanocoder.workspace.workspace import Workspace
from nanocoder.workspace.writing import Written

__all__ = [
    "MAX_BYTES",
    "Entry",
    "Files",
    "LeftOut",
    "Protection",
    "ProtectionKind",
    "ResolvedPath",
    "TextFile",
    "Workspace",
    "Written",
    "escape_path",
    "fold_name",
    "named_paths",
    "unescape_path",
]
