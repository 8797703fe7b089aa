"""Plan a patch without applying it."""

from collections.abc import Callable, Sequence

from attrs import frozen
from nanocoder import ProtectionKind, ToolError, Workspace, WorkspaceError
from nanocoder_kit_diff import Diff, unified
from nanocoder_kit_text import TextFile, encode, read_text_file

from nanocoder_tool_patch.hunks import Hunk, Section
from nanocoder_tool_patch.locate import locate

SHOWN_PROBLEMS = 5


@frozen
class Change:
    """The change of one file. *letter* is git's: A, M, D or R.

    *digest* is the one of the file now ("" without a file), *data* its new content, *tolerant*
    the lines, from 1, of hunks that fit only without the white space at the ends of lines.
    """

    letter: str
    path: str
    before: str = ""
    after: str = ""
    data: bytes = b""
    digest: str = ""
    target: str = ""
    tolerant: tuple[int, ...] = ()

    @property
    def final_path(self) -> str:
        """The path that the file has afterwards."""
        return self.target or self.path

    def diff(self) -> Diff:
        """Return what changes in the file."""
        return unified(self.before, self.after, self.final_path)


def plan(workspace: Workspace, sections: Sequence[Section]) -> list[Change]:
    """Find every place and prepare every byte.

    Raises: ToolError with all problems; nothing has changed then.
    """
    _refuse_twice(workspace, sections)
    changes, problems = [], []
    for section in sections:
        try:
            changes.append(_PLANNERS[section.kind](workspace, section))
        except ToolError as error:
            problems.append((section, error))
    if problems:
        raise _error_of_all(problems)
    return changes


def _add(workspace: Workspace, section: Section) -> Change:
    path = _check_path(workspace, section.path)
    if workspace.exists(path):
        raise WorkspaceError("it exists; update it instead", error_class="file_exists")
    lines = [text for hunk in section.hunks for _, text in hunk.lines]
    if any(hunk.old for hunk in section.hunks):
        raise _invalid("a new file has no old lines")
    ends = all(hunk.ends_new for hunk in section.hunks)
    after = _join(lines, final_newline=ends)
    return Change("A", path, after=after, data=encode(after))


def _delete(workspace: Workspace, section: Section) -> Change:
    from hashlib import sha256  # 5 ms that a start need not wait for

    path = _check_path(workspace, section.path)
    _refuse_link(workspace, path)
    try:
        file = read_text_file(workspace, path, note=False)
    except WorkspaceError as error:
        if error.error_class != "binary_file" or section.hunks:
            raise
        data = workspace.read_bytes(path)
        return Change("D", path, data=data, digest=sha256(data).hexdigest())
    if section.hunks and _apply(file, section.hunks)[0]:
        raise ToolError(
            "the file has more lines than the patch deletes; read it again",
            error_class="text_not_found",
        )
    data = encode(file.text, file)
    return Change("D", path, before=file.text, data=data, digest=file.digest)


def _update(workspace: Workspace, section: Section) -> Change:
    path = _check_path(workspace, section.path)
    target = _target(workspace, section, path) if section.target else ""
    file = read_text_file(workspace, path, note=False)
    _refuse_placeholder(file, section.hunks)
    after, tolerant = _apply(file, section.hunks)
    if after == file.text and not target:
        raise _invalid("nothing would change")
    return Change(
        "R" if target else "M",
        path,
        before=file.text,
        after=after,
        data=encode(after, file),
        digest=file.digest,
        target=target,
        tolerant=tolerant,
    )


def _refuse_placeholder(file: TextFile, hunks: Sequence[Hunk]) -> None:
    from nanocoder_kit_diff.placeholder import placeholder_in

    added = "\n".join(text for hunk in hunks for mark, text in hunk.lines if mark == "+")
    if line := placeholder_in(added, file.text):
        raise ToolError(
            f"{line!r} stands for code that is left out; write out every line that is added",
            error_class="placeholder",
            data={"line": line},
        )


_PLANNERS: dict[str, Callable[[Workspace, Section], Change]] = {
    "add": _add,
    "delete": _delete,
    "update": _update,
}


def _target(workspace: Workspace, section: Section, path: str) -> str:
    target = _check_path(workspace, section.target)
    _refuse_link(workspace, path)
    if workspace.exists(target):
        raise WorkspaceError(
            f"{target!r} exists; delete it or choose another name", error_class="file_exists"
        )
    return target


def _apply(file: TextFile, hunks: Sequence[Hunk]) -> tuple[str, tuple[int, ...]]:
    """Return the text after *hunks*, and the lines of hunks whose white space differs."""
    lines = file.text.split("\n") if file.text else []
    if file.final_newline:
        lines.pop()
    ends = file.final_newline or not lines
    result: list[str] = []
    tolerant = []
    cursor = shift = 0
    for hunk in hunks:
        try:
            place = locate(lines, hunk, cursor, shift)
        except ToolError as error:
            raise _name_hunk(error, hunk) from error
        result += lines[cursor : place.start]
        result += _new_lines(lines, hunk, place.start)
        cursor = place.start + len(hunk.old)
        shift = place.start - (hunk.start - 1) if hunk.start else shift
        if not place.exact:
            tolerant.append(place.start + 1)
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


def _refuse_twice(workspace: Workspace, sections: Sequence[Section]) -> None:
    resolved: set[str] = set()
    for section in sections:
        for path in filter(None, (section.path, section.target)):
            real = workspace.resolve(path)
            if real in resolved:
                raise _invalid(
                    f"nothing was changed: {path!r} is in the patch twice; put all its changes"
                    " in one section"
                )
            resolved.add(real)


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
