"""Files below one root, opened beneath a directory handle, changed as a whole or not at all."""

from nanocoder_schema import front_door

# Where each name lives; types are in __init__.pyi.
_NAMES = {
    "nanocoder_files.folder": "Entry Folder",
    "nanocoder_files.change": "Change FileKind FileState",
    "nanocoder_files.path_arguments": "named_paths",
    "nanocoder_files.paths": "WorkspaceError escape_path unescape_path",
    "nanocoder_files.private_files": """
        append_all holding lock_file open_private private_directory replace_file
        sync_directory writable_by_others write_private
    """,
    "nanocoder_files.protected": "Protection ProtectionKind fold_name is_git_name protection_of",
    "nanocoder_files.readable": "Closed OwnFolders PathFilter Readable",
    "nanocoder_files.reading": "MAX_BYTES",
    "nanocoder_files.resolution": "ResolvedPath resolver",
    "nanocoder_files.restore": "Restore recover recover_all",
    "nanocoder_files.rollback": "Restored Rollback",
    "nanocoder_files.snapshot": "Snapshot",
    "nanocoder_files.workspace": "Workspace",
    "nanocoder_files.writing": "Written",
}
__all__, __getattr__, __dir__ = front_door(__name__, _NAMES)
