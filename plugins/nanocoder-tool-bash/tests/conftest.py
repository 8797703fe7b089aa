import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from nanocoder import Cancel, ToolContext, ToolResult, Workspace
from nanocoder_tool_bash import Settings, bash, bash_job
from nanocoder_tool_bash.jobs import open_jobs


class Shell:
    """A workspace, and bash in it as the executor would call it."""

    def __init__(self, root: Path, outputs: Path) -> None:
        self.root = root
        self.outputs = outputs
        self.cancel = Cancel()
        self.settings = Settings()
        self.wrap: Callable[[list[str], Sequence[int]], list[str]] = lambda argv, _ports: argv
        self.workspace = Workspace(root)
        self.jobs = open_jobs()
        self.pieces: list[tuple[float, str]] = []

    def __call__(self, command: str, **more: object) -> ToolResult:
        return bash.invoke(self.context(), bash.signature.check({"command": command, **more}))

    def job(self, action: str, **more: object) -> ToolResult:
        """Call bash_job."""
        arguments = {"action": action, **more}
        return bash_job.invoke(self.context(), bash_job.signature.check(arguments))

    def context(self) -> ToolContext:
        """Return what a handler gets."""
        return ToolContext(
            session_id="s",
            message_id="call-1",
            workspace=self.workspace,
            working_directory=self.root,
            cancelled=self.cancel,
            settings=self.settings,
            artifact=self.keep,
            wrap=self.wrap,
            resource=lambda _: self.jobs,
            progress=self.note_progress,
        )

    def note_progress(self, text: str, *, is_output: bool) -> None:
        assert is_output
        self.pieces.append((time.monotonic(), text))

    def keep(self, name: str, data: bytes) -> str:
        path = self.outputs / name
        path.write_bytes(data)
        return str(path)


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    root, outputs = tmp_path / "workspace", tmp_path / "kept"
    root.mkdir()
    outputs.mkdir()
    started = Shell(root.resolve(), outputs)
    yield started
    started.jobs.close()
    started.workspace.close()


@pytest.fixture
def seconds() -> str:
    """A number for `sleep` that no other process on this machine uses."""
    return f"3{uuid.uuid4().int % 10**9}"


@pytest.fixture
def is_running() -> Callable[[str], bool]:
    """Return True if some process has this word among its arguments."""

    def find(word: str) -> bool:
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                except OSError:
                    continue
                if word.encode() in words:
                    return True
        return False

    return find
