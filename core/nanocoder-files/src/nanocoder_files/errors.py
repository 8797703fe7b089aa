"""The one exception of this package."""

from nanocoder_schema import ToolError


class WorkspaceError(ToolError):
    """A path may not, or cannot, be used.

    error_class is one of path_outside_workspace, symlink_loop, file_not_found, not_a_regular_file,
    is_a_directory, not_a_directory, file_exists, too_large, stale_read, binary_file,
    permission_denied, read_denied, disk_full, invalid_path, protected_path, io_error.
    """

    error_class = "path_outside_workspace"
