"""Files below one root, opened beneath a directory handle, changed as a whole or not at all."""

# Where each name lives; types are in __init__.pyi.
_NAMES = {
    "nanocoder_files.content": "TextFile",
    "nanocoder_files.errors": "WorkspaceError",
    "nanocoder_files.file_change": "FileChange apart_from",
    "nanocoder_files.kept_files": "keep_file",
    "nanocoder_files.globs": "glob_expression",
    "nanocoder_files.path_arguments": "named_paths",
    "nanocoder_files.path_text": "escape_path unescape_path",
    "nanocoder_files.private_files": """
        append_all holding lock_file open_private private_directory replace_file sync_directory
    """,
    "nanocoder_files.protected": "Protection ProtectionKind fold_name protection_of",
    "nanocoder_files.readable": "LeftOut PathFilter Readable",
    "nanocoder_files.reader": "MAX_BYTES",
    "nanocoder_files.recovery": "discard_orphaned_logs recover",
    "nanocoder_files.resolution": "ResolvedPath resolver",
    "nanocoder_files.restore": "Restored",
    "nanocoder_files.rollback": "Rollback",
    "nanocoder_files.snapshot": "Snapshot",
    "nanocoder_files.tree": "Entry Files WalkRules",
    "nanocoder_files.undo": "UndoPlan carry_out plan_undo",
    "nanocoder_files.workspace": "Workspace",
    "nanocoder_files.writing": "Written",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = sorted(_HOME)  # noqa: PLE0605 - the table is the one list


def __getattr__(name: str) -> object:
    module = _HOME.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
