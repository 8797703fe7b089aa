"""The one exception of this package, and errors of the operating system in its words."""

import errno
import os
from collections.abc import Iterable

from nanocoder_schema import ToolError

MAX_NAMES_COMPARED = 2_000
NEAREST = 3

_CLASSES = {
    errno.ENOENT: ("file_not_found", "there is no file '{path}'"),
    errno.ENOTDIR: ("not_a_directory", "'{path}', or what should hold it, is not a directory"),
    errno.EISDIR: ("is_a_directory", "'{path}' is a directory, not a file"),
    errno.EEXIST: ("file_exists", "'{path}' exists already"),
    errno.ENOTEMPTY: ("file_exists", "'{path}' is a directory that is not empty"),
    errno.EACCES: ("permission_denied", "permission to use '{path}' is denied"),
    errno.EPERM: ("permission_denied", "permission to use '{path}' is denied"),
    errno.EROFS: ("permission_denied", "'{path}' is on a file system that is read-only"),
    errno.ENOSPC: ("disk_full", "no space is left for '{path}'; what was there is unchanged"),
    errno.EDQUOT: ("disk_full", "the quota is used up by '{path}'; what was there is unchanged"),
    errno.EFBIG: ("disk_full", "'{path}' would be too large; what was there is unchanged"),
    errno.ELOOP: ("symlink_loop", "'{path}' leads through too many links"),
    errno.ENAMETOOLONG: ("invalid_path", "a name in '{path}' is too long"),
    errno.ENXIO: ("not_a_regular_file", "'{path}' is a socket or a device, not a file"),
    errno.ENODEV: ("not_a_regular_file", "'{path}' is a device, not a file"),
}
FULL = frozenset(number for number, (name, _) in _CLASSES.items() if name == "disk_full")
"""The error numbers of a full disk, quota or file."""


class WorkspaceError(ToolError):
    """A path may not, or cannot, be used.

    error_class is one of path_outside_workspace, symlink_loop, file_not_found, not_a_regular_file,
    is_a_directory, not_a_directory, file_exists, too_large, stale_read, binary_file,
    permission_denied, read_denied, disk_full, invalid_path, protected_path, io_error.
    """

    error_class = "path_outside_workspace"


def problem(error: OSError, path: str, names: Iterable[str] = ()) -> WorkspaceError:
    """Translate *error*; *names* are the paths that exist beside a missing one."""
    reason = os.strerror(error.errno) if error.errno else str(error)
    error_class, text = _CLASSES.get(error.errno or 0, ("io_error", f"'{{path}}': {reason}"))
    message = text.format(path=path)
    if error_class != "file_not_found":
        return WorkspaceError(message, error_class=error_class)
    from nanocoder_schema import did_you_mean, nearest  # only mistakes need them

    near = nearest(path, list(names)[:MAX_NAMES_COMPARED], limit=NEAREST)
    message += did_you_mean(path, near, limit=NEAREST)
    return WorkspaceError(message, error_class=error_class, data={"nearest": near})
