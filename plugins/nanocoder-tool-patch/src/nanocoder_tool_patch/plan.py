"""Plan a patch without applying it."""

from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256

from attrs import frozen
from nanocoder import ProtectionKind, ToolError, Workspace, WorkspaceError
from nanocoder_kit_files.diff import Diff, unified
from nanocoder_kit_files.text import TextChange, TextFile, encode, notebook_of, read_text_file

from nanocoder_tool_patch.hunks import Hunk, Section
from nanocoder_tool_patch.locate import locate

SHOWN_PROBLEMS = 5


@frozen
class Change:
    """The change of one file. *letter* is git's: A, M, D or R.

    *digest* is that of the present file ("" without a file), *data* its new content, *tolerant*
    the lines, from 1, of hunks that match only with other white space or signs, *added* are the
    lines that the patch adds, *mode* the permission bits that it sets, or 0. *encoding* is set if
    it was guessed. *is_appended*: lines were added at the end, because no location was given.
    """

    letter: str
    path: str
    before: str = ""
    after: str = ""
    data: bytes = b""
    digest: str = ""
    target: str = ""
    tolerant: tuple[int, ...] = ()
    added: str = ""
    mode: int = 0
    encoding: str = ""
    is_appended: bool = False

    @property
    def final_path(self) -> str:
        """The path that the file has afterwards."""
        return self.target or self.path

    def checked(self) -> TextChange:
        """Return the change for the checks before the write."""
        return TextChange(self.final_path, self.before, lambda: self.after, self.added)

    def diff(self) -> Diff:
        """Return the changes of the file as a diff."""
        return unified(self.before, self.after, self.final_path)


def plan(workspace: Workspace, sections: Sequence[Section]) -> list[Change]:
    """Locate every hunk, and prepare all bytes.

    Raises: ToolError with all problems, before anything is changed.
    """
    changes, problems = [], []
    for group in _by_file(workspace, sections):
        try:
            changes.append(_planned(workspace, group))
        except ToolError as error:
            problems.append((group[0], error))
    if problems:
        raise _error_of_all(problems)
    return changes


def _planned(workspace: Workspace, group: Sequence[Section]) -> Change:
    """Plan the sections of one file; several of them change it one after the other."""
    section = group[0]
    if section.kind != "update":
        return {"add": _add, "delete": _delete}[section.kind](workspace, section)
    return _update(workspace, group)


def _add(workspace: Workspace, section: Section) -> Change:
    path = _check_path(workspace, section.path)
    if workspace.exists(path):
        raise WorkspaceError("it exists; update it instead", error_class="file_exists")
    lines = [text for hunk in section.hunks for _, text in hunk.lines]
    if any(hunk.old for hunk in section.hunks):
        raise _invalid("a new file has no old lines")
    ends = all(hunk.ends_new for hunk in section.hunks)
    after = _join(lines, final_newline=ends)
    return Change("A", path, after=after, data=encode(after), added=after, mode=section.mode)


def _delete(workspace: Workspace, section: Section) -> Change:
    path = _check_path(workspace, section.path)
    _refuse_link(workspace, path)
    try:
        file = read_text_file(workspace, path, note=False)
    except WorkspaceError as error:
        if error.error_class != "binary_file" or section.hunks:
            raise
        data = workspace.read_bytes(path)
        return Change("D", path, data=data, digest=sha256(data).hexdigest())
    if section.hunks and _apply(file.text, section.hunks)[0]:
        raise ToolError(
            "the file has more lines than the patch deletes; read it again",
            error_class="text_not_found",
        )
    data = encode(file.text, file)
    return Change("D", path, before=file.text, data=data, digest=file.digest)


def _update(workspace: Workspace, group: Sequence[Section]) -> Change:
    last = group[-1]
    path = _check_path(workspace, last.path)
    target = _target(workspace, last, path) if last.target else ""
    file = read_text_file(workspace, path, note=False)
    before, after, data, tolerant = _updated(file, [section.hunks for section in group])
    mode = next((section.mode for section in group if section.mode), 0)
    if after == before and not target and not mode:
        raise _invalid("nothing would change")
    hunks = [hunk for section in group for hunk in section.hunks]
    added = "\n".join(text for hunk in hunks for mark, text in hunk.lines if mark == "+")
    return Change(
        "R" if target else "M",
        path,
        before=before,
        after=after,
        data=data,
        digest=file.digest,
        target=target,
        tolerant=tolerant,
        added=added,
        mode=mode,
        encoding=file.encoding if file.is_guessed else "",
        is_appended=before != "" and any(hunk.is_placeless for hunk in hunks),
    )


def _updated(
    file: TextFile, steps: Sequence[Sequence[Hunk]]
) -> tuple[str, str, bytes, tuple[int, ...]]:
    """Return the text before and after *steps*, the new bytes, and the lines of tolerant matches.

    A notebook has the text of its cells, unless the patch is one of its JSON.
    """
    notebook = notebook_of(file)
    if notebook is not None:
        with suppress(ToolError):
            after, tolerant = _apply_all(notebook.text, steps)
            return notebook.text, after, notebook.encode(after), tolerant
    after, tolerant = _apply_all(file.text, steps)
    return file.text, after, encode(after, file), tolerant


def _apply_all(text: str, steps: Sequence[Sequence[Hunk]]) -> tuple[str, tuple[int, ...]]:
    tolerant: tuple[int, ...] = ()
    for hunks in steps:
        text, lines = _apply(text, hunks)
        tolerant += lines
    return text, tolerant


def _target(workspace: Workspace, section: Section, path: str) -> str:
    target = _check_path(workspace, section.target)
    _refuse_link(workspace, path)
    if workspace.exists(target):
        raise WorkspaceError(
            f"{target!r} exists; delete it or choose another name", error_class="file_exists"
        )
    return target


def _apply(text: str, hunks: Sequence[Hunk]) -> tuple[str, tuple[int, ...]]:
    """Return the text after *hunks*, and the lines of hunks whose white space or signs differ."""
    lines = text.split("\n") if text else []
    if text.endswith("\n"):
        lines.pop()
    ends = text.endswith("\n") or not lines
    result: list[str] = []
    tolerant = []
    cursor = shift = 0
    for hunk in hunks:
        try:
            location = locate(lines, hunk, cursor, shift)
        except ToolError as error:
            raise _name_hunk(error, hunk) from error
        result += lines[cursor : location.start]
        result += _new_lines(lines, hunk, location.start)
        cursor = location.start + len(hunk.old)
        shift = location.start - (hunk.start - 1) if hunk.start else shift
        if not location.exact:
            tolerant.append(location.start + 1)
        if cursor == len(lines) and not (hunk.ends_old and hunk.ends_new):
            ends = hunk.ends_new
    return _join([*result, *lines[cursor:]], final_newline=ends), tuple(tolerant)


def _new_lines(lines: Sequence[str], hunk: Hunk, start: int) -> list[str]:
    """Return the new lines of *hunk*; context lines are taken from the file itself."""
    result = []
    for mark, text in hunk.lines:
        if mark == "+":
            result.append(text)
            continue
        if mark == " ":
            result.append(lines[start])
        start += 1
    return result


def _join(lines: Sequence[str], *, final_newline: bool) -> str:
    return "\n".join(lines) + ("\n" if lines and final_newline else "")


def _check_path(workspace: Workspace, path: str) -> str:
    """Return *path* relative to the workspace; raises WorkspaceError outside and in `.git`."""
    where = workspace.relative(path)
    workspace.resolve(path)
    protection = workspace.protection(where.rpartition("/")[0] or ".")
    if protection is not None and protection.kind is ProtectionKind.GIT:
        raise WorkspaceError("it belongs to git", error_class="protected_path")
    return where


def _refuse_link(workspace: Workspace, path: str) -> None:
    folder, _, name = path.rpartition("/")
    parent = workspace.resolve(folder or ".")
    if workspace.resolve(path) != (name if parent == "." else f"{parent}/{name}"):
        raise WorkspaceError(
            "it is a link; a patch can change the file it leads to, but not delete or rename it",
            error_class="not_a_regular_file",
        )


def _by_file(workspace: Workspace, sections: Sequence[Section]) -> list[list[Section]]:
    """Return the *sections* of each file together; raises ToolError where they do not fit."""
    groups: dict[str, list[Section]] = {}
    for section in sections:
        groups.setdefault(workspace.resolve(section.path), []).append(section)
    targets = [workspace.resolve(section.target) for section in sections if section.target]
    for path, group in groups.items():
        are_updates = all(section.kind == "update" for section in group)
        moves = [section for section in group if section.target]
        is_moved_last = not moves or moves == group[-1:]
        if (len(group) > 1 and not (are_updates and is_moved_last)) or path in targets:
            raise _refused_twice(group[-1].path)
    if len({*targets}) < len(targets):
        raise _refused_twice(next(section.target for section in sections if section.target))
    return list(groups.values())


def _refused_twice(path: str) -> ToolError:
    return _invalid(
        f"nothing was changed: {path!r} is in the patch twice; put all its changes in one section"
    )


def _name_hunk(error: ToolError, hunk: Hunk) -> ToolError:
    return ToolError(
        f"hunk at line {hunk.row} of the patch: {error}",
        error_class=error.error_class,
        data=error.data,
    )


def _error_of_all(problems: Sequence[tuple[Section, ToolError]]) -> ToolError:
    first = problems[0][1]
    lines = [f"{section.path}: {error}" for section, error in problems[:SHOWN_PROBLEMS]]
    if len(problems) > SHOWN_PROBLEMS:
        lines.append(f"[{len(problems) - SHOWN_PROBLEMS} more files with problems]")
    return ToolError(
        "nothing was changed\n" + "\n".join(lines),
        error_class=first.error_class,
        data={**first.data, "paths": [section.path for section, _ in problems]},
    )


def _invalid(problem: str) -> ToolError:
    return ToolError(problem, error_class="invalid_patch")
