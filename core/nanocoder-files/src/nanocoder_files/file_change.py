"""The record of a change as `Workspace` announces it to its listener."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from attrs import frozen
from nanocoder_schema import Value

_TEXTS: Final = ("root", "change", "path", "kind", "target", "before", "after", "backup")


@frozen(eq=False, repr=False)
class FileChange(Value):
    """One change as it was announced; a kill may have come before it.

    *seq* orders the changes. *change* is write, delete, move, make_dirs or remove_dir, *kind* file,
    directory or other. *before* and *after* are digests of the content, "" where there was none;
    *backup* is the copy of the content *before*, below the folder of backups. *folders* are
    directories that were made on the way.
    """

    seq: int
    root: str
    change: str
    path: str
    kind: str = "file"
    target: str = ""
    before: str = ""
    after: str = ""
    backup: str = ""
    mode: int = 0
    folders: tuple[str, ...] = ()
    call_id: str = ""

    @classmethod
    def of_data(cls, seq: int, data: Mapping[str, Any], call_id: str) -> "FileChange | None":
        """Return the change that was announced as *data*; None where it is damaged."""
        texts = {name: data[name] for name in _TEXTS if isinstance(data.get(name), str)}
        if not {"root", "change", "path"} <= texts.keys():
            return None
        mode = data.get("mode")
        folders: Sequence[Any] = data["made"] if isinstance(data.get("made"), list) else ()
        return cls(
            seq,
            **texts,
            mode=mode if isinstance(mode, int) else 0,
            folders=tuple(folder for folder in folders if isinstance(folder, str)),
            call_id=call_id,
        )


def apart_from(changes: Sequence[FileChange], paths: Iterable[str]) -> list[FileChange]:
    """Return the *changes* that neither touch *paths* nor where those were moved."""
    tied = set(paths)
    while True:
        more = {
            path
            for change in changes
            if change.target and {change.path, change.target} & tied
            for path in (change.path, change.target)
        }
        if more <= tied:
            return [change for change in changes if not {change.path, change.target} & tied]
        tied |= more
