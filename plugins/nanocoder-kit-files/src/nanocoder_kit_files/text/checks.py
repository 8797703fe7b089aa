"""Checks of every change of a text file before the write."""

import json
from collections.abc import Callable

from attrs import frozen
from nanocoder import ToolContext, ToolError

from nanocoder_kit_files.diff.placeholder import placeholder_in
from nanocoder_kit_files.diff.syntax import new_fault

MAX_CHARACTERS = 20_000_000
OBJECTIONS = "objections"
"""The name of the resource, an `Objections`, that a plugin offers which checks its changes."""


@frozen
class TextChange:
    """The text of the file *path* *before* and *after*; *before* is "" for a new file.

    *added* is the text from the model, all of *after* or a part of it.
    """

    path: str
    before: str
    after: Callable[[], str]
    added: str


class Objections:
    """Memory of a session's rejected changes: a repeated change is accepted."""

    def __init__(self, *_session_and_settings: object) -> None:
        self._known: set[tuple[str, int]] = set()

    def is_new(self, path: str, content: str) -> bool:
        """Record *content* for *path*; tell whether it was new."""
        key = (path, hash(content))
        is_new = key not in self._known
        self._known.add(key)
        return is_new


def check_change(change: TextChange, ctx: ToolContext | None = None) -> str:
    """Reject a change that loses data; return a note on a fault that it introduces, or "".

    A model's change that makes a valid file of a known format invalid is rejected once: sent again,
    it is accepted. Without *ctx*, and for a person, it only yields a note.

    Raises: ToolError (placeholder, invalid_form).
    """
    if line := placeholder_in(change.added, change.before):
        raise ToolError(
            f"nothing was changed: in {change.path!r}, {line!r} stands for code that is left out;"
            " write out every line, or change only the part that is new",
            error_class="placeholder",
            data={"line": line},
        )
    fault = _form_fault(change)
    by_model = ctx is not None and ctx.session is not None and ctx.session.model
    if fault and change.before and ctx and by_model:
        _object(ctx.resource(OBJECTIONS), change, fault)
    if fault:
        return f"[{change.path} is not valid {fault}]"
    fault = new_fault(change.path, change.before, change.after)
    return f"[this change broke {change.path}: {fault}]" if fault else ""


def _object(objections: Objections, change: TextChange, fault: str) -> None:
    if objections.is_new(change.path, change.after()):
        raise ToolError(
            f"nothing was changed: {change.path!r} would no longer be valid {fault}. Send a change"
            " that keeps it valid; if it is meant, send the same again",
            error_class="invalid_form",
        )


def _form_fault(change: TextChange) -> str:
    """Return the format of the file, and the location where *after* breaks it, or ""."""
    form, parse = _FORMS.get(change.path.rpartition(".")[2].lower(), ("", _json))
    if not form or len(change.before) > MAX_CHARACTERS:
        return ""
    fault = _fault(parse, change.after())
    is_valid_before = not change.before or not _fault(parse, change.before)
    return f"{form}: {fault}" if fault and is_valid_before else ""


def _fault(parse: Callable[[str], object], text: str) -> str:
    try:
        parse(text)
    except (ValueError, RecursionError) as error:
        return str(error)
    return ""


def _json(text: str) -> None:
    json.loads(text)


def _notebook(text: str) -> None:
    data = json.loads(text)
    cells = data.get("cells", data.get("worksheets")) if isinstance(data, dict) else None
    if not isinstance(cells, list):
        raise ValueError("it has no list of cells")  # noqa: TRY004 - as a parser raises


def _toml(text: str) -> None:
    import tomllib  # few changes need it

    tomllib.loads(text)


_FORMS: dict[str, tuple[str, Callable[[str], object]]] = {
    "json": ("JSON", _json),
    "geojson": ("JSON", _json),
    "webmanifest": ("JSON", _json),
    "ipynb": ("notebook", _notebook),
    "toml": ("TOML", _toml),
}
