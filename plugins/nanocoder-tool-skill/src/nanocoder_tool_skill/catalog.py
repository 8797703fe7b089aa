"""Find skills: in folders of the person, and in folders of the workspace, which are data."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen
from nanocoder import ToolError, Workspace, for_terminal
from nanocoder_kit_files.glob.git_ignore import walk
from nanocoder_kit_files.text import read_text_file

from nanocoder_tool_skill.document import Document, parse_document
from nanocoder_tool_skill.folders import Settings, own_folders

NAME = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
MAX_NAME_CHARS = 64
MAX_SKILLS = 200
MAX_BYTES = 200_000
FILES = ("SKILL.md", "skill.md")
MAX_FILES = 50
DENIED = "read_denied"


@frozen
class Skill:
    """A folder with a SKILL.md. *root* is a folder of the person; None for one of the workspace.

    *base* is the skill's folder in its workspace, "." in one of its own.
    """

    name: str
    root: Path | None
    base: str

    @property
    def where(self) -> str:
        """The folder, for people and models."""
        return str(self.root) if self.root is not None else self.base

    @property
    def is_own(self) -> bool:
        """Return True if the skill is the user's own and not the project's."""
        return self.root is not None

    def document(self, workspace: Workspace) -> Document:
        """Read the SKILL.md; raises ToolError."""
        with self._open(workspace) as place:
            for name in FILES:
                if place.is_file(self._inside(place, name)):
                    return parse_document(_text(place, self._inside(place, name)))
        raise ToolError("it has no SKILL.md", error_class="invalid_skill")

    def text(self, workspace: Workspace, file: str) -> str:
        """Read another file of the skill; raises ToolError."""
        with self._open(workspace) as place:
            return _text(place, self._inside(place, file))

    def files(self, workspace: Workspace) -> list[str]:
        """Return the names of its other files, relative to its folder."""
        names = []
        with self._open(workspace) as place:
            for entry in walk(place, self.base, details=False, depth=3):
                name = entry.path if self.base == "." else entry.path[len(self.base) + 1 :]
                if entry.kind == "file" and name not in FILES:
                    names.append(name)
                if len(names) == MAX_FILES:
                    break
        return names

    @contextmanager
    def _open(self, workspace: Workspace) -> Iterator[Workspace]:
        if self.root is None:
            yield workspace
            return
        with Workspace(self.root) as own:
            yield own

    def _inside(self, workspace: Workspace, file: str) -> str:
        """Return the path of a file of this skill; links must not lead out of its folder."""
        path = file if self.base == "." else f"{self.base}/{file}"
        real = workspace.resolve(path)
        if self.base != "." and not real.startswith(f"{self.base}/"):
            raise ToolError(
                f"{file!r} is outside the skill {self.name!r}",
                error_class="path_outside_workspace",
            )
        return real


def find_skills(settings: Settings, workspace: Workspace) -> dict[str, Skill]:
    """Return all skills by name; the user's own win over the project's, folders in order."""
    skills: dict[str, Skill] = {}
    for skill in (*_find_own(settings.folders), *_find_in_project(settings.project, workspace)):
        if len(skills) < MAX_SKILLS:
            skills.setdefault(skill.name, skill)
    return dict(sorted(skills.items()))


def _find_own(folders: Sequence[str]) -> Iterator[Skill]:
    for folder in own_folders(folders):
        for path in sorted(folder.iterdir()):
            if _is_name(path.name) and any((path / name).is_file() for name in FILES):
                yield Skill(path.name, path, ".")


def _find_in_project(folders: Sequence[str], workspace: Workspace) -> Iterator[Skill]:
    for folder in folders:
        try:
            where = workspace.relative(folder)
            entries = workspace.scan(where) if workspace.resolve(where) == where else []
        except ToolError:
            continue
        for entry in entries:
            if entry.kind == "dir" and _is_name(entry.name):
                path = f"{where}/{entry.name}"
                if any(_is_file(workspace, f"{path}/{name}") for name in FILES):
                    yield Skill(entry.name, None, path)


def _is_file(workspace: Workspace, path: str) -> bool:
    try:
        return workspace.is_file(path)
    except ToolError:
        return True  # loading the skill then reports the problem of its file


def _is_name(name: str) -> bool:
    return len(name) <= MAX_NAME_CHARS and name == name.lower() and bool(NAME.fullmatch(name))


def _text(workspace: Workspace, path: str) -> str:
    # note=False: loading a skill is no reading of a file that a later edit may rely on.
    text = read_text_file(workspace, path, max_bytes=MAX_BYTES, note=False).text
    if not workspace.readable_below()(workspace.resolve(path)):
        # The call names a skill and no path, so no policy has judged this file.
        raise ToolError(f"{path!r} may be read only by a call that names it", error_class=DENIED)
    # Hidden characters must not instruct the model.
    return for_terminal(text)
