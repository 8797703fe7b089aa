"""The parts that a workspace shares with its views for single calls."""

from collections.abc import Iterable
from pathlib import Path
from typing import Self

from attrs import frozen
from nanocoder_schema import Value

from nanocoder_files.backups import Backups
from nanocoder_files.outputs import Outputs
from nanocoder_files.readable import Readable
from nanocoder_files.reader import Reader
from nanocoder_files.root import Root
from nanocoder_files.tree import Tree
from nanocoder_files.write_note import WriteNote


@frozen(eq=False, repr=False)
class Parts(Value):
    """An open directory with all that reads, lists and records its files."""

    root: Root
    tree: Tree
    backups: Backups | None
    write_note: WriteNote
    change_logs: Path | None
    outputs: Outputs
    reader: Reader

    @classmethod
    def open(
        cls,
        root: Path,
        *,
        backups: Backups | None,
        force_walk: bool,
        extra_protected: Iterable[str],
        change_logs: Path | None,
        outputs: Path | None,
        readable: Readable,
    ) -> Self:
        """Open *root*; see `Workspace`."""
        opened = Root(root, force_walk=force_walk, extra_protected=extra_protected)
        session_outputs = Outputs(outputs)
        return cls(
            root=opened,
            tree=Tree(opened),
            backups=backups,
            write_note=WriteNote(change_logs, opened.path),
            change_logs=change_logs,
            outputs=session_outputs,
            reader=Reader(opened, session_outputs, readable),
        )
